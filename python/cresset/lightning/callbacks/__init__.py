"""Hooks that a Trainer calls within its loops.

>>> stop = torch.lightning.callbacks.EarlyStopping("val_loss")
>>> stop.monitor
'val_loss'
"""

from .callback import Callback
from .early_stopping import EarlyStopping
from .model_checkpoint import Checkpoint, ModelCheckpoint
from .others import GradientAccumulationScheduler, LambdaCallback, LearningRateMonitor, ModelSummary, Timer
from .progress import ProgressBar, RichProgressBar, TQDMProgressBar

__all__ = ["Callback", "Checkpoint", "EarlyStopping", "GradientAccumulationScheduler", "LambdaCallback", "LearningRateMonitor", "ModelCheckpoint",
           "ModelSummary", "ProgressBar", "RichProgressBar", "TQDMProgressBar", "Timer"]  # fmt: skip
