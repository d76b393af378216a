"""Collectives that give new tensors, where `torch.distributed`'s write to those that they are given. A group may be a `ProcessGroup`, a list of
ranks, a mesh with one dimension, or a mesh with the number of one."""

import cresset as torch

from . import _collectives as _in_place, _groups
from ._group import ProcessGroup, ReduceOp
from .device_mesh import DeviceMesh

_REDUCTIONS = {"sum": ReduceOp.SUM, "avg": ReduceOp.AVG, "product": ReduceOp.PRODUCT, "min": ReduceOp.MIN, "max": ReduceOp.MAX, "band": ReduceOp.BAND,
               "bor": ReduceOp.BOR, "bxor": ReduceOp.BXOR}  # fmt: skip
_by_ranks = {}


class AsyncCollectiveTensor(torch.Tensor):
    """A result that may still be under way. Results of this build are there when the call returns, so none is ever made."""


def _group_of(group, tag=""):
    """The group that an argument means. Errors: ValueError, RuntimeError for a mesh with several dimensions and no number."""
    if isinstance(group, ProcessGroup):
        return group
    if isinstance(group, DeviceMesh):
        if group.ndim != 1:
            raise AssertionError(f"functional collectives: expected one dimension of a mesh, got a mesh with {group.ndim}; pass (mesh, dimension)")
        return group.get_group()
    if isinstance(group, tuple) and len(group) == 2 and isinstance(group[0], DeviceMesh):
        return group[0].get_group(group[1])
    if isinstance(group, str):
        return _groups._resolve_process_group(group)
    if isinstance(group, (list, tuple)) and group and isinstance(group[0], int):
        return _of_ranks(tuple(group))
    if group is None:
        return _groups._world()
    raise ValueError(f"functional collectives: expected a group, ranks or a mesh, got {type(group).__name__}")


def _of_ranks(ranks):
    world = _groups._world()
    if list(ranks) == world._ranks:
        return world
    known = _by_ranks.get(ranks)
    if known is None or not any(known is g for g in _groups._groups):
        known = _by_ranks[ranks] = _groups.new_group(ranks, use_local_synchronization=True)
    return known


def _op(name):
    if name.lower() not in _REDUCTIONS:
        raise ValueError(f"functional collectives: expected one of {', '.join(_REDUCTIONS)}, got {name!r}")
    return _REDUCTIONS[name.lower()]


def wait_tensor(tensor):
    """The tensor, once it is there."""
    return tensor


def broadcast(self, src, group, tag=""):
    """The tensor of rank `src` of the group."""
    out = self.detach().clone(memory_format=torch.contiguous_format)
    _in_place.broadcast(out, group=_group_of(group, tag), group_src=src)
    return out


def all_reduce(self, reduceOp, group, tag=""):
    """The reduction over all ranks: "sum", "avg", "product", "min", "max", "band", "bor" or "bxor"."""
    out = self.detach().clone(memory_format=torch.contiguous_format)
    _in_place.all_reduce(out, _op(reduceOp), _group_of(group, tag))
    return out


def all_gather_tensor(self, gather_dim, group, tag=""):
    """The tensors of all ranks, one after another along a dimension."""
    g = _group_of(group, tag)
    own = self.detach().contiguous()
    parts = torch.empty((g.size() * own.shape[0], *own.shape[1:]) if own.dim() else (g.size(),), dtype=own.dtype)
    _in_place.all_gather_into_tensor(parts, own, g)
    return parts if gather_dim == 0 else torch.cat(parts.chunk(g.size(), 0), gather_dim)


def reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag=""):
    """This rank's part, along a dimension, of the reduction over all ranks. Errors: ValueError where the parts are not equal."""
    g = _group_of(group, tag)
    if self.size(scatter_dim) % g.size():
        raise AssertionError(f"reduce_scatter_tensor: expected a dimension that {g.size()} ranks divide, got {self.size(scatter_dim)}")
    whole = self.detach().contiguous()
    if scatter_dim != 0:
        whole = torch.cat(whole.chunk(g.size(), scatter_dim), 0)
    out = torch.empty((whole.shape[0] // g.size(), *whole.shape[1:]), dtype=whole.dtype)
    _in_place.reduce_scatter_tensor(out, whole, _op(reduceOp), g)
    return out


def all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag=""):
    """The parts that all ranks have for this one, one after another along dimension 0."""
    g, own = _group_of(group, tag), self.detach().contiguous()
    rows = sum(output_split_sizes) if output_split_sizes else own.shape[0]
    out = torch.empty((rows, *own.shape[1:]), dtype=own.dtype)
    _in_place.all_to_all_single(out, own, output_split_sizes, input_split_sizes, g)
    return out


def permute_tensor(self, src_dst, group, tag=""):
    """The tensor of the rank whose number `src_dst` sends to this one: rank i's goes to `src_dst[i]`."""
    g = _group_of(group, tag)
    own = self.detach().contiguous()
    inputs, outputs = [0] * g.size(), [0] * g.size()
    for source, target in enumerate(src_dst):
        if source == g.rank():
            inputs[target] = own.shape[0]
        if target == g.rank():
            outputs[source] = own.shape[0]
    return all_to_all_single(own, outputs, inputs, g)


def all_reduce_coalesced(self, reduceOp, group, tag=""):
    """`all_reduce` of several tensors."""
    return [all_reduce(t, reduceOp, group, tag) for t in self]


def all_gather_into_tensor_coalesced(self, group, tag=""):
    """`all_gather_tensor` of several tensors along dimension 0."""
    return [all_gather_tensor(t, 0, group, tag) for t in self]


def reduce_scatter_tensor_coalesced(inputs, reduceOp, scatter_dim, group, tag=""):
    """`reduce_scatter_tensor` of several tensors, each along its dimension."""
    return [reduce_scatter_tensor(t, reduceOp, dim, group, tag) for t, dim in zip(inputs, scatter_dim)]


class _AllGather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, dim, group):
        ctx.dim, ctx.group = dim, group
        return all_gather_tensor(tensor, dim, group)

    @staticmethod
    def backward(ctx, grad):
        return reduce_scatter_tensor(grad, "sum", ctx.dim, ctx.group), None, None


class _ReduceScatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, op, dim, group):
        ctx.op, ctx.dim, ctx.group = op, dim, group
        return reduce_scatter_tensor(tensor, op, dim, group)

    @staticmethod
    def backward(ctx, grad):
        if ctx.op not in ("sum", "avg"):
            raise RuntimeError(f"reduce_scatter_tensor_autograd: {ctx.op!r} has no gradient")
        whole = all_gather_tensor(grad, ctx.dim, ctx.group)
        return whole / ctx.group.size() if ctx.op == "avg" else whole, None, None, None


class _AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor, outputs, inputs, group):
        ctx.outputs, ctx.inputs, ctx.group = outputs, inputs, group
        return all_to_all_single(tensor, outputs, inputs, group)

    @staticmethod
    def backward(ctx, grad):
        return all_to_all_single(grad, ctx.inputs, ctx.outputs, ctx.group), None, None, None


def all_gather_tensor_autograd(self, gather_dim, group, tag=""):
    """`all_gather_tensor` whose gradient is the sum of those that all ranks have for this one's part."""
    return _AllGather.apply(self, gather_dim, _group_of(group, tag))


def reduce_scatter_tensor_autograd(self, reduceOp, scatter_dim, group, tag=""):
    """`reduce_scatter_tensor` whose gradient is that of the parts of all ranks."""
    return _ReduceScatter.apply(self, reduceOp, scatter_dim, _group_of(group, tag))


def all_to_all_single_autograd(self, output_split_sizes, input_split_sizes, group, tag=""):
    """`all_to_all_single` whose gradient goes back the way that the parts came."""
    return _AllToAll.apply(self, output_split_sizes, input_split_sizes, _group_of(group, tag))
