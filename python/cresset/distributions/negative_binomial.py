"""The negative binomial distribution."""

from . import constraints
from ._rows import from_rows
from .distribution import Distribution
from .utils import _ProbsOrLogits

__all__ = ["NegativeBinomial"]


@from_rows("total_count", "probs", "logits")
class NegativeBinomial(_ProbsOrLogits, Distribution):
    """How many trials succeed before `total_count` have failed, each with probability `probs`, given as such or as log odds `logits`.

    >>> torch.distributions.NegativeBinomial(2.0, torch.tensor(0.5)).mean
    tensor(2.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0), "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real
    }  # fmt: skip
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        self._keep_given(validate_args, probs, logits, total_count=total_count)
