"""The categorical law with one-hot vectors as values."""

import cresset as torch

from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(Distribution):
    """As `Categorical`, with one-hot vectors as values.

    >>> torch.distributions.OneHotCategorical(torch.tensor([0.2, 0.8])).mode
    tensor([0., 1.])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _kept = {"_categorical": 0}

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    @property
    def _param(self):
        return self._categorical._param

    @property
    def probs(self):
        return self._categorical.probs

    @property
    def logits(self):
        return self._categorical.logits

    @property
    def mean(self):
        return self._categorical.probs

    @property
    def mode(self):
        return torch.nn.functional.one_hot(self.probs.argmax(dim=-1), num_classes=self.probs.shape[-1]).to(self.probs)

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    @property
    def param_shape(self):
        return self._categorical.param_shape

    def sample(self, sample_shape=torch.Size()):
        places = self._categorical.sample(torch.Size(sample_shape))
        return torch.nn.functional.one_hot(places, self._categorical._num_events).to(self._param)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n = self.event_shape[0]
        values = torch.eye(n, dtype=self._param.dtype, device=self._param.device).view((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n,) + self.batch_shape + (n,)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """`OneHotCategorical` whose samples pass gradients on to the probabilities as they are (Bengio et al., "Estimating or propagating gradients
    through stochastic neurons", 2013).

    >>> p = torch.tensor([0.5, 0.5], requires_grad=True)
    >>> torch.distributions.OneHotCategoricalStraightThrough(p).rsample().requires_grad
    True
    """

    has_rsample = True

    def rsample(self, sample_shape=torch.Size()):
        samples, probs = self.sample(sample_shape), self._categorical.probs
        return samples + (probs - probs.detach())
