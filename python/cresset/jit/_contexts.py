"""Contexts of Python as classes of TorchScript, which archives of PyTorch have under the same names."""

from typing import Any, Optional

import cresset as torch


class autocast:
    """A region of mixed precision, which begins and ends where a with statement enters and leaves the object."""

    def __init__(self, device_type: str, dtype: Optional[torch.dtype] = None, enabled: bool = True, cache_enabled: Optional[bool] = None):
        self.fast_dtype = torch.get_autocast_dtype(device_type) if dtype is None else dtype
        self._enabled = enabled
        self.device = device_type

    def __enter__(self):
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any):
        return None


autocast.__module__ = "torch.amp.autocast_mode"
