"""A mark on functions whose result is a future."""

import functools

__all__ = ["async_execution"]


def async_execution(fn):
    """Marks a function that returns a future: its caller gets the value, once it is there.

    >>> from cresset.distributed.rpc.functions import async_execution
    >>> @async_execution
    ... def soon(x):
    ...     future = torch.futures.Future(); future.set_result(x); return future
    >>> soon(3).wait()
    3
    """

    @functools.wraps(fn)
    def marked(*args, **kwargs):
        return fn(*args, **kwargs)

    marked._wrapped_async_rpc_function = fn
    return marked
