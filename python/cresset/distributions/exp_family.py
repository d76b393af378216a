"""Distributions of an exponential family."""

import cresset as torch

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    r"""A distribution with density exp(<t(x), theta> - F(theta) + k(x)).

    `theta` are the natural parameters, t(x) the sufficient statistic, F the log normalizer, k the carrier measure. Entropies and divergences
    follow from F and its gradient (Nielsen and Nock, "Entropies and cross-entropies of exponential families", 2010).

    >>> isinstance(torch.distributions.Normal(0.0, 1.0), torch.distributions.ExponentialFamily)
    True
    """

    @property
    def _natural_params(self):
        raise self._missing("_natural_params")

    def _log_normalizer(self, *natural_params):
        raise self._missing("_log_normalizer")

    @property
    def _mean_carrier_measure(self):
        """The expectation of k(x)."""
        raise self._missing("_mean_carrier_measure")

    def _normalizer_with_gradients(self):
        """The natural parameters as leaves, F of them, and its gradients; recorded."""
        leaves = [torch.detach(p).requires_grad_() for p in self._natural_params]
        with torch.enable_grad():
            value = self._log_normalizer(*leaves)
            return leaves, value, torch.autograd.grad(value.sum(), leaves, create_graph=True)

    def entropy(self):
        """F - <theta, dF/dtheta> - E[k(x)], of each distribution of the batch."""
        carrier = self._mean_carrier_measure
        leaves, value, slopes = self._normalizer_with_gradients()
        entropy = -carrier + value
        for leaf, slope in zip(leaves, slopes, strict=True):
            entropy = entropy - (leaf * slope).reshape((*self._batch_shape, -1)).sum(dim=-1)
        return entropy
