"""Targets replaced, and the sizes of values in bytes."""

from typing import NamedTuple

from .._compatibility import compatibility
from ..node import map_arg
from .shape_prop import ShapeProp

__all__ = ["replace_target_nodes_with", "size_bytes", "get_size_of_all_nodes", "get_tensor_meta", "get_size_of_node"]


@compatibility(is_backward_compatible=False)
def replace_target_nodes_with(fx_module, old_op, old_target, new_op, new_target):
    """Let all nodes of an op and a target have others; compile the module afterwards.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.sin(x))
    >>> torch.fx.passes.graph_manipulation.replace_target_nodes_with(traced, "call_function", torch.sin, "call_function", torch.cos)
    >>> [node.target for node in traced.graph.nodes if node.op == "call_function"] == [torch.cos]
    True
    """
    for node in list(fx_module.graph.nodes):
        if node.op != old_op or node.target != old_target:
            continue
        with fx_module.graph.inserting_before(node):
            made = fx_module.graph.create_node(new_op, new_target, map_arg(node.args, lambda n: n), dict(node.kwargs), node.name, node.type)
        made.meta = dict(node.meta)
        node.replace_all_uses_with(made)
        fx_module.graph.erase_node(node)


@compatibility(is_backward_compatible=False)
class size_bytes(NamedTuple):  # noqa: N801  PyTorch's name
    """Bytes of a node's value, and of it with its parameters.

    >>> torch.fx.passes.graph_manipulation.size_bytes(4, 8).total_size
    8
    """

    output_size: int
    total_size: int


@compatibility(is_backward_compatible=False)
def get_size_of_all_nodes(fx_module, args=None):
    """Put `size_bytes` on every node but the output; with arguments, after a run that finds the shapes.

    >>> traced = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> torch.fx.passes.graph_manipulation.get_size_of_all_nodes(traced, [torch.ones(3)])
    >>> next(iter(traced.graph.nodes)).size_bytes.output_size
    12
    """
    if args is not None:
        ShapeProp(fx_module).propagate(*args)
    for node in fx_module.graph.nodes:
        if node.op == "output":
            break
        node.size_bytes = get_size_of_node(fx_module, node)


@compatibility(is_backward_compatible=False)
def get_tensor_meta(node):
    """The TensorMetadata of a node. Errors: RuntimeError where ShapeProp has not run.

    >>> traced = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> _ = torch.fx.passes.shape_prop.ShapeProp(traced).propagate(torch.ones(3))
    >>> torch.fx.passes.graph_manipulation.get_tensor_meta(next(iter(traced.graph.nodes))).shape
    torch.Size([3])
    """
    meta = node.meta.get("tensor_meta")
    if not meta:
        raise RuntimeError(f"Node {node} has no tensor metadata associated with it! Check that shape propagation has run.")
    return meta


@compatibility(is_backward_compatible=False)
def get_size_of_node(fx_module, node):
    """The `size_bytes` of a node.

    >>> traced = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3, bias=False)))
    >>> _ = torch.fx.passes.shape_prop.ShapeProp(traced).propagate(torch.ones(4, 2))
    >>> torch.fx.passes.graph_manipulation.get_size_of_node(traced, list(traced.graph.nodes)[1])
    size_bytes(output_size=48, total_size=72)
    """
    held = 0
    if node.op == "call_module":
        held = sum(p.numel() for _, p in fx_module.get_submodule(node.target).named_parameters())
        held += sum(b.numel() for _, b in fx_module.get_submodule(node.target).named_buffers())
    meta = get_tensor_meta(node)
    count = meta.shape.numel()
    itemsize = meta.dtype.itemsize
    return size_bytes(itemsize * count, itemsize * (count + held))
