"""torch.jit.annotations: types that programs annotate with.

    >>> torch.jit.annotations.List[int]
    typing.List[int]
"""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: F401

from .. import Tensor  # noqa: F401
from ..futures import Future  # noqa: F401
