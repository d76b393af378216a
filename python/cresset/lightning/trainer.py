"""The loops."""

import contextlib
import datetime
import math
import os

import cresset as torch
from cresset import optim

from . import _data, _random, loggers
from ._checkpoint import CheckpointMixin
from ._evaluation import EvaluationMixin
from ._metrics import Metrics
from ._optimizers import CountedOptimizer, parts_of
from ._precision import Precision
from .callbacks import Checkpoint, GradientAccumulationScheduler, ModelCheckpoint, ModelSummary, ProgressBar, Timer
from .callbacks import EarlyStopping as _EarlyStopping

__all__ = ["Trainer"]


class _Context:
    """Where a hook is that may log."""

    def __init__(self, hook, metrics, on_step, on_epoch, allows_step, batch=None, loader=None):
        self.hook, self.metrics, self.on_step, self.on_epoch, self.allows_step, self.batch, self.loader = (
            hook,
            metrics,
            on_step,
            on_epoch,
            allows_step,
            batch,
            loader,
        )

    def batch_size(self):
        found = None if self.batch is None else _data.size_of(self.batch)
        return 1 if found is None else found


def _refuse_several_processes(strategy, num_nodes, profiler, plugins):
    if getattr(strategy, "strategy_name", strategy) not in ("auto", "single_device"):
        raise ValueError(f"Trainer: the strategy is 'auto' or 'single_device' (it runs in one process), got {strategy!r}")
    if num_nodes != 1:
        raise ValueError(f"Trainer: it runs on one machine, got num_nodes={num_nodes!r}")
    if profiler is not None:
        raise ValueError(f"Trainer: there is no profiler yet, got {profiler!r}")
    if plugins:
        raise ValueError(f"Trainer: it takes no plugins, got {plugins!r}")


class Trainer(CheckpointMixin, EvaluationMixin):
    """Runs the steps of a LightningModule.

    Args:
        accelerator: "auto" or "cpu".
        devices: "auto" or 1.
        precision: "32-true", "64-true", "16-true", "bf16-true"; "16-mixed" or "bf16-mixed" compute in a region of autocast, the former with a scaled loss.
        logger: a logger, several, True for a TensorBoardLogger, or False.
        callbacks: one or several.
        fast_dev_run: True or a number: so many batches of everything, without loggers and checkpoints, to find mistakes.
        max_epochs, min_epochs, max_steps, min_steps: when training ends, or does not yet; -1: no end. Without any the first is 1000.
        max_time: as a Timer's duration.
        limit_train_batches, limit_val_batches, limit_test_batches, limit_predict_batches: how many batches are used: a number, or a part.
        val_check_interval: after how many training batches, or parts of an epoch, there is a validation.
        check_val_every_n_epoch: in which epochs there is one; None: `val_check_interval` counts across epochs.
        num_sanity_val_steps: how many validation batches are run before training; -1: all.
        log_every_n_steps: how often values of steps go to the loggers.
        enable_checkpointing: whether there is a ModelCheckpoint where none is given.
        enable_progress_bar, enable_model_summary: whether these are printed.
        accumulate_grad_batches: how many batches make a step.
        gradient_clip_val, gradient_clip_algorithm: the greatest norm of all gradients ("norm") or value of each ("value").
        deterministic: as `torch.use_deterministic_algorithms`.
        inference_mode: whether evaluation runs in inference mode, and not only without gradients.
        detect_anomaly: as `torch.autograd.detect_anomaly`.
        reload_dataloaders_every_n_epochs: when the module is asked for its loaders again; 0: never.
        default_root_dir: where loggers and checkpoints write.
        overfit_batches: so many batches, or such a part, for training and validation, in their order even where a loader shuffles; 0: all.
        barebones: neither loggers, checkpoints, bar, summary nor a sanity check, for measurements.
        benchmark: as `torch.backends.cudnn.benchmark`.
        use_distributed_sampler, sync_batchnorm: concern several processes, and change nothing in one.
        strategy, num_nodes, profiler, plugins: "auto" (or "single_device"), 1, None and None; there are no others yet.

    Errors: ValueError and TypeError for arguments out of range; RuntimeError for a module that lacks a step.

    >>> trainer = torch.lightning.Trainer(max_epochs=2, logger=False, enable_checkpointing=False)
    >>> trainer.max_epochs, trainer.current_epoch, trainer.global_step
    (2, 0, 0)
    """

    def __init__(self, *, accelerator="auto", devices="auto", precision="32-true", logger=None, callbacks=None, fast_dev_run=False, max_epochs=None,
                 min_epochs=None, max_steps=-1, min_steps=None, max_time=None, limit_train_batches=1.0, limit_val_batches=1.0, limit_test_batches=1.0,
                 limit_predict_batches=1.0, val_check_interval=1.0, check_val_every_n_epoch=1, num_sanity_val_steps=2, log_every_n_steps=50,
                 enable_checkpointing=True, enable_progress_bar=True, enable_model_summary=True, accumulate_grad_batches=1, gradient_clip_val=None,
                 gradient_clip_algorithm=None, deterministic=None, inference_mode=True, detect_anomaly=False, reload_dataloaders_every_n_epochs=0,
                 default_root_dir=None, overfit_batches=0.0, barebones=False, benchmark=None, use_distributed_sampler=True,
                 sync_batchnorm=False, strategy="auto", num_nodes=1, profiler=None, plugins=None):  # fmt: skip
        _refuse_several_processes(strategy, num_nodes, profiler, plugins)
        if barebones:
            logger = enable_checkpointing = enable_progress_bar = enable_model_summary = False
            num_sanity_val_steps = 0
        if overfit_batches:
            limit_train_batches = limit_val_batches = overfit_batches
        if benchmark is not None:
            torch.backends.cudnn.benchmark = bool(benchmark)
        if accelerator not in ("auto", "cpu"):
            raise ValueError(f"Trainer: the accelerator is 'auto' or 'cpu', got {accelerator!r}")
        if devices not in ("auto", 1, "1", -1):
            raise ValueError(f"Trainer: it runs on one device, got devices={devices!r}")
        if accumulate_grad_batches < 1:
            raise ValueError(f"Trainer: accumulate_grad_batches is at least 1, got {accumulate_grad_batches}")
        if gradient_clip_algorithm not in (None, "norm", "value"):
            raise ValueError(f"Trainer: gradient_clip_algorithm is 'norm' or 'value', got {gradient_clip_algorithm!r}")
        if max_steps < -1 or (max_epochs is not None and max_epochs < -1):
            raise ValueError(f"Trainer: max_steps and max_epochs are -1 or numbers from 0, got {max_steps} and {max_epochs}")
        if isinstance(val_check_interval, float) and not 0.0 < val_check_interval <= 1.0:
            raise ValueError(f"Trainer: val_check_interval is a part of an epoch up to 1.0, or a number of batches, got {val_check_interval}")
        if check_val_every_n_epoch is None and isinstance(val_check_interval, float):
            raise ValueError("Trainer: without check_val_every_n_epoch val_check_interval is a whole number of batches")
        self._precision, self._keeps_order = Precision(precision), bool(overfit_batches)
        self.default_root_dir = os.path.abspath(os.fspath(default_root_dir) if default_root_dir is not None else os.getcwd())
        self.fast_dev_run = int(fast_dev_run)
        if self.fast_dev_run:
            max_epochs, max_steps, num_sanity_val_steps, val_check_interval, check_val_every_n_epoch = 1, self.fast_dev_run, 0, 1.0, 1
            limit_train_batches = limit_val_batches = limit_test_batches = limit_predict_batches = self.fast_dev_run
            logger, enable_checkpointing = False, False
        self.max_steps, self.min_steps, self.min_epochs = max_steps, min_steps, min_epochs
        self.max_epochs = 1000 if max_epochs is None and max_steps == -1 and max_time is None else -1 if max_epochs is None else max_epochs
        self.limits = {"train": limit_train_batches, "validate": limit_val_batches, "test": limit_test_batches, "predict": limit_predict_batches}
        self.val_check_interval, self.check_val_every_n_epoch, self.num_sanity_val_steps = val_check_interval, check_val_every_n_epoch, num_sanity_val_steps
        self.log_every_n_steps, self.accumulate_grad_batches = log_every_n_steps, accumulate_grad_batches
        self.gradient_clip_val, self.gradient_clip_algorithm = gradient_clip_val, gradient_clip_algorithm
        self.inference_mode, self.detect_anomaly, self.reload_dataloaders_every_n_epochs = inference_mode, detect_anomaly, reload_dataloaders_every_n_epochs
        if deterministic is not None:
            torch.use_deterministic_algorithms(bool(deterministic), warn_only=deterministic == "warn")
        self.loggers = self._loggers_of(True if logger is None else logger)
        self.callbacks = self._callbacks_of(callbacks, enable_checkpointing, enable_progress_bar, enable_model_summary, max_time)
        self._own_callbacks = list(self.callbacks)
        self._reset()

    def _loggers_of(self, logger):
        if logger is True:
            return [loggers.TensorBoardLogger(self.default_root_dir)]
        return list(logger) if isinstance(logger, (list, tuple)) else [logger] if logger else []

    def _callbacks_of(self, callbacks, checkpointing, progress_bar, summary, max_time):
        found = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks is not None else []
        has = lambda kind: any(isinstance(callback, kind) for callback in found)  # noqa: E731
        if has(Checkpoint) and not checkpointing and not self.fast_dev_run:
            raise ValueError("Trainer: enable_checkpointing=False, but there is a ModelCheckpoint among the callbacks")
        if has(GradientAccumulationScheduler) and self.accumulate_grad_batches != 1:
            raise ValueError("Trainer: accumulate_grad_batches is 1 beside a GradientAccumulationScheduler")
        found += [ModelCheckpoint()] if checkpointing and not has(Checkpoint) else []
        found += [ProgressBar()] if progress_bar and not has(ProgressBar) else []
        found += [ModelSummary()] if summary and not has(ModelSummary) else []
        if max_time is not None:
            found.append(Timer(max_time.total_seconds() and max_time if isinstance(max_time, datetime.timedelta) else max_time))
        # Checkpoints hold what the others have done.
        return sorted(found, key=lambda callback: isinstance(callback, Checkpoint))

    def _reset(self):
        self.lightning_module = self.datamodule = None
        self.optimizers, self.lr_scheduler_configs = [], []
        self.current_epoch = self.global_step = self.fit_batches = self._total_batches = 0
        self._stage = "batches"  # of the epoch: then "validated", "ending"
        self.should_stop = self.interrupted = self.fitting = self.sanity_checking = self.training = self.evaluating = self.is_last_batch = False
        self._batches = None
        self.callback_metrics, self.logged_metrics, self.progress_bar_metrics = {}, {}, {}
        self._train_metrics, self._resumed = Metrics(), None
        self.train_dataloader = None
        self.val_dataloaders, self.num_training_batches, self.num_val_batches = [], 0, []

    # ---- what others ask for ----------------------------------------------------------------------------------------------

    @property
    def model(self):
        """The module that is trained."""
        return self.lightning_module

    @property
    def logger(self):
        """The first logger, or None."""
        return self.loggers[0] if self.loggers else None

    @property
    def log_dir(self):
        """The folder of the first logger, or None."""
        return self.logger.log_dir if self.loggers else None

    @property
    def precision(self):
        """The name of the precision."""
        return self._precision.name

    @property
    def checkpoint_callback(self):
        """The first ModelCheckpoint, or None."""
        return next((callback for callback in self.callbacks if isinstance(callback, Checkpoint)), None)

    @property
    def early_stopping_callback(self):
        """The first EarlyStopping, or None."""
        return next((callback for callback in self.callbacks if isinstance(callback, _EarlyStopping)), None)

    @property
    def progress_bar_callback(self):
        """The progress bar, or None."""
        return next((callback for callback in self.callbacks if isinstance(callback, ProgressBar)), None)

    @property
    def enable_validation(self):
        """Whether there is something to validate."""
        return bool(self.val_dataloaders) and any(count != 0 for count in self.num_val_batches)

    @property
    def estimated_stepping_batches(self):
        """How many optimizer steps the training has; infinity where nothing ends it."""
        if self.max_epochs == -1 and self.max_steps == -1:
            return math.inf
        if self.max_epochs == -1 or self.num_training_batches is None:
            return self.max_steps if self.max_steps != -1 else math.inf
        steps = math.ceil(self.num_training_batches / self.accumulate_grad_batches) * self.max_epochs
        return steps if self.max_steps == -1 else min(steps, self.max_steps)

    def print(self, *args, **kwargs):
        """`print`, on a line of its own where there is a progress bar."""
        bar = self.progress_bar_callback
        (bar.print if bar is not None else print)(*args, **kwargs)

    # ---- hooks ------------------------------------------------------------------------------------------------------------

    def _call(self, hook, *args, context=None):
        """A hook of the callbacks, then of the module, then of those that write checkpoints."""
        module = self.lightning_module
        with module._logging(context) if context is not None else contextlib.nullcontext():
            for callback in self.callbacks:
                if not isinstance(callback, Checkpoint) and hasattr(callback, hook):
                    getattr(callback, hook)(self, module, *args)
            if hasattr(module, hook):
                getattr(module, hook)(*args)
        self._refresh(context)
        for callback in self.callbacks:
            if isinstance(callback, Checkpoint) and hasattr(callback, hook):
                getattr(callback, hook)(self, module, *args)

    def _refresh(self, context):
        """The last logged values are there for callbacks."""
        if context is not None and context.metrics.entries:
            self._publish(context.metrics.of_epoch() if not context.allows_step else context.metrics.of_step())

    def _publish(self, chosen):
        logged, shown, seen = chosen
        self.logged_metrics.update({name: torch.tensor(value) for name, value in logged.items()})
        self.progress_bar_metrics.update(shown)
        self.callback_metrics.update({name: torch.tensor(value) for name, value in seen.items()})
        return logged

    def _log_to_loggers(self, values):
        if values:
            for logger in self.loggers:
                logger.log_metrics({**values, "epoch": self.current_epoch}, step=max(self.global_step - 1, 0))

    def _train_context(self, hook, batch=None):
        in_step = batch is not None
        return _Context(hook, self._train_metrics, in_step, not in_step, in_step, batch)

    # ---- fit --------------------------------------------------------------------------------------------------------------

    def fit(self, model, train_dataloaders=None, val_dataloaders=None, datamodule=None, ckpt_path=None):
        """Trains a module.

        Args:
            train_dataloaders, val_dataloaders: a loader, and one or several; None: those of the module.
            datamodule: a LightningDataModule, instead.
            ckpt_path: a checkpoint that training goes on from; "last": the newest that ModelCheckpoint wrote; "best": its best.
        """
        if type(model).__dict__.get("training_step") is None and model.training_step.__func__ is _base_step:
            raise RuntimeError(f"fit: {type(model).__name__} has no training_step")
        callbacks = self._own_callbacks
        path = self._checkpoint_path(ckpt_path)
        self._reset()
        self.callbacks = sorted([*callbacks, *model.configure_callbacks()], key=lambda callback: isinstance(callback, Checkpoint))
        self._attach(model, datamodule, "fit")
        self.fitting = True
        with self._run("fit"):
            self._train_loaders = train_dataloaders
            self._val_loaders = val_dataloaders
            self._set_up("fit")
            self._make_loaders()
            self._precision.prepare(model)
            self.optimizers, self.lr_scheduler_configs = parts_of(model.configure_optimizers())
            if len(self.optimizers) > 1 and model.automatic_optimization:
                raise RuntimeError("fit: a module with several optimizers sets `automatic_optimization = False` and calls them in training_step")
            if path is not None:
                self._restore(path)
            if model._hparams is not None and model._log_hyperparams:
                for logger in self.loggers:
                    logger.log_hyperparams(model.hparams_initial)
            self._call("on_fit_start")
            if path is None and self.num_sanity_val_steps and self.enable_validation:
                self._sanity_check()
            model.train()
            self.training = True
            self._call("on_train_start", context=self._train_context("on_train_start"))
            self._epochs()
            self._call("on_train_end", context=None)
            self._call("on_fit_end")
        self.fitting = self.training = False

    @contextlib.contextmanager
    def _run(self, stage):
        """Around a run: what fails is told, and everything is closed."""
        status = "failed"
        try:
            with torch.autograd.set_detect_anomaly(True) if self.detect_anomaly else contextlib.nullcontext():
                yield
            status = "success"
        except BaseException as error:
            self.interrupted = isinstance(error, KeyboardInterrupt)
            for callback in self.callbacks:
                if hasattr(callback, "on_exception"):
                    callback.on_exception(self, self.lightning_module, error)
            raise
        finally:
            for logger in self.loggers:
                logger.finalize(status)
            if status == "success":
                self._call("teardown", stage)
                if self.datamodule is not None:
                    self.datamodule.teardown(stage)

    def _attach(self, model, datamodule, stage):
        self.lightning_module, self.datamodule = model, datamodule
        model.trainer = self
        if datamodule is not None:
            datamodule.trainer = self

    def _set_up(self, stage):
        if self.datamodule is not None:
            self.datamodule.prepare_data()
            self.datamodule.setup(stage)
        if hasattr(self.lightning_module, "prepare_data"):
            self.lightning_module.prepare_data()
        self._call("setup", stage)

    def _asked(self, given, name):
        """Loaders: those that were given, or those of the datamodule or the module."""
        if given is not None:
            return given
        for owner in (self.datamodule, self.lightning_module):
            if owner is not None and hasattr(owner, name):
                return getattr(owner, name)()
        return None

    def _make_loaders(self):
        loader = self._asked(self._train_loaders, "train_dataloader")
        if loader is None:
            raise RuntimeError(f"fit: there is nothing to train on: give train_dataloaders, or {type(self.lightning_module).__name__}.train_dataloader")
        loader = _data.in_order(loader) if self._keeps_order else loader
        self.train_dataloader = loader
        self.num_training_batches = _data.limited(_data.length_of(loader), self.limits["train"], "limit_train_batches")
        has_step = hasattr(self.lightning_module, "validation_step")
        self.val_dataloaders = _data.loaders_of(self._asked(self._val_loaders, "val_dataloader")) if has_step else []
        self.num_val_batches = [_data.limited(_data.length_of(v), self.limits["validate"], "limit_val_batches") for v in self.val_dataloaders]

    def _sanity_check(self):
        """A few batches of validation, so that mistakes in it are found before an epoch is over. It leaves no trace."""
        self.sanity_checking = True
        most = None if self.num_sanity_val_steps == -1 else self.num_sanity_val_steps
        with _random.left_alone():
            self._call("on_sanity_check_start")
            self._validate_now(most)
            self._call("on_sanity_check_end")
        self.callback_metrics, self.logged_metrics, self.progress_bar_metrics = {}, {}, {}
        self.sanity_checking = False

    def _is_done(self):
        enough_epochs = self.min_epochs is None or self.current_epoch >= self.min_epochs
        enough_steps = self.min_steps is None or self.global_step >= self.min_steps
        reached = (self.max_epochs != -1 and self.current_epoch >= self.max_epochs) or self._steps_are_used_up()
        return reached or (self.should_stop and enough_epochs and enough_steps)

    def _steps_are_used_up(self):
        return self.max_steps != -1 and self.global_step >= self.max_steps

    def _epochs(self):
        resumed, self._resumed = self._resumed, None
        if resumed is not None:
            _random.restored(resumed["rng"])
            for generator, state in zip(self._generators(), resumed["generators"]):
                generator.set_state(state)
            # Between two epochs there is none to be finished.
            resumed = resumed if self.fit_batches else None
        while not self._is_done() or resumed is not None:
            self._epoch(resumed)
            resumed = None
            if self.reload_dataloaders_every_n_epochs and self.current_epoch % self.reload_dataloaders_every_n_epochs == 0 and not self._is_done():
                self._make_loaders()

    def _epoch(self, resumed):
        """One epoch, or what is left of one that another process began."""
        _data.set_epoch(self.train_dataloader, self.current_epoch)
        batches = self._batches = _data.Epoch(self.train_dataloader, self.num_training_batches)
        if resumed is None:
            self.fit_batches, self._stage = 0, "batches"
            self._train_metrics.clear()
            self._call("on_train_epoch_start", context=self._train_context("on_train_epoch_start"))
            batches.begin()
        else:
            if self._stage != "ending":
                batches.begin_again(resumed["epoch_start"], self.fit_batches, resumed["before_ahead"])
            if self._stage == "batches" and self.fit_batches:
                self._validate_if_due(resumed["is_last"])
        while self._stage != "ending" and not self._ends_early(resumed):
            found = batches(self.fit_batches)
            if found is None:
                break
            self._batch(*found)
        self._end_epoch()

    def _ends_early(self, resumed):
        if (
            self.should_stop
            and (self.min_steps is None or self.global_step >= self.min_steps)
            and (self.min_epochs is None or self.current_epoch >= self.min_epochs)
        ):
            return self.fit_batches > 0
        return self._steps_are_used_up()

    def _batch(self, batch, is_last):
        self.is_last_batch = is_last
        self._stage = "batches"
        model, index = self.lightning_module, self.fit_batches
        batch = self._prepared(batch, 0)
        context = self._train_context("training_step", batch)
        self._train_metrics.end_step()
        before = self.global_step
        self._call("on_train_batch_start", batch, index, context=context)
        with model._logging(context):
            outputs = self._automatic_step(batch, index, is_last) if model.automatic_optimization else self._manual_step(batch, index)
        self.fit_batches += 1
        self._total_batches += 1
        stepped = self.global_step != before
        if stepped:
            self._step_schedulers("step", self.global_step)
        if is_last:
            self._step_schedulers("epoch", self.current_epoch + 1)
        self._refresh(context)
        self._call("on_train_batch_end", outputs, batch, index, context=context)
        logged = self._publish(self._train_metrics.of_step())
        if stepped and self.global_step % self.log_every_n_steps == 0:
            self._log_to_loggers(logged)
        self._validate_if_due(is_last)

    def _prepared(self, batch, loader):
        owner = self.datamodule if self.datamodule is not None else self.lightning_module
        return self._precision.batch(owner.transfer_batch_to_device(batch, self.lightning_module.device, loader))

    def _manual_step(self, batch, index):
        with self._precision.step():
            return self.lightning_module.training_step(batch, index)

    def _automatic_step(self, batch, index, is_last):
        model = self.lightning_module
        optimizer = self.optimizers[0] if self.optimizers else None
        is_first = index % self.accumulate_grad_batches == 0
        steps = (index + 1) % self.accumulate_grad_batches == 0 or is_last
        if isinstance(optimizer, optim.LBFGS):
            return self._step_with_closure(optimizer, batch, index)
        outputs = self._forward_and_backward(batch, index, optimizer if is_first else None)
        if steps and optimizer is not None and outputs is not None:
            self._precision.unscale(optimizer)
            self._call("on_before_optimizer_step", optimizer)
            model.configure_gradient_clipping(optimizer, self.gradient_clip_val, self.gradient_clip_algorithm)
            self._precision.run_step(optimizer)
            self.global_step += 1
        return outputs

    def _forward_and_backward(self, batch, index, cleared):
        """Result of training_step; gradients of `cleared` are set to zero between the two passes."""
        model = self.lightning_module
        with self._precision.step():
            outputs = model.training_step(batch, index)
        if outputs is None:
            return None
        loss = outputs["loss"] if isinstance(outputs, dict) else outputs
        if not isinstance(loss, torch.Tensor):
            raise RuntimeError(f"training_step: expected a loss, a dict with 'loss' or None, got {type(loss).__name__}")
        if cleared is not None:
            self._call("on_before_zero_grad", cleared)
            model.optimizer_zero_grad(self.current_epoch, index, cleared)
        loss = loss / self.accumulate_grad_batches if self.accumulate_grad_batches > 1 else loss
        self._call("on_before_backward", loss)
        self._backward(loss)
        self._call("on_after_backward")
        return {name: _data.mapped(v, torch.Tensor.detach) for name, v in outputs.items()} if isinstance(outputs, dict) else {"loss": outputs.detach()}

    def _backward(self, loss, *args, **kwargs):
        self._precision.scaled(loss).backward(*args, **kwargs)

    def _step_with_closure(self, optimizer, batch, index):
        if self._precision.scaler is not None or self.accumulate_grad_batches > 1:
            raise RuntimeError("fit: LBFGS computes gradients within its step: neither '16-mixed' nor accumulate_grad_batches go with it")
        given = []

        def closure():
            outputs = self._forward_and_backward(batch, index, optimizer)
            given.append(outputs)
            self.lightning_module.configure_gradient_clipping(optimizer, self.gradient_clip_val, self.gradient_clip_algorithm)
            return outputs["loss"]

        self._call("on_before_optimizer_step", optimizer)
        optimizer.step(closure)
        self.global_step += 1
        return given[0]

    def _step_by_hand(self, optimizer, closure, kwargs):
        """A step that training_step makes itself."""
        self._call("on_before_optimizer_step", optimizer)
        if self._precision.scaler is not None and closure is None:
            self._precision.run_step(optimizer)
            result = None
        else:
            result = optimizer.step(closure, **kwargs) if closure is not None else optimizer.step(**kwargs)
        self.global_step += 1
        return result

    def _counted_optimizers(self):
        return [CountedOptimizer(optimizer, self) for optimizer in self.optimizers]

    def _step_schedulers(self, interval, count, plateau=False):
        if not self.lightning_module.automatic_optimization:
            return
        for config in self.lr_scheduler_configs:
            if config.interval != interval or (config.reduce_on_plateau and interval == "epoch") != plateau or count % config.frequency:
                continue
            metric = None
            if config.reduce_on_plateau:
                metric = self.callback_metrics.get(config.monitor)
                if metric is None:
                    if config.strict:
                        known = ", ".join(map(repr, self.callback_metrics)) or "nothing"
                        raise RuntimeError(
                            f"the scheduler {type(config.scheduler).__name__} monitors {config.monitor!r}, which is not logged; there is {known}"
                        )
                    continue
            self.lightning_module.lr_scheduler_step(config.scheduler, metric)

    def _validates_within_epochs(self):
        return self.val_check_interval not in (1.0,)

    def _validate_if_due(self, is_last):
        if not self.enable_validation:
            return
        interval, every = self.val_check_interval, self.check_val_every_n_epoch
        if every is None:
            due = self._total_batches % interval == 0
        elif (self.current_epoch + 1) % every:
            due = False
        elif interval == 1.0 and isinstance(interval, float):
            due = is_last
        else:
            if isinstance(interval, float):
                if self.num_training_batches is None:
                    raise RuntimeError("val_check_interval: a loader without a length has no part; give a number of batches")
                interval = max(1, int(self.num_training_batches * interval))
            due = self.fit_batches % interval == 0
        if due:
            self.training = False
            self._validate_now(None)
            self.lightning_module.train()
            self.training = True

    def _end_epoch(self):
        context = self._train_context("on_train_epoch_end")
        if self._stage != "ending":
            self._publish(self._train_metrics.of_epoch())
            self._stage = "ending"
            self._call("on_train_epoch_end", context=context)
        logged = self._publish(self._train_metrics.of_epoch())
        self._log_to_loggers(logged)
        self._step_schedulers("epoch", self.current_epoch + 1, plateau=True)
        self.current_epoch += 1
        self.fit_batches, self._stage = 0, "batches"

    # ---- evaluation -------------------------------------------------------------------------------------------------------

    def validate(self, model=None, dataloaders=None, ckpt_path=None, verbose=True, datamodule=None):
        """Runs validation steps, and returns what they logged, a dict for each loader."""
        return self._evaluated("validate", model, dataloaders, ckpt_path, verbose, datamodule)

    def test(self, model=None, dataloaders=None, ckpt_path=None, verbose=True, datamodule=None):
        """Runs test steps, and returns what they logged, a dict for each loader."""
        return self._evaluated("test", model, dataloaders, ckpt_path, verbose, datamodule)

    def predict(self, model=None, dataloaders=None, datamodule=None, return_predictions=True, ckpt_path=None):
        """Runs predict steps, and returns what they gave: a list, or one for each of several loaders."""
        found = self._evaluated("predict", model, dataloaders, ckpt_path, False, datamodule, return_predictions)
        return found if return_predictions else None


from .module import LightningModule  # noqa: E402

_base_step = LightningModule.training_step
