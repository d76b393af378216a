"""Layers that multiply by matrices."""

import math

import cresset as torch

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .lazy import _LazyLayer
from .module import Module


def _make_weights(module, weight, bias, device, dtype):
    """Registers uninitialized parameters `weight` and `bias` of these shapes; without a shape the parameter is None."""
    for name, shape in (("weight", weight), ("bias", bias)):
        module.register_parameter(name, Parameter(torch.empty(shape, device=device, dtype=dtype)) if shape else None)


class Identity(Module):
    """Returns its input; arguments of the constructor are ignored.

    >>> nn.Identity(54, unused=True)(torch.ones(2)).shape
    torch.Size([2])
    """

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Linear(Module):
    """y = x Aᵀ + b along the last dimension: (*, in_features) to (*, out_features).

    Weight and bias start evenly spread over ±1/√in_features. A last dimension of another size raises RuntimeError.

    >>> nn.Linear(20, 30)(torch.ones(128, 20)).shape
    torch.Size([128, 30])
    """

    __constants__ = ["in_features", "out_features"]

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        _make_weights(self, (out_features, in_features), bias and (out_features,), device, dtype)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw weight and bias anew."""
        init._spread_by_fan_in_(self.weight, self.bias)

    def forward(self, input):
        held = self.__dict__["_parameters"]  # half the time of two attributes; those computed elsewhere are not in it
        weight = held["weight"] if "weight" in held else self.weight
        return F.linear(input, weight, held["bias"] if "bias" in held else self.bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear that tools which swap Linear layers leave alone: the output projection of attention.

    >>> nn.modules.linear.NonDynamicallyQuantizableLinear(2, 3)
    NonDynamicallyQuantizableLinear(in_features=2, out_features=3, bias=True)
    """


class Bilinear(Module):
    """y = x1ᵀ A x2 + b: (*, in1_features) and (*, in2_features) to (*, out_features). Raises ValueError unless in1_features is positive.

    >>> nn.Bilinear(2, 3, 4)(torch.ones(5, 2), torch.ones(5, 3)).shape
    torch.Size([5, 4])
    """

    __constants__ = ["in1_features", "in2_features", "out_features"]

    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        if in1_features <= 0:
            raise ValueError(f"Bilinear: expected in1_features above 0, got {in1_features}")
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        _make_weights(self, (out_features, in1_features, in2_features), bias and (out_features,), device, dtype)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw weight and bias anew."""
        width = 1 / math.sqrt(self.weight.shape[1])
        for tensor in filter(torch.is_tensor, (self.weight, self.bias)):
            init.uniform_(tensor, -width, width)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        sizes = f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"


class LazyLinear(_LazyLayer, Linear):
    """A Linear whose in_features is the size of the last dimension at the first call.

    >>> layer = nn.LazyLinear(3)
    >>> layer(torch.ones(2, 5)).shape, layer.in_features
    (torch.Size([2, 3]), 5)
    """

    cls_to_become, _wanted = Linear, "in_features"

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(0, 0, False)
        self._start_lazy(bias, device, dtype, out_features=out_features)

    def initialize_parameters(self, input):
        super().initialize_parameters(input)
        self.in_features = self.in_features or input.shape[-1]

    def _found_in(self, input):
        return input.shape[-1]

    def _shapes(self):
        return {"weight": (self.out_features, self.in_features), "bias": (self.out_features,)}
