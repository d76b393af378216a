"""`torch.fx` graphs of operators as graphs of C++, and back."""

from __future__ import annotations

import json
import math
import operator
from typing import Any

import _cresset_graph

import cresset as torch

from .. import fx, nn
from ..export._encode import GraphWriter
from ..export._paths import get as get_path
from ..utils import _pytree as pytree

# Functions of numbers and lists of the C++ graphs.
_FUNCTIONS = {
    "ir::add": operator.add, "ir::sub": operator.sub, "ir::mul": operator.mul, "ir::floordiv": operator.floordiv, "ir::mod": operator.mod,
    "ir::truediv": operator.truediv, "ir::pow": operator.pow, "ir::neg": operator.neg, "ir::abs": abs, "ir::eq": operator.eq, "ir::ne": operator.ne,
    "ir::lt": operator.lt, "ir::le": operator.le, "ir::gt": operator.gt, "ir::ge": operator.ge, "ir::and": operator.and_, "ir::or": operator.or_,
    "ir::not": operator.not_, "ir::getitem": operator.getitem, "ir::len": len, "ir::ceil": math.ceil, "ir::floor": math.floor, "ir::round": round,
    "ir::max": torch.sym_max, "ir::min": torch.sym_min, "ir::int": torch.sym_int, "ir::float": torch.sym_float,
}  # fmt: skip
_OPERATORS = {
    "ir::size": "sym_size.int", "ir::stride": "sym_stride.int", "ir::numel": "sym_numel.default", "ir::storage_offset": "sym_storage_offset.default",
    "ir::item": "item.default", "ir::check": "_assert_scalar.default",
}  # fmt: skip
# Arguments at the end that PyTorch's operators have, and ours do not.
_MORE = {"_softmax": (False,), "_log_softmax": (False,)}


def document_of(module: fx.GraphModule) -> _cresset_graph.Graph:
    """The graph of a module of operators, with the tensors that its attributes hold."""
    graph, constants = fx.Graph(), {}
    copies: dict[fx.Node, fx.Node] = {}
    for node in module.graph.nodes:
        held = get_path(module, node.target) if node.op == "get_attr" else None
        if node.op == "output":
            graph.output([copies.get(leaf, leaf) if isinstance(leaf, fx.Node) else leaf for leaf in pytree.tree_leaves(node.args[0])])
        elif isinstance(held, torch.Tensor):
            copy = graph.create_node("placeholder", node.name, name=node.name)
            copy.meta = {"val": held}
            constants[copy.name] = (node.target, held.detach())
            copies[node] = copy
        else:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    return _cresset_graph.Graph.read(json.dumps(GraphWriter(module).graph(graph)), constants)


class _Maker:
    """A graph module from the rows of a C++ graph."""

    def __init__(self, graph: _cresset_graph.Graph) -> None:
        self.source, self.root, self.graph = graph, nn.Module(), fx.Graph()
        self.values: dict[str, Any] = {}
        self.tensors: dict[str, fx.Node] = {}

    def make(self) -> fx.GraphModule:
        parameters, nodes, results = self.source.rows()
        for name, _ in parameters:
            self.values[name] = self.graph.create_node("placeholder", name, name=name)
        constants = self.source.constants()
        for name, tensor in constants.items():
            self.tensor(name, tensor)
        for node in nodes:
            self.node(*node)
        found = [self.operand(o) for o in results]
        self.graph.output(found[0] if len(found) == 1 else tuple(found))
        return fx.GraphModule(self.root, self.graph)

    def tensor(self, name: str, value: torch.Tensor | None) -> None:
        if value is None:
            raise ValueError(f"to_fx: the tensor @{name} is not bound")
        *path, last = name.split(".")
        owner = self.root
        for part in path:
            if part not in owner._modules:
                owner.add_module(part, nn.Module())
            owner = owner._modules[part]
        owner.register_buffer(last, value)
        self.tensors[name] = self.graph.get_attr(name)

    def operand(self, operand: tuple[str, Any]) -> Any:
        kind, value = operand
        return self.values[value] if kind == "%" else self.tensors[value] if kind == "@" else value

    def node(self, kind: str, name: str, inputs: list[Any], outputs: list[tuple[str, str]], attributes: list[Any]) -> None:
        args = [self.operand(o) for o in inputs]
        if kind in ("list", "tuple"):
            self.values[outputs[0][0]] = args if kind == "list" else tuple(args)
        elif kind == "dict":
            self.values[outputs[0][0]] = dict(zip(args[::2], args[1::2], strict=True))
        elif kind == "unpack":
            self.parts(args[0], outputs)
        else:
            self.call(self.target(kind, name), args + list(_MORE.get(name, ())), outputs)

    def call(self, target: Any, args: list[Any], outputs: list[tuple[str, str]]) -> None:
        schema = getattr(target, "_schema", None)
        kwargs = {}
        if schema is not None:
            named = [a.name for a in schema.arguments if a.kwarg_only]
            split = len(args) - sum(a.kwarg_only for a in schema.arguments[: len(args)])
            kwargs = {a.name: v for a, v in zip(schema.arguments[split:], args[split:], strict=True) if v != a.default_value} if named else {}
            args = args[:split]
        if len(outputs) == 1:
            self.values[outputs[0][0]] = self.graph.create_node("call_function", target, tuple(args), kwargs, name=outputs[0][0])
        else:
            self.parts(self.graph.create_node("call_function", target, tuple(args), kwargs), outputs)

    def parts(self, whole: Any, outputs: list[tuple[str, str]]) -> None:
        for i, (name, _) in enumerate(outputs):
            self.values[name] = (
                whole[i] if isinstance(whole, (list, tuple)) else self.graph.create_node("call_function", operator.getitem, (whole, i), name=name)
            )

    def target(self, kind: str, name: str) -> Any:
        if kind == "builtin" and name in _FUNCTIONS:
            return _FUNCTIONS[name]
        if kind == "builtin":
            if name not in _OPERATORS:
                raise NotImplementedError(f"to_fx: torch.fx has no function for {name}")
            namespace, name = "aten", _OPERATORS[name]
        else:
            namespace, _, name = name.rpartition("::")
        packet, _, overload = name.partition(".")
        found = getattr(getattr(torch.ops, namespace or "aten"), packet)
        return getattr(found, overload or "default")


def module_of(graph: _cresset_graph.Graph) -> fx.GraphModule:
    """The graph module of a C++ graph without branches, loops and calls."""
    return _Maker(graph).make()
