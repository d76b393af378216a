"""The von Mises distribution."""

from . import constraints
from ._rows import from_rows
from .distribution import Distribution

__all__ = ["VonMises"]


@from_rows("loc", "concentration")
class VonMises(Distribution):
    """The von Mises distribution of angles in [-pi, pi): `loc` is the mode, `concentration` as one over the variance of a normal one.

    >>> torch.distributions.VonMises(1.0, 4.0).mean
    tensor(1.)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc, concentration, validate_args=None):
        self._keep(validate_args, loc=loc, concentration=concentration)
