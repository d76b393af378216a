"""Base of loggers."""

import json
import os

__all__ = ["Logger"]


class Logger:
    """Takes metrics and hyperparameters; a subclass gives `log_metrics` and what else it needs.

    >>> class Printer(torch.lightning.loggers.Logger):
    ...     def log_metrics(self, metrics, step=None):
    ...         print(step, metrics)
    >>> Printer().log_metrics({"loss": 1.0}, step=3)
    3 {'loss': 1.0}
    """

    name = version = save_dir = log_dir = None

    def log_metrics(self, metrics, step=None):
        """Takes numbers by name."""
        raise NotImplementedError(f"{type(self).__name__}: log_metrics is the subclass's")

    def log_hyperparams(self, params, metrics=None):
        """Takes hyperparameters."""

    def log_graph(self, model, input_array=None):
        """Takes the graph of a model."""

    def save(self):
        """Writes what waits."""

    def finalize(self, status):
        """Called at the end: "success" or "failed"."""
        self.save()


class FolderLogger(Logger):
    """A logger with a folder of its own for each run: save_dir/name/version_N."""

    def __init__(self, save_dir, name="lightning_logs", version=None, prefix=""):
        self.save_dir, self.name, self._version, self.prefix = os.fspath(save_dir), name or "", version, prefix
        self.hparams = {}

    @property
    def root_dir(self):
        return os.path.join(self.save_dir, self.name)

    @property
    def version(self):
        if self._version is None:
            taken = [
                int(entry[8:])
                for entry in (os.listdir(self.root_dir) if os.path.isdir(self.root_dir) else ())
                if entry.startswith("version_") and entry[8:].isdigit()
            ]
            self._version = max(taken, default=-1) + 1
        return self._version

    @property
    def log_dir(self):
        return os.path.join(self.root_dir, self.version if isinstance(self.version, str) else f"version_{self.version}")

    def named(self, metrics):
        return {f"{self.prefix}-{name}" if self.prefix else name: float(value) for name, value in metrics.items()}

    def log_hyperparams(self, params, metrics=None):
        self.hparams.update(params)

    def save(self):
        """Writes `hparams.yaml`; what JSON does not know is written as text."""
        os.makedirs(self.log_dir, exist_ok=True)
        lines = (f"{json.dumps(str(name))}: {json.dumps(value, default=str)}\n" for name, value in sorted(self.hparams.items()))
        with open(os.path.join(self.log_dir, "hparams.yaml"), "w", encoding="utf-8") as file:
            file.write("".join(lines) or "{}\n")
