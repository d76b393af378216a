"""Weight normalisation as a hook before forward; `parametrizations.weight_norm` is its successor."""

import warnings

from ..parameter import Parameter
from .parametrizations import _norm_except


class WeightNorm:
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
        return v * (g / _norm_except(v, self.dim))

    def remove(self, module):
        """Make the weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"], module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.detach()))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name="weight", dim=0):
    """Split a weight into its length `weight_g`, for every index of `dim`, and its direction `weight_v`. RuntimeError when done twice.

    >>> layer = nn.utils.weight_norm(nn.Linear(4, 3))
    >>> layer.weight_g.shape, layer.weight_v.shape
    (torch.Size([3, 1]), torch.Size([3, 4]))
    """
    warnings.warn("nn.utils.weight_norm is deprecated; use nn.utils.parametrizations.weight_norm", FutureWarning, stacklevel=2)
    if any(isinstance(hook, WeightNorm) and hook.name == name for hook in module._forward_pre_hooks.values()):
        raise RuntimeError(f"cannot register two weight_norm hooks on the same parameter {name}")
    hook = WeightNorm(name, dim)
    weight = getattr(module, name)
    del module._parameters[name]
    module.register_parameter(name + "_g", Parameter(_norm_except(weight.detach(), hook.dim)))
    module.register_parameter(name + "_v", Parameter(weight.data))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module, name="weight"):
    """Make the weight an ordinary parameter again. ValueError when it was not split.

    >>> list(nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(2, 2))).state_dict())
    ['bias', 'weight']
    """
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
