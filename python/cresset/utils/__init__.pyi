"""torch.utils: hook handles, recomputation and data loading."""

from . import checkpoint as checkpoint, data as data, hooks as hooks, tensorboard as tensorboard
