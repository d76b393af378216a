"""`torch.autocast` for CUDA devices, and what belongs to it, under older names."""

import functools
import warnings

import _cresset

from ...amp import autocast_mode

__all__ = ["autocast", "custom_fwd", "custom_bwd"]


def _warn(what, instead):
    warnings.warn(f"`torch.cuda.amp.{what}` is deprecated for `torch.amp.{instead}` instead.", FutureWarning, stacklevel=3)


class autocast(autocast_mode.autocast):
    """`torch.autocast("cuda", ...)`, which is the one to use; warns so.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     region = torch.cuda.amp.autocast()
    >>> region.fast_dtype
    torch.float16
    """

    def __init__(self, enabled=True, dtype=_cresset.float16, cache_enabled=True):
        _warn("autocast(args...)", "autocast('cuda', args...)")
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def custom_fwd(fwd=None, *, cast_inputs=None):
    """The old name of `torch.amp.custom_fwd(device_type="cuda", ...)`; warns so."""
    _warn("custom_fwd(args...)", "custom_fwd(args..., device_type='cuda')")
    return functools.partial(autocast_mode.custom_fwd, device_type="cuda")(fwd, cast_inputs=cast_inputs)


def custom_bwd(bwd):
    """The old name of `torch.amp.custom_bwd(device_type="cuda")`; warns so."""
    _warn("custom_bwd(args...)", "custom_bwd(args..., device_type='cuda')")
    return autocast_mode.custom_bwd(bwd, device_type="cuda")
