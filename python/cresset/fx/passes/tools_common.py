"""Helpers that splitters and other passes share."""

import heapq

from collections import deque

import cresset as torch

from .._compatibility import compatibility
from ..node import Node, _get_qualified_name, _public

__all__ = ["get_acc_ops_name", "get_node_target", "is_node_output_tensor", "FxNetAccFusionsFinder", "legalize_graph", "stable_topological_sort"]

Tensors = tuple[torch.Tensor, ...] | list[torch.Tensor]
TensorOrTensors = Tensors | torch.Tensor
NodeList = list[Node]
NodeSet = set[Node]
Names = list[str]
CALLABLE_NODE_OPS = {"call_module", "call_function", "call_method"}


@compatibility(is_backward_compatible=False)
def get_acc_ops_name(k):
    """The name of a function in short: that of an accelerator's operator as "acc_ops.name", else with its module.

    >>> torch.fx.passes.tools_common.get_acc_ops_name("relu")
    'relu'
    """
    if isinstance(k, str):
        return k
    home = k.__module__ or ""
    home = "acc_ops" if "acc_ops" in home else home.replace("torch._ops", "torch.ops")
    return f"{home}.{k.__name__}"


@compatibility(is_backward_compatible=False)
def get_node_target(submodules, node):
    """A node's target as text: the class of a module, the path of a function, the name of a method.

    Errors: AssertionError for a node that calls nothing.

    >>> traced = torch.fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    >>> get_node_target = torch.fx.passes.tools_common.get_node_target
    >>> get_node_target(dict(traced.named_modules()), list(traced.graph.nodes)[1])
    'torch.nn.modules.activation.ReLU'
    """
    match node.op:
        case "call_module":
            kind = type(submodules[node.target])
            return f"{_public(kind.__module__)}.{kind.__name__}"
        case "call_function":
            return _get_qualified_name(node.target)
        case "call_method":
            return str(node.target)
    raise AssertionError(f"get_node_target: expected an op of {', '.join(sorted(CALLABLE_NODE_OPS))}, got {node.op}")


@compatibility(is_backward_compatible=False)
def is_node_output_tensor(node):
    """Whether the value of a node is a tensor, by its `meta["type"]`, which ShapeProp notes.

    >>> traced = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> _ = torch.fx.passes.shape_prop.ShapeProp(traced).propagate(torch.ones(1))
    >>> torch.fx.passes.tools_common.is_node_output_tensor(list(traced.graph.nodes)[1])
    True
    """
    kind = node.meta.get("type")
    return kind is not None and isinstance(kind, type) and issubclass(kind, torch.Tensor)


@compatibility(is_backward_compatible=False)
class FxNetAccFusionsFinder:
    """Groups of nodes that have to stay together on an accelerator, since a value between them is no tensor.

    Args:
        module: the module.
        acc_nodes: the nodes that run on the accelerator.

    Called, it gives {node: the nodes of its group}.

    >>> traced = torch.fx.symbolic_trace(lambda x: x.reshape(x.size()[0], -1))
    >>> _ = torch.fx.passes.shape_prop.ShapeProp(traced).propagate(torch.ones(2, 3))
    >>> nodes = {n for n in traced.graph.nodes if n.op.startswith("call")}
    >>> groups = torch.fx.passes.tools_common.FxNetAccFusionsFinder(traced, nodes)()
    >>> sorted(map(str, groups[next(iter(nodes))]))
    ['getitem', 'reshape', 'size']
    """

    def __init__(self, module, acc_nodes):
        self.module, self.nodes, self.acc_nodes = module, list(module.graph.nodes), acc_nodes

    def __call__(self):
        groups = {}
        for node in self.nodes:
            if node in groups or node not in self.acc_nodes or node.op not in CALLABLE_NODE_OPS or "tensor_meta" in node.meta:
                continue
            group, todo = {node}, [node]
            while todo:
                current = todo.pop()
                near = list(current.users) if "tensor_meta" not in current.meta else []
                near += [n for n in current.all_input_nodes if n.op in CALLABLE_NODE_OPS and "tensor_meta" not in n.meta]
                for other in near:
                    if other.op in CALLABLE_NODE_OPS and other not in group:
                        group.add(other)
                        todo.append(other)
            self._close(group)
            # A group that holds a node of the host cannot stay on the accelerator.
            if group <= self.acc_nodes:
                merged = group.union(*(groups[n] for n in group if n in groups))
                for member in merged:
                    groups[member] = merged
            else:
                self.acc_nodes -= group
        return groups

    def _close(self, group):
        """Adds the nodes between those of the group."""
        order = {node: i for i, node in enumerate(self.nodes)}
        first, last = min(order[n] for n in group), max(order[n] for n in group)
        between = self.nodes[first : last + 1]
        below, above = set(group), set(group)
        for node in between:
            if any(n in below for n in node.all_input_nodes):
                below.add(node)
        for node in reversed(between):
            if any(user in above for user in node.users):
                above.add(node)
        group |= below & above


@compatibility(is_backward_compatible=False)
def legalize_graph(gm):
    """Put the nodes of a module into an order in which each follows those whose values it uses; returns the module.

    Errors: RuntimeError for nodes that use each other's values in a circle.

    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1).relu())
    >>> x, add, relu, output = traced.graph.nodes
    >>> x.append(relu)
    >>> torch.fx.passes.tools_common.legalize_graph(traced).graph.lint()
    """
    waiting = {node: len(node.all_input_nodes) for node in gm.graph.nodes}
    queue = deque(node for node in gm.graph.nodes if waiting[node] == 0 and node.op == "placeholder")
    queue.extend(node for node in gm.graph.nodes if waiting[node] == 0 and node.op == "get_attr")
    queue.extend(node for node in gm.graph.nodes if waiting[node] == 0 and node.op not in ("placeholder", "get_attr"))
    order = []
    while queue:
        node = queue.popleft()
        order.append(node)
        for user in node.users:
            waiting[user] -= 1
            if waiting[user] == 0:
                queue.append(user)
    return _reordered(gm, order)


@compatibility(is_backward_compatible=False)
def stable_topological_sort(gm):
    """`legalize_graph` that leaves nodes in their order where it can.

    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1).relu())
    >>> torch.fx.passes.tools_common.stable_topological_sort(traced).graph.lint()
    """
    place = {node: i for i, node in enumerate(gm.graph.nodes)}
    waiting = {node: len(node.all_input_nodes) for node in place}
    ready = [i for node, i in place.items() if waiting[node] == 0]
    heapq.heapify(ready)
    nodes, order = list(place), []
    while ready:
        node = nodes[heapq.heappop(ready)]
        order.append(node)
        for user in node.users:
            waiting[user] -= 1
            if waiting[user] == 0:
                heapq.heappush(ready, place[user])
    return _reordered(gm, order)


def _reordered(gm, order):
    if len(order) < len(gm.graph.nodes):
        stuck = sorted(n.name for n in set(gm.graph.nodes) - set(order))
        raise RuntimeError(f"Input graph has cycles: the nodes {', '.join(stuck)} use each other's values")
    root = gm.graph._root
    for node in [n for n in order if n.op != "output"] + [n for n in order if n.op == "output"]:
        node._remove_from_list()
        root.prepend(node)
    gm.graph._number()
    return gm
