"""Bernoulli distributions relaxed to continuous ones."""

from . import constraints
from ._rows import from_rows, of
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import _ProbsOrLogits

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


@from_rows("probs", "logits")
class LogitRelaxedBernoulli(_ProbsOrLogits, Distribution):
    """The log odds of a `RelaxedBernoulli` variable (Maddison, Mnih and Teh, "The concrete distribution", 2017).

    >>> d = torch.distributions.relaxed_bernoulli.LogitRelaxedBernoulli(torch.tensor(1.0), torch.tensor(0.5))
    >>> d.log_prob(torch.tensor(0.0)).exp()
    tensor(0.2500)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._keep_given(validate_args, probs, logits)

    def _new_expanded(self, batch_shape, _instance):
        new = super()._new_expanded(batch_shape, _instance)
        new.temperature = self.temperature
        return new


class RelaxedBernoulli(TransformedDistribution):
    """A distribution on (0, 1) that tends to `Bernoulli(probs, logits)` as `temperature` falls, differentiable through samples.

    >>> torch.distributions.RelaxedBernoulli(torch.tensor(1.0), torch.tensor(0.5)).log_prob(torch.tensor(0.3))
    tensor(0.)
    """

    arg_constraints = LogitRelaxedBernoulli.arg_constraints
    support = constraints.unit_interval
    has_rsample = True
    _kept = {}
    temperature, probs, logits = of("base_dist.temperature"), of("base_dist.probs"), of("base_dist.logits")

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        TransformedDistribution.__init__(self, LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform(), validate_args)
