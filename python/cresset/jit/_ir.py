"""Graphs of TorchScript: blocks, nodes and values as the graph has them now. Changes made here change the graph, for the function, too, that it
belongs to. Errors: RuntimeError for a node or value that is no longer part of its graph."""

import _cresset_graph as _graph

_KINDS = {
    "Tensor": "TensorType", "int": "IntType", "float": "FloatType", "bool": "BoolType", "str": "StringType", "List": "ListType", "Dict": "DictType",
    "Optional": "OptionalType", "Tuple": "TupleType", "Union": "UnionType", "Future": "FutureType", "NoneType": "NoneType", "Any": "AnyType",
    "complex": "ComplexType", "number": "NumberType", "Device": "DeviceObjType", "Generator": "GeneratorType",
}  # fmt: skip


class Type:
    """A type of TorchScript. `annotation_str` is how programs write it, `str()` how graphs do, with what is known of tensors.

    >>> torch._C.TensorType.create_from_tensor(torch.ones(2, 3)).str()
    'Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)'
    """

    def __init__(self, described):
        """Of an annotation, or of a type of the library."""
        self._annotation = described if isinstance(described, str) else None
        self._made = None if isinstance(described, str) else described

    @property
    def _handle(self):
        if self._made is None:
            self._made = _graph.script_type(self._annotation)
        return self._made

    @property
    def annotation_str(self):
        return self._facts()[0] if self._annotation is None else self._annotation

    def kind(self):
        return _KINDS.get(self.annotation_str.partition("[")[0], "ClassType")

    def str(self):
        return self._facts()[1]

    def __str__(self):
        return self.annotation_str

    __repr__ = __str__

    def __eq__(self, other):
        if not hasattr(other, "annotation_str"):
            return NotImplemented
        if self.annotation_str != other.annotation_str or not isinstance(other, Type):
            return self.annotation_str == other.annotation_str
        return _graph.script_same_types(self._handle, other._handle)

    def __hash__(self):
        return hash(self.annotation_str)

    def _need(self, *kinds):
        if self.kind() not in kinds:
            raise RuntimeError(f"expected a type of {' or '.join(kinds)}, got {self.annotation_str}")

    def containedTypes(self):
        return [Type(part) for part in _graph.script_type_parts(self._handle)]

    def getElementType(self):
        self._need("ListType", "OptionalType", "FutureType")
        return self.containedTypes()[0]

    def elements(self):
        self._need("TupleType")
        return self.containedTypes()

    def getKeyType(self):
        self._need("DictType")
        return self.containedTypes()[0]

    def getValueType(self):
        self._need("DictType")
        return self.containedTypes()[1]

    def isSubtypeOf(self, other):
        if self.kind() == other.kind() == "TensorType":
            return other.str() in ("Tensor", self.str())
        return _graph.script_is_subtype(self.annotation_str, other.annotation_str)

    # ---- of tensors: None where it is not known

    def _facts(self):
        return _graph.script_type_facts(self._handle)

    def _of_tensor(self):
        self._need("TensorType")
        return self._facts()[2:]

    def scalarType(self):
        """The name of the dtype, "Float"."""
        return self._of_tensor()[0]

    def dtype(self):
        return self._of_tensor()[1]

    def device(self):
        return self._of_tensor()[2]

    def sizes(self):
        """The sizes, of which some may be None."""
        return self._of_tensor()[3]

    varyingSizes = sizes

    def symbolic_sizes(self):
        """The sizes, where those that are not known have numbers below 0, each another one."""
        sizes = self.sizes()
        return None if sizes is None else [-1 - i if size is None else size for i, size in enumerate(sizes)]

    def strides(self):
        return self._of_tensor()[4]

    def requires_grad(self):
        """Whether gradients are recorded, as is taken for granted where nothing is known."""
        return self._of_tensor()[5] is not False

    def dim(self):
        sizes = self.sizes()
        return None if sizes is None else len(sizes)

    def undefined(self):
        self._need("TensorType")
        return False

    def _with(self, dtype=None, device=None, sizes=None):
        _, own_dtype, own_device, own_sizes, strides, grad = self._of_tensor()
        sizes = own_sizes if sizes is None else list(sizes)
        strides = strides if strides is not None and len(strides) == len(sizes) else None
        return Type(_graph.script_tensor_type(dtype or own_dtype, device or own_device, sizes, strides, grad))

    def with_dtype(self, dtype):
        return self._with(dtype=dtype)

    def with_device(self, device):
        return self._with(device=device)

    def with_sizes(self, sizes):
        return self._with(sizes=sizes)

    def contiguous(self):
        """The same with the strides of tensors that are contiguous."""
        _, dtype, device, sizes, _, grad = self._of_tensor()
        strides, step = [], 1
        for size in reversed(sizes or ()):
            strides.insert(0, step)
            step = None if size is None or step is None else step * max(size, 1)
        return Type(_graph.script_tensor_type(dtype, device, sizes, strides if sizes is not None else None, grad))


def type_of_tensor(tensor):
    """The type of a tensor, with all that is known of it."""
    return Type(_graph.script_type_of_tensor(tensor))


def apply_input_props_using_example(graph, example_input):
    """Gives the inputs of a graph the types of tensors."""
    import cresset as torch

    for value, given in zip(graph.inputs(), example_input, strict=False):
        if isinstance(given, torch.Tensor):
            value.setType(type_of_tensor(given))


class Use:
    """An input of a node that a value is: `user`, the node, and `offset`, which input."""

    def __init__(self, user, offset):
        self.user, self.offset = user, offset


class _Part:
    """A part of a graph, by where it is."""

    def __init__(self, graph, at):
        self._graph, self._at = graph, at

    def __eq__(self, other):
        return isinstance(other, _Part) and self._at == other._at and self._graph._handle == other._graph._handle

    def __hash__(self):
        return hash(self._at)

    @property
    def _handle(self):
        return self._graph._handle


class Value(_Part):
    """A value of a graph."""

    def _facts(self):
        return _graph.ir_value(self._handle, self._at)

    def debugName(self):
        return self._facts()[0]

    def setDebugName(self, name):
        _graph.ir_change_value(self._handle, self._at, name, None)

    def unique(self):
        """A number that no other value of the graph has."""
        return self._at

    def type(self):
        return Type(self._facts()[1])

    def setType(self, type):
        made = type if isinstance(type, Type) else Type(type.annotation_str)
        _graph.ir_change_value(self._handle, self._at, None, made._handle)
        return self

    def setTypeAs(self, other):
        return self.setType(other.type())

    def inferTypeFrom(self, value):
        import cresset as torch

        from ._infer import type_text

        self.setType(type_of_tensor(value) if isinstance(value, torch.Tensor) else Type(type_text(value)))

    def isCompleteTensor(self):
        """Whether all is known of a tensor but its values."""
        type = self.type()
        if type.kind() != "TensorType":
            return False
        _, dtype, device, sizes, strides, grad = type._of_tensor()
        return None not in (dtype, device, grad) and all(row is not None and None not in row for row in (sizes, strides))

    def requires_grad(self):
        type = self.type()
        return type.kind() == "TensorType" and bool(type._of_tensor()[5])

    requiresGrad = requires_grad

    def node(self):
        _, _, node, _, is_constant, _ = self._facts()
        return Constant(self) if is_constant else Node(self._graph, node) if node else self._graph.param_node()

    def offset(self):
        return self._facts()[3]

    def uses(self):
        return [Use(Node(self._graph, node), offset) for node, offset in self._facts()[5]]

    def hasUses(self):
        return bool(self._facts()[5])

    def toIValue(self):
        """The value of a constant; None where it is known only when the program runs."""
        return _graph.ir_constant(self._handle, self._at) if self._facts()[4] else None

    def replaceAllUsesWith(self, other):
        _graph.ir_replace_uses(self._handle, self._at, other._at, 0)

    def replaceAllUsesAfterNodeWith(self, node, other):
        _graph.ir_replace_uses(self._handle, self._at, other._at, node._at)

    def __repr__(self):
        name = self.debugName()
        return f"{name} defined in (%{name} : {self.type().str()})"


class _Search:
    """The search for nodes in something that has nodes."""

    def findAllNodes(self, kind, recurse=True):
        """The nodes of a kind, in order, those of nested blocks too with `recurse`."""
        found = []
        for node in self.nodes():
            if node.kind() == kind:
                found.append(node)
            if recurse:
                for block in node.blocks():
                    found += block.findAllNodes(kind, recurse)
        return found

    def findNode(self, kind, recurse=True):
        return next(iter(self.findAllNodes(kind, recurse)), None)


class Node(_Part):
    """A node of a graph."""

    def _facts(self):
        return _graph.ir_node(self._handle, self._at)

    def _values(self, which):
        return [Value(self._graph, at) for at in self._facts()[which]]

    def kind(self):
        return self._facts()[0]

    def inputs(self):
        return iter(self._values(1))

    def outputs(self):
        return iter(self._values(2))

    def inputsAt(self, i):
        return self._values(1)[i]

    def outputsAt(self, i):
        return self._values(2)[i]

    def input(self):
        (one,) = self._values(1)
        return one

    def output(self):
        (one,) = self._values(2)
        return one

    def inputsSize(self):
        return len(self._facts()[1])

    def outputsSize(self):
        return len(self._facts()[2])

    def hasMultipleOutputs(self):
        return self.outputsSize() > 1

    def hasUses(self):
        return any(v.hasUses() for v in self.outputs())

    def blocks(self):
        return iter([Block(self._graph, at) for at in self._facts()[3]])

    def owningBlock(self):
        return Block(self._graph, self._facts()[6])

    def sourceRange(self):
        """The place in the program, "file:line:column"; empty where it is unknown."""
        return self._facts()[5]

    def scopeName(self):
        """Names of the modules around, which graphs here do not keep."""
        return ""

    def schema(self):
        return _graph.ir_node_schema(self._handle, self._at) or "(no schema)"

    def matches(self, schema):
        """Whether the node calls the operator of a schema: of this name, with arguments of these names and types."""
        from .._core.operator_schema import FunctionSchema

        own = self.schema()
        if own == "(no schema)":
            return False
        mine, wanted = FunctionSchema(own, ""), FunctionSchema(schema, "")
        return mine.name == wanted.name and [(a.name, a.type) for a in mine.arguments] == [(a.name, a.type) for a in wanted.arguments]

    def next(self):
        at = self._facts()[7]
        return Node(self._graph, at) if at else None

    def prev(self):
        at = self._facts()[8]
        return Node(self._graph, at) if at else None

    def mustBeNone(self):
        return False

    def findNode(self, kind, recurse=True):
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind, recurse=True):
        return [n for b in self.blocks() for n in b.findAllNodes(kind, recurse)]

    # ---- attributes

    def _attributes(self):
        return self._facts()[4]

    def attributeNames(self):
        return list(self._attributes())

    def hasAttributes(self):
        return bool(self._attributes())

    def hasAttribute(self, name):
        return name in self._attributes()

    def kindOf(self, name):
        """The kind of an attribute: "i", "f", "s", "t", a list of them, or "ival"."""
        return _kind_of_attribute(self._attribute(name))

    def _attribute(self, name):
        try:
            return self._attributes()[name]
        except KeyError:
            raise RuntimeError(f"the node {self.kind()} has no attribute '{name}'") from None

    def _attribute_of_kind(self, name, *kinds):
        value = self._attribute(name)
        if (kind := _kind_of_attribute(value)) not in kinds:
            raise RuntimeError(f"the attribute '{name}' of {self.kind()} is of kind {kind}, expected {' or '.join(kinds)}")
        return value

    def i(self, name):
        return int(self._attribute_of_kind(name, "i"))

    def f(self, name):
        return self._attribute_of_kind(name, "f")

    def s(self, name):
        return self._attribute_of_kind(name, "s")

    def t(self, name):
        return self._attribute_of_kind(name, "t")

    def g(self, name):
        return Graph(self._attribute_of_kind(name, "g"))

    def fs(self, name):
        return self._attribute_of_kind(name, "fs")

    def ss(self, name):
        return self._attribute_of_kind(name, "ss")

    def ts(self, name):
        return self._attribute_of_kind(name, "ts")

    def gs(self, name):
        return [Graph(handle) for handle in self._attribute_of_kind(name, "gs")]

    def ival(self, name):
        return self._attribute(name)

    def _set(self, name, kind, value):
        _graph.ir_set_attribute(self._handle, self._at, name, kind, value)
        return self

    def i_(self, name, value):
        """Sets an attribute of a node of another format, such as ONNX. The other setters do the same for values of other kinds."""
        return self._set(name, "i", int(value))

    def f_(self, name, value):
        return self._set(name, "f", float(value))

    def s_(self, name, value):
        return self._set(name, "s", value)

    def t_(self, name, value):
        return self._set(name, "t", value)

    def g_(self, name, value):
        return self._set(name, "g", value._handle)

    def is_(self, name, values):
        return self._set(name, "is", [int(v) for v in values])

    def fs_(self, name, values):
        return self._set(name, "fs", [float(v) for v in values])

    def ss_(self, name, values):
        return self._set(name, "ss", list(values))

    def ts_(self, name, values):
        return self._set(name, "ts", list(values))

    def gs_(self, name, values):
        return self._set(name, "gs", [v._handle for v in values])

    def removeAttribute(self, name):
        self._attribute(name)
        self._set(name, "", None)

    # ---- changes

    def _set_inputs(self, values):
        _graph.ir_set_inputs(self._handle, self._at, [v._at for v in values])

    def addInput(self, value):
        self._set_inputs([*self.inputs(), value])
        return value

    def replaceInput(self, i, value):
        values = list(self.inputs())
        former, values[i] = values[i], value
        self._set_inputs(values)
        return former

    def replaceInputWith(self, former, value):
        self._set_inputs([value if v == former else v for v in self.inputs()])

    def removeInput(self, i):
        values = list(self.inputs())
        del values[i]
        self._set_inputs(values)

    def removeAllInputs(self):
        self._set_inputs([])

    def addOutput(self):
        return Value(self._graph, _graph.ir_add_output(self._handle, self._at))

    def eraseOutput(self, i):
        _graph.ir_remove_output(self._handle, self._at, i)

    def addBlock(self):
        return Block(self._graph, _graph.ir_add_block(self._handle, self._at))

    def replaceAllUsesWith(self, other):
        mine, theirs = list(self.outputs()), list(other.outputs())
        if len(mine) != len(theirs):
            raise RuntimeError(f"replaceAllUsesWith: expected a node with {len(mine)} outputs, got {len(theirs)}")
        for a, b in zip(mine, theirs):
            a.replaceAllUsesWith(b)

    def destroy(self):
        """Takes the node out of its graph. RuntimeError where something uses its outputs."""
        _graph.ir_destroy(self._handle, self._at)

    def moveBefore(self, other):
        _graph.ir_move(self._handle, self._at, other._at, 0)

    def moveAfter(self, other):
        after = other.next()
        _graph.ir_move(self._handle, self._at, after._at if after else 0, other.owningBlock()._at)

    def insertBefore(self, other):
        self.moveBefore(other)
        return self

    def insertAfter(self, other):
        self.moveAfter(other)
        return self

    def __str__(self):
        kind, inputs, outputs, _, attributes, *_ = self._facts()
        typed = ", ".join(f"%{v.debugName()} : {v.type().str()}" for v in self.outputs())
        given = ", ".join(f"%{v.debugName()}" for v in self.inputs())
        named = "[" + ", ".join(f'{k}="{v}"' if isinstance(v, str) else f"{k}={v}" for k, v in attributes.items()) + "]" if attributes else ""
        return f"{typed}{' = ' if typed else ''}{kind}{named}({given})\n"

    __repr__ = __str__


setattr(Node, "is", lambda self, name: self._attribute_of_kind(name, "is"))


def _kind_of_attribute(value):
    import cresset as torch

    for kind, types in (("i", int), ("f", float), ("s", str), ("t", torch.Tensor), ("g", type(_graph.ir_empty_graph()))):
        if isinstance(value, types):
            return kind
        if isinstance(value, (list, tuple)) and value and all(isinstance(v, types) for v in value):
            return kind + "s"
    return "ival"


class Constant(Node):
    """The node that a constant stands for in PyTorch's graphs: it has the constant as attribute `value`."""

    def __init__(self, value):
        super().__init__(value._graph, value._at)
        self._value = value

    def _facts(self):
        value = self._value.toIValue()
        attributes = {} if value is None else {"value": value}
        return "prim::Constant", [], [self._at], [], attributes, "", 0, 0, 0

    def mustBeNone(self):
        return self._value.toIValue() is None

    def _set_inputs(self, values):
        raise RuntimeError("a constant has no inputs")

    def destroy(self):
        if self._value.hasUses():
            raise RuntimeError(f"the constant %{self._value.debugName()} is used")

    def moveBefore(self, other):
        """Constants stand before all nodes, wherever they are moved to."""

    moveAfter = moveBefore

    def owningBlock(self):
        return Block(self._graph, 0)

    def schema(self):
        return "(no schema)"


class _End:
    """The node that has the parameters of a block as outputs, or its results as inputs."""

    def __init__(self, kind, inputs, outputs):
        self._kind, self._inputs, self._outputs = kind, inputs, outputs

    def kind(self):
        return self._kind

    def inputs(self):
        return iter(self._inputs)

    def outputs(self):
        return iter(self._outputs)

    def inputsAt(self, i):
        return self._inputs[i]

    def outputsAt(self, i):
        return self._outputs[i]

    def inputsSize(self):
        return len(self._inputs)

    def outputsSize(self):
        return len(self._outputs)

    def blocks(self):
        return iter(())

    def attributeNames(self):
        return []

    def hasAttribute(self, name):
        return False

    def sourceRange(self):
        return ""


class Block(_Part, _Search):
    """Nodes in order, with parameters and results."""

    def _facts(self):
        return _graph.ir_block(self._handle, self._at)

    def nodes(self):
        return iter([Node(self._graph, at) for at in self._facts()[2]])

    def inputs(self):
        return iter([Value(self._graph, at) for at in self._facts()[0]])

    def outputs(self):
        return iter([Value(self._graph, at) for at in self._facts()[1]])

    def returnNode(self):
        return _End("prim::Return", list(self.outputs()), [])

    def paramNode(self):
        return _End("prim::Param", [], list(self.inputs()))

    def owningNode(self):
        at = self._facts()[3]
        return Node(self._graph, at) if at else None

    def addInputToBlock(self, name=""):
        return Value(self._graph, _graph.ir_add_parameter(self._handle, self._at, name))

    def registerOutput(self, value):
        _graph.ir_set_inputs(self._handle, self._at, [*self._facts()[1], value._at])
        return len(self._facts()[1]) - 1

    def addNode(self, kind, inputs=()):
        node = self._graph.create(kind, list(inputs))
        _graph.ir_move(self._handle, node._at, 0, self._at)
        return node


class Graph(_Search):
    """A graph of TorchScript."""

    def __init__(self, handle=None, function=None):
        self._handle, self._function = _graph.ir_empty_graph() if handle is None else handle, function
        self._place = None

    def __eq__(self, other):
        return isinstance(other, Graph) and self._handle == other._handle

    __hash__ = None

    def __str__(self):
        return _graph.script_graph_text(self._handle)

    __repr__ = __str__

    def str(self, print_source_ranges=True):
        text = str(self)
        return text if print_source_ranges else "".join(line.partition(" # ")[0] + "\n" for line in text.splitlines())

    def block(self):
        return Block(self, 0)

    def nodes(self):
        constants = [Constant(Value(self, at)) for at in _graph.ir_constants(self._handle)]
        return iter([*constants, *self.block().nodes()])

    def inputs(self):
        return self.block().inputs()

    def outputs(self):
        return self.block().outputs()

    def return_node(self):
        return self.block().returnNode()

    def param_node(self):
        return self.block().paramNode()

    def copy(self):
        return Graph(_graph.script_graph_copy(self._handle), self._function)

    def lint(self):
        """Checks the graph. RuntimeError for the first thing that is wrong."""
        _graph.script_graph_pass(self._handle, "verify")

    # ---- changes

    def addInput(self, name=""):
        return self.block().addInputToBlock(name)

    def eraseInput(self, i):
        _graph.ir_remove_parameter(self._handle, 0, i)

    def permuteInputs(self, order):
        """Input `order[i]` becomes number i."""
        _graph.ir_permute_parameters(self._handle, 0, [int(i) for i in order])

    def registerOutput(self, value):
        return self.block().registerOutput(value)

    def eraseOutput(self, i):
        results = [v._at for v in self.outputs()]
        del results[i]
        _graph.ir_set_inputs(self._handle, 0, results)

    def makeMultiOutputIntoTuple(self):
        results = list(self.outputs())
        if len(results) != 1:
            tuple_node = self.appendNode(self.create("prim::TupleConstruct", results))
            _graph.ir_set_inputs(self._handle, 0, [tuple_node.output()._at])

    def create(self, kind, inputs=(), num_outputs=1):
        """A node that stands nowhere yet: `appendNode`, `prependNode` and `insertNode` give it a place."""
        if isinstance(inputs, int):
            inputs, num_outputs = (), inputs
        if not all(isinstance(v, Value) for v in inputs):
            raise ValueError(f"create: expected values of the graph as inputs of {kind}, got {inputs!r}")
        return Node(self, _graph.ir_create(self._handle, kind, [v._at for v in inputs], {}, num_outputs))

    def appendNode(self, node):
        _graph.ir_move(self._handle, node._at, 0, 0)
        return node

    def prependNode(self, node):
        first = next(iter(self.block().nodes()), None)
        _graph.ir_move(self._handle, node._at, first._at if first is not None else 0, 0)
        return node

    def setInsertPoint(self, place):
        """Where `insertNode`, `insert` and `insertGraph` put nodes: before a node, or at the end of a block."""
        self._place = place

    def insertPoint(self):
        return self._place if self._place is not None else self.return_node()

    def _before(self):
        """The node before which nodes are put, or 0, and the block."""
        if isinstance(self._place, Node) and not isinstance(self._place, Constant):
            return self._place._at, 0
        return 0, self._place._at if isinstance(self._place, Block) else 0

    def insert_point_guard(self, place):
        return _Place(self, place)

    def insertNode(self, node):
        if not isinstance(node, Constant):
            _graph.ir_move(self._handle, node._at, *self._before())
        return node

    def insertConstant(self, value):
        return Value(self, _graph.ir_insert_constant(self._handle, value))

    def insert(self, kind, inputs=()):
        """A node of an operator at the point of insertion: its value. Inputs are values, or what constants are made of."""
        values = [v if isinstance(v, Value) else self.insertConstant(v) for v in inputs]
        return self.insertNode(self.create(kind, values)).output()

    def insertGraph(self, graph, inputs):
        """The nodes of another graph at the point of insertion, for these inputs: the values of its results."""
        before, block = self._before()
        if block:
            raise RuntimeError("insertGraph: expected a node as the point of insertion, got a block")
        return [Value(self, at) for at in _graph.ir_insert_graph(self._handle, graph._handle, [v._at for v in inputs], before)]

    # ---- passes

    def _pass(self, *names):
        """Runs passes over the graph, which changes it."""
        return sum(_graph.script_graph_pass(self._handle, name) for name in names)

    # ---- ONNX

    def _export_onnx(
        self, initializers, onnx_opset_version=0, dynamic_axes=None, defer_weight_export=False, operator_export_type=0, strip_doc_string=True,
        keep_initializers_as_inputs=True, custom_opsets=None, add_node_names=True, onnx_file_path="", node_attr_to_name=None,
    ):  # fmt: skip
        """A graph of ONNX nodes as a file of that format: its bytes, the bytes of weights that are deferred, whether weights became files beside
        `onnx_file_path`, and the names of nodes."""
        renamed = {node._at: names for node, names in (node_attr_to_name or {}).items()}
        made, weights, has_files, names = _graph.script_export_onnx(
            self._handle, initializers, onnx_opset_version, dynamic_axes or {}, defer_weight_export, int(operator_export_type), strip_doc_string,
            keep_initializers_as_inputs, custom_opsets or {}, add_node_names, False, onnx_file_path, renamed,
        )  # fmt: skip
        deferred = {name: bytes(t.detach().cpu().contiguous().clone().untyped_storage()) for name, t in weights.items()}
        return made, deferred, has_files, {Node(self, at): name for at, name in names.items()}

    def _pretty_print_onnx(
        self, initializers, onnx_opset_version=0, defer_weight_export=False, operator_export_type=0, google_printer=False, keep_initializers_as_inputs=True,
        custom_opsets=None, add_node_names=True,
    ):  # fmt: skip
        """The file of `_export_onnx` as text: in short, or with `google_printer` all of it."""
        made = self._export_onnx(
            initializers, onnx_opset_version, {}, defer_weight_export, operator_export_type, True, keep_initializers_as_inputs, custom_opsets, add_node_names
        )[0]
        return _graph.script_print_onnx(made, google_printer)

    def _inline(self):
        """Puts what the functions that the graph calls do in place of the calls."""
        _graph.script_graph_inline(self._handle)


class _Place:
    """Within `with` another point of insertion."""

    def __init__(self, graph, place):
        self._graph, self._new = graph, place

    def __enter__(self):
        self._former, self._graph._place = self._graph._place, self._new

    def __exit__(self, *error):
        self._graph._place = self._former


def graph_of_text(text, tensors=False):
    """The graph that PyTorch's text of graphs describes; with `tensors` numbers between braces are tensors."""
    return Graph(_graph.script_parse_ir(text, tensors))
