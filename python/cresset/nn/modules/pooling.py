"""Pooling: one value for every window, over windows of a size or for outputs of a size."""

from .. import functional as F
from .module import Module
from .utils import _pair, _single, _triple


class _MaxPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input):
        return self._function(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)

    def extra_repr(self):
        names = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


class MaxPool1d(_MaxPoolNd):
    """The largest value of every window: (N, C, L) or (C, L) to L' = ⌊(L + 2p - d(k-1) - 1)/s⌋ + 1; with return_indices where it was.

    `ceil_mode` rounds up instead. RuntimeError for padding over half of the kernel.

    >>> nn.MaxPool1d(2)(torch.arange(4.0).view(1, 1, 4)).tolist()
    [[[1.0, 3.0]]]
    """

    _function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """The largest value of every window of (N, C, H, W) or (C, H, W); see MaxPool1d.

    >>> nn.MaxPool2d(2)(torch.ones(1, 3, 6, 6)).shape
    torch.Size([1, 3, 3, 3])
    """

    _function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """The largest value of every window of (N, C, D, H, W) or (C, D, H, W); see MaxPool1d.

    >>> nn.MaxPool3d(2)(torch.ones(1, 3, 4, 6, 6)).shape
    torch.Size([1, 3, 2, 3, 3])
    """

    _function = staticmethod(F.max_pool3d)


class _MaxUnpoolNd(Module):
    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size = self._sizes(kernel_size)
        self.stride = self._sizes(stride if stride is not None else kernel_size)
        self.padding = self._sizes(padding)

    def forward(self, input, indices, output_size=None):
        return self._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts the values of MaxPool1d back where its indices say, zeros elsewhere. ValueError for an output_size that cannot be.

    >>> values, where = nn.MaxPool1d(2, return_indices=True)(torch.arange(4.0).view(1, 1, 4))
    >>> nn.MaxUnpool1d(2)(values, where).tolist()
    [[[0.0, 1.0, 0.0, 3.0]]]
    """

    _sizes, _function = staticmethod(_single), staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts the values of MaxPool2d back where its indices say.

    >>> nn.MaxUnpool2d(2)(torch.ones(1, 1, 1, 1), torch.tensor([[[[3]]]])).tolist()
    [[[[0.0, 0.0], [0.0, 1.0]]]]
    """

    _sizes, _function = staticmethod(_pair), staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts the values of MaxPool3d back where its indices say.

    >>> nn.MaxUnpool3d(2)(torch.ones(1, 1, 1, 1, 1), torch.tensor([[[[[3]]]]])).sum().item()
    1.0
    """

    _sizes, _function = staticmethod(_triple), staticmethod(F.max_unpool3d)


class AvgPool1d(Module):
    """The mean of every window of (N, C, L) or (C, L); padding counts as zeros unless count_include_pad is off.

    >>> nn.AvgPool1d(2)(torch.arange(4.0).view(1, 1, 4)).tolist()
    [[[0.5, 2.5]]]
    """

    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__()
        self.kernel_size, self.stride, self.padding = map(_single, (kernel_size, kernel_size if stride is None else stride, padding))
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input):
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input):
        return self._function(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPoolNd):
    """The mean of every window of (N, C, H, W) or (C, H, W); `divisor_override` divides instead of the number of elements.

    >>> nn.AvgPool2d(2)(torch.ones(1, 3, 6, 6)).shape
    torch.Size([1, 3, 3, 3])
    """

    _function = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolNd):
    """The mean of every window of (N, C, D, H, W) or (C, D, H, W); see AvgPool2d.

    >>> nn.AvgPool3d(2)(torch.ones(1, 3, 4, 6, 6)).shape
    torch.Size([1, 3, 2, 3, 3])
    """

    _function = staticmethod(F.avg_pool3d)


class _FractionalMaxPoolNd(Module):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        self.kernel_size = self._sizes(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else self._sizes(output_size)
        self.output_ratio = None if output_ratio is None else self._sizes(output_ratio)
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{type(self).__name__} requires exactly one of output_size and output_ratio")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"expected output_ratio within (0, 1) (got {output_ratio})")

    def forward(self, input):
        return self._function(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest value of windows whose places are drawn so that the output has `output_size`, or that part of the input.

    ValueError unless exactly one of output_size and output_ratio is given.

    >>> nn.FractionalMaxPool2d(2, output_size=(3, 3))(torch.ones(1, 2, 7, 7)).shape
    torch.Size([1, 2, 3, 3])
    """

    _sizes, _function = staticmethod(_pair), staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The same over three dimensions; see FractionalMaxPool2d.

    >>> nn.FractionalMaxPool3d(2, output_ratio=0.5)(torch.ones(1, 2, 6, 6, 6)).shape
    torch.Size([1, 2, 3, 3, 3])
    """

    _sizes, _function = staticmethod(_triple), staticmethod(F.fractional_max_pool3d)


class _LPPoolNd(Module):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input):
        return self._function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self):
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPoolNd):
    """The p-norm of every window of (N, C, L) or (C, L).

    >>> nn.LPPool1d(1, 2)(torch.ones(1, 1, 4)).tolist()
    [[[2.0, 2.0]]]
    """

    _function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPoolNd):
    """The p-norm of every window of (N, C, H, W) or (C, H, W).

    >>> nn.LPPool2d(2, 2)(torch.ones(1, 1, 4, 4)).shape
    torch.Size([1, 1, 2, 2])
    """

    _function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPoolNd):
    """The p-norm of every window of (N, C, D, H, W) or (C, D, H, W).

    >>> nn.LPPool3d(2, 2)(torch.ones(1, 1, 4, 4, 4)).shape
    torch.Size([1, 1, 2, 2, 2])
    """

    _function = staticmethod(F.lp_pool3d)


class _AdaptivePoolNd(Module):
    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def forward(self, input):
        return self._function(input, self.output_size)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class _AdaptiveAvgPoolNd(_AdaptivePoolNd):
    pass


class _AdaptiveMaxPoolNd(_AdaptivePoolNd):
    __constants__ = ["output_size", "return_indices"]

    def __init__(self, output_size, return_indices=False):
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input):
        return self._function(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest value of `output_size` windows over (N, C, L) or (C, L).

    >>> nn.AdaptiveMaxPool1d(2)(torch.arange(6.0).view(1, 1, 6)).tolist()
    [[[2.0, 5.0]]]
    """

    _function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest value of windows so that (N, C, H, W) gets `output_size`; None keeps a size.

    >>> nn.AdaptiveMaxPool2d((None, 2))(torch.ones(1, 3, 5, 6)).shape
    torch.Size([1, 3, 5, 2])
    """

    _function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest value of windows so that (N, C, D, H, W) gets `output_size`.

    >>> nn.AdaptiveMaxPool3d(2)(torch.ones(1, 3, 5, 6, 4)).shape
    torch.Size([1, 3, 2, 2, 2])
    """

    _function = staticmethod(F.adaptive_max_pool3d)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The mean of `output_size` windows over (N, C, L) or (C, L).

    >>> nn.AdaptiveAvgPool1d(2)(torch.arange(4.0).view(1, 1, 4)).tolist()
    [[[0.5, 2.5]]]
    """

    _function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The mean of windows so that (N, C, H, W) gets `output_size`; None keeps a size.

    >>> nn.AdaptiveAvgPool2d(1)(torch.ones(1, 3, 5, 6)).shape
    torch.Size([1, 3, 1, 1])
    """

    _function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The mean of windows so that (N, C, D, H, W) gets `output_size`.

    >>> nn.AdaptiveAvgPool3d((1, 2, 3))(torch.ones(1, 3, 5, 6, 6)).shape
    torch.Size([1, 3, 1, 2, 3])
    """

    _function = staticmethod(F.adaptive_avg_pool3d)
