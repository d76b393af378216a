"""Storages: the memory under tensors, as bytes or as elements of one dtype."""

import cresset as _torch

from . import UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]


class TypedStorage:
    """Memory seen as a row of elements of one dtype, as `Tensor.storage()` gives it. `Tensor.untyped_storage()` gives the bytes.

    >>> s = torch.arange(3).storage()
    >>> s[1] = 7
    >>> s.tolist(), s.dtype
    ([0, 7, 2], torch.int64)
    """

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        if wrap_storage is not None:
            if args or dtype is None or not isinstance(wrap_storage, UntypedStorage):
                raise RuntimeError("TypedStorage: wrap_storage takes an UntypedStorage, with dtype=, and no other argument")
            self._storage, self.dtype = wrap_storage, dtype
            return
        if len(args) > 1:
            raise RuntimeError(f"TypedStorage: expected a size or a sequence, got {len(args)} arguments")
        self.dtype = dtype or _torch.get_default_dtype()
        content = args[0] if args else 0
        values = _torch.empty(content, dtype=self.dtype) if isinstance(content, int) else _torch.tensor(list(content), dtype=self.dtype)
        self._storage = values.untyped_storage()

    def _tensor(self):
        return _torch.empty(0, dtype=self.dtype, device=self._storage.device).set_(self._storage, 0, (len(self),), (1,))

    def __len__(self):
        return self._storage.nbytes() // self.dtype.itemsize

    def __getitem__(self, index):
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range for a storage of {len(self)} elements")
        return self._tensor()[index].item()

    def __setitem__(self, index, value):
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        self._tensor()[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def __eq__(self, other):
        return isinstance(other, TypedStorage) and (self.dtype, self.data_ptr(), len(self)) == (other.dtype, other.data_ptr(), len(other))

    __hash__ = None

    def __repr__(self):
        facts = f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"
        return "".join(f" {value}\n" for value in self.tolist()) + facts

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        import copy

        return TypedStorage(wrap_storage=copy.deepcopy(self._storage, memo), dtype=self.dtype)

    @property
    def device(self):
        """Where the memory lies."""
        return self._storage.device

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
        return self._storage

    def tolist(self):
        """The elements as Python numbers."""
        return self._tensor().tolist()

    def size(self):
        """The number of elements."""
        return len(self)

    def nbytes(self):
        """The number of bytes."""
        return self._storage.nbytes()

    def element_size(self):
        """Bytes of one element."""
        return self.dtype.itemsize

    def data_ptr(self):
        """The address of the first element."""
        return self._storage.data_ptr()

    def clone(self):
        """A copy."""
        return TypedStorage(wrap_storage=self._storage.clone(), dtype=self.dtype)

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
        self._storage.resize_(size * self.dtype.itemsize)
        return self

    def resizable(self):
        """Whether `resize_` may be called."""
        return self._storage.resizable()

    def get_device(self):
        """The index of the device, -1 for the CPU."""
        return -1 if self.device.type == "cpu" else self.device.index

    def cpu(self):
        """This storage, or its copy on the CPU."""
        return self if self.device.type == "cpu" else TypedStorage(wrap_storage=self._tensor().cpu().untyped_storage(), dtype=self.dtype)

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
        return TypedStorage(wrap_storage=self._tensor().to(device).untyped_storage(), dtype=self.dtype)

    def cuda(self, device=None, non_blocking=False):
        """The storage on a CUDA device. Raises while none is built in."""
        return TypedStorage(wrap_storage=self._tensor().cuda(device).untyped_storage(), dtype=self.dtype)

    def hpu(self, device=None, non_blocking=False):
        """The storage on a device of the kind HPU. Raises while none is built in."""
        from ._devices import refuse

        refuse("HPU")

    @property
    def is_hpu(self):
        """Whether the memory lies on a device of the kind HPU."""
        return self.device.type == "hpu"

    @property
    def filename(self):
        """The file that the memory is mapped from; None, also for `from_file`, which leaves no name."""
        return None

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
        import sys

        names = ("buffer", "byte_order", "count", "offset")
        given = {**dict(zip(names, args)), **kwargs, **({} if byte_order is None else {"byte_order": byte_order})}
        dtype = dtype or getattr(cls, "_dtype", None)
        if dtype is None:
            raise RuntimeError("TypedStorage.from_buffer: dtype= is missing")
        if dtype.itemsize > 1 and "byte_order" not in given:
            raise RuntimeError("TypedStorage.from_buffer: function missing required argument 'byte_order' (pos 2)")
        order = given.get("byte_order", "native")
        if order not in ("native", "little", "big"):
            raise ValueError(f"TypedStorage.from_buffer: invalid byte_order {order!r} (must be 'native', 'little' or 'big')")
        content = memoryview(given["buffer"]).cast("B")[given.get("offset", 0) :]
        count = given.get("count", -1)
        size = len(content) // dtype.itemsize if count < 0 else count
        if size * dtype.itemsize > len(content):
            raise ValueError(f"TypedStorage.from_buffer: the buffer has {len(content)} bytes, {count} elements of {dtype} need {size * dtype.itemsize}")
        values = _torch.frombuffer(bytearray(content[: size * dtype.itemsize]), dtype=_torch.uint8) if size else _torch.empty(0, dtype=_torch.uint8)
        if order not in ("native", sys.byteorder):
            values = values.view(-1, dtype.itemsize).flip(1).reshape(-1)
        return TypedStorage(wrap_storage=values.clone().untyped_storage(), dtype=dtype)

    @classmethod
    def from_file(cls, filename, shared, size):
        """The elements of a file, as `torch.from_file` reads them."""
        dtype = getattr(cls, "_dtype", None)
        if dtype is None:
            raise RuntimeError("from_file can only be called on classes that inherit from TypedStorage, such as FloatStorage")
        return _torch.from_file(filename, shared=shared, size=size, dtype=dtype).storage()

    def _to(self, dtype):
        return TypedStorage(wrap_storage=self._tensor().to(dtype, copy=True).untyped_storage(), dtype=dtype)


_NAMES = {
    _torch.float64: "Double", _torch.float32: "Float", _torch.float16: "Half", _torch.bfloat16: "BFloat16", _torch.int64: "Long", _torch.int32: "Int",
    _torch.int16: "Short", _torch.int8: "Char", _torch.uint8: "Byte", _torch.bool: "Bool", _torch.complex64: "ComplexFloat",
    _torch.complex128: "ComplexDouble", _torch.float8_e4m3fn: "Float8_e4m3fn", _torch.float8_e5m2: "Float8_e5m2",
    _torch.float8_e4m3fnuz: "Float8_e4m3fnuz", _torch.float8_e5m2fnuz: "Float8_e5m2fnuz",
}  # fmt: skip

for _dtype, _method in (
    (_torch.float64, "double"), (_torch.float32, "float"), (_torch.float16, "half"), (_torch.bfloat16, "bfloat16"), (_torch.int64, "long"),
    (_torch.int32, "int"), (_torch.int16, "short"), (_torch.int8, "char"), (_torch.uint8, "byte"), (_torch.bool, "bool"),
    (_torch.complex64, "complex_float"), (_torch.complex128, "complex_double"), (_torch.float8_e4m3fn, "float8_e4m3fn"),
    (_torch.float8_e5m2, "float8_e5m2"), (_torch.float8_e4m3fnuz, "float8_e4m3fnuz"), (_torch.float8_e5m2fnuz, "float8_e5m2fnuz"),
):  # fmt: skip

    def _convert(self, _dtype=_dtype):
        return self._to(_dtype)

    _convert.__name__, _convert.__qualname__ = _method, f"TypedStorage.{_method}"
    _convert.__doc__ = f"A copy with elements of {_dtype}."
    setattr(TypedStorage, _method, _convert)


class _OfDtype(type):
    """Every storage of the dtype counts as an object of the class."""

    def __instancecheck__(cls, thing):
        return isinstance(thing, TypedStorage) and thing.dtype == cls._dtype


def _named(name, dtype):
    def __new__(cls, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        if dtype not in (None, cls._dtype):
            raise RuntimeError(f"{name}: its elements are {cls._dtype}, got dtype={dtype}")
        return TypedStorage(*args, wrap_storage=wrap_storage, dtype=cls._dtype, device=device)

    members = {name: vars(TypedStorage)[name] for name in ("from_buffer", "from_file")}
    text = f"""A row of elements of {dtype}: of a number of them, or of a sequence. Such a storage is a `TypedStorage`.

    >>> torch.{name}(2).dtype
    {dtype}
    """
    return _OfDtype(name, (), {"__new__": __new__, "__doc__": text, "__module__": __name__, "_dtype": dtype, **members})


_CLASSES = {f"{_name}Storage": _named(f"{_name}Storage", _dtype) for _dtype, _name in _NAMES.items() if not _name.startswith("Float8")}
globals().update(_CLASSES)
