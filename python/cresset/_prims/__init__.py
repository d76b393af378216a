"""Names of primitive operators: each is the operator of the table that computes it.

>>> torch._prims.mul(torch.tensor([2.0]), torch.tensor([3.0]))
tensor([6.])
"""

# Primitives whose operators have other names or other arguments.
_OTHERS = {
    "broadcast_in_dim": lambda a, shape, broadcast_dimensions: _broadcast(a, shape, broadcast_dimensions),
    "convert_element_type": lambda a, dtype: a.to(dtype),
    "transpose": lambda a, permutation: a.permute(permutation),
    "collapse_view": lambda a, start, end: a.flatten(start, end),
}


def _broadcast(a, shape, dimensions):
    sizes = [1] * len(shape)
    for size, dim in zip(a.shape, dimensions, strict=True):
        sizes[dim] = size
    return a.reshape(sizes).expand(shape)


def __getattr__(name):
    import cresset

    if name in _OTHERS:
        return _OTHERS[name]
    if not name.startswith("__") and callable(getattr(cresset, name, None)):
        return getattr(cresset, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
