"""Exported programs as the document that `.pt2` files keep: dictionaries and lists of numbers and strings."""

import math
import operator

import cresset as torch

from .._core.operators import OperatorBase
from .._functorch.predispatch import is_step
from ..fx import Node
from ..utils import _pytree as pytree
from . import _conditions, _paths, _symbols
from .graph_signature import ConstantArgument, InputKind, OutputKind, SymBoolArgument, SymFloatArgument, SymIntArgument, TensorArgument

SCHEMA_VERSION = {"major": 8, "minor": 20}
DTYPES = {
    getattr(torch, name): number
    for name, number in {
        **{n: i for i, n in enumerate("uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool bfloat16".split(), 1)},
        "uint16": 28, "float8_e4m3fn": 29, "float8_e5m2": 30, "float8_e4m3fnuz": 31, "float8_e5m2fnuz": 32, "uint32": 34, "uint64": 35,
    }.items()
    if hasattr(torch, name)
}  # fmt: skip
MEMORY_FORMATS = {torch.contiguous_format: 1, torch.channels_last: 2, torch.channels_last_3d: 3, torch.preserve_format: 4}
LAYOUTS = {torch.sparse_coo: 1, torch.strided: 7}
STEPS_MODULE = "torch._functorch.predispatch"


def document(program, opset):
    """The document of a program."""
    return {
        "graph_module": _graph_module(program),
        "opset_version": opset or {"aten": 10},
        "range_constraints": _symbols.ranges(program.range_constraints),
        "schema_version": dict(SCHEMA_VERSION),
        "verifiers": [v.dialect for v in program.verifiers],
        "torch_version": "2.13.0",
        "guards_code": _conditions.written(program),
    }


def _graph_module(program):
    graph = GraphWriter(program.graph_module).graph(program.graph)
    signature = {
        "input_specs": [_input_spec(s, n) for s, n in zip(program.graph_signature.input_specs, _placeholders(program), strict=True)],
        "output_specs": [_output_spec(s) for s in program.graph_signature.output_specs],
    }
    entries = [{"fqn": e.fqn, "signature": e.signature and _call_signature(e.signature)} for e in program.module_call_graph]
    return {"graph": graph, "signature": signature, "module_call_graph": entries, "metadata": {}, "treespec_namedtuple_fields": {}}


def _placeholders(program):
    return [n for n in program.graph.nodes if n.op == "placeholder"]


def _call_signature(signature):
    return {
        "inputs": [spec_argument(a) for a in signature.inputs],
        "outputs": [spec_argument(a) for a in signature.outputs],
        "in_spec": pytree.treespec_dumps(signature.in_spec),
        "out_spec": pytree.treespec_dumps(signature.out_spec),
        "forward_arg_names": signature.forward_arg_names,
    }


def spec_argument(argument):
    """An argument of a signature."""
    for kind, key, name in (
        (TensorArgument, "as_tensor", "name"), (SymIntArgument, "as_sym_int", "as_name"), (SymFloatArgument, "as_sym_float", "as_name"),
        (SymBoolArgument, "as_sym_bool", "as_name"),
    ):  # fmt: skip
        if isinstance(argument, kind):
            return {key: {name: argument.name}}
    if isinstance(argument, ConstantArgument):
        return plain(argument.value, "a constant argument")
    raise ValueError(f"save: the format has no argument {argument}")


def _input_spec(spec, node):
    name = {"name": spec.arg.name}
    if spec.kind is InputKind.PARAMETER:
        return {"parameter": {"arg": name, "parameter_name": spec.target}}
    if spec.kind is InputKind.BUFFER:
        return {"buffer": {"arg": name, "buffer_name": spec.target, "persistent": spec.persistent}}
    if spec.kind is InputKind.CONSTANT_TENSOR:
        return {"tensor_constant": {"arg": name, "tensor_constant_name": spec.target}}
    if spec.kind is InputKind.TOKEN:
        return {"token": {"arg": name}}
    if spec.kind is not InputKind.USER_INPUT:
        raise ValueError(f"save: the input {spec.arg.name!r} is a {spec.kind.name}, which the format cannot hold")
    if isinstance(spec.arg, ConstantArgument):
        return {"constant_input": {"name": node.name, "value": plain(spec.arg.value, node.name)}}
    return {"user_input": {"arg": spec_argument(spec.arg)}}


def _output_spec(spec):
    if spec.kind is OutputKind.TOKEN:
        return {"token": {"arg": {"name": spec.arg.name}}}
    arg = spec_argument(spec.arg)
    name = arg.get("as_tensor")
    if spec.kind is OutputKind.USER_OUTPUT:
        return {"user_output": {"arg": arg}}
    if spec.kind is OutputKind.LOSS_OUTPUT:
        return {"loss_output": {"arg": name}}
    kinds = {
        OutputKind.BUFFER_MUTATION: ("buffer_mutation", "buffer_name"), OutputKind.PARAMETER_MUTATION: ("parameter_mutation", "parameter_name"),
        OutputKind.GRADIENT_TO_PARAMETER: ("gradient_to_parameter", "parameter_name"),
        OutputKind.GRADIENT_TO_USER_INPUT: ("gradient_to_user_input", "user_input_name"),
        OutputKind.USER_INPUT_MUTATION: ("user_input_mutation", "user_input_name"),
    }  # fmt: skip
    if spec.kind not in kinds:
        raise ValueError(f"save: the output {spec.arg.name!r} is a {spec.kind.name}, which the format cannot hold")
    key, target = kinds[spec.kind]
    return {key: {"arg": name, target: spec.target}}


# ---- values ---------------------------------------------------------------------------------------------------------------


def plain(value, where):
    """A value that is no node. Errors: ValueError for a class that the format does not have."""
    if value is None:
        return {"as_none": True}
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": int(value)}
    if isinstance(value, float):
        return {"as_float": real(value)}
    if isinstance(value, complex):
        return {"as_complex": {"real": value.real, "imag": value.imag}}
    if isinstance(value, str):
        return {"as_string": value}
    if isinstance(value, OperatorBase):
        return {"as_operator": operator_name(value)}
    if isinstance(value, torch.dtype):
        return {"as_scalar_type": DTYPES[value]}
    if isinstance(value, torch.device):
        return {"as_device": device(value)}
    if isinstance(value, torch.layout):
        return {"as_layout": layout(value, where)}
    if isinstance(value, torch.memory_format):
        return {"as_memory_format": MEMORY_FORMATS[value]}
    raise ValueError(f"save: {where}: the format cannot hold {type(value).__name__} {value!r}")


def real(value):
    """A float; infinities and NaN are strings."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def device(value):
    """A device."""
    return {"type": value.type, "index": value.index}


def layout(value, where):
    """The number of a layout. Errors: ValueError for one that the format does not have."""
    if value not in LAYOUTS:
        raise ValueError(f"save: {where}: expected the layout strided or sparse_coo, got {value}")
    return LAYOUTS[value]


def facts(tensor, where="a tensor"):
    """The facts of a tensor that files keep."""
    is_strided = tensor.layout is torch.strided
    return {
        "dtype": DTYPES[tensor.dtype],
        "sizes": [_symbols.size(n) for n in tensor.shape],
        "requires_grad": tensor.requires_grad,
        "device": device(tensor.device),
        "strides": [_symbols.size(n) for n in (tensor.stride() if is_strided else [0] * tensor.dim())],
        "storage_offset": _symbols.size(tensor.storage_offset() if is_strided else 0),
        "layout": layout(tensor.layout, where),
    }


# ---- graphs ---------------------------------------------------------------------------------------------------------------


class GraphWriter:
    """Writes one graph; those within it get writers of their own."""

    def __init__(self, owner):
        self.owner = owner
        self.tensors, self.ints, self.bools, self.floats = {}, {}, {}, {}

    def graph(self, graph):
        """The graph with its tables of values."""
        nodes = []
        inputs = [
            self.argument(n) if isinstance(_value(n), (torch.Tensor, *_SYMBOLIC)) else plain(_value(n), n.name) for n in graph.find_nodes(op="placeholder")
        ]
        for node in graph.nodes:
            if node.op == "placeholder":
                self.define(node.name, _value(node))
            elif node.op == "call_function" and node.target is not operator.getitem:
                nodes.append(self.node(node))
            elif node.op in ("call_method", "call_module"):
                raise ValueError(f"save: the node {node.name!r} is a {node.op}, expected calls of operators")
        results = graph.output_node().args[0]
        single = isinstance(results, Node)
        outputs = [self.argument(n) for n in ([results] if single else results)]
        return {
            "inputs": inputs, "outputs": outputs, "nodes": nodes, "tensor_values": self.tensors, "sym_int_values": self.ints,
            "sym_bool_values": self.bools, "is_single_tensor_return": single, "custom_obj_values": {}, "sym_float_values": self.floats,
        }  # fmt: skip

    def define(self, name, value):
        """Enters a value into the tables."""
        if isinstance(value, torch.Tensor):
            self.tensors[name] = facts(value, f"the node {name!r}")
        elif isinstance(value, torch.SymInt):
            self.ints[name] = _symbols.size(value)
        elif isinstance(value, torch.SymBool):
            self.bools[name] = _symbols.truth(value)
        elif isinstance(value, torch.SymFloat):
            self.floats[name] = _symbols.real(value)

    def node(self, node):
        """A call."""
        schema = getattr(node.target, "_schema", None)
        single = None
        if schema is None:
            inputs = [
                {"name": _PYTHON_NAMES.get(i, "") if _is_python(node.target) else "", "arg": self.argument(a), "kind": 1} for i, a in enumerate(node.args)
            ]
            inputs += [{"name": k, "arg": self.argument(v), "kind": 2} for k, v in node.kwargs.items()]
            single = isinstance(_value(node), torch.Tensor) if not _is_python(node.target) and not is_step(node.target) else None
        else:
            inputs = [{"name": a.name, "arg": self.argument(v, a.type), "kind": 1} for a, v in zip(schema.arguments, node.args, strict=False)]
            types = {a.name: a.type for a in schema.arguments}
            inputs += [{"name": k, "arg": self.argument(v, types[k]), "kind": 2} for k, v in node.kwargs.items()]
        return {
            "target": target_name(node), "inputs": inputs, "outputs": self.outputs(node, schema), "metadata": _metadata(node),
            "is_hop_single_tensor_return": single, "name": node.name,
        }  # fmt: skip

    def outputs(self, node, schema):
        """The names of a call's results."""
        value = _value(node)
        if isinstance(value, (torch.Tensor, *_SYMBOLIC)):
            self.define(node.name, value)
            return [self.argument(node)]
        if value is None:
            return [{"as_none": True}] if is_step(node.target) else []
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"save: the node {node.name!r} gives {type(value).__name__}, expected tensors and symbolic numbers")
        parts = {user.args[1]: user for user in node.users if user.target is operator.getitem}
        names = []
        for i, item in enumerate(value):
            name = parts[i].name if i in parts else f"{node.name}_unused_{i}"
            if isinstance(item, (list, tuple)):
                names.append(self._listed(parts.get(i), name, item))
                continue
            self.define(name, item)
            names.append({"name": name} if isinstance(item, torch.Tensor) else None)
        if any(n is None for n in names):
            return [{"as_tensor": n} if n else {"as_none": True} for n in names]
        if schema is not None and len(schema.returns) == 1:
            return [{"as_tensors": names}]
        return [{"as_tensors": n} if isinstance(n, list) else {"as_tensor": n} for n in names]

    def _listed(self, node, name, tensors):
        """The names of a list among several results, which a node takes out, or nothing."""
        parts = {user.args[1]: user for user in (node.users if node else ()) if user.target is operator.getitem}
        found = []
        for i, tensor in enumerate(tensors):
            found.append({"name": parts[i].name if i in parts else f"{name}_unused_{i}"})
            self.define(found[-1]["name"], tensor)
        return found

    def argument(self, value, kind=None):
        """An argument; `kind` is its type in the schema."""
        if isinstance(value, Node):
            return self._node(value)
        if isinstance(value, (list, tuple)):
            return self._list(value, kind)
        base = getattr(kind, "base", "") if kind is not None and not kind._listed else ""
        return plain(float(value) if base == "float" and type(value) is int else value, "an argument")

    def _node(self, node):
        if node.op == "get_attr":
            part = _paths.get(self.owner, node.target)
            if not isinstance(part, torch.fx.GraphModule):
                raise ValueError(f"save: the node {node.name!r} is the attribute {node.target!r}, expected a graph")
            return {"as_graph": {"name": node.target, "graph": GraphWriter(part).graph(part.graph)}}
        value = _value(node)
        for cls, key, field in _REFERENCES:
            if isinstance(value, cls):
                return {key: {field: node.name}}
        raise ValueError(f"save: the value of {node.name!r} is no tensor and no symbolic number")

    def _list(self, values, kind):
        base = getattr(kind, "base", "Tensor")
        optional = getattr(kind, "_listed", "") == "?"
        if not values:
            return {{"Tensor": "as_tensors", "float": "as_floats", "bool": "as_bools", "str": "as_strings"}.get(base, "as_ints"): []}
        if any(v is None for v in values) or (optional and base == "Tensor"):
            return {"as_optional_tensors": [self.argument(v) for v in values]}
        if all(isinstance(v, Node) and isinstance(_value(v), torch.Tensor) for v in values):
            return {"as_tensors": [{"name": v.name} for v in values]}
        if any(isinstance(v, Node) for v in values):
            if not all(isinstance(v, Node) or type(v) is int for v in values):
                return {"as_sym_floats": [{"as_name": v.name} if isinstance(v, Node) else {"as_float": real(float(v))} for v in values]}
            return {"as_sym_ints": [{"as_name": v.name} if isinstance(v, Node) else {"as_int": v} for v in values]}
        if base == "float":
            return {"as_floats": [real(float(v)) for v in values]}
        for cls, key in ((bool, "as_bools"), (int, "as_ints"), (float, "as_floats"), (str, "as_strings")):
            if all(isinstance(v, cls) for v in values):
                return {key: [real(v) for v in values] if cls is float else list(values)}
        raise ValueError(f"save: the format cannot hold the list {values}")


_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
_REFERENCES = (
    (torch.Tensor, "as_tensor", "name"),
    (torch.SymInt, "as_sym_int", "as_name"),
    (torch.SymFloat, "as_sym_float", "as_name"),
    (torch.SymBool, "as_sym_bool", "as_name"),
)
_PYTHON_NAMES = {0: "a", 1: "b"}


def _value(node):
    if "val" not in node.meta:
        raise ValueError(f"save: the node {node.name!r} has no meta['val'], which says what it computes")
    return node.meta["val"]


def _is_python(function):
    return getattr(function, "__module__", None) in ("_operator", "math", "builtins", "torch", "cresset", "cresset._core.symbolic")


def operator_name(operator):
    """How files name an operator."""
    return f"torch.ops.higher_order.{operator.__name__}" if getattr(operator, "namespace", None) == "higher_order" else f"torch.ops.{operator}"


def target_name(node):
    """How files name what a node calls."""
    target = node.target
    if isinstance(target, OperatorBase):
        return operator_name(target)
    if _is_python(target):
        module = target.__module__
        return f"{'torch' if module.startswith('cresset') else module}.{target.__name__}"
    if is_step(target):
        return f"{STEPS_MODULE}.{target.__name__}"
    raise ValueError(f"save: the node {node.name!r} calls {target}, expected an operator")


def _metadata(node):
    found = {}
    if node.meta.get("stack_trace"):
        found["stack_trace"] = node.meta["stack_trace"]
    if node.meta.get("nn_module_stack"):
        found["nn_module_stack"] = ";".join(f"{key},{path},{kind}" for key, (path, kind) in node.meta["nn_module_stack"].items())
    if node.meta.get("torch_fn"):
        found["torch_fn"] = ";".join(node.meta["torch_fn"])
    return found
