"""Functions written in Python, which classes and modes with `__torch_function__` take over as they do operators."""

import functools
import types

from _cresset import Tensor, _hand_over, _taken_over


def _spelled_out(function, args, kwargs):
    """The arguments as functions of PyTorch hand them over: those with defaults by their names, all of them."""
    import inspect  # which takes long to load

    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return args, kwargs
    bound.apply_defaults()
    placed, named = [], {}
    for name, parameter in bound.signature.parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            placed += bound.arguments[name]
        elif parameter.kind is parameter.VAR_KEYWORD:
            named.update(bound.arguments[name])
        elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
            placed.append(bound.arguments[name])
        else:
            named[name] = bound.arguments[name]
    return tuple(placed), named


def overridable(function, home, spelled_out=False):
    """The function as one that may be taken over; it is known as one of the module `home`."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        if _taken_over(args, kwargs):
            return _hand_over(call, *(_spelled_out(function, args, kwargs) if spelled_out else (args, kwargs)))
        return function(*args, **kwargs)

    call.__module__ = home
    call._overridable = True
    return call


def replace(names, home, but=()):
    """Makes all public functions of Python among the names of a module overridable."""
    for name, value in list(names.items()):
        if isinstance(value, types.FunctionType) and not name.startswith("_") and name not in but and not hasattr(value, "_overridable"):
            names[name] = overridable(value, home, spelled_out=True)


def replace_methods():
    """The same for the methods of Tensor, also those with underscores, but for what reads the class itself."""
    for name, value in list(vars(Tensor).items()):
        if isinstance(value, types.FunctionType) and name not in (
            "__deepcopy__",
            "__reduce_ex__",
            "__format__",
            "__iter__",
            "__array__",
            "__array_wrap__",
            "numpy",
        ):
            method = overridable(value, "cresset")
            method.__name__, method.__qualname__ = name, f"Tensor.{name}"
            setattr(Tensor, name, method)
