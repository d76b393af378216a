"""The geometric distribution."""

from . import constraints
from ._rows import from_rows
from .distribution import Distribution
from .utils import _ProbsOrLogits

__all__ = ["Geometric"]


@from_rows("probs", "logits")
class Geometric(_ProbsOrLogits, Distribution):
    """How many trials fail before the first success, each succeeding with probability `probs`, given as such or as log odds `logits`.

    >>> torch.distributions.Geometric(0.25).mean
    tensor(3.)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._keep_given(validate_args, probs, logits)
        zero = (self.probs <= 0) if self._validate_args and logits is None else None
        if zero is not None and zero.any():
            raise ValueError(self._text("parameter probs", self.probs) + f"expected positive numbers, got\n{self.probs.detach()[zero]}")
