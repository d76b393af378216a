"""Spectral normalisation as a hook before forward; `parametrizations.spectral_norm` is its successor."""

import cresset as torch

from .. import functional as F
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..parameter import Parameter
from . import _hooked

_VERSION = 1


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

    def right_vector(self, weight, u, sigma):
        """The vector v for which the weight has the norm `sigma` = u W v."""
        matrix = self.reshape_weight_to_matrix(weight)
        v = torch.linalg.pinv(matrix) @ u
        return v * (sigma / torch.dot(u, matrix @ v))

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
        for hooks in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
            for number in [n for n, hook in hooks.items() if isinstance(hook, _FileHook) and hook.norm is self]:
                del hooks[number]

    def _set(self, module, do_power_iteration):
        setattr(module, self.name, self.compute_weight(module, do_power_iteration))


class _FileHook:
    """A hook of `state_dict` or `load_state_dict` that belongs to a norm. Files of version 1 hold both vectors; older ones the first, and the weight."""

    def __init__(self, norm):
        self.norm = norm


class _NotesVersion(_FileHook):
    def __call__(self, module, state_dict, prefix, local_metadata):
        local_metadata.setdefault("spectral_norm", {})[f"{self.norm.name}.version"] = _VERSION


class _ReadsOlder(_FileHook):
    def __call__(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        if local_metadata.get("spectral_norm", {}).get(f"{self.norm.name}.version", 0) >= _VERSION:
            return
        key = prefix + self.norm.name
        original, u = state_dict.get(key + "_orig"), state_dict.get(key + "_u")
        if key not in state_dict:
            if original is None or u is None or key + "_v" not in state_dict:
                missing_keys.append(key)
            return
        weight = state_dict.pop(key)
        if original is not None and u is not None:
            with torch.no_grad():
                state_dict[key + "_v"] = self.norm.right_vector(original, u, (original / weight).mean())


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
    module._register_state_dict_hook(_NotesVersion(hook))
    module._register_load_state_dict_pre_hook(_ReadsOlder(hook))
    return module


def remove_spectral_norm(module, name="weight"):
    """Make the weight an ordinary parameter again. ValueError when it was not divided.

    >>> list(nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(2, 2))).state_dict())
    ['bias', 'weight']
    """
    return _hooked.take_off(module, SpectralNorm, name, "remove_spectral_norm")
