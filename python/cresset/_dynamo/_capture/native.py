"""Calls of functions that run as they are: written in C, or the package's.

Functions written in C that get an object from outside are run only where they do not look into it.
"""

import builtins
import functools
import types
import typing

from _cresset import Tensor

import cresset as torch

from ...utils._pytree import tree_flatten, tree_map
from .. import config
from . import arrays, places as P
from .objects import _CONTAINERS, _FUNCTION, _METHOD, _MODULE, _filled, _lies_outside, _name_of, as_key, callback, is_of_package
from .record import is_refused, plain_number
from .signals import Break
from .world import NULL, is_constant

_MAY_SEE_OBJECTS = {
    isinstance, issubclass, callable, id, builtins.print, object.__new__, object.__init__, object.__eq__, object.__ne__, BaseException.__new__, BaseException.__init__,
    typing.cast,
}  # fmt: skip


def call_native(machine, function, args, kwargs):
    """A call that runs as it is."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, (dict, set, frozenset)) and args:
        args = (as_key(args[0]), *args[1:])
    elif isinstance(owner, str) or _is_numpy(function):
        args, kwargs = tuple(map(as_key, args)), {name: as_key(value) for name, value in kwargs.items()}
    if config.trace_numpy and _is_numpy(function) and arrays.are_involved(function, args, kwargs):
        return arrays.call(machine, function, args, kwargs)
    if is_refused(function):
        raise Break(f"a call of {_name_of(function)}, which no graph holds")
    torch_code = is_of_package(function)
    if not torch_code and type(owner) not in _CONTAINERS and not _may_see(function):
        for value in (owner, *args, *kwargs.values()):
            if _lies_outside(machine, value):
                raise Break(f"{_name_of(function)} gets an object of {type(value).__qualname__} from outside of the frame")
    if not torch_code and not _is_pure(function):
        raise Break(f"a call of {_name_of(function)}", "torch.compiler.disable the code around it, or keep it out of the function")
    if not torch_code and _is_numpy(function):
        for value in tree_flatten((owner, args, kwargs))[0]:
            if isinstance(value, (Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)) or type(value) in (_FUNCTION, _METHOD):
                raise Break(f"a call of {_name_of(function)} with {'a tensor' if isinstance(value, Tensor) else 'a value that is not known'}")
    if torch_code and getattr(function, "__module__", None) == "cresset._numpy":
        return arrays.guarded(function, args, kwargs)
    if torch_code:
        args, kwargs = tuple(map(plain_number, args)), {name: plain_number(value) for name, value in kwargs.items()}
        if _takes_functions(function, args, kwargs):
            return region(machine, function, args, kwargs)
        for value in (owner, *args, *kwargs.values()):
            if _lies_outside(machine, value):
                raise Break(f"{_name_of(function)} gets an object of {type(value).__qualname__} from outside of the frame")
    return function(*args, **kwargs)


_TRANSFORMS = ("cresset.func", "cresset._higher_order_ops", "cresset.functorch", "cresset._functorch", "cresset.autograd.functional", "cresset._vmap_internals")


def _takes_functions(function, args, kwargs):
    """Whether a function of the package calls functions of the program: it is given some, or holds some."""
    if type(function) is _FUNCTION and (function.__globals__.get("__name__") or "").startswith(_TRANSFORMS):
        return True
    program = lambda f: isinstance(f, (_FUNCTION, _METHOD, functools.partial)) and not is_of_package(f) or isinstance(f, _MODULE)  # noqa: E731
    held = [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)] if type(function) is _FUNCTION else ()
    return any(program(value) for value in (*args, *kwargs.values())) or (
        any(program(value) for value in held) and any(isinstance(a, Tensor) for a in tree_flatten((args, kwargs))[0])
    )


def _outside_dict(machine, owner, name, key, default=None):
    """A look-up in a dict outside that is of a class of the program."""
    world = machine.world
    if not is_constant(key):
        raise Break("a dict from outside of the frame is asked for an object")
    place = world.place(P.ITEM, world.origin(owner), key)
    if dict.__contains__(owner, key):
        value = world.bring(dict.__getitem__(owner, key), place)
        return True if name == "__contains__" else value
    if place not in world.seen:
        world.seen[place] = NULL
        world.check(P.MISSING, place)
    if name == "__getitem__":
        raise KeyError(key)
    return False if name == "__contains__" else default


def _may_see(function):
    try:
        return function in _MAY_SEE_OBJECTS
    except TypeError:
        return False


_PURE_MODULES = frozenset(("math", "cmath", "operator", "_operator", "itertools", "functools", "_functools", "collections", "_collections", "builtins", "re", "enum", "typing", "types",
                           "copy", "string", "textwrap", "json", "numbers", "abc", "_abc", "inspect", "_collections_abc", "dataclasses", "bisect", "_bisect", "heapq", "_heapq",
                           "contextlib", "weakref", "fractions", "decimal", "statistics", "struct", "_struct", "array", "_sre"))  # fmt: skip
_IMPURE = {builtins.print, builtins.input, builtins.open, builtins.eval, builtins.exec, builtins.compile, builtins.globals, builtins.locals, builtins.vars, builtins.dir,
           builtins.breakpoint, builtins.__import__, builtins.hash, builtins.repr, builtins.ascii, builtins.help}  # fmt: skip
#: Parts of NumPy that hold state, or read and write files.
_IMPURE_NUMPY = ("numpy.random", "numpy.lib.npyio", "numpy.lib.format", "numpy.testing", "numpy.ctypeslib", "numpy.distutils", "numpy.f2py")


def _is_numpy(function):
    """Whether a function, or the object that it is a method of, is NumPy's."""
    owner = getattr(function, "__self__", None)
    for value in (function, type(function), type(owner)):
        module = getattr(value, "__module__", None)
        if isinstance(module, str) and module.partition(".")[0] == "numpy":
            return True
    return False


def _is_pure(function):
    owner = getattr(function, "__self__", None)
    if _is_numpy(function):
        modules = (getattr(value, "__module__", None) or "" for value in (function, type(owner)))
        return not any(module.startswith(_IMPURE_NUMPY) for module in modules) and getattr(function, "__name__", "") not in (
            "tofile",
            "fromfile",
            "dump",
            "save",
        )
    if isinstance(owner, (dict, list, set)) and isinstance(function, (types.BuiltinMethodType, types.MethodWrapperType)):
        return True  # a method of the container that it is, written in C
    if owner is not None and not isinstance(owner, types.ModuleType):
        cls = owner if isinstance(owner, type) else type(owner)
        if cls is owner and getattr(function, "__name__", None) in ("mro", "__subclasses__"):
            return True  # reads the class
        return (
            cls is torch.Size
            or cls.__module__.partition(".")[0] in _PURE_MODULES
            or (isinstance(owner, type) and issubclass(owner, (tuple, dict, list, set)))
            or _made_here(owner)
        )
    try:
        if function in _IMPURE:
            return False
    except TypeError:
        pass
    module = getattr(function, "__module__", None)
    if module is None:
        home = getattr(function, "__objclass__", None)
        return home is not None and (home.__module__ in _PURE_MODULES or home is object)
    return module.partition(".")[0] in _PURE_MODULES or (isinstance(function, type) and issubclass(function, (tuple, BaseException, dict, list)))


def _made_here(owner):
    return type(owner).__module__.startswith("cresset._dynamo._capture") or isinstance(owner, (super, BaseException))


@functools.lru_cache(None)
def _apply_of(cls):
    """`cls.apply` as a function with a name."""

    def apply(*args, **kwargs):
        return cls.apply(*args, **kwargs)

    apply.__name__ = apply.__qualname__ = f"{cls.__name__}_apply"
    apply.__module__ = cls.__module__
    return apply


def as_node(machine, function, args, kwargs):
    """A call that becomes one node, whatever it does."""
    tracer = machine.world.tracer
    if tracer.in_region:
        return function(*args, **kwargs)
    with tracer.silence():
        out = function(*args, **kwargs)
    tracer.node(function, args, kwargs, out)
    return out


def region(machine, function, args, kwargs):
    """A call of a function of the package that calls functions of the program in its own way, as transforms do: it is captured as operators."""
    transforms = machine.world.transforms
    if not any(isinstance(leaf, Tensor) for leaf in tree_flatten((args, kwargs))[0]):
        made = function(*args, **kwargs)
        transforms[id(made)] = made, function, args, kwargs
        return made
    if id(function) in transforms:  # made anew of functions that are executed within the capture, as what they use from around them has to be
        _, maker, given, named = transforms[id(function)]
        given, named = tree_map(lambda leaf: callback(machine, leaf), (given, named))
        function = maker(*given, **named)
    from .regions import captured

    return captured(machine, function, args, kwargs)
