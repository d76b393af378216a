"""Names of reference implementations: each is the operator of this name, whose row is its reference here.

>>> torch._refs.add(torch.ones(2), torch.ones(2))
tensor([2., 2.])
"""

import importlib

_PARTS = ("_conversions", "fft", "linalg", "nn", "special")


def __getattr__(name):
    import cresset

    if name in _PARTS:
        return importlib.import_module(f"{__name__}.{name}")
    if not name.startswith("__") and callable(getattr(cresset, name, None)):
        return getattr(cresset, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
