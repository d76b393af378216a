"""torch.fx, of which there is `wrap` only: programs mark functions with it, for a tracer that Cresset does not have.

    >>> torch.fx.wrap(abs) is abs
    True
"""

__all__ = ["wrap"]


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
