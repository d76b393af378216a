"""The chi-square distribution."""

from . import constraints
from .gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The chi-square distribution of `df` degrees of freedom: Gamma(df / 2, 1 / 2).

    >>> torch.distributions.Chi2(3.0).mean
    tensor(3.)
    """

    arg_constraints = {"df": constraints.positive}
    _kept = Gamma._kept

    def __init__(self, df, validate_args=None):
        Gamma.__init__(self, df * 0.5, 0.5, validate_args)

    @property
    def df(self):
        """The degrees of freedom."""
        return 2 * self.concentration
