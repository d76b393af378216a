"""Activations: functions of every element, or along one dimension. All keep the shape unless they say otherwise."""

import warnings

import cresset as torch

from .. import functional as F
from ..parameter import Parameter
from .module import Module


class _InPlace(Module):
    """An activation that may overwrite its input; `_show` are the attributes in its text."""

    _show = ()

    def extra_repr(self):
        parts = [f"{name}={getattr(self, name)}" for name in self._show]
        return ", ".join(parts + ["inplace=True"] if getattr(self, "inplace", False) else parts)


class Threshold(_InPlace):
    """x where x > threshold, `value` elsewhere.

    >>> nn.Threshold(0.5, 9.0)(torch.tensor([0.0, 1.0])).tolist()
    [9.0, 1.0]
    """

    _show = ("threshold", "value")

    def __init__(self, threshold, value, inplace=False):
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input):
        return F.threshold(input, self.threshold, self.value, self.inplace)


class ReLU(_InPlace):
    """max(0, x).

    >>> nn.ReLU()(torch.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.relu(input, inplace=self.inplace)


class RReLU(_InPlace):
    """x for x ≥ 0, else a·x with a drawn from [lower, upper] in training and their mean in evaluation.

    >>> nn.RReLU(0.2, 0.4).eval()(torch.tensor([-10.0])).round().tolist()
    [-3.0]
    """

    _show = ("lower", "upper")

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(_InPlace):
    """x clipped to [min_val, max_val]. ValueError unless min_val < max_val.

    >>> nn.Hardtanh()(torch.tensor([-3.0, 0.5])).tolist()
    [-1.0, 0.5]
    """

    _show = ("min_val", "max_val")

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None):
        super().__init__()
        for old, new, given in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if given is not None:
                warnings.warn(f"Hardtanh: {old} is an old name of {new}", FutureWarning, stacklevel=2)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"Hardtanh: max_val must be larger than min_val, got {self.max_val} and {self.min_val}")

    def forward(self, input):
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class ReLU6(Hardtanh):
    """min(max(0, x), 6).

    >>> nn.ReLU6()(torch.tensor([-1.0, 9.0])).tolist()
    [0.0, 6.0]
    """

    _show = ()

    def __init__(self, inplace=False):
        super().__init__(0.0, 6.0, inplace)


class Sigmoid(Module):
    """1/(1 + exp(-x)).

    >>> nn.Sigmoid()(torch.zeros(1)).tolist()
    [0.5]
    """

    def forward(self, input):
        return torch.sigmoid(input)


class Hardsigmoid(Module):
    """x/6 + 1/2 clipped to [0, 1].

    >>> nn.Hardsigmoid()(torch.tensor([-3.0, 0.0, 4.0])).tolist()
    [0.0, 0.5, 1.0]
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.hardsigmoid(input, self.inplace)


class Tanh(Module):
    """The hyperbolic tangent.

    >>> nn.Tanh()(torch.zeros(2)).tolist()
    [0.0, 0.0]
    """

    def forward(self, input):
        return torch.tanh(input)


class SiLU(_InPlace):
    """x · sigmoid(x).

    >>> nn.SiLU()(torch.zeros(2)).tolist()
    [0.0, 0.0]
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.silu(input, inplace=self.inplace)


class Mish(_InPlace):
    """x · tanh(softplus(x)).

    >>> nn.Mish()(torch.zeros(2)).tolist()
    [0.0, 0.0]
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.mish(input, inplace=self.inplace)


class Hardswish(Module):
    """x · hardsigmoid(x).

    >>> nn.Hardswish()(torch.tensor([-3.0, 3.0])).tolist()
    [-0.0, 3.0]
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.hardswish(input, self.inplace)


class ELU(_InPlace):
    """x for x > 0, else alpha (exp(x) - 1).

    >>> nn.ELU()(torch.tensor([2.0])).tolist()
    [2.0]
    """

    _show = ("alpha",)

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input):
        return F.elu(input, self.alpha, self.inplace)


class CELU(_InPlace):
    """max(0, x) + min(0, alpha (exp(x/alpha) - 1)).

    >>> nn.CELU()(torch.tensor([2.0])).tolist()
    [2.0]
    """

    _show = ("alpha",)

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input):
        return F.celu(input, self.alpha, self.inplace)


class SELU(_InPlace):
    """An ELU scaled so that mean 0 and deviation 1 are kept.

    >>> nn.SELU()(torch.zeros(2)).tolist()
    [0.0, 0.0]
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return F.selu(input, self.inplace)


class GLU(Module):
    """The first half along `dim` times the sigmoid of the second half, so that `dim` is half as long.

    >>> nn.GLU()(torch.zeros(2, 4)).shape
    torch.Size([2, 2])
    """

    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return F.glu(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class GELU(Module):
    """x times the normal distribution's Φ(x); `approximate="tanh"` takes the formula with tanh.

    >>> nn.GELU()(torch.zeros(2)).tolist()
    [0.0, 0.0]
    """

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class Hardshrink(Module):
    """x where |x| > lambd, zero elsewhere.

    >>> nn.Hardshrink()(torch.tensor([-1.0, 0.2])).tolist()
    [-1.0, 0.0]
    """

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        return F.hardshrink(input, self.lambd)

    def extra_repr(self):
        return f"{self.lambd}"


class LeakyReLU(_InPlace):
    """x for x ≥ 0, else negative_slope · x.

    >>> nn.LeakyReLU(0.5)(torch.tensor([-2.0, 2.0])).tolist()
    [-1.0, 2.0]
    """

    _show = ("negative_slope",)

    def __init__(self, negative_slope=1e-2, inplace=False):
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input):
        return F.leaky_relu(input, self.negative_slope, self.inplace)


class LogSigmoid(Module):
    """log(1/(1 + exp(-x))).

    >>> nn.LogSigmoid()(torch.zeros(1)).exp().tolist()
    [0.5]
    """

    def forward(self, input):
        return F.logsigmoid(input)


class Softplus(Module):
    """log(1 + exp(beta · x))/beta, and x itself where beta · x > threshold.

    >>> nn.Softplus()(torch.tensor([30.0])).tolist()
    [30.0]
    """

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input):
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self):
        return f"beta={self.beta}, threshold={self.threshold}"


class Softshrink(Module):
    """x drawn towards zero by lambd, and zero within lambd of it.

    >>> nn.Softshrink()(torch.tensor([-1.0, 0.2, 2.0])).tolist()
    [-0.5, 0.0, 1.5]
    """

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        return F.softshrink(input, self.lambd)

    def extra_repr(self):
        return str(self.lambd)


class PReLU(Module):
    """x for x ≥ 0, else weight · x, with one learned slope for all or one for every channel (dimension 1).

    >>> nn.PReLU()(torch.tensor([-4.0])).tolist()
    [-1.0]
    """

    __constants__ = ["num_parameters"]

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(torch.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Set every slope to its first value."""
        torch.nn.init.constant_(self.weight, self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class Softsign(Module):
    """x/(1 + |x|).

    >>> nn.Softsign()(torch.tensor([1.0])).tolist()
    [0.5]
    """

    def forward(self, input):
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x).

    >>> nn.Tanhshrink()(torch.zeros(1)).tolist()
    [0.0]
    """

    def forward(self, input):
        return F.tanhshrink(input)


class _AlongDim(Module):
    __constants__ = ["dim"]

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__.setdefault("dim", None)

    def extra_repr(self):
        return f"dim={self.dim}"


class Softmin(_AlongDim):
    """The softmax of -x along `dim`.

    >>> nn.Softmin(0)(torch.zeros(2)).tolist()
    [0.5, 0.5]
    """

    def forward(self, input):
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(_AlongDim):
    """exp(x) over its sum along `dim`.

    >>> nn.Softmax(dim=1)(torch.zeros(1, 2)).tolist()
    [[0.5, 0.5]]
    """

    def forward(self, input):
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """The softmax over the channels of (N, C, H, W) or (C, H, W). ValueError for other numbers of dimensions.

    >>> nn.Softmax2d()(torch.zeros(1, 2, 1, 1)).flatten().tolist()
    [0.5, 0.5]
    """

    def forward(self, input):
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected 3 or 4 dimensions, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """The logarithm of the softmax along `dim`.

    >>> nn.LogSoftmax(0)(torch.zeros(2)).exp().tolist()
    [0.5, 0.5]
    """

    def forward(self, input):
        return F.log_softmax(input, self.dim, _stacklevel=5)
