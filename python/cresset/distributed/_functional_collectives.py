"""Collectives that give new tensors, where `torch.distributed`'s write to those that they are given. A group may be a `ProcessGroup`, a list of
ranks, a mesh with one dimension, or a mesh with the number of one."""

import cresset as torch

from . import _groups
from ._group import ProcessGroup
from .device_mesh import DeviceMesh

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


def _name_of(group, tag):
    """How operators call the group: by its name, where it is open."""
    g = _group_of(group, tag)
    return g.group_name or g


def _along(tensor, dim, size):
    """The tensor whose parts along a dimension lie along dimension 0."""
    return tensor if dim == 0 else torch.cat(tensor.chunk(size, dim), 0)


def wait_tensor(tensor):
    """The tensor, once it is there."""
    return torch.ops._c10d_functional.wait_tensor(tensor)


def broadcast(self, src, group, tag=""):
    """The tensor of rank `src` of the group."""
    return torch.ops._c10d_functional.broadcast(self, src, _name_of(group, tag))


def all_reduce(self, reduceOp, group, tag=""):
    """The reduction over all ranks: "sum", "avg", "product", "min", "max", "band", "bor" or "bxor". A sum and an average have gradients."""
    return torch.ops._c10d_functional.all_reduce(self, reduceOp.lower(), _name_of(group, tag))


def all_gather_tensor(self, gather_dim, group, tag=""):
    """The tensors of all ranks, one after another along a dimension. Its gradient is the sum of those that all ranks have for this one's part."""
    size = _group_of(group, tag).size()
    parts = torch.ops._c10d_functional.all_gather_into_tensor(self, size, _name_of(group, tag))
    return parts if gather_dim == 0 else torch.cat(parts.chunk(size, 0), gather_dim)


def reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag=""):
    """This rank's part, along a dimension, of the reduction over all ranks; its gradient is that of the parts of all ranks. Errors: AssertionError where
    the parts are not equal."""
    size = _group_of(group, tag).size()
    if self.size(scatter_dim) % size:
        raise AssertionError(f"reduce_scatter_tensor: expected a dimension that {size} ranks divide, got {self.size(scatter_dim)}")
    return torch.ops._c10d_functional.reduce_scatter_tensor(_along(self, scatter_dim, size), reduceOp.lower(), size, _name_of(group, tag))


def all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag=""):
    """The parts that all ranks have for this one, one after another along dimension 0; gradients go back the way that the parts came."""
    return torch.ops._c10d_functional.all_to_all_single(self, output_split_sizes or [], input_split_sizes or [], _name_of(group, tag))


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
    return torch.ops._c10d_functional.all_reduce_coalesced(self, reduceOp.lower(), _name_of(group, tag))


def all_gather_into_tensor_coalesced(self, group, tag=""):
    """`all_gather_tensor` of several tensors along dimension 0."""
    return torch.ops._c10d_functional.all_gather_into_tensor_coalesced(self, _group_of(group, tag).size(), _name_of(group, tag))


def reduce_scatter_tensor_coalesced(inputs, reduceOp, scatter_dim, group, tag=""):
    """`reduce_scatter_tensor` of several tensors, each along its dimension."""
    size = _group_of(group, tag).size()
    wholes = [_along(t, dim, size) for t, dim in zip(inputs, scatter_dim)]
    return torch.ops._c10d_functional.reduce_scatter_tensor_coalesced(wholes, reduceOp.lower(), size, _name_of(group, tag))


def all_gather_tensor_autograd(self, gather_dim, group, tag=""):
    """`all_gather_tensor`."""
    return all_gather_tensor(self, gather_dim, group, tag)


def reduce_scatter_tensor_autograd(self, reduceOp, scatter_dim, group, tag=""):
    """`reduce_scatter_tensor`."""
    return reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag)


def all_to_all_single_autograd(self, output_split_sizes, input_split_sizes, group, tag=""):
    """`all_to_all_single`."""
    return all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag)
