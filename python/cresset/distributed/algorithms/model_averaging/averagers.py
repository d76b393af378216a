"""Averages of the parameters of several processes, every so many steps."""

import abc
import warnings

from cresset.distributed import _groups

from . import utils

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(abc.ABC):
    """Counts steps in `step` and averages the parameters in some of them.

    >>> from cresset.distributed.algorithms.model_averaging.averagers import ModelAverager
    >>> isinstance(3, ModelAverager)
    False
    """

    def __init__(self, process_group=None):
        self.process_group = _groups._world() if process_group is None else process_group
        self.step = 0

    @abc.abstractmethod
    def average_parameters(self, params):
        """Called after each step of the optimizer."""


class PeriodicModelAverager(ModelAverager):
    """Averages after `warmup_steps`, every `period` steps.

    Errors: ValueError for a period below 1 and negative warm-up steps.

    >>> dist = torch.distributed
    >>> if not dist.is_initialized(): dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> from cresset.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    >>> averager = PeriodicModelAverager(period=2); averager.average_parameters([nn.Parameter(torch.ones(1))]); averager.step
    1
    """

    def __init__(self, period, warmup_steps=0, process_group=None):
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError(f"PeriodicModelAverager: expected warmup_steps that are not negative, got {warmup_steps}")
        if period < 1:
            raise ValueError(f"PeriodicModelAverager: expected a period of at least 1, got {period}")
        if period == 1:
            warnings.warn("PeriodicModelAverager: with a period of 1 gradients may as well be averaged", stacklevel=2)
        self.warmup_steps, self.period = warmup_steps, period

    def average_parameters(self, params):
        """Averages parameters, or those of an optimizer's groups that have a gradient, where it is time; counts the step."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            utils.average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
