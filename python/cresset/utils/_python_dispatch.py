"""Modes that get every operator as it runs, below autograd: `TorchDispatchMode`, its stack, and tools for tensor classes with `__torch_dispatch__`.

>>> class Names(torch.utils._python_dispatch.TorchDispatchMode):
...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
...         print(func)
...         return func(*args, **(kwargs or {}))
>>> with Names():
...     _ = torch.ones(2).t().add(1)
aten.ones.default
aten.t.default
aten.add.Tensor
"""

import contextlib
import typing

import cresset as torch

from .._modes import stack as _stack

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass", "return_and_correct_aliasing", "transform_subclass"]


class TorchDispatchMode:
    """A mode whose `__torch_dispatch__(func, types, args, kwargs)` gets each operator that runs in its scope, gradients' operators too, and returns its
    result. `func` is an overload of `torch.ops`. Operators that the mode calls itself go to the modes around it.

    Errors: whatever `__torch_dispatch__` raises comes out of the call that was heard.
    """

    supports_higher_order_operators = False

    def __init__(self, _dispatch_key=None):
        if _dispatch_key is not None:
            self._dispatch_key = _dispatch_key
        self._entered = []

    @classmethod
    def is_infra_mode(cls):
        """Whether it is one of tracing itself."""
        return False

    @classmethod
    def ignore_compile_internals(cls):
        """Whether it is not to see what compilers run."""
        return False

    def _place(self):
        pre = str(getattr(self, "_dispatch_key", None) or "").rpartition(".")[2] == "PreDispatch" or getattr(self, "pre_dispatch", False) is True
        return _stack.ABOVE_LAYERS if pre else _stack.BELOW_AUTOGRAD

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{type(self).__name__} has no __torch_dispatch__")

    def __enter__(self):
        place = self._place()
        self.__dict__.setdefault("_entered", []).append(place)
        _stack.push(self, place)
        return self

    def __exit__(self, *error):
        entered = self.__dict__.get("_entered")
        _stack.pop(entered[-1] if entered else self._place(), self)
        if entered:
            entered.pop()

    @classmethod
    def push(cls, *args, **kwargs):
        """The mode, to be entered."""
        return cls(*args, **kwargs)


BaseTorchDispatchMode = TorchDispatchMode


# ---- the stack ------------------------------------------------------------------------------------------------------------


def _get_current_dispatch_mode():
    """The innermost mode, or None."""
    modes = _stack.active()
    return modes[-1] if modes else None


def _get_current_dispatch_mode_stack():
    """The modes, innermost last."""
    return _stack.active()


def _get_current_dispatch_mode_pre_dispatch():
    modes = _stack.active(_stack.ABOVE_LAYERS)
    return modes[-1] if modes else None


def _len_torch_dispatch_stack():
    return len(_stack.active())


def _push_mode(mode):
    _stack.push(mode, mode._place())


def _pop_mode(k=None):
    return _stack.pop(_stack.ABOVE_LAYERS if k is not None and str(k).endswith("PreDispatch") else _stack.BELOW_AUTOGRAD)


@contextlib.contextmanager
def _pop_mode_temporarily(k=None):
    """In its scope the innermost mode is off; yields it."""
    place = _stack.ABOVE_LAYERS if k is not None and str(k).endswith("PreDispatch") else _stack.BELOW_AUTOGRAD
    mode = _stack.pop(place)
    try:
        yield mode
    finally:
        _stack.push(mode, place)


@contextlib.contextmanager
def _disable_current_modes():
    """In its scope no mode is on; yields those that were, outermost first."""
    with _stack.none_active() as (above, below):
        yield [*above, *below]


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """Whether a mode is on."""
    modes = _stack.active() + _stack.active(_stack.ABOVE_LAYERS)
    return any(include_infra_modes or not mode.is_infra_mode() for mode in modes)


_is_in_torch_dispatch_mode = any_torch_dispatch_mode_on_stack = is_in_torch_dispatch_mode


def is_in_any_mode_without_ignore_compile_internals():
    """Whether a mode is on that sees what compilers run."""
    return any(not mode.ignore_compile_internals() for mode in _stack.active())


# ---- tensor classes -------------------------------------------------------------------------------------------------------


@typing.runtime_checkable
class TensorWithFlatten(typing.Protocol):
    """A tensor class made of other tensors."""

    def __tensor_flatten__(self): ...

    @staticmethod
    def __tensor_unflatten__(inner_tensors, flatten_spec, outer_size, outer_stride): ...


TraceableWrapperSubclass = TensorWithFlatten


def is_traceable_wrapper_subclass_type(t):
    """Whether a class of tensors says which tensors it is made of, by `__tensor_flatten__` and `__tensor_unflatten__`."""
    return issubclass(t, torch.Tensor) and t is not torch.Tensor and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def is_traceable_wrapper_subclass(t):
    """Whether `t` is a tensor of such a class.

    >>> torch.utils._python_dispatch.is_traceable_wrapper_subclass(torch.ones(2))
    False
    """
    return isinstance(t, torch.Tensor) and is_traceable_wrapper_subclass_type(type(t))


def transform_subclass(t, callback, outer_size=None, outer_stride=None):
    """The tensor made anew of `callback(name, inner)` for each of the tensors that it is made of.

    Errors: AssertionError where the sizes of the result are not `outer_size`.
    """
    names, context = t.__tensor_flatten__()
    inner = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    made = type(t).__tensor_unflatten__(inner, context, size, stride)
    if tuple(made.shape) != tuple(size):
        raise AssertionError(f"transform_subclass: expected a {type(t).__name__} of the sizes {tuple(size)}, got {tuple(made.shape)}")
    return made


# ---- aliasing -------------------------------------------------------------------------------------------------------------


def _shares(out, given):
    """Lets the result of a view look at the memory of the argument."""
    if out is not given and out.untyped_storage()._cdata != given.untyped_storage()._cdata:
        torch.Tensor._share_storage(out, given)


def return_and_correct_aliasing(func, args, kwargs, out):
    """The result that `__torch_dispatch__` of a wrapper class returns for `func`: an argument that was written is returned itself, and a view's result looks at
    the memory of what it is a view of.

    Args:
        func: an overload of `torch.ops`.
        args, kwargs: of the call.
        out: what was computed.
    """
    schema = func._schema
    by_name = {a.name: v for a, v in zip(schema.arguments, args)} | dict(kwargs or {})
    aliased = {name: by_name.get(a.name) for a in schema.arguments if a.alias_info is not None for name in a.alias_info.before_set}
    several = isinstance(out, (tuple, list))
    results = list(out) if several and len(schema.returns) > 1 else [out]
    for i, r in enumerate(schema.returns[: len(results)]):
        if r.alias_info is None:
            continue
        given = next((aliased[name] for name in r.alias_info.before_set if name in aliased), None)
        if r.alias_info.is_write:
            results[i] = results[i] if given is None else given
        elif isinstance(given, torch.Tensor):
            for one in results[i] if isinstance(results[i], (tuple, list)) else [results[i]]:
                if isinstance(one, torch.Tensor):
                    _shares(one, given)
    return type(out)(results) if several and len(schema.returns) > 1 else results[0]
