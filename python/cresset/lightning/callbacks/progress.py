"""How far a loop is, on one line."""

import sys
import time

from .callback import Callback

__all__ = ["ProgressBar", "RichProgressBar", "TQDMProgressBar"]


class ProgressBar(Callback):
    """Draws how far a loop is and what was logged with `prog_bar=True`: on a terminal one line that changes, else a line for each epoch.

    Args:
        refresh_rate: after how many batches it is drawn; 0: never.

    >>> torch.lightning.callbacks.ProgressBar(refresh_rate=10).refresh_rate
    10
    """

    _WIDTH = 20

    def __init__(self, refresh_rate=1):
        if refresh_rate < 0:
            raise ValueError(f"ProgressBar: refresh_rate is not negative, got {refresh_rate}")
        self.refresh_rate, self._shown, self._since, self._drawn_at = refresh_rate, 0, 0.0, 0.0

    def print(self, *args, **kwargs):
        """`print`, on a line of its own."""
        self._clear()
        print(*args, **kwargs)

    def _clear(self):
        if self._shown and sys.stdout.isatty():
            sys.stdout.write("\r" + " " * self._shown + "\r")
        self._shown = 0

    def get_metrics(self, trainer, pl_module):
        """The values that are shown."""
        return dict(trainer.progress_bar_metrics)

    def _line(self, trainer, pl_module, title, done, total):
        seconds = max(time.monotonic() - self._since, 1e-9)
        values = ", ".join(f"{name}={value:.3g}" for name, value in self.get_metrics(trainer, pl_module).items())
        bar = ""
        if total:
            full = self._WIDTH * done // total
            bar = f"|{'#' * full}{'.' * (self._WIDTH - full)}| {done}/{total}"
        return f"{title}: {bar or done} [{seconds:.0f} s, {done / seconds:.2f} batches/s{', ' + values if values else ''}]"

    def _draw(self, trainer, pl_module, title, done, total, is_last=False):
        if not self.refresh_rate:
            return
        on_terminal = sys.stdout.isatty()
        if is_last:
            self._clear()
            print(self._line(trainer, pl_module, title, done, total), flush=True)
        elif on_terminal and done % self.refresh_rate == 0 and time.monotonic() - self._drawn_at > 0.05:
            line = self._line(trainer, pl_module, title, done, total)
            self._clear()
            sys.stdout.write("\r" + line)
            sys.stdout.flush()
            self._shown, self._drawn_at = len(line), time.monotonic()

    def on_train_epoch_start(self, trainer, pl_module):
        self._since = time.monotonic()

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self._draw(trainer, pl_module, f"Epoch {trainer.current_epoch}", batch_idx + 1, trainer.num_training_batches)

    def on_train_epoch_end(self, trainer, pl_module):
        self._draw(trainer, pl_module, f"Epoch {trainer.current_epoch}", trainer.fit_batches, trainer.num_training_batches, True)

    def _evaluation_start(self, trainer, pl_module):
        if not trainer.fitting:
            self._since = time.monotonic()

    on_validation_start = on_test_start = on_predict_start = _evaluation_start

    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        self._draw(trainer, pl_module, "Validation", batch_idx + 1, None)

    def on_test_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        self._draw(trainer, pl_module, "Test", batch_idx + 1, None)

    def on_predict_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        self._draw(trainer, pl_module, "Prediction", batch_idx + 1, None)

    def on_fit_end(self, trainer, pl_module):
        self._clear()


class TQDMProgressBar(ProgressBar):
    """`ProgressBar` under the name that programs know.

    >>> torch.lightning.callbacks.TQDMProgressBar().refresh_rate
    1
    """


class RichProgressBar(ProgressBar):
    """The progress bar under another of Lightning's names; it is drawn without the package rich, and so without themes.

    >>> torch.lightning.callbacks.RichProgressBar(refresh_rate=5).refresh_rate
    5
    """

    def __init__(self, refresh_rate=1, leave=False):
        super().__init__(refresh_rate)
        self.leave = leave
