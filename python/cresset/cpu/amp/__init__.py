"""Mixed precision on the CPU under its older names; `torch.amp` is the one to use."""

from .autocast_mode import autocast
from .grad_scaler import GradScaler
