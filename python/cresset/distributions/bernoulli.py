"""The Bernoulli distribution."""

from . import constraints
from ._rows import from_rows
from .exp_family import ExponentialFamily
from .utils import _ProbsOrLogits

__all__ = ["Bernoulli"]


@from_rows("probs", "logits")
class Bernoulli(_ProbsOrLogits, ExponentialFamily):
    """1 with probability `probs`, given as such or as log odds `logits`, else 0.

    >>> torch.distributions.Bernoulli(0.25).log_prob(torch.tensor(1.0)).exp()
    tensor(0.2500)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._keep_given(validate_args, probs, logits)

    def enumerate_support(self, expand=True):
        return self._numbers_below(2, expand)
