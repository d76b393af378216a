"""The steps of `vmap`, which a program may replace by its own for leaves that are no tensors: containers of tensors with a batch of their own.

`vmap` runs them from here where `_process_batched_inputs`, `_create_batched_inputs` or `_unwrap_batched` has been replaced.
"""

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
from ..func._vmap import _flat_in_dims, _flat_out_dims
from ..func._vmap import _name as _get_name
from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten

__all__ = ["_broadcast_to_and_flatten", "is_batchedtensor", "tree_flatten", "tree_unflatten"]


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
    return tree_unflatten([a if d is None else _add_batch_dim(a, d, vmap_level) for a, d in zip(flat_args, flat_in_dims, strict=True)], args_spec)


def _maybe_remove_batch_dim(name, batched_output, vmap_level, batch_size, out_dim):
    """The batch of one output along `out_dim`; with None the output itself. ValueError for one that depends on the element then, and for what is no tensor."""
    if out_dim is None:
        if isinstance(batched_output, Tensor) and maybe_get_level(batched_output) == vmap_level:
            raise ValueError(f"vmap({name}, ...): expected an output with out_dim None to be the same for all elements, got one that differs")
        return batched_output
    if not isinstance(batched_output, Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` has to return tensors, got type {type(batched_output)}; out_dims of other outputs is None")
    return _remove_batch_dim(batched_output, vmap_level, batch_size, out_dim)


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
    size, dims, leaves, spec = _process_batched_inputs(in_dims, args, func)
    if chunk_size is None or chunk_size >= size:
        return _run_once(func, out_dims, randomness, size, dims, leaves, spec, kwargs)
    chunks = []
    split = [[leaf] * -(-size // chunk_size) if dim is None else leaf.split(chunk_size, dim) for leaf, dim in zip(leaves, dims, strict=True)]
    for start, part in zip(range(0, size, chunk_size), zip(*split, strict=True), strict=True):
        chunks.append(_run_once(func, out_dims, randomness, min(chunk_size, size - start), dims, list(part), spec, kwargs))
    outputs, out_spec = zip(*map(tree_flatten, chunks), strict=True)
    places = _flat_out_dims(func, out_dims, chunks[0], out_spec[0])
    return tree_unflatten(
        [parts[0] if dim is None else torch.cat(parts, dim) for parts, dim in zip(zip(*outputs, strict=True), places, strict=True)], out_spec[0]
    )


def _run_once(func, out_dims, randomness, size, dims, leaves, spec, kwargs):
    level = _vmap_increment_nesting(size, randomness)
    try:
        return _unwrap_batched(func(*_create_batched_inputs(dims, leaves, level, spec), **kwargs), out_dims, level, size, func)
    finally:
        _vmap_decrement_nesting()
