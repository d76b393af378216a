"""Switches of the libraries that compute, and what is there of them.

>>> torch.backends.mkldnn.is_available() in (True, False)
True
"""

import importlib as _importlib

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]


def __getattr__(name):
    if name in __all__:
        return _importlib.import_module(f"{__name__}.{name}")
    from cresset._core import missing as _missing

    return _missing.found(__name__, name)
