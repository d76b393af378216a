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

from . import _precision


class MkldnnModule(_types.ModuleType):
    """The class of this module, whose settings are properties.

    >>> torch.backends.mkldnn.matmul.fp32_precision in ("none", "ieee", "tf32", "bf16")
    True
    """

    @property
    def enabled(self):
        """Whether oneDNN may be used."""
        return _cresset._onednn_enabled()

    @enabled.setter
    def enabled(self, value):
        if not isinstance(value, bool):
            raise TypeError(f"torch.backends.mkldnn.enabled: expected bool, got {type(value).__name__}")
        _cresset._set_onednn_enabled(value)


_settings = {"deterministic": False, "allow_tf32": True}


def _setting(name, accepted):
    def write(self, value):
        if not isinstance(value, accepted):
            raise TypeError(f"torch.backends.mkldnn.{name}: expected {accepted.__name__}, got {type(value).__name__}")
        _settings[name] = value

    return property(lambda self: _settings[name], write)


for _name in ("deterministic", "allow_tf32"):
    setattr(MkldnnModule, _name, _setting(_name, bool))
MkldnnModule.fp32_precision = _precision.setting("mkldnn")
_sys.modules[__name__].__class__ = MkldnnModule
conv, matmul, rnn = (_precision.Operators("mkldnn", _kind) for _kind in ("conv", "matmul", "rnn"))


def is_available():
    """Whether the provider's library was built and found.

    >>> torch.backends.mkldnn.is_available() in (True, False)
    True
    """
    return _cresset._onednn_found()


def set_flags(_enabled=None, _deterministic=None, _allow_tf32=None, _fp32_precision="none"):
    """Sets whether oneDNN is used, and what else is given; returns what was before.

    Results never depend on `_deterministic`, and nothing is computed in less than float32 but what is asked for: these keep their values.

    >>> torch.backends.mkldnn.set_flags(True)
    (True, False, True, 'none')
    """
    before = (_cresset._onednn_enabled(), _settings["deterministic"], _settings["allow_tf32"], _precision.read("mkldnn"))
    here = _sys.modules[__name__]
    for name, value in (("enabled", _enabled), ("deterministic", _deterministic), ("allow_tf32", _allow_tf32)):
        if value is not None:
            setattr(here, name, value)
    if _fp32_precision is not None:
        here.fp32_precision = _fp32_precision
    return before


@_contextlib.contextmanager
def flags(enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none"):
    """A context in which oneDNN is used, or not; for the others see `set_flags`.

    >>> with torch.backends.mkldnn.flags(enabled=False):
    ...     torch.backends.mkldnn.enabled
    False
    """
    before = set_flags(enabled, deterministic, allow_tf32, fp32_precision)
    try:
        yield
    finally:
        set_flags(*before)


def is_acl_available():
    """Whether oneDNN computes with the Arm Compute Library.

    >>> torch.backends.mkldnn.is_acl_available()
    False
    """
    return False
