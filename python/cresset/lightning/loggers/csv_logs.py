"""Metrics as a table."""

import csv
import os

from .logger import FolderLogger

__all__ = ["CSVLogger"]


class CSVLogger(FolderLogger):
    """Writes metrics to `metrics.csv`, a row for each step, and hyperparameters to `hparams.yaml`, in save_dir/name/version_N.

    Args:
        save_dir, name: see above.
        version: a number or the folder's name; None: a new number.
        prefix: stands before every name.
        flush_logs_every_n_steps: how many rows wait at most.

    >>> import tempfile
    >>> torch.lightning.loggers.CSVLogger(tempfile.mkdtemp(), "run").version
    0
    """

    def __init__(self, save_dir, name="lightning_logs", version=None, prefix="", flush_logs_every_n_steps=100):
        super().__init__(save_dir, name, version, prefix)
        self._flush_after, self._rows, self._written, self._columns = flush_logs_every_n_steps, [], 0, ["step"]

    @property
    def _path(self):
        return os.path.join(self.log_dir, "metrics.csv")

    def log_metrics(self, metrics, step=None):
        step = len(self._rows) if step is None else step
        values = self.named(metrics)
        values.setdefault("step", step)
        if self._rows and self._rows[-1]["step"] == step and not set(self._rows[-1]) & (set(values) - {"step", "epoch"}) and len(self._rows) > self._written:
            self._rows[-1].update(values)
        else:
            self._rows.append(values)
        if len(self._rows) - self._written >= self._flush_after:
            self.save()

    def save(self):
        """Writes the rows that wait; all of them again where there is a new column."""
        super().save()
        columns = list(dict.fromkeys([*self._columns, *(name for row in self._rows[self._written :] for name in row)]))
        is_new = columns != self._columns or not self._written
        if not self._rows:
            return
        self._columns = columns
        with open(self._path, "w" if is_new else "a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerows(self._rows if is_new else self._rows[self._written :])
        self._written = len(self._rows)
