"""Questions of libraries about tensors."""

import cresset as torch

_COMPLEX = {torch.float16: torch.complex32, torch.bfloat16: torch.complex64, torch.float32: torch.complex64, torch.float64: torch.complex128}


def is_contiguous(a):
    return a.is_contiguous()


is_contiguous_or_false = is_contiguous


def suggest_memory_format(x):
    """The memory format of a tensor: channels last where its strides are in that order and no other, else contiguous.

    >>> suggest_memory_format(torch.ones(1, 2, 3, 3).to(memory_format=torch.channels_last))
    torch.channels_last
    """
    last = {4: torch.channels_last, 5: torch.channels_last_3d}.get(x.dim())
    return last if last and x.is_contiguous(memory_format=last) and not x.is_contiguous() else torch.contiguous_format


def make_contiguous_strides_for(shape, row_major=True):
    """The strides of a tensor without gaps; with ``row_major=False`` its last two dimensions lie the other way round.

    >>> make_contiguous_strides_for((2, 3, 4)), make_contiguous_strides_for((2, 3, 4), row_major=False)
    ((12, 4, 1), (12, 1, 3))
    """
    steps, step = [], 1
    for size in reversed(shape):
        steps.insert(0, step)
        step *= max(size, 1)
    if not row_major and len(steps) > 1:
        steps[-2:] = 1, max(shape[-2], 1)
    return tuple(steps)


def canonicalize_dims(rank, indices, wrap_scalar=True):
    """Dimensions counted from the front, of a tensor with `rank` dimensions: a number, or a tuple of what a sequence holds.

    Without `wrap_scalar` a tensor without dimensions has none. Errors: IndexError for a dimension that is not there, and a negative rank.

    >>> canonicalize_dims(3, (-1, 0)), canonicalize_dims(3, -2)
    ((2, 0), 1)
    """
    if isinstance(indices, (list, tuple)):
        return tuple(canonicalize_dims(rank, index, wrap_scalar) for index in indices)
    if rank < 0:
        raise IndexError(f"expected a rank that is not negative, got {rank}")
    if rank == 0 and not wrap_scalar:
        raise IndexError(f"a tensor without dimensions has no dimension {indices}")
    count = max(rank, 1)
    if not -count <= indices < count:
        raise IndexError(f"expected a dimension from {-count} to {count - 1}, got {indices}")
    return indices % count


def get_computation_dtype(dtype):
    """The dtype that sums of a dtype are computed in: single precision for the half ones.

    >>> get_computation_dtype(torch.bfloat16), get_computation_dtype(torch.float64)
    (torch.float32, torch.float64)
    """
    return {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}.get(dtype, dtype)


def dtype_to_type(dtype):
    """The type of Python whose values a dtype has.

    Errors: ValueError for what is no dtype of numbers.

    >>> dtype_to_type(torch.float16)
    <class 'float'>
    """
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"dtype_to_type: expected a dtype, got {dtype!r}")
    if dtype is torch.bool:
        return bool
    return complex if dtype.is_complex else float if dtype.is_floating_point else int


def type_to_dtype(typ):
    """The dtype of tensors made of numbers of a type of Python.

    Errors: ValueError for another type.

    >>> type_to_dtype(int), type_to_dtype(float)
    (torch.int64, torch.float32)
    """
    if typ in (bool, int):
        return torch.bool if typ is bool else torch.int64
    if typ in (float, complex):
        real = torch.get_default_dtype()
        return real if typ is float else real.to_complex()
    raise ValueError(f"type_to_dtype: expected bool, int, float or complex, got {typ!r}")


def corresponding_complex_dtype(dtype):
    """The complex dtype whose parts have a floating dtype.

    Errors: KeyError for a dtype that is not of real floats.

    >>> corresponding_complex_dtype(torch.float64)
    torch.complex128
    """
    return _COMPLEX[dtype]


def corresponding_real_dtype(dtype):
    """The dtype of the parts of a complex dtype.

    Errors: KeyError for a dtype that is not complex.

    >>> corresponding_real_dtype(torch.complex64)
    torch.float32
    """
    return {complex_dtype: real for real, complex_dtype in _COMPLEX.items() if real is not torch.bfloat16}[dtype]
