"""`dispatch`, which makes functions of one name a single one."""

import inspect

from .dispatcher import Dispatcher, MethodDispatcher

__all__ = ["dispatch"]

global_namespace = {}


def dispatch(*types, **kwargs):
    """A decorator: the function serves arguments of these types, beside others of its name.

    Args:
        types: a class, or a tuple of classes, for each argument.
        namespace: a dictionary in which names are looked up; a common one by default.

    >>> dispatch = torch.fx.experimental.unification.multipledispatch.dispatch
    >>> space = {}
    >>> @dispatch(int, namespace=space)
    ... def describe(x):
    ...     return "a whole number"
    >>> @dispatch((float, complex), namespace=space)
    ... def describe(x):
    ...     return "a number"
    >>> describe(1), describe(1.0)
    ('a whole number', 'a number')
    """
    space = kwargs.get("namespace", global_namespace)

    def add(function):
        name = function.__name__
        if next(iter(inspect.signature(function).parameters), None) == "self":
            # Methods of one class are together in its body.
            chosen = inspect.currentframe().f_back.f_locals.get(name) or MethodDispatcher(name)
        else:
            chosen = space.setdefault(name, Dispatcher(name))
        chosen.add(types, function)
        return chosen

    return add
