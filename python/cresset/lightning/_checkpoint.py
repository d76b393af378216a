"""Checkpoints: what they hold, and how training goes on from one."""

import os

import cresset as torch

from . import _data, _random


class CheckpointMixin:
    def save_checkpoint(self, filepath, weights_only=False):
        """Writes a checkpoint; with `weights_only` of the parameters and hyperparameters alone.

        It holds what training goes on from to the bit: parameters, optimizers, schedulers, callbacks, the scale of the loss, random numbers,
        the place within the epoch, and gradients and means that are not complete. It is plain data: `torch.load(weights_only=True)` reads it.
        """
        path = os.fspath(filepath)
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        torch.save(self.dump_checkpoint(weights_only), path)

    def dump_checkpoint(self, weights_only=False):
        """Content that `save_checkpoint` writes."""
        model = self.lightning_module
        if model is None:
            raise RuntimeError("save_checkpoint: there is no model yet; call fit, validate, test or predict before")
        checkpoint = {"epoch": self.current_epoch, "global_step": self.global_step, "pytorch-lightning_version": "2.0.0", "state_dict": model.state_dict()}
        if model._hparams is not None:
            checkpoint["hyper_parameters"] = dict(model.hparams)
            checkpoint["hparams_name"] = "kwargs"
        if not weights_only:
            checkpoint["callbacks"] = {callback.state_key: callback.state_dict() for callback in self.callbacks if callback.state_dict()}
            checkpoint["optimizer_states"] = [optimizer.state_dict() for optimizer in self.optimizers]
            checkpoint["lr_schedulers"] = [config.scheduler.state_dict() for config in self.lr_scheduler_configs]
            checkpoint["loops"] = self._loop_state()
            if self._precision.scaler is not None:
                checkpoint["MixedPrecision"] = self._precision.scaler.state_dict()
            if self.datamodule is not None:
                checkpoint[type(self.datamodule).__qualname__] = self.datamodule.state_dict()
            for callback in self.callbacks:
                callback.on_save_checkpoint(self, model, checkpoint)
        model.on_save_checkpoint(checkpoint)
        return checkpoint

    def _loop_state(self):
        state = {
            "fit_batches": self.fit_batches, "total_batches": self._total_batches, "stage": self._stage, "should_stop": self.should_stop,
            "is_last": self.is_last_batch, "accumulate_grad_batches": self.accumulate_grad_batches,
            "metrics": self._train_metrics.state_dict(), "rng": _random.captured(), "epoch_start": None if self._batches is None else self._batches.start,
            "before_ahead": None if self._batches is None else self._batches.before_ahead,
            "generators": [generator.get_state() for generator in self._generators()],
            "callback_metrics": {name: float(value) for name, value in self.callback_metrics.items()},
        }  # fmt: skip
        pending = self.fit_batches % self.accumulate_grad_batches != 0 and not state["is_last"]
        if pending or (self.lightning_module is not None and not self.lightning_module.automatic_optimization):
            named = self.lightning_module.named_parameters()
            state["gradients"] = {name: parameter.grad.clone() for name, parameter in named if parameter.grad is not None}
        return state

    def _generators(self):
        """Those of the loaders' own."""
        loaders = [self.train_dataloader, *self.val_dataloaders]
        return [generator for loader in loaders if loader is not None for generator in _data.generators_of(loader)]

    def _checkpoint_path(self, ckpt_path):
        """The file that "best" and "last" stand for."""
        if ckpt_path not in ("best", "last"):
            return ckpt_path
        callback = self.checkpoint_callback
        path = "" if callback is None else callback.best_model_path if ckpt_path == "best" else callback.last_model_path or callback.best_model_path
        if not path:
            raise ValueError(f"ckpt_path={ckpt_path!r}: ModelCheckpoint has written none")
        return path

    def _restore_weights(self, path):
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
        self.lightning_module.on_load_checkpoint(checkpoint)
        self.lightning_module.load_state_dict(checkpoint["state_dict"])

    def _restore(self, path):
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
        if "loops" not in checkpoint:
            raise RuntimeError(
                f"fit: {os.fspath(path)!r} holds parameters only (save_weights_only), training cannot go on from it; load it by load_from_checkpoint"
            )
        model, loops = self.lightning_module, checkpoint["loops"]
        model.on_load_checkpoint(checkpoint)
        model.load_state_dict(checkpoint["state_dict"])
        for kind, mine, saved in (
            ("optimizers", self.optimizers, checkpoint["optimizer_states"]),
            ("schedulers", self.lr_scheduler_configs, checkpoint["lr_schedulers"]),
        ):
            if len(mine) != len(saved):
                raise RuntimeError(f"fit: {os.fspath(path)!r} has {len(saved)} {kind}, the module {len(mine)}")
        for optimizer, state in zip(self.optimizers, checkpoint["optimizer_states"]):
            optimizer.load_state_dict(state)
        for config, state in zip(self.lr_scheduler_configs, checkpoint["lr_schedulers"]):
            config.scheduler.load_state_dict(state)
        if self._precision.scaler is not None and "MixedPrecision" in checkpoint:
            self._precision.scaler.load_state_dict(checkpoint["MixedPrecision"])
        if self.datamodule is not None:
            self.datamodule.load_state_dict(checkpoint.get(type(self.datamodule).__qualname__, {}))
        for callback in self.callbacks:
            callback.on_load_checkpoint(self, model, checkpoint)
            if callback.state_key in checkpoint["callbacks"]:
                callback.load_state_dict(checkpoint["callbacks"][callback.state_key])
        self.current_epoch, self.global_step = checkpoint["epoch"], checkpoint["global_step"]
        self.fit_batches, self._total_batches, self._stage = loops["fit_batches"], loops["total_batches"], loops["stage"]
        self.is_last_batch = loops["is_last"]
        self._train_metrics.load_state_dict(loops["metrics"])
        self.callback_metrics = {name: torch.tensor(value) for name, value in loops["callback_metrics"].items()}
        parameters = dict(model.named_parameters())
        for name, gradient in loops.get("gradients", {}).items():
            parameters[name].grad = gradient
        self._resumed = loops
