"""Convolutions, transposed ones, and those that find out their input channels at the first call."""

from .. import functional as F
from .. import init
from .lazy import _LazyLayer
from .linear import _make_weights
from .module import Module
from .utils import _pair, _reverse_repeat_tuple, _single, _triple

_SIZES = {1: _single, 2: _pair, 3: _triple}


class _ConvNd(Module):
    __constants__ = ["stride", "padding", "dilation", "groups", "padding_mode", "output_padding", "in_channels", "out_channels", "kernel_size"]

    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias,
                 padding_mode, device=None, dtype=None):  # fmt: skip
        super().__init__()
        if groups <= 0:
            raise ValueError(f"groups must be a positive integer, got {groups}")
        for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if channels % groups:
                raise ValueError(f"{name} must be divisible by groups, got {channels} and {groups}")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"invalid padding string {padding!r}, should be one of same, valid")
            if padding == "same" and set(stride) != {1}:
                raise ValueError(f"padding='same' is not supported for strided convolutions, got stride {stride}")
        modes = ("zeros", "reflect", "replicate", "circular")
        if padding_mode not in modes:
            raise ValueError(f"padding_mode must be one of {modes}, but got padding_mode='{padding_mode}'")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        if padding == "same":
            total = [d * (k - 1) for d, k in zip(dilation, kernel_size, strict=True)]
            sides = [side for t in reversed(total) for side in (t // 2, t - t // 2)]
        else:
            sides = [0] * 2 * len(kernel_size) if padding == "valid" else _reverse_repeat_tuple(padding, 2)
        self._reversed_padding_repeated_twice = sides
        shapes = self._shapes()
        _make_weights(self, shapes["weight"], bias and shapes["bias"], device, dtype)
        self.reset_parameters()

    def _shapes(self):
        first, second = (self.in_channels, self.out_channels) if self.transposed else (self.out_channels, self.in_channels)
        return {"weight": (first, second // self.groups, *self.kernel_size), "bias": (self.out_channels,)}

    def reset_parameters(self):
        """Draw weight and bias anew, evenly spread over ±1/√(channels of a group × size of the kernel)."""
        init._spread_by_fan_in_(self.weight, None if 0 in self.weight.shape[1:] else self.bias)

    def extra_repr(self):
        n = len(self.kernel_size)
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        parts += [f"padding={self.padding}"] if self.padding != (0,) * n else []
        parts += [f"dilation={self.dilation}"] if self.dilation != (1,) * n else []
        parts += [f"output_padding={self.output_padding}"] if self.output_padding != (0,) * n else []
        parts += [f"groups={self.groups}"] if self.groups != 1 else []
        parts += ["bias=False"] if self.bias is None else []
        parts += [f"padding_mode={self.padding_mode}"] if self.padding_mode != "zeros" else []
        return ", ".join(parts)

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


class _Convolution(_ConvNd):
    """Base of the plain convolutions: `_n` spatial dimensions, `_function` of nn.functional."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros",
                 device=None, dtype=None):  # fmt: skip
        sizes = _SIZES[self._n]
        padding = padding if isinstance(padding, str) else sizes(padding)
        super().__init__(in_channels, out_channels, sizes(kernel_size), sizes(stride), padding, sizes(dilation), False, sizes(0), groups,
                         bias, padding_mode, device, dtype)  # fmt: skip

    def _conv_forward(self, input, weight, bias):
        padding = self.padding
        if (mode := self.padding_mode) != "zeros":
            input, padding = F.pad(input, self._reversed_padding_repeated_twice, mode=mode), 0
        return self._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input):
        weight, bias = self.weight, self.bias
        return self._conv_forward(input, weight, bias)


class Conv1d(_Convolution):
    """Slides kernels along one dimension: (N, in, L) or (in, L) to (N, out, L') with L' = ⌊(L + 2p - d(k-1) - 1)/s⌋ + 1.

    `padding` may be "same" or "valid"; ValueError for channels that groups do not divide and for an unknown padding mode.

    >>> nn.Conv1d(4, 8, 3, padding="same")(torch.ones(2, 4, 10)).shape
    torch.Size([2, 8, 10])
    """

    _n, _function = 1, staticmethod(F.conv1d)


class Conv2d(_Convolution):
    """Slides kernels over two dimensions: (N, in, H, W) or (in, H, W) to (N, out, H', W'); see Conv1d for the sizes.

    >>> nn.Conv2d(1, 4, 3, stride=2, padding=1)(torch.ones(2, 1, 28, 28)).shape
    torch.Size([2, 4, 14, 14])
    """

    _n, _function = 2, staticmethod(F.conv2d)


class Conv3d(_Convolution):
    """Slides kernels over three dimensions: (N, in, D, H, W) to (N, out, D', H', W'); see Conv1d for the sizes.

    >>> nn.Conv3d(1, 2, (1, 3, 3))(torch.ones(1, 1, 4, 5, 5)).shape
    torch.Size([1, 2, 4, 3, 3])
    """

    _n, _function = 3, staticmethod(F.conv3d)


class _ConvTransposeNd(_ConvNd):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
                 padding_mode="zeros", device=None, dtype=None):  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f"{type(self).__name__}: expected padding_mode to be zeros, got {padding_mode}")
        sizes = _SIZES[self._n]
        super().__init__(in_channels, out_channels, sizes(kernel_size), sizes(stride), sizes(padding), sizes(dilation), True,
                         sizes(output_padding), groups, bias, padding_mode, device, dtype)  # fmt: skip

    def _output_padding(self, input, output_size, stride, padding, kernel_size, num_spatial_dims, dilation=None):
        if output_size is None:
            return _single(self.output_padding)
        lead = input.dim() - num_spatial_dims
        if len(output_size) == lead + num_spatial_dims:
            output_size = output_size[lead:]
        if (given := len(output_size)) != num_spatial_dims:
            raise ValueError(f"output_size must have {num_spatial_dims} or {input.dim()} elements for an input of {input.dim()} dimensions, got {given}")
        extra = []
        for d, wanted in enumerate(output_size):
            spread = (dilation[d] if dilation is not None else 1) * (kernel_size[d] - 1) + 1
            least = (input.size(d + lead) - 1) * stride[d] - 2 * padding[d] + spread
            if not least <= wanted <= least + stride[d] - 1:
                raise ValueError(f"output_size {list(output_size)}: dimension {d} can be {least} to {least + stride[d] - 1} for input {tuple(input.shape)}")
            extra.append(wanted - least)
        return tuple(extra)

    def forward(self, input, output_size=None):
        extra = self._output_padding(input, output_size, self.stride, self.padding, self.kernel_size, self._n, self.dilation)
        return self._function(input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)


class ConvTranspose1d(_ConvTransposeNd):
    """The gradient of Conv1d with respect to its input, as a layer: L' = (L - 1)s - 2p + d(k - 1) + output_padding + 1.

    `forward(input, output_size)` picks among the sizes that a stride leaves open; ValueError for one that cannot be.

    >>> nn.ConvTranspose1d(4, 2, 3, stride=2)(torch.ones(1, 4, 5), output_size=[12]).shape
    torch.Size([1, 2, 12])
    """

    _n, _function = 1, staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTransposeNd):
    """The gradient of Conv2d with respect to its input, as a layer; see ConvTranspose1d.

    >>> nn.ConvTranspose2d(4, 2, 2, stride=2)(torch.ones(1, 4, 5, 5)).shape
    torch.Size([1, 2, 10, 10])
    """

    _n, _function = 2, staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTransposeNd):
    """The gradient of Conv3d with respect to its input, as a layer; see ConvTranspose1d.

    >>> nn.ConvTranspose3d(2, 1, 2)(torch.ones(1, 2, 3, 3, 3)).shape
    torch.Size([1, 1, 4, 4, 4])
    """

    _n, _function = 3, staticmethod(F.conv_transpose3d)


class _LazyConv(_LazyLayer):
    """A convolution without in_channels: the first input brings them."""

    _wanted = "in_channels"

    def _found_in(self, input):
        if input.dim() not in (self._n + 1, self._n + 2):
            raise RuntimeError(f"{type(self).__name__}: expected an input of {self._n + 1} or {self._n + 2} dimensions, got {tuple(input.shape)}")
        channels = input.shape[-self._n - 1]
        if channels % self.groups:
            raise ValueError(f"in_channels must be divisible by groups, got {channels} and {self.groups}")
        return channels


class _LazyPlain(_LazyConv):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros", device=None,
                 dtype=None):  # fmt: skip
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._start_lazy(bias, device, dtype, out_channels=out_channels)


class _LazyTransposed(_LazyConv):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
                 padding_mode="zeros", device=None, dtype=None):  # fmt: skip
        super().__init__(0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype)
        self._start_lazy(bias, device, dtype, out_channels=out_channels)


class LazyConv1d(_LazyPlain, Conv1d):
    """A Conv1d whose in_channels come with the first input.

    >>> nn.LazyConv1d(4, 3)(torch.ones(1, 2, 5)).shape
    torch.Size([1, 4, 3])
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyPlain, Conv2d):
    """A Conv2d whose in_channels come with the first input.

    >>> nn.LazyConv2d(4, 3)(torch.ones(1, 2, 5, 5)).shape
    torch.Size([1, 4, 3, 3])
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyPlain, Conv3d):
    """A Conv3d whose in_channels come with the first input.

    >>> nn.LazyConv3d(4, 1)(torch.ones(1, 2, 3, 3, 3)).shape
    torch.Size([1, 4, 3, 3, 3])
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A ConvTranspose1d whose in_channels come with the first input.

    >>> nn.LazyConvTranspose1d(4, 3)(torch.ones(1, 2, 5)).shape
    torch.Size([1, 4, 7])
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A ConvTranspose2d whose in_channels come with the first input.

    >>> nn.LazyConvTranspose2d(4, 3)(torch.ones(1, 2, 5, 5)).shape
    torch.Size([1, 4, 7, 7])
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """A ConvTranspose3d whose in_channels come with the first input.

    >>> nn.LazyConvTranspose3d(4, 1)(torch.ones(1, 2, 3, 3, 3)).shape
    torch.Size([1, 4, 3, 3, 3])
    """

    cls_to_become = ConvTranspose3d
