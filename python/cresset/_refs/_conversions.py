"""`torch._refs._conversions`: the methods that convert a tensor to a dtype, as functions.

>>> torch._refs._conversions.half(torch.ones(1)).dtype
torch.float16
"""

_NAMES = ("bfloat16", "bool", "byte", "cdouble", "cfloat", "chalf", "char", "double", "float", "half", "int", "long", "short")


def __getattr__(name):
    import cresset

    if name in _NAMES:
        return getattr(cresset.Tensor, name)
    if name in ("complex", "polar"):
        return getattr(cresset, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
