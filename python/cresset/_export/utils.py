"""Questions on operators and switches of capture that libraries use by themselves."""

import collections
import contextlib
import dataclasses

from .._subclasses.fake_tensor import maybe_get_fake_mode
from ..export import _spellings
from ..export.graph_signature import InputKind
from ..utils import _pytree


def _is_cia_op(op):
    """Whether an operator is a composite, which PyTorch calls CompositeImplicitAutograd: differentiated and traced as its parts.

    >>> aten = torch.ops.aten
    >>> torch._export.utils._is_cia_op(aten.linear.default), torch._export.utils._is_cia_op(aten.add.Tensor)
    (True, False)
    """
    return bool(getattr(op, "_can_decompose", lambda: False)())


@contextlib.contextmanager
def _disable_aten_to_metadata_assertions():
    """In its scope captured graphs do not assert the dtype and device of the tensors that they cast.

    >>> class Cast(nn.Module):
    ...     def forward(self, x):
    ...         return x.double()
    >>> with torch._export.utils._disable_aten_to_metadata_assertions():
    ...     program = torch.export.export(Cast(), (torch.ones(2),))
    >>> [node.name for node in program.graph.nodes]
    ['x', 'to', 'output']
    """
    before, _spellings.settings.asserts_casts = _spellings.settings.asserts_casts, False
    try:
        yield
    finally:
        _spellings.settings.asserts_casts = before


# ---- inputs of a program by their nodes -----------------------------------------------------------------------------------


def _target(program, node, kind):
    """The name that the module has for a node which is an input of a kind, or None."""
    found = [spec.target for spec in program.graph_signature.input_specs if spec.kind is kind and spec.arg.name == node.name]
    return found[0] if found else None


def _tensor(program, node, kind):
    name = _target(program, node, kind)
    return None if name is None else {**program.state_dict, **program.constants}[name]


def is_param(program, node):
    """Whether a node of an exported program is an input that is a parameter."""
    return _target(program, node, InputKind.PARAMETER) is not None


def get_param(program, node):
    """The parameter that a node is; None for other nodes.

    >>> program = torch.export.export(nn.Linear(2, 1), (torch.ones(1, 2),))
    >>> [torch._export.utils.get_param(program, n) is not None for n in program.graph.find_nodes(op="placeholder")]
    [True, True, False]
    """
    return _tensor(program, node, InputKind.PARAMETER)


def is_buffer(program, node):
    """Whether a node of an exported program is an input that is a buffer."""
    return _target(program, node, InputKind.BUFFER) is not None


def get_buffer(program, node):
    """The buffer that a node is, whether the state has it or not; None for other nodes."""
    return _tensor(program, node, InputKind.BUFFER)


def is_lifted_tensor_constant(program, node):
    """Whether a node of an exported program is an input that is a constant tensor."""
    return _target(program, node, InputKind.CONSTANT_TENSOR) is not None


def get_lifted_tensor_constant(program, node):
    """The constant tensor that a node is; None for other nodes."""
    return _tensor(program, node, InputKind.CONSTANT_TENSOR)


# ---- nodes ----------------------------------------------------------------------------------------------------------------


def nodes_filter(nodes, node_call_back):
    """The nodes for which the function holds, in a list.

    >>> graph = torch.fx.symbolic_trace(lambda x: x + 1).graph
    >>> torch._export.utils.nodes_filter(list(graph.nodes), lambda node: node.op == "call_function")
    [add]
    """
    return list(filter(node_call_back, nodes))


def nodes_first(nodes, node_call_back=None):
    """The first node for which the function holds, or of all; None where there is none."""
    return next((node for node in nodes if node_call_back is None or node_call_back(node)), None)


def nodes_count(nodes, node_call_back):
    """The number of nodes for which the function holds."""
    return sum(map(bool, map(node_call_back, nodes)))


def nodes_map(nodes, node_call_back):
    """Calls the function with each node, in order; returns the nodes."""
    collections.deque(map(node_call_back, nodes), maxlen=0)
    return nodes


def node_replace_(old_node, new_node):
    """Puts one node in the place of another, which is erased."""
    graph, _ = old_node.graph, old_node.replace_all_uses_with(new_node, propagate_meta=False)
    graph.erase_node(old_node)


def register_dataclass_as_pytree_node(cls, flatten_fn=None, unflatten_fn=None, *, serialized_type_name=None, to_dumpable_context=None,
                                      from_dumpable_context=None, return_none_fields=False):  # fmt: skip
    """Makes a dataclass a container whose children are its fields that are not None, or all with `return_none_fields`.

    Args:
        flatten_fn, unflatten_fn: how else it is taken apart and built.
        serialized_type_name, to_dumpable_context, from_dumpable_context: its name in files, and what is written of the rest.

    Errors: ValueError for what is no dataclass.
    """
    if not hasattr(cls, "__dataclass_fields__"):
        raise ValueError(f"register_dataclass_as_pytree_node: expected a dataclass, got {cls!r}")

    def flatten(value):
        held = {field.name: getattr(value, field.name) for field in dataclasses.fields(cls)}
        kept = [name for name, item in held.items() if return_none_fields or item is not None]
        return [held[name] for name in kept], [kept, [name for name in held if name not in kept]]

    def unflatten(values, context):
        kept, none = context
        return cls(**dict(zip(kept, values, strict=True)), **dict.fromkeys(none))

    _pytree.register_pytree_node(
        cls, flatten_fn or flatten, unflatten_fn or unflatten, serialized_type_name=serialized_type_name, to_dumpable_context=to_dumpable_context,
        from_dumpable_context=from_dumpable_context,
    )  # fmt: skip


def remove_proxy_from_state_dict(state_dict, in_place):
    """A state without the attribute `proxy` that tracing leaves on tensors: a copy of the dictionary with detached tensors, or itself with `in_place`."""
    if not in_place:
        return {name: value.detach() if hasattr(value, "proxy") else value for name, value in state_dict.items()}
    for value in state_dict.values():
        if hasattr(value, "proxy"):
            del value.proxy
    return state_dict


def _detect_fake_mode_from_gm(gm):
    """The mode of the fake tensors that a graph's inputs, or else its other nodes, have as values; None where there are none."""
    inputs = gm.graph.find_nodes(op="placeholder")
    for node in [*inputs, *(n for n in gm.graph.nodes if n not in inputs)]:
        for value in _pytree.tree_leaves([node.meta.get("val"), node.meta.get("example_value")]):
            mode = maybe_get_fake_mode(value)
            if mode is not None:
                return mode
    return None


def _get_shape_env_from_gm(gm):
    """The symbols of a graph's sizes; None where it has none."""
    mode = _detect_fake_mode_from_gm(gm)
    return mode.shape_env if mode is not None else None
