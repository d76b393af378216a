"""Graphs of operators, tidied: equal calls once, packets in place of overloads."""

import operator

from .._core.operators import OpOverload
from ..fx import GraphModule
from ..fx.passes.dialect.common.cse_pass import CSEPass

__all__ = ["fx_graph_cse", "get_aten_target", "get_outputs", "get_placeholders", "raise_getitems", "strip_overloads"]


def get_aten_target(node):
    """The operator that a node calls, without the overload.

    >>> from cresset._functorch.compile_utils import get_aten_target
    >>> from cresset.fx.experimental.proxy_tensor import make_fx
    >>> graph = make_fx(lambda x: x + 1)(torch.ones(2)).graph
    >>> [str(get_aten_target(node)) for node in graph.find_nodes(op="call_function", target=torch.ops.aten.add.Tensor)]
    ['aten.add']
    """
    return getattr(node.target, "overloadpacket", node.target)


def fx_graph_cse(fx_g):
    """A copy of a graph in which equal calls stand once; those that draw numbers, write, or have effects stay.

    >>> from cresset._functorch.compile_utils import fx_graph_cse
    >>> graph = torch.fx.symbolic_trace(lambda x: torch.sin(x) + torch.sin(x)).graph
    >>> [node.name for node in fx_graph_cse(graph).nodes]
    ['x', 'sin', 'add', 'output']
    """
    owner = fx_g.owning_module if fx_g.owning_module is not None else {}
    return CSEPass().call(GraphModule(owner, fx_g)).graph_module.graph


def strip_overloads(gm):
    """Puts operators without overloads, which take their arguments as functions of the package do, in the place of overloads, in the module itself."""
    for node in gm.graph.nodes:
        if isinstance(node.target, OpOverload):
            node.target = node.target.overloadpacket
    gm.recompile()


def get_placeholders(graph):
    """The inputs of a graph."""
    return list(graph.find_nodes(op="placeholder"))


def get_outputs(graph):
    """The nodes that a graph returns, however they are nested."""
    return list(graph.output_node().all_input_nodes)


def raise_getitems(gm):
    """Puts the items of results right behind the calls that give them; returns the module."""
    for node in gm.graph.find_nodes(op="call_function", target=operator.getitem):
        node.args[0].append(node)
    gm.recompile()
    return gm
