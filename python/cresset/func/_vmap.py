"""Functions of single examples applied to batches (docs/records/0006-vmap.md): a tensor under vmap stands for one element of a batch."""

import functools
import sys

import _cresset
from _cresset import Tensor

from .._functorch import predispatch
from ..utils._pytree import tree_flatten, tree_structure, tree_unflatten


def _name(func):
    return getattr(func, "__name__", repr(func))


def _is_dim(value):
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def _broadcast(prefix, tree, is_leaf):
    """For each leaf of `tree` the entry of `prefix`, a tree that may end above the leaves; None where the structures do not fit."""
    if is_leaf(prefix):
        return [prefix] * tree_structure(tree).num_leaves
    kind = type(prefix)
    if kind is not type(tree) or not isinstance(prefix, (tuple, list, dict)) or len(prefix) != len(tree):
        return None
    if isinstance(prefix, dict):
        if list(prefix) != list(tree):
            return None
        pairs = [(prefix[key], tree[key]) for key in prefix]
    else:
        pairs = zip(prefix, tree, strict=True)
    found = []
    for entry, part in pairs:
        below = _broadcast(entry, part, is_leaf)
        if below is None:
            return None
        found += below
    return found


def _flat_in_dims(func, in_dims, args):
    """The leaves of the arguments, their structure, and the dimension of each."""
    name = _name(func)
    if not isinstance(in_dims, (int, tuple)) or isinstance(in_dims, bool):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be an int or a tuple of the inputs' structure, got {type(in_dims)}"
        )
    if not args:
        raise ValueError(f"vmap({name})(<inputs>): expected inputs to map over, got no inputs")
    leaves, spec = tree_flatten(args)
    dims = _broadcast(in_dims, args, _is_dim)
    if dims is None:
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): in_dims and the inputs differ in structure, got {tree_structure(in_dims)!r} and {spec!r}"
        )
    checked = []
    for leaf, dim in zip(leaves, dims, strict=True):
        start = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
        if dim is not None and not isinstance(leaf, Tensor):
            raise ValueError(f"{start}Got in_dim={dim} for an input of type {type(leaf)}; only tensors are mapped over, others have None in in_dims")
        if dim is not None and not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(f"{start}Got in_dim={dim} for a tensor of dimensions {leaf.dim()}, expected -{leaf.dim()} <= in_dim < {leaf.dim()}")
        checked.append(dim % leaf.dim() if dim is not None else None)
    return leaves, spec, checked


def _flat_out_dims(func, out_dims, output, spec):
    """The dimension of each leaf of the output."""
    if isinstance(output, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    leaves_of_dims = tree_flatten(out_dims)[0]
    if not all(_is_dim(dim) for dim in leaves_of_dims):
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims}): expected `out_dims` to be an int, None or a collection of them: "
            f"where outputs get the mapped dimension"
        )
    dims = _broadcast(out_dims, output, _is_dim)
    if dims is None:
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims and the outputs differ in structure, "
            f"got {tree_structure(out_dims)!r} and {spec!r}"
        )
    return dims


def _steps():
    """The module that runs a call step by step, where a program replaced a step, or wants to hear of each; or None."""
    steps = sys.modules.get("cresset._functorch.vmap")
    if not predispatch.is_heard():
        return steps if steps is not None and steps.are_replaced() else None
    from .._functorch import vmap

    return vmap


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """Return a function that applies `func`, a function of single examples, to a batch at once.

    `in_dims` says for each argument which dimension counts the examples, None for one that is the same for all: a number, or a tuple of
    the arguments' structure whose entries may stand for whole containers. Keyword arguments are batched along dimension 0 nowhere: they
    are passed as they are. `out_dims` says in the same way where the batch goes in the output. Within `func` tensors have the shape of one
    example; what needs a value in Python, or gives another shape for each example, is a RuntimeError. `randomness` says what random
    operators do: "error", "different" for each example, or "same" for all. `chunk_size` bounds how many examples run at once. Calls nest,
    in each other and in the transforms of derivatives.

    Errors: ValueError for arguments without a batched tensor, of different sizes, or of another structure than `in_dims`, and for outputs
    that are no tensors or of another structure than `out_dims`; RuntimeError for another mode of randomness.

    >>> dot = torch.func.vmap(torch.dot, in_dims=(0, None))
    >>> dot(torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1., 1.]))
    tensor([3., 7.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"vmap: expected randomness to be 'error', 'different' or 'same', got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: expected chunk_size to be None or above 0 (got {chunk_size})")

    @functools.wraps(func)
    @predispatch.transform
    def wrapped(*args, **kwargs):
        steps = _steps()
        if steps is not None:
            return steps.run(func, in_dims, out_dims, randomness, chunk_size, args, kwargs)
        leaves, spec, dims = _flat_in_dims(func, in_dims, args)
        shape, others = [], []

        def of_elements(*elements):
            given = [leaf if element is None else element for leaf, element in zip(leaves, elements, strict=True)]
            output = func(*tree_unflatten(given, spec), **kwargs)
            results, out_spec = tree_flatten(output)
            places = _flat_out_dims(func, out_dims, output, out_spec)
            for leaf, dim in zip(results, places, strict=True):
                if dim is not None and not isinstance(leaf, Tensor):
                    raise ValueError(
                        f"vmap({_name(func)}, ...): `{_name(func)}` has to return tensors, got type {type(leaf)}; out_dims of other outputs is None"
                    )
            shape[:], others[:] = [out_spec], [None if isinstance(leaf, Tensor) else (leaf,) for leaf in results]
            mapped = [(leaf, dim) for leaf, dim in zip(results, places, strict=True) if isinstance(leaf, Tensor)]
            return [leaf for leaf, _ in mapped], [dim for _, dim in mapped]

        tensors = [leaf if isinstance(leaf, Tensor) else None for leaf in leaves]
        whole = iter(_cresset.vmap(of_elements, tensors, dims, chunk_size or 0, randomness))
        return tree_unflatten([next(whole) if other is None else other[0] for other in others], shape[0])

    return wrapped


def debug_unwrap(tensor, *, recurse=True):
    """Values under the element that `vmap` shows to a function: the whole batch, below all levels, or with `recurse` False below one.

    For looking at only: what is computed of it is not part of the transform. A tensor that is no such element comes back as it is.

    >>> from cresset.func import debug_unwrap, vmap
    >>> vmap(lambda x: print(debug_unwrap(x)) or x)(torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    tensor([1., 2.])
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"debug_unwrap: expected a tensor, got {type(tensor).__name__}")
    while parts := _cresset.batched_parts(tensor):
        tensor = parts[2]
        if not recurse:
            break
    return tensor
