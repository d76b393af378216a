"""Graphs and signatures, to be looked at."""

import _cresset_graph as _graph


class Type:
    """A type of TorchScript."""

    def __init__(self, text):
        self.annotation_str = text

    def kind(self):
        head = self.annotation_str.partition("[")[0]
        kinds = {"Tensor": "TensorType", "int": "IntType", "float": "FloatType", "bool": "BoolType", "str": "StringType", "List": "ListType", "Dict": "DictType",
                 "Optional": "OptionalType", "Tuple": "TupleType", "Union": "UnionType", "Future": "FutureType", "NoneType": "NoneType", "Any": "AnyType",
                 "complex": "ComplexType", "number": "NumberType", "Device": "DeviceObjType"}  # fmt: skip
        return kinds.get(head, "ClassType")

    def str(self):
        return self.annotation_str

    def __str__(self):
        return self.annotation_str

    __repr__ = __str__

    def __eq__(self, other):
        return isinstance(other, Type) and self.annotation_str == other.annotation_str

    def __hash__(self):
        return hash(self.annotation_str)


class Argument:
    """An argument of a signature."""

    def __init__(self, row):
        self.name, text, self._has_default, self.default_value, self.kwarg_only = row
        self.type = self.real_type = Type(text)
        self.N = None

    def has_default_value(self):
        return self._has_default


class Schema:
    """The signature of a function."""

    def __init__(self, handle):
        info = _graph.script_function_info(handle)
        self._text = info["schema"]
        self.name, self.overload_name = info["name"].rpartition(".")[2], ""
        self.arguments = [Argument(row) for row in info["arguments"]]
        self.returns = [Argument(("", text, False, None, False)) for text in info["returns"]]
        self.is_vararg = self.is_varret = False

    def __str__(self):
        return self._text

    __repr__ = __str__


class Value:
    """A value of a graph."""

    def __init__(self, name, text):
        self._name, self._type = name, text

    def debugName(self):
        return self._name

    def type(self):
        return Type(self._type)


class Node:
    """A node of a graph."""

    def __init__(self, row):
        self._kind, inputs, outputs, blocks = row
        self._inputs, self._outputs = [Value(*v) for v in inputs], [Value(*v) for v in outputs]
        self._blocks = [Block(b) for b in blocks]

    def kind(self):
        return self._kind

    def inputs(self):
        return iter(self._inputs)

    def outputs(self):
        return iter(self._outputs)

    def output(self):
        (one,) = self._outputs
        return one

    def inputsSize(self):
        return len(self._inputs)

    def outputsSize(self):
        return len(self._outputs)

    def blocks(self):
        return iter(self._blocks)


class Block:
    """Nodes in order."""

    def __init__(self, rows):
        parameters, results, nodes = rows
        self._inputs, self._outputs = [Value(*v) for v in parameters], [Value(*v) for v in results]
        self._nodes = [Node(row) for row in nodes]

    def nodes(self):
        return iter(self._nodes)

    def inputs(self):
        return iter(self._inputs)

    def outputs(self):
        return iter(self._outputs)

    def findNode(self, kind, recurse=True):
        return next(iter(self.findAllNodes(kind, recurse)), None)

    def findAllNodes(self, kind, recurse=True):
        found = []
        for node in self._nodes:
            if node.kind() == kind:
                found.append(node)
            if recurse:
                for block in node.blocks():
                    found += block.findAllNodes(kind, recurse)
        return found


class Graph(Block):
    """The graph of a function, as it is when it is asked for."""

    def __init__(self, handle, function=None):
        self._handle, self._function = handle, function
        self._read()

    def _read(self):
        rows, self._text = _graph.script_graph_rows(self._handle)
        super().__init__(rows)

    def _pass(self, *names):
        """Runs passes over the graph, which changes it."""
        for name in names:
            _graph.script_graph_pass(self._handle, name)
        self._read()

    def _inline(self):
        """Puts what the functions that the graph calls do in place of the calls."""
        if self._function is not None:
            self._handle = _graph.script_function_graph(self._function, True)
            self._read()

    def __str__(self):
        return self._text

    __repr__ = __str__

    def copy(self):
        copied = _graph.script_graph_copy(self._handle)
        return Graph(copied, self._function)


def graph_of_text(text):
    """The graph that PyTorch's text of graphs describes."""
    return Graph(_graph.script_parse_ir(text))


class ClassType(Type):
    """The type of a class that was compiled."""

    _kind = "ClassType"

    def __init__(self, handle):
        self._info = _graph.script_class_info(handle)
        super().__init__(self._info["name"])

    def kind(self):
        return self._kind

    def name(self):
        return self.annotation_str.rpartition(".")[2]

    def qualified_name(self):
        return self.annotation_str

    def method_names(self):
        return list(self._info["methods"])

    def is_interface_type(self):
        return self._kind == "InterfaceType"


class InterfaceType(ClassType):
    """The type of an interface: what its methods take and give."""

    _kind = "InterfaceType"

    def getMethodNames(self):
        return [name for name, _ in self._info["interface"]]

    def getMethod(self, name):
        return dict(self._info["interface"]).get(name)


class ExecutionPlan:
    """A program that runs: its graph after all passes, and its instructions."""

    def __init__(self, graph, code):
        self.graph, self.code = graph, code


class DebugState:
    """The programs of a function. There is one for all arguments."""

    def __init__(self, handle, graph):
        ran = _graph.script_function_executed(handle)
        if ran is None:
            raise RuntimeError("get_debug_state: the function has not run yet, and has no program; call it first")
        self.graph = graph
        self.fallback = ExecutionPlan(Graph(ran[0]), ran[1])
        self.execution_plans = {(): self.fallback}


class Constants:
    """The tensors that code refers to as CONSTANTS.c0 and so on."""

    def __init__(self, values):
        self.const_mapping = {f"c{i}": v for i, v in enumerate(values)}

    def __getattr__(self, name):
        try:
            return self.__dict__["const_mapping"][name]
        except KeyError:
            raise AttributeError(name) from None
