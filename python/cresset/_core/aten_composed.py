"""Operators that PyTorch's table makes of others, and ours has as methods and functions, or not at all: modes see the others.

>>> torch.ops.aten.trace_backward(torch.tensor(2.0), [2, 3])
tensor([[2., 0., 0.],
        [0., 2., 0.]])
"""

from .aten_extra import _row
from .aten_gradients import _gradients
from .operator_table import Table
from .operators import Composed

TABLE = Table(Composed)
_composed = TABLE.add


def _facts(*schemas):
    """Operators that are methods of tensors, or attributes of them, of the same name."""
    for schema in schemas:
        name = schema.partition("(")[0]

        @_composed(schema)
        def call(self, name=name):
            found = getattr(self, name)
            return found() if callable(found) and name != "data" else found


_facts(
    "data(Tensor self) -> Tensor", "get_device(Tensor self) -> int", "is_complex(Tensor self) -> bool", "is_conj(Tensor self) -> bool",
    "is_floating_point(Tensor self) -> bool", "is_inference(Tensor self) -> bool", "is_leaf(Tensor self) -> bool", "is_neg(Tensor self) -> bool",
    "is_signed(Tensor self) -> bool", "output_nr(Tensor self) -> int", "retains_grad(Tensor self) -> bool",
)  # fmt: skip


@_composed("sym_is_contiguous(Tensor self, MemoryFormat memory_format=contiguous_format) -> SymBool")
def sym_is_contiguous(self, memory_format=None):
    return self.is_contiguous() if memory_format is None else self.is_contiguous(memory_format=memory_format)


@_composed("is_distributed(Tensor self) -> bool")
def is_distributed(self):
    import cresset as torch

    return torch.is_distributed(self)


@_composed("is_vulkan_available() -> bool")
def is_vulkan_available():
    import cresset as torch

    return torch.is_vulkan_available()


@_composed("cudnn_is_acceptable(Tensor self) -> bool")
def cudnn_is_acceptable(self):
    from ..backends import cudnn

    return cudnn.is_acceptable(self)


@_composed("can_cast(ScalarType from_, ScalarType to) -> bool")
def can_cast(from_, to):
    import cresset as torch

    return torch.can_cast(from_, to)


@_composed("promote_types(ScalarType type1, ScalarType type2) -> ScalarType")
def promote_types(type1, type2):
    import cresset as torch

    return torch.promote_types(type1, type2)


@_composed("get_gradients(int context_id) -> Dict(Tensor, Tensor)")
def get_gradients(context_id):
    from ..distributed import autograd

    return autograd.get_gradients(context_id)


# ---- moved and converted values ---------------------------------------------------------------------------------------------


@_composed("to_mkldnn_backward(Tensor grad, Tensor input) -> Tensor")
def to_mkldnn_backward(grad, input):
    return grad.to_dense(input.dtype)


@_composed("nested_to_padded_tensor(Tensor self, float padding, int[]? output_size=None) -> Tensor")
def nested_to_padded_tensor(self, padding, output_size=None):
    from .. import nested

    return nested.to_padded_tensor(self, padding, output_size)


@_composed("special_round(Tensor self, *, int decimals=0) -> Tensor")
def special_round(self, *, decimals=0):
    return _round(self, decimals)


def _round(self, decimals, **out):
    from .. import ops

    return ops.aten.round.decimals(self, decimals=decimals) if not out else ops.aten.round.decimals_out(self, decimals=decimals, **out)


@_composed("special_round.out(Tensor self, *, int decimals=0, Tensor(a!) out) -> Tensor(a!)")
def special_round_out(self, *, decimals=0, out):
    return _round(self, decimals, out=out)


# ---- convolution ------------------------------------------------------------------------------------------------------------


def _named_convolution(name, n):
    @_composed(
        "NAME(Tensor self, Tensor weight, SymInt[N] kernel_size, Tensor? bias=None, SymInt[N] stride=STRIDE, SymInt[N] padding=PADDING) -> Tensor".replace(
            "NAME", name
        )
        .replace("[N]", f"[{n}]")
        .replace("STRIDE", str([1] * n))
        .replace("PADDING", str([0] * n))
    )
    def convolution(self, weight, kernel_size, bias=None, stride=1, padding=0):
        if list(weight.shape[2:]) != list(kernel_size):
            raise RuntimeError(f"{name}: expected a weight with the kernel size {list(kernel_size)}, got the shape {list(weight.shape)}")
        from .. import ops

        return getattr(ops.aten, f"conv{n}d").default(self, weight, bias, stride, padding)


_named_convolution("thnn_conv2d", 2)
_named_convolution("slow_conv3d", 3)


# ---- gradients --------------------------------------------------------------------------------------------------------------


@_composed("trace_backward(Tensor grad, SymInt[] sizes) -> Tensor")
def trace_backward(grad, sizes):
    return _gradients(_row("trace"), [grad.new_zeros(sizes)], grad)[0]


@_composed("index_select_backward(Tensor grad, SymInt[] self_sizes, int dim, Tensor index) -> Tensor")
def index_select_backward(grad, self_sizes, dim, index):
    return grad.new_zeros(self_sizes).index_add(dim, index, grad)


@_composed("value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) -> Tensor")
def value_selecting_reduction_backward(grad, dim, indices, sizes, keepdim):
    if not keepdim and len(sizes):
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(sizes).scatter(dim, indices, grad)


@_composed("gather_backward(Tensor grad, Tensor self, int dim, Tensor index, bool sparse_grad) -> Tensor")
def gather_backward(grad, self, dim, index, sparse_grad):
    return _gradients(lambda x: _row("gather")(x, dim, index, sparse_grad=sparse_grad), [self], grad)[0]


@_composed("masked_select_backward(Tensor grad, Tensor input, Tensor mask) -> Tensor")
def masked_select_backward(grad, input, mask):
    return _gradients(lambda x: _row("masked_select")(x, mask), [input], grad)[0]


@_composed("cummaxmin_backward(Tensor grad, Tensor input, Tensor indices, int dim) -> Tensor")
def cummaxmin_backward(grad, input, indices, dim):
    zeros = input.new_zeros(input.shape)
    return zeros.scatter_add(dim, indices, grad) if input.numel() else zeros


@_composed("cumprod_backward(Tensor grad, Tensor input, int dim, Tensor output) -> Tensor")
def cumprod_backward(grad, input, dim, output):
    return _gradients(lambda x: _row("cumprod")(x, dim), [input], grad)[0]


@_composed("matrix_exp_backward(Tensor self, Tensor grad) -> Tensor")
def matrix_exp_backward(self, grad):
    return _gradients(_row("matrix_exp"), [self], grad)[0]


@_composed("infinitely_differentiable_gelu_backward(Tensor grad, Tensor self) -> Tensor")
def infinitely_differentiable_gelu_backward(grad, self):
    return _gradients(_row("gelu"), [self], grad)[0]


@_composed("affine_grid_generator_backward(Tensor grad, SymInt[] size, bool align_corners) -> Tensor")
def affine_grid_generator_backward(grad, size, align_corners):
    dims = len(size) - 2
    row = _row("affine_grid_generator")
    return _gradients(lambda theta: row(theta, size, align_corners), [grad.new_zeros(size[0], dims, dims + 1)], grad)[0]


@_composed("conv_tbc_backward(Tensor self, Tensor input, Tensor weight, Tensor bias, int pad) -> (Tensor, Tensor, Tensor)")
def conv_tbc_backward(self, input, weight, bias, pad):
    return _gradients(lambda x, w, b: _row("conv_tbc")(x, w, b, pad), [input, weight, bias], self)
