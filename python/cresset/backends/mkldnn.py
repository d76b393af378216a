"""oneDNN, a provider of convolutions: whether it is there, and a switch.

    >>> with torch.backends.mkldnn.flags(enabled=False):  # every convolution runs on Cresset's own kernels
    ...     y = torch.nn.functional.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 3, 3))
    >>> y
    tensor([[[[9.]]]])
"""

import contextlib as _contextlib
import sys as _sys
import types as _types

import _cresset


class _Module(_types.ModuleType):
    @property
    def enabled(self):
        """Whether oneDNN may be used."""
        return _cresset._onednn_enabled()

    @enabled.setter
    def enabled(self, value):
        if not isinstance(value, bool):
            raise TypeError(f"torch.backends.mkldnn.enabled: expected bool, got {type(value).__name__}")
        _cresset._set_onednn_enabled(value)


_sys.modules[__name__].__class__ = _Module


def is_available():
    """Whether the provider's library was built and found.

    >>> torch.backends.mkldnn.is_available() in (True, False)
    True
    """
    before = _cresset._onednn_enabled()
    _cresset._set_onednn_enabled(True)
    try:
        return _cresset.build_info()["onednn"]
    finally:
        _cresset._set_onednn_enabled(before)


def set_flags(enabled):
    """Turns the use of oneDNN on or off; returns what was before.

    >>> torch.backends.mkldnn.set_flags(True)
    (True,)
    """
    before = _cresset._onednn_enabled()
    _sys.modules[__name__].enabled = enabled
    return (before,)


@_contextlib.contextmanager
def flags(enabled=False):
    """A context in which oneDNN is used, or not.

    >>> with torch.backends.mkldnn.flags(enabled=False):
    ...     torch.backends.mkldnn.enabled
    False
    """
    (before,) = set_flags(enabled)
    try:
        yield
    finally:
        set_flags(before)
