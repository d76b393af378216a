"""Half-normal and half-Cauchy."""

from . import constraints
from ._rows import of
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform


class Half(TransformedDistribution):
    """The distribution of |X| for an X that is symmetric around 0, of a scale."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _kept = {}
    scale = of("base_dist.scale")

    def _halve(self, whole, scale, validate_args):
        TransformedDistribution.__init__(self, whole(0, scale, False), AbsTransform(), validate_args)
