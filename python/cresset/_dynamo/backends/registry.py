"""Backends by name.

>>> from torch._dynamo import register_backend
>>> @register_backend(name="as_it_is")
... def as_it_is(gm, example_inputs):
...     return gm.forward
>>> torch.compile(lambda x: x + 1, backend="as_it_is")(torch.ones(1))
tensor([2.])
"""

import functools

from .. import exc

__all__ = ["list_backends", "lookup_backend", "register_backend", "register_debug_backend", "register_experimental_backend"]

_backends = {}


def register_backend(compiler_fn=None, name=None, tags=()):
    """Makes a function of a graph and its example inputs a backend of a name, by default its own."""

    def register(function):
        if not callable(function):
            raise TypeError(f"register_backend: expected a function, got {type(function).__name__}")
        function._tags = tuple(tags)
        _backends[name or function.__name__] = function
        return function

    return register if compiler_fn is None else register(compiler_fn)


register_debug_backend = functools.partial(register_backend, tags=("debug",))
register_experimental_backend = functools.partial(register_backend, tags=("experimental",))


def _loaded():
    from . import debugging, inductor  # noqa: F401  they register themselves


def lookup_backend(compiler_fn):
    """The backend of a name; a function is one itself. Errors: `exc.InvalidBackend` for a name that is not known."""
    if not isinstance(compiler_fn, str):
        return compiler_fn
    _loaded()
    if compiler_fn not in _backends:
        raise exc.InvalidBackend(f"torch.compile: there is no backend {compiler_fn!r}; there are {', '.join(sorted(_backends))}")
    return _backends[compiler_fn]


def list_backends(exclude_tags=("debug", "experimental")):
    """Names of the backends, without those of a tag to leave out.

    >>> "inductor" in torch.compiler.list_backends()
    True
    """
    _loaded()
    left_out = set(exclude_tags or ())
    return sorted(name for name, backend in _backends.items() if left_out.isdisjoint(getattr(backend, "_tags", ())))
