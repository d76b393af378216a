"""Operators of PyTorch's table that are another form of what is there: functional forms of writes, forms that say what a kernel may leave out, copies of
views, old names. They are made of the operators that compute, which modes see in their place.

>>> torch.ops.aten._unsafe_index.Tensor(torch.arange(4), [torch.tensor([3, 0])])
tensor([3, 0])
>>> torch.ops.aten.uniform(torch.zeros(2), 3.0, 3.5) >= 3
tensor([True, True])
"""

import re

import _cresset

from .aten_gradients import _gradients
from .operator_table import Table
from .operators import Composed

# Those that the table of decompositions has, beside the operators on integers.
_DECOMPOSED = frozenset({"_unsafe_index", "_unsafe_index_put", "meshgrid", "_convolution_mode", "_euclidean_dist"})


class Form(Composed):
    """An operator of this file, which passes take apart only where it is listed."""

    @property
    def takes_tensors(self):
        """Whether the table of decompositions has it."""
        name = self._opname
        return name in _DECOMPOSED or (name.startswith("__") and not name.startswith("__i"))


Form.__name__ = Form.__qualname__ = "OpOverload"  # as graphs and programs know the class

TABLE = Table(Form)
_form = TABLE.add


def _aten(title):
    from .. import ops

    name, _, overload = title.partition(".")
    return getattr(getattr(ops.aten, name), overload or "default")


def _same(title, *schemas):
    """The operators of the schemas are calls of another one, with the same arguments."""
    for schema in schemas:
        _form(schema)(lambda *args, **kwargs: _aten(title)(*args, **kwargs))


# ---- logic on integers --------------------------------------------------------------------------------------------------------

for _name, _row in (("and", "bitwise_and"), ("or", "bitwise_or"), ("xor", "bitwise_xor"), ("lshift", "bitwise_left_shift"), ("rshift", "bitwise_right_shift")):
    for _kind, _overload in (("Tensor", "Tensor"), ("Scalar", "Tensor_Scalar" if "shift" in _name else "Scalar")):
        if "shift" not in _name:  # shifts that write nothing are operators of their own
            _same(f"{_row}.{_overload}", f"__{_name}__.{_kind}(Tensor self, {_kind} other) -> Tensor")
        _same(f"{_row}_.{_overload}", f"__i{_name}__.{_kind}(Tensor(a!) self, {_kind} other) -> Tensor(a!)")

# ---- indices ------------------------------------------------------------------------------------------------------------------

_same("index.Tensor", "_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor")
_same("index_put", "_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor")
_same("stack", "_stack(Tensor[] tensors, int dim=0) -> Tensor")


@_form("_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor")
def _index_put_impl(self, indices, values, accumulate=False, unsafe=False):
    return _aten("index_put")(self, indices, values, accumulate)


@_form("_index_put_impl_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor(a!)")
def _index_put_impl_(self, indices, values, accumulate=False, unsafe=False):
    return _aten("index_put_")(self, indices, values, accumulate)


@_form("meshgrid(Tensor[] tensors) -> Tensor[]")
def meshgrid(tensors):
    import cresset as torch

    return list(torch.meshgrid(*tensors, indexing="ij"))


@_form("masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor")
def masked_scatter_backward(grad_output, mask, sizes):
    import cresset as torch

    found = grad_output[mask.expand_as(grad_output)]
    count = torch.Size(sizes).numel()
    return torch.cat([found, found.new_zeros(max(count - found.numel(), 0))])[:count].view(sizes)


# ---- convolutions and bags ----------------------------------------------------------------------------------------------------


@_form("_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, SymInt[] dilation, SymInt groups) -> Tensor")
def _convolution_mode(input, weight, bias, stride, padding, dilation, groups):
    return _aten(f"conv{weight.dim() - 2}d.padding")(input, weight, bias, stride, padding, dilation, groups)


def _depthwise(n, name):
    @_form(
        "NAME(Tensor self, Tensor weight, SymInt[N] kernel_size, Tensor? bias, SymInt[N] stride, SymInt[N] padding, SymInt[N] dilation) -> Tensor".replace(
            "NAME", name
        ).replace("[N]", f"[{n}]")
    )
    def convolution(self, weight, kernel_size, bias, stride, padding, dilation):
        return _aten("convolution")(self, weight, bias, stride, padding, dilation, False, [0] * n, self.shape[1])


_depthwise(2, "_conv_depthwise2d")
_depthwise(3, "conv_depthwise3d")


@_form(
    *(
        f"{name}(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
        "Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)"
        for name in ("_embedding_bag", "_embedding_bag_forward_only")
    )
)
def _embedding_bag(
    weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None, include_last_offset=False, padding_idx=-1
):
    row = _aten("embedding_bag.padding_idx")
    return row(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx if padding_idx >= 0 else None)


@_form("linear_backward(Tensor self, Tensor grad_output, Tensor weight, bool[3] output_mask) -> (Tensor, Tensor, Tensor)")
def linear_backward(self, grad_output, weight, output_mask):
    return tuple(_gradients(_aten("linear"), [self, weight, grad_output.new_zeros(weight.shape[0])], grad_output, output_mask))


# ---- functional forms of writes -------------------------------------------------------------------------------------------------


def _of_write(schema, write, start="clone"):
    """The operator gives what the write leaves in a copy, or in a new tensor ("empty_like") where no element stays."""

    @_form(schema)
    def functional(self, *args, **kwargs):
        return _aten(write)(_aten(start)(self), *args, **kwargs)


_of_write("random(Tensor self, *, Generator? generator=None) -> Tensor", "random_", "empty_like")
_of_write("random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor", "random_.from", "empty_like")
_of_write("random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor", "random_.to", "empty_like")
_of_write("uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor", "uniform_", "empty_like")
_of_write("exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor", "exponential_", "empty_like")
_of_write("geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor", "geometric_", "empty_like")
_of_write("log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor", "log_normal_", "empty_like")
_of_write("cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor", "cauchy_", "empty_like")
_of_write("normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor", "normal_", "empty_like")
_of_write("bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor", "bernoulli_.Tensor", "empty_like")
_of_write("embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor", "embedding_renorm_")
_of_write("resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor", "resize_")


def _of_writes(write, also=""):
    """The operator gives copies of the tensors and lists that a write changes, and of the lists in `also`, as it leaves them."""
    arguments, _, returned = _cresset._entry(write)[0].partition("(")[2].rpartition(" -> ")
    written = [("Tensor" + listed, name) for listed, name in re.findall(r"!\)((?:\[\])?) (\w+)", arguments)] + [("Tensor[]", name) for name in also.split()]
    returns = ", ".join(kind if i == 0 and "!" in returned else f"{kind} {name}_out" for i, (kind, name) in enumerate(written))
    unwritten = re.sub(r"\([a-z]!\)", "", arguments)

    @_form(f"{write[:-1]}({unwritten} -> ({returns})")
    def functional(*args, **options):
        copies = [_aten("clone")(a) if kind == "Tensor" else [_aten("clone")(t) for t in a] for (kind, _), a in zip(written, args, strict=False)]
        _aten(write)(*copies, *args[len(written) :], **options)
        return tuple(copies)


for _name in ("_fused_adam_", "_fused_adamw_", "_fused_sgd_", "_amp_foreach_non_finite_check_and_unscale_", "_amp_update_scale_"):
    _of_writes(_name)
_of_writes("_fused_adagrad_", also="state_steps")

for _kind in ("Scalar", "Tensor"):

    @_form(f"float_power_.{_kind}(Tensor(a!) self, {_kind} exponent) -> Tensor(a!)")
    def float_power_(self, exponent):
        return self.float_power_(exponent)


# ---- views and their copies -----------------------------------------------------------------------------------------------------

for _view in ("values", "indices", "crow_indices", "col_indices", "ccol_indices", "row_indices", "_values", "_indices", "view_as_real", "view_as_complex"):
    _form(f"{_view}_copy(Tensor self) -> Tensor")(lambda self, view=_view: _aten(view)(self).clone())


@_form("_conj_copy(Tensor self) -> Tensor", "_conj_physical(Tensor self) -> Tensor")
def _conj_copy(self):
    return _aten("conj_physical")(self)


@_form("_neg_view_copy(Tensor self) -> Tensor")
def _neg_view_copy(self):
    return _aten("neg")(self)


@_form("tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]")
def tensor_split(self, tensor_indices_or_sections, dim=0):
    return list(self.tensor_split(tensor_indices_or_sections, dim))


# ---- questions and settings -----------------------------------------------------------------------------------------------------


@_form("is_same_size(Tensor self, Tensor other) -> bool")
def is_same_size(self, other):
    return self.shape == other.shape


@_form("is_set_to(Tensor self, Tensor tensor) -> bool")
def is_set_to(self, tensor):
    return self.is_set_to(tensor)


@_form("_version(Tensor self) -> int")
def _version(self):
    return self._version


@_form("requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)")
def requires_grad_(self, requires_grad=True):
    return self.requires_grad_(requires_grad)


@_form("retain_grad(Tensor(a!) self) -> ()")
def retain_grad(self):
    self.retain_grad()


# ---- old names ------------------------------------------------------------------------------------------------------------------


@_form("_aminmax(Tensor self) -> (Tensor, Tensor)")
def _aminmax(self):
    return tuple(_aten("aminmax")(self))


@_form("_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)")
def _aminmax_dim(self, dim, keepdim=False):
    return tuple(_aten("aminmax")(self, dim=dim, keepdim=keepdim))


@_form("_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)")
def _unique(self, sorted=True, return_inverse=False):
    return tuple(_aten("_unique2")(self, sorted, return_inverse)[:2])


@_form("_euclidean_dist(Tensor x1, Tensor x2) -> Tensor")
def _euclidean_dist(x1, x2):
    import cresset as torch

    return torch.cdist(x1, x2)


@_form("_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", "_add_relu.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor")
def _add_relu(self, other, alpha=1):
    return self.add(other, alpha=alpha).relu()


@_form("_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, bool use_gelu=False) -> Tensor")
def _addmm_activation(self, mat1, mat2, *, beta=1, alpha=1, use_gelu=False):
    out = self.addmm(mat1, mat2, beta=beta, alpha=alpha)
    return _aten("gelu")(out, approximate="tanh") if use_gelu else out.relu()
