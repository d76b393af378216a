"""Boxed functions: of one list of arguments, which they may empty, so that tensors are released as soon as they are not needed."""

import functools

__all__ = ["call_boxed", "make_boxed_compiler", "make_boxed_func"]


def make_boxed_func(f):
    """A boxed function that calls `f` with the list's items.

    >>> from cresset.functorch.compile import make_boxed_func
    >>> make_boxed_func(lambda x, y: x + y)([1, 2])
    3
    """

    def boxed(args):
        return f(*args)

    boxed._boxed_call = True
    return boxed


def make_boxed_compiler(compiler):
    """A compiler whose functions are boxed.

    >>> from cresset.functorch.compile import aot_function, make_boxed_compiler, nop
    >>> aot_function(torch.sin, make_boxed_compiler(nop))(torch.zeros(2))
    tensor([0., 0.])
    """

    @functools.wraps(compiler)
    def compile_boxed(graph, inputs):
        return make_boxed_func(compiler(graph, inputs))

    return compile_boxed


def call_boxed(function, args):
    """Calls a boxed function with a list, or a plain one with its items; returns a tuple or list of results."""
    found = function(args) if getattr(function, "_boxed_call", False) is True else function(*args)
    return found if isinstance(found, (tuple, list)) else (found,)
