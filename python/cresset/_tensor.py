"""Methods and operators of Tensor that have no row, or whose spelling in Python differs from the row's."""

import _cresset
from _cresset import Tensor

import cresset as torch

from . import _operators as ops
from . import _utils
from ._creation import _NUMPY_CODES


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
    if force:
        self = self.detach().cpu().resolve_conj().resolve_neg()
    if self.requires_grad and torch.is_grad_enabled():
        raise RuntimeError("numpy: the tensor requires grad, call detach() first")
    if self.is_conj() or self.is_neg():
        raise RuntimeError("numpy: the tensor is a lazy conjugate, call resolve_conj() first")
    if self.dtype not in _NUMPY_CODES:
        raise TypeError(f"numpy: no such dtype in NumPy as {self.dtype}")
    import numpy

    return numpy.asarray(_Memory(self))


class _Memory:
    """A tensor's memory as NumPy's array interface describes it."""

    def __init__(self, owner):
        self.owner = owner
        item = owner.element_size()
        self.__array_interface__ = {
            "version": 3, "data": (owner.data_ptr() or 16, False), "shape": tuple(owner.shape), "typestr": _NUMPY_CODES[owner.dtype],
            "strides": tuple(s * item for s in owner.stride()),
        }  # fmt: skip


@_method
def __array__(self, dtype=None, copy=None):
    array = self.numpy()
    return array if dtype is None else array.astype(dtype)


def _to(self, *args, **kwargs):
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
        elif value is not None:
            raise TypeError(f"to: expected a dtype, device or tensor, got {type(value).__name__}")
    return ops["to"](self, **named) if named else self


Tensor.to = _to
_DTYPES = {"float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "long": "int64", "int": "int32", "short": "int16",
           "char": "int8", "byte": "uint8", "bool": "bool", "cfloat": "complex64", "cdouble": "complex128"}  # fmt: skip
for _name, _dtype in _DTYPES.items():
    setattr(Tensor, _name, lambda self, memory_format=torch.preserve_format, d=getattr(torch, _dtype): self.to(dtype=d, memory_format=memory_format))
Tensor.cpu = lambda self, memory_format=torch.preserve_format: self.to("cpu", memory_format=memory_format)
Tensor.type = lambda self, dtype=None: self.to(dtype) if dtype is not None else f"torch.{_tensor_name(self)}"


def _tensor_name(self):
    names = {"float32": "Float", "float64": "Double", "float16": "Half", "int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char",
             "uint8": "Byte", "bool": "Bool", "bfloat16": "BFloat16", "complex64": "ComplexFloat", "complex128": "ComplexDouble"}  # fmt: skip
    return names[str(self.dtype).removeprefix("torch.")] + "Tensor"


@_method
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    return torch.tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


@_method
def apply_(self, function):
    return self.copy_(torch.tensor([function(v) for v in self.flatten().tolist()], dtype=self.dtype).reshape(self.shape))


Tensor.dim_order = lambda self: tuple(sorted(range(self.dim()), key=lambda d: -self.stride(d)))
Tensor.is_same_size = lambda self, other: self.shape == other.shape


@_method
def __repr__(self):
    values = "..." if self.is_meta else repr(self.tolist())
    return f"tensor({values}, dtype={self.dtype})"


@_method
def __iter__(self):
    if self.dim() == 0:
        raise TypeError("iteration over a tensor without dimensions")
    return iter(self.unbind(0))


@_method
def __contains__(self, element):
    return (self == element).any().item()


@_method
def __reversed__(self):
    return self.flip(0) if self.dim() else self


@_method
def __format__(self, spec):
    return format(self.item(), spec) if self.dim() == 0 and spec else object.__format__(self, spec)


Tensor.__deepcopy__ = _utils.deepcopy_tensor
Tensor.__reduce_ex__ = lambda self, protocol: _utils.reduce_tensor(self)


Tensor.pin_memory = lambda self: self
