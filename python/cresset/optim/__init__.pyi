"""torch.optim: optimizers and schedulers of their learning rate."""

from _cresset.optim import *

from . import lr_scheduler as lr_scheduler, swa_utils as swa_utils
