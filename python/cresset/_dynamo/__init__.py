"""torch._dynamo: what programs tell the compiler that is behind `torch.compile`. This build has none, so what they tell holds already.

>>> torch._dynamo.is_compiling()
False
"""

from ..compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset
from . import config


def mark_dynamic(t, index, *args, **kwargs):
    """Tells that a dimension of a tensor may have another size at the next call."""


def maybe_mark_dynamic(t, index, *args, **kwargs):
    """As `mark_dynamic`."""


def mark_static(t, index=None, *args, **kwargs):
    """Tells that a dimension of a tensor has always this size."""


def mark_static_address(t, guard=True):
    """Tells that a tensor stays where it is in memory."""


def mark_unbacked(t, index, *args, **kwargs):
    """Tells that the size of a dimension is not to be relied on."""


def graph_break(msg=""):
    """Tells that a graph may end here."""


def disallow_in_graph(fn):
    """`fn`, which a compiler is to call and not to take into its graph."""
    return fn


def forbid_in_graph(fn):
    """`fn`, which must not be called from what is compiled."""
    return fn


def run(fn=None):
    """`fn`, which runs what is compiled and compiles nothing new."""
    return fn if fn is not None else run
