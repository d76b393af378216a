"""The uniform distribution."""

from . import constraints
from ._rows import from_rows
from .distribution import Distribution

__all__ = ["Uniform"]


@from_rows("low", "high")
class Uniform(Distribution):
    """The uniform distribution on [`low`, `high`).

    >>> torch.distributions.Uniform(0.0, 4.0).mean
    tensor(2.)
    """

    has_rsample = True

    def __init__(self, low, high, validate_args=None):
        self._keep(validate_args, low=low, high=high)

    @property
    def arg_constraints(self):
        """Each bound is constrained by the other one."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        return constraints.interval(self.low, self.high)
