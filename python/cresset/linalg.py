"""torch.linalg: operators of the rows under their linalg names."""

from . import LinAlgError, _operators  # noqa: F401
from ._core import overridable as _overridable  # noqa: F401

globals().update({name.removeprefix("linalg_"): op for name, op in _operators.items() if name.startswith("linalg_") and not name.endswith("_")})
_ops = _operators
matmul = _ops["matmul"]


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    """The `ord`-norm of the elements along `dim` or of all: the root of the sum of powers, the largest for inf, the count of those that are
    not 0 for 0.

    >>> torch.linalg.vector_norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    return _ops["linalg_vector_norm"](x, ord, dim, keepdim, dtype=dtype, out=out)


_overridable.replace(globals(), __name__)
del _overridable
