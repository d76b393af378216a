"""Operators that run a graph under a switch: with gradients on or off, or under autocast. Exported programs hold them where the program's `with` blocks were."""

import cresset as torch

from ._operator import HigherOrderOperator

__all__ = ["wrap_with_autocast", "wrap_with_set_grad_enabled"]


class _WithGradMode(HigherOrderOperator):
    def __call__(self, enable_grad, wrapped_func, *args, **kwargs):
        with torch.set_grad_enabled(enable_grad):
            return wrapped_func(*args, **kwargs)


class _WithAutocast(HigherOrderOperator):
    def __call__(self, device_type, dtype, enabled, cache_enabled, wrapped_func, *args, **kwargs):
        with torch.autocast(device_type, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled):
            return wrapped_func(*args, **kwargs)


wrap_with_set_grad_enabled = _WithGradMode("wrap_with_set_grad_enabled")
wrap_with_autocast = _WithAutocast("wrap_with_autocast")
