"""`torch.autocast` for the CPU under its older name."""

import warnings

import _cresset

from ...amp import autocast_mode

__all__ = ["autocast"]


class autocast(autocast_mode.autocast):
    """`torch.autocast("cpu", ...)`, which is the one to use; warns so.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     region = torch.cpu.amp.autocast()
    >>> region.fast_dtype
    torch.bfloat16
    """

    def __init__(self, enabled=True, dtype=_cresset.bfloat16, cache_enabled=True):
        warnings.warn("`torch.cpu.amp.autocast(args...)` is deprecated for `torch.amp.autocast('cpu', args...)` instead.", FutureWarning, stacklevel=2)
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
