"""torch.fx, of which there is what programs ask or tell a tracer, that Cresset does not have: `wrap` marks a function, and nothing is a `Proxy`.

>>> torch.fx.wrap(abs) is abs
True
"""

__all__ = ["Proxy", "wrap"]


class Proxy:
    """Stand-in for a tensor while a program is traced. Errors: RuntimeError when one is made, for want of a tracer.

    >>> isinstance(torch.ones(1), torch.fx.Proxy)
    False
    """

    def __init__(self, node, tracer=None):
        raise RuntimeError("torch.fx.Proxy: Cresset has no tracer, whose values these are")


def wrap(fn_or_name):
    """The function, or a name of the module that calls, which symbolic tracing is not to look into.

    Errors: RuntimeError where it is neither.

    >>> @torch.fx.wrap
    ... def opaque(x):
    ...     return len(x)
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(f"torch.fx.wrap: expected a function or the name of one, got {type(fn_or_name).__name__}")
    return fn_or_name
