"""The end of a training that gets no better."""

import math

from .callback import Callback

__all__ = ["EarlyStopping"]


class EarlyStopping(Callback):
    """Stops when a logged value has not become better for some checks.

    Args:
        monitor: its name.
        min_delta: by how much it has to become better.
        patience: after how many checks without that it stops.
        verbose: whether it prints what it found.
        mode: "min" or "max": which is better.
        strict: whether RuntimeError is raised where the value is not logged.
        check_finite: whether infinity and nan stop.
        stopping_threshold: a value that is good enough to stop.
        divergence_threshold: a value that is bad enough to stop.
        check_on_train_epoch_end: whether checks are made at the end of training epochs, and not of validations; None: where there is no
            validation.

    >>> torch.lightning.callbacks.EarlyStopping("val_loss", patience=2).patience
    2
    """

    def __init__(self, monitor, min_delta=0.0, patience=3, verbose=False, mode="min", strict=True, check_finite=True, stopping_threshold=None,
                 divergence_threshold=None, check_on_train_epoch_end=None):  # fmt: skip
        if mode not in ("min", "max"):
            raise ValueError(f"EarlyStopping: the mode is 'min' or 'max', got {mode!r}")
        self.monitor, self.patience, self.verbose, self.mode, self.strict, self.check_finite = monitor, patience, verbose, mode, strict, check_finite
        self.min_delta = abs(min_delta)
        self.stopping_threshold, self.divergence_threshold = stopping_threshold, divergence_threshold
        self._on_train_epoch_end = check_on_train_epoch_end
        self.wait_count = self.stopped_epoch = 0
        self.best_score = math.inf if mode == "min" else -math.inf

    @property
    def state_key(self):
        return f"EarlyStopping{{'monitor': {self.monitor!r}, 'mode': {self.mode!r}}}"

    def state_dict(self):
        return {"wait_count": self.wait_count, "stopped_epoch": self.stopped_epoch, "best_score": self.best_score, "patience": self.patience}

    def load_state_dict(self, state_dict):
        self.wait_count, self.stopped_epoch = state_dict["wait_count"], state_dict["stopped_epoch"]
        self.best_score, self.patience = state_dict["best_score"], state_dict["patience"]

    def _better(self, value, than):
        return value < than if self.mode == "min" else value > than

    def _checks_after_training(self, trainer):
        return not trainer.enable_validation if self._on_train_epoch_end is None else self._on_train_epoch_end

    def on_validation_end(self, trainer, pl_module):
        if not self._checks_after_training(trainer) and not trainer.sanity_checking and trainer.fitting:
            self._check(trainer)

    def on_train_epoch_end(self, trainer, pl_module):
        if self._checks_after_training(trainer):
            self._check(trainer)

    def _check(self, trainer):
        if trainer.fast_dev_run:
            return
        value = trainer.callback_metrics.get(self.monitor)
        if value is None:
            if self.strict:
                known = ", ".join(map(repr, trainer.callback_metrics)) or "nothing"
                raise RuntimeError(f"EarlyStopping: {self.monitor!r} is not logged; there is {known}")
            return
        value = float(value)
        reason = self._verdict(value)
        if reason:
            trainer.should_stop = True
            self.stopped_epoch = trainer.current_epoch
            if self.verbose:
                trainer.print(f"EarlyStopping: {self.monitor} = {value:.4f}: {reason}")

    def _verdict(self, value):
        """Why to stop, or nothing."""
        if self.check_finite and not math.isfinite(value):
            return "it is not finite"
        if self.stopping_threshold is not None and self._better(value, self.stopping_threshold):
            return f"it reached {self.stopping_threshold}"
        if self.divergence_threshold is not None and self._better(self.divergence_threshold, value):
            return f"it passed {self.divergence_threshold}"
        needed = self.best_score - self.min_delta if self.mode == "min" else self.best_score + self.min_delta
        if self._better(value, needed):
            self.best_score, self.wait_count = value, 0
            return ""
        self.wait_count += 1
        return f"it did not become better than {self.best_score:.4f} in {self.wait_count} checks" if self.wait_count >= self.patience else ""
