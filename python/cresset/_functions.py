"""Functions of the module that have no row, or whose Python spelling differs from the row's."""

import cresset as _torch

from . import Size as _Size
from . import Tensor as _Tensor
from . import _operators as _ops


def _tensors(args):
    return list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)


def broadcast_tensors(*tensors):
    return _ops["broadcast_tensors"](_tensors(tensors))


def broadcast_shapes(*shapes):
    shapes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    metas = [_torch.empty_strided(s, (0,) * len(s), device="meta") for s in shapes]
    return broadcast_tensors(*metas)[0].shape if metas else _Size()


def meshgrid(*tensors, indexing="ij"):
    return _ops["meshgrid"](_tensors(tensors), indexing=indexing)


def einsum(equation, *operands):
    return _ops["einsum"](equation, _tensors(operands))


def chain_matmul(*matrices, out=None):
    return _ops["chain_matmul"](list(matrices), out=out)


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    dims = [dim] if isinstance(dim, int) else dim
    if isinstance(p, str):
        if p != "fro":
            raise NotImplementedError(f"norm: the {p} norm of matrices is not there yet")
        p = 2
    if p is None:
        p = 2
    return _ops["linalg_vector_norm"](input, p, dims, keepdim, dtype=dtype, **({} if out is None else {"out": out}))


def where(condition, *branches, **named):
    if not branches and not named:
        return tuple(_ops["nonzero"](condition).unbind(1)) if condition.dim() else nonzero(condition.unsqueeze(0), as_tuple=True)
    return _ops["where"](condition, *branches, **named)


def nonzero(input, *, out=None, as_tuple=False):
    if not as_tuple:
        return _ops["nonzero"](input) if out is None else _ops["nonzero"](input, out=out)
    return tuple(_ops["nonzero"](input if input.dim() else input.unsqueeze(0)).unbind(1))


def split(tensor, split_size_or_sections, dim=0):
    return _ops["split"](tensor, split_size_or_sections, dim)


def tensor_split(input, indices_or_sections, dim=0):
    if isinstance(indices_or_sections, _Tensor):
        indices_or_sections = indices_or_sections.tolist()
    return _ops["tensor_split"](input, indices_or_sections, dim)


def is_nonzero(input):
    return _ops["is_nonzero"](input)


def numel(input):
    return input.numel()


def is_floating_point(input):
    return input.is_floating_point()


def is_complex(input):
    return input.is_complex()


def is_conj(input):
    return input.is_conj()


def clone(input, *, memory_format=_torch.preserve_format):
    return _ops["clone"](input, memory_format=memory_format)


def detach(input):
    return input.detach()


def index_put(input, indices, values, accumulate=False):
    return _ops["index_put"](input, list(indices), values, accumulate)


def dropout(input, p, train):
    return _ops["dropout"](input, p, train)


for _name in ("norm", "split", "tensor_split", "index_put", "nonzero"):
    setattr(_Tensor, _name, globals()[_name])
_Tensor.polygamma = lambda self, n: _ops["polygamma"](n, self)
_Tensor.where = lambda self, condition, other: _ops["where"](condition, self, other)
_Tensor.index_put_ = lambda self, indices, values, accumulate=False: _ops["index_put_"](self, list(indices), values, accumulate)
