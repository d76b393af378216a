"""Contexts that are decorators too, for classes of programs: each call of a decorated function enters a context of its own.

>>> from cresset.utils._contextlib import _DecoratorContextManager
>>> class shouting(_DecoratorContextManager):
...     def __enter__(self):
...         print("HO")
...     def __exit__(self, *_):
...         print("HA")
>>> @shouting()
... def f(x):
...     return x + 1
>>> f(1)
HO
HA
2
"""

from .._core.modes import _Context, _decorated


class _DecoratorContextManager(_Context):
    """Base of contexts that decorate functions and generator functions. A class with arguments has a `clone` that gives another one of the same."""

    def clone(self):
        """Another one of the same kind, made without arguments."""
        return type(self)()

    def _again(self):
        return self.clone()

    def __enter__(self):
        raise NotImplementedError(f"{type(self).__name__}: a context has to define __enter__")

    def __exit__(self, exc_type, exc_value, traceback):
        raise NotImplementedError(f"{type(self).__name__}: a context has to define __exit__")


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """May decorate without parentheses."""

    def __new__(cls, orig_func=None):
        self = super().__new__(cls)
        return self if orig_func is None else self(orig_func)


def context_decorator(ctx, func):
    """A function that runs `func` in a context: `ctx` itself, or what it gives when called, one for each call. TypeError for a class to decorate
    whose contexts have to be made anew, and for a context that is callable and a manager at once."""
    manager = hasattr(ctx, "__enter__") and hasattr(ctx, "__exit__")
    if manager and callable(ctx):
        raise TypeError(f"context_decorator: {ctx!r} is a context and callable; pass `lambda: context` for one that is made for each call")
    again = (lambda: ctx) if manager else ctx
    if isinstance(func, type):
        raise TypeError(f"context_decorator: expected a function, got the class {func.__name__}; decorate its methods")
    return _decorated(again, func)
