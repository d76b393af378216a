"""Guards as Python text, and what a user may write to meet them."""

import math
import operator

import _cresset_graph
import cresset
from cresset import SymBool, SymFloat, SymInt

_SYMBOLIC = (SymInt, SymFloat, SymBool)
_INFIX = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
          "gt": ">", "ge": ">=", "and": "and", "or": "or", "bitand": "&", "bitor": "|", "bitxor": "^", "lshift": "<<", "rshift": ">>"}  # fmt: skip
_CALLS = {"floor": "math.floor", "ceil": "math.ceil", "trunc": "math.trunc", "round": "round", "float": "float", "not": "not ", "neg": "-", "max": "max",
          "min": "min", "abs": "abs"}  # fmt: skip


def relied_on(env):
    """The conditions that a trace relies on, over the symbols that are left, each once; without bounds of single symbols, which are their ranges.

    They are not simplified by other knowledge, which comes from these very conditions.
    """
    by = {str(symbol): other.tree() for symbol, other in env.replacements.items()}
    found = {}
    for guard, _ in env._env.guards:
        known = _cresset_graph.expr_from_tree(_substituted(guard.tree(), by)) if by else guard
        if known.constant is not True and not _is_bound(known.tree()):
            found.setdefault(str(known), known)
    return list(found.values())


def _substituted(tree, by):
    if isinstance(tree, tuple):
        return (tree[0], *[_substituted(part, by) for part in tree[1:]])
    return by.get(tree, tree) if isinstance(tree, str) else tree


def _is_bound(tree):
    match tree:
        case ("lt" | "le" | "gt" | "ge", str(), int()) | ("lt" | "le" | "gt" | "ge", int(), str()):
            return True
    return False


class ConstraintViolationError(RuntimeError):
    """A dimension that must be dynamic is found to be a number, or two that must differ to be equal."""


def code(tree, names):
    """An expression's `tree()` as Python text, with names of symbols replaced."""
    if isinstance(tree, str):
        return names.get(tree, tree)
    if not isinstance(tree, tuple):
        return repr(tree)
    op, *parts = tree
    texts = [code(p, names) for p in parts]
    if op == "ite":
        return f"({texts[1]} if {texts[0]} else {texts[2]})"
    if op in _INFIX:
        return "(" + f" {_INFIX[op]} ".join(texts) + ")"
    call = _CALLS.get(op, f"math.{op}")
    return f"{call}({', '.join(texts)})"


def _outer(text):
    """Without parentheses around the whole."""
    if not text.startswith("("):
        return text
    depth = 0
    for at, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return text[1:-1] if at == len(text) - 1 else text
    return text


class GuardPrinter:
    """The conditions on inputs under which a trace holds, over texts that name the inputs."""

    def __init__(self, env, placeholders, sources, ignore_static=True):
        self.env, self.ignore_static = env, ignore_static
        self.equal, self.names = [], {}
        for placeholder, source in zip(placeholders, sources, strict=True):
            for text, number in _numbers(placeholder, source):
                self._see(text, number)

    def _see(self, text, number):
        if not isinstance(number, _SYMBOLIC):
            if not self.ignore_static:
                self.equal.append(f"{text} == {number}")
            return
        expr = number.node.expr
        if expr.is_symbol and str(expr) not in self.names:
            self.names[str(expr)] = text
        else:
            self.equal.append((text, expr))

    def conditions(self):
        """One text for each condition."""
        out = []
        for item in self.equal:
            if isinstance(item, str):
                out.append(item)
            elif item[1].constant is None or not self.ignore_static:
                out.append(f"{item[0]} == {_outer(code(item[1].tree(), self.names))}")
        for known in relied_on(self.env):
            if set(known.symbols) <= set(self.names):
                text = _outer(code(known.tree(), self.names))
                if text not in out:
                    out.append(text)
        for name, _, low, high, replaced, _ in self.env._env.symbols:
            if name not in self.names or replaced is not None:
                continue
            ends = [] if low in (-math.inf, 0) else [str(low)]
            text = " <= ".join([*ends, self.names[name], *([] if high == math.inf else [str(high)])])
            if "<=" in text:
                out.append(text)
        return out

    @staticmethod
    def evaluate(text, args):
        """Whether inputs meet a condition over L['t0'], L['t1'], ..."""
        return bool(eval(text, {"L": {f"t{i}": a for i, a in enumerate(args)}, "math": math, "torch": cresset}))

    @staticmethod
    def bindings(placeholders, args):
        """The number of each symbol of the placeholders in `args`."""
        out = {}
        for placeholder, arg in zip(placeholders, args, strict=True):
            given = dict(_numbers(arg, ""))
            for text, number in _numbers(placeholder, ""):
                if isinstance(number, _SYMBOLIC) and number.node.expr.is_symbol and text in given:
                    value = out.setdefault(number.node.expr, given[text])
                    if value != given[text]:
                        raise AssertionError(f"bind_symbols: {number} is {value} in one input and {given[text]} in another")
        return out


def _numbers(value, source):
    """(text, number) for everything of an input that may be symbolic."""
    if isinstance(value, cresset.Tensor):
        yield from ((f"{source}.size()[{d}]", s) for d, s in enumerate(value.size()))
        if value.layout is cresset.strided:
            yield from ((f"{source}.stride()[{d}]", s) for d, s in enumerate(value.stride()) if _free_stride(value, s))
            offset = value.storage_offset()
            if isinstance(offset, _SYMBOLIC):
                yield f"{source}.storage_offset()", offset
    elif isinstance(value, (int, float, *_SYMBOLIC)) and not isinstance(value, bool):
        yield source, value


def _free_stride(value, stride):
    """Whether a stride is a symbol that no size holds."""
    if not isinstance(stride, SymInt):
        return False
    sizes = {n for s in value.size() if isinstance(s, SymInt) for n in s.node.expr.symbols}
    return not set(stride.node.expr.symbols) <= sizes


def suggested_fixes(env, names):
    """Lines to write instead, one for each dimension whose name (`names`: symbol to name) stands for less than was said.

    `batch = 4` where the program makes it a number, `rows = columns` where it makes two equal, `rows = 2*_rows` where it must be a multiple, and
    `rows = Dim('rows', min=3, max=8)` where it lies in a range.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> if x.shape[0] == 4:
    ...     y = x + 1
    >>> shapes.suggested_fixes(mode.shape_env, {"s26": "rows"})
    ['rows = 4']
    """
    lines = []
    for symbol, _, low, high, replaced, _ in env._env.symbols:
        if symbol not in names:
            continue
        name = names[symbol]
        if replaced is not None:
            lines.append(f"{name} = {_outer(code(replaced.tree(), names))}")
            continue
        multiple = _multiple(env, symbol)
        if multiple:
            least, most = -(-max(low, 0) // multiple), math.inf if high == math.inf else high // multiple
            ends = ([f"min={least}"] if least > 1 else []) + ([] if most == math.inf else [f"max={most}"])
            lines += [f"_{name} = Dim('_{name}', {', '.join(ends)})"] if ends else []
            lines.append(f"{name} = {multiple}*_{name}")
            continue
        ends = ([] if low in (-math.inf, 0, 2) else [f"min={low}"]) + ([] if high == math.inf else [f"max={high}"])
        if ends:
            lines.append(f"{name} = Dim('{name}', {', '.join(ends)})")
    return lines


def _multiple(env, symbol):
    product = 1
    for guard, _ in env._env.guards:
        match guard.tree():
            case ("eq", ("mod", str(s), int(k)), 0) if s == symbol:
                product = math.lcm(product, k)
            case ("eq", ("mod", ("mul", int(c), str(s)), int(k)), 0) if s == symbol:
                product = math.lcm(product, k // math.gcd(c, k))
    return product if product > 1 else None


class DimConstraints:
    """Conditions collected from guards, and the dimensions that they make numbers, ranges or functions of others.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> shapes.DimConstraints({}, {}, set(), {}).forced_specializations()
    {}
    """

    def __init__(self, symbol_to_source, var_to_val, marked_dynamic, source_name_to_debug_name):
        self._sources, self._hints = symbol_to_source, var_to_val
        self._dynamic, self._names = marked_dynamic, source_name_to_debug_name
        self._conditions, self._equalities = [], []
        self._numbers = {}

    def add(self, expr):
        """Takes a condition; whether it can be met by the example."""
        self._conditions.append(expr)
        hints = {str(s): int(v) for s, v in self._hints.items()}
        return expr.evaluate(hints) is not False

    def add_equality(self, source, expr):
        """A dimension is an expression of others."""
        self._equalities.append((source, expr))

    def solve(self):
        """Finds the dimensions that the conditions make numbers."""
        for expr in self._conditions:
            match expr.tree():
                case ("eq", str(s), int(v)) | ("eq", int(v), str(s)):
                    self._numbers[s] = v

    def rewrite_with_congruences(self, s, expr):
        """The expression itself: remainders are kept as they are."""
        return expr

    def forced_specializations(self):
        """The dimensions that are to be dynamic and cannot be, with their numbers."""
        return {str(s): self._numbers[str(s)] for s in self._dynamic if str(s) in self._numbers}

    def prettify_results(self, original_signature=None, dynamic_shapes=None, constraint_violation_error=None, forced_specializations=None):
        """The conditions in words."""
        lines = [f"{s} = {v}" for s, v in {**self._numbers, **(forced_specializations or {})}.items()]
        return "Suggested fixes:\n  " + "\n  ".join(lines) if lines else ""


COMPARISONS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
