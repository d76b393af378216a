"""Operators that PyTorch's table has and ours has not, or has with another schema: computed by our rows, under PyTorch's names for modes and graphs."""

import functools

import _cresset

from .operator_table import Table

TABLE = Table()
_operator = TABLE.add


@functools.cache
def _row(entry):
    return _cresset.make_op(entry.partition(".")[0], [entry])


def _method(schema, name):
    """The operator is a method of tensors."""

    @_operator(schema)
    def call(self, *args, **kwargs):
        return getattr(self, name)(*args, **kwargs)


_method("_local_scalar_dense(Tensor self) -> Scalar", "item")
_method("detach(Tensor(a) self) -> Tensor(a)", "detach")
_method("detach_(Tensor(a!) self) -> Tensor(a!)", "detach_")
_method("is_contiguous(Tensor self) -> bool", "is_contiguous")
_method("is_pinned(Tensor self, Device? device=None) -> bool", "is_pinned")
_method("set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)", "set_")
_method("sym_numel(Tensor self) -> SymInt", "numel")
_method("sym_size.int(Tensor self, int dim) -> SymInt", "size")
_method("sym_size(Tensor self) -> SymInt[]", "size")
_method("sym_storage_offset(Tensor self) -> SymInt", "storage_offset")
_method("sym_stride.int(Tensor self, int dim) -> SymInt", "stride")
_method("sym_stride(Tensor self) -> SymInt[]", "stride")
_method("size(Tensor self) -> int[]", "size")
_method("size.int(Tensor self, int dim) -> int", "size")
_method("stride(Tensor self) -> int[]", "stride")
_method("stride.int(Tensor self, int dim) -> int", "stride")
_method("dim(Tensor self) -> int", "dim")
_method("numel(Tensor self) -> int", "numel")
_method("storage_offset(Tensor self) -> int", "storage_offset")
_method("is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool", "is_contiguous")
_method("lift(Tensor self) -> Tensor", "clone")
_method("_unsafe_view(Tensor self, SymInt[] size) -> Tensor", "view")


@_operator("resize_as(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor")
def resize_as(self, the_template, *, memory_format=None):
    return _row("resize_as_")(self.clone(), the_template, memory_format=memory_format)


@_operator("zero(Tensor self) -> Tensor")
def zero(self):
    return _row("zeros_like")(self)


@_operator("linalg_matrix_exp(Tensor self) -> Tensor")
def linalg_matrix_exp(self):
    return _row("matrix_exp")(self)


@_operator("is_non_overlapping_and_dense(Tensor self) -> bool")
def is_non_overlapping_and_dense(self):
    return self.layout is _cresset.strided and self._is_non_overlapping_and_dense


@_operator("lift_fresh(Tensor(a) self) -> Tensor(a)")
def lift_fresh(self):
    return self


@_operator("lift_fresh_copy(Tensor self) -> Tensor")
def lift_fresh_copy(self):
    from .creation import _as_fake

    # A constant of a graph stays one where the graph is run on fake tensors.
    return _cresset.below_functional(lambda t: _as_fake(t).clone(), self)


@_operator("_softmax(Tensor self, int dim, bool half_to_float) -> Tensor")
def _softmax(self, dim, half_to_float):
    return _row("_softmax")(self.float() if half_to_float else self, dim)


@_operator("_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor")
def _log_softmax(self, dim, half_to_float):
    return _row("_log_softmax")(self.float() if half_to_float else self, dim)


def _masked(results, output_mask):
    return tuple(result if wanted else None for result, wanted in zip(results, output_mask))


@_operator(
    "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, "
    "bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
)
def native_layer_norm_backward(grad_out, input, normalized_shape, mean, rstd, weight, bias, output_mask):
    return _masked(_row("native_layer_norm_backward")(grad_out, input, normalized_shape, mean, rstd, weight), output_mask)


@_operator(
    "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, "
    "bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
)
def native_group_norm_backward(grad_out, input, mean, rstd, weight, N, C, HxW, group, output_mask):
    return _masked(_row("native_group_norm_backward")(grad_out, input, mean, rstd, weight, group), output_mask)


@_operator(
    "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, "
    "Tensor? save_invstd, bool train, float eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
)
def native_batch_norm_backward(grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps, output_mask):
    row = _row("native_batch_norm_backward")
    return _masked(row(grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps), output_mask)


@_operator(
    "rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, "
    "Generator? generator=None) -> (Tensor, Tensor noise_out)"
)
def rrelu_with_noise_functional(self, noise, lower=0.125, upper=0.3333333333333333, training=False, generator=None):
    if not training:
        return _row("rrelu")(self, lower, upper), noise
    slopes = _row("_rrelu_noise")(self, lower, upper, generator)
    return self * slopes, slopes


@_operator("log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)")
def log_sigmoid_forward(self):
    return _row("log_sigmoid")(self), self.new_empty(0)


@_operator("log_sigmoid_forward.output(Tensor self, *, Tensor(a!) output, Tensor(b!) buffer) -> (Tensor(a!), Tensor(b!))")
def log_sigmoid_forward_output(self, *, output, buffer):
    return _row("log_sigmoid.out")(self, out=output), buffer.resize_(0)


@_operator("log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor")
def log_sigmoid_backward(grad_output, self, buffer):
    return _row("log_sigmoid_backward")(grad_output, self)


@_operator("slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor")
def slice_backward(grad_output, input_sizes, dim, start, end, step):
    out = grad_output.new_zeros(input_sizes)
    _row("slice.Tensor")(out, dim, start, end, step).copy_(grad_output)
    return out


@_operator("select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor")
def select_backward(grad_output, input_sizes, dim, index):
    out = grad_output.new_zeros(input_sizes)
    out.select(dim, index).copy_(grad_output)
    return out


@_operator("diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor")
def diagonal_backward(grad_output, input_sizes, offset, dim1, dim2):
    out = grad_output.new_zeros(input_sizes)
    out.diagonal(offset, dim1, dim2).copy_(grad_output)
    return out


@_operator("_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)")
def reshape_alias(self, size, stride):
    return _row("as_strided")(self, size, stride, None)


@_operator("_reshape_alias_copy(Tensor self, SymInt[] size, SymInt[] stride) -> Tensor")
def reshape_alias_copy(self, size, stride):
    return _row("clone")(_row("as_strided")(self, size, stride, None)).contiguous()


# ---- other arguments of rows --------------------------------------------------------------------------------------------------


@_operator("sum.out(Tensor self, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)")
def sum_out(self, *, dtype=None, out):
    return _row("sum.dim_IntList_out")(self, None, dtype=dtype, out=out)


@_operator("norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor")
def norm_dtype(self, p, *, dtype):
    return _row("norm.ScalarOpt_dim")(self.to(dtype), p, [])


@_operator("norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor")
def norm_dim_dtype(self, p, dim, keepdim, *, dtype):
    return _row("norm.ScalarOpt_dim")(self.to(dtype), p, dim, keepdim)


@_operator("norm.ScalarOpt_dtype_out(Tensor self, Scalar? p, *, ScalarType dtype, Tensor(a!) out) -> Tensor(a!)")
def norm_dtype_out(self, p, *, dtype, out):
    return _row("norm.ScalarOpt_dim_out")(self.to(dtype), p, [], out=out)


@_operator("norm.dtype_out(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype, Tensor(a!) out) -> Tensor(a!)")
def norm_dim_dtype_out(self, p, dim, keepdim, *, dtype, out):
    return _row("norm.ScalarOpt_dim_out")(self.to(dtype), p, dim, keepdim, out=out)


@_operator("norm.Scalar_out(Tensor self, Scalar p=2, *, Tensor(a!) out) -> Tensor(a!)")
def norm_whole_out(self, p=2, *, out):
    return _row("norm.ScalarOpt_dim_out")(self, p, [], out=out)


@_operator("normal.out(Tensor self, float mean=0, float std=1, *, Generator? generator=None, Tensor(a!) out) -> Tensor(a!)")
def normal_out(self, mean=0, std=1, *, generator=None, out):
    return out.resize_(self.shape).normal_(mean, std, generator=generator)


@_operator("index_put_.hacked_twin(Tensor(a!) self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)")
def index_put_of_tensors(self, indices, values, accumulate=False):
    return _row("index_put_")(self, indices, values, accumulate)


@_operator("eq.Tensor_list(Tensor[] a, Tensor[] b) -> bool")
def equal_lists(a, b):
    return len(a) == len(b) and all(bool(_row("eq.Tensor")(x, y).all()) for x, y in zip(a, b))


@_operator("sort.Tensor(Tensor[](a!) self, bool reverse=False) -> ()")
def sort_list(self, reverse=False):
    self.sort(key=lambda t: t.item(), reverse=reverse)


def _shift(name):
    for other in ("Tensor other", "Scalar other"):
        kind = other.partition(" ")[0]

        def shift(self, other, row=f"bitwise_{name}_shift.Tensor{'' if kind == 'Tensor' else '_Scalar'}"):
            return _row(row)(self, other)

        _operator(f"__{name[0]}shift__.{kind}(Tensor self, {other}) -> Tensor")(shift)


_shift("left")
_shift("right")


# ---- attention --------------------------------------------------------------------------------------------------------------


def _expect_no_dropout(dropout_p):
    if dropout_p != 0:
        raise RuntimeError(f"expected dropout_p to be 0 on the CPU, got {dropout_p}; scaled_dot_product_attention drops out")


def _positions_first(t):
    """The same values in the memory order of PyTorch's kernel: positions before heads."""
    return t.transpose(1, 2).contiguous().transpose(1, 2)


def _scale(query, scale):
    return query.shape[-1] ** -0.5 if scale is None else scale


@_operator(
    "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, bool is_causal=False, *, "
    "Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)"
)
def flash_attention(query, key, value, dropout_p=0.0, is_causal=False, *, attn_mask=None, scale=None):
    _expect_no_dropout(dropout_p)
    out, logsumexp = _row("_attention")(query, key, value, attn_mask, is_causal, _scale(query, scale))
    return _positions_first(out), logsumexp


@_operator(
    "_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, "
    "float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)"
)
def flash_attention_backward(grad_out, query, key, value, out, logsumexp, dropout_p, is_causal, *, attn_mask=None, scale=None):
    _expect_no_dropout(dropout_p)
    row = _row("_attention_backward")
    return tuple(map(_positions_first, row(grad_out, query, key, value, attn_mask, out, logsumexp, is_causal, _scale(query, scale))))


# ---- convolution ------------------------------------------------------------------------------------------------------------


@_operator(
    "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
    "bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
)
def convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask):
    rest = (stride, padding, dilation, transposed, output_padding, groups)
    results = (
        _row("convolution_grad_input")(grad_output, weight, input.shape, *rest) if output_mask[0] else None,
        _row("convolution_grad_weight")(grad_output, input, weight.shape, *rest) if output_mask[1] else None,
        grad_output.sum([d for d in range(grad_output.dim()) if d != 1]) if output_mask[2] else None,
    )
    return results


# ---- batch norms of other devices ---------------------------------------------------------------------------------------------


def _of_devices(schema, device):
    name = schema.partition("(")[0]

    @_operator(schema)
    def refused(input, *args, **kwargs):
        raise NotImplementedError(f"{name}: expected a tensor on a device of {device}, got {input.device}; native_batch_norm serves every device")


_of_devices(
    "cudnn_batch_norm(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float exponential_average_factor, "
    "float epsilon) -> (Tensor, Tensor, Tensor, Tensor)",
    "cuDNN",
)
_of_devices(
    "cudnn_batch_norm_backward(Tensor input, Tensor grad_output, Tensor weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, "
    "Tensor? save_var, float epsilon, Tensor reserveSpace) -> (Tensor, Tensor, Tensor)",
    "cuDNN",
)
_of_devices(
    "miopen_batch_norm_backward(Tensor input, Tensor grad_output, Tensor weight, Tensor? running_mean, Tensor? running_var, Tensor? save_mean, "
    "Tensor? save_var, float epsilon) -> (Tensor, Tensor, Tensor)",
    "MIOpen",
)


# ---- pools ------------------------------------------------------------------------------------------------------------------


def _of_dimensions(n):
    @_operator(
        f"avg_pool{n}d_backward(Tensor grad_output, Tensor self, int[{n}] kernel_size, int[{n}] stride, int[{n}] padding, bool ceil_mode, "
        "bool count_include_pad, int? divisor_override) -> Tensor"
    )
    def avg_pool_backward(grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
        row = _row("_avg_pool_backward")
        return row(grad_output, self, kernel_size, stride or kernel_size, padding, ceil_mode, count_include_pad, divisor_override, n)

    @_operator(f"_adaptive_avg_pool{n}d_backward(Tensor grad_output, Tensor self) -> Tensor")
    def adaptive_avg_pool_backward(grad_output, self):
        return _row("_adaptive_avg_pool_backward")(grad_output, self, n)

    @_operator(f"adaptive_max_pool{n}d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor")
    def adaptive_max_pool_backward(grad_output, self, indices):
        return _row("_pool_backward_by_index")(grad_output, indices, self.shape, n)

    if n == 3:

        @_operator(
            "max_pool3d_with_indices_backward(Tensor grad_output, Tensor self, int[3] kernel_size, int[3] stride, int[3] padding, int[3] dilation, "
            "bool ceil_mode, Tensor indices) -> Tensor"
        )
        def max_pool_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices):
            return _row("_pool_backward_by_index")(grad_output, indices, self.shape, n)


_of_dimensions(2)
_of_dimensions(3)


# ---- padding and resizing ---------------------------------------------------------------------------------------------------


def _padding(kind, mode, n):
    @_operator(f"{kind}_pad{n}d(Tensor self, SymInt[{2 * n}] padding) -> Tensor")
    def forward(self, padding):
        return _row("_pad_mode")(self, padding, mode)

    @_operator(f"{kind}_pad{n}d_backward(Tensor grad_output, Tensor self, SymInt[{2 * n}] padding) -> Tensor")
    def backward(grad_output, self, padding):
        return _row("_pad_mode_backward")(grad_output, self.shape, padding, mode)


PAD_KINDS = ("reflection", "replication")
for _mode, _kind in enumerate(PAD_KINDS):
    for _n in (1, 2, 3):
        _padding(_kind, _mode, _n)

_AXES = {1: ("",), 2: ("_h", "_w"), 3: ("_d", "_h", "_w")}


def _resizing(name, mode, n, antialias=False):
    aligned = ", bool align_corners" if mode >= 2 else ""
    scales = "".join(f", float? scales{axis}=None" for axis in _AXES[n])

    @_operator(f"{name}(Tensor self, SymInt[{n}] output_size{aligned}{scales}) -> Tensor")
    def forward(self, output_size, *rest):
        return _row("_resize_images")(self, output_size, mode, *_resize_rest(mode, n, antialias, rest))

    @_operator(f"{name}.out(Tensor self, SymInt[{n}] output_size{aligned}{scales}, *, Tensor(a!) out) -> Tensor(a!)")
    def written(self, output_size, *rest, out):
        found = forward(self, output_size, *rest)
        return out.resize_(found.shape).copy_(found)

    @_operator(f"{name}_backward(Tensor grad_output, SymInt[{n}] output_size, SymInt[{n + 2}] input_size{aligned}{scales}) -> Tensor")
    def backward(grad_output, output_size, input_size, *rest):
        return _row("_resize_images_backward")(grad_output, input_size, mode, *_resize_rest(mode, n, antialias, rest))


def _resize_rest(mode, n, antialias, rest):
    corners, scales = (rest[0], rest[1:]) if mode >= 2 else (False, rest)
    return corners, antialias, list(scales) if len(scales) == n and None not in scales else None


RESIZE_NAMES = {
    (0, 1): "upsample_nearest1d", (0, 2): "upsample_nearest2d", (0, 3): "upsample_nearest3d", (1, 1): "_upsample_nearest_exact1d",
    (1, 2): "_upsample_nearest_exact2d", (1, 3): "_upsample_nearest_exact3d", (2, 1): "upsample_linear1d", (2, 2): "upsample_bilinear2d",
    (2, 3): "upsample_trilinear3d", (3, 2): "upsample_bicubic2d", (4, 2): "upsample_lanczos2d",
}  # fmt: skip
for (_mode, _n), _name in RESIZE_NAMES.items():
    if _mode < 4:  # the last smooths always
        _resizing(_name, _mode, _n)
for _mode, _name in ((2, "_upsample_bilinear2d_aa"), (3, "_upsample_bicubic2d_aa"), (4, "_upsample_lanczos2d_aa")):
    _resizing(_name, _mode, 2, True)


@_operator("binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=Mean) -> Tensor")
def binary_cross_entropy_backward(grad_output, self, target, weight=None, reduction=1):
    out = _row("_binary_entropy_backward")(grad_output.expand_as(self), self, target)
    if weight is not None:
        out = out * weight
    return out / self.numel() if reduction == 1 else out


# ---- forward mode, as graphs of PyTorch have it ---------------------------------------------------------------------------


@_operator("_make_dual(Tensor(a) primal, Tensor tangent, int level) -> Tensor(a)")
def _make_dual(primal, tangent, level):
    from .._functorch import predispatch

    return predispatch._make_dual(primal, tangent, level=level)


@_operator("_unpack_dual(Tensor(a) dual, int level) -> (Tensor(a) primal, Tensor tangent)")
def _unpack_dual(dual, level):
    from .._functorch import predispatch

    return predispatch._unpack_dual(dual, level=level)
