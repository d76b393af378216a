"""Operators that PyTorch's table has and ours has not, or has with another schema: computed by our rows, under PyTorch's names for modes and graphs."""

import functools

import _cresset

from .operators import OpOverload

_known = {}  # "name.overload" -> (schema, function)


def _operator(schema):
    """Decorator: the function computes the operator of the schema."""

    def register(function):
        _known[schema.partition("(")[0]] = (schema, function)
        return function

    return register


@functools.cache
def _row(entry):
    return _cresset.make_op(entry.partition(".")[0], [entry])


def _method(schema, name):
    """The operator is a method of tensors."""

    def call(self, *args, **kwargs):
        return getattr(self, name)(*args, **kwargs)

    _known[schema.partition("(")[0]] = (schema, call)


_method("_local_scalar_dense(Tensor self) -> Scalar", "item")
_method("detach(Tensor(a) self) -> Tensor(a)", "detach")
_method("detach_(Tensor(a!) self) -> Tensor(a!)", "detach_")
_method("fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)", "fill_diagonal_")
_method("is_contiguous(Tensor self) -> bool", "is_contiguous")
_method("is_pinned(Tensor self, Device? device=None) -> bool", "is_pinned")
_method("set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)", "set_")
_method("sym_numel(Tensor self) -> SymInt", "numel")
_method("sym_size.int(Tensor self, int dim) -> SymInt", "size")
_method("sym_size(Tensor self) -> SymInt[]", "size")
_method("sym_storage_offset(Tensor self) -> SymInt", "storage_offset")
_method("sym_stride.int(Tensor self, int dim) -> SymInt", "stride")
_method("sym_stride(Tensor self) -> SymInt[]", "stride")
_method("lift(Tensor self) -> Tensor", "clone")
_method("lift_fresh_copy(Tensor self) -> Tensor", "clone")
_method("_unsafe_view(Tensor self, SymInt[] size) -> Tensor", "view")


@_operator("lift_fresh(Tensor(a) self) -> Tensor(a)")
def lift_fresh(self):
    return self


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


@_operator("log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)")
def log_sigmoid_forward(self):
    return _row("log_sigmoid")(self), self.new_empty(0)


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


def install(made):
    """Adds them to the namespace's table: name -> overload -> a function (packet, overload) that makes it."""
    for title, (schema, function) in _known.items():
        name, _, overload = title.partition(".")
        made.setdefault(name, {})[overload or "default"] = functools.partial(_made, schema, function)


def _made(schema, function, packet, overload):
    return OpOverload(packet, overload, call=function, schema=schema)
