"""Parts of a graph that depend on no argument, computed once."""

from cresset import nn

from ..graph_module import GraphModule, _get_attr
from .._symbolic_trace import symbolic_trace
from ..passes.split_module import split_module

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
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name, self.device_for_folded_attrs = fx_const_folded_attrs_name, device_for_folded_attrs

    def __call__(self, *args, **kwargs):
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self):
        """Compute the constant part. Errors: nothing where there is none."""
        if self.const_subgraph_module is None or self.has_folding_been_run:
            return
        self.has_folding_been_run = True
        values = self.const_subgraph_module()
        names = self.fx_const_folded_attrs_name
        for name, value in zip([names] if isinstance(names, str) else names, values if isinstance(values, tuple) else (values,), strict=True):
            setattr(self, name, nn.Parameter(value.detach(), requires_grad=value.requires_grad and value.is_floating_point()))


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
        device_for_folded_attrs: where the values go.

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
    constant, found = set(), False
    for node in traced.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        if node.op != "get_attr" and not set(node.all_input_nodes).issubset(constant):
            continue
        if (skip_folding_node_fn and skip_folding_node_fn(node)) or node.is_impure() or (node.op != "get_attr" and not node.all_input_nodes):
            continue
        constant.add(node)
        found = found or node.op != "get_attr"
    if not found:
        return FoldedGraphModule(traced, traced.graph)
    split = split_module(traced, module, lambda node: 0 if node in constant else 1)
    first, second = (next((n for n in split.graph.nodes if n.target == name), None) for name in ("submod_0", "submod_1"))
    return _folded(split, first, second, device_for_folded_attrs)


def _folded(split, first, second, device):
    """The module of what is left, with attributes in the place of the constant part's results."""
    inner, root = split.submod_0.graph, nn.Module()
    from ..graph import Graph

    constant, env = Graph(), {}
    for parameter, given in zip([n for n in inner.nodes if n.op == "placeholder"], first.args, strict=True):
        env[parameter] = constant.get_attr(given.target)
        _put(root, given.target, _get_attr(split, given.target))
    result = constant.graph_copy(inner, env)
    constant.output(result)
    for name, child in split.submod_0.named_children():
        root.add_module(name, child)
    many = isinstance(result, tuple)
    names = (
        tuple(get_unique_attr_name_in_module(split, f"_FX_CONST_FOLDED_ATTRS_{i}") for i in range(len(result)))
        if many
        else get_unique_attr_name_in_module(split, "_FX_CONST_FOLDED_ATTRS")
    )
    graph, values = Graph(), {}
    for node in split.graph.nodes:
        if node is first:
            continue
        if node.op == "placeholder":
            values[node] = graph.node_copy(node)
        elif node.op == "get_attr":
            if any(user is not first for user in node.users):
                values[node] = graph.node_copy(node)
                _put(root, node.target, _get_attr(split, node.target))
    _add_folded(graph, values, split, first, names if many else (names,), many, root)
    _inline(graph, values, split, second, root)
    graph.output(_mapped(split.graph.output_node().args[0], values))
    return FoldedGraphModule(root, graph, constant, names, device)


def _put(root, path, value):
    from ..graph_module import _assign_attr

    _assign_attr(value, root, path)


def _add_folded(graph, values, split, first, names, many, root):
    for name in names:
        root.register_parameter(name, nn.Parameter(_empty(), requires_grad=False))
    made = [graph.get_attr(name) for name in names]
    if not many:
        values[first] = made[0]
        return
    for node in split.graph.nodes:
        if node.op == "call_function" and node.args and node.args[0] is first:
            values[node] = made[node.args[1]]


def _empty():
    import cresset as torch

    return torch.empty(0)


def _mapped(value, values):
    from ..node import map_arg

    return map_arg(value, values.__getitem__)


def _inline(graph, values, split, second, root):
    """Puts the nodes of the other part into the graph."""
    if second is None:
        return
    inner = split.submod_1.graph
    env = {p: values[given] for p, given in zip([n for n in inner.nodes if n.op == "placeholder"], second.args, strict=True)}
    result = graph.graph_copy(inner, env)
    for name, child in split.submod_1.named_children():
        root.add_module(name, child)
    values[second] = result
    for node in split.graph.nodes:
        if node.op == "call_function" and node.args and node.args[0] is second:
            values[node] = result[node.args[1]]
