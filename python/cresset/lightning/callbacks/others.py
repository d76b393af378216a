"""Small callbacks: learning rates, time, accumulation, functions, the model's table."""

import datetime
import time

from .callback import Callback

__all__ = ["GradientAccumulationScheduler", "LambdaCallback", "LearningRateMonitor", "ModelSummary", "Timer"]


class LearningRateMonitor(Callback):
    """Logs the learning rates of all optimizers: `lr-SGD`, with `-1` behind for a second one of its kind, and `/pg1` for groups of parameters.

    Args:
        logging_interval: "step", "epoch", or None for as each scheduler steps.
        log_momentum, log_weight_decay: whether these are logged too.

    >>> torch.lightning.callbacks.LearningRateMonitor("step").logging_interval
    'step'
    """

    def __init__(self, logging_interval=None, log_momentum=False, log_weight_decay=False):
        if logging_interval not in (None, "step", "epoch"):
            raise ValueError(f"LearningRateMonitor: logging_interval is 'step', 'epoch' or None, got {logging_interval!r}")
        self.logging_interval, self.log_momentum, self.log_weight_decay = logging_interval, log_momentum, log_weight_decay
        self.lrs = {}

    def on_train_start(self, trainer, pl_module):
        if not trainer.loggers:
            raise RuntimeError("LearningRateMonitor: there is no logger that could show learning rates")
        self._names = self._named(trainer)
        self.lrs = {name: [] for name, *_ in self._names}

    @staticmethod
    def _named(trainer):
        """(name, optimizer, number of the group, interval) of every group."""
        found, counts = [], {}
        by_optimizer = {id(config.scheduler.optimizer): config for config in trainer.lr_scheduler_configs}
        for optimizer in trainer.optimizers:
            config = by_optimizer.get(id(optimizer))
            name = config.name if config is not None and config.name else "lr-" + type(optimizer).__name__
            counts[name] = counts.get(name, 0) + 1
            full = name if counts[name] == 1 else f"{name}-{counts[name] - 1}"
            groups = optimizer.param_groups
            for i in range(len(groups)):
                found.append((f"{full}/pg{i + 1}" if len(groups) > 1 else full, optimizer, i, config.interval if config is not None else None))
        return found

    def _log(self, trainer, interval):
        values = {}
        for name, optimizer, i, own in self._names:
            if self.logging_interval not in (None, interval) or (self.logging_interval is None and own not in (None, interval)):
                continue
            group = optimizer.param_groups[i]
            values[name] = float(group["lr"])
            self.lrs[name].append(values[name])
            if self.log_momentum and ("momentum" in group or "betas" in group):
                values[f"{name}-momentum"] = float(group["momentum"] if "momentum" in group else group["betas"][0])
            if self.log_weight_decay and "weight_decay" in group:
                values[f"{name}-weight_decay"] = float(group["weight_decay"])
        for logger in trainer.loggers if values else ():
            logger.log_metrics(values, step=trainer.global_step)

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if trainer.global_step % trainer.log_every_n_steps == 0:
            self._log(trainer, "step")

    def on_train_epoch_start(self, trainer, pl_module):
        self._log(trainer, "epoch")


class Timer(Callback):
    """Measures the time, and ends the training when it is used up.

    Args:
        duration: a `timedelta`, a dict of its arguments, or "DD:HH:MM:SS"; None: no end.
        interval: "step" or "epoch": when it looks.
        verbose: whether it prints that time is up.

    >>> torch.lightning.callbacks.Timer("00:01:00:00").duration
    3600.0
    """

    def __init__(self, duration=None, interval="step", verbose=True):
        if interval not in ("step", "epoch"):
            raise ValueError(f"Timer: the interval is 'step' or 'epoch', got {interval!r}")
        if isinstance(duration, str):
            days, hours, minutes, seconds = (int(part) for part in duration.split(":"))
            duration = {"days": days, "hours": hours, "minutes": minutes, "seconds": seconds}
        if isinstance(duration, dict):
            duration = datetime.timedelta(**duration)
        self.duration = None if duration is None else duration.total_seconds()
        self.interval, self.verbose = interval, verbose
        self._used, self._since = {}, {}

    def _start(self, stage):
        self._since[stage] = time.monotonic()

    def _end(self, stage):
        self._used[stage] = self.time_elapsed(stage)
        self._since.pop(stage, None)

    def time_elapsed(self, stage="train"):
        """Seconds that "train", "validate" or "test" took."""
        return self._used.get(stage, 0.0) + (time.monotonic() - self._since[stage] if stage in self._since else 0.0)

    def time_remaining(self, stage="train"):
        """Seconds that are left, or None."""
        return None if self.duration is None else self.duration - self.time_elapsed(stage)

    def on_train_start(self, trainer, pl_module):
        self._start("train")

    def on_train_end(self, trainer, pl_module):
        self._end("train")

    def on_validation_start(self, trainer, pl_module):
        self._start("validate")

    def on_validation_end(self, trainer, pl_module):
        self._end("validate")

    def on_test_start(self, trainer, pl_module):
        self._start("test")

    def on_test_end(self, trainer, pl_module):
        self._end("test")

    def _look(self, trainer):
        if self.duration is not None and self.time_elapsed() >= self.duration:
            trainer.should_stop = True
            if self.verbose:
                trainer.print(f"Timer: the time of {self.duration} seconds is used up")

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if self.interval == "step":
            self._look(trainer)

    def on_train_epoch_end(self, trainer, pl_module):
        if self.interval == "epoch":
            self._look(trainer)

    def state_dict(self):
        return {"time_elapsed": {stage: self.time_elapsed(stage) for stage in {*self._used, *self._since}}}

    def load_state_dict(self, state_dict):
        self._used = dict(state_dict["time_elapsed"])


class GradientAccumulationScheduler(Callback):
    """How many batches make a step, from given epochs on.

    Args:
        scheduling: epoch to number; before the first it is 1.

    >>> torch.lightning.callbacks.GradientAccumulationScheduler({4: 2}).get_accumulate_grad_batches(5)
    2
    """

    def __init__(self, scheduling):
        if not scheduling:
            raise TypeError("GradientAccumulationScheduler: scheduling is a dict of epochs and numbers of batches, got an empty one")
        for epoch, number in scheduling.items():
            if not isinstance(epoch, int) or epoch < 0 or not isinstance(number, int) or number < 1:
                raise ValueError(f"GradientAccumulationScheduler: expected epochs from 0 and numbers from 1, got {epoch!r}: {number!r}")
        self.scheduling = scheduling

    def get_accumulate_grad_batches(self, epoch):
        """How many batches make a step in an epoch."""
        begun = [first for first in self.scheduling if first <= epoch]
        return self.scheduling[max(begun)] if begun else 1

    def on_train_epoch_start(self, trainer, pl_module):
        trainer.accumulate_grad_batches = self.get_accumulate_grad_batches(trainer.current_epoch)

    def on_fit_start(self, trainer, pl_module):
        trainer.accumulate_grad_batches = self.get_accumulate_grad_batches(trainer.current_epoch)


class LambdaCallback(Callback):
    """A callback of functions, by the names of the places.

    >>> hello = torch.lightning.callbacks.LambdaCallback(on_fit_end=lambda trainer, module: print("done"))
    >>> hello.on_fit_end(None, None)
    done
    """

    def __init__(self, **functions):
        for name, function in functions.items():
            if not (name in ("setup", "teardown") or name.startswith("on_")):
                raise ValueError(f"LambdaCallback: there is no place {name!r}")
            if function is not None:
                setattr(self, name, function)


class ModelSummary(Callback):
    """Prints a table of the model's parts and their parameters before it is trained.

    Args:
        max_depth: how deep the parts lie that are shown; -1: all.

    >>> print(torch.lightning.callbacks.ModelSummary().table(nn.Sequential(nn.Linear(2, 3))))
      | Name | Type   | Params
    --------------------------
    0 | 0    | Linear | 9
    --------------------------
    9 parameters, 9 of them trained
    """

    def __init__(self, max_depth=1):
        self._max_depth = max_depth

    def table(self, model):
        """The table's text."""
        rows = [("", "Name", "Type", "Params")]
        for name, module in model.named_modules():
            if name and (self._max_depth == -1 or name.count(".") < self._max_depth):
                rows.append((str(len(rows) - 1), name, type(module).__name__, f"{sum(p.numel() for p in module.parameters()):,}"))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        rule = "-" * max(map(len, lines))
        counts = [(p.numel(), p.requires_grad) for p in model.parameters()]
        total = f"{sum(n for n, _ in counts):,} parameters, {sum(n for n, trained in counts if trained):,} of them trained"
        return "\n".join([lines[0], rule, *lines[1:], rule, total])

    def on_fit_start(self, trainer, pl_module):
        if self._max_depth:
            trainer.print(self.table(pl_module))
