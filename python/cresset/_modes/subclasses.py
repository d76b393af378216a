"""Tensor classes with `__torch_dispatch__`: their calls are taken over below autograd, in every thread, where no mode takes them first."""

import _cresset

from .stack import _loaded, _types_of

_TENSOR = _cresset.Tensor


def _in_order(types):
    """Classes before those that they derive from, else as they come."""
    found = []
    for kind in types:
        place = next((i for i, other in enumerate(found) if issubclass(kind, other)), len(found))
        found.insert(place, kind)
    return found


def hear(func, args, kwargs):
    """The call, by the first of the classes whose `__torch_dispatch__` does not return NotImplemented. TypeError where all do."""
    types = _types_of(args, kwargs)
    for kind in _in_order(types):
        own = getattr(func, "_torch_dispatch", None) or {}
        result = own[kind](kind, func, types, args, kwargs) if kind in own else kind.__torch_dispatch__(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    if not types:
        raise RuntimeError(
            f"{func}: got a tensor of a class with __torch_dispatch__ whose object is gone, or a view made of it under no_dispatch(), which has no memory; "
            "keep the object that the class was made of"
        )
    names = ", ".join(kind.__name__ for kind in types)
    raise TypeError(f"Multiple dispatch failed for '{func}'; all __torch_dispatch__ handlers returned NotImplemented: {names}")


def install():
    """Tells the dispatcher, once."""
    _loaded()
    _cresset._listen_subclasses(hear)


# ---- wrappers -------------------------------------------------------------------------------------------------------------

from .._tensor import _native_make_wrapper_subclass as _make  # noqa: E402


def _asked(name, own, namespace="aten"):
    """The class's answer to a question on its geometry; `own` gives that of the tensor itself, where the class answers None."""

    def ask(self, *given):
        from .. import ops

        op = getattr(getattr(ops, namespace), name).default
        result = type(self).__torch_dispatch__(op, (type(self),), (self, *given), {})
        if result is NotImplemented:
            raise TypeError(f"Multiple dispatch failed for '{op}'; {type(self).__name__}.__torch_dispatch__ returned NotImplemented")
        return own(self, *given) if result is None else result

    return ask


def _answers_sizes(cls, strides_only):
    """The class is asked for its geometry from now on, by the operators of PyTorch's names."""
    from .. import Size

    if "_answers_sizes" in cls.__dict__:
        return
    cls._answers_sizes = True
    own_size, own_stride = _TENSOR.shape.__get__, _TENSOR._strides.__get__
    stride, contiguous = _asked("sym_stride", own_stride), _asked("is_contiguous", _TENSOR.is_contiguous)
    # `size` and `stride` of the class stay Tensor's, which ask these: classes are checked for having left them alone.
    cls._own_stride = lambda self, dim=None: tuple(stride(self)) if dim is None else stride(self)[dim]
    cls.is_contiguous = lambda self, memory_format=None: contiguous(self)
    if strides_only:
        return
    size, dim, numel = _asked("sym_size", own_size), _asked("dim", _TENSOR.dim), _asked("sym_numel", _TENSOR.numel)
    cls._own_size = lambda self, d=None: Size(size(self)) if d is None else size(self)[d]
    cls.storage_offset = _asked("sym_storage_offset", _TENSOR.storage_offset)
    cls.shape = property(lambda self: Size(size(self)))
    cls.dim = cls.ndimension = lambda self: dim(self)
    cls.ndim = property(lambda self: dim(self))
    cls.numel = cls.nelement = lambda self: numel(self)
    cls.__len__ = lambda self: size(self)[0]


def _check_policy(policy):
    if policy not in (None, "sizes", "strides"):
        raise RuntimeError(f"dispatch_sizes_strides_policy: expected 'sizes' or 'strides', got {policy!r}")


def answer(cls, policy, device, layout):
    """The class is asked for what these name from now on: "sizes" or "strides", the device, the layout."""
    _check_policy(policy)
    if policy is not None:
        _answers_sizes(cls, policy == "strides")
    for name, wanted in (("device", device), ("layout", layout)):
        if wanted and not any(name in base.__dict__ for base in cls.__mro__[: cls.__mro__.index(_TENSOR)]):
            setattr(cls, name, property(_asked(name, getattr(_TENSOR, name).__get__, namespace="prim")))


def make_wrapper_subclass(cls, size, strides=None, storage_offset=None, memory_format=None, dtype=None, layout=None, device=None, pin_memory=False,
                          requires_grad=False, dispatch_sizes_strides_policy=None, dispatch_device=False, dispatch_layout=False,
                          _extra_dispatch_keys=None, storage_size=None):  # fmt: skip
    """A tensor without memory, of a class that takes its calls over by `__torch_dispatch__`.

    Args:
        cls: the class.
        size, strides, storage_offset, dtype, device: what the tensor says of itself; contiguous by default.
        dispatch_sizes_strides_policy: "sizes" or "strides": the class answers `aten.sym_size` and the like, or strides alone, instead.
        dispatch_device, dispatch_layout: the class answers for these, as `prim.device` and `prim.layout` or by properties of its own.

    Errors: RuntimeError for a class without `__torch_dispatch__` and for another policy.
    """
    from .. import strided

    _check_policy(dispatch_sizes_strides_policy)
    if memory_format is not None and strides is None:
        from .. import empty

        strides = empty(tuple(size), device="meta", memory_format=memory_format).stride()
    made = _make(cls, tuple(size), strides=None if strides is None else tuple(strides), storage_offset=storage_offset, dtype=dtype, device=device, pin_memory=pin_memory, requires_grad=requires_grad, storage_size=storage_size)  # fmt: skip
    answer(cls, dispatch_sizes_strides_policy, dispatch_device, dispatch_layout)
    if layout is not None and layout is not strided:
        made._own_layout = layout
        if "layout" not in cls.__dict__:
            cls.layout = property(lambda self: self.__dict__.get("_own_layout", strided))
    return made
