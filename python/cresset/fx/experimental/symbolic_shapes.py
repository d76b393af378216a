"""Symbolic shapes: the environment of symbols, questions to symbolic numbers, and what they are asked of tensors and graphs."""

import functools
import math
from collections.abc import Mapping

import _cresset_graph

import cresset
from cresset import SymBool, SymFloat, SymInt, sym_not
from cresset.utils import _pytree as pytree

from ._dims import (
    Constraint,
    DimConstraint,
    DimDynamic,
    EqualityConstraint,
    RelaxedUnspecConstraint,
    StatefulSymbolicContext,
    StatelessSymbolicContext,
    StrictMinMaxConstraint,
    SubclassSymbolicContext,
    SymbolicContext,
    SymIntSymbolicContext,
)
from ._guards import ConstraintViolationError, DimConstraints, suggested_fixes
from ._shape_env import GuardOnDataDependentSymNode, RestartTrace, RuntimeAssert, ShapeEnv, ShapeEnvSettings, ShapeGuard, SLoc
from .sym_node import SymNode

__all__ = [
    "Constraint", "ConstraintViolationError", "DimConstraint", "DimConstraints", "DimDynamic", "EqualityConstraint", "GuardOnDataDependentSymNode",
    "RelaxedUnspecConstraint", "RestartTrace", "RuntimeAssert", "SLoc", "ShapeEnv", "ShapeEnvSettings", "ShapeGuard",
    "StatefulSymbolicContext", "StatelessSymbolicContext", "StrictMinMaxConstraint", "SubclassSymbolicContext", "SymIntSymbolicContext", "SymNode",
    "SymbolicContext", "ValueRanges", "bind_symbols", "canonicalize_bool_expr", "check_consistent", "compute_unbacked_bindings", "constrain_range",
    "constrain_unify", "definitely_false", "definitely_true", "eval_guards", "expect_true", "find_symbol_binding_fx_nodes", "free_symbols",
    "free_unbacked_symbols", "fx_placeholder_targets", "fx_placeholder_vals", "guard_bool", "guard_float", "guard_int", "guard_or_false", "guard_or_true",
    "guard_scalar", "guard_size_oblivious", "guarding_hint_or_throw", "has_free_symbols", "has_free_unbacked_symbols", "has_guarding_hint", "has_hint",
    "has_static_value", "has_symbolic_sizes_strides", "hint_int", "int_oo", "is_accessor_node", "is_concrete_bool", "is_concrete_float", "is_concrete_int",
    "is_nested_int", "is_symbol_binding_fx_node", "is_symbolic", "optimization_hint", "parallel_and", "parallel_or", "rebind_unbacked",
    "resolve_unbacked_bindings", "statically_known_false", "statically_known_true", "suggested_fixes", "sym_and", "sym_eq", "sym_or",
]  # fmt: skip

int_oo = math.inf
py_sym_types = SymTypes = (SymInt, SymFloat, SymBool)
IntLike, FloatLike, BoolLike = (SymInt, int), (SymFloat, float), (SymBool, bool)


class ValueRanges:
    """The numbers from `lower` to `upper`, infinite where there is no limit.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> shapes.ValueRanges(2, 8) & shapes.ValueRanges(4, shapes.int_oo)
    VR[4, 8]
    """

    def __init__(self, lower, upper):
        if lower > upper:
            raise ValueError(f"ValueRanges: expected a lower end up to the upper one, got {lower} and {upper}")
        self.lower, self.upper = lower, upper
        self.is_int, self.is_float, self.is_bool = not isinstance(lower, bool), False, isinstance(lower, bool)

    def __contains__(self, value):
        return self.lower <= value <= self.upper

    def __eq__(self, other):
        return isinstance(other, ValueRanges) and (self.lower, self.upper) == (other.lower, other.upper)

    def __hash__(self):
        return hash((self.lower, self.upper))

    def __repr__(self):
        return f"VR[{_end(self.lower)}, {_end(self.upper)}]"

    def __and__(self, other):
        return ValueRanges(max(self.lower, other.lower), min(self.upper, other.upper))

    def __or__(self, other):
        return ValueRanges(min(self.lower, other.lower), max(self.upper, other.upper))

    def is_singleton(self):
        """Whether it holds one number."""
        return self.lower == self.upper

    def issubset(self, other):
        """Whether the other one holds all of it."""
        return other.lower <= self.lower and self.upper <= other.upper

    @classmethod
    def unknown_int(cls):
        """All integers."""
        return cls(-int_oo, int_oo)

    unknown = unknown_int

    @classmethod
    def wrap(cls, value):
        """A range as it is, a number as a range."""
        return value if isinstance(value, ValueRanges) else cls(value, value)


def _end(value):
    return ("int_oo" if value > 0 else "-int_oo") if value in (int_oo, -int_oo) else str(value)


def is_symbolic(val):
    """Whether a number is a symbol, or follows from one.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> shapes.is_symbolic(x.shape[0]), shapes.is_symbolic(4)
    (True, False)
    """
    return isinstance(val, py_sym_types)


def is_concrete_int(a):
    """Whether an int is a plain number, or known to be one by now.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> shapes.is_concrete_int(x.shape[0]), shapes.is_concrete_int(4)
    (False, True)
    """
    return isinstance(a, int) or (isinstance(a, SymInt) and a.node.maybe_as_int() is not None)


def is_concrete_float(a):
    """Whether a float is a plain number.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> shapes.is_concrete_float(0.5)
    True
    """
    return isinstance(a, float) or (isinstance(a, SymFloat) and a.node.maybe_as_float() is not None)


def is_concrete_bool(a):
    """Whether a truth value is known by now.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> shapes.is_concrete_bool(x.shape[0] > 3)
    False
    """
    return isinstance(a, bool) or (isinstance(a, SymBool) and a.node.maybe_as_bool() is not None)


has_static_value = is_concrete_int


def is_nested_int(s):
    """Whether it is the size of a nested tensor's ragged dimension.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> shapes.is_nested_int(torch.nested.nested_tensor([[1, 2], [3]], layout=torch.jagged).shape[1])
    True
    """
    return isinstance(s, SymInt) and s.node.is_nested_int()


def has_hint(a):
    """Whether the example has a number for it.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> shapes.has_hint(x.shape[0])
    True
    """
    return not is_symbolic(a) or a.node.has_hint()


has_guarding_hint = has_hint


def hint_int(a, fallback=None):
    """The int of the example, without a guard; `fallback` where only the data tells.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> shapes.hint_int(2 * x.shape[0])
    8
    """
    if not is_symbolic(a):
        return int(a)
    found = a.node.hint
    if found is None and fallback is None:
        raise GuardOnDataDependentSymNode(f"no number is known for {a}: only the data tells")
    return fallback if found is None else found


guarding_hint_or_throw = hint_int


def optimization_hint(a, fallback=None):
    """The number of the example, or `fallback`.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> env = shapes.ShapeEnv()
    >>> u = env.create_unbacked_symint()
    >>> shapes.optimization_hint(u, fallback=64)
    64
    """
    return a.node.shape_env.optimization_hint(a.node._expr, fallback) if is_symbolic(a) else a


def guard_bool(a):
    """The bool of the example, which becomes a guard.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> shapes.guard_bool(x.shape[0] > 3)
    True
    """
    return a.node.guard_bool() if isinstance(a, SymBool) else bool(a)


def guard_int(a):
    """The int of the example, which becomes a guard.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> shapes.guard_int(x.shape[0])
    4
    """
    return a.node.guard_int() if isinstance(a, SymInt) else int(a)


def guard_float(a):
    """The float of the example, which becomes a guard.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> shapes.guard_float(0.5)
    0.5
    """
    return a.node.guard_float() if isinstance(a, SymFloat) else float(a)


def guard_scalar(a):
    """The number of the example, which becomes a guard. AssertionError for what is no number.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> shapes.guard_scalar(x.shape[1] + 1)
    4
    """
    for kinds, guard in ((BoolLike, guard_bool), (IntLike, guard_int), (FloatLike, guard_float)):
        if isinstance(a, kinds):
            return guard(a)
    raise AssertionError(f"guard_scalar: expected a number, got {type(a).__name__}")


def guard_or_false(a):
    """The condition as in the example, which becomes a guard; False where only the data tells.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> env = shapes.ShapeEnv()
    >>> u = env.create_unbacked_symint()
    >>> shapes.guard_or_false(u == 3)
    False
    """
    return a.node.guard_or_false() if isinstance(a, SymBool) else bool(a)


def guard_or_true(a):
    """The condition as in the example, which becomes a guard; True where only the data tells.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> env = shapes.ShapeEnv()
    >>> u = env.create_unbacked_symint()
    >>> shapes.guard_or_true(u == 3)
    True
    """
    return a.node.guard_or_true() if isinstance(a, SymBool) else bool(a)


def guard_size_oblivious(expr):
    """As `guard_or_false`.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> env = shapes.ShapeEnv()
    >>> u = env.create_unbacked_symint()
    >>> shapes.guard_size_oblivious(u == 1)
    False
    """
    return guard_or_false(expr)


def statically_known_true(x):
    """Whether the condition holds for all values, without a guard.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> shapes.statically_known_true(x.shape[0] >= 2), shapes.statically_known_true(x.shape[0] == 4)
    (True, False)
    """
    return x.node.statically_known_true() if isinstance(x, SymBool) else bool(x)


def statically_known_false(x):
    """Whether the condition holds for no value, without a guard.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> shapes.statically_known_false(x.shape[0] < 2)
    True
    """
    return statically_known_true(sym_not(x)) if isinstance(x, SymBool) else not x


definitely_true = guard_or_false


def definitely_false(a):
    """Whether the condition is false in the example, which becomes a guard; False where only the data tells.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> shapes.definitely_false(shapes.ShapeEnv().create_unbacked_symint() == 3)
    False
    """
    return not guard_or_true(a)


def expect_true(a, skip=0):
    """The condition holds from now on; RuntimeError where it does not in the example.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> env = shapes.ShapeEnv()
    >>> u = env.create_unbacked_symint()
    >>> shapes.expect_true(u >= 3)
    True
    >>> shapes.statically_known_true(u >= 2)
    True
    """
    return a.node.expect_true() if isinstance(a, SymBool) else bool(a)


def sym_and(x, *others):
    """Whether all hold.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> bool(shapes.sym_and(x.shape[0] > 2, x.shape[1] > 5))
    False
    """
    return functools.reduce(lambda a, b: a & b, others, x)


def sym_or(x, *others):
    """Whether one holds.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> bool(shapes.sym_or(x.shape[0] > 2, x.shape[1] > 5))
    True
    """
    return functools.reduce(lambda a, b: a | b, others, x)


parallel_and, parallel_or = sym_and, sym_or


def sym_eq(x, y):
    """Whether numbers, or sequences of them, are equal, as one condition.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> bool(shapes.sym_eq(x.shape, (4, 3)))
    True
    """
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        return len(x) == len(y) and sym_and(True, *(sym_eq(a, b) for a, b in zip(x, y, strict=True)))
    return x == y


def constrain_range(a, *, min, max=None):  # noqa: A002
    """The number lies in the range from now on. ValueError for a plain one outside.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> env = shapes.ShapeEnv()
    >>> u = env.create_unbacked_symint()
    >>> shapes.constrain_range(u, min=2, max=9)
    >>> shapes.statically_known_true(u < 10)
    True
    """
    low, high = -int_oo if min is None else min, int_oo if max is None else max
    if isinstance(a, SymInt):
        return cresset.sym_constrain_range(a, min=min, max=max)
    if not low <= a <= high:
        raise ValueError(f"constrain_range: {a} lies outside [{low}, {high}]")
    return None


def _constrain_range_for_size(a, min=None, max=None):  # noqa: A002
    constrain_range(a, min=0 if min is None else min, max=max)


def _advise_is_size(a):
    constrain_range(a, min=0)


def constrain_unify(a, b):
    """The two numbers are equal from now on. AssertionError for plain ones that differ.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> env = shapes.ShapeEnv()
    >>> u = env.create_unbacked_symint()
    >>> v = env.create_unbacked_symint()
    >>> shapes.constrain_unify(u, v)
    True
    >>> shapes.statically_known_true(u == v)
    True
    """
    if is_symbolic(a) or is_symbolic(b):
        equal = a == b
        return equal.node.expect_true() if isinstance(equal, SymBool) else None
    assert a == b, f"constrain_unify: {a} is not {b}"
    return None


def canonicalize_bool_expr(expr):
    """The condition itself: equal ones have equal texts already.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> expr = (x.shape[0] > 2).node.expr
    >>> shapes.canonicalize_bool_expr(expr) == expr
    True
    """
    return expr


# ---- symbols of values and graphs


def _expressions(value):
    if isinstance(value, py_sym_types):
        yield value.node.expr
    elif isinstance(value, cresset.Tensor):
        for number in (*value.size(), *((*value.stride(), value.storage_offset()) if value.layout is cresset.strided else ())):
            yield from _expressions(number)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _expressions(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _expressions(item)
    elif hasattr(value, "symbols") and hasattr(value, "tree"):
        yield value


def free_symbols(val):
    """The symbols of a number, an expression, a tensor, or a list of these.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> len(shapes.free_symbols(x))
    2
    """
    import _cresset_graph

    return {_cresset_graph.symbol(name) for expr in _expressions(val) for name in expr.symbols}


def has_free_symbols(val):
    """Whether it has symbols.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> shapes.has_free_symbols(x), shapes.has_free_symbols(torch.ones(2))
    (True, False)
    """
    return any(expr.symbols for expr in _expressions(val))


def _is_unbacked(symbol):
    return str(symbol)[:1] in "uz"


def free_unbacked_symbols(x):
    """The symbols among them whose numbers only the data tells.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> env = shapes.ShapeEnv()
    >>> u = env.create_unbacked_symint()
    >>> shapes.free_unbacked_symbols(u + 1)
    {u0}
    """
    return {s for s in free_symbols(x) if _is_unbacked(s)}


def has_free_unbacked_symbols(x):
    """Whether it has such symbols.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> shapes.has_free_unbacked_symbols(x)
    False
    """
    return bool(free_unbacked_symbols(x))


def has_symbolic_sizes_strides(elem):
    """Whether a tensor's geometry has symbols.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> shapes.has_symbolic_sizes_strides(x)
    True
    """
    return has_free_symbols(elem)


def is_symbol_binding_fx_node(node):
    """The symbol that a placeholder stands for, or None.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> g = torch.fx.experimental.proxy_tensor.make_fx(torch.sin, tracing_mode="symbolic")(torch.ones(4, 3))
    >>> print([shapes.is_symbol_binding_fx_node(n) for n in g.graph.nodes])
    [None, None, None]
    """
    val = node.meta.get("val")
    if node.op == "placeholder" and isinstance(val, SymInt) and val.node.expr.is_symbol:
        return val.node.expr
    return None


def find_symbol_binding_fx_nodes(graph):
    """The placeholders of symbols, by symbol.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> g = torch.fx.experimental.proxy_tensor.make_fx(torch.sin, tracing_mode="symbolic")(torch.ones(4, 3))
    >>> shapes.find_symbol_binding_fx_nodes(g.graph)
    {}
    """
    return {s: n for n in graph.nodes if (s := is_symbol_binding_fx_node(n)) is not None}


def is_accessor_node(node):
    """Whether a node asks a tensor for a size, a stride or the offset.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> g = torch.fx.experimental.proxy_tensor.make_fx(torch.sin, tracing_mode="symbolic")(torch.ones(4, 3))
    >>> any(shapes.is_accessor_node(n) for n in g.graph.nodes)
    False
    """
    if node.op == "call_method":
        return node.target in ("size", "stride", "storage_offset", "item")
    return node.op == "call_function" and str(node.target).startswith(("aten.sym_size", "aten.sym_stride", "aten.sym_storage_offset"))


def fx_placeholder_vals(gm):
    """The values that the placeholders of a graph stand for.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> g = torch.fx.experimental.proxy_tensor.make_fx(torch.sin, tracing_mode="symbolic")(torch.ones(4, 3))
    >>> [type(v).__name__ for v in shapes.fx_placeholder_vals(g)]
    ['FakeTensor']
    """
    return [n.meta["val"] for n in gm.graph.nodes if n.op == "placeholder"]


def fx_placeholder_targets(gm):
    """The names of the placeholders of a graph.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> g = torch.fx.experimental.proxy_tensor.make_fx(torch.sin, tracing_mode="symbolic")(torch.ones(4, 3))
    >>> shapes.fx_placeholder_targets(g)
    ['arg0_1']
    """
    return [n.target for n in gm.graph.nodes if n.op == "placeholder"]


def eval_guards(gm, *args, ignore_static=True):
    """Whether other inputs meet the guards under which a graph was traced.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> g = torch.fx.experimental.proxy_tensor.make_fx(torch.sin, tracing_mode="symbolic")(torch.ones(4, 3))
    >>> shapes.eval_guards(g, torch.ones(6, 5))
    True
    """
    return gm.shape_env.evaluate_guards_for_args(fx_placeholder_vals(gm), args, ignore_static=ignore_static)


def bind_symbols(gm, *args):
    """The number of each symbol of a graph in other inputs.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> g = torch.fx.experimental.proxy_tensor.make_fx(torch.sin, tracing_mode="symbolic")(torch.ones(4, 3))
    >>> sorted(shapes.bind_symbols(g, torch.ones(6, 5)).values())
    [5, 6]
    """
    return gm.shape_env.bind_symbols(fx_placeholder_vals(gm), args)


def check_consistent(new, old):
    """RuntimeError where two results of one node differ in shape or number.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> shapes.check_consistent(torch.ones(2, 3), torch.zeros(2, 3))
    """
    if isinstance(new, cresset.Tensor):
        for a, b in zip(new.shape, old.shape, strict=True):
            cresset._check(a == b, lambda a=a, b=b: f"sizes differ: {a} and {b}")
    elif isinstance(new, (int, float, *py_sym_types)) and not isinstance(new, bool):
        cresset._check(new == old, lambda: f"numbers differ: {new} and {old}")


def compute_unbacked_bindings(shape_env, example_value, old_example_value=None, peek=False):
    """Where in a value the unbacked symbols are that were made for it: symbol to path. None where there are none.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> env = shapes.ShapeEnv()
    >>> u = env.create_unbacked_symint()
    >>> shapes.compute_unbacked_bindings(env, u)
    {u0: ()}
    """
    found = _fresh_places(shape_env, example_value)
    if shape_env is not None and not peek:
        shape_env.pending_fresh_unbacked_symbols.clear()
    return found or None


def note_unbacked(node, shape_env, value):
    """Notes in `meta["unbacked_bindings"]` of a node the unbacked symbols that its value is the first to have."""
    found = _fresh_places(shape_env, value)
    if found:
        shape_env.pending_fresh_unbacked_symbols[:] = [symbol for symbol in shape_env.pending_fresh_unbacked_symbols if symbol not in found]
        if node.op != "placeholder":
            node.meta["unbacked_bindings"] = found


def _fresh_places(shape_env, value):
    """Symbol to path, for the symbols in a value that no node has been bound to."""
    pending = None if shape_env is None else shape_env.pending_fresh_unbacked_symbols
    found = {}
    for path, leaf in pytree.tree_flatten_with_path(value)[0] if pending else ():
        for key, symbol in _symbols_at(leaf):
            if symbol in pending:
                found.setdefault(symbol, (*path, *key))
    return found


def _symbols_at(leaf):
    """The places of a number or tensor at which a symbol stands alone."""
    if isinstance(leaf, cresset.Tensor):
        if leaf.layout is not cresset.strided:
            return
        numbers = [((CallMethodKey(method), pytree.SequenceKey(i)), n) for method in ("size", "stride") for i, n in enumerate(getattr(leaf, method)())]
        numbers.append(((CallMethodKey("storage_offset"),), leaf.storage_offset()))
    else:
        numbers = [((), leaf)]
    for key, number in numbers:
        if isinstance(number, SymBool):
            tree = number.node._expr.tree()
            if isinstance(tree, tuple) and tree[0] == "eq" and isinstance(tree[1], str) and tree[2] == 1:  # as a truth value of the data is written
                yield (*key, ConvertIntKey()), _cresset_graph.symbol(tree[1], "int")
        elif isinstance(number, (SymInt, SymFloat)) and number.node._expr.is_symbol:
            yield key, number.node._expr


class ConvertIntKey:
    """A step of a path: a truth value as 1 or 0."""

    def get(self, obj):
        """The number."""
        return cresset.sym_ite(obj, 1, 0)

    def __str__(self):
        return ".cast_symbool_to_symint_guardless()"

    def __repr__(self):
        return "ConvertIntKey()"

    def __eq__(self, other):
        return isinstance(other, ConvertIntKey)

    def __hash__(self):
        return hash(type(self))


class CallMethodKey:
    """A step of a path: a method without arguments."""

    def __init__(self, name):
        self.name = name

    def get(self, obj):
        """The result of the method."""
        return getattr(obj, self.name)()

    def __str__(self):
        return f".{self.name}()"

    def __repr__(self):
        return f"CallMethodKey(name={self.name!r})"

    def __eq__(self, other):
        return isinstance(other, CallMethodKey) and self.name == other.name

    def __hash__(self):
        return hash(self.name)


def resolve_unbacked_bindings(shape_env, bindings):
    """Bindings with symbols that have been found to be others replaced.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> env = shapes.ShapeEnv()
    >>> u = env.create_unbacked_symint()
    >>> shapes.resolve_unbacked_bindings(env, {u.node.expr: ()})
    {u0: ()}
    """
    return bindings and {shape_env.replace(s): path for s, path in bindings.items()}


def rebind_unbacked(shape_env, n, result):
    """The symbols that a node's value was made with are those of its result, made anew.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> env = shapes.ShapeEnv()
    >>> u = env.create_unbacked_symint()
    >>> graph = torch.fx.Graph()
    >>> node = graph.placeholder("x")
    >>> shapes.rebind_unbacked(env, node, u)
    """
    for symbol, path in (resolve_unbacked_bindings(shape_env, n.meta.get("unbacked_bindings")) or {}).items():
        value = pytree.key_get(result, path)
        if isinstance(value, SymInt):
            constrain_unify(value, shape_env.wrap(symbol))


def __getattr__(name):
    if name == "PropagateUnbackedSymInts":
        return _propagate_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def _propagate_class():
    from cresset.fx import Interpreter

    class PropagateUnbackedSymInts(Interpreter):
        """Runs a graph again and ties the unbacked symbols of its results to those of its nodes."""

        def run_node(self, n):
            """The node's result, with its symbols tied."""
            result = super().run_node(n)
            env = next((e.node.shape_env for e in pytree.tree_leaves(result) if is_symbolic(e)), None)
            if env is not None:
                rebind_unbacked(env, n, result)
            return result

    return PropagateUnbackedSymInts
