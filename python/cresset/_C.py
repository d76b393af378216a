"""The few names of PyTorch's private module that libraries ask for. Cresset's own extension module is `_cresset`."""

import _cresset

from .linalg import LinAlgError as _LinAlgError  # noqa: F401


@staticmethod
def _disabled_torch_function_impl(func, types, args=(), kwargs=None):
    """A `__torch_function__` that takes no call over, and leaves results as they are."""
    from . import DisableTorchFunctionSubclass

    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def _get_tracing_state():
    """What `torch.jit.trace` is recording just now: nothing."""
    return None


def _log_api_usage_once(event):
    """Tells PyTorch's operators of a use; here nobody is told."""


def __getattr__(name):
    from cresset import _missing

    return _missing.found(__name__, name)
