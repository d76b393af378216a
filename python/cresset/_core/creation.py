"""Tensors from Python data, buffers and NumPy arrays."""

import functools as _functools
import sys as _sys
import warnings as _warnings

import _cresset
from _cresset import Tensor as _Tensor
from _cresset import bool as _bool
from _cresset import complex64, complex128, float16, float32, float64, get_default_dtype, int8, int16, int32, int64, uint8, uint16, uint32, uint64

_NUMPY_CODES = {
    uint8: "|u1", int8: "|i1", int16: "<i2", int32: "<i4", int64: "<i8", uint16: "<u2", uint32: "<u4", uint64: "<u8",
    float16: "<f2", float32: "<f4", float64: "<f8", complex64: "<c8", complex128: "<c16", _bool: "|b1",
}  # fmt: skip
_DTYPE_OF_CODE = {code: dtype for dtype, code in _NUMPY_CODES.items()}


_SUPPORTED = ", ".join(["bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
                        "float16", "float32", "float64", "complex64", "complex128"])  # fmt: skip


def _dtype_of_numpy(array):
    """The dtype of a NumPy array or scalar. Errors: TypeError for one that has no like, ValueError for a foreign byte order."""
    code = array.dtype.str
    if code in _DTYPE_OF_CODE:
        return _DTYPE_OF_CODE[code]
    if code[0] == ">" and "<" + code[1:] in _DTYPE_OF_CODE:
        raise ValueError("from_numpy: expected an array in this machine's byte order")
    raise TypeError(f"can't convert np.ndarray of type {array.dtype.type.__module__}.{array.dtype.type.__name__}. The only supported types are: {_SUPPORTED}.")


def _numpy():
    """NumPy, if the program uses it."""
    return _sys.modules.get("numpy")


def _is_array(data):
    numpy = _numpy()
    return numpy is not None and isinstance(data, numpy.ndarray)


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    r"""A 1-d tensor over the memory of an object with Python's buffer protocol.

    >>> torch.frombuffer(bytearray(b"\x01\x02\x03"), dtype=torch.uint8)
    tensor([1, 2, 3], dtype=torch.uint8)
    """
    out = _cresset.from_buffer(buffer, dtype, count, offset)
    return out.requires_grad_(True) if requires_grad else out


_warned = []


def from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None, pin_memory=None, requires_grad=False):
    """A 1-d tensor of `size` elements over the memory of a file.

    With `shared` changes are written to the file, which is made, and made longer, where needed; else they stay in memory. Errors:
    RuntimeError for a file that cannot be opened or is too short.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x")
    >>> torch.from_file(path, shared=True, size=2, dtype=torch.float32).fill_(3.0)
    tensor([3., 3.])
    >>> torch.from_file(path, size=2)
    tensor([3., 3.])
    """
    import mmap
    import os

    dtype = dtype or _cresset.get_default_dtype()
    length = size * dtype.itemsize
    mode = os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY
    try:
        descriptor = os.open(filename, mode, 0o600)
    except OSError as error:
        raise RuntimeError(f"unable to open file <{filename}> in {'read-write' if shared else 'read-only'} mode: {error.strerror} ({error.errno})") from None
    try:
        there = os.fstat(descriptor).st_size
        if there < length:
            if not shared:
                raise RuntimeError(f"file <{filename}> has {there} bytes, {size} elements of {dtype} need {length}")
            os.ftruncate(descriptor, length)
        if not size:
            return tensor([], dtype=dtype, requires_grad=requires_grad)
        memory = mmap.mmap(descriptor, length, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
    finally:
        os.close(descriptor)
    out = frombuffer(memory, dtype=dtype, requires_grad=requires_grad)
    if shared:
        out.untyped_storage()._filename = os.fspath(filename)
    return out


def from_numpy(ndarray):
    """A tensor over the memory of an array. TypeError for anything else or a dtype without a like, ValueError for strides that are negative or
    no multiples of the element.

    >>> import numpy
    >>> array = numpy.zeros(2)
    >>> torch.from_numpy(array).add_(1)
    tensor([1., 1.], dtype=torch.float64)
    >>> array
    array([1., 1.])
    """
    if not _is_array(ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    dtype = _dtype_of_numpy(ndarray)
    size = ndarray.itemsize
    strides = []
    for n, step in zip(ndarray.shape, ndarray.strides):
        if step < 0:
            raise ValueError(f"from_numpy: expected an array without negative strides, got strides {ndarray.strides}; pass array.copy()")
        if step % size:
            raise ValueError("from_numpy: a stride of the array is no multiple of its element's size; pass a copy")
        strides.append(step // size)
    facts = ndarray.__array_interface__["data"]
    if facts[1] and (not _warned or _cresset._warn_always(None)):
        _warned.append(True)
        _warnings.warn("the given array is not writable: writing to the tensor is undefined; copy the array to be safe", UserWarning, stacklevel=2)
    return _cresset.from_pointer(facts[0], ndarray.shape, tuple(strides), dtype, ndarray)


def _placed(out, dtype, device):
    if dtype is not None and out.dtype is not dtype or device is not None:
        return out.to(dtype=dtype or out.dtype, device=device)
    return out


def _default_device():
    from . import modes as _modes

    return _modes._devices[-1] if _modes._devices else None


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor with a copy of `data`: a number, a nested sequence, an array or a tensor.

    >>> torch.tensor([[1, 2], [3, 4.5]]).dtype
    torch.float32
    """
    if _cresset._modes():
        return _cresset._hand_over(tensor, (data,), {"dtype": dtype, "device": device, "requires_grad": requires_grad, "pin_memory": pin_memory})
    out = _fresh(data, dtype, device, requires_grad)
    return out.detach() if _cresset.is_functional(out) and not requires_grad else out


def _fresh(data, dtype=None, device=None, requires_grad=False):
    """The tensor; the number that `x[i] = 5.0` writes comes from here, too."""
    if dtype is not None and not isinstance(dtype, _cresset.dtype):
        dtype = _dtype_of_type(dtype)
    if isinstance(data, _Tensor):
        _warnings.warn("tensor: to copy a tensor write source.detach().clone(), with requires_grad_() where it is wanted", UserWarning, stacklevel=4)
        out = _copied(data, dtype, device)
    elif _is_array(data):
        out = _placed(from_numpy(data).clone(), dtype, device)
    elif _is_storage(data):
        out = _over_storage(data, dtype).clone()
    elif _is_exchanged(data):
        out = _placed(from_dlpack(data).clone(), dtype, device)
    else:
        if isinstance(data, list) and data and _is_array(data[0]):
            from .modes import _warn_once

            _warn_once("tensor: a list of NumPy arrays is read number by number, which is slow; make one array of them, as numpy.array(list), first", 5)
        try:
            out = _of_numbers(data, dtype)
        except RuntimeError:
            if not _has_symbols(data):
                raise
            return _of_symbols(data, _dtype_of_symbols(data) if dtype is None else dtype, device).requires_grad_(requires_grad)
        device = _default_device() if device is None else device
        if device is not None:
            out = out.to(device)
    if _cresset._is_heard():
        from .._modes.stack import present
        from ..ops import aten

        out = _cresset.below_functional(lambda made: _as_fake(present(aten.lift_fresh.default, made)), out)
    return out.requires_grad_(True) if requires_grad else out


def _plain(data):
    return all(map(_plain, data)) if isinstance(data, (list, tuple)) else isinstance(data, (bool, int, float, complex))


def _leaves(data):
    for item in data if isinstance(data, (list, tuple)) else (data,):
        yield from _leaves(item) if isinstance(item, (list, tuple)) else (item,)


def _has_symbols(data):
    from .symbolic import SymBool, SymFloat, SymInt

    return any(isinstance(leaf, (SymInt, SymFloat, SymBool)) for leaf in _leaves(data))


def _dtype_of_symbols(data):
    from .symbolic import SymBool, SymInt

    if all(isinstance(leaf, (bool, SymBool)) for leaf in _leaves(data)):
        return _bool
    return int64 if all(isinstance(leaf, (int, SymInt, SymBool)) for leaf in _leaves(data)) else get_default_dtype()


def _of_symbols(data, dtype, device):
    """A tensor of nested numbers of which some are symbolic: operators make it."""
    from .. import ops

    if isinstance(data, (list, tuple)):
        return ops.aten.stack.default([_of_symbols(item, dtype, device) for item in data])
    return ops.aten.scalar_tensor.default(data, dtype=dtype, device=device)


def _of_numbers(data, dtype):
    """A tensor of nested numbers. Whoever hears it made wants the numbers, in a fake mode too."""
    if not _cresset._is_heard() or not _plain(data):
        return _cresset.from_nested(data, dtype)
    mode = _cresset._fake_swap(None)
    try:
        return _cresset.from_nested(data, dtype)
    finally:
        _cresset._fake_swap(mode)


def _as_fake(out):
    """The fake tensor of one that was just made, in a fake mode."""
    from .._subclasses.fake_tensor import active_mode

    mode = active_mode()
    return out if mode is None or _cresset._fake_mode_of(out) is not None else mode.from_tensor(out, static_shapes=True)


def _copied(tensor, dtype, device):
    return _placed(tensor.detach().clone(), dtype, device)


def _is_storage(data):
    return isinstance(data, _cresset.UntypedStorage) or isinstance(getattr(data, "_untyped_storage", None), _cresset.UntypedStorage)


def _over_storage(storage, dtype):
    """A tensor over the memory of a storage; bytes whose dtype nothing says are int64."""
    kind = getattr(storage, "dtype", None)
    from .. import empty

    return empty(0, dtype=dtype or kind or int64, device=storage.device).set_(storage)


def _is_exchanged(data):
    return hasattr(type(data), "__dlpack__") and hasattr(type(data), "__dlpack_device__")


def _dtype_of_type(dtype):
    known = {float: float64, int: int64, bool: _bool, complex: complex128}
    if dtype in known:
        return known[dtype]
    raise TypeError(f"tensor(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")


def as_tensor(data, *, dtype=None, device=None):
    """A tensor over `data` where its memory can be shared, else a copy.

    >>> x = torch.ones(2)
    >>> torch.as_tensor(x) is x
    True
    """
    if _cresset._modes():
        return _cresset._hand_over(as_tensor, (data,), {"dtype": dtype, "device": device})
    if isinstance(data, _Tensor):
        return _placed(data, dtype, device)
    if _is_array(data):
        return _placed(from_numpy(data), dtype, device)
    if _is_storage(data):
        return _over_storage(data, dtype)
    if _is_exchanged(data):
        return _placed(from_dlpack(data), dtype, device)
    return tensor(data, dtype=dtype, device=device)


def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """A tensor over `obj`, or a copy where `copy` is true or nothing else will do. Bytes are read as `dtype`. `requires_grad` is by default that of `obj`.

    Errors: ValueError where a copy is needed and `copy` is False.

    >>> torch.asarray([1, 2], dtype=torch.float32)
    tensor([1., 2.])
    """
    numpy = _numpy()
    source = None
    if isinstance(obj, _Tensor):
        source = obj
    elif _is_array(obj) or (numpy is not None and isinstance(obj, numpy.generic)):
        if isinstance(obj, numpy.generic) and copy is False:
            raise RuntimeError("asarray: a NumPy scalar has no memory to share, so copy=False cannot be; give an array")
        # An array without dimensions counts as a number.
        source = from_numpy(numpy.array(obj) if obj.ndim == 0 else obj)
    elif hasattr(obj, "__dlpack__") or type(obj).__name__ == "PyCapsule":
        source = from_dlpack(obj)
    elif not isinstance(obj, (list, tuple, range, int, float, complex)):
        try:
            memoryview(obj)
        except TypeError:
            pass
        else:
            with _warnings.catch_warnings():
                _warnings.simplefilter("ignore")
                source = frombuffer(obj, dtype=dtype or get_default_dtype())
    if source is None:
        if copy is False:
            raise ValueError("asarray: a sequence has no memory to share, got copy=False")
        return tensor(obj, dtype=dtype, device=device, requires_grad=bool(requires_grad))
    wrong_dtype = dtype is not None and source.dtype is not dtype
    wrong_device = device is not None and _cresset.device(device).type != source.device.type
    if copy is False and wrong_device:
        raise ValueError(f"can't alias tensor from device '{source.device}' to '{device}'.")
    if copy is False and wrong_dtype:
        raise ValueError(f"can't alias tensor with dtype {source.dtype} into dtype {dtype}.")
    if wrong_dtype or wrong_device:
        out = _placed(source, dtype, device)
    else:
        out = source.clone() if copy else source
    if requires_grad is None or out.requires_grad == requires_grad:
        return out
    return out.requires_grad_(requires_grad) if out.is_leaf else out.detach()


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor over the memory of an object with `__dlpack__`, or of a capsule. BufferError for memory of another device.

    >>> x = torch.zeros(2)
    >>> y = torch.from_dlpack(x).fill_(3)
    >>> x
    tensor([3., 3.])
    """
    if hasattr(ext_tensor, "__dlpack__"):
        kind = ext_tensor.__dlpack_device__()[0] if hasattr(ext_tensor, "__dlpack_device__") else 1
        if int(kind) != 1:
            raise BufferError(f"from_dlpack: got memory of device type {int(kind)}, expected the CPU (1)")
        try:
            ext_tensor = ext_tensor.__dlpack__(max_version=(1, 0))
        except TypeError:  # from before the protocol had versions
            ext_tensor = ext_tensor.__dlpack__()
    out = _cresset.from_dlpack(ext_tensor)
    return out.clone() if copy else out


def to_dlpack(tensor):
    """A DLPack capsule over the memory of the tensor.

    >>> torch.from_dlpack(torch.to_dlpack(torch.arange(2)))
    tensor([0, 1])
    """
    return tensor.__dlpack__()


def _construct(*args, device=None, like=None, sparse=False, **named):
    """Result of PyTorch's old constructors for sizes or data, in the default dtype or that of `like`; `sparse` ones take indices and values."""
    import cresset

    default = like or get_default_dtype()
    if device is not None and _cresset.device(device).type != "cpu":
        raise RuntimeError(f"new(): makes tensors on the CPU only, got device={device}; torch.empty and torch.tensor take devices")
    if "size" in named and not args:
        args = (cresset.Size(named.pop("size")),)
    if "data" in named and not args:
        args = (named.pop("data"),)
    if named:
        raise TypeError(f"new(): unexpected arguments {', '.join(named)}")
    layout = cresset.sparse_coo if sparse else cresset.strided
    if not args:
        return cresset.empty(0, dtype=default, device=device, layout=layout)
    first = args[0]
    if sparse and isinstance(first, _Tensor) and len(args) in (2, 3):
        return cresset.sparse_coo_tensor(*args, dtype=default, device=device)
    if len(args) == 1 and isinstance(first, _Tensor):
        if device is not None:
            raise RuntimeError(f"new(): a tensor of a tensor shares its memory and takes no device, got device={device}; use to()")
        if like is not None and first.dtype != default:
            raise TypeError(f"expected a tensor of dtype {default} (got {first.dtype})")
        if type(first) is _Tensor:
            return first.alias() if first.requires_grad else first.detach()
        with cresset.DisableTorchFunctionSubclass():  # the constructor of a class makes that class, of subclasses too
            return first.alias()
    if len(args) == 1 and _is_storage(first):
        return cresset.empty(0, dtype=default, device=first.device).set_(first)
    if len(args) == 1 and isinstance(first, cresset.Size):
        return cresset.empty(first, dtype=default, device=device, layout=layout)
    numbers = [isinstance(a, int) and not isinstance(a, bool) or hasattr(a, "__index__") and not isinstance(a, (bool, int)) for a in args]
    if all(numbers):
        try:
            return cresset.empty([a.__index__() for a in args], dtype=default, device=device, layout=layout)
        except TypeError:
            pass
    if len(args) != 1:
        kinds = ", ".join(type(a).__name__ for a in args)
        raise TypeError(f"new() received an invalid combination of arguments - got ({kinds}), expected sizes or a sequence")
    if isinstance(first, (str, bytes)):
        raise TypeError(f"new(): invalid data type {type(first).__name__!r}")
    if not (isinstance(first, (list, tuple, range)) or hasattr(first, "__len__")):
        raise TypeError(f"new: expected a sequence (got {type(first).__name__})")
    return as_tensor(first, dtype=default, device=device)


def _as_index(data):
    """Meaning of a sequence or an array between brackets: a mask, or positions."""
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type {type(data).__name__!r}")
    out = tensor(data)
    if out.dtype in (_bool, uint8):
        return out
    return out.item() if out.dim() == 0 and not isinstance(data, (list, tuple)) else out.to(int64)
