"""Metrics as TensorBoard shows them."""

import os

from .logger import FolderLogger

__all__ = ["TensorBoardLogger"]


class TensorBoardLogger(FolderLogger):
    """Writes metrics as `SummaryWriter` does, in save_dir/name/version_N.

    Args:
        save_dir, name: see above.
        version: a number or the folder's name; None: a new number.
        log_graph: whether `log_graph` writes the model's graph, of its `example_input_array`.
        default_hp_metric: whether hyperparameters without a metric are written with `hp_metric` = -1, so that they are shown.
        prefix: stands before every name.
        sub_dir: a folder below the version's.
        kwargs: for `SummaryWriter`.

    >>> import tempfile
    >>> logger = torch.lightning.loggers.TensorBoardLogger(tempfile.mkdtemp())
    >>> logger.log_metrics({"loss": 0.5}, step=1)
    >>> logger.finalize("success")
    """

    def __init__(self, save_dir, name="lightning_logs", version=None, log_graph=False, default_hp_metric=True, prefix="", sub_dir=None, **kwargs):
        super().__init__(save_dir, name, version, prefix)
        self._log_graph, self._default_hp_metric, self._sub_dir, self._settings, self._writer = log_graph, default_hp_metric, sub_dir, kwargs, None

    @property
    def log_dir(self):
        folder = super().log_dir
        return os.path.join(folder, self._sub_dir) if self._sub_dir else folder

    @property
    def experiment(self):
        """The `SummaryWriter`."""
        if self._writer is None:
            from cresset.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(self.log_dir, **self._settings)
        return self._writer

    def log_metrics(self, metrics, step=None):
        for name, value in self.named(metrics).items():
            self.experiment.add_scalar(name, value, step)

    def log_hyperparams(self, params, metrics=None):
        from cresset.utils.tensorboard import summary

        super().log_hyperparams(params)
        values = {name: value if isinstance(value, (bool, int, float, str)) else str(value) for name, value in params.items()}
        metrics = {"hp_metric": -1} if metrics is None and self._default_hp_metric else {} if metrics is None else metrics
        if not isinstance(metrics, dict):
            metrics = {"hp_metric": metrics}
        if metrics:
            self.log_metrics(metrics, 0)
            for made in summary.hparams(values, metrics):
                self.experiment.file_writer.add_summary(made)

    def log_graph(self, model, input_array=None):
        if not self._log_graph:
            return
        input_array = getattr(model, "example_input_array", None) if input_array is None else input_array
        if input_array is None:
            raise ValueError("log_graph: the graph needs an input: give the model an `example_input_array`")
        self.experiment.add_graph(model, input_array)

    def save(self):
        super().save()
        self.experiment.flush()

    def finalize(self, status):
        super().finalize(status)
        self.experiment.close()
