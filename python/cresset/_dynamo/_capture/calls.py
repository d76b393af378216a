"""How a captured frame calls: Python code of the program is executed by a machine, everything else runs as it is on inside values."""

import functools
import types
import weakref

from _cresset import Tensor

import cresset as torch

from .. import config
from ..decorators import is_marked
from . import chance, places as P
from .attributes import referent
from .construct import construct
from .native import _apply_of, _outside_dict, as_node, call_native
from .objects import _CONTAINERS, _FUNCTION, _METHOD, _MODULE, _NATIVE, _SEEN_THROUGH, _name_of, _stays_outside, lookup
from .record import LEAVES
from .signals import Break
from .world import NULL, is_constant, is_ours

HANDLERS = {}


def call(machine, function, args, kwargs):
    """`function(*args, **kwargs)`."""
    if config.reorderable_logging_functions and function in config.reorderable_logging_functions:
        machine.world.later.append((function, args, kwargs))
        return None
    if (config.ignore_logging_functions or config.ignore_logger_methods) and _is_ignored(function):
        return None
    handler = _handler(function)
    if handler is not None:
        return handler(machine, *args, **kwargs)
    if is_marked(function, "_torchdynamo_constant"):
        return machine.world.constant_result(function, args, kwargs)
    if is_marked(function, "_torchdynamo_in_graph"):
        return as_node(machine, function, args, kwargs)
    if is_marked(function, "_torchdynamo_forbidden"):
        raise AssertionError(f"{_name_of(function)} must not be called from a compiled function (torch._dynamo.forbid_in_graph)")
    kind = type(function)
    if chance.is_generator(getattr(function, "__self__", None)):
        return chance.draw(machine, function, function.__self__, args, kwargs)
    if kind is _FUNCTION:
        return call_function(machine, function, args, kwargs)
    if kind is _METHOD and isinstance(function.__self__, Tensor) and function.__name__ in _HOOKS and not machine.world.tracer.in_region:
        from .hooks import register

        return register(machine, function.__self__, function.__name__, *args, **kwargs)
    if kind is _METHOD and isinstance(function.__self__, Tensor) and function.__name__ in LEAVES and function.__name__ not in ("tolist", "numpy"):
        raise Break(LEAVES[function.__name__])
    if kind is _METHOD and not (isinstance(function.__self__, type) and issubclass(function.__self__, torch.autograd.Function)):
        return call(machine, function.__func__, (function.__self__, *args), kwargs)
    if isinstance(function, type):
        return construct(machine, function, args, kwargs)
    if kind is types.MethodWrapperType and type(function.__self__) not in _CONTAINERS and not isinstance(function.__self__, (Tensor, type)):
        found = _handler(function.__objclass__.__dict__.get(function.__name__))  # of `super()`, perhaps
        if found is not None:
            return found(machine, function.__self__, *args, **kwargs)
    owner = getattr(function, "__self__", None)
    if kind is weakref.ReferenceType:
        return referent(machine, function)
    if isinstance(owner, type) and issubclass(owner, torch.autograd.Function) and getattr(function, "__name__", "") == "apply":
        return as_node(machine, _apply_of(owner), args, kwargs)
    if isinstance(owner, dict) and kind in _NATIVE and function.__name__ in ("get", "__getitem__", "__contains__") and _stays_outside(machine, owner):
        return _outside_dict(machine, owner, function.__name__, *args)
    if kind in _NATIVE:
        return call_native(machine, function, args, kwargs)
    if kind is functools.partial:
        return call(machine, function.func, function.args + args, {**function.keywords, **kwargs})
    if kind is torch.jit.ScriptFunction:
        return as_node(machine, function, args, kwargs)
    if isinstance(function, functools._lru_cache_wrapper):
        return call(machine, function.__wrapped__, args, kwargs)
    own = lookup(kind, "__call__")
    if type(own) is _FUNCTION and not is_ours(own.__globals__) or isinstance(function, _MODULE):
        return call(machine, own, (function, *args), kwargs)
    return call_native(machine, function, args, kwargs)


_HOOKS = ("register_hook", "register_post_accumulate_grad_hook")


def _is_ignored(function):
    """Whether a function, or a method of a logger, is one that settings leave out."""
    names = (function, function.__func__) if type(function) is _METHOD else (function,)
    try:
        return any(one in config.ignore_logging_functions or one in config.ignore_logger_methods for one in names)
    except TypeError:
        return False


def _handler(function):
    try:
        return HANDLERS.get(function)
    except TypeError:
        return None


#: Modules of the package whose functions change what no graph holds.
_STATEFUL = frozenset(("cresset.random", "cresset.cuda.random", "cresset.utils.data", "cresset.serialization", "cresset.distributed"))
_AS_THEY_ARE = frozenset(
    (
        "re",
        "enum",
        "typing",
        "operator",
        "string",
        "textwrap",
        "json",
        "types",
        "numbers",
        "weakref",
        "inspect",
        "copy",
        "abc",
        "_collections_abc",
        "fractions",
        "decimal",
        "numpy",
    )
)
_REFUSED_MODULES = frozenset(("warnings", "logging", "os", "io", "threading", "time", "random", "subprocess", "pathlib", "posixpath", "socket", "tempfile", "shutil",
                              "importlib", "pickle", "traceback", "linecache", "unittest", "pdb", "gc", "multiprocessing", "concurrent", "asyncio", "queue", "sys"))  # fmt: skip


def call_function(machine, function, args, kwargs):
    """A call of a Python function."""
    if getattr(function, "_torchdynamo_disable", False):
        raise Break(f"{function.__qualname__} is not to be compiled (torch.compiler.disable)")
    module = function.__globals__.get("__name__") or ""
    root = module.partition(".")[0]
    if module in _STATEFUL:
        raise Break(f"a call of {_name_of(function)}, which changes the state of random generators")
    if root == "cresset" and not module.startswith(_SEEN_THROUGH) and not _wraps_program(function):
        return call_native(machine, function, args, kwargs)
    if root in _REFUSED_MODULES:
        raise Break(f"a call of {module}.{function.__qualname__}")
    if root in _AS_THEY_ARE:
        return call_native(machine, function, args, kwargs)
    return inline(machine, function, args, kwargs)


def _wraps_program(function):
    """Whether a function of the package is a decorator's around one of the program, with a mode or context."""
    wrapped = getattr(function, "__wrapped__", None)
    return type(wrapped) is _FUNCTION and not is_ours(wrapped.__globals__) and function.__globals__["__name__"] in _DECORATORS


_DECORATORS = (
    "cresset._core.modes",
    "cresset.compiler._numpy_functions",
    "cresset.amp.autocast_mode",
    "cresset._dynamo.eval_frame",
    "cresset.autograd.grad_mode",
)


def inline(machine, function, args, kwargs):
    """Executes a Python function within the capture."""
    from .machine import Machine, execute

    world = machine.world
    if len(world.where) > 200:
        raise Break("more than 200 nested calls")
    world.know_closure(function)
    world.know_function(function)
    code = function.__code__
    slots = bind(machine, function, args, kwargs)
    inner = Machine(world, code, function.__globals__, function.__builtins__, slots, machine)
    inner.function = function
    return execute(inner, function, args, kwargs)


def bind(machine, function, args, kwargs):
    """The variables of a function that is called."""
    code = function.__code__
    count, named = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    slots = [NULL] * (len(names) + sum(n not in names for n in code.co_cellvars) + len(code.co_freevars))
    rest = dict(kwargs)
    slots[: min(count, len(args))] = args[:count]
    at = count + named
    if code.co_flags & 4:
        slots[at] = tuple(args[count:])
        at += 1
    elif len(args) > count:
        raise TypeError(
            f"{function.__qualname__}() takes {count} positional argument{'s' if count != 1 else ''} but {len(args)} {'was' if len(args) == 1 else 'were'} given"
        )
    for i in range(code.co_posonlyargcount, count + named):
        if names[i] in rest:
            if slots[i] is not NULL:
                raise TypeError(f"{function.__qualname__}(): the argument {names[i]} is given twice")
            slots[i] = rest.pop(names[i])
    defaults = function.__defaults__ or ()
    for i in range(count):
        if slots[i] is NULL:
            if i < count - len(defaults):
                missing = ", ".join(repr(names[k]) for k in range(count - len(defaults)) if slots[k] is NULL)
                raise TypeError(f"{function.__qualname__}() missing required positional argument(s): {missing}")
            slots[i] = default(machine, function, 1, i - count + len(defaults), defaults)
    for i in range(count, count + named):
        if slots[i] is NULL:
            known = function.__kwdefaults__ or {}
            if names[i] not in known:
                raise TypeError(f"{function.__qualname__}() missing 1 required keyword-only argument: '{names[i]}'")
            slots[i] = default(machine, function, 2, names[i], known)
    if code.co_flags & 8:
        slots[at] = rest
    elif rest:
        raise TypeError(f"{function.__qualname__}(): there is no parameter {next(iter(rest))}")
    return slots


def default(machine, function, part, key, values):
    """The value of a parameter that was not given: `values[key]`, where `values` are the function's defaults (`part` 1), or those by name (2)."""
    world, value = machine.world, values[key]
    if id(function) in world.made_functions:
        return value
    place = world.origin(function)
    if place is not None:  # made anew at each call, perhaps
        held = world.place(P.CODE, place, None, part)
        return world.bring(value, world.place(P.INDEX, held, None, key) if part == 1 else world.place(P.ITEM, held, key))
    world.know_function(function, part, values)
    return value if is_constant(value) else world.bring(value, world.constant(value))
