"""Compiled functions and modules: what `torch.compile` returns.

>>> compiled = torch.compile(nn.ReLU(), backend="eager")
>>> isinstance(compiled, torch._dynamo.OptimizedModule), list(compiled.state_dict())
(True, [])
"""

import contextlib
import functools
import inspect
import types
import weakref

import _cresset_compile

import cresset as torch

from .._compile import is_turned_off
from ..nn.modules import module as _space
from . import _logs, config, exc
from .backends.common import updates_list
from .backends.registry import lookup_backend

__all__ = [
    "Compiler",
    "OptimizedModule",
    "disable",
    "explain",
    "export",
    "innermost_fn",
    "is_dynamo_supported",
    "optimize",
    "optimize_assert",
    "reset",
    "run",
    "set_stance",
]

_compilers = weakref.WeakSet()


class _Stance:
    def __init__(self, stance="default", skip_guard_eval_unsafe=False, force_backend=None):
        self.stance, self.skip_guard_eval_unsafe, self.force_backend = stance, skip_guard_eval_unsafe, force_backend


_chosen = _stance = _Stance()  # by the program, and what holds: config.disable may stand before it
_STANCES = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile", "aot_eager_then_compile")


def settle():
    """Brings about what the program has chosen with `set_stance` and `config.disable`."""
    global _stance
    _stance = _Stance("disabled") if config.disable else _chosen


settle()


class Compiler:
    """One use of `torch.compile`: its settings, and the region that holds what was compiled."""

    def __init__(self, backend="inductor", *, fullgraph=False, dynamic=None, options=None, recompile_limit=None):
        self._backend, self.fullgraph, self.dynamic, self.options, self.recompile_limit = backend, fullgraph, dynamic, dict(options or {}), recompile_limit
        self.guard_filter = self.options.pop("guard_filter_fn", None)
        self.region = _cresset_compile.Region(functools.partial(_miss, weakref.ref(self)))
        self.roots, self.left, self.graphs, self.breaks = set(), set(), [], []
        self.made = []  # (graph, what its backend made of it)
        self.exporting = None  # called with what a capture has found and the value that its frame returns
        self.sizes = {}  # (code, place) -> the sizes of an argument so far, None for those that have differed
        _compilers.add(self)

    def backend(self, module, examples):
        """Compiles a graph."""
        function = lookup_backend(self._backend if _stance.force_backend is None else _stance.force_backend)
        taken = {"options": self.options} if self.options and (self._backend == "inductor" or not isinstance(self._backend, str)) else {}
        return function(module, examples, **taken)

    def all_options(self):
        """The options as they were given."""
        return self.options if self.guard_filter is None else {**self.options, "guard_filter_fn": self.guard_filter}

    def makes_code(self):
        """Whether graphs become code for the sizes of their inputs, rather than run as they are."""
        return self._backend == "inductor" and _stance.force_backend is None

    def gains_nothing(self, graph):
        """Whether a graph holds steps of optimizers and switches of modes alone: each step is one operator on lists in eager mode too, and Python runs both."""
        calls = [node for node in graph.nodes if node.op.startswith("call") and (node.all_input_nodes or node.users)]
        return self.makes_code() and all(map(updates_list, calls))

    def call(self, function, args, kwargs):
        """Calls a function whose frames are compiled."""
        stance = _stance.stance
        if stance == "default":
            return self.region.call(function, args, kwargs)
        if stance == "disabled" and self.fullgraph:
            _cresset_compile.plainly(function, args, kwargs)
            raise RuntimeError("torch.compile: a function of fullgraph=True has run as it is, as torch._dynamo.config.disable says: there is no graph of it")
        if stance in ("force_eager", "disabled"):
            return _cresset_compile.plainly(function, args, kwargs)
        return self.region.call(function, args, kwargs)


def compilers():
    """All that are in use."""
    return list(_compilers)


def _miss(reference, function, code, offset, slots, stack):
    from ._capture import frames, known

    compiler = reference()
    if compiler is None:
        return None
    if _stance.stance == "eager_on_recompile":
        return False
    if _stance.stance == "fail_on_recompile":
        raise RuntimeError(f"torch.compile: {function.__qualname__} would be compiled again, which torch.compiler.set_stance('fail_on_recompile') forbids")
    known.install()
    entry = frames.miss(compiler, function, code, offset, slots, stack)
    if entry not in (None, False, Ellipsis):
        _logs.guards(entry)
    return entry


def is_dynamo_supported():
    """Whether frames of this Python can be captured: CPython 3.11 to 3.13."""
    return _cresset_compile.supported


# ---- functions --------------------------------------------------------------------------------------------------------------


def _is_of_numpy(function):
    """Whether a function is one that `torch.compiler.wrap_numpy` made: it is captured with what it does around the program's."""
    return getattr(function, "__globals__", {}).get("__name__") == "cresset.compiler._numpy_functions"


def _code_of(function):
    found = inspect.unwrap(function, stop=_is_of_numpy) if not isinstance(function, types.MethodType) else function.__func__
    while isinstance(found, functools.partial):
        found = found.func
    return getattr(found, "__code__", None)


def innermost_fn(fn):
    """The function itself behind compiled ones."""
    while hasattr(fn, "_torchdynamo_orig_callable"):
        fn = fn._torchdynamo_orig_callable
    return fn


def _call_other(_function, /, *args, **kwargs):
    return _function(*args, **kwargs)


def _call_module(module, args, kwargs):
    return module(*args, **kwargs)


def compiled(function, compiler):
    """The compiled form of a function, a module or a class."""
    if not _cresset_compile.supported:
        _logs.once(
            "torch.compile: frames of this version of Python are not captured (CPython 3.11 to 3.13 is supported); functions and modules run as they are"
        )
    if isinstance(function, torch.nn.Module):
        return OptimizedModule(function, compiler)
    function = innermost_fn(function)
    if isinstance(function, type):
        return function
    code = _code_of(function)
    if code is None and hasattr(type(function), "__call__"):
        code = getattr(type(function).__call__, "__code__", None)
    compiler.roots.add(_call_other.__code__ if code is None else code)
    if code is None:
        function = functools.partial(_call_other, function)
    call, plain = compiler.region.call, compiler.call

    def wrapper(*args, **kwargs):
        if _stance.stance == "default":
            return call(function, args, kwargs)
        return plain(function, args, kwargs)

    functools.update_wrapper(wrapper, function.args[0] if code is None else function)
    wrapper._torchdynamo_orig_callable = function.args[0] if code is None else function
    wrapper._compiler, wrapper.aot_compile = compiler, functools.partial(_aot_compile, function, compiler)
    return wrapper


def _aot_compile(function, compiler, example_inputs):
    """The function compiled now, for arguments like `example_inputs`, a pair of a tuple and a dict: see `aot_compile.AOTCompiledFunction`."""
    from .aot_compile import compiled_now

    return compiled_now(function, compiler, example_inputs)


class OptimizedModule(torch.nn.Module):
    """A module whose frames are compiled. Its parameters, state and attributes are those of the module, which is `_orig_mod`."""

    _orig_mod: torch.nn.Module

    def __init__(self, mod, compiler):
        super().__init__()
        self._orig_mod = mod
        object.__setattr__(self, "_compiler", compiler)
        _root(compiler, mod)

    @property
    def training(self):
        """Whether the module is in training mode."""
        mod = self.__dict__.get("_modules", {}).get("_orig_mod")
        return True if mod is None else mod.training

    @training.setter
    def training(self, mode):
        mod = self.__dict__.get("_modules", {}).get("_orig_mod")
        if mod is not None:
            mod.training = mode

    def __call__(self, *args, **kwargs):
        own = self.__dict__  # past the look-ups of modules, which are slow
        return run_module(own["_modules"]["_orig_mod"], own["_compiler"], args, kwargs)

    def aot_compile(self, example_inputs):
        """The module compiled now, for arguments like `example_inputs`, a pair of a tuple and a dict: see `aot_compile.AOTCompiledFunction`."""
        return _aot_compile(self._orig_mod, self._compiler, example_inputs)

    def forward(self, *args, **kwargs):
        """The module's result."""
        return run_module(self._orig_mod, self._compiler, args, kwargs)

    def __getattr__(self, name):
        if name == "_orig_mod":
            return self.__dict__["_modules"]["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name, value):
        if name in ("_orig_mod", "_compiler", "training") or name.startswith("_") or "_orig_mod" not in self.__dict__.get("_modules", ()):
            super().__setattr__(name, value)
            return
        setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        delattr(self._orig_mod, name)

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._orig_mod)})

    def __deepcopy__(self, memo):
        import copy

        old = self._compiler
        return OptimizedModule(copy.deepcopy(self._orig_mod, memo), _again(old))

    def __reduce__(self):
        return _restored, (self._orig_mod, self._compiler._backend, self._compiler.fullgraph, self._compiler.dynamic, self._compiler.all_options())


def _again(compiler):
    return Compiler(
        compiler._backend, fullgraph=compiler.fullgraph, dynamic=compiler.dynamic, options=compiler.all_options(), recompile_limit=compiler.recompile_limit
    )


def _restored(mod, backend, fullgraph, dynamic, options):
    return OptimizedModule(mod, Compiler(backend, fullgraph=fullgraph, dynamic=dynamic, options=options))


def _root(compiler, module):
    for function in (type(module).forward, module.__dict__.get("forward"), _call_module):
        code = getattr(innermost_fn(function), "__code__", None)
        if code is not None:
            compiler.roots.add(code)


def run_module(module, compiler, args, kwargs):
    """Calls a module whose frames are compiled."""
    own = module.__dict__
    if own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"] or own["_backward_pre_hooks"] or _any_global_hook():
        return compiler.call(_call_module, (module, args, kwargs), None)
    return (compiler.region if _stance.stance == "default" else compiler).call(module.forward, args, kwargs)


def _any_global_hook():
    return bool(_space._global_forward_hooks or _space._global_forward_pre_hooks or _space._global_backward_hooks or _space._global_backward_pre_hooks)


# ---- what programs ask for --------------------------------------------------------------------------------------------------


def optimize(
    backend="inductor", *, nopython=False, error_on_graph_break=None, guard_export_fn=None, guard_fail_fn=None, disable=False, dynamic=None, package=None
):
    """A decorator that compiles: the older spelling of `torch.compile`."""
    if disable or is_turned_off():
        return lambda fn: fn
    return lambda fn: compiled(fn, Compiler(backend, fullgraph=nopython, dynamic=dynamic))


def optimize_assert(backend, **options):
    """`optimize` for one whole graph."""
    return optimize(backend, nopython=True)


def disable(fn=None, recursive=True, *, reason=None, wrapping=True):
    """`fn`, which is not compiled, and with ``recursive=True`` nothing that it calls; a decorator without `fn`."""
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if not callable(fn):
        raise AssertionError(f"disable: expected a callable, got {type(fn).__name__}")
    if isinstance(fn, OptimizedModule):
        return fn._orig_mod
    fn = innermost_fn(fn)
    if isinstance(fn, torch.nn.Module):
        fn.forward = disable(fn.forward, recursive)
        return fn
    if isinstance(fn, type):
        fn.__init__ = disable(fn.__init__, recursive)
        return fn

    if not recursive:
        return _left_alone(fn)

    @functools.wraps(fn)
    def plain(*args, **kwargs):
        return _cresset_compile.plainly(fn, args, kwargs)

    plain._torchdynamo_disable, plain._torchdynamo_disable_msg, plain._torchdynamo_orig_callable = True, reason, fn
    return plain


def _left_alone(fn):
    fn._torchdynamo_disable = True
    return fn


def run(fn=None):
    """`fn`, which runs what is compiled and compiles nothing new; a decorator without `fn`."""
    if fn is None:
        return run
    compiler = getattr(fn, "_compiler", None)
    if compiler is None:
        return fn

    @functools.wraps(fn)
    def only_known(*args, **kwargs):
        before = compiler.region.compiles(False)
        try:
            return fn(*args, **kwargs)
        finally:
            compiler.region.compiles(before)

    return only_known


def reset():
    """Forgets what was compiled."""
    from .utils import counters

    for compiler in list(_compilers):
        compiler.region.reset()
        compiler.left.clear()
        compiler.sizes.clear()
        compiler.graphs.clear()
        compiler.made.clear()
        compiler.breaks.clear()
    counters.clear()
    _logs.reset()


class set_stance(contextlib.ContextDecorator):  # noqa: N801  a function's name
    """How compiled functions behave from now on, or in a `with` block: see `torch.compiler.set_stance`."""

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        global _chosen
        if stance not in _STANCES:
            raise RuntimeError(f"set_stance: expected one of {', '.join(_STANCES)}, got {stance!r}")
        if force_backend is not None and stance != "default":
            raise RuntimeError("set_stance: force_backend goes with the stance 'default'")
        self._new, self._before = _Stance(stance, skip_guard_eval_unsafe, force_backend), _chosen
        self._choose(self._new)

    @staticmethod
    def _choose(stance):
        global _chosen
        _chosen = stance
        settle()

    def __enter__(self):
        self._choose(self._new)

    def __exit__(self, *error):
        self._choose(self._before)

    def __call__(self, function):
        self._choose(self._before)
        return super().__call__(function)


# ---- explain and export -----------------------------------------------------------------------------------------------------


class ExplainOutput:
    """Graphs of a function and where they break. `graphs`, `graph_count`, `graph_break_count`, `break_reasons`, `op_count`, `ops_per_graph`; operators are
    calls of functions, without those of methods."""

    def __init__(self, graphs, reasons):
        self.graphs, self.break_reasons = graphs, reasons
        self.graph_count, self.graph_break_count = len(graphs), max(len(graphs) - 1, 0)
        self.ops_per_graph = [[node.target for node in g.graph.nodes if node.op == "call_function"] for g in graphs]
        self.op_count = sum(map(len, self.ops_per_graph))
        self.out_guards = []

    def __str__(self):
        lines = [f"Graph Count: {self.graph_count}", f"Graph Break Count: {self.graph_break_count}", f"Op Count: {self.op_count}", "Break Reasons:"]
        lines += [f"  {i}: {reason}" + (f" ({hint})" if hint else "") for i, (reason, hint, _) in enumerate(self.break_reasons, 1)]
        return "\n".join(lines) + "\n"

    __repr__ = __str__


def explain(f, *extra_args, **extra_kwargs):
    """A function of example arguments that tells which graphs `f` has, and where they break.

    >>> def f(x):
    ...     x = x.sin()
    ...     torch._dynamo.graph_break()
    ...     return x.cos()
    >>> told = torch._dynamo.explain(f)(torch.zeros(1))
    >>> told.graph_count, told.graph_break_count, told.op_count
    (2, 1, 0)
    """

    def inner(*args, **kwargs):
        compiler = Compiler("eager")
        compiled(innermost_fn(f) if not isinstance(f, OptimizedModule) else f._orig_mod, compiler)(*args, **kwargs)
        return ExplainOutput(list(compiler.graphs), list(compiler.breaks))

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


def export(
    f, *extra_args, aten_graph=False, pre_dispatch=False, decomposition_table=None, tracing_mode="symbolic", dynamic_shapes=None, assume_static_by_default=False,
    same_signature=True, **extra_kwargs,
):  # fmt: skip
    """A function of example arguments that gives (graph module, guards): `f` as one graph of the same arguments.

    The graph serves all sizes that the guards allow, those of the examples alone with `assume_static_by_default`, but for the dimensions that have a Dim in
    `dynamic_shapes`. With `aten_graph` it is one of operators, taken apart by `decomposition_table`, or of whole composites with `pre_dispatch`. Without
    `same_signature` its arguments and results are the leaves.

    Errors: the module raises AssertionError for arguments that the graph does not hold for; Unsupported for a function that is not one graph.

    >>> graph, guards = torch._dynamo.export(lambda x: torch.ones(2 * x.shape[0]))(torch.zeros(3))
    >>> graph(torch.zeros(5)).shape
    torch.Size([10])
    """

    def inner(*args, **kwargs):
        from ._export import exported

        return exported(
            f, args, kwargs, aten_graph=aten_graph, static=assume_static_by_default, tracing_mode=tracing_mode, decompositions=decomposition_table,
            dynamic_shapes=dynamic_shapes, pre_dispatch=pre_dispatch, same_signature=same_signature,
        )  # fmt: skip

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


del exc
