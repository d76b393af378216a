"""PyTorch's primitives (`torch.ops.prims`), by their schemas: each is an operator of the table, or a few of them. Tensors of one dtype go in; numbers do not."""

import functools

import cresset as torch

from .operator_table import Table


def _aten(name):
    return lambda *args, **kwargs: getattr(torch.ops.aten, name)(*args, **kwargs)


def _special(name):
    return lambda *args: getattr(torch.special, name)(*args)


# Primitives that are named as the operator that computes them, and those that are not.
_OF_ONE = (
    "abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh digamma erf erfc exp exp2 expm1 floor isfinite lgamma log log10 log1p log2 neg "
    "reciprocal round rsqrt sign signbit sin sinh sqrt tan tanh trunc"
)
_OF_TWO = (
    "add atan2 bitwise_and bitwise_or bitwise_xor eq fmax fmin fmod gcd ge gt hypot igamma igammac le lt maximum minimum mul ne nextafter pow remainder sub"
)
_OTHERS_OF_ONE = {
    "bessel_i0": _special("i0"),
    "bessel_i0e": _special("i0e"),
    "bessel_i1": _special("i1"),
    "bessel_i1e": _special("i1e"),
    "bessel_j0": _special("bessel_j0"),
    "bessel_j1": _special("bessel_j1"),
    "cbrt": lambda x: torch.copysign(x.abs() ** (1 / 3), x),
    "conj_physical": lambda x: _conj_physical(x),
    "erf_inv": _aten("erfinv"),
    "erfcx": _special("erfcx"),
    "ndtri": _special("ndtri"),
    "spherical_bessel_j0": _special("spherical_bessel_j0"),
}


def _conj_physical(self):
    if not self.is_complex():
        raise RuntimeError(f"prims.conj_physical: expected a complex tensor, got one of {self.dtype}")
    return self.conj_physical()


def _quotient(a, b):
    whole = not (a.is_floating_point() or a.is_complex())
    return torch.div(a, b, rounding_mode="trunc" if whole else None)


_OTHERS_OF_TWO = {
    "div": _quotient,
    "shift_left": _aten("bitwise_left_shift"),
    "shift_right_arithmetic": _aten("bitwise_right_shift"),
    "zeta": _special("zeta"),
}


def _reduced(name):
    def reduce(inp, dims, *, output_dtype=None):
        found = inp
        for dim in sorted(range(inp.dim()) if dims is None else [d % inp.dim() for d in dims], reverse=True):
            found = getattr(torch, name)(found, dim)
        return found if output_dtype is None else found.to(output_dtype)

    return reduce


def _sum(inp, dims, *, output_dtype=None):
    return torch.sum(inp, list(range(inp.dim())) if dims is None else dims, dtype=output_dtype)


def _var(inp, dims, correction=1, *, output_dtype=None):
    found = torch.var(inp, dims, correction=correction)
    return found if output_dtype is None else found.to(output_dtype)


def _xor_sum(inp, dims, *, output_dtype=None):
    found = inp
    for dim in sorted(range(inp.dim()) if dims is None else [d % inp.dim() for d in dims], reverse=True):
        parts = found.unbind(dim)
        found = found.new_zeros(found.shape[:dim] + found.shape[dim + 1 :])
        for part in parts:
            found = found ^ part
    return found if output_dtype is None else found.to(output_dtype)


def _broadcast_in_dim(a, shape, broadcast_dimensions):
    sizes = [1] * len(shape)
    for size, dim in zip(a.shape, broadcast_dimensions, strict=True):
        sizes[dim] = size
    return a.view(sizes).expand(shape)


def _split_dim(a, dim, outer_length):
    if a.shape[dim] % outer_length:
        raise ValueError(f"prims.split_dim: expected a size that {outer_length} divides, got {a.shape[dim]} in dimension {dim} of {list(a.shape)}")
    return a.view([*a.shape[:dim], outer_length, a.shape[dim] // outer_length, *a.shape[dim + 1 :]])


def _collapse(a, start, end):
    return a.view([*a.shape[:start], torch.Size(a.shape[start : end + 1]).numel(), *a.shape[end + 1 :]])


def _made(name):
    return lambda *args, dtype, device, requires_grad, **kwargs: getattr(torch, name)(*args, dtype=dtype, device=device, requires_grad=requires_grad, **kwargs)


def _iota(length, *, start, step, dtype, device, requires_grad):
    return torch.arange(start, start + length * step, step, dtype=dtype, device=device, requires_grad=requires_grad)


def _copy_to(a, b):
    return a.copy_(b)


FUNCTIONS = {
    **{f"{name}(Tensor self) -> Tensor": _aten(name) for name in _OF_ONE.split()},
    **{f"{name}(Tensor self, Tensor other) -> Tensor": _aten(name) for name in _OF_TWO.split()},
    **{f"{name}(Tensor self) -> Tensor": function for name, function in _OTHERS_OF_ONE.items()},
    **{f"{name}(Tensor self, Tensor other) -> Tensor": function for name, function in _OTHERS_OF_TWO.items()},
    **{f"{name}(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor": _reduced(name) for name in ("amax", "amin", "prod")},
    "sum(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor": _sum,
    "xor_sum(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor": _xor_sum,
    "var(Tensor inp, int[]? dims, float? correction=1, *, ScalarType? output_dtype=None) -> Tensor": _var,
    "as_strided(Tensor(a!) a, SymInt[] size, SymInt[] stride, SymInt storage_offset) -> Tensor(a!)": _aten("as_strided"),
    "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt storage_offset) -> Tensor": _aten("as_strided_scatter"),
    "broadcast_in_dim(Tensor(a) a, SymInt[] shape, int[] broadcast_dimensions) -> Tensor(a)": _broadcast_in_dim,
    "cat(Tensor[] tensors, int dim) -> Tensor": _aten("cat"),
    "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor": _aten("clone"),
    "collapse(Tensor a, int start, int end) -> Tensor": lambda a, start, end: _collapse(a.contiguous(), start, end).clone(),
    "collapse_view(Tensor(a) a, int start, int end) -> Tensor(a)": _collapse,
    "conj(Tensor(a) a) -> Tensor(a)": lambda a: a.conj(),
    "convert_element_type(Tensor a, ScalarType dtype) -> Tensor": lambda a, dtype: a.to(dtype, copy=True),
    "copy_strided(Tensor a, SymInt[] stride) -> Tensor": lambda a, stride: a.new_empty_strided(a.shape, stride).copy_(a),
    "copy_to(Tensor(a!) a, Tensor b) -> Tensor(a!)": _copy_to,
    "device_put(Tensor a, Device device, bool non_blocking=False) -> Tensor": lambda a, device, non_blocking=False: a.to(device, non_blocking=non_blocking),
    "empty(SymInt[] shape, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor": _made("empty"),
    "empty_permuted(SymInt[] shape, int[] physical_layout, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor": _made("empty_permuted"),
    "empty_strided(SymInt[] shape, SymInt[] strides, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor": _made("empty_strided"),
    "full(SymInt[] shape, Scalar fill_value, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor": _made("full"),
    "full_like(Tensor a, Scalar fill_value, *, ScalarType dtype, Device device, bool requires_grad) -> Tensor": _made("full_like"),
    "fft_c2c(Tensor self, *, int[] dim, bool forward) -> Tensor": lambda self, *, dim, forward: (
        torch.fft.fftn(self, dim=dim) if forward else torch.fft.ifftn(self, dim=dim, norm="forward")
    ),
    "fft_c2r(Tensor self, *, int[] dim, SymInt last_dim_size) -> Tensor": lambda self, *, dim, last_dim_size: torch.fft.irfftn(
        self, s=[*(self.shape[d] for d in dim[:-1]), last_dim_size], dim=dim, norm="forward"
    ),
    "fft_r2c(Tensor self, *, int[] dim, bool onesided) -> Tensor": lambda self, *, dim, onesided: (torch.fft.rfftn if onesided else torch.fft.fftn)(
        self, dim=dim
    ),
    "fill(Tensor self, Scalar value) -> Tensor": lambda self, value: torch.full_like(self, value),
    "frexp(Tensor self) -> (Tensor mantissa, Tensor exponent)": lambda self: torch.frexp(self),
    "imag(Tensor(a) self) -> Tensor(a)": lambda self: self.imag,
    "real(Tensor(a) self) -> Tensor(a)": lambda self: self.real,
    "iota(SymInt length, *, SymInt start, SymInt step, ScalarType dtype, Device device, bool requires_grad) -> Tensor": _iota,
    "item(Tensor a) -> Scalar": lambda a: a.item(),
    "maximum_value(ScalarType dtype) -> Scalar": lambda dtype: _bounds(dtype)[1],
    "minimum_value(ScalarType dtype) -> Scalar": lambda dtype: _bounds(dtype)[0],
    "normal(SymInt[] shape, *, Scalar mean, Scalar std, ScalarType dtype, Device device, bool requires_grad, Generator? generator=None) -> Tensor": (
        lambda shape, *, mean, std, dtype, device, requires_grad, generator=None: torch.empty(shape, dtype=dtype, device=device)
        .normal_(mean, std, generator=generator)
        .requires_grad_(requires_grad)
    ),
    "uniform(SymInt[] shape, *, Scalar low, Scalar high, ScalarType dtype, Device device, SymInt[] stride, Generator? generator=None) -> Tensor": (
        lambda shape, *, low, high, dtype, device, stride, generator=None: torch.empty_strided(shape, stride, dtype=dtype, device=device).uniform_(
            low, high, generator=generator
        )
    ),
    "reshape(Tensor a, SymInt[] shape) -> Tensor": lambda a, shape: a.reshape(shape).clone(),
    "resize(Tensor(a!) a, SymInt[] shape) -> Tensor(a!)": lambda a, shape: a.resize_(shape),
    "rev(Tensor a, int[] dims) -> Tensor": _aten("flip"),
    "scalar_tensor(Scalar s, *, ScalarType? dtype=None, Device? device=None) -> Tensor": lambda s, *, dtype=None, device=None: torch.scalar_tensor(
        s, dtype=dtype, device=device
    ),
    "split_dim(Tensor(a) a, int dim, SymInt outer_length) -> Tensor(a)": _split_dim,
    "squeeze(Tensor(a) a, int[] dimensions) -> Tensor(a)": lambda a, dimensions: torch.squeeze(a, tuple(dimensions)),
    "svd(Tensor A, *, bool full_matrices) -> (Tensor U, Tensor S, Tensor Vh)": lambda A, *, full_matrices: tuple(
        torch.linalg.svd(A, full_matrices=full_matrices)
    ),
    "transpose(Tensor(a) a, int[] permutation) -> Tensor(a)": lambda a, permutation: a.permute(permutation),
    "view_of(Tensor(a) a) -> Tensor(a)": _aten("alias"),
    "view_of_dtype(Tensor(a) a, ScalarType dtype) -> Tensor(a)": lambda a, dtype: a.view(dtype),
    "where(Tensor pred, Tensor a, Tensor b) -> Tensor": _aten("where"),
}


def _bounds(dtype):
    if dtype is torch.bool:
        return False, True
    info = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    return info.min, info.max


def _heard(name, function):
    """Modes below autograd hear of the primitive itself, not of what it is made of."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        from ..utils._python_dispatch import _get_current_dispatch_mode, _pop_mode_temporarily

        if _get_current_dispatch_mode() is None:
            return function(*args, **kwargs)
        with _pop_mode_temporarily() as mode:
            return mode.__torch_dispatch__(getattr(torch.ops.prims, name).default, (), args, kwargs)

    return call


TABLE = Table()
for _schema, _function in FUNCTIONS.items():
    TABLE.add(_schema)(_heard(_schema.partition("(")[0], _function))
