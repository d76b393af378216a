"""The categorical distribution."""

import cresset as torch

from . import constraints
from ._rows import from_rows, of, row
from .distribution import Distribution
from .utils import lazy_property, logits_to_probs, only_one, probs_to_logits

__all__ = ["Categorical"]


@from_rows()
class Categorical(Distribution):
    """One of the numbers 0 ... K-1; the last dimension of `probs`, brought to a sum of 1, or of the log weights `logits`, says how probable.

    >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).log_prob(torch.tensor(1)).exp()
    tensor(0.7500)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _kept = {"probs": 1, "logits": 1, "_num_events": 0}

    def __init__(self, probs=None, logits=None, validate_args=None):
        name = only_one("distributions", probs=probs, logits=logits)
        weights = probs if name == "probs" else logits
        if weights.dim() == 0:
            raise ValueError(f"Categorical: expected {name} with at least one dimension, got a number")
        setattr(self, name, row("_probabilities_normalized" if name == "probs" else "_logits_normalized")(weights))
        self._num_events = weights.size(-1)
        Distribution.__init__(self, self._param.size()[:-1], validate_args=validate_args)

    _param = property(lambda self: vars(self)["probs"] if "probs" in vars(self) else self.logits)
    param_shape = property(lambda self: self._param.size(), doc="The shape of what was given.")

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self):
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self):
        return logits_to_probs(self.logits)

    def enumerate_support(self, expand=True):
        return self._along_batch(torch.arange(self._num_events, device=self._param.device), expand)


class OnCategorical(Distribution):
    """A distribution of vectors that stands on a Categorical of the same parameters."""

    arg_constraints = Categorical.arg_constraints
    _kept = {"_categorical": 0}
    probs, logits, param_shape = of("_categorical.probs"), of("_categorical.logits"), of("_categorical.param_shape")

    def _stand_on(self, categorical, validate_args):
        self._categorical = categorical
        Distribution.__init__(self, self._categorical.batch_shape, self.param_shape[-1:], validate_args)
