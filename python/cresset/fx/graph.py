"""Graph, a list of nodes that tell how a value is computed, and how it becomes Python code.

>>> graph = torch.fx.Graph()
>>> x = graph.placeholder("x")
>>> _ = graph.output(graph.call_function(torch.relu, (x,)))
>>> print(graph)
graph():
    %x : [num_users=1] = placeholder[target=x]
    %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
    return relu
"""

import contextlib
import copy
import functools
import inspect
import warnings

from ._codegen import (  # noqa: F401  names of this module in PyTorch
    CodeGen,
    PyTreeCodeGen,
    PythonCode,
    _BoxedCodeGen,
    _format_target,
    _is_from_torch,
    _parse_stack_trace,
    _ParsedStackTrace,
    _PyTreeCodeGen,
    _PyTreeInfo,
    dtype_abbrs,
    inplace_methods,
    magic_methods,
    reflectable_magic_methods,
)
from ._compatibility import compatibility
from ._paths import _has_attr
from ._naming import _custom_builtins, _CustomBuiltin, _is_magic, _Namespace, _register_custom_builtin, _snake_case  # noqa: F401
from .node import _GAP, Argument, Node, _is_operator_of_torch, _legal_ops, map_arg  # noqa: F401  Argument is a name of this module in PyTorch

__all__ = ["PythonCode", "CodeGen", "Graph"]


class _InsertPoint:
    """Where new nodes go, until the end of a `with` block."""

    def __init__(self, graph, new_insert):
        self._restore = functools.partial(setattr, graph, "_insert", graph._insert)
        graph._insert = new_insert

    def __enter__(self):
        return None

    def __exit__(self, *_):
        self._restore()


_OPPOSITES = {"_next": "_prev", "_prev": "_next"}


class _node_list:  # noqa: N801  PyTorch's name
    """The nodes of a graph in order. The graph may be changed during iteration."""

    def __init__(self, graph, direction="_next"):
        if direction not in _OPPOSITES:
            raise AssertionError(f"node list: expected a direction of _next or _prev, got {direction!r}")
        self.graph, self.direction = graph, direction

    def __len__(self):
        return self.graph._len

    def __iter__(self):
        root, direction = self.graph._root, self.direction
        node = getattr(root, direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, direction)

    def __reversed__(self):
        return _node_list(self.graph, _OPPOSITES[self.direction])

    def of(self, *ops):
        """The nodes of these ops, in a list."""
        return [node for node in self if node.op in ops]


@compatibility(is_backward_compatible=True)
class Graph:
    """Nodes in the order in which they run, of which each uses values of earlier ones.

    Args:
        owning_module: the GraphModule that it belongs to; modules set it.
        tracer_cls: the class of the tracer that made it, and
        tracer_extras: what that class is to be called with to make it again.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_method("neg", (x,)))
    >>> graph.lint()
    >>> torch.fx.GraphModule({}, graph)(torch.ones(1))
    tensor([-1.])
    """

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        root = self._root = Node(self, "", "root", "", (), {})
        self._insert, self._len = root.prepend, 0
        self._graph_namespace, self._owning_module = _Namespace(), owning_module
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()
        self._co_fields = {}

    @property
    def owning_module(self):
        """The GraphModule of this graph, or None."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, mod):
        self._owning_module = mod

    @property
    def nodes(self):
        """The nodes in order, with a length; `reversed` goes backwards."""
        return _node_list(self)

    def _number(self):
        """Gives the nodes places that are far apart again."""
        node, place = self._root._next, 0
        while node is not self._root:
            node._sort_key = place
            node, place = node._next, place + _GAP

    def output_node(self):
        """The node that returns the result. Errors: StopIteration where there is none."""
        return next(n for n in reversed(self.nodes) if n.op == "output")

    @compatibility(is_backward_compatible=False)
    def find_nodes(self, *, op, target=None, sort=True):
        """The nodes of an op, and of a target where one is given, in their order."""
        found = self.nodes.of(op)
        return found if target is None else [n for n in found if n.target == target]

    # ---- new nodes ------------------------------------------------------------------------------------------------------

    @compatibility(is_backward_compatible=True)
    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """Add a node at the place where nodes are added; see `inserting_before`.

        Args:
            op: placeholder, get_attr, call_function, call_module, call_method or output.
            target: the function, or the name of the method, module, attribute or parameter.
            args, kwargs: its arguments.
            name: a proposal for its name.
            type_expr: the type of its value.

        Errors: AssertionError for another op, and for arguments that are no tuple and no dictionary.
        """
        if op not in _legal_ops:
            raise AssertionError(f"op {op!r} is not in _legal_ops: {', '.join(_legal_ops)}")
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise AssertionError(f"create_node: expected a tuple of args and a dict of kwargs, got {type(args).__name__} and {type(kwargs).__name__}")
        return self._add(self._target_to_str(target) if name is None else name, op, target, args, kwargs, type_expr)

    def _add(self, proposal, *what):
        made = Node(self, self._graph_namespace.create_name(proposal, None), *what)
        for hook in getattr(self._owning_module, "_create_node_hooks", None) or ():
            hook(made)
        self._insert(made)
        self._len += 1
        return made

    def _target_to_str(self, target):
        if isinstance(target, str):
            return _snake_case(target[2:-2] if _is_magic(target) else target)
        if _is_operator_of_torch(target):
            title = str(target).partition(".")[2]
            return _snake_case(title.replace(".", "_"))
        name = target.__name__
        return _snake_case(name[2:-2] if _is_magic(name) else name)

    @compatibility(is_backward_compatible=True)
    def placeholder(self, name, type_expr=None, default_value=...):
        """Add a parameter of the function. A default of `...` or `inspect.Signature.empty` means none."""
        without = default_value is ... or default_value is inspect.Signature.empty
        return self.create_node("placeholder", name, () if without else (default_value,), None, None, type_expr)

    @compatibility(is_backward_compatible=True)
    def get_attr(self, qualified_name, type_expr=None):
        """Add a node that gets a parameter, buffer or other attribute of the module, by its path. Warns where the owning module has none."""
        self._expect_path("get_attr", qualified_name)
        if self._owning_module is not None and not _has_attr(self._owning_module, qualified_name):
            warnings.warn(
                f"get_attr: the owning GraphModule has no attribute {qualified_name!r} to refer to; add it by GraphModule.add_submodule, "
                "register_parameter or register_buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, None, None, None, type_expr)

    @compatibility(is_backward_compatible=True)
    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """Add a node that calls a submodule, by its path. Errors: AttributeError where the owning module has none of this path."""
        self._expect_path("call_module", module_name)
        if self._owning_module is not None:
            self._owning_module.get_submodule(module_name)
        return self.create_node("call_module", module_name, args, kwargs, None, type_expr)

    @compatibility(is_backward_compatible=True)
    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """Add a node that calls a method of its first argument."""
        self._expect_path("call_method", method_name)
        return self.create_node("call_method", method_name, args, kwargs, None, type_expr)

    def _expect_path(self, what, target):
        if not isinstance(target, str):
            raise AssertionError(f"{what}: Expected target to be str, got {type(target)}")

    @compatibility(is_backward_compatible=True)
    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """Add a node that calls a function. Errors: ValueError for what cannot be called."""
        if isinstance(the_function, str):
            raise ValueError(f"call_function: target {the_function!r} has type str but a Callable is expected")
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    @compatibility(is_backward_compatible=True)
    def output(self, result, type_expr=None):
        """Add the node that returns the result."""
        return self.create_node("output", "output", (result,), None, None, type_expr)

    @compatibility(is_backward_compatible=False)
    def create_size_node(self, tensor_node, dim):
        """Add the size of a tensor's dimension, an integer."""
        return self._of_dimension("size", "sym_size", tensor_node, dim)

    @compatibility(is_backward_compatible=False)
    def create_stride_node(self, tensor_node, dim):
        """Add the stride of a tensor's dimension, an integer."""
        return self._of_dimension("stride", "sym_stride", tensor_node, dim)

    def _of_dimension(self, what, operator, tensor_node, dim):
        import cresset as torch

        if not isinstance(tensor_node, Node) or not isinstance(dim, int):
            raise AssertionError(f"create_{what}_node: expected a node and an int, got {type(tensor_node).__name__} and {type(dim).__name__}")
        return self.call_function(getattr(torch.ops.aten, operator).int, (tensor_node, dim))

    @compatibility(is_backward_compatible=False)
    def create_storage_offset_node(self, tensor_node):
        """Add the place in its storage where a tensor begins, an integer."""
        import cresset as torch

        if not isinstance(tensor_node, Node):
            raise AssertionError(f"create_storage_offset_node: expected a node, got {type(tensor_node).__name__}")
        return self.call_function(torch.ops.aten.sym_storage_offset.default, (tensor_node,))

    @compatibility(is_backward_compatible=False)
    def materialize_symint(self, value):
        """A number as an argument of a node: a node stands for itself, and a number that is known for itself."""
        if isinstance(value, (int, float, Node)):
            return value
        raise ValueError(f"materialize_symint: expected a number or a Node, got {type(value).__name__}")

    @compatibility(is_backward_compatible=False)
    def materialize_symints(self, values):
        """`materialize_symint` of every value."""
        return [self.materialize_symint(value) for value in values]

    @compatibility(is_backward_compatible=True)
    def node_copy(self, node, arg_transform=lambda x: x):
        """Add a copy of a node of another graph; `arg_transform` gives the node of this graph for one of the other."""
        args, kwargs = (map_arg(given, arg_transform) for given in (node.args, node.kwargs))
        made = self._add(node.name, node.op, node.target, args, kwargs, node.type)
        made.meta = copy.copy(node.meta)
        return made

    @compatibility(is_backward_compatible=True)
    def graph_copy(self, g, val_map, return_output_node=False):
        """Add copies of the nodes of another graph.

        Args:
            g: the other graph.
            val_map: {its nodes: nodes of this graph}, to which the copies are added; nodes in it are not copied.
            return_output_node: return the output node of the other graph too.

        Returns the value of the other graph's output in nodes of this graph, or None; its output is not copied.
        """
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                value = map_arg(node.args[0], val_map.__getitem__)
                return (value, node) if return_output_node else value
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    def __deepcopy__(self, memo=None):
        memo = {} if memo is None else memo
        made = Graph(tracer_cls=self._tracer_cls, tracer_extras=self._tracer_extras)
        nodes = {}
        found = made.graph_copy(self, nodes, return_output_node=True)
        made._codegen = copy.deepcopy(self._codegen)
        made._co_fields = dict(self._co_fields)
        if found is not None:
            value, old = found
            output = nodes[old] = made.create_node("output", "output", (value,), type_expr=old.type)
            output.meta = copy.copy(old.meta)
        memo.update({id(old): new for old, new in nodes.items()})
        memo[id(self)] = made
        return made

    # ---- places -----------------------------------------------------------------------------------------------------------

    @compatibility(is_backward_compatible=True)
    def inserting_before(self, n=None):
        """Add nodes before one, or at the beginning, from now on or within a `with` block. Errors: AssertionError for a node of another graph."""
        return self._inserting("before", self._root.append if n is None else n.prepend, n)

    @compatibility(is_backward_compatible=True)
    def inserting_after(self, n=None):
        """Add nodes after one, or at the end, from now on or within a `with` block. Errors: AssertionError for a node of another graph."""
        return self._inserting("after", self._root.prepend if n is None else n.append, n)

    def _inserting(self, side, place, n):
        if n is not None and n.graph is not self:
            raise AssertionError(f"inserting_{side}: Node to insert {side} is not in graph: {n}")
        return _InsertPoint(self, place)

    # ---- removal ----------------------------------------------------------------------------------------------------------

    @compatibility(is_backward_compatible=True)
    def erase_node(self, to_erase):
        """Remove a node. Errors: RuntimeError for one that has users, or that is of another graph."""
        if count := len(to_erase.users):
            raise RuntimeError(f"Tried to erase Node {to_erase}, but it still had {count} users in the graph: {', '.join(map(str, to_erase.users))}")
        if to_erase.graph is not self:
            raise RuntimeError(f"erase_node: {to_erase} is a node of another graph")
        if to_erase._erased:
            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        for hook in getattr(self._owning_module, "_erase_node_hooks", None) or ():
            hook(to_erase)
        self._len -= 1
        to_erase._leave()

    def _clear_nodes(self):
        last = self._root._prev
        while last is not self._root:
            last.meta.clear()
            self.erase_node(last)
            last = self._root._prev

    @compatibility(is_backward_compatible=True)
    def eliminate_dead_code(self, is_impure_node=None):
        """Remove the nodes whose value nothing uses, but for parameters and nodes that do something else; returns whether there were any.

        Args:
            is_impure_node: says of a node whether it is to stay; `Node.is_impure` by default.

        Errors: those of `lint`.
        """
        self.lint()
        stays, count = is_impure_node or Node.is_impure, self._len
        for node in list(self.nodes)[::-1]:
            if not node.users and not stays(node):
                self.erase_node(node)
        return self._len < count

    # ---- checks -----------------------------------------------------------------------------------------------------------

    @compatibility(is_backward_compatible=True)
    def lint(self):
        """Check that the nodes are of this graph, have names of their own, use earlier nodes only, and refer to what the owning module has.

        Errors: RuntimeError that names the node, ValueError for a target of another kind than the node's.
        """
        names, before = set(), set()
        for node in self.nodes:
            fault = self._fault(node, before) or (node.name in names and f"redefined name {node.name}: an earlier node has it")
            if fault:
                raise RuntimeError(f"Node {node} {fault}")
            function = node.op == "call_function"
            if not (callable(node.target) if function else isinstance(node.target, str)):
                kind = "callable" if function else "str"
                raise ValueError(f"Node {node} target {node.target} has type {type(node.target).__name__}, expected a {kind} in a node {node.op}")
            before.add(node)
            names.add(node.name)
        if self._owning_module is not None:
            for node in self.nodes.of("get_attr", "call_module"):
                self._lint_target(node)

    def _fault(self, node, before):
        """The fault of a node after those before it, in words that follow its name; None where there is none."""
        if node.op == "root" or node.op not in _legal_ops:
            return f"had unknown opcode {node.op}"
        if node.graph is not self:
            return "does not belong to this Graph"
        for used in node._input_nodes.keys() - before:
            if used.graph is not self:
                return f"has the argument {used}, which does not belong to this Graph: map the arguments of nodes that are copied"
            return f"has the argument {used}, which was used before it has been defined: a node stands after those that it uses\n{self}"
        return None

    def _lint_target(self, node):
        import cresset as torch

        value, title = self._owning_module, type(self._owning_module).__name__
        for i, part in enumerate(parts := node.target.split(".")):
            if not hasattr(value, part):
                raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {part} of {title or '.'.join(parts[:i])}")
            value, title = getattr(value, part), ".".join(parts[: i + 1])
        if node.op == "call_module" and not isinstance(value, torch.nn.Module):
            raise RuntimeError(f"Node {node} target {node.target} is a {type(value).__name__} and does not reference an nn.Module")

    # ---- text and code ------------------------------------------------------------------------------------------------------

    def __str__(self):
        lines = [node.format_node() for node in self.nodes]
        return "graph():" + "".join(f"\n    {line}" for line in lines if line)

    @compatibility(is_backward_compatible=True)
    def print_tabular(self):
        """Print the nodes as a table. Needs the package `tabulate`: ImportError where it is not installed."""
        try:
            from tabulate import tabulate
        except ImportError:
            print("print_tabular draws its table by the package tabulate, which is not installed here: pip install tabulate")
            raise
        rows = [[n.op, n.name, n.target, n.args, n.kwargs] for n in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    @compatibility(is_backward_compatible=True)
    def python_code(
        self, root_module, *, verbose=False, include_stride=False, include_device=False, colored=False, expanded_def=False, record_func=False,
        additional_meta=None, expand_node_metadata=False,
    ):  # fmt: skip
        """The code of the graph, as a `PythonCode`.

        Args:
            root_module: the variable that stands for the module, "self" as a rule.
            verbose: comments with the lines of the program that nodes come from, and types of tensors where `meta` has them.
            include_stride, include_device, colored, expanded_def: of verbose code.
            additional_meta: names of entries of `meta` that comments are to tell.
        """
        return self._codegen._gen_python_code(
            self.nodes, root_module, _Namespace(), verbose=verbose, include_stride=include_stride, include_device=include_device, colored=colored,
            expanded_def=expanded_def, record_func=record_func, additional_meta=additional_meta,
        )  # fmt: skip

    @compatibility(is_backward_compatible=False)
    def set_codegen(self, codegen):
        """Let another `CodeGen` write the code."""
        self._codegen = codegen

    @compatibility(is_backward_compatible=False)
    def process_inputs(self, *args):
        """The values of the placeholders, of the arguments of a call."""
        return self._codegen.process_inputs(*args)

    @compatibility(is_backward_compatible=False)
    def process_outputs(self, out):
        """The result of a call, of the value of the output node."""
        return self._codegen.process_outputs(out)

    @compatibility(is_backward_compatible=False)
    def on_generate_code(self, make_transformer):
        """Change the lines of the code before it is compiled.

        Args:
            make_transformer: takes the present function of lines, or None, and returns the one to use: it takes a list of lines and returns one.

        Returns a context manager, at whose end the present function is used again; without `with` the new one stays.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def until_the_end():
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return until_the_end()
