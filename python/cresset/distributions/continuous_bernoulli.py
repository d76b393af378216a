"""The continuous Bernoulli distribution."""

from . import constraints
from ._rows import from_rows
from .exp_family import ExponentialFamily
from .utils import _ProbsOrLogits, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


@from_rows("probs", "logits", low="_low", high="_high")
class ContinuousBernoulli(_ProbsOrLogits, ExponentialFamily):
    """The distribution on [0, 1] of density proportional to probs^x (1 - probs)^(1 - x).

    Close to 1/2, between the two `lims`, Taylor series replace formulas that would cancel (Loaiza-Ganem and Cunningham, "The continuous
    Bernoulli", 2019).

    >>> torch.distributions.ContinuousBernoulli(0.5).mean
    tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    _mean_carrier_measure = 0
    has_rsample = True

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        self._low, self._high = self._lims = lims
        self._keep_given(validate_args, probs, logits)

    def _take(self, name, value, validate_args):
        if name == "probs":
            if validate_args is not None and not self.arg_constraints["probs"].check(value).all():
                raise ValueError("ContinuousBernoulli: expected probs between 0 and 1, got other values")
            value = clamp_probs(value)
        super()._take(name, value, validate_args)

    def _new_expanded(self, batch_shape, _instance):
        new = super()._new_expanded(batch_shape, _instance)
        new._low, new._high = new._lims = self._lims
        return new

    @lazy_property
    def probs(self):
        return clamp_probs(logits_to_probs(self.logits, True))
