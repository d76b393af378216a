"""The Fisher-Snedecor distribution."""

from . import constraints
from ._rows import from_rows
from .distribution import Distribution

__all__ = ["FisherSnedecor"]


@from_rows("df1", "df2")
class FisherSnedecor(Distribution):
    """The F distribution of `df1` and `df2` degrees of freedom: the ratio of two chi-square variables, each over its degrees of freedom.

    >>> torch.distributions.FisherSnedecor(2.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1, df2, validate_args=None):
        self._keep(validate_args, df1=df1, df2=df2)
