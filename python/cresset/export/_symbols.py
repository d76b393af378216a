"""Symbolic numbers as `.pt2` files keep them: expressions as nested calls, with the example's numbers."""

import ast
import math

import _cresset_graph

from .._subclasses.fake_tensor import FakeTensorMode
from ..fx.experimental._dims import DimDynamic
from ..fx.experimental.symbolic_shapes import ShapeEnv

_WRITTEN = {
    "add": "Add", "mul": "Mul", "floordiv": "FloorDiv", "mod": "Mod", "max": "Max", "min": "Min", "pow": "Pow", "truediv": "IntTrueDiv", "eq": "Equality",
    "ne": "Unequality", "lt": "StrictLessThan", "le": "LessThan", "gt": "StrictGreaterThan", "ge": "GreaterThan", "and": "And", "or": "Or", "not": "Not",
    "float": "ToFloat", "floor": "FloorToInt", "ceil": "CeilToInt", "trunc": "TruncToInt",
}  # fmt: skip
_WRITTEN |= {name: f"OpaqueUnaryFn_{name}" for name in "sqrt cos cosh sin sinh tan tanh asin acos atan log2 exp log".split()}
_READ = {written: op for op, written in _WRITTEN.items()} | {"PythonMod": "mod", "PowByNatural": "pow", "FloatPow": "pow", "FloatTrueDiv": "truediv"}


# ---- writing --------------------------------------------------------------------------------------------------------------


def size(value):
    """A size: a number, or an expression with the example's number."""
    if type(value) is int:
        return {"as_int": value}
    return {"as_expr": {"expr_str": _text(value.node.expr.tree()), "hint": _hint(value, "as_int", int)}}


def truth(value):
    """A symbolic truth value."""
    return {"as_expr": {"expr_str": _text(value.node.expr.tree())}}


def real(value):
    """A symbolic number."""
    return {"as_expr": {"expr_str": _text(value.node.expr.tree()), "hint": _hint(value, "as_float", float)}}


def _hint(value, key, kind):
    hint = value.node.hint
    return None if hint is None else {key: kind(hint)}


def _text(tree):
    if isinstance(tree, str):
        return f"Symbol('{tree}', {'' if tree.startswith('u') else 'positive=True, '}integer=True)"
    if isinstance(tree, bool):
        return str(tree).lower()
    if isinstance(tree, int):
        return f"Integer({tree})"
    if isinstance(tree, float):
        return f"Float('{tree!r}', precision=53)"
    op, *parts = tree
    if op in ("sub", "neg"):
        *first, last = [_text(p) for p in parts]
        negative = f"Mul(Integer(-1), {last})"
        return f"Add({first[0]}, {negative})" if first else negative
    if op == "ite":
        condition, then, otherwise = map(_text, parts)
        return f"Piecewise(ExprCondPair({then}, {condition}), ExprCondPair({otherwise}, true))"
    if op not in _WRITTEN:
        raise ValueError(f"save: the format has no expression {op!r}")
    return f"{_WRITTEN[op]}({', '.join(_text(p) for p in parts)})"


def ranges(constraints):
    """The ranges of the symbols."""
    return {str(symbol): {"min_val": _bound(r.lower), "max_val": _bound(r.upper)} for symbol, r in constraints.items()}


def _bound(value):
    return None if math.isinf(value) else int(value)


# ---- reading --------------------------------------------------------------------------------------------------------------


class Symbols:
    """The symbols of a file that is read: an environment with the file's names, ranges and numbers of the example."""

    def __init__(self, constraints, document):
        self.env = ShapeEnv(duck_shape=False) if constraints else None
        self.mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=self.env)
        self.known = {}
        hints = {}
        _hints(document, hints)
        for symbol, r in constraints.items():
            name = str(symbol)
            low = 2 if math.isinf(r.lower) else max(r.lower, 2)
            if name.startswith("u"):
                made = self.env._env.create_unbacked("size")
            else:
                hint = hints.get(name) or min(max(low, 4 + len(self.known)), 2**31 if math.isinf(r.upper) else r.upper)
                made = self.env._create(hint, name, DimDynamic.DYNAMIC, symbol=name)
                if made.is_symbol:
                    self.env._env.constrain(name, low, None if math.isinf(r.upper) else r.upper)
            self.known[name] = made

    def size(self, place):
        """A size."""
        kind, value = place.choice()
        if kind == "as_int":
            return value.of(int)
        if kind != "as_expr":
            place.fail("expected as_int or as_expr")
        return self.value(value)

    def value(self, place):
        """The number of an expression, or one that is known."""
        if place.get("expr_str") is None and place.choice()[0] in ("as_int", "as_float", "as_bool"):
            return place.choice()[1].of(int, float, bool)
        place = place.at("as_expr") if place.get("as_expr") else place
        text = place.at("expr_str").of(str)
        if len(text) > 100_000:
            place.fail("expected an expression of at most 100000 letters")
        try:
            tree = self._tree(ast.parse(text, mode="eval").body)
        except (SyntaxError, ValueError, KeyError, RecursionError) as error:
            place.fail(f"cannot read the expression {text[:80]!r}: {error}")
        expr = _cresset_graph.expr_from_tree(tree)
        return expr.constant if expr.constant is not None else self.env.wrap(expr)

    def _tree(self, node):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._tree(node.operand)
        if isinstance(node, ast.Name) and node.id in ("true", "false"):
            return node.id == "true"
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise ValueError("expected a call")
        name = node.func.id
        if name == "Symbol":
            return self._symbol(node.args[0].value)
        if name in ("Integer", "Float"):
            value = node.args[0]
            return float(value.value) if name == "Float" else self._tree(value)
        if name == "Piecewise":
            return self._piecewise(node.args)
        parts = [self._tree(a) for a in node.args]
        if name == "Rational":
            return parts[0] / parts[1]
        return (_READ[name], *parts)

    def _piecewise(self, pairs):
        """The first value whose condition holds; the last one's is `true`."""
        (value, condition), *rest = [[self._tree(part) for part in pair.args] for pair in pairs]
        return ("ite", condition, value, self._piecewise(pairs[1:])) if rest else value

    def _symbol(self, name):
        if name not in self.known:
            if self.env is None or not isinstance(name, str):
                raise ValueError(f"the symbol {name!r} has no range")
            self.known[name] = self.env._create(4 + len(self.known), name, DimDynamic.DYNAMIC, symbol=name)
        return self.known[name].tree()


def _hints(value, found):
    """The example's number of each symbol that stands alone somewhere in a document."""
    if isinstance(value, dict):
        text, hint = value.get("expr_str"), value.get("hint")
        if isinstance(text, str) and text.startswith("Symbol('") and text.count("(") == 1 and isinstance(hint, dict) and type(hint.get("as_int")) is int:
            found[text.split("'")[1]] = hint["as_int"]
        for item in value.values():
            _hints(item, found)
    elif isinstance(value, list):
        for item in value:
            _hints(item, found)
