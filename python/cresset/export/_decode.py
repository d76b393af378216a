"""Exported programs from the document of a `.pt2` file. Names in it stand for operators of the table, nothing else: the file cannot name code."""

import math
import operator

import _cresset_graph

import cresset as torch

from .. import ops
from .._functorch.predispatch import STEPS
from ..fx.experimental.symbolic_shapes import note_unbacked
from ..utils import _pytree as pytree
from . import _conditions, _encode, _shapes, _symbols
from .exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature, TrainingIRVerifier, Verifier
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
    TokenArgument,
)

_DTYPES = {number: dtype for dtype, number in _encode.DTYPES.items()}
_LAYOUTS = {number: layout for layout, number in _encode.LAYOUTS.items()}
_MEMORY_FORMATS = {number: f for f, number in _encode.MEMORY_FORMATS.items()}
_OPERATORS = {f"_operator.{n}": getattr(operator, n) for n in "add sub mul truediv floordiv mod neg pow eq ne lt le gt ge and_ or_ not_ pos abs".split()}
_OPERANDS = {function: 1 if name.rpartition(".")[2] in ("neg", "not_", "pos", "abs") else 2 for name, function in _OPERATORS.items()}
_FUNCTIONS = {"math.trunc": math.trunc, "math.floor": math.floor, "math.ceil": math.ceil}
_OLD_NAMES = ("axis0", "axis1")  # of swapaxes, which is transpose
_PYTHON = ("sym_max", "sym_min", "sym_not", "sym_float", "sym_int", "sym_ite", "_sym_sqrt", "_check", "_check_is_size")


class Place:
    """A place in the document, for messages."""

    def __init__(self, value, path):
        self.value, self.path = value, path

    def fail(self, text):
        """Errors: ValueError with the place."""
        raise ValueError(f"load: {self.path}: {text}")

    def at(self, key):
        """A field of an object."""
        if not isinstance(self.value, dict) or key not in self.value:
            self.fail(f"expected the field {key!r}")
        return Place(self.value[key], f"{self.path}.{key}")

    def get(self, key):
        """A field, or None where it is not there."""
        return Place(self.value[key], f"{self.path}.{key}") if isinstance(self.value, dict) and self.value.get(key) is not None else None

    def each(self):
        """The items of a list."""
        if not isinstance(self.value, list):
            self.fail(f"expected a list, got {type(self.value).__name__}")
        return [Place(v, f"{self.path}[{i}]") for i, v in enumerate(self.value)]

    def fields(self):
        """The fields of an object by name."""
        if not isinstance(self.value, dict):
            self.fail(f"expected an object, got {type(self.value).__name__}")
        return {key: Place(value, f"{self.path}.{key}") for key, value in self.value.items()}

    def choice(self):
        """The only field of an object: what kind of thing it is, and the thing."""
        if not isinstance(self.value, dict) or len(self.value) != 1:
            self.fail("expected an object with one field that says its kind")
        ((key, value),) = self.value.items()
        return key, Place(value, f"{self.path}.{key}")

    def of(self, *kinds):
        """The value, which has one of these classes."""
        if not isinstance(self.value, kinds) or (isinstance(self.value, bool) and bool not in kinds):
            self.fail(f"expected {' or '.join(k.__name__ for k in kinds)}, got {type(self.value).__name__}")
        return self.value


def program(document, state, constants, examples, opset):
    """The program of a document and its tensors. Errors: ValueError with the node and the field."""
    root = Place(document, "model")
    version = root.at("schema_version").at("major").of(int)
    if version != _encode.SCHEMA_VERSION["major"]:
        root.at("schema_version").fail(f"expected version {_encode.SCHEMA_VERSION['major']}, got {version}; the file was written by another PyTorch")
    if opset is not None and root.at("opset_version").value != opset:
        root.at("opset_version").fail(f"expected {opset}, got {root.at('opset_version').value}")
    module = root.at("graph_module")
    ranges = _shapes.ranges_from(root.get("range_constraints"))
    reader = GraphReader(module.at("graph"), _symbols.Symbols(ranges, document))
    graph, owner = reader.read(module.at("signature"))
    signature = ExportGraphSignature(*(
        [read(p) for p in module.at("signature").at(key).each()] for key, read in (("input_specs", _input_spec), ("output_specs", _output_spec))
    ))  # fmt: skip
    _check_weights(signature, graph, state, constants, module)
    entries = [ModuleCallEntry(p.at("fqn").of(str), _call_signature(p.get("signature"))) for p in module.at("module_call_graph").each()]
    dialects = [p.of(str) for p in root.at("verifiers").each()] if root.get("verifiers") else ["TRAINING"]
    verifiers = [Verifier if dialect == "ATEN" else TrainingIRVerifier for dialect in dialects]
    if not entries or entries[0].signature is None:
        module.at("module_call_graph").fail("expected the signature of the program's own call at its beginning")
    try:
        made = ExportedProgram(torch.fx.GraphModule(owner, graph), graph, signature, state, ranges, entries, examples, constants, verifiers=verifiers)
    except ValueError as error:
        module.at("signature").fail(error)
    made.example_inputs = examples
    made._guards = _conditions.read(made, [p.of(str) for p in root.at("guards_code").each()] if root.get("guards_code") else [])
    return made


def _check_weights(signature, graph, state, constants, module):
    for node, spec in zip(graph.find_nodes(op="placeholder"), signature.input_specs, strict=False):
        if spec.kind in (InputKind.USER_INPUT, InputKind.TOKEN):
            continue
        held = state if spec.kind is InputKind.PARAMETER or spec.persistent else constants
        if spec.target not in held:
            module.fail(f"the archive has no weight {spec.target!r}, which the input {node.name!r} takes")
        given, said = held[spec.target], node.meta["val"]
        if tuple(given.shape) != tuple(said.shape) or given.dtype is not said.dtype:
            module.fail(f"the weight {spec.target!r} is {given.dtype} of size {tuple(given.shape)}, the graph has {said.dtype} of size {tuple(said.shape)}")


# ---- tensors --------------------------------------------------------------------------------------------------------------


def _integers(place):
    return [p.at("as_int").of(int) for p in place.each()]


def stored(storage, place, is_parameter):
    """A tensor over bytes of the archive. Errors: ValueError for one that reaches beyond them."""
    sizes, strides = _integers(place.at("sizes")), _integers(place.at("strides"))
    offset, dtype = place.at("storage_offset").at("as_int").of(int), dtype_of(place.at("dtype"))
    if _layout(place.at("layout")) is not torch.strided:
        place.at("layout").fail("expected a weight that is strided")
    if len(sizes) != len(strides) or min([*sizes, *strides, offset], default=0) < 0:
        place.fail(f"sizes {sizes}, strides {strides} and offset {offset} do not fit each other")
    last = offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    if 0 not in sizes and (last + 1) * dtype.itemsize > storage.numel():
        place.fail(f"reaches {(last + 1) * dtype.itemsize} bytes, the archive has {storage.numel()}")
    whole = storage[: storage.numel() // dtype.itemsize * dtype.itemsize].view(dtype) if 0 not in sizes else torch.empty(0, dtype=dtype)
    tensor = whole.as_strided(sizes, strides, offset) if 0 not in sizes else torch.empty_strided(sizes, strides, dtype=dtype)
    requires_grad = place.at("requires_grad").of(bool)
    return torch.nn.Parameter(tensor, requires_grad) if is_parameter else tensor.requires_grad_(requires_grad)


def dtype_of(place):
    """A dtype by its number."""
    if place.of(int) not in _DTYPES:
        place.fail(f"expected the number of a dtype, got {place.value}")
    return _DTYPES[place.value]


def _layout(place):
    if place.of(int) not in _LAYOUTS:
        place.fail(f"expected the layout {' or '.join(f'{n} ({layout})' for n, layout in _LAYOUTS.items())}, got {place.value}")
    return _LAYOUTS[place.value]


def _device(place):
    try:
        return torch.device(place.at("type").of(str), *([place.at("index").of(int)] if place.get("index") else []))
    except RuntimeError as error:
        return place.fail(error)


# ---- signature ------------------------------------------------------------------------------------------------------------

_ARGUMENTS = {"as_tensor": TensorArgument, "as_sym_int": SymIntArgument, "as_sym_float": SymFloatArgument, "as_sym_bool": SymBoolArgument}


def _spec_argument(place):
    kind, value = place.choice()
    if kind in _ARGUMENTS:
        name = value.get("name") or value.get("as_name")
        if name is None:
            number = value.choice()[1].value
            return ConstantArgument("", number)
        return _ARGUMENTS[kind](name.of(str))
    return ConstantArgument("", plain(kind, value))


def _input_spec(place):
    kind, value = place.choice()
    if kind == "user_input":
        return InputSpec(InputKind.USER_INPUT, _spec_argument(value.at("arg")), None)
    if kind == "constant_input":
        return InputSpec(InputKind.USER_INPUT, ConstantArgument(value.at("name").of(str), plain(*value.at("value").choice())), None)
    if kind == "token":
        return InputSpec(InputKind.TOKEN, TokenArgument(value.at("arg").at("name").of(str)), None)
    kinds = {
        "parameter": (InputKind.PARAMETER, "parameter_name"), "buffer": (InputKind.BUFFER, "buffer_name"),
        "tensor_constant": (InputKind.CONSTANT_TENSOR, "tensor_constant_name"),
    }  # fmt: skip
    if kind not in kinds:
        place.fail(f"{kind!r} is no kind of input that programs here can have")
    which, field = kinds[kind]
    persistent = value.at("persistent").of(bool) if kind == "buffer" else None
    return InputSpec(which, TensorArgument(value.at("arg").at("name").of(str)), value.at(field).of(str), persistent)


def _output_spec(place):
    kind, value = place.choice()
    if kind == "user_output":
        return OutputSpec(OutputKind.USER_OUTPUT, _spec_argument(value.at("arg")), None)
    if kind == "token":
        return OutputSpec(OutputKind.TOKEN, TokenArgument(value.at("arg").at("name").of(str)), None)
    kinds = {
        "buffer_mutation": (OutputKind.BUFFER_MUTATION, "buffer_name"), "parameter_mutation": (OutputKind.PARAMETER_MUTATION, "parameter_name"),
        "gradient_to_parameter": (OutputKind.GRADIENT_TO_PARAMETER, "parameter_name"), "loss_output": (OutputKind.LOSS_OUTPUT, None),
        "gradient_to_user_input": (OutputKind.GRADIENT_TO_USER_INPUT, "user_input_name"),
        "user_input_mutation": (OutputKind.USER_INPUT_MUTATION, "user_input_name"),
    }  # fmt: skip
    if kind not in kinds:
        place.fail(f"{kind!r} is no kind of output that programs here can have")
    which, field = kinds[kind]
    return OutputSpec(which, TensorArgument(value.at("arg").at("name").of(str)), None if field is None else value.at(field).of(str))


def _tree(place):
    try:
        return pytree.treespec_loads(place.of(str))
    except (ValueError, NotImplementedError, KeyError, TypeError, AttributeError, IndexError) as error:
        return place.fail(f"describes no structure of arguments: {error!r}")


def _call_signature(place):
    if place is None:
        return None
    names = place.get("forward_arg_names")
    return ModuleCallSignature(
        [_spec_argument(p) for p in place.at("inputs").each()], [_spec_argument(p) for p in place.at("outputs").each()],
        _tree(place.at("in_spec")), _tree(place.at("out_spec")), names and [name.of(str) for name in names.each()],
    )  # fmt: skip


def _real(place):
    """A float; infinities and NaN are strings."""
    if isinstance(place.value, str) and place.value not in ("NaN", "Infinity", "-Infinity"):
        place.fail(f"expected a number, got {place.value[:40]!r}")
    return float(place.of(int, float, str))


def plain(kind, place):
    """A value that is no node."""
    if kind == "as_none":
        return None
    if kind in ("as_int", "as_bool", "as_string"):
        return place.of({"as_int": int, "as_bool": bool, "as_string": str}[kind])
    if kind == "as_float":
        return _real(place)
    if kind == "as_complex":
        return complex(place.at("real").of(int, float), place.at("imag").of(int, float))
    if kind == "as_scalar_type":
        return dtype_of(place)
    if kind == "as_device":
        return _device(place)
    if kind == "as_layout":
        return _layout(place)
    if kind == "as_memory_format":
        if place.of(int) not in _MEMORY_FORMATS:
            place.fail(f"expected the number of a memory format, got {place.value}")
        return _MEMORY_FORMATS[place.value]
    if kind in ("as_ints", "as_bools", "as_strings"):
        return [p.of({"as_ints": int, "as_bools": bool, "as_strings": str}[kind]) for p in place.each()]
    if kind == "as_floats":
        return [_real(p) for p in place.each()]
    return place.fail(f"{kind!r} is no kind of value that programs here can have")


# ---- graphs ---------------------------------------------------------------------------------------------------------------


class GraphReader:
    """Reads one graph; those within it get readers of their own."""

    def __init__(self, place, symbols, depth=0):
        self.place, self.symbols, self.depth = place, symbols, depth
        self.graph, self.owner, self.nodes = torch.fx.Graph(), torch.nn.Module(), {}
        if depth > 32:
            place.fail("expected at most 32 graphs within graphs")

    def read(self, signature=None):
        """The graph, and the module with the graphs within it."""
        inputs = self.place.at("inputs").each()
        specs = signature.at("input_specs").each() if signature is not None else [None] * len(inputs)
        if len(specs) != len(inputs):
            signature.fail(f"has {len(specs)} input_specs, where the graph has {len(inputs)} inputs")
        for place, spec in zip(inputs, specs, strict=True):
            kind, value = place.choice()
            if kind in _ARGUMENTS:
                name = (value.get("name") or value.at("as_name")).of(str)
                self.define(name, self._created("placeholder", name, (), {}, name), value)
            else:
                name = spec.choice()[1].at("name").of(str) if spec is not None else f"input_{len(self.nodes)}"
                self.nodes[self._free(name, place)] = node = self._created("placeholder", name, (), {}, name)
                node.meta["val"] = plain(kind, value)
        for place in self.place.at("nodes").each():
            self.node(place)
        results = [self.argument(p) for p in self.place.at("outputs").each()]
        single = self.place.get("is_single_tensor_return")
        is_single = single is not None and single.of(bool)
        if is_single and len(results) != 1:
            single.fail(f"is true, where the graph has {len(results)} outputs")
        self.graph.output(results[0] if is_single else tuple(results))
        return self.graph, self.owner

    def _created(self, op, target, args, kwargs, name):
        node = self.graph.create_node(op, target, args, kwargs, name=name)
        node.name = name
        return node

    def define(self, name, node, place):
        """Gives a node its name and its value. Errors: a name that is taken."""
        self.nodes[self._free(name, place)] = node
        node.meta["val"] = self.value_of(name, place)

    def _free(self, name, place):
        if name in self.nodes:
            place.fail(f"the name {name!r} is defined twice")
        return name

    def value_of(self, name, place):
        """The entry of a name in the tables of values."""
        symbols = self.symbols
        for table, make in (
            ("tensor_values", self.fake),
            ("sym_int_values", symbols.size),
            ("sym_float_values", symbols.value),
            ("sym_bool_values", symbols.value),
        ):
            found = self.place.get(table)
            if found is not None and name in found.of(dict):
                return make(found.at(name))
        return place.fail(f"no table of values has {name!r}")

    def fake(self, place):
        """A tensor of the facts that a table has."""
        sizes = [self.symbols.size(p) for p in place.at("sizes").each()]
        strides = [self.symbols.size(p) for p in place.at("strides").each()]
        if len(sizes) != len(strides):
            place.fail(f"has {len(sizes)} sizes and {len(strides)} strides")
        dtype, layout, device = dtype_of(place.at("dtype")), _layout(place.at("layout")), _device(place.at("device"))
        try:
            with self.symbols.mode:
                if layout is torch.strided:
                    made = torch.empty_strided(sizes, strides, dtype=dtype, device=device)
                else:
                    made = torch.empty(sizes, dtype=dtype, layout=layout, device=device)
        except RuntimeError as error:
            place.fail(f"has sizes {sizes} and strides {strides}, which no tensor has: {error}")
        return made.requires_grad_(True) if place.at("requires_grad").of(bool) and (dtype.is_floating_point or dtype.is_complex) else made

    def argument(self, place):
        """An argument: a node, a value, or a list."""
        kind, value = place.choice()
        if kind in _ARGUMENTS:
            if kind != "as_tensor" and value.choice()[0] in ("as_int", "as_float", "as_bool"):
                return value.choice()[1].of(int, float, bool)
            return self.named(value)
        if kind == "as_tensors":
            return [self.named(p) for p in value.each()]
        if kind == "as_optional_tensors":
            return [None if p.choice()[0] == "as_none" else self.named(p.choice()[1]) for p in value.each()]
        if kind in ("as_sym_ints", "as_sym_floats", "as_sym_bools"):
            return [self.named(p) if p.choice()[0] == "as_name" else p.choice()[1].of(int, float, bool) for p in value.each()]
        if kind == "as_graph":
            return self._nested(value)
        if kind == "as_operator":
            return _target(value)
        return plain(kind, value)

    def named(self, place):
        """The node of a name. Errors: a name that is not defined yet."""
        name = (place.get("name") or place.at("as_name")).of(str)
        if name not in self.nodes:
            place.fail(f"the value {name!r} is used before it is defined")
        return self.nodes[name]

    def _nested(self, place):
        name = place.at("name").of(str)
        if not name.isidentifier():
            place.at("name").fail(f"expected a name of letters, digits and underscores, got {name[:80]!r}")
        graph, owner = GraphReader(place.at("graph"), self.symbols, self.depth + 1).read()
        setattr(self.owner, name, torch.fx.GraphModule(owner, graph))
        return self.graph.create_node("get_attr", name)

    def node(self, place):
        """A call."""
        target = _target(place.at("target"))
        args, kwargs = [], {}
        schema = getattr(target, "_schema", None)
        keyword = {a.name for a in schema.arguments if a.kwarg_only} if schema is not None else ()
        known = [a.name for a in schema.arguments] if schema is not None else []
        for p in place.at("inputs").each():
            name = p.at("name").of(str)
            if name in kwargs or name in known[: len(args)]:
                p.fail(f"the argument {name!r} is given twice")
            if name in known:
                is_next = known.index(name) == len(args) and name not in keyword
            else:
                is_next = self._is_positional(p, target, name)
            if is_next and not kwargs:
                args.append(self.argument(p.at("arg")))
            else:
                kwargs[name] = self.argument(p.at("arg"))
        if schema is not None and [a.name for a in schema.arguments[len(args) :]][:1] == ["unbiased"] and "unbiased" not in kwargs:
            args.append(True)  # which the format may leave out
        for a in schema.arguments[len(args) :] if schema is not None else ():
            if a.name not in kwargs and not a.has_default_value():
                place.fail(f"the operator {target} needs a value for {a.name!r}")
        if (takes := _OPERANDS.get(target)) is not None and (len(args) != takes or kwargs):
            place.at("inputs").fail(f"expected {takes} for {target.__name__}, got {len(args) + len(kwargs)}")
        name = place.get("name")
        node = self.graph.create_node("call_function", target, tuple(args), kwargs, name=name and name.of(str))
        node.meta.update(_metadata(place.get("metadata")))
        self.outputs(node, place)
        note_unbacked(node, self.symbols.env, node.meta["val"])

    @staticmethod
    def _is_positional(place, target, name):
        """Whether an argument whose name is none of the operator's is the next one. Errors: operators have no other arguments."""
        if getattr(target, "_schema", None) is None:
            return place.get("kind") is None or place.at("kind").value != 2
        if name not in _OLD_NAMES:
            place.fail(f"the operator {target} has no argument {name!r}")
        return True

    def outputs(self, node, place):
        """Gives the results of a call their names."""
        outputs = place.at("outputs").each()
        single = place.get("is_hop_single_tensor_return")
        is_part = single is not None and single.value is False
        if len(outputs) == 1 and not is_part:
            kind, value = outputs[0].choice()
            if kind == "as_tensors":
                node.meta["val"] = [self._part(node, i, p) for i, p in enumerate(value.each())]
            elif kind == "as_none":
                node.meta["val"] = None
            else:
                name = (value.get("name") or value.at("as_name")).of(str)
                node.name = name
                self.define(name, node, value)
            return
        values = []
        for i, p in enumerate(outputs):
            kind, value = p.choice()
            values.append(None if kind == "as_none" else self._parts(node, i, value) if kind == "as_tensors" else self._part(node, i, value))
        node.meta["val"] = tuple(values) if outputs else None

    def _parts(self, node, index, place):
        """The values of a list among several results."""
        parts = self.graph.create_node("call_function", operator.getitem, (node, index))
        parts.meta["val"] = [self._part(parts, i, p) for i, p in enumerate(place.each())]
        return parts.meta["val"]

    def _part(self, node, index, place):
        name = (place.get("name") or place.at("as_name")).of(str)
        if name.endswith(f"_unused_{index}"):
            return self.value_of(name, place)
        if name == node.name:
            place.fail(f"the name {name!r} is that of the call itself")
        part = self._created("call_function", operator.getitem, (node, index), {}, name)
        part.meta.update({k: v for k, v in node.meta.items() if k != "val"})
        self.define(name, part, place)
        return part.meta["val"]


def _metadata(place):
    found = {}
    if place is None:
        return found
    if place.get("stack_trace"):
        found["stack_trace"] = place.at("stack_trace").of(str)
    if place.get("nn_module_stack"):
        parts = [part.split(",", 2) for part in place.at("nn_module_stack").of(str).split(";")]
        found["nn_module_stack"] = {p[0]: (p[1], p[2]) for p in parts if len(p) == 3}
    if place.get("torch_fn"):
        found["torch_fn"] = tuple(place.at("torch_fn").of(str).split(";"))
    return found


def _target(place):
    """The operator of a name. Errors: ValueError for one that is not there."""
    name = place.of(str)
    if name in _OPERATORS:
        return _OPERATORS[name]
    if name in _FUNCTIONS:
        return _FUNCTIONS[name]
    module, _, function = name.rpartition(".")
    if module == _encode.STEPS_MODULE and function in STEPS:
        return STEPS[function]
    parts = name.split(".")
    if len(parts) == 2 and parts[0] == "torch" and parts[1] in _PYTHON and hasattr(torch, parts[1]):
        return getattr(torch, parts[1])
    if parts[:2] != ["torch", "ops"] or len(parts) not in (4, 5) or any(p.startswith("__") and p.endswith("__") and p[2:-2] not in _DUNDER for p in parts):
        place.fail(f"{name!r} names no operator")
    if parts[2] == "higher_order":
        from .._higher_order_ops import _operator, effects, out_dtype, print, wrap  # noqa: F401  which names them

        if parts[3] not in _operator.operators:
            place.fail(f"this library has no operator {name!r}")
        return _operator.operators[parts[3]]
    ours = _cresset_graph.Graph.operator_of(name).split(".") if parts[2] == "aten" else []
    found = _overload(parts[2], *(ours if len(ours) == 2 else [*ours, "default"])) if ours else None
    found = found or (_overload(*parts[2:]) if len(parts) == 5 else None)
    return found or place.fail(f"this library has no operator {name!r}")


def _overload(namespace, name, overload):
    """An operator by its name, or None."""
    return getattr(getattr(getattr(ops, namespace), name, None), overload, None)


_DUNDER = ("and", "or", "xor", "lshift", "rshift", "iand", "ior", "ixor", "ilshift", "irshift")
