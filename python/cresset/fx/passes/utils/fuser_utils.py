"""Nodes of a graph made into one submodule."""

import copy
import itertools
import operator
from collections import deque

from ..._compatibility import compatibility
from ...graph import Graph
from ..tools_common import stable_topological_sort
from .common import lift_subgraph_as_module

__all__ = ["topo_sort", "validate_partition", "fuse_as_graphmodule", "insert_subgm", "erase_nodes", "fuse_by_partitions"]


@compatibility(is_backward_compatible=False)
def topo_sort(nodes):
    """Nodes in an order in which each follows those whose values it uses.

    >>> graph = torch.fx.symbolic_trace(lambda x: (x + 1).relu()).graph
    >>> torch.fx.passes.utils.fuser_utils.topo_sort(list(graph.nodes)[::-1])
    [x, add, relu, output]
    """
    chosen = set(nodes)
    waiting = {node: sum(n in chosen for n in node.all_input_nodes) for node in nodes}
    ready, found = deque(node for node in nodes if waiting[node] == 0), []
    while ready:
        node = ready.popleft()
        found.append(node)
        for user in node.users:
            if user in chosen:
                waiting[user] -= 1
                if waiting[user] == 0:
                    ready.append(user)
    if len(found) != len(chosen):
        raise AssertionError("topo_sort: the nodes use each other's values in a circle")
    return found


@compatibility(is_backward_compatible=False)
def validate_partition(partition):
    """Whether nodes can become one: none of them uses, by way of others, a value of the partition.

    >>> graph = torch.fx.symbolic_trace(lambda x: (x + 1).relu() + 2).graph
    >>> x, add, relu, add_1, output = graph.nodes
    >>> validate = torch.fx.passes.utils.fuser_utils.validate_partition
    >>> validate([add, relu]), validate([add, add_1])
    (True, False)
    """
    inside = set(partition)
    todo = [user for node in partition for user in node.users if user not in inside]
    seen = set(todo)
    while todo:
        for user in todo.pop().users:
            if user in inside:
                return False
            if user not in seen:
                seen.add(user)
                todo.append(user)
    return True


@compatibility(is_backward_compatible=False)
def fuse_as_graphmodule(gm, nodes, module_name, partition_lookup_table=None, *, always_return_tuple=False):
    """A GraphModule of some nodes of another.

    Args:
        gm: the other module.
        nodes: its nodes, in an order in which they can run.
        module_name: the name of the new class.
        partition_lookup_table: unused {node: number}, which spares a search elsewhere.
        always_return_tuple: return a tuple where there is one result too.

    Returns the module, the nodes whose values it takes, and those whose values it gives. Errors: AssertionError for nodes of another module or that depend
    on values between them.

    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1).relu() + 2)
    >>> nodes = [n for n in traced.graph.nodes if n.name in ("add", "relu")]
    >>> fused, inputs, outputs = torch.fx.passes.utils.fuser_utils.fuse_as_graphmodule(traced, nodes, "Fused")
    >>> inputs, outputs
    ((x,), (relu,))
    """
    faults = (
        (lambda n: n.graph.owning_module is not gm, f"is no node of the {gm._get_name()} that was given"),
        (lambda n: n._erased, "has been erased"),
        (lambda n: n.op in ("output", "placeholder"), "is no step that could be fused"),
    )
    for node, (at_fault, text) in itertools.product(nodes, faults):
        if at_fault(node):
            raise AssertionError(f"fuse_as_graphmodule: {node} ({node.op}) {text}")
    if not validate_partition(list(nodes)):
        raise AssertionError("fuse_as_graphmodule: Invalid partition, its nodes would need a value that depends on its own results")
    inside = dict.fromkeys(nodes)
    graph, inputs, copies = Graph(), {}, {}

    def remap(node):
        if node in copies:
            return copies[node]
        if node.op == "get_attr" and node not in inside:
            made = graph.node_copy(node)
        else:
            made = graph.placeholder(node.name, type_expr=node.type)
            made.meta = copy.copy(node.meta)
            inputs[node] = made
        copies[node] = made
        return made

    for node in nodes:
        copies[node] = graph.node_copy(node, remap)
    outputs = {node: copies[node] for node in nodes if any(user not in inside for user in node.users)}
    outs = tuple(outputs.values())
    graph.output(outs[0] if len(outs) == 1 and not always_return_tuple else outs)
    first = next((n for n in graph.nodes if n.op != "placeholder"), None)
    for made in inputs.values():
        if first is not None and made > first:
            first.prepend(made)
    graph.lint()
    fused, _ = lift_subgraph_as_module(gm, graph, comp_name="", class_name=module_name)
    return fused, tuple(inputs), tuple(outputs)


@compatibility(is_backward_compatible=False)
def insert_subgm(gm, sub_gm, orig_inputs, orig_outputs, insertion_point=None):
    """Put a module in the place of nodes: add it under the name of its class, call it, and let users of the old values use its results.

    Args:
        gm: the module to change.
        sub_gm: the new submodule.
        orig_inputs, orig_outputs: the nodes whose values it takes and gives.
        insertion_point: the node before which the call goes; after the last of orig_outputs by default.

    Returns gm.

    >>> from cresset.fx.passes.utils import fuser_utils
    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1).relu() + 2)
    >>> nodes = [n for n in traced.graph.nodes if n.name in ("add", "relu")]
    >>> fused, inputs, outputs = fuser_utils.fuse_as_graphmodule(traced, nodes, "Fused")
    >>> _ = fuser_utils.insert_subgm(traced, fused, inputs, outputs)
    >>> fuser_utils.erase_nodes(traced, nodes)
    >>> [n.op for n in traced.graph.nodes]
    ['placeholder', 'call_module', 'call_function', 'output']
    """
    name = sub_gm.__class__.__name__
    gm.add_submodule(name, sub_gm)
    place = insertion_point if insertion_point is not None else max(orig_outputs).next if orig_outputs else None
    with gm.graph.inserting_before(place):
        called = gm.graph.call_module(name, tuple(orig_inputs))
        one = not isinstance(sub_gm.graph.output_node().args[0], tuple)
        results = [called] if one else [gm.graph.call_function(operator.getitem, (called, i)) for i in range(len(orig_outputs))]
    for old, new in zip(orig_outputs, results, strict=True):
        old.replace_all_uses_with(new, propagate_meta=True)
    if not one:
        called.meta["val"] = tuple(old.meta.get("val") for old in orig_outputs)
    return gm


@compatibility(is_backward_compatible=False)
def erase_nodes(gm, nodes):
    """Remove nodes, given in the order in which they run.

    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1, x * 2)[1])
    >>> torch.fx.passes.utils.fuser_utils.erase_nodes(traced, [n for n in traced.graph.nodes if n.name == "add"])
    >>> traced.graph.nodes.__len__()
    3
    """
    for node in list(nodes)[::-1]:
        gm.graph.erase_node(node)


@compatibility(is_backward_compatible=False)
def fuse_by_partitions(gm, partitions, prefix="fused_", always_return_tuple=False):
    """Make every partition of a module's nodes one submodule.

    Args:
        gm: the module, which is changed.
        partitions: a list of {node: anything}, or of lists of nodes.
        prefix: the beginning of the submodules' names.
        always_return_tuple: let submodules with one result return a tuple too.

    Returns gm.

    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1).relu() + 2)
    >>> nodes = dict.fromkeys(n for n in traced.graph.nodes if n.name in ("add", "relu"))
    >>> fused = torch.fx.passes.utils.fuser_utils.fuse_by_partitions(traced, [nodes])
    >>> [name for name, _ in fused.named_children()]
    ['fused_0']
    """
    for number, partition in enumerate(partitions):
        ordered = topo_sort(list(partition))
        sub_gm, inputs, outputs = fuse_as_graphmodule(gm, ordered, f"{prefix}{number}", always_return_tuple=always_return_tuple)
        insert_subgm(gm, sub_gm, inputs, outputs, max(ordered).next)
        erase_nodes(gm, ordered)
    stable_topological_sort(gm)
    gm.graph.lint()
    gm.recompile()
    return gm
