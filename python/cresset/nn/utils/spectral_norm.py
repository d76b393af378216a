"""Spectral normalisation as a hook before forward; `parametrizations.spectral_norm` is its successor."""

import cresset as torch

from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..parameter import Parameter
from . import _hooked


class SpectralNorm(_hooked.Recomputed):
    """The hook: computes the weight from `name_orig` and the vectors `name_u` and `name_v` before every call.

    >>> layer = nn.utils.spectral_norm(nn.Linear(2, 2))
    >>> [type(hook).__name__ for hook in layer._forward_pre_hooks.values()]
    ['SpectralNorm']
    """

    def __init__(self, name="weight", n_power_iterations=1, dim=0, eps=1e-12):
        if n_power_iterations <= 0:
            raise ValueError(f"expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight):
        """The weight with dimension `dim` as rows."""
        return (weight.transpose(0, self.dim) if self.dim else weight).reshape(weight.size(self.dim), -1)

    def compute_weight(self, module, do_power_iteration):
        """The weight over its largest singular value."""
        weight, u, v = (getattr(module, f"{self.name}_{part}") for part in ("orig", "u", "v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with torch.no_grad():
                torch._power_iteration_(v, u, matrix.mH, self.n_power_iterations, self.eps)
            u, v = u.clone(), v.clone()
        return torch._over_spectral_norm(weight, matrix, u, v)

    def remove(self, module):
        """Make the weight a parameter again."""
        with torch.no_grad():
            whole = self.compute_weight(module, False)
        for name in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + name)
        module.register_parameter(self.name, Parameter(whole.detach()))

    def _set(self, module, do_power_iteration):
        setattr(module, self.name, self.compute_weight(module, do_power_iteration))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its largest singular value, followed by power iterations in training. RuntimeError when done twice.

    >>> list(nn.utils.spectral_norm(nn.Linear(4, 3)).state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    _hooked.refuse_second(module, SpectralNorm, name, "spectral_norm")
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    weight = module._parameters.get(name)
    if weight is None:
        raise ValueError(f"spectral_norm: cannot be applied to parameter `{name}` is None or not there")
    _hooked.refuse_lazy(weight, name, "spectral_norm")
    matrix = hook.reshape_weight_to_matrix(weight.detach())
    vectors = [F.normalize(matrix.new_empty(size).normal_(0, 1), dim=0, eps=eps) for size in matrix.shape]
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)  # a plain attribute until the first call
    for suffix, vector in zip(("_u", "_v"), vectors, strict=True):
        module.register_buffer(name + suffix, vector)
    module.register_forward_pre_hook(hook)
    return module


def remove_spectral_norm(module, name="weight"):
    """Make the weight an ordinary parameter again. ValueError when it was not divided.

    >>> list(nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(2, 2))).state_dict())
    ['bias', 'weight']
    """
    return _hooked.take_off(module, SpectralNorm, name, "remove_spectral_norm")
