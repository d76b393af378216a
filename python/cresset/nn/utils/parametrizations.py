"""Parametrizations ready to use: weight and spectral normalisation."""

import cresset as torch

from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from .parametrize import register_parametrization


def _norm_except(v, dim):
    """The norm over all dimensions but one, kept; over all for -1."""
    if dim == -1:
        return torch.linalg.vector_norm(v)
    return torch.linalg.vector_norm(v, 2, [d for d in range(v.dim()) if d != dim], keepdim=True) if v.dim() > 1 else v.abs()


class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return weight_v * (weight_g / _norm_except(weight_v, self.dim))

    def right_inverse(self, weight):
        return _norm_except(weight, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Split a weight into its length, for every index of `dim`, and its direction. Returns the module.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    >>> layer.parametrizations.weight.original0.shape
    torch.Size([3, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    return module


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        if not -weight.dim() <= dim < weight.dim():
            raise IndexError(f"dimension out of range (expected to be in range of [-{weight.dim()}, {weight.dim() - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim = dim if dim >= 0 else dim + weight.dim()
        self.eps = eps
        if weight.dim() > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                self.register_buffer(name, F.normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight):
        return weight.transpose(0, self.dim).flatten(1) if self.dim else weight.flatten(1)

    def _iterate(self, matrix, times):
        with torch.no_grad():
            for _ in range(times):
                self._u.copy_(F.normalize(torch.mv(matrix, self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(torch.mv(matrix.t(), self._u), dim=0, eps=self.eps))

    def forward(self, weight):
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / torch.dot(u, torch.mv(matrix, v))

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its largest singular value, followed by power iterations in training. Returns the module.

    ValueError for a name that the module does not have.

    >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3))
    >>> list(layer.state_dict())[1:]
    ['parametrizations.weight.original', 'parametrizations.weight.0._u', 'parametrizations.weight.0._v']
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, torch.Tensor):
        raise ValueError(f"module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module
