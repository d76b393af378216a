"""Datasets with their loaders."""

from ._hparams import HyperparametersMixin

__all__ = ["LightningDataModule"]


class LightningDataModule(HyperparametersMixin):
    """The loaders of a data set in one place; a subclass gives those that it has.

    >>> class Data(torch.lightning.LightningDataModule):
    ...     def train_dataloader(self):
    ...         return [torch.ones(2)]
    >>> len(Data().train_dataloader())
    1
    """

    trainer = None

    def prepare_data(self):
        """Called once before `setup`: what is downloaded or written."""

    def setup(self, stage):
        """Called before "fit", "validate", "test" or "predict"."""

    def teardown(self, stage):
        """Called after it."""

    def transfer_batch_to_device(self, batch, device, dataloader_idx):
        """A batch as it is given to a step; by default its tensors on the device."""
        from ._data import moved

        return moved(batch, device)

    def state_dict(self):
        """State saved with a checkpoint."""
        return {}

    def load_state_dict(self, state_dict):
        """Takes what a checkpoint holds."""
