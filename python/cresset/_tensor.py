"""Methods and operators of Tensor that have no row, or whose spelling in Python differs from the row's."""

import builtins as _builtins
import enum
import warnings

import _cresset
from _cresset import Tensor

import cresset as torch

from . import _operators as ops
from . import _tensor_str, _utils
from ._core import creation as _creation
from ._core.creation import _NUMPY_CODES

_kind = _builtins.type


def _property(name):
    def install(function):
        setattr(Tensor, name, property(function))

    return install


def _method(function):
    setattr(Tensor, function.__name__, function)
    return function


Tensor.__array_priority__ = 1000


@_method
def numpy(self, *, force=False):
    """An array over the memory of the tensor; with `force` a copy where sharing is not possible."""
    if _cresset.is_functional(self):
        self = _cresset.from_functional(self)
    if force:
        self = self.detach().cpu().resolve_conj().resolve_neg()
    if self._lacks_data and not self.is_meta:
        raise RuntimeError(".numpy() is not supported for tensor subclasses: a fake tensor has no values")
    if _kind(self) is not torch.Tensor and _cresset._takes_calls_over(_kind(self)):
        raise RuntimeError(f"numpy: a {_kind(self).__name__}, whose class has __torch_dispatch__, has no numbers of its own; look at the tensors within it")
    if self._is_batched:
        raise RuntimeError("data_ptr: the tensor has no storage to point to: .numpy() is not possible inside vmap")
    if not self.is_cpu:
        raise TypeError(f"numpy: can't convert a tensor on device {self.device}, arrays lie in the memory of the CPU; use Tensor.cpu() first")
    if self.layout is not torch.strided:
        title = {"sparse_coo": "Sparse", "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc", "sparse_bsr": "SparseBsr", "sparse_bsc": "SparseBsc",
                 "_mkldnn": "Mkldnn"}  # fmt: skip
        name = title[str(self.layout).rpartition(".")[2]]
        raise TypeError(f"can't convert {name} layout tensor to numpy. Use Tensor.to_dense() first.")
    if self.requires_grad and torch.is_grad_enabled():
        raise RuntimeError("numpy: the tensor requires grad; call detach().numpy()")
    if self.is_conj():
        raise RuntimeError("numpy: the tensor is lazily conjugated; call resolve_conj().numpy()")
    if self.is_neg():
        raise RuntimeError("numpy: the tensor is lazily negated; call resolve_neg().numpy()")
    if self.dtype not in _NUMPY_CODES:
        raise TypeError(f"Got unsupported ScalarType {self.dtype}")
    import numpy

    plain = self if _kind(self) is torch.Tensor else self.as_subclass(torch.Tensor)
    return numpy.asarray(memoryview(plain.detach() if plain.requires_grad else plain))


@_method
def float_power_(self, exponent):
    """`float_power` in place, of float64 and complex128 tensors. RuntimeError where the result has another dtype.

    >>> torch.tensor([2.0, 3.0], dtype=torch.float64).float_power_(2)
    tensor([4., 9.], dtype=torch.float64)
    """
    is_tensor = isinstance(exponent, torch.Tensor)
    is_complex = self.is_complex() or (exponent.is_complex() if is_tensor else isinstance(exponent, complex))
    wanted = torch.complex128 if is_complex else torch.float64
    if self.dtype is not wanted:
        raise RuntimeError(f"float_power_: the base has dtype {self.dtype}, but the operation's result requires dtype {wanted}")
    return self.pow_(exponent.to(wanted) if is_tensor else exponent)


@_method
def cuda(self, device=None, non_blocking=False, memory_format=torch.preserve_format):
    """The tensor on a CUDA device. Raises while none is built in."""
    if _cresset._faking(self):
        target = torch.device("cuda") if device is None else torch.device(device) if isinstance(device, str) else device
        return self.to(device=target, non_blocking=non_blocking, memory_format=memory_format)
    from ._core.devices import refuse

    refuse("CUDA")


@_method
def storage(self):
    """The memory under the tensor as elements of its dtype; `untyped_storage` gives the bytes.

    >>> torch.ones(2).storage().size()
    2
    """
    from .storage import TypedStorage, warn_of_typed_storages

    warn_of_typed_storages()
    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype, _internal=True)


@_method
def is_shared(self):
    """Whether other processes can see the memory: after `share_memory_`, or where it came from another process."""
    return self.device.type == "cpu" and self.untyped_storage().is_shared()


@_method
def share_memory_(self):
    """Moves the memory to where other processes can see it; everything over the same storage moves along. Returns the tensor.

    >>> torch.ones(2).share_memory_().is_shared()
    True
    """
    self.untyped_storage().share_memory_()
    return self


@_method
def storage_type(self):
    """The class of storages of this dtype."""
    from . import storage

    return storage._CLASSES[f"{storage._NAMES[self.dtype]}Storage"]


@_method
def is_pinned(self, device=None):
    """Whether the memory is locked for copies to an accelerator: not while none is built in."""
    return False


@_method
def __array__(self, dtype=None, copy=None):
    array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError("__array__: another dtype needs a copy")
        return array.astype(dtype)
    return array.copy(order="K") if copy else array


@_method
def __bytes__(self):
    # Not the memory: to bytes() PyTorch's tensors are a count or a sequence of numbers.
    counts = self.numel() == 1 and not self.is_floating_point() and not self.is_complex()
    return bytes(self.item() if counts else list(self))


@_method
def __array_wrap__(self, array, context=None, return_scalar=False):
    import numpy

    array = numpy.asarray(array)
    return torch.from_numpy(array.astype("uint8") if array.dtype == bool else array)


@_method
def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
    """The tensor's memory as a DLPack capsule."""
    if _cresset.is_functional(self):
        self = _cresset.from_functional(self)
    if self.requires_grad:
        raise BufferError("dlpack: the tensor requires grad; pass tensor.detach()")
    if self.is_conj():
        raise BufferError("dlpack: the tensor is lazily conjugated; pass resolve_conj()")
    if self.layout is not torch.strided:
        raise BufferError("dlpack: expected a strided tensor")
    if self.device.type != "cpu":
        raise BufferError(f"__dlpack__: tensors on {self.device} cannot be exported")
    if stream is not None and _kind(stream) is not int:
        raise TypeError(f"__dlpack__: expected stream to be an int or None, got {_kind(stream).__name__}")
    if stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    if dl_device is not None and int(dl_device[0]) != DLDeviceType.kDLCPU:
        raise BufferError(f"__dlpack__: memory on the CPU cannot be exported to device type {int(dl_device[0])}")
    return _cresset.to_dlpack(self.clone() if copy else self, max_version is not None and max_version[0] >= 1, copy is True)


class DLDeviceType(enum.IntEnum):
    """The kinds of devices of the DLPack standard.

    >>> torch.utils.dlpack.DLDeviceType.kDLCPU.value
    1
    """

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


DLDeviceType.__module__ = f"{torch.__name__}.utils.dlpack"


@_method
def __dlpack_device__(self):
    if self.device.type != "cpu":
        raise ValueError(f"Unknown device type {self.device.type} for Dlpack")
    return (DLDeviceType.kDLCPU, 0)


_convert = ops["to"]


def _to(self, *args, **kwargs):
    if len(args) == 1 and not kwargs and _kind(args[0]) is torch.dtype:
        return _convert(self, args[0])
    named = {k: v for k, v in kwargs.items() if v is not None}
    rest = ["non_blocking", "copy"]
    if "other" in named:
        args = (named.pop("other"), *args)
    for i, value in enumerate(args):
        if isinstance(value, Tensor):
            named.setdefault("dtype", value.dtype)
            named.setdefault("device", value.device)
        elif isinstance(value, torch.dtype) or value in (float, int, bool, complex):
            named["dtype"] = value
        elif isinstance(value, (torch.device, str)):
            named["device"] = value
        elif isinstance(value, bool):
            named[rest.pop(0)] = value
        elif isinstance(value, int):
            named["device"] = value
        elif value is not None:
            raise TypeError(f"to: expected a dtype, device or tensor, got {_kind(value).__name__}")
    return _convert(self, **named) if named else self


Tensor.to = _to
_DTYPES = {"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "long": "int64", "int": "int32", "short": "int16",
           "char": "int8", "byte": "uint8", "bool": "bool", "chalf": "complex32", "cfloat": "complex64", "cdouble": "complex128"}  # fmt: skip


def _cast(dtype, preserve=torch.preserve_format):
    def cast(self, memory_format=preserve):
        return _convert(self, dtype) if memory_format is preserve else self.to(dtype=dtype, memory_format=memory_format)

    return cast


for _name, _dtype in _DTYPES.items():
    setattr(Tensor, _name, _cast(getattr(torch, _dtype)))
Tensor.cpu = lambda self, memory_format=torch.preserve_format: self.to("cpu", memory_format=memory_format)


_NAMES = {"float32": "Float", "float64": "Double", "float16": "Half", "int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char",
          "uint8": "Byte", "bool": "Bool", "bfloat16": "BFloat16", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
          "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64"}  # fmt: skip
_TYPED = {f"{kind}Tensor": getattr(torch, name) for name, kind in _NAMES.items()}


def _type_name(dtype, device="cpu"):
    module = "torch" if device == "cpu" else f"torch.{device}"
    return f"{module}.{_NAMES[str(dtype).removeprefix('torch.')]}Tensor"


@_method
def to_sparse_coo(self):
    """The tensor in coordinate layout: the same as `to_sparse()`.

    >>> torch.eye(2).to_sparse_coo().indices()
    tensor([[0, 1],
            [0, 1]])
    """
    return self.to_sparse()


@_method
def to_mkldnn(self, dtype=None):
    """A copy in an opaque layout: it has no strides and no storage, `to_dense()` gives it back.

    It knows what an inference needs: convolutions, linear, activations, pooling, batch_norm, add, mul, softmax, reshape and transpose.
    NotImplementedError for other operators, RuntimeError for a dtype that is not of 8 bits, float16, bfloat16 or float32. Gradients
    are recorded, but for writes in place.

    >>> x = torch.tensor([-1.0, 2.0]).to_mkldnn()
    >>> x.relu()
    tensor([0., 2.], layout=torch._mkldnn)
    >>> x.is_mkldnn, x.to_dense().layout
    (True, torch.strided)
    """
    return _cresset._to_mkldnn(self, dtype)


@_method
def type(self, dtype=None, non_blocking=False, **named):
    """The name of the tensor's type, or the tensor in another one."""
    if dtype is None:
        name = _type_name(self.dtype, self.device.type)
        if self.layout in (torch.strided, torch.sparse_coo):
            return name if self.layout is torch.strided else name.replace("torch.", "torch.sparse.", 1)
        raise RuntimeError("Unimplemented backend SparseCsrCPU")
    if isinstance(dtype, torch.dtype):
        return self.to(dtype)
    if isinstance(dtype, _TensorType):
        return self.to(dtype.dtype)
    if isinstance(dtype, str) and dtype.startswith("torch.sparse.") and self.is_sparse:
        dtype = dtype.replace("sparse.", "", 1)
    if isinstance(dtype, str) and dtype.startswith("torch.") and dtype[6:] in _TYPED:
        return self.to(_TYPED[dtype[6:]])
    if isinstance(dtype, str) and dtype == "torch.Tensor" or dtype is Tensor:
        return self.to(torch.get_default_dtype())
    raise ValueError(f"invalid type: {getattr(dtype, '__name__', dtype)!r}")


class _TensorType(_kind):
    """The class of PyTorch's old types: tensors of one dtype."""

    def __new__(kind, name, bases, members):
        if bases:
            raise TypeError(f"type 'torch.{bases[0].__name__}' is not an acceptable base type; subclass torch.Tensor")
        return super().__new__(kind, name, bases, members)

    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == "cpu"

    def __call__(cls, *args, **named):
        return torch._construct(*args, like=cls.dtype, **named)


def _old_type(name, dtype):
    return f"""PyTorch's old type of {dtype} tensors: calling it makes one, of sizes or data, and isinstance() asks for the dtype.

    >>> torch.{name}([1, 0]).dtype
    {dtype}
    >>> isinstance(torch.ones(1, dtype={dtype}), torch.{name})
    True
    """


for _name, _dtype in _TYPED.items():
    if not _name.startswith(("UInt", "Complex")):
        setattr(torch, _name, _TensorType(_name, (), {"dtype": _dtype, "is_cuda": False, "__module__": "torch", "__doc__": _old_type(_name, _dtype)}))


@_method
def new(self, *args, **named):
    """An old constructor: sizes or data, in this tensor's dtype. RuntimeError for compressed sparse tensors and opaque ones, which it cannot make."""
    if self.layout not in (torch.strided, torch.sparse_coo):
        raise RuntimeError(f"new(): makes no tensors of layout {self.layout}; torch.empty takes a layout")
    return torch._construct(*args, like=self.dtype, sparse=self.layout is torch.sparse_coo, **named)


@_method
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    if isinstance(data, Tensor):
        warnings.warn("new_tensor: to copy a tensor write source.detach().clone(), with requires_grad_() where it is wanted", UserWarning, stacklevel=3)
        return _creation._copied(data, dtype or self.dtype, device or self.device).requires_grad_(requires_grad)
    return torch.tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


@_method
def is_same_size(self, other):
    """Whether the sizes are the same; of nested tensors those of the components."""
    a, b = (t._nested_tensor_size() if t.is_nested else t.shape for t in (self, other))
    return torch.equal(a, b) if self.is_nested and other.is_nested else self.is_nested == other.is_nested and a == b


Tensor.__repr__ = _tensor_str.tensor_str


@_method
def __iter__(self):
    if self.dim() == 0:
        raise TypeError("iteration over a tensor without dimensions")
    return iter(self.unbind(0))


@_method
def __contains__(self, element):
    import numbers

    if not isinstance(element, (Tensor, numbers.Number)):
        raise RuntimeError(f"in: expected a tensor or a number, got a {_kind(element)}.")
    return (self == element).any().item()


@_method
def __reversed__(self):
    return self.flip(0) if self.dim() else self


@_method
def __format__(self, spec):
    if self.dim() == 0 and not self.is_meta and (_kind(self) is Tensor or getattr(self, "_is_buffer", False)):
        return format(self.item(), spec)
    return object.__format__(self, spec)


@_method
def __setstate__(self, state):
    """Takes over memory and geometry: a storage, an offset, sizes and strides, as old pickles have them; or attributes."""
    if isinstance(state, dict):
        self.__dict__.update(state)
        return
    if not self.is_leaf:
        raise RuntimeError("__setstate__: can only be called on leaf tensors")
    if len(state) == 4:
        self.set_(*state)
        return
    storage, offset, size, stride, self.requires_grad = state[:5]
    with torch.no_grad():
        self.set_(storage, offset, size, stride)


Tensor.__deepcopy__ = _utils.deepcopy_tensor
Tensor.__reduce_ex__ = lambda self, protocol: _utils.reduce_tensor(self)


Tensor.pin_memory = lambda self: self


def _make_wrapper_subclass(cls, size, strides=None, storage_offset=None, memory_format=None, *rest, **options):
    """A tensor without memory, of a class with `__torch_dispatch__`; see `torch._modes.subclasses.make_wrapper_subclass`."""
    from ._modes.subclasses import make_wrapper_subclass

    return make_wrapper_subclass(cls, size, strides, storage_offset, memory_format, *rest, **options)


_native_make_wrapper_subclass = Tensor._make_wrapper_subclass
Tensor._make_wrapper_subclass = staticmethod(_make_wrapper_subclass)


@classmethod
def _settle_override(cls, /, **options):
    """A class that takes its calls over by `__torch_dispatch__` alone takes over none by `__torch_function__`."""
    super(Tensor, cls).__init_subclass__(**options)
    name = "__torch_function__"
    inherited = next(base.__dict__[name] for base in cls.__mro__ if name in base.__dict__)
    if inherited is Tensor.__dict__[name] and _cresset._takes_calls_over(cls):
        cls.__torch_function__ = _cresset._disabled_torch_function_impl


Tensor.__init_subclass__ = _settle_override
