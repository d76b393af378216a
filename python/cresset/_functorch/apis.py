"""`vmap` in parts."""

from ..func import grad, grad_and_value, vmap

__all__ = ["chunk_vmap", "grad", "grad_and_value", "vmap"]


def chunk_vmap(func, in_dims=0, out_dims=0, randomness="error", chunks=2):
    """`vmap` whose examples run in `chunks` parts, one after the other; `vmap(chunk_size=)` says how many run at once instead.

    Errors: ValueError for less than one part, TypeError where nothing is mapped over; those of `vmap`.

    >>> from cresset._functorch.apis import chunk_vmap
    >>> chunk_vmap(torch.sum, chunks=2)(torch.ones(4, 3))
    tensor([3., 3., 3., 3.])
    """
    if chunks < 1:
        raise ValueError(f"chunk_vmap: expected 1 chunk or more, got {chunks}")

    def mapped(*args, **kwargs):
        size = _examples(in_dims, args)
        return vmap(func, in_dims, out_dims, randomness, chunk_size=max(1, -(-size // chunks)))(*args, **kwargs)

    return mapped


def _examples(in_dims, args):
    """How many examples the arguments have."""
    from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten

    leaves, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims if isinstance(in_dims, int) else tuple(in_dims), spec)
    sizes = [leaf.shape[dim] for leaf, dim in zip(leaves, dims or (), strict=False) if dim is not None]
    if not sizes:
        raise TypeError(f"chunk_vmap: in_dims {in_dims} map over none of the arguments")
    return sizes[0]
