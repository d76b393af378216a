"""Mixtures of laws of one kind."""

import cresset as torch

from . import constraints
from .categorical import Categorical
from .constraints import MixtureSameFamilyConstraint
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture of the laws along the last batch dimension of `component_distribution`, chosen by the Categorical `mixture_distribution`.

    >>> T = torch.distributions
    >>> law = T.MixtureSameFamily(T.Categorical(torch.ones(2)), T.Normal(torch.tensor([-1.0, 1.0]), 1.0))
    >>> law.mean, law.variance
    (tensor(0.), tensor(2.))
    """

    arg_constraints = {}
    has_rsample = False
    _kept = {}

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        batch, wanted = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for have, want in zip(reversed(batch), reversed(wanted)):
            if have != 1 and want != 1 and have != want:
                raise ValueError(f"`mixture_distribution.batch_shape` ({batch}) is not compatible with `component_distribution.batch_shape`({wanted})")
        count, components = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if count is not None and components is not None and count != components:
            raise ValueError(f"`mixture_distribution component` ({count}) does not equal `component_distribution.batch_shape[-1]` ({components})")
        self._num_component = count
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(batch_shape=wanted, event_shape=event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = torch.Size(batch_shape)
        new._component_distribution = self._component_distribution.expand(batch_shape + (self._num_component,))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        Distribution.__init__(new, batch_shape, new._component_distribution.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self):
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        return self._mixture_distribution

    @property
    def component_distribution(self):
        return self._component_distribution

    @property
    def mean(self):
        return torch.sum(self._pad_mixture_dimensions(self.mixture_distribution.probs) * self.component_distribution.mean, dim=-1 - self._event_ndims)

    @property
    def variance(self):
        # The law of total variance.
        probs, components = self._pad_mixture_dimensions(self.mixture_distribution.probs), self.component_distribution
        within = torch.sum(probs * components.variance, dim=-1 - self._event_ndims)
        between = torch.sum(probs * (components.mean - self._pad(self.mean)).pow(2.0), dim=-1 - self._event_ndims)
        return within + between

    def cdf(self, x):
        return torch.sum(self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, x):
        if self._validate_args:
            self._validate_sample(x)
        each = self.component_distribution.log_prob(self._pad(x))
        return torch.logsumexp(each + torch.log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            values = self.component_distribution.sample(sample_shape)
            event = torch.Size([1] * (len(self.event_shape) + 1))
            chosen = chosen.reshape(chosen.shape + event).expand(chosen.shape + torch.Size([1]) + self.event_shape)
            return torch.gather(values, dim, chosen).squeeze(dim)

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x):
        """Dimensions of the batch in front and of the event behind, for products with components' moments."""
        more = 0 if len(self.mixture_distribution.batch_shape) else len(self.batch_shape)
        shape = x.shape
        return x.reshape(shape[:-1] + torch.Size(more * [1]) + shape[-1:] + torch.Size(self._event_ndims * [1]))

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
