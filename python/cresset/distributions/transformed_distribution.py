"""The distribution of transformed values."""

import functools
import operator

import cresset as torch

from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of f(X), where X follows `base_distribution` and f is a transform or a list of transforms, the first applied first.

    >>> T = torch.distributions
    >>> d = T.TransformedDistribution(T.Normal(0.0, 1.0), T.ExpTransform())
    >>> d.log_prob(torch.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints = {}
    _kept = {}

    def __init__(self, base_distribution, transforms, validate_args=None):
        steps = [transforms] if isinstance(transforms, Transform) else transforms
        if not isinstance(steps, list) or any(not isinstance(step, Transform) for step in steps):
            raise ValueError(f"TransformedDistribution: expected a transform or a list of them as transforms, got {transforms!r}")
        self.transforms = steps
        whole = ComposeTransform(steps)
        taken, made = whole.domain.event_dim, whole.codomain.event_dim
        shape, base_dim = base_distribution.batch_shape + base_distribution.event_shape, len(base_distribution.event_shape)
        if len(shape) < taken:
            raise ValueError(f"TransformedDistribution: the transforms take events of {taken} dimensions, got a base of shape {shape}")
        result = whole.forward_shape(shape)
        needed = whole.inverse_shape(result)
        if needed != shape:
            base_distribution = base_distribution.expand(needed[: len(needed) - base_dim])
        self.base_dist = Independent(base_distribution, taken - base_dim) if taken > base_dim else base_distribution
        batch_dim = len(result) - made - max(base_dim - taken, 0)
        if batch_dim < 0:
            raise AssertionError(f"TransformedDistribution: forward_shape gives {len(result)} dimensions, expected {len(result) - batch_dim} or more")
        super().__init__(result[:batch_dim], result[batch_dim:], validate_args)

    def expand(self, batch_shape, _instance=None):
        batch_shape = torch.Size(batch_shape)
        new = self._new_expanded(batch_shape, _instance)
        new.transforms = self.transforms
        base = ComposeTransform(self.transforms).inverse_shape(batch_shape + self.event_shape)
        new.base_dist = self.base_dist.expand(base[: len(base) - len(self.base_dist.event_shape)])
        return self._finish_expanded(new, batch_shape)

    @constraints.dependent_property(is_discrete=False)
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        last = self.transforms[-1].codomain
        more = len(self.event_shape) - last.event_dim
        return constraints.independent(last, more) if more > 0 else last

    has_rsample = property(lambda self: self.base_dist.has_rsample, doc="Whether the base's samples are differentiable.")

    def _forward(self, x):
        return functools.reduce(lambda value, step: step(value), self.transforms, x)

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=torch.Size()):
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        dim, result = len(self.event_shape), 0.0
        for step in self.transforms[::-1]:
            x, taken = step.inv(value), step.domain.event_dim
            dim = dim - step.codomain.event_dim + taken
            result, value = result - _sum_rightmost(step.log_abs_det_jacobian(x, value), dim - taken), x
        return result + _sum_rightmost(self.base_dist.log_prob(value), dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value):
        """Probabilities turned around where the transforms decrease."""
        sign = functools.reduce(operator.mul, (step.sign for step in self.transforms), 1)
        unchanged = isinstance(sign, int) and sign == 1
        return value if unchanged else sign * (value - 0.5) + 0.5

    def cdf(self, value):
        value = functools.reduce(lambda y, step: step.inv(y), self.transforms[::-1], value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._forward(self.base_dist.icdf(self._monotonize_cdf(value)))


class Remade(TransformedDistribution):
    """One of parameters of its own, of which `_steps` makes the transforms, anew for each expansion."""

    _kept = {}

    def _remake(self, validate_args, base, **parameters):
        self._keep(False, **parameters)
        del self._validate_args
        TransformedDistribution.__init__(self, base(), self._steps(), validate_args)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new.transforms = new._steps()
        return new
