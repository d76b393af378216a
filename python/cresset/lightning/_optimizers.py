"""Results that `configure_optimizers` may give."""

import dataclasses
from typing import Any

from cresset.optim import Optimizer
from cresset.optim.lr_scheduler import ReduceLROnPlateau


@dataclasses.dataclass
class SchedulerConfig:
    """A scheduler and when it steps."""

    scheduler: Any
    interval: str = "epoch"
    frequency: int = 1
    monitor: str | None = None
    strict: bool = True
    name: str | None = None
    reduce_on_plateau: bool = False


def _config(value, monitor=None):
    if not isinstance(value, dict):
        value = {"scheduler": value}
    unknown = set(value) - {field.name for field in dataclasses.fields(SchedulerConfig)}
    if unknown or "scheduler" not in value:
        raise ValueError(f"configure_optimizers: a scheduler's dict has 'scheduler' and no {', '.join(map(repr, sorted(unknown))) or 'other keys'}")
    config = SchedulerConfig(**value)
    config.monitor = config.monitor or monitor
    config.reduce_on_plateau = config.reduce_on_plateau or isinstance(config.scheduler, ReduceLROnPlateau)
    if config.interval not in ("epoch", "step"):
        raise ValueError(f"configure_optimizers: a scheduler's interval is 'epoch' or 'step', got {config.interval!r}")
    if config.reduce_on_plateau and config.monitor is None:
        raise ValueError("configure_optimizers: a scheduler that waits for a plateau has a 'monitor', the name of a logged value")
    return config


def parts_of(given):
    """(optimizers, scheduler configurations) of what `configure_optimizers` gave."""
    if given is None:
        return [], []
    if isinstance(given, Optimizer):
        return [given], []
    if isinstance(given, dict):
        return [given["optimizer"]], [_config(given["lr_scheduler"], given.get("monitor"))] if given.get("lr_scheduler") is not None else []
    if isinstance(given, (list, tuple)):
        if len(given) == 2 and all(isinstance(part, (list, tuple)) for part in given):
            return list(given[0]), [_config(scheduler) for scheduler in given[1]]
        if all(isinstance(part, Optimizer) for part in given):
            return list(given), []
        if all(isinstance(part, dict) for part in given):
            parts = [parts_of(part) for part in given]
            return [o for optimizers, _ in parts for o in optimizers], [s for _, schedulers in parts for s in schedulers]
    raise ValueError("configure_optimizers: expected an optimizer, a dict with 'optimizer' and 'lr_scheduler', two lists, or None, "
                     f"got {type(given).__name__}")  # fmt: skip


class CountedOptimizer:
    """An optimizer as `LightningModule.optimizers` gives it: its steps are counted, and made with the trainer's precision."""

    def __init__(self, optimizer, trainer):
        self.optimizer, self._trainer = optimizer, trainer

    def __getattr__(self, name):
        return getattr(self.optimizer, name)

    def step(self, closure=None, **kwargs):
        return self._trainer._step_by_hand(self.optimizer, closure, kwargs)
