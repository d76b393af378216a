"""torch.compiler: what a program asks of a compiler or tells it. This build has none, so functions are
always run as they are, and what is told about them holds already.

    >>> torch.compiler.is_compiling()
    False
"""

import functools

from ._compile import compile

__all__ = ["allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling", "is_dynamo_compiling", "is_exporting",
           "list_backends", "nested_compile_region", "reset"]  # fmt: skip


def is_compiling():
    """Whether a compiler is reading the program just now: never.

    >>> torch.compiler.is_compiling()
    False
    """
    return False


def is_dynamo_compiling():
    """As `is_compiling`.

    >>> torch.compiler.is_dynamo_compiling()
    False
    """
    return False


def is_exporting():
    """Whether the program is being exported just now: never.

    >>> torch.compiler.is_exporting()
    False
    """
    return False


def _checked(fn, what):
    if not callable(fn):
        raise AssertionError(f"{what}: expected a callable, got {type(fn).__name__}")
    return fn


def disable(fn=None, recursive=True, *, reason=None):
    """`fn`, which is not to be compiled, and with ``recursive=True`` nothing that it calls; a decorator without `fn`.

    >>> @torch.compiler.disable
    ... def plain(x):
    ...     return x + 1
    >>> plain(1)
    2
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    return _checked(fn, "disable")


def allow_in_graph(fn):
    """`fn`, or each of a list or tuple of functions, which a compiler is to take into its graph without looking inside.

    >>> torch.compiler.allow_in_graph(abs)(-1)
    1
    """
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(one) for one in fn]
    return _checked(fn, "allow_in_graph")


def assume_constant_result(fn):
    """`fn`, whose result a compiler may take for a constant.

    >>> torch.compiler.assume_constant_result(abs)(-1)
    1
    """
    return _checked(fn, "assume_constant_result")


def nested_compile_region(fn=None, *, options=None, max_reuse_entries=8, reuse_hash_fn=None):
    """`fn`, which a compiler would compile once for all its calls; a decorator without `fn`.

    >>> torch.compiler.nested_compile_region(abs)(-1)
    1
    """
    if fn is None:
        return functools.partial(nested_compile_region, options=options, max_reuse_entries=max_reuse_entries, reuse_hash_fn=reuse_hash_fn)
    return _checked(fn, "nested_compile_region")


def cudagraph_mark_step_begin():
    """Tells that a new step begins to CUDA graphs, of which there are none.

    >>> torch.compiler.cudagraph_mark_step_begin()
    """


def reset():
    """Forgets what was compiled: nothing was.

    >>> torch.compiler.reset()
    """


def list_backends(exclude_tags=("debug", "experimental")):
    """Names of the backends that `torch.compile` takes, without those of a tag to leave out: "eager", which is for debugging.

    >>> torch.compiler.list_backends(exclude_tags=None)
    ['eager']
    """
    return [] if "debug" in (exclude_tags or ()) else ["eager"]
