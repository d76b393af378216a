"""How calls of functions written in Python appear in graphs: arguments without a default by position, all others by name, with their values."""

import functools
import inspect
import types


@functools.lru_cache(None)
def _parameters(function):
    return inspect.signature(function).parameters


def as_recorded(function, args, kwargs):
    """The arguments of a call in the form that graphs have."""
    if not isinstance(function, types.FunctionType) or not getattr(function, "_overridable", False):
        return args, kwargs
    parameters = _parameters(function)
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters.values()):
        return args, kwargs
    values = dict(zip(parameters, args))
    if len(args) > len(parameters) or not kwargs.keys() <= parameters.keys() or kwargs.keys() & values.keys():
        return args, kwargs
    values.update(kwargs)
    if any(name not in values and p.default is p.empty for name, p in parameters.items()):
        return args, kwargs
    positional = tuple([values[name] for name, p in parameters.items() if p.default is p.empty and p.kind is not p.KEYWORD_ONLY])
    named = {name: values.get(name, p.default) for name, p in parameters.items() if p.default is not p.empty or p.kind is p.KEYWORD_ONLY}
    return positional, named
