"""`torch.amp.GradScaler` for CUDA devices under its older name."""

import warnings

from ...amp import grad_scaler
from ...amp.grad_scaler import OptState

__all__ = ["GradScaler"]


class GradScaler(grad_scaler.GradScaler):
    """`torch.amp.GradScaler("cuda", ...)`, which is the one to use; warns so.

    >>> torch.cuda.amp.GradScaler(enabled=False).is_enabled()
    False
    """

    def __init__(self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        warnings.warn("`torch.cuda.amp.GradScaler(args...)` is deprecated for `torch.amp.GradScaler('cuda', args...)` instead.", FutureWarning, stacklevel=2)
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
