"""Switches of the libraries that compute, and what is there of them.

>>> torch.backends.mkldnn.is_available() in (True, False)
True
"""

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "xnnpack"]
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
