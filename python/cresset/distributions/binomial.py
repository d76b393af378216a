"""The binomial distribution."""

from . import constraints
from ._rows import from_rows
from .distribution import Distribution
from .utils import _ProbsOrLogits

__all__ = ["Binomial"]


@from_rows("total_count", "probs", "logits")
class Binomial(_ProbsOrLogits, Distribution):
    """How many of `total_count` trials succeed, each with probability `probs`, given as such or as log odds `logits`.

    >>> torch.distributions.Binomial(2, torch.tensor(0.5)).log_prob(torch.tensor(1.0)).exp()
    tensor(0.5000)
    """

    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval, "logits": constraints.real}
    has_enumerate_support = True

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        self._keep_given(validate_args, probs, logits, total_count=total_count)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    def _count(self, asked_by):
        """The number of trials, one for the whole batch."""
        least, most = self.total_count.aminmax()
        if least != int(most):
            raise NotImplementedError(f"Binomial.{asked_by}: expected one total_count for the whole batch, got several")
        return int(most)

    def entropy(self):
        self._count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return (log_prob.exp() * log_prob).sum(0).neg()

    def enumerate_support(self, expand=True):
        return self._numbers_below(self._count("enumerate_support") + 1, expand)
