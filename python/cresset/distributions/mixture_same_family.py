"""Mixtures of distributions of one kind."""

import cresset as torch

from . import constraints
from ._rows import of, row
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last batch dimension of `component_distribution`, chosen by the Categorical
    `mixture_distribution`.

    >>> T = torch.distributions
    >>> d = T.MixtureSameFamily(T.Categorical(torch.ones(2)), T.Normal(torch.tensor([-1.0, 1.0]), 1.0))
    >>> d.mean, d.variance
    (tensor(0.), tensor(2.))
    """

    arg_constraints = {}
    has_rsample = False
    _kept = {}
    mixture_distribution, component_distribution = of("_mixture"), of("_components")

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(f"MixtureSameFamily: expected a Categorical as mixture_distribution, got {type(mixture_distribution).__name__}")
        if not isinstance(component_distribution, Distribution):
            raise ValueError(f"MixtureSameFamily: expected a distribution as component_distribution, got {type(component_distribution).__name__}")
        self._mixture, self._components = mixture_distribution, component_distribution
        if not component_distribution.batch_shape:
            raise ValueError("MixtureSameFamily: expected a component_distribution with a batch, got one without")
        count = component_distribution.batch_shape[-1]
        batch, known = component_distribution.batch_shape[:-1], mixture_distribution.logits.size(-1)
        pairs = zip(mixture_distribution.batch_shape[::-1], batch[::-1])
        if any(1 not in pair and pair[0] != pair[1] for pair in pairs) or count != known:
            raise ValueError(
                f"MixtureSameFamily: expected a component batch of {mixture_distribution.batch_shape} and then "
                f"{known}, got {component_distribution.batch_shape}"
            )
        Distribution.__init__(self, batch, component_distribution.event_shape, validate_args)

    def _new_expanded(self, batch_shape, _instance):
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new._mixture = self._mixture.expand(batch_shape)
        new._components = self._components.expand(batch_shape + self._components.batch_shape[-1:])
        return new

    _dim = property(lambda self: -1 - len(self._event_shape), doc="That of the components, counted from the end of an event.")

    def _padded_probs(self):
        """Chances with dimensions of the batch in front and of the event behind, for products with components' moments."""
        probs = self._mixture.probs
        front = () if self._mixture.batch_shape else (1,) * len(self._batch_shape)
        return probs.reshape((*probs.shape[:-1], *front, probs.shape[-1], *(1,) * len(self._event_shape)))

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._components.support)

    @property
    def mean(self):
        return row("_mixturesamefamily_mean")(self._components.mean, self._padded_probs(), self._dim)

    @property
    def variance(self):
        return row("_mixturesamefamily_variance")(self._components.mean, self._components.variance, self._padded_probs(), self._dim)

    def cdf(self, x):
        return row("_mixturesamefamily_cdf")(self._components.cdf(x.unsqueeze(self._dim)), self._mixture.probs)

    def log_prob(self, x):
        if self._validate_args:
            self._validate_sample(x)
        return row("_mixturesamefamily_log_prob")(self._components.log_prob(x.unsqueeze(self._dim)), self._mixture.logits)

    def sample(self, sample_shape=torch.Size()):
        with torch.no_grad():
            chosen, each = self._mixture.sample(sample_shape), self._components.sample(sample_shape)
            dim = chosen.dim()
            chosen = chosen.reshape(chosen.shape + (1,) * (1 + len(self._event_shape)))
            return each.gather(dim, chosen.expand(*chosen.shape[:dim], 1, *self._event_shape)).squeeze(dim)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self._mixture},\n  {self._components})"
