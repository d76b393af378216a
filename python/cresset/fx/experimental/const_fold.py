"""Parts of a graph that depend on no argument, computed once."""

import cresset as torch
from cresset import nn

from .._paths import _copy_attr
from .._symbolic_trace import symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule

__all__ = ["FoldedGraphModule", "split_const_subgraphs", "get_unique_attr_name_in_module"]


class FoldedGraphModule(GraphModule):
    """A GraphModule whose constant part runs before its first call, or at `run_folding`.

    >>> model = nn.Module()
    >>> issubclass(torch.fx.experimental.const_fold.FoldedGraphModule, torch.fx.GraphModule)
    True
    """

    def __init__(self, root, graph, const_subgraph=None, fx_const_folded_attrs_name=None, device_for_folded_attrs="cpu"):
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.fx_const_folded_attrs_name, self.device_for_folded_attrs = fx_const_folded_attrs_name, device_for_folded_attrs
        self.has_folding_been_run = const_subgraph is None

    def __call__(self, *args, **kwargs):
        self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self):
        """Compute the constant part, once, if there is one."""
        if self.has_folding_been_run:
            return
        values, names = self.const_subgraph_module(), self.fx_const_folded_attrs_name
        for name, value in [(names, values)] if isinstance(names, str) else zip(names, values, strict=True):
            if not isinstance(value, torch.Tensor):
                value = torch.tensor([float(value)], device=self.device_for_folded_attrs)
            setattr(self, name, nn.Parameter(value.detach(), requires_grad=value.requires_grad and value.is_floating_point()))
        self.has_folding_been_run = True


def get_unique_attr_name_in_module(mod_traced, name):
    """A name that a module does not have, made of a proposal.

    >>> torch.fx.experimental.const_fold.get_unique_attr_name_in_module(nn.Linear(2, 2), "weight")
    'weight_1'
    """
    clean = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    clean = f"_{clean}" if clean[:1].isdigit() else clean
    base, number = clean, 0
    while hasattr(mod_traced, clean):
        number += 1
        clean = f"{base}_{number}"
    return clean


def split_const_subgraphs(module, skip_folding_node_fn=None, device_for_folded_attrs="cpu"):
    """A FoldedGraphModule of a module: the nodes that depend on constants alone are computed once.

    Args:
        module: the module, or a GraphModule.
        skip_folding_node_fn: says of a node that it is not to be computed beforehand.
        device_for_folded_attrs: where numbers go, which become tensors; tensors stay where they are.

    >>> class Doubled(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = nn.Parameter(torch.ones(2))
    ...     def forward(self, x):
    ...         return x * (self.weight + 1)
    >>> folded = torch.fx.experimental.const_fold.split_const_subgraphs(Doubled())
    >>> folded(torch.ones(2)).tolist(), [node.op for node in folded.graph.nodes]
    ([2.0, 2.0], ['placeholder', 'get_attr', 'call_function', 'output'])
    """
    traced = module if isinstance(module, GraphModule) else symbolic_trace(module)
    known = _known_nodes(traced.graph, skip_folding_node_fn)
    results = [n for n in known if n.op != "get_attr" and not known.issuperset(n.users)]
    if not results:
        return FoldedGraphModule(traced, traced.graph)
    root, prefix = nn.Module(), "_FX_CONST_FOLDED_ATTRS"
    for node in traced.graph.nodes.of("get_attr", "call_module"):
        _copy_attr(traced, root, node.target)
    names = [get_unique_attr_name_in_module(root, prefix if len(results) == 1 else f"{prefix}_{i}") for i in range(len(results))]
    for name in names:
        root.register_parameter(name, nn.Parameter(torch.empty(0), requires_grad=False))
    early, late = _early(known, results), _late(traced.graph, known, dict(zip(results, names)))
    return FoldedGraphModule(root, late, early, names[0] if len(names) == 1 else tuple(names), device_for_folded_attrs)


class _InOrder(dict):
    """A set of nodes in their order."""

    def issuperset(self, nodes):
        return all(node in self for node in nodes)


def _known_nodes(graph, skip):
    """The nodes that depend on attributes of the module alone."""
    known = _InOrder()
    for node in graph.nodes:
        used = node.all_input_nodes
        computed = node.op.startswith("call_") and used and known.issuperset(used)
        if (computed or node.op == "get_attr") and not node.is_impure() and not (skip and skip(node)):
            known[node] = None
    return known


def _early(known, results):
    """The graph that computes the results."""
    graph, copies = Graph(), {}
    for node in known:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    values = tuple(copies[node] for node in results)
    graph.output(values[0] if len(values) == 1 else values)
    graph.eliminate_dead_code(lambda node: node.op == "output")
    return graph


def _late(old, known, attributes):
    """The graph of what is left, where attributes stand for the results."""
    graph, copies = Graph(), {}
    for node in old.nodes.of("placeholder"):
        copies[node] = graph.node_copy(node)
    for node, name in attributes.items():
        copies[node] = graph.get_attr(name)
        copies[node].meta = dict(node.meta)
    for node in old.nodes:
        if node not in copies and (node not in known or not known.issuperset(node.users)):
            copies[node] = graph.node_copy(node, copies.__getitem__)
    return graph
