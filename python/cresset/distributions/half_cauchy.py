"""The half-Cauchy distribution."""

from ._half import Half
from ._rows import from_rows
from .cauchy import Cauchy

__all__ = ["HalfCauchy"]


@from_rows()
class HalfCauchy(Half):
    """The distribution of |X| where X follows Cauchy(0, `scale`).

    >>> torch.distributions.HalfCauchy(1.0).cdf(torch.tensor(1.0))
    tensor(0.5000)
    """

    _kept = {}

    def __init__(self, scale, validate_args=None):
        self._halve(Cauchy, scale, validate_args)
