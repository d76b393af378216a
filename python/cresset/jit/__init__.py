"""torch.jit, without a compiler for TorchScript: the annotations that programs carry for one, and `script`, which leaves a function to Python.

Functions that need the compiled form are absent: `trace`, `freeze`, `save` and `load`. The tensors of archives that `torch.jit.save` wrote can be listed
(``python -m cresset.io inspect FILE``).

    >>> torch.jit.is_scripting()
    False
"""

import functools
import typing
from typing import Final

from ..futures import Future

__all__ = ["Attribute", "Error", "Final", "Future", "ScriptFunction", "TracerWarning", "annotate", "export", "fork", "ignore", "interface", "is_scripting",
           "is_tracing", "isinstance", "script", "script_if_tracing", "unused", "wait"]  # fmt: skip

_is = isinstance


class Error(RuntimeError):
    """Error of TorchScript in PyTorch; here it names what an `except` clause asks for.

    >>> issubclass(torch.jit.Error, RuntimeError)
    True
    """


class TracerWarning(Warning):
    """Warning of PyTorch's tracer.

    >>> issubclass(torch.jit.TracerWarning, Warning)
    True
    """


class Attribute(typing.NamedTuple):
    """A value and the type that it is to have.

    >>> torch.jit.Attribute(1, int).value
    1
    """

    value: typing.Any
    type: typing.Any


def is_scripting():
    """Whether a compiler of TorchScript is reading the function just now: never.

    >>> torch.jit.is_scripting()
    False
    """
    return False


def is_tracing():
    """Whether `trace` is recording just now: never.

    >>> torch.jit.is_tracing()
    False
    """
    return False


def annotate(the_type, the_value):
    """`the_value`, which a compiler is to take for a `the_type`.

    >>> torch.jit.annotate(list[int], [])
    []
    """
    return the_value


def isinstance(obj, target_type):
    """Whether `obj` is of `target_type`, a class, a type with arguments such as ``list[int]``, whose elements are looked at too, or a tuple of these.

    >>> torch.jit.isinstance([1, 2], list[int]), torch.jit.isinstance([1, "a"], list[int])
    (True, False)
    """
    if _is(target_type, tuple):
        return any(isinstance(obj, one) for one in target_type)
    origin, arguments = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        if target_type in (list, dict, tuple, typing.List, typing.Dict, typing.Tuple, typing.Optional):
            raise RuntimeError(f"torch.jit.isinstance: expected a type with its arguments, such as list[int], got {target_type}")
        return target_type is typing.Any or _is(obj, type(None) if target_type is None else target_type)
    if origin is list:
        return _is(obj, list) and all(isinstance(item, arguments[0]) for item in obj)
    if origin is dict:
        return _is(obj, dict) and all(isinstance(k, arguments[0]) and isinstance(v, arguments[1]) for k, v in obj.items())
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return _is(obj, tuple) and all(isinstance(item, arguments[0]) for item in obj)
        return _is(obj, tuple) and len(obj) == len(arguments) and all(map(isinstance, obj, arguments))
    return any(isinstance(obj, one) for one in arguments)


def export(fn):
    """`fn`, a method that a compiler is to compile though `forward` does not call it.

    >>> torch.jit.export(abs)(-1)
    1
    """
    return fn


def unused(fn):
    """`fn`, which a compiler is to replace by an error.

    >>> torch.jit.unused(abs)(-1)
    1
    """
    return fn


def ignore(drop=False, **kwargs):
    """The function, which a compiler is to leave to Python; a decorator where it is called with ``drop=`` or nothing.

    Errors: RuntimeError where `drop` is neither a bool nor a function.

    >>> @torch.jit.ignore
    ... def plain(x):
    ...     return x + 1
    >>> plain(1)
    2
    """
    if callable(drop):
        return drop
    if not _is(drop, bool):
        raise RuntimeError(f"torch.jit.ignore: expected a function or drop=True or False, got {drop!r}")
    return lambda fn: fn


def interface(obj):
    """The class `obj`, whose methods tell what modules have in common.

    Errors: RuntimeError where `obj` is no class.

    >>> @torch.jit.interface
    ... class Doubles:
    ...     def forward(self, x): ...
    """
    if not _is(obj, type):
        raise RuntimeError(f"torch.jit.interface: expected a class, got {type(obj).__name__}")
    return obj


class ScriptFunction:
    """A function that `script` was given. It runs in Python; what PyTorch would tell of its compiled form (`graph`, `code`, `save`) is not there.

    >>> torch.jit.script(abs)(-1)
    1
    """

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.name = getattr(function, "__name__", type(function).__name__)

    def __call__(self, *args, **kwargs):
        return self.__wrapped__(*args, **kwargs)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name):
        raise AttributeError(
            f"ScriptFunction {self.__dict__.get('name')!r} has no {name!r}: Cresset has no compiler for TorchScript, the function runs in Python",
            name=name,
            obj=self,
        )

    def __reduce__(self):
        return type(self), (self.__wrapped__,)


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """A function that computes what the function `obj` does, by calling it; modules, classes and what is scripted already are returned as they are.

    Errors: TypeError where `obj` is neither a function, a module nor a class; RuntimeError for `example_inputs`, which wants a tracer.

    >>> @torch.jit.script
    ... def doubled(x):
    ...     return 2 * x
    >>> doubled(torch.ones(1))
    tensor([2.])
    """
    from ..nn import Module

    if example_inputs is not None:
        raise RuntimeError("torch.jit.script: example_inputs want a tracer of types, which Cresset does not have")
    if _is(obj, (Module, ScriptFunction, type)):
        return obj
    if not callable(obj):
        raise TypeError(f"torch.jit.script: expected a function, module or class, got {type(obj).__name__}")
    return ScriptFunction(obj)


def script_if_tracing(fn):
    """`fn`, which PyTorch compiles at its first call while it traces.

    >>> torch.jit.script_if_tracing(abs)(-1)
    1
    """
    return fn


def fork(func, *args, **kwargs):
    """Calls `func` and returns a complete Future of its result, as PyTorch does outside of TorchScript. Raises what `func` raises.

    >>> torch.jit.fork(abs, -1).wait()
    1
    """
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future):
    """The result of what was forked.

    >>> torch.jit.wait(torch.jit.fork(abs, -1))
    1
    """
    return future.wait()
