"""Checkpoints while a model is trained."""

import math
import os
import re
import time

import cresset as torch

from .callback import Callback

__all__ = ["Checkpoint", "ModelCheckpoint"]


class Checkpoint(Callback):
    """Base of callbacks that write checkpoints; they are called after all others.

    >>> issubclass(torch.lightning.callbacks.ModelCheckpoint, torch.lightning.callbacks.Checkpoint)
    True
    """


class ModelCheckpoint(Checkpoint):
    """Writes checkpoints: the last one, or the best by a logged value.

    Args:
        dirpath: the folder; None: `checkpoints` in the logger's folder, or in the trainer's `default_root_dir`.
        filename: the name without its end, with logged values in braces: "{epoch}-{val_loss:.2f}"; None: "{epoch}-{step}".
        monitor: the value; None: the last checkpoint counts as the best.
        verbose: whether it prints what it writes.
        save_last: whether there is a `last.ckpt` as well.
        save_top_k: how many are kept: the best; 0: none; -1: all.
        save_weights_only: whether they hold the parameters only, from which training cannot be resumed.
        mode: "min" or "max": which value is better.
        auto_insert_metric_name: whether a value's name stands before it.
        every_n_train_steps: after so many optimizer steps, and not at the end of epochs.
        train_time_interval: after so much time (`datetime.timedelta`), and not at the end of epochs.
        every_n_epochs: at the end of every so many epochs.
        save_on_train_epoch_end: whether at the end of training epochs, and not of validations; None: where there is no validation, or
            it is not made in every epoch.
        enable_version_counter: whether a file of another run is kept, by a number behind the name.

    >>> torch.lightning.callbacks.ModelCheckpoint(monitor="loss").format_checkpoint_name({"epoch": 3, "step": 70})
    'epoch=3-step=70.ckpt'
    """

    CHECKPOINT_JOIN_CHAR, CHECKPOINT_EQUALS_CHAR, CHECKPOINT_NAME_LAST, FILE_EXTENSION, STARTING_VERSION = "-", "=", "last", ".ckpt", 1

    def __init__(self, dirpath=None, filename=None, monitor=None, verbose=False, save_last=None, save_top_k=1, save_weights_only=False, mode="min",
                 auto_insert_metric_name=True, every_n_train_steps=None, train_time_interval=None, every_n_epochs=None, save_on_train_epoch_end=None,
                 enable_version_counter=True):  # fmt: skip
        if mode not in ("min", "max"):
            raise ValueError(f"ModelCheckpoint: the mode is 'min' or 'max', got {mode!r}")
        if save_top_k < -1:
            raise ValueError(f"ModelCheckpoint: save_top_k is -1, 0 or a number of files, got {save_top_k}")
        if monitor is None and save_top_k not in (-1, 0, 1):
            raise ValueError(f"ModelCheckpoint: without a monitor save_top_k is -1, 0 or 1, got {save_top_k}")
        if sum(v is not None for v in (every_n_train_steps, every_n_epochs, train_time_interval)) > 1:
            raise ValueError("ModelCheckpoint: one of every_n_train_steps, every_n_epochs and train_time_interval is given")
        for name, value in (("every_n_train_steps", every_n_train_steps), ("every_n_epochs", every_n_epochs)):
            if value is not None and value < 0:
                raise ValueError(f"ModelCheckpoint: {name} is not negative, got {value}")
        self.dirpath = None if dirpath is None else os.path.realpath(os.path.expanduser(os.fspath(dirpath)))
        self.filename, self.monitor, self.verbose, self.save_last, self.save_top_k = filename, monitor, verbose, save_last, save_top_k
        self.save_weights_only, self.mode, self.auto_insert_metric_name = save_weights_only, mode, auto_insert_metric_name
        self._every_n_train_steps = every_n_train_steps or 0
        self._train_time_interval = train_time_interval
        by_time = self._every_n_train_steps or train_time_interval is not None
        self._every_n_epochs = every_n_epochs if every_n_epochs is not None else 0 if by_time else 1
        self._save_on_train_epoch_end, self._enable_version_counter = save_on_train_epoch_end, enable_version_counter
        self.best_k_models, self.kth_best_model_path, self.best_model_path, self.last_model_path = {}, "", "", ""
        self.best_model_score = self.current_score = None
        self._last_step, self._last_time = 0, None

    @property
    def state_key(self):
        shown = {"monitor": self.monitor, "mode": self.mode, "every_n_train_steps": self._every_n_train_steps, "every_n_epochs": self._every_n_epochs}
        return f"ModelCheckpoint{shown}"

    def state_dict(self):
        return {"monitor": self.monitor, "best_model_score": self.best_model_score, "best_model_path": self.best_model_path, "dirpath": self.dirpath,
                "current_score": self.current_score, "best_k_models": dict(self.best_k_models), "kth_best_model_path": self.kth_best_model_path,
                "last_model_path": self.last_model_path, "last_step": self._last_step}  # fmt: skip

    def load_state_dict(self, state_dict):
        if state_dict["dirpath"] == self.dirpath or self.dirpath is None:
            for name in ("best_model_score", "best_k_models", "kth_best_model_path", "last_model_path"):
                setattr(self, name, state_dict[name])
        self.best_model_path, self._last_step = state_dict["best_model_path"], state_dict["last_step"]

    # ---- when -------------------------------------------------------------------------------------------------------------

    def setup(self, trainer, pl_module, stage):
        if stage == "fit" and self.dirpath is None:
            self.dirpath = os.path.join(os.path.realpath(trainer.log_dir or trainer.default_root_dir), "checkpoints")
        self._last_time = time.monotonic()

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        by_steps = self._every_n_train_steps and trainer.global_step % self._every_n_train_steps == 0 and trainer.global_step > 0
        by_time = self._train_time_interval is not None and time.monotonic() - self._last_time >= self._train_time_interval.total_seconds()
        if by_steps or by_time:
            self._last_time = time.monotonic()
            self._save(trainer)

    def _saves_after_training(self, trainer):
        if self._save_on_train_epoch_end is not None:
            return self._save_on_train_epoch_end
        return not trainer.enable_validation or trainer.check_val_every_n_epoch != 1 or trainer._validates_within_epochs()

    def _is_due(self, trainer):
        return self._every_n_epochs >= 1 and (trainer.current_epoch + 1) % self._every_n_epochs == 0

    def on_train_epoch_end(self, trainer, pl_module):
        if self._saves_after_training(trainer) and self._is_due(trainer):
            self._save(trainer)

    def on_validation_end(self, trainer, pl_module):
        if trainer.fitting and not trainer.sanity_checking and not self._saves_after_training(trainer) and self._is_due(trainer):
            self._save(trainer)

    # ---- what -------------------------------------------------------------------------------------------------------------

    def _save(self, trainer):
        if trainer.fast_dev_run or self._last_step == trainer.global_step:
            return
        self._last_step = trainer.global_step
        values = {**{name: float(value) for name, value in trainer.callback_metrics.items()}, "epoch": trainer.current_epoch, "step": trainer.global_step}
        if self.save_top_k:
            if self.monitor is None:
                self._save_newest(trainer, values)
            else:
                self._save_if_good(trainer, values)
        if self.save_last:
            path = os.path.join(self.dirpath, self.CHECKPOINT_NAME_LAST + self.FILE_EXTENSION)
            self.last_model_path = path
            trainer.save_checkpoint(path, self.save_weights_only)

    def _write(self, trainer, path):
        trainer.save_checkpoint(path, self.save_weights_only)
        if self.verbose:
            trainer.print(f"ModelCheckpoint: epoch {trainer.current_epoch}, step {trainer.global_step}: wrote {path}")

    def _remove(self, path):
        if path and os.path.isfile(path) and os.path.dirname(path) == self.dirpath:
            os.remove(path)

    def _save_newest(self, trainer, values):
        before, self.best_model_path = self.best_model_path, self._new_path(values)
        if self.save_top_k == 1:
            self.best_k_models = {}
        self.best_k_models[self.best_model_path] = float(trainer.global_step)
        self._write(trainer, self.best_model_path)
        if self.save_top_k == 1 and before != self.best_model_path:
            self._remove(before)

    def _save_if_good(self, trainer, values):
        if self.monitor not in values:
            known = ", ".join(map(repr, trainer.callback_metrics)) or "nothing"
            raise RuntimeError(f"ModelCheckpoint: {self.monitor!r} is not logged; there is {known}")
        score = self.current_score = values[self.monitor]
        worst = math.inf if self.mode == "min" else -math.inf
        rank = lambda item: item[1] if self.mode == "min" else -item[1]  # noqa: E731
        compared = worst if math.isnan(score) else score
        is_full = self.save_top_k != -1 and len(self.best_k_models) >= self.save_top_k
        if is_full and rank(("", compared)) >= rank(max(self.best_k_models.items(), key=rank)):
            return
        dropped = max(self.best_k_models, key=lambda path: rank((path, self.best_k_models[path]))) if is_full else None
        if dropped is not None:
            del self.best_k_models[dropped]
        path = self._new_path(values, dropped)
        self.best_k_models[path] = compared
        self.kth_best_model_path = max(self.best_k_models.items(), key=rank)[0]
        self.best_model_path, best = min(self.best_k_models.items(), key=rank)
        self.best_model_score = torch.tensor(best)
        self._write(trainer, path)
        if dropped is not None and dropped != path:
            self._remove(dropped)

    # ---- names ------------------------------------------------------------------------------------------------------------

    def format_checkpoint_name(self, metrics, filename=None, ver=None):
        """The path of a checkpoint with these values."""
        pattern = filename or self.filename or "{epoch}" + self.CHECKPOINT_JOIN_CHAR + "{step}"

        def shown(match):
            name, form = match[1], match[2] or ""
            value = metrics.get(name, 0)
            text = format(value, form[1:]) if form else str(value)
            return f"{name}{self.CHECKPOINT_EQUALS_CHAR}{text}" if self.auto_insert_metric_name else text

        name = re.sub(r"\{([^:{}]+)(:[^{}]*)?\}", shown, pattern)
        name = name.replace("/", "_") if self.auto_insert_metric_name else name
        name += f"{self.CHECKPOINT_JOIN_CHAR}v{ver}" if ver is not None else ""
        return os.path.join(self.dirpath, name + self.FILE_EXTENSION) if self.dirpath else name + self.FILE_EXTENSION

    def _new_path(self, values, replaced=None):
        path, version = self.format_checkpoint_name(values), self.STARTING_VERSION
        while self._enable_version_counter and os.path.exists(path) and path not in (replaced, self.best_model_path if self.monitor is None else None):
            path = self.format_checkpoint_name(values, ver=version)
            version += 1
        return path
