"""Laws of an exponential family."""

import cresset as torch

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    r"""A law with density exp(<t(x), theta> - F(theta) + k(x)).

    `theta` are the natural parameters, t(x) the sufficient statistic, F the log normalizer, k the carrier measure. Entropies and divergences
    follow from F and its gradient (Nielsen and Nock, "Entropies and cross-entropies of exponential families", 2010).

    >>> isinstance(torch.distributions.Normal(0.0, 1.0), torch.distributions.ExponentialFamily)
    True
    """

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        """The expectation of k(x)."""
        raise NotImplementedError

    def entropy(self):
        """F - <theta, dF/dtheta> - E[k(x)], of each law of the batch."""
        result = -self._mean_carrier_measure
        parameters = [p.detach().requires_grad_() for p in self._natural_params]
        with torch.enable_grad():
            normalizer = self._log_normalizer(*parameters)
            gradients = torch.autograd.grad(normalizer.sum(), parameters, create_graph=True)
        result = result + normalizer
        for parameter, gradient in zip(parameters, gradients, strict=True):
            result = result - (parameter * gradient).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
