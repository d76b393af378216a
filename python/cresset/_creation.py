"""Tensors from Python data, buffers and NumPy arrays."""

import _cresset
from _cresset import Tensor as _Tensor
from _cresset import bool as _bool
from _cresset import complex64, complex128, float16, float32, float64, get_default_dtype, int8, int16, int32, int64, uint8, uint16, uint32, uint64

_NUMPY_CODES = {
    uint8: "|u1", int8: "|i1", int16: "<i2", int32: "<i4", int64: "<i8", uint16: "<u2", uint32: "<u4", uint64: "<u8",
    float16: "<f2", float32: "<f4", float64: "<f8", complex64: "<c8", complex128: "<c16", _bool: "|b1",
}  # fmt: skip
_DTYPE_OF_CODE = {code: dtype for dtype, code in _NUMPY_CODES.items()}


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    view = memoryview(buffer).cast("B")
    available = (view.nbytes - offset) // dtype.itemsize if view.nbytes else 0
    if view.nbytes == 0 or offset < 0 or offset >= view.nbytes or count == 0:
        raise ValueError(f"frombuffer: offset {offset} and count {count} do not lie in a buffer of {view.nbytes} bytes")
    if count > available or (count < 0 and (view.nbytes - offset) % dtype.itemsize):
        raise ValueError(f"frombuffer: {view.nbytes - offset} bytes do not hold {count} elements of {dtype}")
    import numpy

    array = numpy.frombuffer(view, numpy.uint8, offset=offset)
    address = array.__array_interface__["data"][0]
    out = _cresset.from_pointer(address, (available if count < 0 else count,), (1,), dtype, array)
    return out.requires_grad_(requires_grad)


def from_numpy(array):
    facts = getattr(array, "__array_interface__", None)
    if facts is None or not hasattr(array, "ndim"):
        raise TypeError(f"from_numpy: expected an array, got {type(array).__name__}")
    if facts["typestr"] not in _DTYPE_OF_CODE:
        raise TypeError(f"from_numpy: no dtype for {array.dtype}")
    if any(s < 0 for s in array.strides):
        raise ValueError("from_numpy: negative strides are not supported, copy the array first")
    size = array.dtype.itemsize
    strides = tuple(s // size for s in array.strides)
    return _cresset.from_pointer(facts["data"][0], array.shape, strides, _DTYPE_OF_CODE[facts["typestr"]], array)


def _flatten(data, depth, shape, flat):
    if isinstance(data, (list, tuple)) or hasattr(data, "tolist"):
        data = data.tolist() if hasattr(data, "tolist") else data
    if not isinstance(data, (list, tuple)):
        if depth != len(shape):
            raise ValueError(f"tensor: expected a sequence of {shape[depth]} items at depth {depth}, got a number")
        flat.append(data)
        return
    if depth == len(shape):
        if flat:
            raise ValueError(f"tensor: expected a number at depth {depth}, got a sequence")
        shape.append(len(data))
    elif shape[depth] != len(data):
        raise ValueError(f"tensor: expected a sequence of {shape[depth]} items at depth {depth}, got {len(data)}")
    for item in data:
        _flatten(item, depth + 1, shape, flat)


def _inferred(flat):
    kinds = {type(item) for item in flat}
    if complex in kinds:
        return complex128 if get_default_dtype() == float64 else complex64
    if float in kinds or not kinds:
        return get_default_dtype()
    return int64 if int in kinds else _bool


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    if isinstance(data, _Tensor):
        out = data.detach().clone()
    elif hasattr(data, "__array_interface__"):
        import numpy

        out = from_numpy(numpy.ascontiguousarray(data).reshape(numpy.shape(data))).clone()
    else:
        shape, flat = [], []
        _flatten(data, 0, shape, flat)
        first = data[0] if isinstance(data, (list, tuple)) and data else None
        like = dtype or (first.dtype if isinstance(first, _Tensor) else _inferred(flat))
        out = _cresset.from_numbers(flat, like).reshape(shape)
    out = out.detach() if out.requires_grad else out
    if dtype is not None or device is not None:
        out = out.to(dtype=dtype or out.dtype, device=device or out.device)
    return out.requires_grad_(requires_grad)


def as_tensor(data, dtype=None, device=None):
    if not isinstance(data, _Tensor):
        data = from_numpy(data) if hasattr(data, "__array_interface__") and hasattr(data, "__setitem__") else tensor(data, dtype=dtype)
    return data.to(dtype=dtype or data.dtype, device=device or data.device)


asarray = as_tensor


def _construct(*args, device=None, **named):
    """What PyTorch's old constructor makes of sizes or data."""
    import cresset

    default = get_default_dtype()
    if named:
        raise TypeError(f"Tensor(): unexpected arguments {', '.join(named)}")
    if not args:
        return cresset.empty(0)
    first = args[0]
    if len(args) == 1 and isinstance(first, _Tensor):
        if first.dtype != default:
            raise TypeError(f"expected a tensor of dtype {default} (got {first.dtype})")
        return first.alias() if first.requires_grad else first.detach()
    if len(args) == 1 and isinstance(first, cresset.Size) or all(isinstance(a, int) and not isinstance(a, bool) for a in args):
        return cresset.empty(first if isinstance(first, cresset.Size) else args)
    if len(args) == 1 and (isinstance(first, (list, tuple, range)) or hasattr(first, "__array_interface__") or hasattr(first, "__len__")):
        return tensor(first, dtype=default)
    raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")


def as_index(data):
    """What a sequence or an array means between brackets: a mask, or positions."""
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type {type(data).__name__!r}")
    out = tensor(data)
    if out.dtype in (_bool, uint8):
        return out
    return out.item() if out.dim() == 0 and not isinstance(data, (list, tuple)) else out.to(int64)
