"""Storages: the memory under tensors, as bytes or as elements of one dtype."""

import sys
import warnings

import cresset as _torch

from . import UntypedStorage

__all__ = ["Storage", "TypedStorage", "UntypedStorage"]


_warned = []


def warn_of_typed_storages(stacklevel=3):
    """Warn, once for each process, that storages with a dtype are there for old programs.

    >>> torch.storage.warn_of_typed_storages()
    """
    if not _warned or _torch.is_warn_always_enabled():
        _warned.append(True)
        warnings.warn("TypedStorage is deprecated: tensors have a dtype, storages are bytes; use tensor.untyped_storage()", UserWarning, stacklevel=stacklevel)


def _typed(storage, dtype):
    return TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)


def _text(storage, what):
    from ._subclasses.fake_tensor import DataDependentOutputException

    try:
        values = "..." if storage.device.type == "meta" else " " + "\n ".join(str(value) for value in storage)
    except (NotImplementedError, DataDependentOutputException):  # that of a fake tensor, or on a device out of reach
        values = "..."
    return f"{values}\n[{what} of size {len(storage)}]"


def _from_buffer(cls, args, dtype, kwargs):
    """The storage with the bytes of an object, and the dtype."""
    given = {**dict(zip(("buffer", "byte_order", "count", "offset"), args)), **kwargs}
    name = cls.__name__
    dtype = dtype or getattr(cls, "_dtype", None)
    if dtype is None:
        raise RuntimeError(f"{name}.from_buffer: dtype= is missing")
    if dtype.itemsize > 1 and "byte_order" not in given:
        raise RuntimeError(f"{name}.from_buffer: function missing required argument 'byte_order' (pos 2)")
    order = given.get("byte_order", "native")
    if order not in ("native", "little", "big"):
        raise ValueError(f"{name}.from_buffer: invalid byte_order {order!r} (must be 'native', 'little' or 'big')")
    content = memoryview(given["buffer"]).cast("B")[given.get("offset", 0) :]
    count = given.get("count", -1)
    if count < 0 and len(content) % dtype.itemsize:
        raise ValueError(f"{name}.from_buffer: expected a buffer of whole elements of {dtype.itemsize} bytes, got {len(content)} bytes")
    size = len(content) // dtype.itemsize if count < 0 else count
    if size * dtype.itemsize > len(content):
        raise ValueError(f"{name}.from_buffer: the buffer has {len(content)} bytes, {count} elements of {dtype} need {size * dtype.itemsize}")
    storage = UntypedStorage(size * dtype.itemsize)
    memoryview(storage)[:] = content[: size * dtype.itemsize]
    if order not in ("native", sys.byteorder):
        storage.byteswap(dtype)
    return storage, dtype


class TypedStorage:
    """Memory seen as a row of elements of one dtype, as `Tensor.storage()` gives it. `Tensor.untyped_storage()` gives the bytes.

    >>> s = torch.arange(3).storage()
    >>> s[1] = 7
    >>> s.tolist(), s.dtype
    ([0, 7, 2], torch.int64)
    """

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        if not _internal:
            warn_of_typed_storages()
        if dtype is not None and not isinstance(dtype, _torch.dtype):
            raise RuntimeError(f"TypedStorage: expected dtype to be a torch.dtype, got {type(dtype).__name__}")
        if wrap_storage is not None:
            if args or dtype is None or device is not None:
                raise RuntimeError("TypedStorage: wrap_storage goes with dtype= and no other argument")
            if not isinstance(wrap_storage, UntypedStorage):
                raise TypeError(f"TypedStorage: expected wrap_storage to be an UntypedStorage, got {type(wrap_storage).__name__}")
            self._untyped_storage, self.dtype = wrap_storage, dtype
            return
        if len(args) > 1:
            raise RuntimeError(f"TypedStorage: expected a size or a sequence, got {len(args)} arguments")
        self.dtype = dtype or _torch.get_default_dtype()
        content = args[0] if args else 0
        if hasattr(content, "__index__") and not hasattr(content, "__len__"):
            self._untyped_storage = UntypedStorage(content.__index__() * self.dtype.itemsize, device=device)
            return
        if isinstance(content, (_torch.Tensor, TypedStorage, UntypedStorage, str)) or not hasattr(content, "__getitem__"):
            raise TypeError(f"TypedStorage: expected a size or a sequence of numbers, got {type(content).__name__}")
        self._untyped_storage = _torch.tensor(content, dtype=self.dtype, device=device or "cpu").reshape(-1).untyped_storage()

    def _tensor(self):
        return _torch.empty(0, dtype=self.dtype, device=self._untyped_storage.device).set_(self._untyped_storage, 0, (len(self),), (1,))

    def __len__(self):
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    def __getitem__(self, index):
        if isinstance(index, slice):
            raise RuntimeError("TypedStorage takes no slices, expected an int")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        if self.device.type == "meta":
            raise NotImplementedError("a storage on the meta device has no elements to read")
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range for a storage of {len(self)} elements")
        return self._tensor()[index].item()

    def __setitem__(self, index, value):
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        self._tensor()[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def __repr__(self):
        return _text(self, f"torch.storage.TypedStorage(dtype={self.dtype}, device={self.device})")

    def __sizeof__(self):
        return object.__sizeof__(self) + self.nbytes()

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        import copy

        return _typed(copy.deepcopy(self._untyped_storage, memo), self.dtype)

    @property
    def device(self):
        """Where the memory lies."""
        return self._untyped_storage.device

    @property
    def _cdata(self):
        return self._untyped_storage._cdata

    @property
    def is_cuda(self):
        """Whether the memory lies on a CUDA device."""
        return self.device.type == "cuda"

    @property
    def is_sparse(self):
        """Always False."""
        return False

    def untyped(self):
        """The same memory as bytes."""
        return self._untyped_storage

    def tolist(self):
        """The elements as Python numbers."""
        return self._tensor().tolist()

    def size(self):
        """The number of elements."""
        return len(self)

    def nbytes(self):
        """The number of bytes."""
        return self._untyped_storage.nbytes()

    def element_size(self):
        """Bytes of one element."""
        return self.dtype.itemsize

    def data_ptr(self):
        """The address of the first element."""
        return self._untyped_storage.data_ptr()

    def clone(self):
        """A copy."""
        return _typed(self._untyped_storage.clone(), dtype=self.dtype)

    def copy_(self, source, non_blocking=None):
        """Copies the elements of another storage, converted to this dtype."""
        self._tensor().copy_(source._tensor())
        return self

    def fill_(self, value):
        """Sets every element."""
        self._tensor().fill_(value)
        return self

    def resize_(self, size):
        """Sets the number of elements; those that stay keep their values."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    def resizable(self):
        """Whether `resize_` may be called."""
        return self._untyped_storage.resizable()

    def get_device(self):
        """The index of the device, -1 for the CPU."""
        return -1 if self.device.type == "cpu" else self.device.index

    def cpu(self):
        """This storage, or its copy on the CPU."""
        return self if self.device.type == "cpu" else _typed(self._tensor().cpu().untyped_storage(), dtype=self.dtype)

    def type(self, dtype=None, non_blocking=False):
        """The name of the storage's class by its dtype, or a copy in another dtype, given itself or by such a name."""
        if dtype is None:
            return f"torch.{_NAMES[self.dtype]}Storage"
        if isinstance(dtype, str):
            named = {f"torch.{name}Storage": known for known, name in _NAMES.items()}
            if dtype not in named:
                raise ValueError(f"TypedStorage.type: expected the name of a storage's class, got {dtype!r}")
            dtype = named[dtype]
        return self._to(dtype)

    def pickle_storage_type(self):
        """The name that stands for the dtype in checkpoints."""
        return f"{_NAMES[self.dtype]}Storage"

    def to(self, *, device, non_blocking=False):
        """This storage, or its copy on another device."""
        if _torch.device(device) == self.device:
            return self
        return _typed(self._tensor().to(device).untyped_storage(), dtype=self.dtype)

    def cuda(self, device=None, non_blocking=False):
        """The storage on a CUDA device. Raises while none is built in."""
        return _typed(self._tensor().cuda(device).untyped_storage(), dtype=self.dtype)

    def hpu(self, device=None, non_blocking=False):
        """The storage on a device of the kind HPU. Raises while none is built in."""
        from ._core.devices import refuse

        refuse("HPU")

    @property
    def is_hpu(self):
        """Whether the memory lies on a device of the kind HPU."""
        return self.device.type == "hpu"

    @property
    def filename(self):
        """The file that the memory is shared with, where there is one."""
        return self._untyped_storage.filename

    def is_shared(self):
        """Whether other processes can see the memory."""
        return self._untyped_storage.is_shared()

    def share_memory_(self):
        """Moves the memory to where other processes can see it; tensors over it move along."""
        if self.device.type == "meta":
            raise NotImplementedError("share_memory_: a storage on the meta device has no memory to share")
        self._untyped_storage.share_memory_()
        return self

    @classmethod
    def _new_shared(cls, size, *, device="cpu"):
        dtype = getattr(cls, "_dtype", None) or _torch.get_default_dtype()
        return _typed(UntypedStorage._new_shared(size * dtype.itemsize, device=device), dtype=dtype)

    def is_pinned(self, device=None):
        """Whether the memory is locked for copies to an accelerator: not while none is built in."""
        return False

    def pin_memory(self, device=None):
        """This storage: there is no accelerator to lock memory for."""
        return self

    @classmethod
    def from_buffer(cls, *args, dtype=None, device=None, byte_order=None, **kwargs):
        """A copy of the bytes of an object as elements of a dtype: from_buffer(buffer, byte_order, count, offset), or by name.

        `byte_order` is "native", "little" or "big". Errors: ValueError for another, RuntimeError for dtypes that are missing.
        """
        return _typed(*_from_buffer(cls, args, dtype, {**kwargs, **({} if byte_order is None else {"byte_order": byte_order})}))

    _from_buffer = from_buffer

    @classmethod
    def from_file(cls, filename, shared, size):
        """The elements of a file, as `torch.from_file` reads them."""
        dtype = getattr(cls, "_dtype", None)
        if dtype is None:
            raise RuntimeError("from_file can only be called on classes that inherit from TypedStorage, such as FloatStorage")
        return _typed(_torch.from_file(filename, shared=shared, size=size, dtype=dtype).untyped_storage(), dtype=dtype)

    def _to(self, dtype):
        return _typed(self._tensor().to(dtype, copy=True).untyped_storage(), dtype=dtype)


_NAMES = {
    _torch.float64: "Double", _torch.float32: "Float", _torch.float16: "Half", _torch.bfloat16: "BFloat16", _torch.int64: "Long", _torch.int32: "Int",
    _torch.int16: "Short", _torch.int8: "Char", _torch.uint8: "Byte", _torch.bool: "Bool", _torch.complex64: "ComplexFloat",
    _torch.complex128: "ComplexDouble", _torch.float8_e4m3fn: "Float8_e4m3fn", _torch.float8_e5m2: "Float8_e5m2",
    _torch.float8_e4m3fnuz: "Float8_e4m3fnuz", _torch.float8_e5m2fnuz: "Float8_e5m2fnuz",
}  # fmt: skip

_METHODS = (
    (_torch.float64, "double"), (_torch.float32, "float"), (_torch.float16, "half"), (_torch.bfloat16, "bfloat16"), (_torch.int64, "long"),
    (_torch.int32, "int"), (_torch.int16, "short"), (_torch.int8, "char"), (_torch.uint8, "byte"), (_torch.bool, "bool"),
    (_torch.complex64, "complex_float"), (_torch.complex128, "complex_double"), (_torch.float8_e4m3fn, "float8_e4m3fn"),
    (_torch.float8_e5m2, "float8_e5m2"), (_torch.float8_e4m3fnuz, "float8_e4m3fnuz"), (_torch.float8_e5m2fnuz, "float8_e5m2fnuz"),
)  # fmt: skip
for _dtype, _method in _METHODS:

    def _convert(self, _dtype=_dtype):
        return self._to(_dtype)

    _convert.__name__, _convert.__qualname__ = _method, f"TypedStorage.{_method}"
    _convert.__doc__ = f"A copy with elements of {_dtype}."
    setattr(TypedStorage, _method, _convert)


class _OfDtype(type):
    """Every storage of the dtype counts as an object of the class."""

    def __instancecheck__(cls, thing):
        return isinstance(thing, TypedStorage) and thing.dtype == cls._dtype

    @property
    def dtype(cls):
        """The dtype of the elements."""
        return cls._dtype


def _named(name, dtype):
    def __new__(cls, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        if dtype is not None or device is not None:
            raise RuntimeError(f"{name}: its elements are {cls._dtype} on the CPU, dtype= and device= cannot be given")
        if len(args) > 1 or wrap_storage is not None and args:
            raise RuntimeError(f"{name}: expected a size, a sequence or wrap_storage=, got {len(args)} arguments")
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls._dtype, _internal=_internal)

    text = f"""A row of elements of {dtype}: of a number of them, or of a sequence. Such a storage is a `TypedStorage`.

    >>> torch.{name}(2).dtype
    {dtype}
    """
    return _OfDtype(name, (TypedStorage,), {"__new__": __new__, "__doc__": text, "__module__": "torch", "_dtype": dtype})


_CLASSES = {f"{_name}Storage": _named(f"{_name}Storage", _dtype) for _dtype, _name in _NAMES.items() if not _name.startswith("Float8")}
globals().update(_CLASSES)


def __getattr__(name):
    """`Storage` is the class of the default dtype."""
    if name == "Storage":
        return _CLASSES[f"{_NAMES[_torch.get_default_dtype()]}Storage"]
    from ._core import missing

    return missing.found(__name__, name)


class _OfBytes:
    """The methods of UntypedStorage that are written in Python."""

    is_sparse = is_sparse_csr = False
    is_cuda = property(lambda self: self.device.type == "cuda", doc="Whether the memory lies on a CUDA device.")
    is_hpu = property(lambda self: self.device.type == "hpu", doc="Whether the memory lies on a device of the kind HPU.")
    filename = property(lambda self: self.__dict__.get("_filename"), doc="The file that the memory is shared with, where there is one.")

    def __repr__(self):
        return _text(self, f"torch.storage.UntypedStorage(device={self.device})")

    def untyped(self):
        """This storage."""
        return self

    def new(self):
        """An empty storage on the same device."""
        return type(self)(0, device=self.device)

    def __copy__(self):
        return self.clone()

    def get_device(self):
        """The index of the device, -1 for the CPU."""
        return -1 if self.device.type in ("cpu", "meta") else self.device.index

    def type(self, dtype=None, non_blocking=False):
        """The name of the class, or the bytes as elements of another dtype."""
        if dtype is None:
            return "torch.storage.UntypedStorage"
        return _typed(self, _torch.uint8).type(dtype)

    def to(self, *, device, non_blocking=False):
        """This storage, or its copy on another device."""
        if _torch.device(device) == self.device:
            return self
        return _typed(self, _torch.uint8)._tensor().to(device).untyped_storage()

    def cpu(self):
        """This storage, or its copy on the CPU."""
        return self.to(device="cpu")

    def cuda(self, device=None, non_blocking=False):
        """The storage on a CUDA device. Raises while none is built in."""
        return _typed(self, _torch.uint8)._tensor().cuda(device).untyped_storage()

    def hpu(self, device=None, non_blocking=False):
        """The storage on a device of the kind HPU. Raises while none is built in."""
        from ._core.devices import refuse

        refuse("HPU")

    def mps(self):
        """The storage on a device of the kind MPS. Raises while none is built in."""
        from ._core.devices import refuse

        refuse("MPS")

    def is_pinned(self, device="cuda"):
        """Whether the memory is locked for copies to an accelerator: not while none is built in."""
        return False

    def pin_memory(self, device="cuda"):
        """This storage: there is no accelerator to lock memory for."""
        return self

    def share_memory_(self):
        """Moves the memory to where other processes can see it; tensors over it move along."""
        if self.device.type == "cpu":
            from .multiprocessing import get_sharing_strategy

            self._share(get_sharing_strategy() == "file_system")
        return self

    def byteswap(self, dtype):
        """Turns the bytes of each element of the dtype around; of complex numbers those of each part."""
        width = dtype.itemsize // (2 if dtype.is_complex else 1)
        values = _typed(self, _torch.uint8)._tensor().view(-1, width)
        values.copy_(values.flip(1))

    @classmethod
    def from_buffer(cls, *args, dtype=None, **kwargs):
        """A copy of the bytes of an object, whose elements are of a dtype; see `TypedStorage.from_buffer`."""
        return _from_buffer(cls, args, dtype, kwargs)[0]

    @classmethod
    def from_file(cls, filename, shared=False, nbytes=0):
        """The bytes of a file, as `torch.from_file` reads them."""
        return _torch.from_file(filename, shared=shared, size=nbytes, dtype=_torch.uint8).untyped_storage()

    @classmethod
    def _new_shared(cls, size, *, device="cpu"):
        return cls(size, device=device).share_memory_()


def _bytes_as(dtype, name):
    def convert(self):
        return _typed(self, _torch.uint8)._to(dtype)

    convert.__name__, convert.__qualname__, convert.__doc__ = name, f"UntypedStorage.{name}", f"The bytes as elements of {dtype}, a number each."
    return convert


for _name, _member in {**vars(_OfBytes), **{name: _bytes_as(dtype, name) for dtype, name in _METHODS}}.items():
    if _name not in ("__module__", "__doc__", "__dict__", "__weakref__"):
        setattr(UntypedStorage, _name, _member)
