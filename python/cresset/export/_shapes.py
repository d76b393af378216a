"""Sizes of the arguments of an exported program: which are symbols, and what is known of them."""

import math

import cresset as torch

from .._dynamo.exc import UserError, UserErrorType
from .._subclasses.fake_tensor import FakeTensorMode, is_fake
from ..fx.experimental._dims import DimDynamic, StatelessSymbolicContext
from ..fx.experimental._guards import ConstraintViolationError, relied_on, suggested_fixes
from ..fx.passes.runtime_assert import insert_deferred_runtime_asserts
from ..fx.experimental.symbolic_shapes import RestartTrace, ShapeEnv, ValueRanges
from ..utils import _pytree as pytree
from .dynamic_shapes import _NO_BOUND, AdditionalInputs, Dim, ShapesCollection, _DimHint, combined

MAX_RESTARTS = 64


class _Known(StatelessSymbolicContext):
    """Sizes of a tensor whose symbols are there already."""

    places = None

    def remembered(self, shape_env):
        """The expressions by place."""
        return self.places


class Shapes:
    """The sizes of one export: the same symbols for every run of the module."""

    restart = RestartTrace

    def __init__(self, module, args, kwargs, dynamic_shapes, names, leaves, deferred=False, strict=False):
        self.strict = strict
        if isinstance(dynamic_shapes, (ShapesCollection, AdditionalInputs)):
            dynamic_shapes = dynamic_shapes.dynamic_shapes(module, args, kwargs)
        given = combined(module, args, kwargs)
        specs = _specs(given, dynamic_shapes)
        self.specs = dict(zip(names, _aligned(specs, leaves), strict=True))
        self.deferred, self.dims, self.exprs, self.named, self.derived = deferred, {}, {}, {}, {}
        self.bounds, self.definitions = [], {}  # (expression, least, most) for each dimension; the Dim of a name
        self.adopted = {}  # id of a fake tensor of another mode -> it, and what stands for it
        self.owners = {}  # the tensors that have a Dim, and where
        self.env = ShapeEnv(prefer_deferred_runtime_asserts_over_guards=deferred, duck_shape=False)
        self.mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=self.env)

    # ---- arguments --------------------------------------------------------------------------------------------------------

    def fake(self, recorder, name, leaf, node):
        """The stand-in of an argument while the module runs."""
        if not isinstance(leaf, torch.Tensor):
            return self._number(recorder, name, leaf, node) if self.specs[name] else leaf
        plain = leaf if is_fake(leaf) else leaf.detach().requires_grad_(leaf.requires_grad)
        spec = self.specs[name]
        if not any(_is_dynamic(s) for s in spec):
            fake = self.like(plain)
        else:
            context = _Known([DimDynamic.DYNAMIC if _is_dynamic(s) else DimDynamic.STATIC for s in spec])
            context.places = {
                f"{name}.size()[{d}]": self.env.replace(self._expr(f"{name}.size()[{d}]", s, leaf.shape[d])) for d, s in enumerate(spec) if _is_dynamic(s)
            }
            fake = self.like(plain, source=name, symbolic_context=context)
        recorder.know(fake, node)
        for d, size in enumerate(fake.shape):
            recorder.learn(size, node, d)
            if d < len(spec) and isinstance(spec[d], Dim):
                self.owners.setdefault((spec[d].root or spec[d]).__name__, set()).add((id(leaf), d))
        return fake

    def _number(self, recorder, name, leaf, node):
        """The symbol of an argument that is an integer."""
        (spec,) = self.specs[name]
        number = self.env.wrap(self.env.replace(self._expr(name, spec, leaf)))
        if isinstance(number, torch.SymInt):
            recorder.known.setdefault(str(number.node.expr), node)
        return number

    def like(self, tensor, **symbolic):
        """The stand-in of a tensor, which may be a fake one itself; its sizes are fixed without a context."""
        if is_fake(tensor) and not symbolic:
            return self.adopted.setdefault(id(tensor), (tensor, self.mode._adopted(tensor)))[1]
        if is_fake(tensor):
            return self.mode._adopted(tensor, **symbolic)
        return self.mode.from_tensor(tensor, **(symbolic or {"static_shapes": True}))

    def _expr(self, place, spec, size):
        """The expression of a size."""
        if place in self.exprs:
            return self.exprs[place]
        if isinstance(spec, _DimHint):
            made = self._symbol(place, size, spec.min, spec.max)
            self.bounds.append((made, spec.min, spec.max))
            if spec.type == "DYNAMIC":
                self.named[place] = (made, spec.min, spec.max)
        else:
            made = self._of_dim(place, spec, size)
        self.exprs[place] = made
        return made

    def _of_dim(self, place, dim, size):
        root = dim.root or dim
        if (size - dim.offset) % dim.factor:
            raise UserError(UserErrorType.INVALID_INPUT, f"export: {place} is {size} in the example, which is no {dim.__name__}")
        number = (size - dim.offset) // dim.factor
        if root.__name__ not in self.dims:
            if not root.min <= number <= root.max:
                text = f"export: {place} is {size} in the example, which {root!r} does not allow"
                raise UserError(UserErrorType.INVALID_INPUT, text) if self.strict else ConstraintViolationError(text)
            made = self._symbol(place, number, root.min, root.max)
            self.dims[root.__name__], self.definitions[root.__name__] = (made, number), root
            self.named[root.__name__] = (made, root.min, root.max)
            self.bounds.append((made, root.min, root.max))
        first = self.definitions[root.__name__]
        if (first.min, first.max) != (root.min, root.max):
            raise UserError(UserErrorType.INVALID_INPUT, f"export: {place} is {root!r}, and elsewhere the same name stands for {first!r}")
        expr, known = self.dims[root.__name__]
        if known != number:
            raise UserError(UserErrorType.INVALID_INPUT, f"export: {place} makes {root.__name__} {number}, elsewhere in the example it is {known}")
        if dim is root:
            return expr
        made = _as_expr(self.env.wrap(expr) * dim.factor + dim.offset)
        self.derived[str(made)] = (made, dim.min, dim.max)
        return made

    def _symbol(self, place, size, low, high):
        argument, dot, rest = place.partition(".")
        made = self.env._create(size, place, DimDynamic.DYNAMIC, symbol=self.env._free_name(f"L['{argument}']{dot}{rest}"))
        if made.is_symbol:
            self.env._env.constrain(str(made), max(low or 0, 2), None if high is None or high is _NO_BOUND else high)
        return made

    # ---- after the run ----------------------------------------------------------------------------------------------------

    def ran(self, recorder):
        """Writes assertions of numbers that only the data tells, and that the program takes for constants, into the graph."""
        for name, _, _, _, replaced, _ in self.env._env.symbols:
            if name.startswith("u") and replaced is not None and replaced.constant is not None:
                recorder.assert_number(name, replaced.constant)

    def assert_conditions(self, module):
        """Writes the other conditions on numbers that only the data tells into a graph, behind the nodes that give these."""
        for expr, _ in self.env._env.deferred:
            tree = expr.tree()
            if isinstance(tree, tuple):
                module.graph._graph_namespace.create_name(tree[0], None)  # the name of the node that asked, in PyTorch's graphs
        insert_deferred_runtime_asserts(module, self.env, "export")
        self._name_sizes(module.graph)

    @staticmethod
    def _name_sizes(graph):
        """Gives the nodes that ask inputs for sizes the order and names that they have in PyTorch's graphs."""
        ask, inputs = torch.ops.aten.sym_size.int, graph.find_nodes(op="placeholder")
        sizes = {}  # expression -> the first place that has it
        for node in inputs:
            value = node.meta.get("val")
            for d, size in enumerate(value.shape if isinstance(value, torch.Tensor) else ()):
                if isinstance(size, torch.SymInt):
                    sizes.setdefault(str(size.node.expr), (node, d))
        order = {place: len(sizes) + i for i, place in enumerate(sizes.values())}
        asked = [n for n in graph.find_nodes(op="call_function", target=ask) if tuple(n.args) in order]
        for node in sorted(asked, key=lambda n: order[tuple(n.args)]):
            inputs[-1].append(node)
            inputs.append(node)
            node._rename(f"sym_size_int_{order[tuple(node.args)]}")

    def check(self):
        """Errors: UserError where the program allows less than the Dims say."""
        wrong, names, concerned = [], {}, set()
        ranges = {name: (low, high) for name, _, low, high, _, _ in self.env._env.symbols}
        for name, (expr, low, high) in self.named.items():
            names[str(expr)] = name
            now = self.env.replace(expr)
            if now.constant is not None:
                wrong.append(f"{name} was to be dynamic, and the program makes it {now.constant}")
                continue
            found = self._relations(name, expr)
            allowed, given = ranges.get(str(now)), self._given(now)
            if allowed is not None and (low, high) != (None, None) and (allowed[0] > max(given[0], 2) or allowed[1] < given[1]):
                says = f"from {low or 0} to {'any size' if high is _NO_BOUND else high}"
                found.append(f"{name} was to be {says}, the program takes it from {allowed[0]} to {allowed[1]}")
            wrong += found
            if found:
                concerned.add(name)
        if wrong:
            fixes = [line for line in suggested_fixes(self.env, names) if line and line.partition(" = ")[0].removeprefix("_") in concerned] + [
                f"{name} = {self.env.replace(e).constant}" for name, (e, _, _) in self.named.items() if self.env.replace(e).constant is not None
            ]
            text = "\n  ".join(dict.fromkeys(fixes))
            raise UserError(UserErrorType.CONSTRAINT_VIOLATION, f"export: {'; '.join(wrong)}.\nSuggested fixes:\n  {text}\n")

    def _given(self, expr):
        """The range that is left of those that were given for all the dimensions which the program makes equal."""
        same = [(low or 0, math.inf if high is None or high is _NO_BOUND else high) for e, low, high in self.bounds if self.env.replace(e) == expr]
        return max((low for low, _ in same), default=0), min((high for _, high in same), default=math.inf)

    def _relations(self, name, expr):
        """How the program relates a Dim to others, or that it must be a multiple: more than the Dim says."""
        if self.deferred or name not in self.dims:
            return []
        now, symbol = self.env.replace(expr), str(expr)
        if now != expr:
            others = [n for n, (e, _) in self.dims.items() if str(e) in now.symbols]
            # A tensor given twice is one to the user.
            is_free = not others or any(self.owners[name] & self.owners[n] for n in others)
            return [] if is_free else [f"{name} and {' and '.join(others)} must always be related"]
        multiple = [guard for guard, _ in self.env._env.guards if guard.symbols == [symbol] and str(guard).startswith("Eq(Mod(")]
        return [f"{name} was to be any size, and the program needs {multiple[0]}".replace(symbol, name)] if multiple else []

    def constraints(self, graph):
        """The range of each symbol that the graph's values have, and of the functions of symbols that dims are."""
        # The capture leaves out the sizes 0 and 1, which a Dim may allow all the same.
        found = constraints_of(self.env, graph, {str(expr): self.named[name][1] or 0 for name, (expr, _) in self.dims.items()})
        functions = [(self.env.replace(expr), low, high) for expr, low, high in self.derived.values()]
        return found | {expr: ValueRanges(low, _open(high)) for expr, low, high in functions if expr.symbols and not expr.is_symbol}

    def guards(self):
        """Conditions that were found while the module ran."""
        return relied_on(self.env)


def constraints_of(env, graph, least=None):
    """The range of each symbol of the environment that the graph's values have. `least`: lower ends of those whose range begins at 2."""
    used = {n for node in graph.nodes for n in symbols_of(node.meta.get("val"))}
    return {
        _symbol(n): ValueRanges((least or {}).get(n, low) if low == 2 else low, _open(high))
        for n, _, low, high, by, _ in env._env.symbols
        if by is None and n in used
    }


def _open(high):
    return math.inf if high >= 2**62 else high


def _symbol(name):
    import _cresset_graph

    return _cresset_graph.symbol(name)


def _as_expr(value):
    return value.node.expr


def symbols_of(value):
    """The names of the symbols in a value: of a tensor, those in its sizes."""
    if isinstance(value, torch.Tensor):
        return {n for s in value.shape if isinstance(s, torch.SymInt) for n in s.node.expr.symbols}
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return set(value.node.expr.symbols)
    if isinstance(value, (list, tuple)):
        return {n for v in value for n in symbols_of(v)}
    return set()


# ---- what the user wrote ----------------------------------------------------------------------------------------------------


def _is_dynamic(spec):
    return isinstance(spec, Dim) or (isinstance(spec, _DimHint) and spec.type != "STATIC")


def _wrong(text):
    return UserError(UserErrorType.INVALID_INPUT, f"dynamic_shapes: {text}")


def _specs(given, shapes):
    """(tensor, spec of each dimension) for every tensor of the arguments."""
    if shapes is None:
        shapes = dict.fromkeys(given)
    if isinstance(shapes, (tuple, list)):
        if len(shapes) != len(given):
            raise _wrong(f"expected one for each of the {len(given)} arguments {list(given)}, got {len(shapes)}")
        shapes = dict(zip(given, shapes, strict=True))
    if not isinstance(shapes, dict):
        raise _wrong(f"expected a dict or a tuple, got {type(shapes).__name__}")
    if set(shapes) != set(given):
        raise _wrong(f"expected the names of the arguments, {list(given)}, got {list(shapes)}")
    found = []
    for name, value in given.items():
        _walk(value, shapes[name], name, found)
    return found


def _walk(value, spec, place, found):
    if isinstance(value, torch.Tensor):
        found.append((value, _of_tensor(value, spec, place)))
        return
    parts = pytree._parts(value)
    if type(value) is int and isinstance(spec, (Dim, _DimHint)):
        found.append((value, [spec] if _is_dynamic(spec) else []))
        return
    if parts is None:
        if spec is not None and not isinstance(spec, _DimHint):
            raise _wrong(f"{place} is no tensor, expected None for it, got {spec!r}")
        return
    _, keys, children = parts
    if spec is None:
        inner = [None] * len(children)
    elif isinstance(value, dict):
        if not isinstance(spec, dict) or set(spec) != set(keys):
            raise _wrong(f"{place}: expected a dict of {list(keys)}, got {spec!r}")
        inner = [spec[key] for key in keys]
    else:
        alike = pytree._parts(spec) if type(spec) is type(value) else None
        inner = alike[2] if alike is not None else [spec[k] for k in sorted(spec)] if isinstance(spec, dict) else spec
        if not isinstance(inner, (tuple, list)) or len(inner) != len(children):
            raise _wrong(f"{place}: expected one for each of the {len(children)} parts, got {spec!r}")
    for i, (child, part) in enumerate(zip(children, inner, strict=True)):
        _walk(child, part, f"{place}[{i}]", found)


def _of_tensor(tensor, spec, place):
    if spec is None:
        return [None] * tensor.dim()
    if isinstance(spec, dict):
        if any(not isinstance(d, int) or not -tensor.dim() <= d < tensor.dim() for d in spec):
            raise IndexError(f"dynamic_shapes: {place}: expected dimensions of a tensor of {tensor.dim()}, got {list(spec)}")
        sizes = {d % tensor.dim(): s for d, s in spec.items()}
        listed = [sizes.get(d) for d in range(tensor.dim())]
    elif isinstance(spec, (tuple, list)):
        if len(spec) != tensor.dim():
            raise _wrong(f"{place}: expected one for each of the {tensor.dim()} dimensions, got {len(spec)}")
        listed = list(spec)
    else:
        raise _wrong(f"{place}: expected a dict from dimensions, a tuple or None, got {spec!r}")
    for d, s in enumerate(listed):
        if not (s is None or isinstance(s, (Dim, _DimHint)) or type(s) is int):
            raise _wrong(f"{place}: dimension {d}: expected a Dim, an int or None, got {s!r}")
        if type(s) is int and s != tensor.shape[d]:
            raise _wrong(f"{place}: dimension {d} is {tensor.shape[d]} in the example, got {s}")
    return listed


def _aligned(specs, leaves):
    """The specs in the order of the leaves: arguments by name may come in another."""
    rest = list(specs)
    out = []
    for leaf in leaves:
        at = next((i for i, (given, _) in enumerate(rest) if given is leaf and type(given) is type(leaf)), None)
        out.append(rest.pop(at)[1] if at is not None else [])
    return out


# ---- checks when the program runs -------------------------------------------------------------------------------------------


def _size_of(argument, dim):
    if dim is not None:
        return argument.shape[dim]
    if type(argument) is not int and not isinstance(argument, torch.SymInt):
        raise AssertionError(f"Guard failed: expected an integer, got a {type(argument).__name__}")
    return argument


def _place(name, dim):
    return name if dim is None else f"{name}.size()[{dim}]"


class SymbolCheck:
    """Binds the symbols to the sizes of arguments and checks the rest. `sizes`: (name, index of the argument, dimension, expression); the dimension is None
    for an argument that is an integer."""

    def __init__(self, sizes, ranges, guards):
        self.sizes, self.ranges, self.guards = sizes, {str(s): r for s, r in ranges.items()}, guards

    def __call__(self, args):
        bound = {}
        for _, index, dim, expr in self.sizes:
            if expr.is_symbol:
                bound.setdefault(str(expr), _size_of(args[index], dim))
        for name, index, dim, expr in self.sizes:
            self._solve(_place(name, dim), expr, _size_of(args[index], dim), bound)
        for name, index, dim, expr in self.sizes:
            expected, found = expr.evaluate(bound), _size_of(args[index], dim)
            if expected is not None and expected != found:
                raise AssertionError(f"Guard failed: {_place(name, dim)} == {expr}, expected {expected}, got {found}")
            allowed = self.ranges.get(str(expr))
            if allowed is not None and not (allowed.lower <= max(found, 2) and found <= allowed.upper):
                raise AssertionError(f"Guard failed: {allowed.lower} <= {_place(name, dim)} <= {allowed.upper}, got {found}")
        for guard in self.guards:
            if guard.evaluate(bound) is False:
                raise AssertionError(f"Guard failed: {guard}, with {bound}")

    def _solve(self, place, expr, found, bound):
        """Binds the symbol of a size a*s + b that no other size gives."""
        unknown = [s for s in expr.symbols if s not in bound]
        if len(unknown) != 1:
            return
        b, one, two = (expr.evaluate({**bound, unknown[0]: n}) for n in range(3))
        if None in (b, one, two) or two - one != one - b or one == b:
            return
        value, rest = divmod(found - b, one - b)
        allowed = self.ranges.get(unknown[0])
        if rest or value < 0 or (allowed is not None and not (allowed.lower <= max(value, 2) and value <= allowed.upper)):
            limits = "" if allowed is None else f" from {allowed.lower} to {allowed.upper}"
            raise AssertionError(f"Guard failed: {place} == {expr}, for a whole {unknown[0]}{limits}, got {found}")
        bound[unknown[0]] = value


# ---- programs that are loaded -----------------------------------------------------------------------------------------------


def ranges_from(place):
    """The ranges of the symbols of a file. Those of functions of symbols, such as "s0 + 1", follow from them."""
    if place is None:
        return {}
    found = {}
    for name, r in place.fields().items():
        if not name.isidentifier():
            continue
        low, high = (r.of(dict).get(key) for key in ("min_val", "max_val"))
        if any(isinstance(bound, int) and abs(bound) >= 2**63 for bound in (low, high)):
            r.fail(f"expected bounds of 64 bits, got {low} and {high}")
        try:
            found[_symbol(name)] = ValueRanges(low if isinstance(low, int) else -math.inf, high if isinstance(high, int) else math.inf)
        except ValueError as error:
            r.fail(error)
    return found
