"""The categorical distribution with one-hot vectors as values."""

import cresset as torch

from . import constraints
from ._rows import from_rows
from .categorical import Categorical, OnCategorical

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


@from_rows()
class OneHotCategorical(OnCategorical):
    """As `Categorical`, with one-hot vectors as values.

    >>> torch.distributions.OneHotCategorical(torch.tensor([0.2, 0.8])).mode
    tensor([0., 1.])
    """

    support = constraints.one_hot
    has_enumerate_support = True
    _kept = OnCategorical._kept

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._stand_on(Categorical(probs, logits), validate_args)

    def enumerate_support(self, expand=True):
        given = self._categorical._param
        return self._along_batch(torch.eye(*self.event_shape, dtype=given.dtype, device=given.device), expand)


@from_rows()
class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose samples pass gradients on to the probabilities as they are (Bengio et al., "Estimating or propagating gradients
    through stochastic neurons", 2013).

    >>> p = torch.tensor([0.5, 0.5], requires_grad=True)
    >>> torch.distributions.OneHotCategoricalStraightThrough(p).rsample().requires_grad
    True
    """

    has_rsample = True
