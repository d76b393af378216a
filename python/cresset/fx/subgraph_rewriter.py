"""Parts of a graph that are like a pattern, replaced by another piece.

>>> traced = torch.fx.symbolic_trace(lambda x: x.relu().neg() + 1)
>>> matches = torch.fx.replace_pattern(traced, lambda v: v.relu().neg(), lambda v: v.clamp(max=0))
>>> len(matches), [node.target for node in traced.graph.nodes if node.op == "call_method"]
(1, ['clamp'])
"""

import functools
from dataclasses import dataclass
from typing import NamedTuple

from cresset import nn

from ._compatibility import compatibility
from ._symbolic_trace import symbolic_trace
from .graph import Graph
from ._paths import _copy_attr, _has_attr
from .graph_module import GraphModule
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
    return [Match(anchor=m.anchor, nodes_map=m.nodes_map) for m in _Rewrite(gm, pattern, replacement).run()]


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
    return _Rewrite(gm, pattern, replacement, match_filters, ignore_literals, replacement_callback, node_name_match).run()


def _graph_of(thing):
    if isinstance(thing, GraphModule):
        return thing.graph
    return thing if isinstance(thing, Graph) else symbolic_trace(thing).graph


class _Rewrite:
    """One rewriting of a module: the matches of a pattern are replaced one after the other."""

    def __init__(self, gm, pattern, replacement=None, filters=None, ignore_literals=False, callback=None, node_name_match=""):
        if replacement is None and callback is None:
            raise AssertionError("replace_pattern_with_filters: expected a replacement or a replacement_callback, got neither")
        self.gm, self.graph, self.pattern = gm, gm.graph, _graph_of(pattern)
        self.filters, self.ignore_literals, self.node_name_match = filters or (), ignore_literals, node_name_match
        self.source, self.replaced = replacement, {}
        self.piece = callback or functools.partial(self._common_piece, _graph_of(replacement))

    @staticmethod
    def _common_piece(graph, *_):
        return graph

    def run(self):
        """Replaces all matches, and gives what took their places."""
        from .passes.utils.matcher_utils import SubgraphMatcher

        matcher = SubgraphMatcher(self.pattern, ignore_literals=self.ignore_literals)
        matches = [m for m in matcher.match(self.graph, self.node_name_match) if all(f(m, self.graph, self.pattern) for f in self.filters)]
        done = [self._replace(match, self.piece(match, self.graph, self.pattern)) for match in matches]
        self.gm.recompile()
        if isinstance(self.source, nn.Module):
            self._take_attributes()
        return done

    def _replace(self, match, piece):
        # Results of earlier replacements stand for the nodes that they have replaced.
        given = [self.replaced.get(n, n) if isinstance(n, Node) else n for n in match.placeholder_nodes]
        parameters = piece.nodes.of("placeholder")
        _expect_as_many("parameters", given, parameters)
        values = dict(zip(parameters, given))
        before = set(map(id, self.graph.nodes))
        with self.graph.inserting_before(_place(match, given)):
            results = self.graph.graph_copy(piece, values)
        results = [results] if isinstance(results, Node) or not isinstance(results, (tuple, list)) else results
        _expect_as_many("results", match.returning_nodes, results)
        for old, new in zip(match.returning_nodes, results):
            old.replace_all_uses_with(new)
            self.replaced[old] = new
        for step in list(self.pattern.nodes)[::-1]:
            if step.op not in ("placeholder", "output"):
                self.graph.erase_node(match.nodes_map[step])
        added = [n for n in values.values() if isinstance(n, Node) and id(n) not in before]
        return ReplacedPatterns(match.anchors[0], match.nodes_map, added)

    def _take_attributes(self):
        """Gives the module what the nodes of the replacement name, and takes away what no node names any more."""
        self.gm.delete_all_unused_submodules()
        if isinstance(self.source, GraphModule):
            self.source.graph.lint()
        for node in self.graph.nodes.of("call_module", "get_attr"):
            if _has_attr(self.gm, node.target):
                continue
            if not _has_attr(self.source, node.target):
                raise RuntimeError(f"replace_pattern: node {node} refers to {node.target!r}, which neither the graph's module nor the replacement has")
            _copy_attr(self.source, self.gm, node.target)
        self.graph.lint()


def _expect_as_many(what, of_pattern, of_replacement):
    if len(of_pattern) != len(of_replacement):
        raise AssertionError(f"replace_pattern: the pattern has {len(of_pattern)} {what} and the replacement {len(of_replacement)}: {of_replacement}")


def _place(match, given):
    """The node before which the new ones go: the first that uses a result, or the one after the last that is replaced."""
    users = {user for node in match.returning_nodes for user in node.users}
    inner = {gn for pn, gn in match.nodes_map.items() if isinstance(gn, Node) and pn.op != "placeholder"}
    first = min(users - inner, default=None)
    inputs = [v for v in given if isinstance(v, Node)]
    if first is not None and all(v < first for v in inputs):
        return first
    last = max([*inner, *inputs])
    return last.next
