"""The half-normal distribution."""

from ._half import Half
from ._rows import from_rows
from .normal import Normal

__all__ = ["HalfNormal"]


@from_rows()
class HalfNormal(Half):
    """The distribution of |X| where X follows Normal(0, `scale`).

    >>> torch.distributions.HalfNormal(1.0).mean
    tensor(0.7979)
    """

    _kept = {}

    def __init__(self, scale, validate_args=None):
        self._halve(Normal, scale, validate_args)
