"""Layers that multiply by matrices."""

import math

import cresset as torch

from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module


class Identity(Module):
    """What it is given; arguments of the constructor are ignored.

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
        self.weight = Parameter(torch.empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(torch.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw weight and bias anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

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
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(torch.empty((out_features, in1_features, in2_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(torch.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draw weight and bias anew."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1, input2):
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        sizes = f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear whose in_features is the size of the last dimension at the first call.

    >>> layer = nn.LazyLinear(3)
    >>> layer(torch.ones(2, 5)).shape, layer.in_features
    (torch.Size([2, 3]), 5)
    """

    cls_to_become = Linear

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self):
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input):
        if self.has_uninitialized_params():
            with torch.no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            self.in_features = input.shape[-1]


def __getattr__(name):
    from cresset import _missing

    return _missing.found(__name__, name)
