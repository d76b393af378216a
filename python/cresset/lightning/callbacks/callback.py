"""Base of callbacks."""

__all__ = ["Callback"]


class Callback:
    """Things to do at places of a Trainer's loops; a subclass gives the methods that it needs.

    Each takes the trainer and the module. Besides these there are, with the same arguments: `on_sanity_check_start` and `_end`, and of
    "validation", "test" and "predict" what there is of "train".

    >>> class Counter(torch.lightning.Callback):
    ...     steps = 0
    ...     def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
    ...         self.steps += 1
    >>> Counter().state_key
    'Counter'
    """

    @property
    def state_key(self):
        """The name under which a checkpoint holds the callback's state."""
        return type(self).__qualname__

    def setup(self, trainer, pl_module, stage):
        """Before "fit", "validate", "test" or "predict"."""

    def teardown(self, trainer, pl_module, stage):
        """After it."""

    def on_fit_start(self, trainer, pl_module):
        """Before the first epoch, after `setup`."""

    def on_fit_end(self, trainer, pl_module):
        """After the last epoch."""

    def on_train_start(self, trainer, pl_module):
        """Before the first epoch, after the sanity check."""

    def on_train_end(self, trainer, pl_module):
        """After the last epoch, before `on_fit_end`."""

    def on_train_epoch_start(self, trainer, pl_module):
        """Before an epoch."""

    def on_train_epoch_end(self, trainer, pl_module):
        """After an epoch, its validation included."""

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        """Before a batch."""

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        """After a batch; `outputs` is what `training_step` gave."""

    def on_before_zero_grad(self, trainer, pl_module, optimizer):
        """Before gradients are set to zero."""

    def on_before_backward(self, trainer, pl_module, loss):
        """Before `loss.backward()`."""

    def on_after_backward(self, trainer, pl_module):
        """After it."""

    def on_before_optimizer_step(self, trainer, pl_module, optimizer):
        """Before a step of the optimizer; gradients are not clipped yet."""

    def on_exception(self, trainer, pl_module, exception):
        """When an exception ends the run."""

    def on_save_checkpoint(self, trainer, pl_module, checkpoint):
        """May add to a checkpoint before it is written."""

    def on_load_checkpoint(self, trainer, pl_module, checkpoint):
        """May take from a checkpoint that was read."""

    def state_dict(self):
        """State of the callback in a checkpoint."""
        return {}

    def load_state_dict(self, state_dict):
        """Takes what a checkpoint holds."""
