"""The loops of validation, test and prediction."""

import contextlib

import cresset as torch

from . import _data
from ._metrics import Metrics

# Stage to the names of its hooks, its step and its loaders.
_WORDS = {"validate": ("validation", "validation_step", "val_dataloader"), "test": ("test", "test_step", "test_dataloader"),
          "predict": ("predict", "predict_step", "predict_dataloader")}  # fmt: skip


class EvaluationMixin:
    def _evaluated(self, stage, model, loaders, ckpt_path, verbose, datamodule, keep=True):
        word, step, of_module = _WORDS[stage]
        model = self.lightning_module if model is None else model
        if model is None:
            raise RuntimeError(f"{stage}: give a model; none was trained before")
        if not hasattr(model, step):
            raise RuntimeError(f"{stage}: {type(model).__name__} has no {step}")
        path = self._checkpoint_path(ckpt_path)
        self.fitting = False
        self._attach(model, self.datamodule if datamodule is None else datamodule, stage)
        with self._run(stage):
            self._set_up(stage)
            found = _data.loaders_of(self._asked(loaders, of_module))
            if not found:
                raise RuntimeError(f"{stage}: there is nothing to run on: give dataloaders, or {type(model).__name__}.{of_module}")
            self._precision.prepare(model)
            if path is not None:
                self._restore_weights(path)
            mode = model.training
            counts = [_data.limited(_data.length_of(loader), self.limits[stage], f"limit_{stage}_batches") for loader in found]
            self.callback_metrics, self.logged_metrics, self.progress_bar_metrics = {}, {}, {}
            result = self._evaluate(stage, found, counts, keep)
            model.train(mode)
        if stage == "predict":
            return result[0] if len(found) == 1 else result
        if verbose:
            for i, values in enumerate(result):
                self.print("\n".join([f"{stage} loader {i}", *(f"  {name}  {value}" for name, value in values.items())]))
        return result

    def _validate_now(self, most):
        """A validation within training; of at most so many batches."""
        counts = [count if most is None else most if count is None else min(most, count) for count in self.num_val_batches]
        self._evaluate("validate", self.val_dataloaders, counts, False)

    def _evaluate(self, stage, loaders, counts, keep):
        """Values logged by the steps, a dict for each loader; of predictions what they gave, a list for each loader."""
        from .trainer import _Context

        word, step, _ = _WORDS[stage]
        model, metrics, several = self.lightning_module, Metrics(), len(loaders) > 1
        context = lambda hook, batch=None, loader=None: _Context(hook, metrics, False, True, batch is not None, batch, loader)  # noqa: E731
        model.eval()
        self.evaluating = True
        given = [[] for _ in loaders]
        with torch.inference_mode() if self.inference_mode else torch.no_grad():
            self._call(f"on_{word}_start", context=context(f"on_{word}_start"))
            self._call(f"on_{word}_epoch_start", context=context(f"on_{word}_epoch_start"))
            for i, (loader, count) in enumerate(zip(loaders, counts)):
                place = (i,) if several else ()
                batches = _data.Epoch(loader, count)
                batches.begin()
                index = 0
                while (found := batches(index)) is not None:
                    batch = self._prepared(found[0], i)
                    metrics.end_step()
                    here = context(step, batch, i if several else None)
                    self._call(f"on_{word}_batch_start", batch, index, i, context=here)
                    with model._logging(None if stage == "predict" else here), self._precision.step():
                        output = getattr(model, step)(batch, index, *place)
                    if stage == "predict" and keep:
                        given[i].append(output)
                    self._call(f"on_{word}_batch_end", output, batch, index, i, context=here)
                    index += 1
            self._call(f"on_{word}_epoch_end", context=context(f"on_{word}_epoch_end"))
            logged = self._publish(metrics.of_epoch())
            if not self.sanity_checking:
                self._log_to_loggers(logged)
                if self.fitting:
                    self._stage = "validated"
        with torch.inference_mode() if self.inference_mode and not self.fitting else contextlib.nullcontext():
            self._call(f"on_{word}_end", context=context(f"on_{word}_end") if stage != "predict" else None)
        self.evaluating = False
        if stage == "predict":
            return given
        return self._by_loader(logged, len(loaders))

    @staticmethod
    def _by_loader(logged, count):
        found = [{} for _ in range(count)]
        for name, value in logged.items():
            base, mark, number = name.rpartition("/dataloader_idx_")
            found[int(number) if mark else 0][name] = value
        return found
