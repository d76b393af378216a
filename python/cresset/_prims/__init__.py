"""PyTorch's primitives as functions: those of `torch.ops.prims`, which programs are made of where nothing smaller is.

>>> torch._prims.mul(torch.tensor([2.0]), torch.tensor([3.0]))
tensor([6.])
"""


def __getattr__(name):
    from ..ops import prims

    if not name.startswith("__") and name in prims._made:
        return getattr(prims, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def __dir__():
    from ..ops import prims

    return sorted(prims._made)
