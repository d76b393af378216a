"""Conditions that a trace left for run time, as nodes of its graph."""

import operator

import cresset as torch

from .._compatibility import compatibility
from ..experimental._proxy_symbols import _function as _function_of
from ..graph_module import GraphModule
from ..node import Node

__all__ = ["insert_deferred_runtime_asserts"]

_aten = torch.ops.aten
_ASKING = {_aten.sym_size.int, _aten.sym_stride.int, _aten.sym_storage_offset.default, _aten.sym_numel.default}
_FAR = 2**60  # bounds beyond are none


def _is_sym(value):
    return isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))


def _value(node):
    return node.meta.get("val", node.meta.get("example_value"))


@compatibility(is_backward_compatible=True)
def insert_deferred_runtime_asserts(gm, shape_env, name, export=False):
    """Adds to a graph what its trace has found that must hold where it runs: conditions on numbers that only the data tells, and their ranges.

    Sizes that are asked for twice are asked for once, and those of intermediate results are computed from sizes of the inputs, so that the results are
    needed no longer.

    Args:
        gm: the GraphModule, with values in `meta["val"]` or `meta["example_value"]`; it is changed.
        shape_env: the ShapeEnv of its trace.
        name: of the graph, for errors.
        export: a condition on a symbol that no node of the graph gives is an error; without it such a condition is left out.

    Conditions that the graph asserts already are not asserted again. Errors: TypeError for no GraphModule, RuntimeError as `export` says.

    >>> def f(x):
    ...     y = x.nonzero()
    ...     torch._check(y.shape[0] >= 2)
    ...     return y + 1
    >>> traced = torch.fx.experimental.proxy_tensor.make_fx(f, tracing_mode="symbolic")(torch.ones(4))
    >>> torch.fx.passes.runtime_assert.insert_deferred_runtime_asserts(traced, traced.shape_env, "f")
    >>> _ = traced.recompile()
    >>> try:
    ...     traced(torch.tensor([0.0, 1.0]))
    ... except RuntimeError as error:
    ...     print(error)
    the graph relies on u0 >= 2 (node ge)
    """
    _Inserter(gm, shape_env, name, export).run()


class _Inserter:
    def __init__(self, gm, env, name, export):
        if not isinstance(gm, GraphModule):
            raise TypeError(f"insert_deferred_runtime_asserts: expected a GraphModule, got a {type(gm).__name__}")
        self.graph, self.env, self.name, self.export = gm.graph, env, name, export
        self.known = {}  # expression -> node
        self.lazy = {}  # expression -> (tensor's node, dimension), of the inputs
        self.bound, self.asserted, self.at = set(), set(), None
        self.left = [check for checks in env.deferred_runtime_asserts.values() for check in checks]

    def run(self):
        nodes = list(self.graph.nodes)
        for node in nodes:
            if node.op == "placeholder":
                self._note_input(node)
            if node.target is _aten._assert_scalar.default and isinstance(node.args[0], Node) and _is_sym(_value(node.args[0])):
                self.asserted.add(_value(node.args[0]).node.expr)
        first = next(node for node in nodes if node.op not in ("placeholder", "get_attr"))
        with self.graph.inserting_before(first):
            self._assert_what_is_known()
        for node in nodes:
            if node.op not in ("placeholder", "output") and not self._merged(node):
                self._bind(node)
        left = set(self.graph.nodes)
        for node in reversed(nodes):  # what only the sizes were needed of
            if node in left and node.op == "call_function" and not node.users and (node.target in _ASKING or _is_sym(_value(node))) and not node.is_impure():
                self.graph.erase_node(node)
        missing = [check for check in self.left if self._symbols(check.expr) - self.bound]
        if missing and self.export:
            raise RuntimeError(f"insert_deferred_runtime_asserts: no node of {self.name} gives the symbols of {missing[0].expr}")

    def _symbols(self, expr):
        return set(expr.symbols)

    def _note_input(self, node):
        value = _value(node)
        if _is_sym(value):
            self.known.setdefault(value.node.expr, node)
            self.bound |= self._symbols(value.node.expr)
        elif isinstance(value, torch.Tensor) and value.layout is torch.strided:
            for d, size in enumerate(value.shape):
                if _is_sym(size) and size.node.expr.is_symbol:
                    self.lazy.setdefault(size.node.expr, (node, d))
                    self.bound |= self._symbols(size.node.expr)

    def _merged(self, node):
        """Whether the node gives a number that another one gives already, and has gone."""
        value = _value(node)
        if node.op != "call_function" or not _is_sym(value) or node.target is _aten._local_scalar_dense.default or node.target is _aten.item.default:
            return False
        expr = value.node.expr
        if expr.constant is not None:  # the node says what the number is found to be
            return False
        if not expr.is_symbol and node.target in _ASKING and self._symbols(expr) <= self.bound:
            with self.graph.inserting_before(node):
                known = self._node_of(expr.tree(), expr)
        else:
            known = self.known.get(expr)
            if known is None and expr in self.lazy and node.target in _ASKING and node.args[0] is not self.lazy[expr][0]:
                with self.graph.inserting_before(node):
                    known = self._node_of(expr.tree(), expr)
        if known is None or known is node or not isinstance(known, Node):
            self.known.setdefault(expr, node)
            return False
        node.replace_all_uses_with(known)
        self.graph.erase_node(node)
        return True

    def _bind(self, node):
        """Notes the symbols that the node brings, and asserts what is known of them."""
        value = _value(node)
        fresh = []
        if _is_sym(value) and value.node.expr.is_symbol:
            fresh = [(value.node.expr, None)]
        elif isinstance(value, torch.Tensor) and value.layout is torch.strided:
            fresh = [(size.node.expr, d) for d, size in enumerate(value.shape) if _is_sym(size) and size.node.expr.is_symbol]
        elif _is_sym(value) and not self._symbols(value.node.expr) <= self.bound:  # a truth value: a comparison of a number that is never seen
            self.known.setdefault(value.node.expr, node)
            self.bound |= self._symbols(value.node.expr)
            self.at = node
            with self.graph.inserting_before(node.next):
                self._assert_what_is_known()
        fresh = [(expr, d) for expr, d in fresh if not self._symbols(expr) <= self.bound]
        if not fresh:
            return
        self.at = node
        with self.graph.inserting_before(node.next):
            for expr, d in fresh:
                self.bound |= self._symbols(expr)
                if d is None:
                    self.known[expr] = node
                else:
                    self.lazy[expr] = node, d
                self._assert_range(expr)
            self._assert_what_is_known()

    def _assert_range(self, expr):
        low, high = self.env._env.range(expr)
        for bound, sign in ((low, "ge"), (high, "le")):
            if expr.kind == "int" and -_FAR < bound < _FAR:
                self._assert((sign, *self._symbols(expr), int(bound)))

    def _assert_what_is_known(self):
        ready = [check for check in self.left if self._symbols(check.expr) <= self.bound]
        self.left = [check for check in self.left if check not in ready]
        for check in ready:
            self._assert(check.expr.tree())

    def _assert(self, tree):
        import _cresset_graph

        expr = _cresset_graph.expr_from_tree(tree)
        if expr.constant is True or expr in self.asserted or isinstance(tree, (str, bool)):
            return
        self.asserted.add(expr)
        node = self._node_of(tree, expr)
        text = f"the graph relies on {expr} (node {node})"
        self._made(_aten._assert_scalar.default, (node, text), None)

    def _node_of(self, tree, expr=None):
        """The node of an expression; numbers are themselves."""
        import _cresset_graph

        if not isinstance(tree, (str, tuple)):
            return tree
        expr = _cresset_graph.expr_from_tree(tree) if expr is None else expr
        if expr not in self.known and tree[0] == "ne":  # PyTorch has no node of its own for it
            equal = self._node_of(("eq", *tree[1:]))
            self.known[expr] = self._made(torch.sym_not, (equal,), self.env.wrap(expr))
        if expr in self.known:
            return self.known[expr]
        if expr in self.lazy:
            source, d = self.lazy[expr]
            function, args = _aten.sym_size.int, (source, d)
        else:
            operation, *parts = tree
            function = _COMPARED.get(operation) or _function_of(operation)
            args = tuple(self._node_of(part) for part in parts)
        self.known[expr] = self._made(function, args, self.env.wrap(expr))
        return self.known[expr]

    def _made(self, function, args, value):
        """A node that comes from the same line of the program as the node that it stands behind."""
        made = self.graph.call_function(function, args)
        made.meta["val"] = value
        if self.at is not None and "stack_trace" in self.at.meta:
            made.meta["stack_trace"] = self.at.meta["stack_trace"]
        return made


_COMPARED = {"ge": operator.ge, "le": operator.le, "gt": operator.gt, "lt": operator.lt}
