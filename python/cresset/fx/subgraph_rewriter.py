"""Parts of a graph that are like a pattern, replaced by another piece.

>>> traced = torch.fx.symbolic_trace(lambda x: x.relu().neg() + 1)
>>> matches = torch.fx.replace_pattern(traced, lambda v: v.relu().neg(), lambda v: v.clamp(max=0))
>>> len(matches), [node.target for node in traced.graph.nodes if node.op == "call_method"]
(1, ['clamp'])
"""

from dataclasses import dataclass
from typing import NamedTuple

from cresset import nn

from ._compatibility import compatibility
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _copy_attr, _has_attr
from .node import Node

__all__ = ["Match", "replace_pattern", "replace_pattern_with_filters", "ReplacedPatterns"]


@compatibility(is_backward_compatible=True)
class Match(NamedTuple):
    """A place that was replaced: the node of the graph where it ends, and {node of the pattern: node of the graph}.

    >>> torch.fx.subgraph_rewriter.Match(anchor=None, nodes_map={}).nodes_map
    {}
    """

    anchor: Node
    nodes_map: dict


@compatibility(is_backward_compatible=False)
@dataclass
class ReplacedPatterns:
    """A Match with the nodes that took the place of the old ones.

    >>> torch.fx.subgraph_rewriter.ReplacedPatterns(None, {}, []).replacements
    []
    """

    anchor: Node
    nodes_map: dict
    replacements: list


def _replace_attributes(gm, replacement):
    """Give the module what the nodes of the replacement name, and take away what no node names any more."""
    gm.delete_all_unused_submodules()
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()
    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr") or _has_attr(gm, node.target):
            continue
        if not _has_attr(replacement, node.target):
            raise RuntimeError(f"replace_pattern: node {node} refers to {node.target!r}, which neither the graph's module nor the replacement has")
        _copy_attr(replacement, gm, node.target)
    gm.graph.lint()


@compatibility(is_backward_compatible=True)
def replace_pattern(gm, pattern, replacement):
    """Replace all places of a module's graph that are like a pattern, which do not overlap, and compile it anew.

    Args:
        gm: the GraphModule.
        pattern: a function, module or GraphModule: its parameters stand for any value, and its inner values may have no users outside.
        replacement: the same, with as many parameters and results.

    Returns a list of Match.

    >>> traced = torch.fx.symbolic_trace(lambda x, y: torch.add(x, y).relu())
    >>> len(torch.fx.replace_pattern(traced, lambda a, b: torch.add(a, b), lambda a, b: torch.sub(a, b)))
    1
    >>> traced(torch.ones(1), torch.ones(1))
    tensor([0.])
    """
    return [Match(anchor=m.anchor, nodes_map=m.nodes_map) for m in _replace_pattern(gm, pattern, replacement)]


@compatibility(is_backward_compatible=False)
def replace_pattern_with_filters(gm, pattern, replacement=None, match_filters=None, ignore_literals=False, replacement_callback=None, node_name_match=""):
    """`replace_pattern` for the places that filters let pass.

    Args:
        match_filters: functions of (match, graph, pattern's graph) that say whether to replace.
        ignore_literals: a constant of the pattern stands for every constant.
        replacement_callback: makes the graph of the replacement for a match, of (match, graph, pattern's graph).
        node_name_match: part of a name; a node that has it matches whatever it does.

    Returns a list of ReplacedPatterns.

    >>> rewriter = torch.fx.subgraph_rewriter
    >>> traced = torch.fx.symbolic_trace(lambda x: torch.add(x, 1) * torch.add(x, 2))
    >>> small = lambda match, graph, pattern: match.returning_nodes[0].args[1] == 1
    >>> len(rewriter.replace_pattern_with_filters(traced, lambda a, k: torch.add(a, k), lambda a, k: torch.sub(a, k), [small]))
    1
    """
    return _replace_pattern(gm, pattern, replacement, match_filters, ignore_literals, replacement_callback, node_name_match)


def _graph_of(thing):
    if isinstance(thing, GraphModule):
        return thing.graph
    return thing if isinstance(thing, Graph) else symbolic_trace(thing).graph


def _replace_pattern(gm, pattern, replacement=None, match_filters=None, ignore_literals=False, replacement_callback=None, node_name_match=""):
    from .passes.utils.matcher_utils import SubgraphMatcher

    graph, pattern_graph = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, match_output=False, match_placeholder=False, remove_overlapping_matches=True, ignore_literals=ignore_literals)
    found = [m for m in matcher.match(graph, node_name_match) if all(f(m, graph, pattern_graph) for f in match_filters or ())]
    if replacement is None and replacement_callback is None:
        raise AssertionError("Must provide either replacement or replacement_callback")
    common = None if replacement is None else _graph_of(replacement)
    done, changed = [], {}
    for match in found:
        new_graph = replacement_callback(match, graph, pattern_graph) if replacement_callback is not None else common
        done.append(_replace_one(graph, pattern_graph, new_graph, match, changed))
    gm.recompile()
    if isinstance(replacement, nn.Module):
        _replace_attributes(gm, replacement)
    return done


def _replace_one(graph, pattern_graph, new_graph, match, changed):
    parameters = [n for n in new_graph.nodes if n.op == "placeholder"]
    if len(match.placeholder_nodes) != len(parameters):
        raise AssertionError(f"replace_pattern: the pattern has {len(match.placeholder_nodes)} parameters and the replacement {len(parameters)}: {parameters}")
    # Results of earlier replacements stand for the nodes that they have replaced.
    values = {pn: changed.get(gn, gn) if isinstance(gn, Node) else gn for pn, gn in zip(parameters, match.placeholder_nodes, strict=True)}
    before = {id(n) for n in graph.nodes}
    with graph.inserting_before(_place(graph, match, values)):
        copied = graph.graph_copy(new_graph, values)
    copied = (copied,) if isinstance(copied, Node) or not isinstance(copied, (tuple, list)) else tuple(copied)
    if len(match.returning_nodes) != len(copied):
        raise AssertionError(f"replace_pattern: the pattern has {len(match.returning_nodes)} results and the replacement {len(copied)}")
    for old, new in zip(match.returning_nodes, copied, strict=True):
        old.replace_all_uses_with(new)
        changed[old] = new
    for node in reversed(pattern_graph.nodes):
        if node.op not in ("placeholder", "output"):
            graph.erase_node(match.nodes_map[node])
    replacements = [n for n in values.values() if isinstance(n, Node) and id(n) not in before]
    return ReplacedPatterns(anchor=match.anchors[0], nodes_map=match.nodes_map, replacements=replacements)


def _place(graph, match, values):
    """The node before which the new ones go: the first that uses a result, or the one after the last that is replaced."""
    users = {user for node in match.returning_nodes for user in node.users}
    inner = {gn for pn, gn in match.nodes_map.items() if isinstance(gn, Node) and pn.op != "placeholder"}
    first = min(users - inner, default=None)
    inputs = [v for v in values.values() if isinstance(v, Node)]
    if first is not None and all(v < first for v in inputs):
        return first
    last = max([*inner, *inputs])
    return last.next
