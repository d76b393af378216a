"""The few names of PyTorch's private module that libraries ask for. Cresset's own extension module is `_cresset`."""

import _cresset

from .linalg import LinAlgError as _LinAlgError  # noqa: F401


def _get_tracing_state():
    """What `torch.jit.trace` is recording just now: nothing."""
    return None


def _log_api_usage_once(event):
    """Tells PyTorch's operators of a use; here nobody is told."""
