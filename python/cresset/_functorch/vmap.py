"""The steps of `vmap`, which a program may replace by its own for leaves that are no tensors: containers of tensors with a batch of their own.

`vmap` runs them from here where `_process_batched_inputs`, `_create_batched_inputs` or `_unwrap_batched` has been replaced, and where a program is captured
with them as its steps.
"""

import functools
import itertools
import sys

import cresset as torch
from _cresset import Tensor

from .._C._functorch import (
    _add_batch_dim,
    _remove_batch_dim,
    _vmap_decrement_nesting,
    _vmap_increment_nesting,
    is_batchedtensor,
    maybe_get_level,
)
from .._modes import stack as _stack
from .._subclasses.fake_tensor import unset_fake_temporarily
from ..func._vmap import _flat_in_dims, _flat_out_dims
from ..func._vmap import _name as _get_name
from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from . import predispatch

__all__ = ["_add_batch_dim", "_broadcast_to_and_flatten", "_remove_batch_dim", "_vmap_decrement_nesting", "_vmap_increment_nesting", "is_batchedtensor",
           "tree_flatten", "tree_unflatten"]  # fmt: skip


def _of_levels():
    """The functions of levels: those of programs that are captured, unless a program brings its own, which take the numbers of the library."""
    return sys.modules[__name__] if are_replaced() else predispatch


def _is_at(tensor, level):
    number = maybe_get_level(tensor)
    return number != -1 and level == (number if are_replaced() else predispatch.depth_of(number))


def _validate_and_get_batch_size(flat_in_dims, flat_args):
    """The size of the batch. ValueError where there is none, or several."""
    sizes = [arg.size(dim) for arg, dim in zip(flat_args, flat_in_dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: expected a tensor to map over, got none with an in_dim")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(f"vmap: expected the mapped dimensions to be of one size, got sizes {sizes}")
    return sizes[0]


def _process_batched_inputs(in_dims, args, func):
    """Size of the batch, dimension of each leaf, leaves, and their structure. ValueError for arguments that `in_dims` does not fit."""
    leaves, spec, dims = _flat_in_dims(func, in_dims, args)
    return _validate_and_get_batch_size(dims, leaves), dims, leaves, spec


def _create_batched_inputs(flat_in_dims, flat_args, vmap_level, args_spec):
    """The arguments as elements of the batch."""
    add = _of_levels()._add_batch_dim
    return tree_unflatten([a if d is None else add(a, d, vmap_level) for a, d in zip(flat_args, flat_in_dims, strict=True)], args_spec)


def _maybe_remove_batch_dim(name, batched_output, vmap_level, batch_size, out_dim):
    """The batch of one output along `out_dim`; with None the output itself. ValueError for one that depends on the element then, and for what is no tensor."""
    if out_dim is None:
        if isinstance(batched_output, Tensor) and _is_at(batched_output, vmap_level):
            raise ValueError(f"vmap({name}, ...): expected an output with out_dim None to be the same for all elements, got one that differs")
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` has to return tensors, got type {type(batched_output)}; out_dims of other outputs is None")
    return _of_levels()._remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


def _unwrap_batched(batched_outputs, out_dims, vmap_level, batch_size, func):
    """The outputs with their batches along `out_dims`. ValueError where these do not fit."""
    leaves, spec = tree_flatten(batched_outputs)
    dims = _flat_out_dims(func, out_dims, batched_outputs, spec)
    name = _get_name(func)
    return tree_unflatten([_maybe_remove_batch_dim(name, leaf, vmap_level, batch_size, dim) for leaf, dim in zip(leaves, dims, strict=True)], spec)


_STEPS = (_process_batched_inputs, _create_batched_inputs, _unwrap_batched)


def are_replaced():
    """Whether a program has put steps of its own here."""
    return (_process_batched_inputs, _create_batched_inputs, _unwrap_batched) != _STEPS


def run(func, in_dims, out_dims, randomness, chunk_size, args, kwargs):
    """One call of a function under `vmap`, step by step."""
    heard = predispatch.is_heard()
    if heard:
        predispatch.lazy_load_decompositions()
    size, dims, leaves, spec = _process_batched_inputs(in_dims, args, func)
    if chunk_size is None or (chunk_size >= size and not heard):
        return _run_once(func, out_dims, randomness, size, dims, leaves, spec, kwargs)
    sizes = [min(chunk_size, size - start) for start in range(0, size, chunk_size)]
    split = [[leaf] * len(sizes) if dim is None else _split(leaf, sizes, dim, heard) for leaf, dim in zip(leaves, dims, strict=True)]
    chunks, restart = [], _restarting(randomness)
    for count, part in zip(sizes, zip(*split, strict=True), strict=True):
        restart()
        chunks.append(_run_once(func, out_dims, randomness, count, dims, list(part), spec, kwargs))
    outputs, out_spec = zip(*map(tree_flatten, chunks), strict=True)
    places = _flat_out_dims(func, out_dims, chunks[0], out_spec[0])
    return tree_unflatten(
        [parts[0] if dim is None else _joined(parts, dim) for parts, dim in zip(zip(*outputs, strict=True), places, strict=True)], out_spec[0]
    )


def _restarting(randomness):
    """A function to call before each chunk: all draw the same numbers where elements do. A captured program has no step for that."""
    if randomness != "same" or predispatch.recorder() is not None:
        return lambda: None

    @_unheard
    def state():
        return torch.get_rng_state()

    @_unheard
    def restart():
        torch.set_rng_state(start)

    start = state()
    return restart


def _unheard(function):
    """The function, run without modes: it is no part of the program."""

    @functools.wraps(function)
    def run():
        with _stack.none_active(), unset_fake_temporarily():
            return function()

    return run


def _split(leaf, sizes, dim, heard):
    """Parts of these sizes. Graphs have PyTorch's call, which gives an empty one at the end."""
    if not heard:
        return leaf.split(sizes, dim)
    ends = list(itertools.accumulate(sizes))
    return (leaf.tensor_split(ends, dim) if dim else leaf.tensor_split(ends))[: len(sizes)]


def _joined(parts, dim):
    return torch.cat(parts, dim) if dim else torch.cat(parts)


def _run_once(func, out_dims, randomness, size, dims, leaves, spec, kwargs):
    levels = _of_levels()
    level = levels._vmap_increment_nesting(size, randomness)
    try:
        return _unwrap_batched(func(*_create_batched_inputs(dims, leaves, level, spec), **kwargs), out_dims, level, size, func)
    finally:
        levels._vmap_decrement_nesting()
