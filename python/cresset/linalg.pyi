"""torch.linalg: operators of the rows under their linalg names."""

from _cresset import LinAlgError as LinAlgError, Tensor, _bool, _dtype, _int, _Number, _Size
from _cresset.functions import matmul as matmul
from _cresset.linalg import *

def vector_norm(
    x: Tensor, ord: _Number = 2, dim: _int | _Size | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None
) -> Tensor: ...
