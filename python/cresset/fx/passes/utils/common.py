"""Graphs as modules, and graphs compared."""

from cresset import nn

from ..._compatibility import compatibility
from ...graph_module import GraphModule

from .matcher_utils import SubgraphMatcher

__all__ = ["HolderModule", "lift_subgraph_as_module", "compare_graphs"]


@compatibility(is_backward_compatible=False)
class HolderModule(nn.Module):
    """A module that only holds others.

    >>> [name for name, _ in torch.fx.passes.utils.common.HolderModule({"act": nn.ReLU()}).named_children()]
    ['act']
    """

    def __init__(self, d):
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


@compatibility(is_backward_compatible=False)
def lift_subgraph_as_module(gm, subgraph, comp_name="", class_name="GraphModule"):
    """A GraphModule of a graph whose nodes name attributes of another module.

    Args:
        gm: the other module.
        subgraph: the graph.
        comp_name: what paths in the other module begin with.
        class_name: the name of the class.

    Returns the module, and {path in it: path in the other module}.

    >>> traced = torch.fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    >>> graph = torch.fx.Graph()
    >>> _ = graph.output(graph.call_module("0", (graph.placeholder("x"),)))
    >>> lifted, paths = torch.fx.passes.utils.common.lift_subgraph_as_module(traced, graph)
    >>> paths
    {'0': '0'}
    """
    submodule = HolderModule({})
    paths = {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr") or not isinstance(node.target, str) or node.target in paths:
            continue
        *prefix, last = node.target.split(".")
        source, target = gm, submodule
        for part in prefix:
            source = getattr(source, part)
            if not hasattr(target, part):
                target.add_module(part, HolderModule({}))
            target = getattr(target, part)
        setattr(target, last, getattr(source, last))
        paths[node.target] = f"{comp_name}.{node.target}" if comp_name else node.target
    return GraphModule(submodule, subgraph, class_name), paths


@compatibility(is_backward_compatible=False)
def compare_graphs(left, right):
    """Whether two graphs compute the same in the same steps, whatever their names.

    >>> a, b = (torch.fx.symbolic_trace(f).graph for f in (lambda x: x + 1, lambda y: y + 1))
    >>> torch.fx.passes.utils.common.compare_graphs(a, b)
    True
    """
    if len(left.nodes) != len(right.nodes):
        return False
    return len(SubgraphMatcher(left, match_output=True, match_placeholder=True).match(right)) > 0
