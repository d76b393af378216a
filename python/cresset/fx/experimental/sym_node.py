"""The node behind a symbolic number: an expression and the environment that knows its symbols."""

import _cresset_graph
from cresset import SymBool, SymFloat, SymInt

__all__ = ["SymNode", "method_to_operator", "to_node"]

_TYPES = {"int": (SymInt, int), "float": (SymFloat, float), "bool": (SymBool, bool)}
_SYMBOLIC = (SymInt, SymFloat, SymBool)
_DIVISIONS = {"floordiv": "integer division or modulo by zero", "mod": "integer modulo by zero", "truediv": "division by zero"}


class SymNode:
    """An expression over the symbols of a `ShapeEnv`; `pytype` is int, float or bool, `hint` its number in the example, None where only the data tells.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> x.shape[0].node.expr, x.shape[0].node.hint
    (s26, 4)
    """

    __slots__ = ("_expr", "constant", "fx_node", "pytype", "shape_env")

    def __init__(self, expr, shape_env, pytype, hint=None, constant=None, fx_node=None, optimized_summation=False):
        self._expr, self.shape_env, self.pytype = expr, shape_env, pytype
        self.constant, self.fx_node = constant, fx_node

    @property
    def expr(self):
        """The expression, with all put in that is known by now."""
        return self.shape_env.replace(self._expr)

    @property
    def hint(self):
        """The number in the example, or None."""
        return self.shape_env._env.hint(self._expr)

    def has_hint(self):
        """Whether the example has a number for it."""
        return self.hint is not None

    def combine(self, operation, *others):
        """The number that an operation gives for this one and others, symbolic or plain.

        Errors: ZeroDivisionError for a divisor that is 0, or a symbol that is 0 in the example.
        """
        if operation in _DIVISIONS and _number_of(others[0]) == 0:
            _refuse_zero(operation, others[0])
        return self.shape_env.wrap(_cresset_graph.apply(operation, self.expr, *(_expr_of(o) for o in others)))

    def combine_from(self, operation, other):
        """The same with the other one first."""
        if operation in _DIVISIONS and self.hint == 0:
            _refuse_zero(operation, self._expr)
        return self.shape_env.wrap(_cresset_graph.apply(operation, _expr_of(other), self.expr))

    def guard_int(self, file="", line=0):
        """The int of the example, which becomes a guard."""
        return int(self.shape_env._asked(self._expr))

    def guard_float(self, file="", line=0):
        """The float of the example, which becomes a guard."""
        return float(self.shape_env._asked(self._expr))

    def guard_bool(self, file="", line=0):
        """The truth value of the example, which becomes a guard."""
        return self.shape_env._asked(self._expr)

    def int_(self):
        """As `guard_int`."""
        return self.guard_int()

    def bool_(self):
        """As `guard_bool`."""
        return self.guard_bool()

    def evaluate(self, size_oblivious=False):
        """The number of the example, which becomes a guard."""
        return self.guard_bool() if self.pytype is bool else self.shape_env._asked(self._expr)

    def expect_true(self, file="", line=0):
        """The condition holds from now on; asserted at run time where only the data tells."""
        return self.shape_env.guard_or_defer_runtime_assert(self._expr, f"expected {self._expr} to hold")

    def guard_or_false(self, file="", line=0):
        """As `guard_bool`; False where only the data tells."""
        return self._guard_or(False)

    def guard_or_true(self, file="", line=0):
        """As `guard_bool`; True where only the data tells."""
        return self._guard_or(True)

    def _guard_or(self, otherwise):
        known = self.shape_env._env.statically(self._expr)
        return known if known is not None else self.guard_bool() if self.has_hint() else otherwise

    guard_size_oblivious = guard_or_false

    def statically_known_true(self, file="", line=0):
        """Whether the condition holds for all values."""
        return self.shape_env._env.statically(self._expr) is True

    def is_int(self):
        """Whether it is an integer."""
        return self.pytype is int

    def is_float(self):
        """Whether it is a float."""
        return self.pytype is float

    def is_bool(self):
        """Whether it is a truth value."""
        return self.pytype is bool

    def is_constant(self):
        """False: constants are Python's numbers."""
        return False

    def is_symbolic(self):
        """True: constants are Python's numbers."""
        return True

    def is_nested_int(self):
        """False: a nested integer has a node of its own class."""
        return False

    def nested_int(self):
        """None: a nested integer has a node of its own class."""

    def maybe_as_int(self):
        """The int that it is by now, or None."""
        return self.expr.constant if self.pytype is int else None

    def maybe_as_float(self):
        """The float that it is by now, or None."""
        return self.expr.constant if self.pytype is float else None

    def maybe_as_bool(self):
        """The bool that it is by now, or None."""
        return self.expr.constant if self.pytype is bool else None

    def wrap_int(self, num):
        """A node for an int."""
        return SymNode(_cresset_graph.number(int(num)), self.shape_env, int)

    def wrap_float(self, num):
        """A node for a float."""
        return SymNode(_cresset_graph.number(float(num)), self.shape_env, float)

    def wrap_bool(self, num):
        """A node for a bool."""
        return SymNode(_cresset_graph.number(bool(num)), self.shape_env, bool)

    def with_shape_env(self, shape_env):
        """The same expression in another environment."""
        return SymNode(self._expr, shape_env, self.pytype)

    def clone(self):
        """The node itself, which never changes."""
        return self

    def __deepcopy__(self, memo):
        return self

    def str(self):
        """The expression as text."""
        return str(self.expr)

    __str__ = str

    def __repr__(self):
        return f"SymNode({self.expr}, shape_env={self.shape_env}, pytype={self.pytype}, hint={self.hint}, fx_node={self.fx_node})"

    def sym_sum(self, args):
        """The sum of nodes."""
        total = args[0]
        for node in args[1:]:
            total = total.add(node)
        return total

    def sym_ite(self, then, otherwise):
        """One of two nodes."""
        return self._node("ite", then, otherwise)

    def _node(self, operation, *others):
        expr = _cresset_graph.apply(operation, self.expr, *(o.expr for o in others))
        return SymNode(expr, self.shape_env, _TYPES[expr.kind][1])


def _number_of(value):
    """A plain number, or that of a symbolic one in the example."""
    return value.node.hint if isinstance(value, _SYMBOLIC) else value


def _refuse_zero(operation, divisor):
    raise ZeroDivisionError(f"{_DIVISIONS[operation]}, which {divisor} is" + ("" if isinstance(divisor, (int, float)) else " in the example"))


def _expr_of(value):
    return value.node.expr if isinstance(value, _SYMBOLIC) else value


def to_node(self, num):
    """The node of a number beside `self`; NotImplemented for anything else.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> torch.fx.experimental.sym_node.to_node(x.shape[0].node, 7).hint
    7
    """
    if isinstance(num, _SYMBOLIC):
        return num.node
    for kind, wrapped in ((bool, self.wrap_bool), (int, self.wrap_int), (float, self.wrap_float)):
        if isinstance(num, kind):
            return wrapped(num)
    return NotImplemented


_METHODS = {
    **{name: name for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "ne", "lt", "le", "gt", "ge", "lshift", "rshift")},
    **{"int_truediv": "truediv", "float_truediv": "truediv", "int_floordiv": "floordiv", "pow_by_natural": "pow", "float_pow": "pow"},
    **{"and_": "and", "or_": "or", "sym_and": "and", "sym_or": "or", "bitwise_and": "bitand", "bitwise_or": "bitor", "bitwise_xor": "bitxor"},
    **{"sym_max": "max", "sym_min": "min", "neg": "neg", "abs": "abs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "round"},
    **{"sym_float": "float", "sym_not": "not"},
    **{f"sym_{name}": name for name in ("sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "log2")},
}


def _add_methods():
    for name, operation in _METHODS.items():
        setattr(SymNode, name, lambda self, *others, operation=operation: self._node(operation, *others))
    SymNode.pos = SymNode.clone


_add_methods()


def method_to_operator(method):
    """The function of `operator`, `math` or torch that a method of nodes stands for.

    >>> torch.fx.experimental.sym_node.method_to_operator("add")
    <built-in function add>
    """
    import math
    import operator

    import cresset

    if method.startswith("sym_"):
        return getattr(cresset, method, getattr(cresset, f"_{method}", None))
    return getattr(operator, method, getattr(math, method, None))
