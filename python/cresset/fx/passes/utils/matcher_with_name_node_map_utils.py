"""Patterns that name some of their nodes."""

import copy

from ....utils import _pytree as pytree
from ..._compatibility import compatibility
from ...graph_module import GraphModule
from ...node import Node
from .matcher_utils import InternalMatch, SubgraphMatcher  # noqa: F401  names of this module in PyTorch

__all__ = ["SubgraphMatcherWithNameNodeMap"]


def _split_to_graph_and_name_node_map(gm):
    """The module with its output but for the last value, a dictionary, and that dictionary: {name: node}."""
    gm = copy.deepcopy(gm)
    output = gm.graph.output_node()
    info = getattr(gm.graph._codegen, "pytree_info", None)
    structured = info is not None and info.out_spec is not None  # the graph gives leaves, and its code puts them together
    *results, names = pytree.tree_unflatten(output.args[0], info.out_spec) if structured else output.args[0]
    if not isinstance(names, dict) or not all(isinstance(k, str) and isinstance(v, Node) for k, v in names.items()):
        raise AssertionError(f"expected the last result of the pattern to be a dictionary of names and values, got {names!r}")
    values, spec = pytree.tree_flatten(tuple(results))
    output.args = (tuple(values) if structured else tuple(results),)
    if structured:
        gm.graph._codegen.pytree_info = info._replace(out_spec=spec)
    gm.recompile()
    return gm, dict(names)


@compatibility(is_backward_compatible=False)
class SubgraphMatcherWithNameNodeMap(SubgraphMatcher):
    """A SubgraphMatcher of a pattern whose last result is {name: value}: the `name_node_map` of a match has the nodes under these names.

    >>> def pattern(a):
    ...     b = torch.relu(a)
    ...     return b.neg(), {"act": b}
    >>> utils = torch.fx.passes.utils.matcher_with_name_node_map_utils
    >>> matcher = utils.SubgraphMatcherWithNameNodeMap(torch.fx.symbolic_trace(pattern))
    >>> matcher.match(torch.fx.symbolic_trace(lambda x: torch.relu(x).neg()).graph)[0].name_node_map
    {'act': relu}
    """

    def __init__(self, pattern_gm, match_output=False, match_placeholder=False, remove_overlapping_matches=True, ignore_literals=False):
        if not isinstance(pattern_gm, GraphModule):
            raise AssertionError(f"SubgraphMatcherWithNameNodeMap: expected a GraphModule, got {type(pattern_gm).__name__}")
        pattern_gm, self.name_node_map = _split_to_graph_and_name_node_map(pattern_gm)
        self.pattern_gm = pattern_gm
        super().__init__(pattern_gm.graph, match_output, match_placeholder, remove_overlapping_matches, ignore_literals)

    def match(self, graph, node_name_match=""):
        """The places that are like the pattern."""
        matches = super().match(graph, node_name_match)
        for match in matches:
            match.name_node_map = {name: match.nodes_map[node] for name, node in self.name_node_map.items()}
        return matches
