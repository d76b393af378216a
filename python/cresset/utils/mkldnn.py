"""Modules for inference with tensors in the opaque layout of `Tensor.to_mkldnn`.

>>> net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU()).eval()
>>> fast = torch.utils.mkldnn.to_mkldnn(net)
>>> fast
Sequential(
  (0): MkldnnConv2d()
  (1): ReLU()
)
>>> fast(torch.ones(1, 1, 4, 4).to_mkldnn()).to_dense().shape
torch.Size([1, 2, 2, 2])
"""

import cresset as torch
from cresset.nn import functional as F

_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


class _Opaque(torch.nn.Module):
    """A module whose parameters became buffers in the opaque layout. It takes dense inputs too and then gives dense results."""

    mixes = True

    def _keep(self, **tensors):
        for name, (tensor, dtype) in tensors.items():
            self.register_buffer(name, tensor.detach().to_mkldnn(dtype))

    def __getstate__(self):
        return {**self.__dict__, "_buffers": {name: (b.to_dense(), b.dtype) for name, b in self._buffers.items()}}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._buffers = {name: dense.to_mkldnn(dtype) for name, (dense, dtype) in state["_buffers"].items()}

    def _compute(self, x):
        raise NotImplementedError

    def forward(self, x):
        if x.is_mkldnn or not self.mixes:
            return self._compute(x)
        return self._compute(x.to_mkldnn()).to_dense()


def _bias_of(module, size):
    return torch.zeros(size) if module.bias is None else module.bias


class MkldnnLinear(_Opaque):
    """`Linear` with its weight in the opaque layout.

    >>> torch.utils.mkldnn.MkldnnLinear(torch.nn.Linear(3, 2), torch.float32)(torch.ones(1, 3)).shape
    torch.Size([1, 2])
    """

    def __init__(self, dense_module, dtype):
        super().__init__()
        self._keep(weight=(dense_module.weight, dtype), bias=(_bias_of(dense_module, dense_module.out_features), torch.float32))

    def _compute(self, x):
        return _in_dtype(F.linear, x, self.weight, self.bias)


class _MkldnnConvNd(_Opaque):
    def __init__(self, dense_module, dtype):
        super().__init__()
        if isinstance(dense_module.padding, str):
            raise TypeError(f"to_mkldnn: expected a padding of ints, got {dense_module.padding!r}")
        if dense_module.padding_mode != "zeros":
            raise ValueError(f"to_mkldnn: expected a convolution padded with zeros, got padding_mode={dense_module.padding_mode!r}")
        self.stride, self.padding, self.dilation, self.groups = (getattr(dense_module, n) for n in ("stride", "padding", "dilation", "groups"))
        self._keep(weight=(dense_module.weight, dtype), bias=(_bias_of(dense_module, dense_module.out_channels), torch.float32))

    def _compute(self, x):
        return _in_dtype(self.convolve, x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


def _in_dtype(op, x, weight, bias, *rest):
    """In the weight's dtype, the result in the input's."""
    if x.dtype == weight.dtype == bias.dtype:
        return op(x, weight, bias, *rest)
    dense = op(x.to_dense(weight.dtype), weight.to_dense(), bias.to_dense(weight.dtype), *rest)
    return dense.to_mkldnn(x.dtype)


class MkldnnConv1d(_MkldnnConvNd):
    """`Conv1d` with its weight in the opaque layout.

    >>> torch.utils.mkldnn.MkldnnConv1d(torch.nn.Conv1d(1, 2, 3), torch.float32)(torch.ones(1, 1, 5)).shape
    torch.Size([1, 2, 3])
    """

    convolve = staticmethod(F.conv1d)


class MkldnnConv2d(_MkldnnConvNd):
    """`Conv2d` with its weight in the opaque layout.

    >>> torch.utils.mkldnn.MkldnnConv2d(torch.nn.Conv2d(1, 2, 3), torch.float32)(torch.ones(1, 1, 5, 5)).shape
    torch.Size([1, 2, 3, 3])
    """

    convolve = staticmethod(F.conv2d)


class MkldnnConv3d(_MkldnnConvNd):
    """`Conv3d` with its weight in the opaque layout.

    >>> torch.utils.mkldnn.MkldnnConv3d(torch.nn.Conv3d(1, 2, 3), torch.float32)(torch.ones(1, 1, 3, 3, 3)).shape
    torch.Size([1, 2, 1, 1, 1])
    """

    convolve = staticmethod(F.conv3d)


class MkldnnBatchNorm(_Opaque):
    """`BatchNorm2d` or `BatchNorm3d` in evaluation, with its statistics in the opaque layout, as its inputs must be.

    >>> torch.utils.mkldnn.MkldnnBatchNorm(torch.nn.BatchNorm2d(1).eval())(torch.ones(1, 1, 2, 2).to_mkldnn()).is_mkldnn
    True
    """

    mixes = False

    def __init__(self, dense_module):
        super().__init__()
        for name, wanted in (("training", False), ("track_running_stats", True), ("affine", True)):
            if getattr(dense_module, name) != wanted:
                raise AssertionError(f"to_mkldnn: expected batch norms with {name}={wanted}, got {not wanted}")
        self.exponential_average_factor = 0.0 if dense_module.momentum is None else dense_module.momentum
        self.eps = dense_module.eps
        self._keep(**{name: (getattr(dense_module, name), torch.float32) for name in ("weight", "bias", "running_mean", "running_var")})

    def _compute(self, x):
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, False, self.exponential_average_factor, self.eps)


class MkldnnPrelu(_Opaque):
    """`PReLU` with its slopes in the opaque layout.

    >>> torch.utils.mkldnn.MkldnnPrelu(torch.nn.PReLU(), torch.float32)(torch.tensor([-1.0])).tolist()
    [-0.25]
    """

    def __init__(self, dense_module, dtype):
        super().__init__()
        self._keep(weight=(dense_module.weight, dtype))

    def _compute(self, x):
        return F.prelu(x, self.weight)


_CLASSES = {torch.nn.Linear: MkldnnLinear, torch.nn.Conv1d: MkldnnConv1d, torch.nn.Conv2d: MkldnnConv2d, torch.nn.Conv3d: MkldnnConv3d,
            torch.nn.PReLU: MkldnnPrelu}  # fmt: skip


def to_mkldnn(module, dtype=torch.float):
    """A copy of `module` for inference on tensors in the opaque layout; its linear, convolution, batch-norm and PReLU modules are exchanged.

    AssertionError for another `dtype` than float32, bfloat16 and float16, and for batch norms that train or have no weights or statistics.

    >>> torch.utils.mkldnn.to_mkldnn(torch.nn.Linear(3, 2))
    MkldnnLinear()
    """
    if dtype not in _DTYPES:
        raise AssertionError(f"to_mkldnn: expected dtype to be one of {_DTYPES}, got {dtype}")
    return _converted(module, dtype)


def _converted(module, dtype):
    if kind := next((new for old, new in _CLASSES.items() if isinstance(module, old)), None):
        return kind(module, dtype)
    if isinstance(module, (torch.nn.BatchNorm2d, torch.nn.BatchNorm3d)):
        return MkldnnBatchNorm(module)
    # A module of the same class over the converted children; its own parameters stay what they are.
    new = module.__new__(module.__class__)
    new.__dict__.update(module.__dict__)
    for part in ("_parameters", "_buffers", "_modules"):
        new.__dict__[part] = module.__dict__[part].copy()
    for name, child in module.named_children():
        new._modules[name] = _converted(child, dtype)
    return new
