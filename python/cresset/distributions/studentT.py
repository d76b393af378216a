"""Student's t distribution."""

from . import constraints
from ._rows import from_rows
from .distribution import Distribution

__all__ = ["StudentT"]


@from_rows("df", "loc", "scale")
class StudentT(Distribution):
    """Student's t distribution of `df` degrees of freedom, moved by `loc` and stretched by `scale`.

    >>> torch.distributions.StudentT(3.0).variance
    tensor(3.)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self._keep(validate_args, df=df, loc=loc, scale=scale)
