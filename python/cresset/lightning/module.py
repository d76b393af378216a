"""A model with its training, validation and test steps."""

import contextlib

import cresset as torch
from cresset import nn

from . import _data
from ._hparams import HyperparametersMixin

__all__ = ["LightningModule"]


class LightningModule(HyperparametersMixin, nn.Module):
    """A model that says what its steps are and which optimizer it has; a Trainer runs them.

    A subclass gives `training_step`, `configure_optimizers` and what else it needs of `validation_step`, `test_step`, `predict_step`, loaders
    and hooks (`on_train_start`, `on_train_epoch_end`, `on_before_optimizer_step` and so on, which are those of a Callback without its
    first two arguments).

    >>> class Line(torch.lightning.LightningModule):
    ...     def __init__(self, width=3):
    ...         super().__init__()
    ...         self.save_hyperparameters()
    ...         self.layer = nn.Linear(width, 1)
    >>> Line(width=5).hparams
    "width": 5
    """

    def __init__(self):
        super().__init__()
        self.__dict__["_trainer"] = None
        self.__dict__["_log_context"] = None
        self.automatic_optimization = True

    # ---- what a subclass gives --------------------------------------------------------------------------------------------

    def training_step(self, batch, batch_idx):
        """The loss of a batch, or a dict with it as "loss", or None for a batch that is skipped."""
        raise NotImplementedError(f"{type(self).__name__}: training_step is the subclass's")

    def configure_optimizers(self):
        """An optimizer; or a dict of "optimizer" and "lr_scheduler"; or lists of optimizers and schedulers; or None.

        A scheduler is one, or a dict of "scheduler", "interval" ("epoch" or "step"), "frequency", "monitor", "strict" and "name".
        """
        raise NotImplementedError(f"{type(self).__name__}: configure_optimizers is the subclass's")

    def predict_step(self, batch, batch_idx, dataloader_idx=0):
        """Result of `Trainer.predict` for a batch; by default the model's output."""
        return self(batch[0] if isinstance(batch, (list, tuple)) else batch)

    def configure_callbacks(self):
        """Callbacks that come with the model."""
        return []

    def configure_gradient_clipping(self, optimizer, gradient_clip_val=None, gradient_clip_algorithm=None):
        """Called before a step of the optimizer; by default `clip_gradients`."""
        self.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)

    def lr_scheduler_step(self, scheduler, metric):
        """Called where a scheduler is due; `metric` is what it monitors."""
        scheduler.step() if metric is None else scheduler.step(metric)

    def optimizer_zero_grad(self, epoch, batch_idx, optimizer):
        """Called before the first backward of a step."""
        optimizer.zero_grad()

    def transfer_batch_to_device(self, batch, device, dataloader_idx):
        """A batch as it is given to a step; by default its tensors on the device."""
        return _data.moved(batch, device)

    # ---- what a step may call ---------------------------------------------------------------------------------------------

    @property
    def trainer(self):
        """The Trainer that runs the model; RuntimeError where there is none."""
        if self.__dict__.get("_trainer") is None:
            raise RuntimeError(f"{type(self).__name__} is not attached to a `Trainer`.")
        return self.__dict__["_trainer"]

    @trainer.setter
    def trainer(self, trainer):
        self.__dict__["_trainer"] = trainer

    @property
    def device(self):
        """Where the parameters are."""
        first = next(self.parameters(), None)
        return torch.device("cpu") if first is None else first.device

    @property
    def dtype(self):
        """The dtype of the parameters."""
        first = next(self.parameters(), None)
        return torch.get_default_dtype() if first is None else first.dtype

    @property
    def current_epoch(self):
        """The number of the epoch, from 0."""
        return self.trainer.current_epoch if self.__dict__.get("_trainer") is not None else 0

    @property
    def global_step(self):
        """How many optimizer steps there were."""
        return self.trainer.global_step if self.__dict__.get("_trainer") is not None else 0

    @property
    def logger(self):
        """The trainer's first logger."""
        return self.trainer.logger if self.__dict__.get("_trainer") is not None else None

    @property
    def loggers(self):
        """The trainer's loggers."""
        return self.trainer.loggers if self.__dict__.get("_trainer") is not None else []

    def optimizers(self):
        """The optimizer, or a list of them; for `automatic_optimization = False`."""
        found = self.trainer._counted_optimizers()
        return found[0] if len(found) == 1 else found

    def lr_schedulers(self):
        """The scheduler, or a list of them; None for none."""
        found = [config.scheduler for config in self.trainer.lr_scheduler_configs]
        return found[0] if len(found) == 1 else found or None

    def manual_backward(self, loss, *args, **kwargs):
        """`loss.backward()` with the trainer's precision; for `automatic_optimization = False`."""
        if self.automatic_optimization:
            raise RuntimeError("manual_backward: set `automatic_optimization = False` in __init__ to call it")
        self.trainer._backward(loss, *args, **kwargs)

    def clip_gradients(self, optimizer, gradient_clip_val=None, gradient_clip_algorithm=None):
        """Clips the gradients of an optimizer's parameters: "norm" of all together, or each "value"."""
        value = self.trainer.gradient_clip_val if gradient_clip_val is None else gradient_clip_val
        kind = gradient_clip_algorithm or self.trainer.gradient_clip_algorithm or "norm"
        if kind not in ("norm", "value"):
            raise ValueError(f"clip_gradients: the algorithm is 'norm' or 'value', got {kind!r}")
        if not value:
            return
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        (nn.utils.clip_grad_norm_ if kind == "norm" else nn.utils.clip_grad_value_)(parameters, value)

    def log(self, name, value, prog_bar=False, logger=True, on_step=None, on_epoch=None, reduce_fx="mean", batch_size=None, add_dataloader_idx=True):
        """Logs a number.

        Args:
            name: with `_step` and `_epoch` behind it where it is logged for both.
            value: a number, or a tensor of one.
            prog_bar, logger: whether the progress bar and the loggers show it.
            on_step, on_epoch: whether for each step, and reduced over the epoch; None: the former in training steps, else the latter.
            reduce_fx: "mean", weighted by the size of batches, "sum", "min" or "max".
            batch_size: None: that of the batch's first tensor.
            add_dataloader_idx: whether the name tells which of several loaders it is of.

        Errors: RuntimeError outside of the hooks that a Trainer calls; ValueError for other values, and for arguments unlike those before.
        """
        context = self.__dict__.get("_log_context")
        if context is None:
            raise RuntimeError(f"log: {name!r} can be logged only in steps and hooks that a Trainer calls")
        if on_step is None:
            on_step = context.on_step
        if on_epoch is None:
            on_epoch = context.on_epoch
        if on_step and not context.allows_step:
            raise ValueError(f"log: on_step=True has no meaning in {context.hook}, which belongs to no step")
        if context.loader is not None and add_dataloader_idx:
            name = f"{name}/dataloader_idx_{context.loader}"
        weight = 1
        if on_epoch:
            weight = batch_size if batch_size is not None else context.batch_size()
        context.metrics.add(name, value, on_step, on_epoch, prog_bar, logger, reduce_fx, weight)

    def log_dict(self, dictionary, **kwargs):
        """`log` of each number of a dict."""
        for name, value in dictionary.items():
            self.log(name, value, **kwargs)

    def print(self, *args, **kwargs):
        """`print`, on a line of its own where there is a progress bar."""
        self.trainer.print(*args, **kwargs)

    # ---- models of files --------------------------------------------------------------------------------------------------

    def freeze(self):
        """Parameters take no gradients, and the mode is that of evaluation."""
        self.requires_grad_(False)
        self.eval()

    def unfreeze(self):
        """Parameters take gradients, and the mode is that of training."""
        self.requires_grad_(True)
        self.train()

    @classmethod
    def load_from_checkpoint(cls, checkpoint_path, map_location=None, hparams_file=None, strict=True, **kwargs):
        """A model of a checkpoint's parameters, made of the hyperparameters that it holds.

        Args:
            checkpoint_path: a path or a file.
            map_location: as of `torch.load`.
            hparams_file: a JSON file of hyperparameters, instead of those of the checkpoint.
            strict: whether all names have to fit.
            kwargs: hyperparameters that are not the checkpoint's.
        """
        import inspect
        import json

        checkpoint = torch.load(checkpoint_path, map_location=map_location, weights_only=True)
        if hparams_file is not None:
            with open(hparams_file, encoding="utf-8") as file:
                checkpoint["hyper_parameters"] = json.load(file)
        given = {**checkpoint.get("hyper_parameters", {}), **kwargs}
        parameters = inspect.signature(cls.__init__).parameters
        if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            given = {name: value for name, value in given.items() if name in parameters}
        model = cls(**given)
        model.on_load_checkpoint(checkpoint)
        model.load_state_dict(checkpoint["state_dict"], strict=strict)
        return model

    # ---- hooks ------------------------------------------------------------------------------------------------------------

    def on_save_checkpoint(self, checkpoint):
        """May add to a checkpoint before it is written."""

    def on_load_checkpoint(self, checkpoint):
        """May take from a checkpoint that was read."""

    @contextlib.contextmanager
    def _logging(self, context):
        before = self.__dict__.get("_log_context")
        self.__dict__["_log_context"] = context
        try:
            yield
        finally:
            self.__dict__["_log_context"] = before

    def __getstate__(self):
        return {**self.__dict__, "_trainer": None, "_log_context": None}
