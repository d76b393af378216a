"""Training loops under Lightning's names: a LightningModule says what a step is, a Trainer runs the steps.

    >>> L = torch.lightning
    >>> class Line(L.LightningModule):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.layer = nn.Linear(1, 1)
    ...     def training_step(self, batch, batch_idx):
    ...         x, y = batch
    ...         return F.mse_loss(self.layer(x), y)
    ...     def configure_optimizers(self):
    ...         return optim.SGD(self.parameters(), lr=0.1)
    >>> x = torch.linspace(-1, 1, 32).unsqueeze(1)
    >>> data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, 3 * x + 1), batch_size=8)
    >>> trainer = L.Trainer(max_epochs=20, logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
    >>> model = Line()
    >>> trainer.fit(model, data)
    >>> trainer.global_step, round(model.layer.bias.item(), 1)
    (80, 1.0)

`python -m cresset` and `compat.install()` bind `lightning`, `lightning.pytorch` and `pytorch_lightning` to this package. A run that was
interrupted and is resumed by `fit(..., ckpt_path=...)` gives the numbers of one that was not, to the bit. It runs in one process: arguments of
Trainer that ask for several are refused.
"""

import sys

from . import callbacks, loggers
from ._random import seed_everything
from .callbacks import Callback
from .datamodule import LightningDataModule
from .module import LightningModule
from .trainer import Trainer

_SUBMODULES = ("fabric", "utilities")
pytorch = sys.modules[__name__]  # as `lightning.pytorch` is `pytorch_lightning`
__all__ = ["Callback", "LightningDataModule", "LightningModule", "Trainer", "callbacks", "loggers", "seed_everything"]
