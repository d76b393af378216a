"""Groups of nodes that come from one module or function of the program."""

from dataclasses import dataclass, field

from ..._compatibility import compatibility

__all__ = ["get_source_partitions", "check_subgraphs_connected", "SourcePartition"]


@compatibility(is_backward_compatible=False)
@dataclass
class SourcePartition:
    """Nodes that come from one place: their inputs and outputs, and the parameters that they use.

    >>> torch.fx.passes.utils.source_matcher_utils.SourcePartition([], nn.Linear).output_nodes
    []
    """

    nodes: list
    source: object
    input_nodes: list = field(default_factory=list)
    output_nodes: list = field(default_factory=list)
    params: list = field(default_factory=list)


def _source_of(node):
    """(name of the call, module class or function) of the innermost place that a node comes from; None where nothing is noted."""
    stack = node.meta.get("source_fn_stack")
    if stack:
        return stack[-1]
    torch_fn = node.meta.get("torch_fn")
    if torch_fn:
        name, kind = torch_fn
        return name, kind.split(".")[-1]
    return None


@compatibility(is_backward_compatible=False)
def get_source_partitions(graph, wanted_sources, filter_fn=None):
    """{source: its partitions} for module classes and functions, by the `source_fn_stack` in the `meta` of nodes.

    Args:
        graph: the graph.
        wanted_sources: classes of modules and functions.
        filter_fn: keep the partitions all of whose nodes it accepts.

    >>> graph = torch.fx.symbolic_trace(lambda x: (x + 1).relu()).graph
    >>> x, add, relu, output = graph.nodes
    >>> add.meta["source_fn_stack"] = relu.meta["source_fn_stack"] = [("layer", nn.Linear)]
    >>> found = torch.fx.passes.utils.source_matcher_utils.get_source_partitions(graph, [nn.Linear])
    >>> found[nn.Linear][0].nodes, found[nn.Linear][0].output_nodes
    ([add, relu], [relu])
    """
    groups = {}
    for node in graph.nodes:
        source = _source_of(node)
        if source is not None and source[1] in wanted_sources:
            groups.setdefault(source[1], {}).setdefault(source[0], []).append(node)
    found = {source: [_partition(nodes, source) for nodes in calls.values()] for source, calls in groups.items()}
    if filter_fn:
        found = {source: [p for p in parts if all(map(filter_fn, p.nodes))] for source, parts in found.items()}
        found = {source: parts for source, parts in found.items() if parts}
    return found


def _partition(nodes, source):
    inside = set(nodes)
    inputs, outputs, params = {}, {}, {}
    for node in nodes:
        for used in node.all_input_nodes:
            if used not in inside and used.op != "get_attr":
                inputs.setdefault(used)
            elif used.op == "get_attr":
                params.setdefault(used)
        if node.op == "get_attr":
            params.setdefault(node)
        if any(user not in inside for user in node.users):
            outputs.setdefault(node)
    return SourcePartition(nodes, source, list(inputs), list(outputs), list(params))


@compatibility(is_backward_compatible=False)
def check_subgraphs_connected(subgraph1, subgraph2):
    """Whether the second partition uses a value of the first.

    >>> utils = torch.fx.passes.utils.source_matcher_utils
    >>> x, add, relu, output = torch.fx.symbolic_trace(lambda x: (x + 1).relu()).graph.nodes
    >>> utils.check_subgraphs_connected(utils.SourcePartition([add], None), utils.SourcePartition([relu], None))
    True
    """
    inside = set(subgraph1.nodes)
    return any(used in inside for node in subgraph2.nodes for used in node.all_input_nodes)
