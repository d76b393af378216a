"""Normalisation within a sample: over trailing dimensions, over groups of channels, over neighbouring channels."""

import numbers

import cresset as torch

from ...autograd import Function
from ...autograd.function import once_differentiable
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module


class _Affine(Module):
    """Weight and bias over a shape, or None for those that are left out."""

    def _own(self, shape, weight, bias, device, dtype):
        for name, wanted in (("weight", weight), ("bias", bias)):
            self.register_parameter(name, Parameter(torch.empty(shape, device=device, dtype=dtype)) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Weight one, bias zero."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self._parameters.get("bias") is not None:
            init.zeros_(self.bias)


class LayerNorm(_Affine):
    """(x - mean)/√(variance + eps) · weight + bias, over the trailing dimensions `normalized_shape`; shape kept.

    >>> bool(nn.LayerNorm(4)(torch.arange(8.0).view(2, 4)).mean(-1).abs().max() < 1e-5)
    True
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._own(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        affine = f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {affine}"


class RMSNorm(_Affine):
    """x/√(mean of x² + eps) · weight, over the trailing dimensions `normalized_shape`; shape kept.

    >>> nn.RMSNorm(2)(torch.tensor([[3.0, 3.0]])).round().tolist()
    [[1.0, 1.0]]
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = Parameter(torch.empty(self.normalized_shape, device=device, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def forward(self, x):
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """Normalises each of `num_groups` groups of the channels of (N, C, *). ValueError unless the groups divide the channels.

    >>> nn.GroupNorm(3, 6)(torch.rand(2, 6, 4)).shape
    torch.Size([2, 6, 4])
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) is no multiple of num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._own((num_channels,), affine, affine and bias, device, dtype)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class LocalResponseNorm(Module):
    """Divides by (k + alpha/size · the sum of squares over `size` neighbouring channels)^beta; (N, C, *), shape kept.

    >>> nn.LocalResponseNorm(2)(torch.ones(1, 4, 3)).shape
    torch.Size([1, 4, 3])
    """

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input):
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class _CrossMapLRN(Function):
    """Whose gradient is not that of its parts: PyTorch's sums lie one channel lower."""

    @staticmethod
    def forward(ctx, input, size, alpha, beta, k):
        output, scale = torch._cross_map_lrn(input, size, alpha, beta, k)
        ctx.save_for_backward(input, output, scale)
        ctx.options = size, alpha, beta
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        return torch._cross_map_lrn_backward(grad, *ctx.saved_tensors, *ctx.options), None, None, None, None


class CrossMapLRN2d(Module):
    """LocalResponseNorm under its old name, for (N, C, H, W).

    >>> nn.CrossMapLRN2d(3)(torch.ones(1, 4, 3, 3)).shape
    torch.Size([1, 4, 3, 3])
    """

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input):
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: expected 4 dimensions, got {input.dim()}D instead.")
        return _CrossMapLRN.apply(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
