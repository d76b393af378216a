"""Mixed precision: regions that compute in bfloat16 or float16 where that is safe, and the scaling of losses that float16 needs.

>>> net = torch.nn.Linear(4, 2)
>>> with torch.autocast("cpu", dtype=torch.bfloat16):
...     y = net(torch.ones(1, 4))
>>> y.dtype, net.weight.dtype
(torch.bfloat16, torch.float32)
"""

from .autocast_mode import _enter_autocast, _exit_autocast, autocast, custom_bwd, custom_fwd, is_autocast_available
from .grad_scaler import GradScaler

__all__ = ["autocast", "custom_fwd", "custom_bwd", "is_autocast_available", "GradScaler"]
