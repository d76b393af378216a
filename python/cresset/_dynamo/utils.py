"""Counters of the compiler.

>>> torch._dynamo.utils.counters["stats"]["no_such_count"]
0
"""

import collections
import contextlib
import functools
import sys
import warnings

from . import config

#: Kind -> Counter: "graph_break" by reason, "stats" ("unique_graphs", "calls_captured", "recompiles").
counters = collections.defaultdict(collections.Counter)


@functools.cache
def warn_once(msg, stacklevel=1):
    """Warns, but never twice with the same message.

    >>> torch._dynamo.utils.warn_once("told once")
    >>> torch._dynamo.utils.warn_once("told once")
    """
    warnings.warn(msg, stacklevel=stacklevel + 1)


def is_compile_supported(device_type):
    """Whether `torch.compile` makes code for tensors of a device here.

    >>> torch._dynamo.utils.is_compile_supported("cpu"), torch._dynamo.utils.is_compile_supported("meta")
    (True, False)
    """
    import cresset as torch

    from .eval_frame import is_dynamo_supported

    return torch.device(device_type).type == "cpu" and is_dynamo_supported()


@contextlib.contextmanager
def disable_cache_limit():
    """Within it functions are captured anew as often as their arguments ask for it.

    >>> with torch._dynamo.utils.disable_cache_limit():
    ...     torch._dynamo.config.recompile_limit > 1000
    True
    """
    with config.patch(recompile_limit=sys.maxsize, accumulated_recompile_limit=sys.maxsize):
        yield


class CompileProfiler:
    """A backend that counts graphs and their calls.

    >>> counted = torch._dynamo.utils.CompileProfiler()
    >>> _ = torch.compile(lambda x: x + 1, backend=counted)(torch.ones(2))
    >>> counted.frame_count
    1
    """

    def __init__(self):
        self.frame_count = self.op_count = 0

    def __call__(self, gm, example_inputs):
        self.frame_count += 1
        self.op_count += sum(node.op.startswith("call_") for node in gm.graph.nodes)
        return gm.forward

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass
