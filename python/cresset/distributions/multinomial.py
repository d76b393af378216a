"""The multinomial law."""

import cresset as torch

from . import constraints
from .binomial import Binomial
from .categorical import Categorical
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(Distribution):
    """How often each of K numbers comes up in `total_count` draws from `Categorical(probs, logits)`.

    >>> torch.distributions.Multinomial(2, torch.tensor([0.5, 0.5])).log_prob(torch.tensor([1.0, 1.0])).exp()
    tensor(0.5000)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _kept = {"_categorical": 0, "_binomial": 0, "total_count": 0}

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new._binomial = Binomial(total_count=self.total_count, probs=new.probs, validate_args=False)
        return new

    def _new_expanded(self, batch_shape, _instance):
        new = self._get_checked_instance(Multinomial, _instance)
        new.total_count = self.total_count
        new._categorical = self._categorical.expand(batch_shape)
        return new

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self):
        return constraints.multinomial(self.total_count)

    @property
    def logits(self):
        return self._categorical.logits

    @property
    def probs(self):
        return self._categorical.probs

    @property
    def param_shape(self):
        return self._categorical.param_shape

    def sample(self, sample_shape=torch.Size()):
        sample_shape = torch.Size(sample_shape)
        drawn = self._categorical.sample(torch.Size((self.total_count,)) + sample_shape)
        drawn = drawn.permute(*range(1, drawn.dim()), 0)  # the draws last
        counts = self.probs.new(self._extended_shape(sample_shape)).zero_()
        return counts.scatter_add_(-1, drawn, torch.ones_like(drawn).type_as(counts))

    def entropy(self):
        n = torch.tensor(self.total_count)
        some = self._binomial.enumerate_support(expand=False)[1:]
        term = (torch.exp(self._binomial.log_prob(some)) * torch.lgamma(some + 1)).sum((0, -1))
        return n * self._categorical.entropy() - torch.lgamma(n + 1) + term

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -torch.inf), 0)
        return torch.lgamma(value.sum(-1) + 1) - torch.lgamma(value + 1).sum(-1) + (logits * value).sum(-1)
