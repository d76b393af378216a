"""The log-normal distribution."""

from . import constraints
from ._rows import from_rows, of
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform

__all__ = ["LogNormal"]


@from_rows()
class LogNormal(TransformedDistribution):
    """The distribution of exp(X) where X follows Normal(`loc`, `scale`).

    >>> torch.distributions.LogNormal(0.0, 1.0).mean
    tensor(1.6487)
    """

    arg_constraints = Normal.arg_constraints
    support = constraints.positive
    has_rsample = True
    _kept = {}
    loc, scale = of("base_dist.loc"), of("base_dist.scale")

    def __init__(self, loc, scale, validate_args=None):
        TransformedDistribution.__init__(self, Normal(loc, scale, validate_args), ExpTransform(), validate_args)
