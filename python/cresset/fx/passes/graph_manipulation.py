"""Targets replaced, and the sizes of values in bytes."""

from typing import NamedTuple

from .._compatibility import compatibility
from .shape_prop import ShapeProp

__all__ = ["replace_target_nodes_with", "size_bytes", "get_size_of_all_nodes", "get_tensor_meta", "get_size_of_node"]


@compatibility(is_backward_compatible=False)
def replace_target_nodes_with(fx_module, old_op, old_target, new_op, new_target):
    """Let all nodes of an op and a target have others, and compile the module anew.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.sin(x))
    >>> torch.fx.passes.graph_manipulation.replace_target_nodes_with(traced, "call_function", torch.sin, "call_function", torch.cos)
    >>> [node.target for node in traced.graph.nodes if node.op == "call_function"] == [torch.cos]
    True
    """
    graph = fx_module.graph
    for old in graph.find_nodes(op=old_op, target=old_target):
        with graph.inserting_before(old):
            new = graph.create_node(new_op, new_target, old.args, dict(old.kwargs), old.name, old.type)
        old.replace_all_uses_with(new, propagate_meta=True)
        graph.erase_node(old)
    fx_module.recompile()


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
        run = ShapeProp(fx_module)
        run.propagate(*args)
    *steps, _ = fx_module.graph.nodes
    for step in steps:
        step.size_bytes = get_size_of_node(fx_module, step)


@compatibility(is_backward_compatible=False)
def get_tensor_meta(node):
    """The TensorMetadata of a node. Errors: RuntimeError where ShapeProp has not run.

    >>> traced = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> _ = torch.fx.passes.shape_prop.ShapeProp(traced).propagate(torch.ones(3))
    >>> torch.fx.passes.graph_manipulation.get_tensor_meta(next(iter(traced.graph.nodes))).shape
    torch.Size([3])
    """
    if found := node.meta.get("tensor_meta"):
        return found
    raise RuntimeError(f"Node {node} has no tensor metadata, which ShapeProp notes: propagate arguments through the module first")


@compatibility(is_backward_compatible=False)
def get_size_of_node(fx_module, node):
    """The `size_bytes` of a node.

    >>> traced = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3, bias=False)))
    >>> _ = torch.fx.passes.shape_prop.ShapeProp(traced).propagate(torch.ones(4, 2))
    >>> torch.fx.passes.graph_manipulation.get_size_of_node(traced, list(traced.graph.nodes)[1])
    size_bytes(output_size=48, total_size=72)
    """
    meta = get_tensor_meta(node)
    module = fx_module.get_submodule(node.target if node.op == "call_module" else "")
    held = (*module.parameters(), *module.buffers()) if module is not fx_module else ()
    value, width = meta.shape.numel(), meta.dtype.itemsize
    return size_bytes(width * value, width * (value + sum(tensor.numel() for tensor in held)))
