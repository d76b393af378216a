"""Parametrizations ready to use: orthogonal matrices, weight and spectral normalisation."""

import cresset as torch

from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module
from .parametrize import register_parametrization


def _is_orthogonal(Q):
    """Whether the columns are orthonormal, but for rounding."""
    *_, n, k = Q.shape
    if n < k:
        return False
    identity = torch.eye(k, dtype=Q.dtype, device=Q.device)
    return torch.allclose(Q.mH @ Q, identity, atol=10.0 * n * torch.finfo(Q.dtype).eps)


class _Orthogonal(Module):
    def __init__(self, weight, orthogonal_map, use_trivialization=True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("orthogonal: householder takes real tensors, got a complex one.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X):
        transposed = X.shape[-2] < X.shape[-1]
        X = X.mT if transposed else X
        if self.orthogonal_map == "householder":
            Q = torch._orthogonal_of_reflections(X)
        else:
            Q = torch._orthogonal_of_skew(X, self.orthogonal_map == "matrix_exp")
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if transposed else Q

    @torch.no_grad()
    def right_inverse(self, Q):
        if Q.shape != self.shape:
            raise ValueError(f"orthogonal: expected matrices of shape {self.shape}. Got a tensor of shape {Q.shape}.")
        transposed = Q.size(-2) < Q.size(-1)
        if transposed:
            Q = Q.mT
        *batch, n, k = Q.shape
        if "base" not in self._buffers:
            if self.orthogonal_map != "householder":
                raise NotImplementedError("orthogonal: matrix_exp and cayley take assignments only with use_trivialization=True.")
            A = torch._reflections_of(Q)
            return A.mT if transposed else A
        if n == k:
            Q = Q.clone() if _is_orthogonal(Q) else torch._orthogonalised(Q)
        else:
            # The rest of a basis is orthogonal to the columns with probability 1.
            rest = torch.randn(*batch, n, n - k, dtype=Q.dtype, device=Q.device)
            Q = torch._orthogonalised(torch.cat([Q, rest], dim=-1))
        self.base = Q
        # The lower triangle of -I makes the skew matrix 0, and no reflections of sign -1.
        start = torch.zeros_like(Q)[..., :k]
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start.mT if transposed else start


def _tensor_of(module, name):
    tensor = getattr(module, name, None)
    if isinstance(tensor, torch.Tensor):
        return tensor
    raise ValueError(f"Module '{module}' has neither a parameter nor a buffer '{name}'")


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Make a matrix, or each of a batch, orthogonal (unitary): its columns, or its rows if there are fewer, are orthonormal. Returns the module.

    `orthogonal_map` says how: "matrix_exp" (the default for square and complex matrices) or "cayley" of a skew matrix, or "householder" (the
    default of others), a product of reflections. With `use_trivialization` the result is multiplied by a fixed `base`, the orthogonalised first
    value (Lezcano Casado, "Trivializations for gradient-based optimization on manifolds", 2019). ValueError for a name that the module does not
    have, for fewer than two dimensions, for an unknown map.

    >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
    >>> torch.allclose(layer.weight @ layer.weight.T, torch.eye(3), atol=1e-5)
    True
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"orthogonal: expected matrices, got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        rows, columns = weight.shape[-2:]
        orthogonal_map = "matrix_exp" if weight.is_complex() or rows == columns else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(f'orthogonal: expected orthogonal_map to be "matrix_exp", "cayley" or "householder", got {orthogonal_map}')
    register_parametrization(module, name, _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization), unsafe=True)
    return module


class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return torch._scaled_direction(weight_g, weight_v, self.dim)

    def right_inverse(self, weight):
        return torch._norm_except(weight, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Split a weight into its length, for every index of `dim`, and its direction. Returns the module.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
    >>> layer.parametrizations.weight.original0.shape
    torch.Size([3, 1])
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def renamed(state_dict, prefix, *_):
        """States of `nn.utils.weight_norm` have the two parts under other names."""
        for i, part in enumerate("gv"):
            if f"{prefix}{name}_{part}" in state_dict:
                state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(f"{prefix}{name}_{part}")

    module._register_load_state_dict_pre_hook(renamed)
    return module


class _SpectralNorm(Module):
    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        if not -weight.dim() <= dim < weight.dim():
            raise IndexError(f"dimension is out of range (expected within [-{weight.dim()}, {weight.dim() - 1}] but got {dim})")
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
            torch._power_iteration_(self._u, self._v, matrix, times, self.eps)

    def forward(self, weight):
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        return torch._over_spectral_norm(weight, matrix, self._u.clone(), self._v.clone())

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its largest singular value, followed by power iterations in training. Returns the module.

    ValueError for a name that the module does not have.

    >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3))
    >>> list(layer.state_dict())[1:]
    ['parametrizations.weight.original', 'parametrizations.weight.0._u', 'parametrizations.weight.0._v']
    """
    weight = _tensor_of(module, name)
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module
