"""Products with one matrix, computed as one product."""

import operator

import cresset as torch

from .._symbolic_trace import symbolic_trace
from ..node import Node
from ..passes.tools_common import legalize_graph

__all__ = ["split_result_tensors", "may_depend_on", "are_nodes_independent", "merge_matmul"]


def split_result_tensors(result, inputs):
    """The parts of a tensor along its first dimension, as long as those of other tensors; while tracing a node.

    Args:
        result: a tensor of shape (sum of n_i, ...).
        inputs: tensors of shapes (n_i, ...).

    >>> parts = torch.fx.experimental.merge_matmul.split_result_tensors(torch.ones(3, 2), [torch.ones(1, 2), torch.ones(2, 2)])
    >>> [tuple(part.shape) for part in parts]
    [(1, 2), (2, 2)]
    """
    if isinstance(result, torch.fx.Proxy):
        return result.tracer.create_proxy("call_function", split_result_tensors, (result, inputs), {})
    return torch.split(result, [given.shape[0] for given in inputs])


def may_depend_on(a, b, search_depth=6):
    """Whether the value of node `a` may depend on that of `b`: True also where `search_depth` steps back do not tell.

    >>> x, add, relu, output = torch.fx.symbolic_trace(lambda x: (x + 1).relu()).graph.nodes
    >>> may_depend_on = torch.fx.experimental.merge_matmul.may_depend_on
    >>> may_depend_on(relu, x), may_depend_on(x, relu)
    (True, False)
    """
    front = {a}
    for _ in range(search_depth + 1):
        if b in front:
            return True
        front = {used for node in front for used in node.all_input_nodes}
        if not front:
            return False
    return True


def are_nodes_independent(nodes):
    """Whether none of the nodes may depend on another one.

    >>> x, add, relu, output = torch.fx.symbolic_trace(lambda x: (x + 1).relu()).graph.nodes
    >>> torch.fx.experimental.merge_matmul.are_nodes_independent([add, relu])
    False
    """
    return not any(may_depend_on(a, b) for a in nodes for b in nodes if a is not b)


def merge_matmul(in_mod):
    """A GraphModule in which calls of torch.matmul with one right side are a single call, of the left sides one below the other.

    Args:
        in_mod: a module. Left sides of one right side agree in all sizes but the first.

    >>> traced = torch.fx.experimental.merge_matmul.merge_matmul(torch.fx.symbolic_trace(lambda x, y, m: torch.matmul(x, m) + torch.matmul(y, m)))
    >>> len(traced.graph.find_nodes(op="call_function", target=torch.matmul))
    1
    """
    made = symbolic_trace(in_mod)
    groups = {}
    for node in made.graph.find_nodes(op="call_function", target=torch.matmul):
        if len(node.args) == 2 and all(isinstance(a, Node) for a in node.args):
            right = node.args[1]
            groups.setdefault(right.target if right.op == "get_attr" else right, []).append(node)
    for products in groups.values():
        if len(products) > 1 and are_nodes_independent(products):
            _merge(made.graph, products)
    legalize_graph(made)
    made.recompile()
    made.graph.lint()
    return made


def _merge(graph, products):
    left, right = [node.args[0] for node in products], products[0].args[1]
    with graph.inserting_before(products[0]):
        joined = graph.call_function(torch.cat, (left,))
        product = graph.call_function(torch.matmul, (joined, right))
        parts = graph.call_function(split_result_tensors, (product, left))
        items = [graph.call_function(operator.getitem, (parts, i)) for i in range(len(products))]
    for old, new in zip(products, items):
        old.replace_all_uses_with(new)
        graph.erase_node(old)
