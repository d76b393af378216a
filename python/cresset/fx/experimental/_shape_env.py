"""`ShapeEnv`: the symbols of one program, and the guards under which a trace of it holds. Its knowledge and conclusions are C++ (`_cresset_graph`)."""

import contextlib
import hashlib
import linecache
import os
import re
import sys
import weakref
from dataclasses import dataclass
from typing import NamedTuple

import _cresset
import _cresset_graph
import cresset
from cresset import SymBool, SymFloat, SymInt

from ._dims import DimDynamic, StatelessSymbolicContext, StrictMinMaxConstraint, source_name
from ._guards import ConstraintViolationError, GuardPrinter
from .recording import FakeTensorMeta, ShapeEnvEvent, record_shapeenv_event, shape_env_check_state_equal
from .sym_node import SymNode

_PACKAGE = os.path.dirname(os.path.abspath(cresset.__file__)) + os.sep
_WRAPPERS = {"int": (SymInt, int), "float": (SymFloat, float), "bool": (SymBool, bool)}
_environments = weakref.WeakValueDictionary()


def _number_of(name):
    """The number in the name of the symbol that is made for a source: the same in every program, and PyTorch's."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % 100


class GuardOnDataDependentSymNode(RuntimeError):
    """A condition on a symbol whose number only the data tells, asked as if it were known."""

    def __init__(self, cond, *args):
        super().__init__(cond, *args) if args else super().__init__(cond)
        self.cond = cond


class RestartTrace(BaseException):
    """The environment has learnt something (two symbols are one) that what was traced so far does not know: the tracer runs its function again."""


class SLoc(NamedTuple):
    """Where a guard came from.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> print(shapes.SLoc(None, "train.py:7"))
    train.py:7
    """

    framework_loc: str | None
    maybe_user_loc: str | None

    def __str__(self):
        return str(self.maybe_user_loc or self.framework_loc or "")


class ShapeGuard(NamedTuple):
    """A condition that holds in the example and that the trace relies on.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> mode = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=shapes.ShapeEnv())
    >>> x = mode.from_tensor(torch.ones(4, 3), static_shapes=False)
    >>> if x.shape[0] > 3:
    ...     y = x + 1
    >>> print(mode.shape_env.guards[0].expr)
    s26 > 3
    """

    expr: object
    sloc: SLoc
    size_oblivious: bool = False


class RuntimeAssert(NamedTuple):
    """A condition on unbacked symbols, to be asserted where the program runs.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> shapes.RuntimeAssert("u0 >= 2", "too few", None).msg
    'too few'
    """

    expr: object
    msg: str
    stack: object


@dataclass(frozen=True)
class ShapeEnvSettings:
    """The options of a `ShapeEnv`.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> shapes.ShapeEnvSettings(duck_shape=False).duck_shape
    False
    """

    allow_scalar_outputs: bool = True
    allow_dynamic_output_shape_ops: bool = True
    assume_static_by_default: bool = False
    specialize_zero_one: bool = True
    duck_shape: bool = True
    prefer_deferred_runtime_asserts_over_guards: bool = False
    trace_asserts: bool = False


def _place(quoted):
    """The innermost line outside the package, with its text where it is quoted."""
    frame = sys._getframe(1)
    while frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGE):
        frame = frame.f_back
    if frame is None:
        return ""
    text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip() if quoted else ""
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}" + (f": `{text}`" if text else "")


class ShapeEnv:
    """Symbols, their numbers in the example (hints), what is known of them, and guards.

    `duck_shape`: equal sizes get one symbol. `specialize_zero_one`: sizes 0 and 1 are numbers, never symbols. `allow_scalar_outputs` and
    `allow_dynamic_output_shape_ops`: `item()` and operators like `nonzero` give symbols without a hint (u0, u1, ...) instead of an error.

    How tracers use it. Sizes of fake tensors are stored as plain integers that stand for expressions (docs/records/0018-symbolic-shapes.md): `lift(value)`
    gives back the number or SymInt that an integer, float, list or tuple of an operator's arguments stands for. `SymInt.node.expr.tree()` takes an
    expression apart. Where the environment learns that what was traced is void it raises `RestartTrace`; fake inputs are then up to date already,
    and the tracer runs its function again.

    >>> shapes = torch.fx.experimental.symbolic_shapes
    >>> env = shapes.ShapeEnv()
    >>> x = torch._subclasses.fake_tensor.FakeTensorMode(shape_env=env).from_tensor(torch.ones(4, 6))
    >>> torch.cat([x, x]).shape
    torch.Size([2*s26, s49])
    """

    def __init__(self, *, should_record_events=None, tracked_fakes=None, **kwargs):
        try:
            self.settings = ShapeEnvSettings(**kwargs)
        except TypeError as error:
            raise TypeError(f"ShapeEnv: {str(error).partition('() ')[2]}") from None
        s = self.settings
        self._env = _cresset_graph.ShapeEnv(s.allow_scalar_outputs, s.allow_dynamic_output_shape_ops, s.duck_shape, s.specialize_zero_one,
                                            s.prefer_deferred_runtime_asserts_over_guards, _place)  # fmt: skip
        self.tracked_fakes = tracked_fakes
        self.should_record_events, self.is_recording = bool(should_record_events), False
        self.events = [ShapeEnvEvent(ShapeEnv, kwargs={**kwargs, "should_record_events": False})] if should_record_events else []
        self.symbol_to_source, self.source_to_symbol, self._constraints = {}, {}, {}
        self.fake_tensor_cache = {}
        self._of_size = {}  # the symbols that equal sizes get
        self._fresh_unbacked, self._symbols_seen, self._unknown, self.draft = [], 0, 0, None
        _environments[self._env.address] = self

    allow_scalar_outputs = property(lambda self: self.settings.allow_scalar_outputs)
    allow_dynamic_output_shape_ops = property(lambda self: self.settings.allow_dynamic_output_shape_ops)
    assume_static_by_default = property(lambda self: self.settings.assume_static_by_default)
    specialize_zero_one = property(lambda self: self.settings.specialize_zero_one)
    duck_shape = property(lambda self: self.settings.duck_shape)
    prefer_deferred_runtime_asserts_over_guards = property(lambda self: self.settings.prefer_deferred_runtime_asserts_over_guards)
    frozen = property(lambda self: self._env.frozen)

    def __deepcopy__(self, memo):
        return self

    # ---- events

    @contextlib.contextmanager
    def _recorded(self, event):
        """Calls in its scope are part of `event`, which is taken back where one fails."""
        self.events.append(event)
        self.is_recording = True
        try:
            yield
        except BaseException:
            self.events.remove(event)
            raise
        finally:
            self.is_recording = False

    def _state(self):
        """The knowledge and the conditions, by name."""
        names = (
            "guards",
            "replacements",
            "backed_var_to_val",
            "var_to_range",
            "deferred_runtime_asserts",
            "num_deferred_runtime_asserts",
            "var_to_sources",
            "settings",
            "frozen",
        )
        return {name: getattr(self, name) for name in names}

    def check_equal(self, other):
        """recording.NotEqualError where another environment knows anything else.

        >>> env = torch.fx.experimental.symbolic_shapes.ShapeEnv()
        >>> env.check_equal(torch.fx.experimental.symbolic_shapes.ShapeEnv())
        """

        def compared(name, value):
            if name == "guards":
                return [str(guard.expr) for guard in value]
            if name == "deferred_runtime_asserts":
                return {str(symbol): [str(check.expr) for check in checks] for symbol, checks in value.items()}
            return {str(key): str(item) for key, item in value.items()} if isinstance(value, dict) else value

        shape_env_check_state_equal(self, other, (), compared)

    # ---- numbers

    def wrap(self, expr):
        """An expression as a number: int, float or bool where it is one, else SymInt, SymFloat or SymBool."""
        number = expr.constant
        if number is not None:
            return number
        symbolic, plain = _WRAPPERS[expr.kind]
        return symbolic(SymNode(expr, self, plain))

    def lift(self, value):
        """The meaning of an int or float met in a trace: itself, a SymInt or a SymFloat; lists and tuples element by element, anything else as it is."""
        kind = type(value)
        if kind is int:
            return value if -200 < value < 200 else self._lifted(value)
        if kind is float:
            return self._lifted(value)
        if kind in (list, tuple, cresset.Size):
            return kind(self.lift(v) for v in value)
        return value

    def _lifted(self, value):
        if kind_is_wide(value):
            return value
        found = self._env.lift(value)
        return found if type(found) in (int, float) else self.wrap(found)

    def create_symintnode(self, sym, *, hint=None, source=None):
        """An integer expression as a number."""
        return self.wrap(_as_expr(sym))

    create_symfloatnode = create_symintnode

    def create_symboolnode(self, sym):
        """A condition as a truth value."""
        return self.wrap(_as_expr(sym))

    @record_shapeenv_event()
    def create_symbol(self, val, source, dynamic_dim=DimDynamic.DUCK, constraint_dim=None, positive=True, do_not_specialize_zero_one=False,
                      symbolic_context=None, excluded_value=None):  # fmt: skip
        """The symbol for a size that is `val` in the example, as an expression; a number for static ones, and for 0 and 1."""
        return self._create(val, source_name(source), dynamic_dim, constraint_dim, positive, do_not_specialize_zero_one)

    def _create(self, val, name, dynamic_dim=DimDynamic.DUCK, constraint=None, positive=True, keep_zero_one=False, symbol=""):
        val = int(val)
        if dynamic_dim is DimDynamic.STATIC:
            self._env.note_constant(val)
            return _cresset_graph.number(val)
        if dynamic_dim is DimDynamic.UNBACKED:
            return self._env.create_unbacked("size" if positive else "int")
        lower = (0 if keep_zero_one or not self.specialize_zero_one else 2) if positive else None
        is_shared = not symbol and self.duck_shape and dynamic_dim is not DimDynamic.DYNAMIC
        made = self._of_size.get(val) if is_shared else None
        if made is None:
            made = self._env.create_symbol(val, name, False, keep_zero_one, lower, None, symbol or self._free_name(name))
        if isinstance(made, int):
            return _cresset_graph.number(made)
        if is_shared:
            self._of_size.setdefault(val, made)
        text = str(made)
        self.symbol_to_source.setdefault(text, []).append(name)
        self.source_to_symbol[name] = made
        if isinstance(constraint, StrictMinMaxConstraint):
            self._env.constrain(text, *constraint.bounds())
        if constraint is not None:
            self._constraints[text] = constraint
        return made

    def _free_name(self, source):
        number = _number_of(source)
        while f"s{number}" in self.symbol_to_source:
            number += 1
        return f"s{number}"

    @record_shapeenv_event()
    def create_unspecified_symbol(self, val, source, dynamic_dim=DimDynamic.DUCK, constraint_dim=None, symbolic_context=None):
        """The symbol of an integer that is no size: it may be negative, 0 or 1."""
        return self._create(val, source_name(source), dynamic_dim, constraint_dim, positive=None, keep_zero_one=True)

    def create_unspecified_symint_and_symbol(self, value, source, dynamic_dim=DimDynamic.DUCK):
        """The same as a SymInt."""
        return self.wrap(self.create_unspecified_symbol(value, source, dynamic_dim))

    def _unbacked(self, kind):
        expr = self._env.create_unbacked(kind)
        if self.draft is not None:
            self.draft.note(expr)
        return self.wrap(expr)

    @record_shapeenv_event(name="evaluate_expr")
    def _asked(self, expr):
        """The condition or number of the example; in a draft of an export that of a real run, where only the data tells."""
        ask = self._env.evaluate if expr.kind == "bool" else self._env.specialize
        try:
            return ask(expr)
        except GuardOnDataDependentSymNode as error:
            if self.draft is None:
                raise
            return self.draft.assume(self, expr, error)

    @record_shapeenv_event()
    def create_unbacked_symint(self, source=None):
        """A SymInt whose number only the data tells."""
        return self._unbacked("int")

    @record_shapeenv_event()
    def create_unbacked_symfloat(self):
        """A SymFloat whose number only the data tells."""
        return self._unbacked("float")

    @record_shapeenv_event()
    def create_unbacked_symbool(self):
        """A SymBool that only the data tells."""
        return self._unbacked("bool")

    def is_unbacked_symint(self, symbol):
        """Whether a symbol has no number in the example."""
        return str(symbol).startswith(("u", "zuf"))

    # ---- tensors

    def create_symbolic_sizes_strides_storage_offset(self, ex, source, *, symbolic_context=None):
        """Sizes, strides and storage offset of a fake tensor for `ex`, numbers and SymInts."""
        return self._geometry_of(ex, source_name(source), symbolic_context)

    def _geometry_of(self, ex, name, context):
        if context is None:
            marked = getattr(ex, "_dynamo_dynamic_indices", ())
            static = self.assume_static_by_default
            context = StatelessSymbolicContext([
                DimDynamic.DYNAMIC if d in marked else DimDynamic.STATIC if static else DimDynamic.DUCK for d in range(ex.dim())])  # fmt: skip
        return self._geometry(FakeTensorMeta.from_fake(ex), name, context)

    @record_shapeenv_event(name="create_symbolic_sizes_strides_storage_offset")
    def _geometry(self, ex, name, context):
        kinds, constraints = context.dynamic_sizes, context.constraint_sizes
        self._env.expect_rank(sum(k is not DimDynamic.STATIC for k in kinds))
        remembered = context.remembered(self) if hasattr(context, "remembered") else {}
        sizes = []
        for d, size in enumerate(ex.shape):
            place = f"{name}.size()[{d}]"
            if place not in remembered:
                remembered[place] = self._create(size, place, kinds[d], constraints[d])
            sizes.append(self.wrap(remembered[place]))
        # A stride that is the extent of dimensions further in is their product; others have symbols of their own.
        strides, products = [None] * ex.dim(), {1: 1}
        for d in sorted(range(ex.dim()), key=lambda d: (ex.stride(d), -d)):
            step = ex.stride(d)
            if step not in products and step not in (0, 1) and not all(isinstance(s, int) for s in sizes):
                products[step] = self.wrap(self._create(step, f"{name}.stride()[{d}]"))
            strides[d] = products.get(step, step)
            products[step * ex.shape[d]] = strides[d] * sizes[d]
        offset = ex.storage_offset()
        if offset not in (0, 1) and not all(isinstance(s, int) for s in sizes):
            offset = self.wrap(self._create(offset, f"{name}.storage_offset()"))
        return tuple(sizes), tuple(strides), offset

    def make_symbolic(self, fake, tensor, source, context):
        """Gives a fake tensor just made for `tensor` its symbolic sizes."""
        if source is None:
            name, self._unknown = f"__meta_utils_unknown_tensor{self._unknown}", self._unknown + 1
        else:
            name = source_name(source)
        sizes, strides, offset = self._geometry_of(tensor, name, context)
        numbers = [[number(v) for v in part] for part in (sizes, strides, [offset])]
        # The first numbers may have moved while the last were made.
        _cresset._fake_set_geometry(fake, [number(v) for v in sizes], [number(v) for v in strides], numbers[2][0])

    # ---- knowledge

    def replace(self, expr):
        """The expression with what is known put in."""
        return self._env.simplify(_as_expr(expr))

    simplify = replace

    @record_shapeenv_event()
    def evaluate_expr(self, orig_expr, hint=None, fx_node=None, size_oblivious=False, fallback_value=None, *, forcing_spec=False):
        """The number of the example, which becomes a guard; `fallback_value` where only the data tells."""
        expr = self.replace(orig_expr)
        if fallback_value is not None and self._env.hint(expr) is None:
            known = self._env.statically(expr) if expr.kind == "bool" else None
            return fallback_value if known is None else known
        return self._env.evaluate(expr) if expr.kind == "bool" else self._env.specialize(expr)

    def evaluate_sym_node(self, sym_node, size_oblivious=False, fallback_value=None):
        """The same for a node."""
        return self.evaluate_expr(sym_node._expr, fallback_value=fallback_value)

    @record_shapeenv_event()
    def guard_or_defer_runtime_assert(self, orig_expr, msg, fx_node=None):
        """The condition holds from now on: a guard, or an assertion for run time. RuntimeError where it is false."""
        self._env.expect(_as_expr(orig_expr), msg)
        return True

    def size_hint(self, expr, *, allow_none=False):
        """The number in the example. RuntimeError where only the data tells and None is not allowed."""
        found = self._env.hint(_as_expr(expr))
        if found is None and not allow_none:
            raise GuardOnDataDependentSymNode(f"no number is known for {expr}: only the data tells")
        return found

    guarding_hint_or_throw = size_hint

    def optimization_hint(self, expr, fallback=None):
        """The number in the example, else `fallback`."""
        found = self._env.hint(_as_expr(expr))
        return fallback if found is None else found

    def has_guarding_hint(self, expr):
        """Whether the example has a number for it."""
        return self._env.hint(_as_expr(expr)) is not None

    @record_shapeenv_event()
    def constrain_symbol_range(self, s, compiler_min, compiler_max):
        """Narrows the range of a symbol."""
        self._env.constrain(str(s), compiler_min, compiler_max)

    def bound_sympy(self, expr, size_oblivious=False):
        """The range of an integer expression."""
        from .symbolic_shapes import ValueRanges

        return ValueRanges(*self._env.range(_as_expr(expr)))

    def _maybe_evaluate_static(self, expr, **options):
        known = self._env.statically(_as_expr(expr))
        return None if known is None else _cresset_graph.number(known)

    # ---- guards

    @property
    def guards(self):
        """Conditions of the example that the trace relies on."""
        return [ShapeGuard(expr, SLoc(place, place or None)) for expr, place in self._env.guards]

    @property
    def deferred_runtime_asserts(self):
        """Conditions on unbacked symbols, by the last of these."""
        out = {}
        for expr, place in self._env.deferred:
            names = [n for n in expr.symbols if n.startswith(("u", "z"))] or expr.symbols
            out.setdefault(_cresset_graph.symbol(names[-1]), []).append(RuntimeAssert(expr, f"expected {expr}", place))
        return out

    @property
    def num_deferred_runtime_asserts(self):
        """How many conditions are left for run time."""
        return len(self._env.deferred)

    @property
    def replacements(self):
        """The expressions that symbols are found to be equal to."""
        return {_cresset_graph.symbol(name): by for name, _, _, _, by, _ in self._env.symbols if by is not None}

    @property
    def backed_var_to_val(self):
        """The hints."""
        return {_cresset_graph.symbol(name): hint for name, hint, *_ in self._env.symbols if hint is not None}

    var_to_val = backed_var_to_val

    @property
    def var_to_range(self):
        """The ranges."""
        from .symbolic_shapes import ValueRanges

        return {_cresset_graph.symbol(name): ValueRanges(low, high) for name, _, low, high, _, _ in self._env.symbols}

    @property
    def var_to_sources(self):
        """Where symbols were first seen, by name."""
        return {_cresset_graph.symbol(name): sources for name, sources in self.symbol_to_source.items()}

    def format_guards(self, verbose=False):
        """The guards as text, one a line; with their places if `verbose`."""
        return "\n".join(f" - {g.expr}{f' ({g.sloc})' if verbose else ''}" for g in self.guards)

    def get_pruned_guards(self, symints):
        """The guards over symbols of these numbers alone."""
        names = {s for n in symints if isinstance(n, (SymInt, SymFloat, SymBool)) for s in n.node.expr.symbols}
        return [g for g in self.guards if set(g.expr.symbols) <= names]

    def get_nontrivial_guards(self):
        """The conditions of guards that what is known does not imply."""
        return [g.expr for g in self.guards]

    def produce_guards_verbose(self, placeholders, sources, *, constraint_inputs=None, input_contexts=None, ignore_static=True, **options):
        """The conditions on the inputs, as Python text over their sources, and why each is there. ConstraintViolationError where a dimension that must
        be dynamic is found to be a number."""
        printer = GuardPrinter(self, placeholders, [source_name(s) for s in sources], ignore_static)
        self._check_constraints(printer)
        return printer.conditions()

    def produce_guards(self, placeholders, sources, **options):
        """The conditions on the inputs, as Python text over their sources."""
        return self.produce_guards_verbose(placeholders, sources, **options)

    def produce_guards_expression(self, placeholders, *, guards=None, ignore_static=True):
        """One Python expression over L['t0'], L['t1'], ... for `evaluate_guards_expression`; None where nothing is to be checked."""
        printer = GuardPrinter(self, placeholders, [f"L['t{i}']" for i in range(len(placeholders))], ignore_static)
        return " and ".join(printer.conditions()) or None

    def evaluate_guards_expression(self, code, args):
        """Whether other inputs meet the conditions."""
        return GuardPrinter.evaluate(code, args)

    def evaluate_guards_for_args(self, placeholders, args, *, ignore_static=True):
        """Whether other inputs meet the conditions of these placeholders."""
        code = self.produce_guards_expression(placeholders, ignore_static=ignore_static)
        return code is None or self.evaluate_guards_expression(code, args)

    def bind_symbols(self, placeholders, args):
        """The number of each symbol in `args`, inputs like the placeholders."""
        return GuardPrinter.bindings(placeholders, args)

    def _check_constraints(self, printer):
        wrong = []
        for name, constraint in self._constraints.items():
            number = self.replace(_cresset_graph.symbol(name)).constant
            if number is not None and not constraint.warn_only:
                wrong.append(f"{self.symbol_to_source[name][0]} was to be dynamic, and the program makes it {number}")
        if wrong:
            raise ConstraintViolationError("Constraints violated: " + "; ".join(wrong))

    # ---- states

    @record_shapeenv_event()
    def freeze(self):
        """No guards from now on: answers are those of the example."""
        self._env.frozen = True

    def freeze_runtime_asserts(self):
        """Assertions for run time stay as they are."""

    @contextlib.contextmanager
    def suppress_guards(self):
        """In its scope answers are those of the example, and are not recorded."""
        before, self._env.suppressed = self._env.suppressed, True
        try:
            yield
        finally:
            self._env.suppressed = before

    @contextlib.contextmanager
    def ignore_fresh_unbacked_symbols(self):
        """Unbacked symbols made in its scope are bound by no node."""
        kept = list(self.pending_fresh_unbacked_symbols)
        try:
            yield
        finally:
            self.pending_fresh_unbacked_symbols[:] = kept

    @contextlib.contextmanager
    def error_on_new_guards(self):
        """RuntimeError at the end of the scope where it has recorded guards."""
        before = len(self._env.guards)
        yield
        if len(self._env.guards) > before:
            raise RuntimeError(f"a guard was recorded where none may be: {self._env.guards[before][0]}")

    @property
    def pending_fresh_unbacked_symbols(self):
        """Unbacked symbols that no node has been bound to."""
        if self._env.symbol_count == self._symbols_seen:
            return self._fresh_unbacked
        made = self._env.symbols[self._symbols_seen :]
        self._symbols_seen += len(made)
        self._fresh_unbacked += [
            _cresset_graph.symbol(name, "float" if name.startswith("zuf") else "int") for name, *_ in made if self.is_unbacked_symint(name)
        ]
        return self._fresh_unbacked


def kind_is_wide(value):
    """Whether an int is beyond 64 bits, where no symbol is."""
    return type(value) is int and not -(2**63) <= value < 2**63


def _as_expr(value):
    return value.node.expr if isinstance(value, (SymInt, SymFloat, SymBool)) else _cresset_graph.number(value) if isinstance(value, (int, float)) else value


def fixed_by(env, error):
    """Makes a number of the last size that an error names by its value at the point, where sizes have no meaning to a rule that checks them; whether one was."""
    for value in reversed(re.findall(r"\d+", str(error))):
        size = env.lift(int(value))
        if isinstance(size, SymInt):
            with contextlib.suppress(RestartTrace):
                size.node.guard_int("", 0)
            return True
    return False


def number(value):
    """The int or float that stands for a number in the sizes of fake tensors."""
    if isinstance(value, (int, float)):
        return value
    if value.node.is_nested_int():
        return value.node.int_()
    env = value.node.shape_env
    return env._asked(value.node._expr) if isinstance(value, SymBool) else env._env.value(value.node._expr)


def _specialized(value):
    return value.node.int_() if value.node.is_nested_int() else value.node.shape_env._asked(value.node._expr)


def _lift(address, value):
    env = _environments.get(address)
    return value if env is None else env._lifted(value)


def _item(address, dtype):
    env = _environments[address]
    if not env.allow_scalar_outputs or _cresset_graph.script_functions_running():  # TorchScript computes with numbers, not with symbols
        from cresset._subclasses.fake_tensor import DataDependentOutputException

        raise DataDependentOutputException("aten._local_scalar_dense.default")
    make = env.create_unbacked_symbool if dtype is cresset.bool else env.create_unbacked_symfloat if dtype.is_floating_point else env.create_unbacked_symint
    return make()


_cresset._set_symbols(SymInt, SymFloat, SymBool, number, _specialized, _lift, _item, GuardOnDataDependentSymNode, RestartTrace)
_cresset_graph._set_data_dependent_error(GuardOnDataDependentSymNode)
