"""Graphs and signatures, to be looked at."""

import _cresset_graph as _graph

from ._ir import Graph, Type


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
