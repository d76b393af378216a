"""Classes and modes that take PyTorch's calls over, by `__torch_function__`.

>>> class Counts(torch.overrides.TorchFunctionMode):
...     calls = 0
...     def __torch_function__(self, func, types, args=(), kwargs=None):
...         self.calls += 1
...         return func(*args, **(kwargs or {}))
>>> with Counts() as mode:
...     _ = torch.ones(2).sum()
>>> mode.calls
2
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types

import _cresset
import cresset as torch

__all__ = [
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "resolve_name",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "wrap_torch_function",
    "enable_reentrant_dispatch",
    "redispatch_function",
]

has_torch_function_variadic = _cresset._has_torch_function_variadic
_GETTER = type(torch.Tensor.shape.__get__)
# Functions without a tensor argument, or whose arguments are data; modes alone see them.
_IGNORED = (
    "arange as_tensor asarray bartlett_window blackman_window broadcast_shapes can_cast empty empty_permuted empty_strided eye frombuffer from_file "
    "from_numpy full get_default_device get_default_dtype get_num_threads get_rng_state hamming_window hann_window init_num_threads initial_seed "
    "is_grad_enabled is_inference_mode_enabled is_storage is_tensor kaiser_window linspace load logspace manual_seed normal ones promote_types rand "
    "randint randn randperm range result_type save scalar_tensor seed set_default_device set_printoptions set_rng_state tensor tril_indices "
    "triu_indices typename vander zeros"
).split()
_IGNORED_METHODS = "as_strided new new_empty new_empty_strided new_full new_ones new_tensor new_zeros stride unflatten".split()


def has_torch_function(relevant_args):
    """Whether one of the arguments, or an active mode, takes a call over.

    >>> torch.overrides.has_torch_function((torch.ones(1), 2))
    False
    """
    return _cresset._has_torch_function(relevant_args)


def has_torch_function_unary(obj):
    """`has_torch_function` of one argument."""
    return has_torch_function_variadic(obj)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Hands a call to the modes, then to the classes of `relevant_args`, subclasses first.

    Args:
        public_api: the function that was called.
        relevant_args: the arguments that may take the call over.
        *args, **kwargs: all arguments of the call.

    Errors: TypeError where everybody answers NotImplemented.

    >>> class Mine:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return "mine"
    >>> def double(x):
    ...     if torch.overrides.has_torch_function((x,)):
    ...         return torch.overrides.handle_torch_function(double, (x,), x)
    ...     return x * 2
    >>> double(Mine())
    'mine'
    """
    return _cresset._handle_torch_function(public_api, relevant_args, *args, **kwargs)


def redispatch_function(func, types, args, kwargs):
    """Calls `func` itself from within `__torch_function__`; what it calls in turn is handed over again.

    >>> class Notes(torch.Tensor):
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return torch.overrides.redispatch_function(func, types, args, kwargs)
    >>> type(torch.exp(Notes([0.0]))).__name__
    'Tensor'
    """
    return _cresset._redispatch(func, tuple(args), kwargs or {})


def wrap_torch_function(dispatcher):
    """A decorator that lets a function be taken over; `dispatcher` has its arguments and returns those that may do so.

    >>> @torch.overrides.wrap_torch_function(lambda x: (x,))
    ... def double(x):
    ...     return x * 2
    >>> double(3)
    6
    """

    def decorate(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def _get_overloaded_args(relevant_args, get_type_fn=None):
    """Those arguments that take calls over: one of each type, from left to right, subclasses before their bases."""
    type_of = get_type_fn or type
    found = []
    for arg in relevant_args:
        cls = type_of(arg)
        override = getattr(cls, "__torch_function__", None)
        if override is None or override is _cresset._disabled_torch_function_impl or cls in (torch.Tensor, torch.nn.Parameter):
            continue
        if any(type_of(other) is cls for other in found):
            continue
        at = next((i for i, other in enumerate(found) if issubclass(cls, type_of(other))), len(found))
        found.insert(at, arg)
    return found


# ---- what there is to take over ---------------------------------------------------------------------------------------------


def _namespaces():
    yield "torch", torch
    yield "torch.nn.functional", torch.nn.functional
    for name in ("functional", "linalg", "fft", "special"):
        with contextlib.suppress(AttributeError):
            yield f"torch.{name}", getattr(torch, name)


def _is_operator(value):
    return type(value) is type(torch.add) or (isinstance(value, types.FunctionType) and getattr(value, "_overridable", False))


@functools.lru_cache(None)
def _everything():
    """{namespace: {function: its full name}}; and {function that is left out: its full name}."""
    found, ignored = {}, {}
    for title, space in _namespaces():
        names = found.setdefault(space, {})
        if title == "torch":
            ignored.update((getattr(space, name), f"{title}.{name}") for name in _IGNORED if hasattr(space, name))
        for name, value in vars(space).items():
            if title == "torch" and name in _IGNORED:
                continue
            if title == "torch" and name.startswith(("fft_", "linalg_", "special_")):
                continue
            elif not name.startswith("_") and _is_operator(value):
                names.setdefault(value, f"{title}.{name}")
    names = found.setdefault(torch.Tensor, {})
    for name, value in vars(torch.Tensor).items():
        if name in _IGNORED_METHODS or name in ("__torch_function__", "__new__", "__init__", "__dict__", "__weakref__", "__doc__", "__module__"):
            if callable(value):
                ignored.setdefault(value, f"torch.Tensor.{name}")
        elif isinstance(value, types.GetSetDescriptorType):
            names.setdefault(value.__get__, f"torch.Tensor.{name}.__get__")
        elif isinstance(value, property):
            names.setdefault(value.fget, f"torch.Tensor.{name}.__get__")
        elif type(value) is type(torch.Tensor.add) or isinstance(value, (types.MethodDescriptorType, types.WrapperDescriptorType)) or _is_operator(value):
            names.setdefault(value, f"torch.Tensor.{name}")
    return found, ignored


def get_overridable_functions():
    """{namespace: its functions that can be taken over}; the methods and properties of Tensor are under the class.

    >>> torch.add in torch.overrides.get_overridable_functions()[torch]
    True
    """
    return {space: list(names) for space, names in _everything()[0].items()}


def get_ignored_functions():
    """The public functions that no argument takes over.

    >>> torch.zeros in torch.overrides.get_ignored_functions()
    True
    """
    return set(_everything()[1])


def _answer_of(function):
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        signature = None

    def answer(*args, **kwargs):
        return -1

    if isinstance(function, _GETTER):
        return lambda self: -1
    if signature is not None:
        answer.__signature__ = signature
    return answer


def get_testing_overrides():
    """{function that can be taken over: a stand-in that returns -1}, to test that a class covers them.

    >>> torch.overrides.get_testing_overrides()[torch.add](1, 2)
    -1
    """
    return {function: _answer_of(function) for names in _everything()[0].values() for function in names}


def resolve_name(f):
    """The full name of a function that can be taken over or that modes see, else None.

    >>> torch.overrides.resolve_name(torch.Tensor.add), torch.overrides.resolve_name(torch.ops.aten.add.Tensor)
    ('torch.Tensor.add', 'aten.add.Tensor')
    """
    if isinstance(f, (type(torch.ops.aten.add), type(torch.ops.aten.add.Tensor))):
        return str(f)
    if isinstance(f, types.FunctionType) and vars(torch.nn.init).get(f.__name__) is f:
        return f"torch.nn.init.{f.__name__}"
    found, ignored = _everything()
    for names in (*found.values(), ignored):
        with contextlib.suppress(TypeError):
            if f in names:
                return names[f]
    return None


def is_tensor_method_or_property(func):
    """Whether this is a method of Tensor, or the getter of one of its properties.

    >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add), torch.overrides.is_tensor_method_or_property(torch.add)
    (True, False)
    """
    return func in _everything()[0][torch.Tensor] or getattr(func, "__name__", None) == "__get__"


def is_tensor_like(inp):
    """Whether this is a tensor, or an object that takes calls over.

    >>> torch.overrides.is_tensor_like(torch.ones(1)), torch.overrides.is_tensor_like([1])
    (True, False)
    """
    return type(inp) is torch.Tensor or hasattr(inp, "__torch_function__")


# ---- modes ------------------------------------------------------------------------------------------------------------------


class TorchFunctionMode:
    """Takes over every call in a `with` block, also those without a tensor. The calls of its own `__torch_function__` go to the modes around it.

    >>> class Doubles(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         return func(*args, **(kwargs or {})) * 2
    >>> with Doubles():
    ...     x = torch.ones(2)
    >>> x
    tensor([2., 2.])
    """

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{type(self).__name__}: a mode has a __torch_function__(self, func, types, args=(), kwargs=None)")

    def __enter__(self):
        _cresset._push_mode(self)
        return self

    def __exit__(self, kind, value, traceback):
        if _cresset._modes()[-1:] != [self]:
            raise RuntimeError(f"{type(self).__name__}: cannot be left here, where it is not the innermost mode; modes are left in the order of `with`")
        _cresset._pop_mode()

    @classmethod
    def push(cls, *args, **kwargs):
        """The same as making one."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_function_mode():
    modes = _cresset._modes()
    return modes[-1] if modes else None


def _get_current_function_mode_stack():
    return _cresset._modes()


def _push_mode(mode):
    _cresset._push_mode(mode)


def _pop_mode():
    return _cresset._pop_mode()


@contextlib.contextmanager
def _pop_mode_temporarily():
    mode = _pop_mode()
    try:
        yield mode
    finally:
        _push_mode(mode)


@contextlib.contextmanager
def enable_reentrant_dispatch():
    """A scope in a `__torch_dispatch__` in which gradients of calls are recorded, as outside of it: the tensors that a class holds may require them.

    >>> with torch.overrides.enable_reentrant_dispatch():
    ...     torch.ones(1)
    tensor([1.])
    """
    before = _cresset._wake_autograd()
    try:
        yield
    finally:
        _cresset._wake_autograd(before)
