"""Switches of the libraries that compute, and what is there of them.

>>> torch.backends.mkldnn.is_available() in (True, False)
True
"""

import contextlib as _contextlib
import sys as _sys
import types as _types

from . import _precision

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "quantized", "xnnpack"]
_SUBMODULES = __all__


def disable_global_flags():
    """From here on flags are set by `flags()` and `set_flags()` only, no more by assignment.

    Errors, of an assignment afterwards: RuntimeError.
    """
    from ._flags import freeze

    freeze()


def flags_frozen():
    """Whether `disable_global_flags` was called.

    >>> torch.backends.flags_frozen()
    False
    """
    from . import _flags

    return _flags.is_frozen


class GenericModule(_types.ModuleType):
    """The class of this module, which has a setting for all libraries at once.

    >>> isinstance(torch.backends, torch.backends.GenericModule)
    True
    """

    fp32_precision = _precision.setting("generic")


_sys.modules[__name__].__class__ = GenericModule


def set_flags(_fp32_precision="none"):
    """Chooses how exact products of float32 are for all libraries, and returns what was before. RuntimeError for another precision.

    >>> torch.backends.set_flags("ieee")
    ('none',)
    >>> torch.backends.set_flags("none")
    ('ieee',)
    """
    before = (_precision.read("generic"),)
    _precision.write("generic", "all", _fp32_precision)
    return before


@_contextlib.contextmanager
def flags(fp32_precision="none"):
    """A context in which products of float32 are as exact as given; see `set_flags`.

    >>> with torch.backends.flags(fp32_precision="tf32"):
    ...     torch.backends.fp32_precision
    'tf32'
    """
    before = set_flags(fp32_precision)
    try:
        yield
    finally:
        set_flags(*before)
