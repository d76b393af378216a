"""Batch dimensions as parts of an event."""

import cresset as torch

from . import constraints
from ._rows import of
from .distribution import Distribution
from .utils import _sum_rightmost

__all__ = ["Independent"]


class Independent(Distribution):
    """`base_distribution` with the last `reinterpreted_batch_ndims` dimensions of its batch as parts of one event.

    >>> d = torch.distributions.Independent(torch.distributions.Normal(torch.zeros(3), 1.0), 1)
    >>> d.batch_shape, d.event_shape
    (torch.Size([]), torch.Size([3]))
    """

    arg_constraints = {}
    _kept = {}
    has_rsample, mean, mode, variance = (of(f"base_dist.{name}") for name in ("has_rsample", "mean", "mode", "variance"))

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        batch = base_distribution.batch_shape
        left = len(batch) - reinterpreted_batch_ndims
        if left < 0:
            raise ValueError(f"Independent: expected reinterpreted_batch_ndims of at most {len(batch)}, got {reinterpreted_batch_ndims}")
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        Distribution.__init__(self, batch[:left], batch[left:] + base_distribution.event_shape, validate_args)

    def _new_expanded(self, batch_shape, _instance):
        new, count = self._get_checked_instance(Independent, _instance), self.reinterpreted_batch_ndims
        new.base_dist, new.reinterpreted_batch_ndims = self.base_dist.expand((*batch_shape, *self.event_shape[:count])), count
        return new

    @property
    def has_enumerate_support(self):
        """Only where no dimension is reinterpreted."""
        return self.reinterpreted_batch_ndims <= 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self):
        count = self.reinterpreted_batch_ndims
        return constraints.independent(self.base_dist.support, count) if count else self.base_dist.support

    def sample(self, sample_shape=torch.Size()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=torch.Size()):
        return self.base_dist.rsample(sample_shape)

    def _whole(self, numbers):
        return _sum_rightmost(numbers, self.reinterpreted_batch_ndims)

    def log_prob(self, value):
        return self._whole(self.base_dist.log_prob(value))

    def entropy(self):
        return self._whole(self.base_dist.entropy())

    def enumerate_support(self, expand=True):
        if self.reinterpreted_batch_ndims >= 1:
            raise NotImplementedError("Independent does not enumerate the values of several dimensions together")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
