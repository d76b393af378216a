"""Places in a graph that are like another graph, the pattern."""

import copy
import inspect
from dataclasses import dataclass, field

from ..._compatibility import compatibility
from ..._paths import found_at
from ...node import Node
from ...operator_schemas import _torchscript_schema_to_signature

__all__ = ["SubgraphMatcher", "InternalMatch"]


@compatibility(is_backward_compatible=False)
@dataclass
class InternalMatch:
    """A place that is like the pattern.

    `nodes_map` is {node of the pattern: node of the graph, or a constant for a placeholder}, `anchors` are the pattern's nodes where the search
    began, `placeholder_nodes` and `returning_nodes` are the nodes of the graph for the pattern's parameters and results.

    >>> InternalMatch = torch.fx.passes.utils.matcher_utils.InternalMatch
    >>> InternalMatch(anchors=[]).nodes_map
    {}
    """

    anchors: list
    nodes_map: dict = field(default_factory=dict)
    placeholder_nodes: list = field(default_factory=list)
    returning_nodes: list = field(default_factory=list)
    name_node_map: dict = field(default_factory=dict)

    def __copy__(self):
        return InternalMatch(self.anchors, dict(self.nodes_map), list(self.placeholder_nodes), list(self.returning_nodes), dict(self.name_node_map))


@compatibility(is_backward_compatible=False)
class SubgraphMatcher:
    """Finds the places of a graph that are like a pattern.

    Args:
        pattern: the graph to look for, whose parameters stand for any value.
        match_output: the pattern's output stands for the graph's output alone.
        match_placeholder: the pattern's parameters stand for parameters alone.
        remove_overlapping_matches: leave out places that share nodes with an earlier one.
        ignore_literals: a constant stands for every constant.

    Errors: ValueError for a pattern without nodes.

    >>> SubgraphMatcher = torch.fx.passes.utils.matcher_utils.SubgraphMatcher
    >>> pattern = torch.fx.symbolic_trace(lambda a: torch.relu(a).neg()).graph
    >>> graph = torch.fx.symbolic_trace(lambda x: torch.relu(x + 1).neg().sum()).graph
    >>> [match.returning_nodes for match in SubgraphMatcher(pattern).match(graph)]
    [[neg]]
    """

    def __init__(self, pattern, match_output=False, match_placeholder=False, remove_overlapping_matches=True, ignore_literals=False):
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        if not len(pattern.nodes):
            raise ValueError("SubgraphMatcher: expected a pattern with nodes, got an empty graph")
        dead = [node for node in pattern.nodes if not node.users and not node.is_impure()]
        if dead:
            raise AssertionError(f"SubgraphMatcher: the pattern has dead code at {dead[0]}; remove it by eliminate_dead_code")
        self.pattern_placeholder_nodes, output = pattern.nodes.of("placeholder"), pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        self.pattern_anchors = [output] if match_output else [n for n in output.all_input_nodes if len(n.users) == 1]

    # ---- one node with another ------------------------------------------------------------------------------------------

    def _match_attributes(self, pn, gn):
        owners = [node.graph.owning_module for node in (pn, gn)]
        if None in owners:
            return pn.target == gn.target
        own, found = (found_at(owner, node.target, None) for owner, node in zip(owners, (pn, gn)))
        # Parameters of one kind are alike whatever their values.
        return own is not None and found is not None and (type(own) is type(found) or (hasattr(own, "shape") and hasattr(found, "shape")))

    def _nodes_are_equal(self, pn, gn, node_name_match=""):
        op = pn.op
        if (node_name_match and node_name_match in gn.name) or (op == "placeholder" and not self.match_placeholder):
            return True
        if op != gn.op:
            return False
        match op:
            case "placeholder" | "output":
                return True
            case "get_attr":
                return self._match_attributes(pn, gn)
        return pn.target == gn.target

    def _is_contained(self, nodes_map):
        """Whether nothing outside uses the values inside, results apart."""
        inside = {gn: pn for pn, gn in nodes_map.items() if pn.op != "placeholder"}
        hidden = [gn for gn, pn in inside.items() if pn.op != "get_attr" and pn not in self.pattern_returning_nodes]
        outside = {user.op for gn in hidden for user in gn.users if user not in inside}
        return outside <= ({"output"} if self.match_output else set())

    def _remove_overlapping_matches(self, matches):
        kept, taken = [], set()
        for match in matches:
            inner = {gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "output")}
            if inner.isdisjoint(taken):
                kept.append(match)
                taken |= inner
        return kept

    def _match_literals(self, pn, gn, match):
        if isinstance(gn, Node):
            return False
        if not isinstance(pn, Node):
            return self.ignore_literals or (type(gn) is type(pn) and gn == pn)
        bound = match.nodes_map.setdefault(pn, gn) if pn.op == "placeholder" else None
        return pn.op == "placeholder" and not isinstance(bound, Node) and (bound is gn or bound == gn)

    def _match_nodes(self, pn, gn, match, node_name_match=""):
        if not isinstance(pn, Node) or not isinstance(gn, Node):
            return self._match_literals(pn, gn, match)
        if pn in match.nodes_map:
            return match.nodes_map[pn] is gn
        if any(gn is taken for taken in match.nodes_map.values()) or not self._nodes_are_equal(pn, gn, node_name_match):
            return False
        saved = copy.copy(match)
        match.nodes_map[pn] = gn
        if pn.op == "placeholder":
            return True
        if self._arguments_match(pn, gn, match, node_name_match):
            return True
        match.nodes_map = saved.nodes_map
        return False

    def _arguments_match(self, pn, gn, match, node_name_match):
        mine, other = _arguments(pn, gn)
        return mine is not None and other is not None and self._parts_match(mine, other, match, node_name_match)

    def _parts_match(self, mine, other, match, node_name_match):
        """Whether two arguments match: lists and dictionaries by their parts; a parameter of the pattern stands for a whole list of constants."""
        both = lambda kinds: isinstance(mine, kinds) and isinstance(other, kinds)  # noqa: E731
        if both((list, tuple)):
            return len(mine) == len(other) and all(self._parts_match(p, g, match, node_name_match) for p, g in zip(mine, other))
        if both(dict):
            return mine.keys() == other.keys() and all(self._parts_match(mine[key], other[key], match, node_name_match) for key in mine)
        if both(slice):
            return all(self._parts_match(getattr(mine, end), getattr(other, end), match, node_name_match) for end in ("start", "stop", "step"))
        return self._match_nodes(mine, other, match, node_name_match)

    def match(self, graph, node_name_match=""):
        """The places that are like the pattern, from the end of the graph to its beginning.

        Args:
            graph: the graph to search.
            node_name_match: part of a name; a node that has it matches whatever it does.
        """
        matches = []
        candidates = [(anchor, [node for node in graph.nodes if self._nodes_are_equal(anchor, node, node_name_match)]) for anchor in self.pattern_anchors]

        def search(index, match):
            if index == len(candidates):
                match.placeholder_nodes = [match.nodes_map[pn] for pn in self.pattern_placeholder_nodes if pn in match.nodes_map]
                match.returning_nodes = list(map(match.nodes_map.__getitem__, self.pattern_returning_nodes))
                matches.append(match)
                return
            anchor, nodes = candidates[index]
            for node in nodes:
                attempt = copy.copy(match)
                if self._match_nodes(anchor, node, attempt, node_name_match):
                    search(index + 1, attempt)

        if self.pattern_anchors:
            search(0, InternalMatch(anchors=self.pattern_anchors))
        matches = [m for m in matches if self._is_contained(m.nodes_map) and len(m.placeholder_nodes) == len(self.pattern_placeholder_nodes)]
        matches = _validated(matches)
        return self._remove_overlapping_matches(matches) if self.remove_overlapping_matches else matches


def _arguments(pn, gn):
    """The arguments of a node of the pattern and of a node of the graph, in the same form: with all that the operator or the function has, where they
    differ in how many are given and in which way."""
    if len(pn.args) == len(gn.args) and pn.kwargs.keys() == gn.kwargs.keys():
        return (pn.args, pn.kwargs), (gn.args, gn.kwargs)
    return _named_arguments(pn), _named_arguments(gn)


def _named_arguments(node):
    """All arguments by name, with defaults for those not given; None where no single signature is known."""
    if node.op != "call_function":
        return None
    schema = getattr(node.target, "_schema", None)
    try:
        signature = inspect.signature(node.target) if schema is None else _torchscript_schema_to_signature(schema)
        bound = signature.bind(*node.args, **(node.kwargs if schema is None else {("input" if key == "self" else key): v for key, v in node.kwargs.items()}))
    except (TypeError, ValueError, NotImplementedError):
        return None
    bound.apply_defaults()
    return dict(bound.arguments)


def _validated(matches):
    """The matches whose nodes can be replaced by one piece: none of them needs a value that depends on a result of the match."""
    from .fuser_utils import validate_partition

    def inner(match):
        return [gn for pn, gn in match.nodes_map.items() if pn.op not in ("placeholder", "output") and isinstance(gn, Node)]

    return [match for match in matches if validate_partition(inner(match))]
