"""The functions of `torch.jit`: `script`, marks for methods, switches."""

import ast
import contextlib
import functools
import inspect
import sys
import typing
import warnings

import _cresset_graph as _graph

from ..futures import Future
from . import _builder, _classes, _collections, _marks, _module, _resolve, _tracing
from ._definition import script_function
from ._function import ScriptFunction
from ._marks import _Await

_is = isinstance


class Error(Exception):
    """An exception that a compiled program raised; its text ends with what the program said.

    >>> issubclass(torch.jit.Error, Exception)
    True
    """


class TracerWarning(Warning):
    """The tracer has met something that it cannot record: a value that becomes a constant of the program.

    >>> issubclass(torch.jit.TracerWarning, Warning)
    True
    """

    @staticmethod
    def ignore_lib_warnings():
        """Hides the warnings that come from the library's own files."""
        warnings.filterwarnings("ignore", category=TracerWarning, module=r"cresset\.(?!jit)")


class NotSupportedError(Exception):
    """Python that is no TorchScript.

    >>> issubclass(torch.jit.frontend.NotSupportedError, Exception)
    True
    """


class _Object:
    """An object of a compiled class that a program gave out."""

    def __init__(self, handle):
        self.__dict__["_c"] = handle

    def __getattr__(self, name):
        handle = _graph.script_object_class(self._c)
        if any(row[0] == name for row in _graph.script_class_info(handle)["attributes"]):
            return _graph.script_object_get(self._c, name)
        method = _graph.script_class_method(handle, name)
        if method is None and (getter := _graph.script_class_method(handle, f"{name}_getter")) is not None:
            return _graph.script_function_run(getter, self._c, (), {})
        if method is None:
            raise AttributeError(f"'{_graph.script_class_info(handle)['name']}' object has no attribute '{name}'", name=name, obj=self)
        return lambda *args, **kwargs: _graph.script_function_run(method, self._c, args, kwargs)

    def __setattr__(self, name, value):
        setter = _graph.script_class_method(_graph.script_object_class(self._c), f"{name}_setter")
        if setter is not None:
            return _graph.script_function_run(setter, self._c, (value,), {})
        _graph.script_object_set(self._c, name, value)


def _operator_of_class(name):
    def call(self, *others):
        method = _graph.script_class_method(_graph.script_object_class(self._c), name)
        if method is not None:
            return _graph.script_function_run(method, self._c, others, {})
        if name in ("__bool__", "__hash__", "__str__", "__repr__"):
            return {"__bool__": bool, "__hash__": id, "__str__": repr, "__repr__": object.__repr__}[name](self if name != "__bool__" else True)
        return NotImplemented

    call.__name__ = name
    return call


for _name in (
    "add sub mul truediv floordiv mod pow and or xor lshift rshift matmul eq ne lt le gt ge neg pos invert abs len getitem setitem delitem contains call "
    "bool int float str repr hash enter exit iadd isub imul itruediv"
).split():
    setattr(_Object, f"__{_name}__", _operator_of_class(f"__{_name}__"))


def _wrap_object(handle):
    cls = _graph.script_object_class(handle)
    if _graph.script_class_info(cls)["kind"] == "module":
        return _module.wrap(handle)
    return _Object(handle)


def _object_value(obj, name):
    if _is(obj, _module.RecursiveScriptModule):
        return obj._c
    if _is(obj, _module.ScriptModule) and obj._script() is not None:
        return obj._script()._c
    if _is(obj, _Object):
        return obj._c
    import enum

    if _is(obj, enum.Enum):
        return _graph.script_enum_value(_resolve.enum_class(type(obj)), obj.name)
    return _classes.object_of(obj)


def _type_of_object(obj):
    import enum

    if _is(obj, _collections._Collection):
        return obj._type
    if _is(obj, enum.Enum):
        return _graph.script_class_info(_resolve.enum_class(type(obj)))["name"]
    if _is(obj, tuple) and hasattr(obj, "_fields"):
        known = _resolve.named_tuple_text(type(obj))
        return known or f"Tuple[{', '.join(map(_graph.script_value_type, obj))}]"
    value = _object_value(obj, "")
    if value is None and _classes.may_compile(type(obj)):
        value = _classes.object_of(obj)
    return None if value is None else _graph.script_class_info(_graph.script_object_class(value))["name"]


@functools.cache
def _named_tuple_class(name, fields):
    import collections

    for cls, text in _resolve._named_tuples.items():
        if text == name:
            return cls
    return collections.namedtuple(name.rpartition(".")[2] or "Result", fields)


def _enum_member(handle, name):
    for cls, known in _resolve._enums.items():
        if known == handle:
            return cls[name]
    import enum

    info = _graph.script_class_info(handle)
    cls = enum.Enum(info["name"].rpartition(".")[2], info["members"])
    _resolve._enums[cls] = handle
    return cls[name]


_graph.script_set_helpers(
    {
        "future_value": lambda future: future.wait(),
        "object_value": _object_value,
        "collection_value": lambda obj: obj._c if _is(obj, _collections._Collection) else None,
        "type_of_object": _type_of_object,
        "named_tuple": lambda name, fields, values: _named_tuple_class(name, fields)(*values),
        "wrap_object": _wrap_object,
        "enum_member": _enum_member,
        "new_future": Future,
        "attribute_of": _resolve.attribute_of,
        "handle_attribute": _module.handle_attribute,
        "operator_of": _resolve.operator_of,
    },
    Error,
    NotSupportedError,
)


def is_scripting():
    """Whether the function that asks is compiled: in Python never.

    >>> torch.jit.is_scripting()
    False
    """
    return False


def is_tracing():
    """Whether `trace` is recording just now.

    >>> torch.jit.is_tracing()
    False
    """
    return _tracing.tracer is not None


def annotate(the_type, the_value):
    """`the_value`, which the compiler takes for a `the_type`.

    >>> torch.jit.annotate(list[int], [])
    []
    """
    return the_value


def isinstance(obj, target_type):
    """Whether `obj` is of `target_type`, a class, a type with arguments such as ``list[int]``, whose elements are looked at too, or a tuple of these.

    >>> torch.jit.isinstance([1, 2], list[int]), torch.jit.isinstance([1, "a"], list[int])
    (True, False)
    """
    if _is(target_type, tuple):
        return any(isinstance(obj, one) for one in target_type)
    if _is(target_type, (list, set, dict)):
        raise RuntimeError(f"torch.jit.isinstance: the second argument must be a type or a tuple of types, got {target_type}")
    if target_type in (list, dict, tuple, typing.List, typing.Dict, typing.Tuple, typing.Optional):
        raise RuntimeError(f"torch.jit.isinstance: expected a type with its arguments, such as list[int], got {target_type}")
    origin, arguments = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        return target_type is typing.Any or _is(obj, type(None) if target_type is None else target_type)
    if origin is list:
        return _is(obj, list) and all(isinstance(item, arguments[0]) for item in obj)
    if origin is dict:
        return _is(obj, dict) and all(isinstance(k, arguments[0]) and isinstance(v, arguments[1]) for k, v in obj.items())
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return _is(obj, tuple) and all(isinstance(item, arguments[0]) for item in obj)
        return _is(obj, tuple) and len(obj) == len(arguments) and all(map(isinstance, obj, arguments))
    return any(isinstance(obj, one) for one in arguments)


def _mark(fn, use):
    try:
        fn._torchscript_use = (use,)
    except (AttributeError, TypeError):
        pass  # a builtin function, which nothing compiles
    return fn


def export(fn):
    """`fn`, a method that is compiled though `forward` does not call it.

    >>> torch.jit.export(abs)(-1)
    1
    """
    return _mark(fn, _marks.Use.EXPORT)


def unused(fn):
    """`fn`, in place of which compiled code raises an error.

    >>> torch.jit.unused(abs)(-1)
    1
    """
    if _is(fn, property):
        if fn.fget is not None:
            _mark(fn.fget, _marks.Use.UNUSED)
        return fn
    return _mark(fn, _marks.Use.UNUSED)


def ignore(drop=False, **kwargs):
    """The function, which compiled code leaves to Python, or with ``drop=True`` replaces by an error; a decorator where it is called with ``drop=`` or nothing.

    A program with functions of Python cannot be saved. Errors: RuntimeError where `drop` is neither a bool nor a function.

    >>> @torch.jit.ignore
    ... def plain(x):
    ...     return x + 1
    >>> plain(1)
    2
    """
    if callable(drop):
        return _mark(drop, _marks.Use.IGNORE)
    if not _is(drop, bool):
        raise RuntimeError(f"torch.jit.ignore: expected a function or drop=True or False, got {drop!r}")
    use = _marks.Use.DROP if drop or kwargs.get("drop_on_export") else _marks.Use.IGNORE
    return lambda fn: _mark(fn, use)


def _scripted_object(obj):
    if _is(obj, (_Object, _collections._Collection)):
        return obj
    if type(obj).__module__ == "builtins":
        return None
    _classes.compile_class(type(obj))
    return _Object(_classes.object_of(obj))


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """The compiled form of a function, class or module: typed by annotations, tensors where there are none, and independent of Python.

    A class is returned as it is, and may from then on be used in functions; other objects that are compiled already too.
    A list or dict becomes one that compiled functions change in place, an object one of the compiled class with its attributes.
    Errors: RuntimeError with the user's line for what does not type-check, NotSupportedError for Python that is no TorchScript.

    >>> @torch.jit.script
    ... def doubled(x):
    ...     return 2 * x
    >>> doubled(torch.ones(1))
    tensor([2.])
    """
    from ..nn import Module

    if example_inputs is not None:
        warnings.warn("torch.jit.script: example_inputs are not used to find types; annotate the function", stacklevel=2)
    if _is(obj, (ScriptFunction, _module.RecursiveScriptModule)):
        return obj
    if _is(obj, _module.ScriptModule) and obj._script() is not None:
        return obj._script()
    if _is(obj, Module):
        return _builder.script_module(obj)
    if _is(obj, type):
        import enum

        if issubclass(obj, Module):
            raise RuntimeError(f"Type '{obj}' cannot be compiled since it inherits from nn.Module, consider passing an instance instead")
        if issubclass(obj, enum.Enum) or (issubclass(obj, tuple) and hasattr(obj, "_fields")):
            return obj
        _classes.compile_class(obj, sys._getframe(_frames_up + 1).f_locals)
        return obj
    if _is(obj, list):
        return _collections.ScriptList(obj)
    if _is(obj, dict):
        return _collections.ScriptDict(obj)
    if hasattr(obj, "__prepare_scriptable__"):
        return script(obj.__prepare_scriptable__(), _frames_up=_frames_up + 1)
    if not callable(obj) and (made := _scripted_object(obj)) is not None:
        return made
    if not callable(obj):
        raise TypeError(f"torch.jit.script: expected a function, module or class, got {type(obj).__name__}")
    if _is(getattr(obj, "__self__", None), Module):
        return getattr(_builder.script_module(obj.__self__), obj.__name__)
    if (known := _resolve._library.functional(obj)) is not None:
        kind, what = known
        made = ScriptFunction(what if kind == "function" else what[1 if kind == "flag" else 0], obj)
    else:
        if not hasattr(inspect.unwrap(obj), "__code__"):
            raise TypeError(f"torch.jit.script: {obj!r} is no function of Python with a text that could be compiled")
        if inspect.iscoroutinefunction(obj):
            raise NotSupportedError("async functions are not part of TorchScript")
        try:
            made = script_function(obj)
        except OSError as error:
            raise OSError(*error.args) from None
    _graph.script_function_compile(made._handle)
    return made


def script_method(fn):
    """`fn`, a method of a `ScriptModule` that is compiled when an object has been made.

    >>> torch.jit.script_method(abs)(-1)
    1
    """
    try:
        fn._torchscript_method = True
    except (AttributeError, TypeError):
        pass
    return fn


def script_if_tracing(fn):
    """`fn`, which is compiled at its first call while `trace` records, so that its branches stay branches.

    >>> torch.jit.script_if_tracing(abs)(-1)
    1
    """

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        if not is_tracing():
            return fn(*args, **kwargs)
        return script(fn)(*args, **kwargs)

    wrapper.__script_if_tracing_wrapper = True
    return wrapper


def fork(func, *args, **kwargs):
    """A Future of what `func` returns: in compiled code it runs beside what follows, in Python it is called at once. Raises what `func` raises.

    >>> torch.jit.fork(abs, -1).wait()
    1
    """
    if _tracing.tracer is not None:
        return _tracing.tracer.call_fork(func, args, kwargs)
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future):
    """The result of what was forked.

    >>> torch.jit.wait(torch.jit.fork(abs, -1))
    1
    """
    if future is None:
        raise RuntimeError("wait: Future can't be None")
    return future.wait()


_fork, _wait = fork, wait


def _unwrap_optional(value):
    """The value, which is not None. Errors: AssertionError where it is.

    >>> torch.jit._unwrap_optional(3)
    3
    """
    assert value is not None, "_unwrap_optional: expected a value, got None"
    return value


def _awaitable(func, *args, **kwargs):
    """The result of `func`, computed by the first who waits for it.

    >>> torch.jit._awaitable_wait(torch.jit._awaitable(abs, -1))
    1
    """
    return _Await(functools.partial(func, *args, **kwargs))


def _awaitable_wait(aw):
    """The result of a call that `_awaitable` has put off.

    >>> torch.jit._awaitable_wait(torch.jit._awaitable_nowait(2))
    2
    """
    return aw.wait()


def _awaitable_nowait(o):
    """A value that is there already, for those who wait.

    >>> torch.jit._awaitable_nowait(2).wait()
    2
    """
    return _Await(lambda: o)


_NO_LIMIT = 2**63 - 1


@contextlib.contextmanager
def limits(*, instructions=None, trips=None, memory=None, calls=None):
    """A scope in which each call of compiled code, and what loading runs, has limits: for files of strangers. Forked calls run at once.

    Errors: RuntimeError at the limit of instructions, trips of loops or calls within calls; OutOfMemoryError at that of bytes which tensors, lists, dicts and
    strings hold at a time.

    >>> @torch.jit.script
    ... def endless(n: int) -> int:
    ...     while n > 0:
    ...         n += 1
    ...     return n
    >>> with torch.jit.limits(instructions=1000):
    ...     try:
    ...         endless(1)
    ...     except RuntimeError as error:
    ...         print(str(error).splitlines()[-1])
    RuntimeError: expected at most 1000 instructions, which is the limit of this run
    """
    wanted = [_NO_LIMIT if n is None else n for n in (trips, instructions, memory)] + [1000 if calls is None else calls]
    former = _graph.script_exchange_limits(*wanted)
    _graph.script_exchange_limits(*map(min, wanted, former))
    try:
        yield
    finally:
        _graph.script_exchange_limits(*former)


def _is_declaration(fn):
    """Whether the body of a function says nothing; so where Python has not kept its text."""
    try:
        nodes = ast.walk(ast.parse(_resolve.source_of(fn)[0]))
    except (OSError, SyntaxError):
        return True
    body = next((n.body for n in nodes if _is(n, (ast.FunctionDef, ast.AsyncFunctionDef))), [None])
    return all(_is(line, ast.Pass) or _is(line, ast.Expr) and _is(line.value, ast.Constant) for line in body)


def _overload(fn):
    """`fn`, one signature of the function or method of this name, whose body stands below.

    Errors: RuntimeError where `fn` does more than `pass`.

    >>> @torch.jit._overload
    ... def doubled(x: int) -> int: ...
    >>> doubled(1)
    """
    code = fn.__code__
    if not _is_declaration(fn):
        raise RuntimeError(f"torch.jit._overload: {fn.__qualname__}() declares a signature, so its body is `pass` or `...`; what it does stands below, once")
    _marks.overloads.setdefault((fn.__module__, fn.__qualname__), {})[code.co_filename, code.co_firstlineno] = fn
    return fn


_overload_method = _overload


def _dedented(text):
    """A text without the indentation of its first line; lines within brackets may have less."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    return "".join(line.removeprefix(indent) for line in text.splitlines(keepends=True))


class CompilationUnit:
    """Functions from a text of TorchScript, by name.

    Errors: RuntimeError with the line for what does not compile.

    >>> unit = torch.jit.CompilationUnit("def f(x, n: int = 2):\\n    return x * n")
    >>> unit.f(torch.ones(1))
    tensor([2.])
    """

    def __init__(self, lang=None, _frames_up=0):
        self._unit = _graph.script_unit_new()
        if lang is not None:
            self.define(lang, _frames_up=_frames_up + 1)

    def define(self, lang, rcb=None, _frames_up=0):
        """Adds the functions of the text, whose other names are those of the frame `_frames_up` above the caller, or those that `rcb` finds."""
        resolver = _resolve.Found(rcb) if rcb is not None else _resolve.TextResolver(frame=sys._getframe(_frames_up + 1))
        _graph.script_unit_define_text(self._unit, _dedented(lang), resolver, "")

    def __getattr__(self, name):
        if name.startswith("__") or name == "_unit":
            raise AttributeError(name)
        found = _graph.script_unit_find(self._unit, name)
        if found is None:
            raise AttributeError(f"'CompilationUnit' has no attribute '{name}'", name=name, obj=self)
        return ScriptFunction(found)

    def get_functions(self):
        return [ScriptFunction(f) for f in _graph.script_unit_functions(self._unit)]

    def find_function(self, name):
        """The function of this name, or None."""
        found = _graph.script_unit_find(self._unit, name)
        return None if found is None else ScriptFunction(found)

    def create_function(self, qualified_name, graph, should_mangle=False):
        """A function that does what the graph does. Errors: RuntimeError where the name is taken, unless it may be changed."""
        if not should_mangle and _graph.script_unit_find(self._unit, qualified_name) is not None:
            raise RuntimeError(f"CompilationUnit.create_function: there is a function '{qualified_name}' already; pass should_mangle=True for another name")
        return ScriptFunction(_graph.script_graph_function(self._unit, qualified_name, graph._handle))

    def drop_all_functions(self):
        """Forgets the functions; who holds one may still call it."""
        _graph.script_unit_drop_functions(self._unit)

    def get_class(self, name):
        """The type of a class or module that was compiled into this unit, by its qualified name; None where there is none."""
        return self._type(name, interface=False)

    def get_interface(self, name):
        """The type of an interface of this unit, by its qualified name; None where there is none."""
        return self._type(name, interface=True)

    def _type(self, name, interface):
        from ._views import ClassType, InterfaceType

        found = _graph.script_unit_class(self._unit, name)
        if found is None or (_graph.script_class_info(found)["kind"] == "interface") != interface:
            return None
        return (InterfaceType if interface else ClassType)(found)

    def set_optimized(self, optimize):
        """Does nothing, as in PyTorch, and says so: see `optimized_execution`."""
        warnings.warn("CompilationUnit.set_optimized is deprecated and has no effect; use torch.jit.optimized_execution", stacklevel=2)


# ---- passes over modules ------------------------------------------------------------------------------------------------------


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """The module with its parameters and attributes as constants of its code; `preserved_attrs` names methods and attributes that stay.

    Errors: RuntimeError for a module that trains or is not compiled.

    >>> frozen = torch.jit.freeze(torch.jit.script(nn.Linear(2, 1).eval()))
    >>> list(frozen.parameters())
    []
    """
    if not _is(mod, _module.ScriptModule):
        raise RuntimeError(f"torch.jit.freeze: expected a ScriptModule, got {type(mod).__name__}; call torch.jit.script or torch.jit.trace on it first")
    mod = script(mod)
    if mod.training:
        raise RuntimeError("torch.jit.freeze: the module trains; call .eval() on it first")
    return _module.wrap(_graph.script_freeze(mod._c, list(preserved_attrs or []), bool(optimize_numerics)))


def run_frozen_optimizations(mod, optimize_numerics=True, preserved_methods=None):
    """Folds norms into convolutions and the like within a frozen module, in place.

    >>> frozen = torch.jit.freeze(torch.jit.script(nn.Linear(2, 1).eval()))
    >>> torch.jit.run_frozen_optimizations(frozen)
    """
    _graph.script_optimize(mod._c, bool(optimize_numerics), list(preserved_methods or []))


def optimize_for_inference(mod, other_methods=None):
    """The module frozen, with everything folded that inference allows, and with constant weights kept packed for the kernels, beside themselves. A module that
    trains does so no longer.

    Errors: RuntimeError for a module that is not compiled.

    >>> fast = torch.jit.optimize_for_inference(torch.jit.script(nn.Linear(2, 1).eval()))
    >>> fast(torch.ones(1, 2)).shape
    torch.Size([1, 1])
    """
    if not _is(mod, _module.ScriptModule):
        raise RuntimeError(f"torch.jit.optimize_for_inference: expected a ScriptModule, got {type(mod).__name__}")
    mod = script(mod).eval()
    frozen = freeze(mod, preserved_attrs=other_methods) if any(row[2] or row[4] for row in mod._info["attributes"]) else mod
    run_frozen_optimizations(frozen, True, other_methods)
    _graph.script_pack_weights(frozen._c)
    return frozen


def export_opnames(m):
    """The names of the operators that the module's methods call, sorted.

    >>> torch.jit.export_opnames(torch.jit.script(nn.ReLU()))
    ['aten::relu']
    """
    return _graph.script_opnames(m._c)


# ---- switches ---------------------------------------------------------------------------------------------------------------

_onednn = False


def set_fusion_strategy(strategy):
    """Sets the list of (kind, depth) that a fuser goes by, and returns the former one. There is one way to run programs here, whatever the shapes: the list
    is kept for those who ask, and a change of it warns that it has no effect.

    >>> old = torch.jit.set_fusion_strategy([("STATIC", 2), ("DYNAMIC", 10)])
    >>> torch.jit.set_fusion_strategy(old)
    [('STATIC', 2), ('DYNAMIC', 10)]
    """
    for kind, depth in strategy:
        if kind not in ("STATIC", "DYNAMIC") or not _is(depth, int):
            raise RuntimeError(f"set_fusion_strategy: expected ('STATIC' or 'DYNAMIC', int), got {(kind, depth)!r}")
    before = _graph.script_exchange_fusion([(kind == "DYNAMIC", depth) for kind, depth in strategy])
    return [("DYNAMIC" if dynamic else "STATIC", depth) for dynamic, depth in before]


@contextlib.contextmanager
def optimized_execution(should_optimize):
    """A scope of this thread in which functions run with or without the passes that make them faster; results are the same.

    >>> @torch.jit.script
    ... def four() -> int:
    ...     return 2 + 2
    >>> with torch.jit.optimized_execution(False):
    ...     plain = four.graph_for()
    >>> len(list(plain.nodes())), len(list(four.graph_for().nodes()))
    (2, 1)
    """
    former = _graph.script_exchange_optimize(should_optimize)
    try:
        yield
    finally:
        _graph.script_exchange_optimize(former)


@contextlib.contextmanager
def fuser(name):
    """Within it a fuser of PyTorch is chosen: "fuser0" to "fuser3", or "none". Programs run by one interpreter here.

    >>> with torch.jit.fuser("none"):
    ...     pass
    """
    if name not in ("fuser0", "fuser1", "fuser2", "fuser3", "none"):
        raise RuntimeError(f"unrecognized fuser option (name: {name})")
    if name != "none":
        warnings.warn(f"torch.jit.fuser: there is no fuser here, and {name!r} has no effect: programs run by one interpreter", stacklevel=3)
    yield


def last_executed_optimized_graph():
    """The graph that this thread ran last, after all passes.

    Errors: RuntimeError where none has run, or its function is gone.

    >>> @torch.jit.script
    ... def doubled(x):
    ...     return 2 * x
    >>> _ = doubled(torch.ones(1))
    >>> [n.kind() for n in torch.jit.last_executed_optimized_graph().nodes()]
    ['prim::Constant', 'aten::mul']
    """
    from ._ir import Graph

    ran = _graph.script_last_graph()
    if ran is None:
        raise RuntimeError("last_executed_optimized_graph: no compiled function has run in this thread, or the last one is gone")
    return Graph(ran)


class strict_fusion:
    """Within it PyTorch raises where operators are not fused; it is for compiled code only.

    >>> with torch.jit.strict_fusion():
    ...     pass
    """

    def __init__(self):
        warnings.warn("Only works in script mode", stacklevel=2)

    def __enter__(self):
        pass

    def __exit__(self, *error):
        pass


def enable_onednn_fusion(enabled):
    """Sets whether PyTorch would give oneDNN whole subgraphs.

    >>> torch.jit.enable_onednn_fusion(False)
    """
    global _onednn
    _onednn = bool(enabled)


def onednn_fusion_enabled():
    """Whether `enable_onednn_fusion` was last called with True.

    >>> torch.jit.onednn_fusion_enabled()
    False
    """
    return _onednn
