"""Types of values, noted while tracing."""

from ._compatibility import compatibility
from .proxy import Proxy

__all__ = ["annotate"]


@compatibility(is_backward_compatible=False)
def annotate(val, type):  # noqa: A002
    """The value; while tracing its node gets the type.

    Errors: RuntimeError for a node that has another type already.

    >>> from cresset.fx.annotate import annotate
    >>> graph = torch.fx.symbolic_trace(lambda x: annotate(x, int) + 1).graph
    >>> next(iter(graph.nodes)).type
    <class 'int'>
    """
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(f"annotate: {val} has the type {val.node.type} already, got {type}")
        val.node.type = type
    return val
