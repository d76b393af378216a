"""An optimizer whose steps are followed by averages of the parameters."""

import warnings

import cresset as torch

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(torch.optim.Optimizer):
    """Steps by `optim`, then lets `averager` average the parameters; both counts are in the state.

    >>> dist = torch.distributed
    >>> if not dist.is_initialized(): dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> from cresset.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    >>> p = nn.Parameter(torch.ones(1)); p.grad = torch.ones(1)
    >>> optimizer = dist.optim.PostLocalSGDOptimizer(torch.optim.SGD([p], lr=0.5), PeriodicModelAverager(2)); optimizer.step(); p.item()
    0.5
    """

    def __init__(self, optim, averager):
        self.optim, self.param_groups, self.averager = optim, optim.param_groups, averager

    @property
    def state(self):
        """The states of the parameters."""
        return self.optim.state

    def __repr__(self):
        return repr(self.optim)

    def state_dict(self):
        """That of the optimizer, with the averager's `step`."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict):
        """Inverse of `state_dict`; warns where it has no `step`."""
        self.optim.load_state_dict(state_dict)
        if "step" in state_dict:
            self.averager.step = state_dict["step"]
        else:
            warnings.warn("PostLocalSGDOptimizer: the state has no step; the averager begins at 0", stacklevel=2)
            self.averager.step = 0

    def step(self):
        """A step, and the average where it is time."""
        self.optim.step()
        self.averager.average_parameters(self.param_groups)

    def zero_grad(self, set_to_none=True):
        """Clears the gradients."""
        self.optim.zero_grad(set_to_none)

    def add_param_group(self, param_group):
        """Adds parameters."""
        self.optim.add_param_group(param_group)
