"""Experiments of functorch, and their place today: `torch.func` and `torch.vmap`.

>>> from cresset.functorch.experimental import chunk_vmap
>>> chunk_vmap(torch.sin, chunks=2)(torch.zeros(4)).tolist()
[0.0, 0.0, 0.0, 0.0]
"""

from cresset.func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_
from cresset.func._vmap import vmap as _vmap

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]


def chunk_vmap(func, in_dims=0, out_dims=0, randomness="error", chunks=2):
    """`vmap` that works on the batch in `chunks` parts, one after the other.

    Errors: ValueError for less than one part.

    >>> from cresset.functorch.experimental import chunk_vmap
    >>> chunk_vmap(lambda x: 2 * x, chunks=3)(torch.arange(3)).tolist()
    [0, 2, 4]
    """
    if chunks < 1:
        raise ValueError(f"chunk_vmap: expected at least one part, got {chunks}")
    from cresset.utils._pytree import tree_leaves

    def wrapped(*args, **kwargs):
        dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
        sizes = [leaf.shape[dim] for arg, dim in zip(args, dims, strict=True) if isinstance(dim, int) for leaf in tree_leaves(arg)]
        size = -(-sizes[0] // chunks) if sizes else None
        return _vmap(func, in_dims, out_dims, randomness, chunk_size=size)(*args, **kwargs)

    return wrapped
