"""Categorical distributions relaxed to continuous ones."""

from . import constraints
from ._rows import from_rows, of
from .categorical import Categorical, OnCategorical
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


@from_rows()
class ExpRelaxedCategorical(OnCategorical):
    """The logarithm of a `RelaxedOneHotCategorical` variable (Maddison, Mnih and Teh, "The concrete distribution", 2017).

    >>> d = torch.distributions.relaxed_categorical.ExpRelaxedCategorical(torch.tensor(1.0), torch.ones(3))
    >>> d.event_shape
    torch.Size([3])
    """

    support = constraints.real_vector
    has_rsample = True
    _kept = OnCategorical._kept

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        self.temperature = temperature
        self._stand_on(Categorical(probs, logits), validate_args)

    def _new_expanded(self, batch_shape, _instance):
        new = super()._new_expanded(batch_shape, _instance)
        new.temperature = self.temperature
        return new


class RelaxedOneHotCategorical(TransformedDistribution):
    """A distribution on the simplex that tends to `OneHotCategorical(probs, logits)` as `temperature` falls, differentiable through samples.

    >>> _ = torch.manual_seed(0)
    >>> torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.5), torch.ones(3)).sample().shape
    torch.Size([3])
    """

    arg_constraints = ExpRelaxedCategorical.arg_constraints
    support = constraints.simplex
    has_rsample = True
    _kept = {}
    temperature, probs, logits = of("base_dist.temperature"), of("base_dist.probs"), of("base_dist.logits")

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        logarithm = ExpRelaxedCategorical(temperature, probs, logits, validate_args)
        TransformedDistribution.__init__(self, logarithm, ExpTransform(), validate_args)
