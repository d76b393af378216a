"""Weight normalisation as a hook before forward; `parametrizations.weight_norm` is its successor."""

import warnings

import cresset as torch

from ..parameter import Parameter
from . import _hooked


class WeightNorm(_hooked.Recomputed):
    """The hook: computes the weight from `name_g` and `name_v` before every call.

    >>> layer = nn.utils.weight_norm(nn.Linear(2, 2))
    >>> [type(hook).__name__ for hook in layer._forward_pre_hooks.values()]
    ['WeightNorm']
    """

    def __init__(self, name, dim):
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module):
        """The weight: the direction v with the length g."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return torch._scaled_direction(g, v, self.dim)

    def remove(self, module):
        """Make the weight a parameter again."""
        whole = Parameter(self.compute_weight(module).detach())
        for part in ("", "_g", "_v"):
            delattr(module, self.name + part)
        setattr(module, self.name, whole)


def weight_norm(module, name="weight", dim=0):
    """Split a weight into its length `weight_g`, for every index of `dim`, and its direction `weight_v`. RuntimeError when done twice.

    >>> layer = nn.utils.weight_norm(nn.Linear(4, 3))
    >>> layer.weight_g.shape, layer.weight_v.shape
    (torch.Size([3, 1]), torch.Size([3, 4]))
    """
    warnings.warn("nn.utils.weight_norm is deprecated; use nn.utils.parametrizations.weight_norm", FutureWarning, stacklevel=2)
    _hooked.refuse_second(module, WeightNorm, name, "weight_norm")
    _hooked.refuse_lazy(module._parameters.get(name), name, "weight_norm")
    hook, whole = WeightNorm(name, dim), module._parameters.pop(name).data
    for part, value in (("_g", torch._norm_except(whole, hook.dim)), ("_v", whole)):
        module.register_parameter(name + part, Parameter(value))
    hook._set(module)
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module, name="weight"):
    """Make the weight an ordinary parameter again. ValueError when it was not split.

    >>> list(nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(2, 2))).state_dict())
    ['bias', 'weight']
    """
    return _hooked.take_off(module, WeightNorm, name, "remove_weight_norm")
