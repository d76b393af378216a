"""torch.linalg: operators of the rows under their linalg names."""

from . import LinAlgError, _operators, _overridable  # noqa: F401

globals().update({name.removeprefix("linalg_"): op for name, op in _operators.items() if name.startswith("linalg_") and not name.endswith("_")})
_ops = _operators
matmul = _ops["matmul"]


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    return _ops["linalg_vector_norm"](x, ord, dim, keepdim, dtype=dtype, out=out)


def vecdot(x, y, *, dim=-1, out=None):
    result = (x.conj() * y).sum(dim)
    return result if out is None else out.resize_(result.shape).copy_(result)


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    return _ops["diagonal"](A, offset, dim1, dim2)
_overridable.replace(globals(), __name__)
del _overridable
