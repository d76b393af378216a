"""torch.linalg: operators of the rows under their linalg names."""

from _cresset import LinAlgError as LinAlgError, Tensor, _bool, _dtype, _int, _Number, _Size
from _cresset.functions import matmul as matmul
from _cresset.linalg import *

def diagonal(A: Tensor, *, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor: ...
def vector_norm(
    x: Tensor, ord: _Number = 2, dim: _int | _Size | None = None, keepdim: _bool = False, *, dtype: _dtype | None = None, out: Tensor | None = None
) -> Tensor: ...
