"""nn.init: fill tensors in place before training. Every function returns the tensor it filled and records no graph."""

import functools
import math
import warnings

import cresset as torch
from cresset._core import overridable as _overridable

_GAINS = dict.fromkeys(("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid"), 1)
_GAINS |= {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


def calculate_gain(nonlinearity, param=None):
    """The factor that keeps the spread of values through a nonlinearity; `param` is the slope of leaky_relu.

    Raises ValueError for a name that is not known or a slope that is no number.

    >>> nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity != "leaky_relu":
        raise ValueError(f"calculate_gain: unsupported nonlinearity {nonlinearity}")
    slope = 0.01 if param is None else param
    if isinstance(slope, bool) or not isinstance(slope, (int, float)):
        raise ValueError(f"calculate_gain: the slope {slope!r} is not a valid number")
    return math.sqrt(2.0 / (1 + slope**2))


def _filled(tensor, method, *args, **kwargs):
    """The tensor, filled by its own method without a graph."""
    with torch.no_grad():
        return getattr(tensor, method)(*args, **kwargs)


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Numbers spread evenly over [a, b).

    >>> nn.init.uniform_(torch.empty(2, 3)).shape
    torch.Size([2, 3])
    """
    return _filled(tensor, "uniform_", a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Numbers of the normal distribution of this mean and deviation.

    >>> nn.init.normal_(torch.empty(3), std=0.02).shape
    torch.Size([3])
    """
    return _filled(tensor, "normal_", mean, std, generator=generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Numbers of the normal distribution that lie in [a, b].

    >>> x = nn.init.trunc_normal_(torch.empty(50), a=-1.0, b=1.0)
    >>> bool((x.abs() <= 1).all())
    True
    """
    if not a - 2 * std <= mean <= b + 2 * std:
        warnings.warn("trunc_normal_: the mean is more than 2 deviations outside of [a, b], the distribution may be wrong", stacklevel=2)
    with torch.no_grad():
        return torch._trunc_normal_(tensor, mean, std, a, b, generator=generator)


def constant_(tensor, val):
    """One value everywhere.

    >>> nn.init.constant_(torch.empty(2), 0.5).tolist()
    [0.5, 0.5]
    """
    return _filled(tensor, "fill_", val)


def ones_(tensor):
    """One everywhere.

    >>> nn.init.ones_(torch.empty(2)).tolist()
    [1.0, 1.0]
    """
    return _filled(tensor, "fill_", 1.0)


def zeros_(tensor):
    """Zero everywhere.

    >>> nn.init.zeros_(torch.empty(2)).tolist()
    [0.0, 0.0]
    """
    return _filled(tensor, "zero_")


def eye_(tensor):
    """The identity matrix. Raises ValueError unless there are two dimensions.

    >>> nn.init.eye_(torch.empty(2, 2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if tensor.dim() != 2:
        raise ValueError(f"eye_: only tensors with 2 dimensions are supported, got {tensor.dim()}")
    with torch.no_grad():
        tensor.zero_().diagonal().fill_(1)
    return tensor


def dirac_(tensor, groups=1):
    """Kernels of a convolution that pass as many channels through as they can, in each of `groups`.

    Raises ValueError unless there are 3 to 5 dimensions and the first divides by `groups`.

    >>> nn.init.dirac_(torch.empty(1, 1, 3)).tolist()
    [[[0.0, 1.0, 0.0]]]
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError(f"dirac_: expected 3 to 5 dimensions, got {tensor.dim()}")
    if tensor.size(0) % groups:
        raise ValueError(f"dirac_: dim 0 of size {tensor.size(0)} must be divisible by groups, got {groups}")
    per_group = tensor.size(0) // groups
    middle = tuple(size // 2 for size in tensor.shape[2:])
    with torch.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, tensor.size(1))):
                tensor[(group * per_group + channel, channel, *middle)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError(f"fan in and fan out need at least 2 dimensions, got {tensor.dim()}")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor, mode):
    fans = ("fan_in", "fan_out")
    if mode.lower() not in fans:
        raise ValueError(f"mode {mode.lower()} not supported, expected fan_in or fan_out")
    return _calculate_fan_in_and_fan_out(tensor)[fans.index(mode.lower())]


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Even spread, scaled by the sum of fan in and fan out (Glorot). Raises ValueError below two dimensions.

    >>> nn.init.xavier_uniform_(torch.empty(3, 4), gain=nn.init.calculate_gain("relu")).shape
    torch.Size([3, 4])
    """
    return _spread(tensor, gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor)))), generator)


def _spread(tensor, std, generator):
    """Numbers spread evenly around 0 with this deviation."""
    half_width = math.sqrt(3.0) * std
    return _filled(tensor, "uniform_", -half_width, half_width, generator=generator)


def _spread_by_fan_in_(weight, bias):
    """The start of linear and convolution layers: weight and bias, if there is one, spread evenly over ±1/√(fan in)."""
    kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is None:
        return
    inputs, _ = _calculate_fan_in_and_fan_out(weight)
    half_width = 1 / math.sqrt(inputs) if inputs else 0.0
    uniform_(bias, -half_width, half_width)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal numbers, scaled by the sum of fan in and fan out (Glorot). Raises ValueError below two dimensions.

    >>> nn.init.xavier_normal_(torch.empty(3, 4)).shape
    torch.Size([3, 4])
    """
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return _filled(tensor, "normal_", 0.0, std, generator=generator)


def _kaiming_std(tensor, a, mode, nonlinearity, stacklevel):
    if 0 in tensor.shape:
        warnings.warn("kaiming: expected a tensor with elements, got none to initialize", stacklevel=stacklevel)
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Even spread, scaled for layers before a rectifier of slope `a` (He). Raises ValueError below two dimensions.

    >>> nn.init.kaiming_uniform_(torch.empty(3, 4), nonlinearity="relu").shape
    torch.Size([3, 4])
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity, 4)
    return tensor if std is None else _spread(tensor, std, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal numbers, scaled for layers before a rectifier of slope `a` (He). Raises ValueError below two dimensions.

    >>> nn.init.kaiming_normal_(torch.empty(3, 4), mode="fan_out").shape
    torch.Size([3, 4])
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity, 3)
    return tensor if std is None else _filled(tensor, "normal_", 0.0, std, generator=generator)


def orthogonal_(tensor, gain=1, generator=None):
    """Rows or columns at right angles, of length `gain`. Raises ValueError below two dimensions.

    >>> w = nn.init.orthogonal_(torch.empty(2, 2))
    >>> torch.allclose(w @ w.t(), torch.eye(2), atol=1e-5)
    True
    """
    if tensor.dim() < 2:
        raise ValueError(f"orthogonal_: only tensors with 2 or more dimensions are supported, got {tensor.dim()}")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.size(0), tensor.numel() // tensor.size(0)
    flat = torch.empty((rows, columns), dtype=tensor.dtype, device=tensor.device).normal_(0, 1, generator=generator)
    q = torch._orthogonal_factor(flat.t() if rows < columns else flat)
    with torch.no_grad():
        tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape)).mul_(gain)
    return tensor


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal numbers with a share of `sparsity` of each column set to zero. Raises ValueError unless there are two dimensions.

    >>> int((nn.init.sparse_(torch.empty(10, 3), 0.2) == 0).sum())
    6
    """
    if tensor.dim() != 2:
        raise ValueError(f"sparse_: only tensors with 2 dimensions are supported, got {tensor.dim()}")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[torch.randperm(rows)[:zeros], column] = 0
    return tensor


# Hooks get these whole, and the others as the operators that they are made of.
for _function in (uniform_, normal_, constant_, kaiming_uniform_):
    _function._for_hooks = _overridable.all_named(_function)
    globals()[_function.__name__] = _overridable.overridable(_function, __name__)
del _function


def _old_name(function):
    @functools.wraps(function)
    def old(*args, **kwargs):
        name = function.__name__
        warnings.warn(f"nn.init.{name[:-1]} is an old name of nn.init.{name}", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    old.__name__ = function.__name__[:-1]
    old.__doc__ = f"The old name of `{function.__name__}`; using it warns."
    return old


uniform, normal, constant, eye, dirac = map(_old_name, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal = map(_old_name, (xavier_uniform_, xavier_normal_))
kaiming_uniform, kaiming_normal = map(_old_name, (kaiming_uniform_, kaiming_normal_))
orthogonal, sparse = map(_old_name, (orthogonal_, sparse_))
