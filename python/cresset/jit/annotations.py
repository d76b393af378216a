"""torch.jit.annotations: types that programs annotate with.

>>> torch.jit.annotations.List[int]
typing.List[int]
"""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: F401

from .. import Tensor  # noqa: F401
from ..futures import Future  # noqa: F401

# A number that stands for as many equal ones: annotations of TorchScript.
BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = BroadcastingList4 = BroadcastingList5 = BroadcastingList6 = List
