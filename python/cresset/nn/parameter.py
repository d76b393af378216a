"""Tensors that a module owns: parameters, buffers, and those whose shape is only known at the first call."""

from collections import OrderedDict

import cresset as torch
from _cresset import _disabled_torch_function_impl
from cresset import Tensor


class _Marked(type(Tensor)):
    """A tensor of a subclass of the user's counts as a parameter or a buffer when it is marked as one."""

    def __instancecheck__(cls, instance):
        if type.__instancecheck__(cls, instance):
            return True
        mark = cls.__dict__.get("_mark")
        return mark is not None and isinstance(instance, Tensor) and bool(getattr(instance, mark, False))


def _made(cls, data, requires_grad, mark):
    if data is None:
        data = torch.empty(0)
    elif not isinstance(data, Tensor):
        raise TypeError(f"{cls.__name__}: expected a tensor, got {type(data).__name__}")
    if cls is not Buffer and type(data) in (Tensor, Parameter):
        return Tensor._make_subclass(cls, data, requires_grad)
    out = data.detach().requires_grad_(requires_grad)
    if type(out) is not type(data) and not isinstance(data, Parameter):
        raise RuntimeError(f"{cls.__name__}: detach() of a {type(data).__name__} gave a {type(out).__name__}, expected the same type")
    setattr(out, mark, True)
    return out


class Parameter(Tensor, metaclass=_Marked):
    """A tensor that becomes a parameter of the module it is assigned to. It shares its memory with `data`.

    >>> layer = nn.Module()
    >>> layer.scale = nn.Parameter(torch.ones(2))
    >>> [name for name, _ in layer.named_parameters()], layer.scale.requires_grad
    (['scale'], True)
    """

    _mark = "_is_param"

    def __new__(cls, data=None, requires_grad=True):
        return _made(cls, data, requires_grad, cls._mark)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(memory_format=torch.preserve_format), self.requires_grad)
        return memo[id(self)]

    def __repr__(self):
        return "Parameter containing:\n" + Tensor.__repr__(self)

    def __reduce_ex__(self, protocol):
        from cresset import _utils

        state = _utils._attributes(self)
        if state:
            return _utils._rebuild_parameter_with_state, (self.data, self.requires_grad, OrderedDict(), state)
        return _utils._rebuild_parameter, (self.data, self.requires_grad, OrderedDict())


class Buffer(Tensor, metaclass=_Marked):
    """A tensor, marked to become a buffer of the module it is assigned to; one that is not persistent stays out of `state_dict`. It keeps the class of `data`.

    >>> layer = nn.Module()
    >>> layer.count = nn.Buffer(torch.zeros(1), persistent=False)
    >>> len(list(layer.buffers())), list(layer.state_dict())
    (1, [])
    """

    _mark = "_is_buffer"

    def __new__(cls, data=None, *, persistent=True):
        out = _made(cls, data, data is not None and data.requires_grad, cls._mark)
        out.persistent = persistent
        return out


class UninitializedTensorMixin:
    """Base of parameters and buffers without a shape: `materialize` gives them one."""

    def materialize(self, shape, device=None, dtype=None):
        """Turn into an ordinary parameter or buffer of `shape`, in place and without values."""
        self.data = torch.empty(shape, device=device or self.data.device, dtype=dtype or self.data.dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        raise RuntimeError("shape: an uninitialized tensor has none; call the module once or materialize() the tensor")

    def share_memory_(self):
        raise RuntimeError("share_memory_: an uninitialized tensor has no memory; call the module once or materialize() the tensor")

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad, self.data.device, self.data.dtype)

    _ALLOWED = {"__get__", "__set__", "__delete__", "is_floating_point", "is_complex", "to", "cpu", "half", "float", "double", "cuda", "type",
                "data", "requires_grad_", "detach", "new_empty", "copy_", "is_meta", "dtype", "device", "grad", "requires_grad", "element_size"}  # fmt: skip

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        if name in cls._ALLOWED:
            return super().__torch_function__(function, types, args, kwargs or {})
        raise ValueError(f"{name}: got an uninitialized tensor; call the module once or materialize() the tensor")


for _class in (Parameter, Buffer):
    _class.__torch_function__ = _disabled_torch_function_impl


def is_lazy(param):
    """Whether a tensor still waits for its shape.

    >>> nn.parameter.is_lazy(nn.UninitializedParameter()), nn.parameter.is_lazy(nn.Parameter(torch.ones(1)))
    (True, False)
    """
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter without a shape: lazy modules hold them until their first call.

    >>> p = nn.UninitializedParameter()
    >>> p.materialize((2, 3))
    >>> type(p).__name__, p.shape
    ('Parameter', torch.Size([2, 3]))
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return Tensor._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer without a shape.

    >>> b = nn.UninitializedBuffer()
    >>> b.materialize((2,))
    >>> b.shape
    torch.Size([2])
    """

    cls_to_become = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        out = Tensor._make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)
        out.persistent = persistent
        out._is_buffer = True
        return out
