"""Types of items, from those of the lists and tuples that they are taken from."""

import operator
import typing

from .._compatibility import compatibility

__all__ = ["annotate_getitem_nodes"]


@compatibility(is_backward_compatible=False)
def annotate_getitem_nodes(graph):
    """Give the nodes that take an item of a value with a type the type of the item.

    >>> def f(pair: tuple[int, str]):
    ...     return pair[1]
    >>> graph = torch.fx.symbolic_trace(f).graph
    >>> torch.fx.passes.annotate_getitem_nodes.annotate_getitem_nodes(graph)
    >>> list(graph.nodes)[1].type
    <class 'str'>
    """
    for node in graph.nodes:
        if node.target is not operator.getitem:
            continue
        source, index = node.args
        kind = source.type
        if kind is None:
            continue
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if origin is tuple and inner:
            if len(inner) == 2 and inner[1] is ...:
                node.type = inner[0]
            elif isinstance(index, int) and -len(inner) <= index < len(inner):
                node.type = inner[index]
        elif origin is list and inner:
            node.type = inner[0]
        elif hasattr(kind, "_fields") and isinstance(index, int):
            node.type = kind.__annotations__.get(kind._fields[index])
