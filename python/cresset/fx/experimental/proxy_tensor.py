"""`make_fx`: runs a function and writes down the operators that it is made of, gradients included, as a graph.

>>> graph = torch.fx.experimental.proxy_tensor.make_fx(lambda x: x.sin().sum())(torch.ones(2))
>>> [str(node.target) for node in graph.graph.nodes]
['x_1', 'aten.sin.default', 'aten.sum.default', 'output']
"""

import contextlib
import functools
import inspect
import sys

import _cresset

import cresset as torch

from ..._core.operators import OpOverload
from ..._modes import stack as _stack
from ...utils._python_dispatch import TorchDispatchMode
from ...utils._pytree import tree_flatten, tree_map, tree_unflatten
from .._compatibility import compatibility
from .._symbolic_trace import PH
from ..graph_module import GraphModule
from ..interpreter import Interpreter
from ..proxy import Proxy
from . import _proxy_symbols, _proxy_tracer
from ._proxy_tracer import CONSTANT_NUMEL_LIMIT, PythonKeyTracer, Slot as _ProxyTensor, is_sym

__all__ = ["PythonKeyTracer", "dispatch_trace", "get_innermost_proxy_mode", "get_proxy_mode", "handle_sym_dispatch", "make_fx", "maybe_disable_thunkify",
           "maybe_enable_thunkify", "py_sym_types", "thunkify", "Thunk", "get_isolated_graphmodule", "disable_proxy_modes_tracing", "ProxyTorchDispatchMode"]  # fmt: skip

_Tensor = torch.Tensor
aten = torch.ops.aten
_no_default = object()
_ITEM = aten._local_scalar_dense.default


# ---- the mode -------------------------------------------------------------------------------------------------------------


class ProxyTorchDispatchMode(TorchDispatchMode):
    """The mode that turns operators into nodes of a tracer's graph.

    Args:
        tracer: a PythonKeyTracer.
        tracing_mode: "real", "fake" or "symbolic".
        pre_dispatch: hear composites whole, above autograd.

    >>> tracing = torch.fx.experimental.proxy_tensor
    >>> tracer = tracing.PythonKeyTracer()
    >>> with tracing.ProxyTorchDispatchMode(tracer):
    ...     _ = torch.ones(2).sin()
    >>> [node.name for node in tracer.graph.nodes]
    ['ones', 'sin']
    """

    _traces = True

    def __init__(self, tracer, tracing_mode="real", pre_dispatch=False, _allow_fake_constant=False, _error_on_data_dependent_ops=True):
        super().__init__()
        self.tracer, self.tracing_mode, self.pre_dispatch = tracer, tracing_mode, pre_dispatch
        self._allow_fake_constant, self._error_on_data_dependent_ops = _allow_fake_constant, _error_on_data_dependent_ops
        self.enable_tracing, self.decomposition_table = True, {}

    @classmethod
    def is_infra_mode(cls):
        """Always: it is part of tracing."""
        return True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if any(kind is not torch._subclasses.FakeTensor for kind in types):
            return NotImplemented  # classes come first: the graph is of what they call
        return proxy_call(self, func, self.pre_dispatch, args, kwargs or {})

    def seen(self, tensor):
        """The fake tensor of a real one, or a parameter itself, known as a constant of the graph: transforms keep it without an operator that would tell."""
        fakes, tracer = torch._subclasses.fake_tensor, self.tracer
        if tensor._is_batched or _cresset.is_functional(tensor) or fakes.is_fake(tensor) or tracer.slot_of(tensor) is not None:
            return tensor
        if self.tracing_mode == "real" and not isinstance(tensor, torch.nn.Parameter):
            return tensor
        known = tensor if self.tracing_mode == "real" else tracer.fake_mode.from_tensor(tensor)
        tracer.track(known, tracer.constant_node(tensor))
        return known

    def whole_transform(self, function, args, kwargs):
        """The result of a transform, in a tuple: above all layers its operators are those of elements and levels, so that they are heard below instead."""
        with _stack.without(lambda mode: mode is self):
            _stack.push(self)
            try:
                return (function(*args, **kwargs),)
            finally:
                _stack.pop(expected=self)


@functools.cache
def _facts(func):
    """Whether the operator changes arguments, writes `self`, draws random numbers, gives a number that depends on data; and the name of its nodes."""
    name = getattr(getattr(func, "overloadpacket", func), "__name__", None)
    if not hasattr(func, "_schema"):
        return False, False, False, False, name
    written = [a for a in getattr(func._schema, "arguments", ()) if getattr(a, "is_write", getattr(a, "mutated", False))]
    inplace = func.__name__.partition(".")[0].endswith("_") and not func.__name__.startswith("__") and bool(written)
    tags = getattr(func, "tags", ())
    return bool(written), inplace, torch.Tag.nondeterministic_seeded in tags, func is _ITEM or torch.Tag.data_dependent_output in tags, name


def _tensors_in(args, kwargs):
    for value in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(value, _Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            for item in value:
                if isinstance(item, _Tensor):
                    yield item


def _known_values(tracer, args, kwargs):
    """The arguments with tensors as their known values; None where one is not known, or there are none."""
    slots = [tracer.slot_of(t) for t in _tensors_in(args, kwargs)]
    if not slots or any(slot is not None and slot.constant is None for slot in slots):
        return None

    def value(t):
        if not isinstance(t, _Tensor):
            return t
        slot = tracer.slot_of(t)
        return t if slot is None else slot.constant

    return tree_map(value, (tuple(args), dict(kwargs)))


def _refuse_data(func):
    raise RuntimeError(
        f"make_fx: got a call of {func}, whose result depends on the values of a tensor that is being traced, as in an `if` on it or by item(): a "
        "graph has no such number. Compute with tensors instead (torch.where chooses between two); tracing_mode='fake' and 'symbolic' keep such numbers as symbols"
    )


def proxy_call(proxy_mode, func, pre_dispatch, args, kwargs):
    """Runs an operator and adds its node; a decomposition of the tables in force takes its place.

    Errors: RuntimeError for a number that depends on the values of tensors that are being traced.
    """
    table = proxy_mode.decomposition_table
    if table and func in table:
        with proxy_mode:
            out = table[func](*args, **kwargs)
        if out is not NotImplemented:
            return out
    tracer = proxy_mode.tracer
    writes, inplace, random, data_dependent, name = _facts(func)
    if data_dependent:
        known = _known_values(tracer, args, kwargs)
        if known is not None:
            with torch._subclasses.fake_tensor.unset_fake_temporarily():
                return func(*known[0], **known[1])
        if proxy_mode.tracing_mode == "real" and proxy_mode._error_on_data_dependent_ops:
            _refuse_data(func)
    if func.__name__ == "lift_fresh.default":
        return _lifted(tracer, args)
    args, kwargs = _proxy_symbols.lifted(tracer, args, kwargs)
    node_args = tracer.create_arg(args)
    node_kwargs = tracer.create_arg(kwargs) if kwargs else {}
    out = func(*args, **kwargs)
    node = tracer.create_node("call_function", func, node_args, node_kwargs, name)
    constant = None
    if writes:
        for t in _tensors_in(args, kwargs):
            slot = tracer.slot_of(t)
            if slot is not None and slot.constant is not None:
                slot.constant = None
        if inplace and isinstance(args[0], _Tensor) and out is not args[0]:
            tracer.track(args[0], node)
    elif not random and isinstance(out, _Tensor) and _proxy_symbols.is_at_most(out.numel(), CONSTANT_NUMEL_LIMIT):
        known = _known_values(tracer, args, kwargs)
        if known is not None:
            with torch._subclasses.fake_tensor.unset_fake_temporarily():
                constant = func(*known[0], **known[1])
    tracer.record_outputs(node, out, constant)
    return out


def _lifted(tracer, args):
    """A tensor that was just made of numbers: a constant of the graph, copied at each run."""
    source = args[0]
    out = source
    constant = source if source.numel() <= CONSTANT_NUMEL_LIMIT and not torch._subclasses.fake_tensor.is_fake(source) else None
    fake = torch._subclasses.fake_tensor
    numbers = source.tolist() if fake.is_fake(source) and source.numel() <= CONSTANT_NUMEL_LIMIT else None  # a fake tensor knows these of itself
    with fake.unset_fake_temporarily():
        held = source.clone() if numbers is None else torch.tensor(numbers, dtype=source.dtype)
        known = None if constant is None else constant.clone()
    node = tracer.create_node("call_function", aten.lift_fresh_copy.default, (tracer.constant_node(held),), {}, "lift_fresh_copy")
    if not fake.is_fake(out):
        from ..._core.creation import _as_fake

        out = _as_fake(out)
    tracer.record_outputs(node, out, known)
    return out


# ---- modes in force -------------------------------------------------------------------------------------------------------


def get_innermost_proxy_mode():
    """The innermost ProxyTorchDispatchMode below autograd, or None.

    >>> torch.fx.experimental.proxy_tensor.get_innermost_proxy_mode() is None
    True
    """
    return next((mode for mode in reversed(_stack.active()) if isinstance(mode, ProxyTorchDispatchMode)), None)


def get_proxy_mode():
    """The ProxyTorchDispatchMode in force, at either place; None: nothing is traced.

    >>> torch.fx.experimental.proxy_tensor.get_proxy_mode() is None
    True
    """
    above = next((mode for mode in reversed(_stack.active(_stack.ABOVE_LAYERS)) if isinstance(mode, ProxyTorchDispatchMode)), None)
    return above or get_innermost_proxy_mode()


def get_torch_dispatch_modes():
    """The modes below autograd, innermost last."""
    return _stack.active()


@contextlib.contextmanager
def disable_proxy_modes_tracing():
    """In its scope operators run, and are not written down.

    >>> tracing = torch.fx.experimental.proxy_tensor
    >>> def f(x):
    ...     with tracing.disable_proxy_modes_tracing():
    ...         torch.ones(1).sin()
    ...     return x.cos()
    >>> len(tracing.make_fx(f)(torch.ones(1)).graph.nodes)
    3
    """
    with _stack.without(lambda mode: isinstance(mode, ProxyTorchDispatchMode)):
        yield get_proxy_mode()


# ---- slots ----------------------------------------------------------------------------------------------------------------


def has_proxy_slot(obj, tracer):
    """Whether the tracer knows a tensor or a symbolic number."""
    return tracer.slot_of(obj) is not None if isinstance(obj, _Tensor) else is_sym(obj) and obj.node.expr in tracer.symbols


def get_proxy_slot(obj, tracer, default=_no_default, transform=lambda x: x):
    """The tracer's slot of a tensor, with `proxy` and `constant`, or the proxy of a symbolic number; through `transform`.

    Errors: KeyError where there is none and no default.
    """
    if has_proxy_slot(obj, tracer):
        return transform(tracer.slot_of(obj) if isinstance(obj, _Tensor) else Thunk(lambda: Proxy(tracer.symbols[obj.node.expr], tracer)))
    if default is _no_default:
        raise KeyError(f"the tracer does not know this {type(obj).__name__}: it is no result of what was traced")
    return default


def set_proxy_slot(obj, tracer, proxy):
    """Lets a proxy stand for a tensor or a symbolic number."""
    proxy = proxy.proxy if isinstance(proxy, _ProxyTensor) else proxy.force() if isinstance(proxy, Thunk) else proxy
    if isinstance(obj, _Tensor):
        tracer.track(obj, proxy.node)
    else:
        tracer.symbols[obj.node.expr] = proxy.node


def track_tensor(tensor, proxy, *, constant, tracer):
    """Lets a proxy stand for a tensor, whose value is `constant` if that is known."""
    tracer.track(tensor, proxy.node, constant)


def track_tensor_tree(inner_res, proxy_res, *, constant, tracer):
    """Lets a proxy stand for what was computed, in nested containers; its items are nodes of their own. Returns `inner_res`."""
    if inner_res is not None and not isinstance(inner_res, (int, float, str, bool)):
        if isinstance(inner_res, dict):
            for key, value in inner_res.items():
                track_tensor_tree(value, proxy_res[key], constant=None, tracer=tracer)
        else:
            tracer.record_outputs(proxy_res.node, inner_res, constant)
    return inner_res


def fetch_object_proxy(tracer, t):
    """`get_proxy_slot`, with the object itself for one that is not known."""
    return get_proxy_slot(t, tracer, t)


class _SymNodeDict:
    """Values by symbolic number: numbers of one expression are one key.

    >>> env = torch.fx.experimental.symbolic_shapes.ShapeEnv()
    >>> u, known = env.create_unbacked_symint(), torch.fx.experimental.proxy_tensor._SymNodeDict()
    >>> known[u] = "a size"
    >>> known[u], u in known, known.get(u + 1)
    ('a size', True, None)
    """

    def __init__(self):
        self._values = {}

    @staticmethod
    def _key(number):
        if not is_sym(number):
            raise AssertionError(f"_SymNodeDict: expected a symbolic number, got a {type(number).__name__}")
        return number.node.expr

    def __setitem__(self, number, value):
        self._values[self._key(number)] = value

    def __getitem__(self, number):
        return self._values[self._key(number)]

    def __contains__(self, number):
        return self._key(number) in self._values

    def __len__(self):
        return len(self._values)

    def get(self, number, default=None):
        """The value, or `default` where there is none."""
        return self._values.get(self._key(number), default)


def fetch_sym_proxy(tracer):
    """A function that gives the proxy of a symbolic number."""
    return lambda e: Proxy(tracer.symbol_node(e), tracer) if is_sym(e) else e


def is_sym_node(node):
    """Whether a node gives a symbolic number."""
    return "val" in node.meta and is_sym(node.meta["val"])


def set_meta(proxy, val):
    """Notes what a proxy's node gives."""
    _proxy_tracer.set_meta(proxy.node, val, proxy.tracer)
    return proxy


def extract_val(val, include_real=False):
    """The value as `meta["val"]` holds it: a fake tensor, or the value itself."""
    mode = get_proxy_mode()
    return _proxy_tracer.snapshot(val, mode.tracer if mode is not None else PythonKeyTracer())


def snapshot_fake(val, include_real=False):
    """A fake tensor as it is now, without its history."""
    return val.detach()


# ---- thunks ---------------------------------------------------------------------------------------------------------------


class Thunk:
    """A value that is computed when it is first asked for.

    >>> torch.fx.experimental.proxy_tensor.Thunk(lambda: 3).force()
    3
    """

    def __init__(self, f):
        self.f, self.r = f, None

    def force(self):
        """The value."""
        if self.f is not None:
            self.r, self.f = self.f(), None
        return self.r


def thunkify(tracer, f, *args, **kwargs):
    """A Thunk of a call; computed at once, unless the tracer asks for thunks.

    >>> tracing = torch.fx.experimental.proxy_tensor
    >>> tracing.thunkify(tracing.PythonKeyTracer(), max, 1, 2).force()
    2
    """
    thunk = Thunk(functools.partial(f, *args, **kwargs))
    if not tracer.enable_thunkify:
        thunk.force()
    return thunk


@contextlib.contextmanager
def _thunkify(on):
    mode = get_proxy_mode()
    tracer = mode.tracer if mode is not None else PythonKeyTracer()
    before, tracer.enable_thunkify = tracer.enable_thunkify, on
    try:
        yield
    finally:
        tracer.enable_thunkify = before


def maybe_disable_thunkify():
    """In its scope arithmetic on symbolic numbers is written down where it happens.

    >>> with torch.fx.experimental.proxy_tensor.maybe_disable_thunkify():
    ...     pass
    """
    return _thunkify(False)


def maybe_enable_thunkify():
    """In its scope arithmetic on symbolic numbers is written down when it is used.

    >>> with torch.fx.experimental.proxy_tensor.maybe_enable_thunkify():
    ...     pass
    """
    return _thunkify(True)


@contextlib.contextmanager
def decompose(decomposition_table):
    """In its scope the mode in force uses a table {operator: function} besides its own; yields the table."""
    mode = get_proxy_mode()
    if mode is None:
        yield decomposition_table
        return
    before = mode.decomposition_table
    mode.decomposition_table = {**before, **(decomposition_table or {})}
    try:
        yield mode.decomposition_table
    finally:
        mode.decomposition_table = before


def maybe_handle_decomp(proxy_mode, op, args, kwargs):
    """The result of the decomposition in force for a call; NotImplemented where there is none."""
    if op not in proxy_mode.decomposition_table:
        return NotImplemented
    with proxy_mode:
        return proxy_mode.decomposition_table[op](*args, **kwargs)


def __getattr__(name):
    if name == "py_sym_types":
        return tuple(getattr(torch, kind) for kind in ("SymInt", "SymFloat", "SymBool"))
    if name in ("FakeTensor", "FakeTensorMode"):
        return getattr(torch._subclasses.fake_tensor, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def handle_sym_dispatch(func, args, kwargs):
    """Runs a function of symbolic numbers under the mode in force, which writes it down.

    >>> tracing = torch.fx.experimental.proxy_tensor
    >>> def f(x):
    ...     return tracing.handle_sym_dispatch(torch.ops.aten.sin.default, (x,), {})
    >>> [node.name for node in tracing.make_fx(f)(torch.ones(2)).graph.nodes]
    ['x_1', 'sin', 'output']
    """
    mode = get_proxy_mode()
    if mode is None:
        raise AssertionError("handle_sym_dispatch: nothing is traced")
    with disable_proxy_modes_tracing():
        return mode.__torch_dispatch__(func, (), args, kwargs)


# ---- tracing --------------------------------------------------------------------------------------------------------------


def fake_signature(fn, nargs):
    """A function of `nargs` arguments called arg0, arg1, ... that calls `fn`."""
    names = ", ".join(f"arg{i}" for i in range(nargs))
    return eval(f"lambda {names}: fn({names})", {"fn": fn})


@compatibility(is_backward_compatible=False)
def dispatch_trace(root, tracer, concrete_args=None):
    """The module of what `root`, a function of proxies, returns in proxies.

    >>> tracing = torch.fx.experimental.proxy_tensor
    >>> tracer = tracing.PythonKeyTracer()
    >>> def f(x):
    ...     return x * 2
    >>> with tracing.ProxyTorchDispatchMode(tracer):
    ...     traced = tracing.dispatch_trace(tracing.wrap_key(f, (torch.ones(2),), tracer), tracer, (torch.fx.PH,))
    >>> traced(torch.ones(1))
    tensor([2.])
    """
    function, args = tracer.create_args_for_root(root, False, concrete_args)
    result = function(*args)
    returned = None if isinstance(root, torch.nn.Module) else getattr(root, "__annotations__", {}).get("return")
    tracer.create_node("output", "output", (tracer.create_arg(result),), {}, type_expr=returned)
    return GraphModule(tracer.root, tracer.graph, root.__name__ if not isinstance(root, torch.nn.Module) else type(root).__name__)


def wrap_key(f, tensors, tracer, pre_dispatch=False):
    """The function of proxies that runs `f` with the tensors that they stand for."""
    flat, spec = tree_flatten(tensors)

    @functools.wraps(f)
    def wrapped(*proxies):
        flat_proxies, _ = tree_flatten(proxies)
        for value, proxy in zip(flat, flat_proxies):
            if isinstance(proxy, Proxy) and (isinstance(value, _Tensor) or is_sym(value)):
                tracer.record_outputs(proxy.node, value)
        out = f(*tree_unflatten(flat, spec))
        # Outside the modes of tracing: nothing more is to be written down.
        with disable_proxy_modes_tracing():
            return tree_map(lambda t: tracer.unwrap_proxy(t), out)

    return wrapped


_current = None
_MAX_RESTARTS = 8


class _MakefxTracer:
    """One use of `make_fx`: its settings, and the modes that its trace runs in."""

    def __init__(self, decomposition_table, tracing_mode, _allow_non_fake_inputs, pre_dispatch, record_module_stack, _allow_fake_constant,
                 _error_on_data_dependent_ops, record_stack_traces=False, parent_tracer=None, proxy_module_inputs=False,
                 _disable_torch_fn_metadata_mode=False):  # fmt: skip
        if tracing_mode not in ("real", "fake", "symbolic"):
            raise AssertionError(f"make_fx: expected tracing_mode real, fake or symbolic, got {tracing_mode!r}")
        self.decomposition_table = {} if decomposition_table is None else dict(decomposition_table)
        self.tracing_mode, self.allow, self.pre_dispatch = tracing_mode, _allow_non_fake_inputs, pre_dispatch
        self.record_stack_traces, self.record_module_stack = record_stack_traces, record_module_stack
        self.names_functions = not _disable_torch_fn_metadata_mode
        self.error_on_data = _error_on_data_dependent_ops
        self.fake_tensor_mode = None

    def trace(self, f, *args):
        """The GraphModule of a call of `f`."""
        global _current
        before, _current = _current, self
        try:
            return self._trace(f, args)
        finally:
            _current = before

    def _trace(self, f, args):
        fakes = torch._subclasses.fake_tensor
        module = getattr(f, "_orig_mod", None)
        self.root = module if self.record_module_stack and isinstance(module, torch.nn.Module) else None
        tracer = self._new_tracer(None)
        flat, spec = tree_flatten(args)
        mode = None
        if self.tracing_mode != "real":
            mode = next((m for m in map(fakes.maybe_get_fake_mode, flat) if m is not None), None)
            if mode is None:
                from .symbolic_shapes import ShapeEnv

                # Without symbols for sizes there still are some for what the data tells.
                static = self.tracing_mode == "fake"
                mode = fakes.FakeTensorMode(allow_fallback_kernels=True, allow_non_fake_inputs=self.allow, shape_env=ShapeEnv(), static_shapes=static)
            tracer.fake_mode = self.fake_tensor_mode = mode
            flat = [self._fake_input(mode, i, leaf) for i, leaf in enumerate(flat)]
        else:  # numbers of the symbolic shapes that the arguments have are nodes
            tracer.fake_mode = next((m for m in map(fakes.maybe_get_fake_mode, flat) if m is not None), None)
        env = getattr(tracer.fake_mode, "shape_env", None)
        for _ in range(_MAX_RESTARTS):
            known = 0 if env is None else len(env.guards)
            try:
                return self._trace_flat(f, flat, spec, mode, tracer)
            except _restart():  # sizes are found to be equal: the inputs know, what was written down does not
                tracer = self._new_tracer(tracer.fake_mode)
            except RuntimeError as error:
                # Gradients of a size were under way that was found to be a number; or a size has to be one.
                if env is None or (len(env.guards) == known and not _shapes().fixed_by(env, error)):
                    raise
                tracer = self._new_tracer(tracer.fake_mode)
        return self._trace_flat(f, flat, spec, mode, tracer)

    def _new_tracer(self, mode):
        tracer = PythonKeyTracer()
        tracer.record_stack_traces, tracer.fake_mode = self.record_stack_traces, mode
        if self.root is not None:
            from ._module_calls import Place

            tracer.place = Place(self.root, self.names_functions)
        return tracer

    def _trace_flat(self, f, flat, spec, mode, tracer):
        placeholders = tree_unflatten([PH] * len(flat), spec)
        code = getattr(inspect.unwrap(f), "__code__", None)
        function = f
        if code is None or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            function = fake_signature(f, len(placeholders))
        proxy_mode = ProxyTorchDispatchMode(tracer, self.tracing_mode, self.pre_dispatch, _error_on_data_dependent_ops=self.error_on_data)
        proxy_mode.decomposition_table = self.decomposition_table
        with mode or contextlib.nullcontext(), proxy_mode, tracer.place.followed() if tracer.place is not None else contextlib.nullcontext():
            made = dispatch_trace(wrap_key(function, tree_unflatten(flat, spec), tracer, self.pre_dispatch), tracer, tuple(placeholders))
        if mode is not None and mode.shape_env is not None:
            made.shape_env = mode.shape_env
        return made

    def _fake_input(self, mode, i, leaf):
        if isinstance(leaf, _Tensor):
            if self.tracing_mode == "symbolic" and not torch._subclasses.fake_tensor.is_fake(leaf):
                return mode.from_tensor(leaf, static_shapes=False, source=f"input{i}")
            return mode.from_tensor(leaf)
        if self.tracing_mode == "symbolic" and type(leaf) is int:
            return mode.shape_env.create_unspecified_symint_and_symbol(leaf, f"input{i}")
        return leaf


def _shapes():
    """The module of symbolic shapes; None before they are in use."""
    return sys.modules.get("cresset.fx.experimental._shape_env")


def _restart():
    """The exception that asks for a new trace; none before symbolic shapes are in use."""
    return _shapes().RestartTrace if _shapes() else ()


def make_fx(f, decomposition_table=None, tracing_mode="real", _allow_non_fake_inputs=False, *, pre_dispatch=False, record_module_stack=False,
            _allow_fake_constant=False, _error_on_data_dependent_ops=True, record_stack_traces=False, proxy_module_inputs=False,
            _disable_torch_fn_metadata_mode=False):  # fmt: skip
    """A function that runs `f` once on its arguments and returns the `GraphModule` of the operators it called.

    Args:
        f: a function of tensors in nested containers, or a module. Gradients that it computes are part of the graph.
        decomposition_table: {overload of `torch.ops`: function that runs, and is traced, in its place}.
        tracing_mode: "real" computes; "fake" needs no data, "symbolic" keeps the sizes of arguments open.
        _allow_non_fake_inputs: with fake tensors, let real ones that `f` holds be constants of the graph.
        pre_dispatch: write composites down whole, and what autograd is told.
        record_module_stack: where `f` has a module as `_orig_mod`, note in `meta["nn_module_stack"]` of each node which of its parts were running, and in
            `meta["torch_fn"]` the function that was called.
        record_stack_traces: note in each node where in the program it comes from.
        proxy_module_inputs: nothing: weights of modules are attributes of the graph either way, as they are with PyTorch 2.13.
        _disable_torch_fn_metadata_mode: leave `meta["torch_fn"]` out.

    Errors: RuntimeError for a number that depends on the values of traced tensors (`item`, `if` on a tensor), AssertionError for another tracing mode.

    >>> make_fx = torch.fx.experimental.proxy_tensor.make_fx
    >>> print(make_fx(lambda x, y: x @ y)(torch.ones(2, 2), torch.ones(2, 2)).code.strip())
    def forward(self, x_1, y_1):
        mm = torch.ops.aten.mm.default(x_1, y_1);  x_1 = y_1 = None
        return mm
    """
    maker = _MakefxTracer(decomposition_table, tracing_mode, _allow_non_fake_inputs, pre_dispatch, record_module_stack, _allow_fake_constant,
                          _error_on_data_dependent_ops, record_stack_traces=record_stack_traces, proxy_module_inputs=proxy_module_inputs,
                          _disable_torch_fn_metadata_mode=_disable_torch_fn_metadata_mode)  # fmt: skip

    @functools.wraps(f) if hasattr(f, "__name__") else (lambda g: g)
    def wrapped(*args):
        return maker.trace(f, *args)

    return wrapped


def get_isolated_graphmodule(func, args, kwargs, tracing_mode="real", decomposition_table=None):
    """The GraphModule of a call of `func`, traced apart from whatever is being traced now. Its inputs are the leaves of (args, kwargs).

    >>> graph = torch.fx.experimental.proxy_tensor.get_isolated_graphmodule(torch.cos, (torch.ones(2),), {})
    >>> graph([torch.zeros(2)])
    tensor([1., 1.])
    """
    flat, spec = tree_flatten((args, kwargs))

    def of_leaves(leaves):
        args, kwargs = tree_unflatten(leaves, spec)
        return func(*args, **kwargs)

    with disable_proxy_modes_tracing():
        return make_fx(of_leaves, decomposition_table=decomposition_table, tracing_mode=tracing_mode)(flat)


class DecompositionInterpreter(Interpreter):
    """Runs a module and writes its operators, decomposed by a table, into another graph.

    Args:
        module: the GraphModule to run.
        new_graph: the graph that is written.
        decomposition_table: {overload: function}.
    """

    def __init__(self, module, new_graph, decomposition_table=None, **kwargs):
        super().__init__(module, **kwargs)
        self.new_graph, self.decomposition_table = new_graph, decomposition_table or {}
        self.tracer = PythonKeyTracer()
        self.tracer.graph = new_graph
        self.mode = ProxyTorchDispatchMode(self.tracer)
        self.mode.decomposition_table = self.decomposition_table

    def placeholder(self, target, args, kwargs):
        """An argument, which gets a placeholder in the new graph."""
        out = super().placeholder(target, args, kwargs)
        self.tracer.record_outputs(self.new_graph.placeholder(target), out)
        return out

    def get_attr(self, target, args, kwargs):
        """An attribute, which the new graph gets too."""
        out = super().get_attr(target, args, kwargs)
        self.tracer.record_outputs(self.new_graph.get_attr(target), out)
        return out

    def output(self, target, args, kwargs):
        """The result, which becomes the output of the new graph."""
        out = super().output(target, args, kwargs)
        self.new_graph.output(self.tracer.create_arg(out))
        return out

    def run(self, *args, **kwargs):
        """The result of the module, with its operators written down."""
        with self.mode:
            return super().run(*args, **kwargs)
