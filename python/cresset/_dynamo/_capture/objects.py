"""Objects inside of a capture: their classes and methods, whether they lie outside, and what guards know of them."""

import collections
import functools
import sys
import types

from _cresset import Tensor

import cresset as torch

from .record import is_array
from .signals import Break
from .world import _CALLABLES, is_constant

_FUNCTION, _METHOD = types.FunctionType, types.MethodType
_NATIVE = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType, types.ClassMethodDescriptorType,
           type(torch.add), type(Tensor.add))  # fmt: skip
_CONTAINERS = (
    list,
    dict,
    set,
    tuple,
    frozenset,
    collections.deque,
    collections.OrderedDict,
    collections.defaultdict,
    str,
    bytes,
    int,
    float,
    bool,
    complex,
    range,
    slice,
)
_MODULE = torch.nn.Module
_missing = object()


def lookup(cls, name):
    """The attribute of a class or its bases, as it stands there; `_missing` if there is none."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return _missing


def python_method(value, name):
    """The Python function that is a special method of an object; None where the class is written in C."""
    cls = type(value)
    if cls in _CONTAINERS or isinstance(value, (Tensor, type)):
        return None
    found = lookup(cls, name)
    return found if type(found) is _FUNCTION else None


def identity(machine, value):
    """The object that `is` compares."""
    return value


def _own_code(value):
    """Whether the class of an object may have operators written in Python."""
    cls = type(value)
    if cls in _CONTAINERS or isinstance(value, (Tensor, type)) or value is None:
        return False
    return bool(cls.__flags__ & (1 << 9)) and not cls.__module__ == "enum" and cls.__module__.partition(".")[0] not in ("cresset", "numpy")


def instance_dict(owner):
    """The dict of an object; empty for one that has none."""
    try:
        return object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return {}


def is_generated(cls):
    """Whether a class is an enumeration or a named tuple, whose attributes do not change."""
    return type(cls).__name__ == "EnumType" or (issubclass(cls, tuple) and hasattr(cls, "_fields"))


def type_of(machine, value):
    """`type(value)`: that of the tensor outside for a fake one."""
    if isinstance(value, Tensor):
        for fake, outside, _ in machine.world.tensors:
            if fake is value:
                return type(outside)
        if type(value) not in (Tensor, torch.nn.Parameter, torch.nn.Buffer):
            return type(value)
        if machine.world.has_subclass:
            raise Break("the class of a tensor made from one of a class of the program")
        return torch.nn.Parameter if isinstance(value, torch.nn.Parameter) else Tensor
    if is_array(value):
        return value.dtype.type if value.scalar else sys.modules["numpy"].ndarray
    if type(value).__name__ == "Generator" and type(value).__module__.startswith("cresset._dynamo"):
        return types.GeneratorType
    return type(value)


def as_key(value):
    """A value where symbolic numbers cannot stand, as keys and in texts: each is the number of the example, which becomes a guard."""
    if isinstance(value, torch.SymInt):
        return int(value)
    if isinstance(value, (torch.SymFloat, torch.SymBool)):
        return float(value) if isinstance(value, torch.SymFloat) else bool(value)
    return type(value)(map(as_key, value)) if type(value) in (tuple, torch.Size) else value


def must_be_known(machine, value, what):
    """Ends the graph at an object that guards know by its class alone: its state, which C code reads or changes, is not theirs."""
    if type(value) not in _CONTAINERS and _lies_outside(machine, value):
        _must_be_inside(machine, value, what)


def _must_be_inside(machine, value, what):
    if machine.world.origin(value) is not None:
        raise Break(f"{what} of an object of {type(value).__qualname__}, a class written in C, from outside of the frame")


def _lies_outside(machine, value):
    if (
        value is None
        or is_array(value)
        or isinstance(value, (Tensor, types.ModuleType, type, tuple))
        or type(value) in _CONTAINERS
        or isinstance(value, _CALLABLES)
        or is_constant(value)
    ):
        return False
    return machine.world.origin(value) is not None


def _stays_outside(machine, owner):
    """Whether an object lies outside and is not a copy of what does."""
    known = machine.world.twins.get(id(owner))
    return known is not None and known[0] is owner and known[1] is owner


def is_of_package(function):
    """Whether a function, or what it is a method of, is the package's."""
    module = (function.__globals__.get("__name__") if type(function) is _FUNCTION else getattr(function, "__module__", None)) or ""
    if not isinstance(module, str):
        module = ""
    return type(function) in (type(torch.add), type(Tensor.add)) or isinstance(getattr(function, "__self__", None), Tensor) or module.partition(".")[0] in (
        "cresset", "_cresset", "_cresset_graph") or type(function).__module__.partition(".")[0] in ("cresset", "_cresset")  # fmt: skip


def _filled(cell):
    try:
        cell.cell_contents  # noqa: B018  it raises where nothing is there
    except ValueError:
        return False
    return True


def _name_of(function):
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or type(function).__qualname__
    return f"{module}.{name}" if isinstance(module, str) and module != "builtins" else name


#: Modules of the package whose Python is executed like a program's.
_SEEN_THROUGH = (
    "cresset.nn.modules",
    "cresset.nn.parallel",
    "cresset.nn.utils.parametriz",
    "cresset.vision",
    "cresset.optim",
    "cresset.distributions",
    "cresset.utils.data",
    "cresset._dynamo.testing",
)


def callback(machine, function):
    """A function that native code may call: Python functions of the program are executed within the capture."""
    if isinstance(function, (_FUNCTION, _METHOD, functools.partial)) or (callable(function) and type(lookup(type(function), "__call__")) is _FUNCTION):
        return machine.world.stands_for(lambda *args, **kwargs: machine.invoke(function, args, kwargs), function)
    return function
