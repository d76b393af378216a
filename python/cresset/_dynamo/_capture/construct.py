"""How a captured frame makes objects of classes."""

import collections
import functools
import random
import types

from _cresset import Tensor

import cresset as torch

from . import chance
from .native import as_node, call_native
from .objects import _CONTAINERS, _FUNCTION, _MODULE, _SEEN_THROUGH, _missing, as_key, callback, lookup, must_be_known, python_method, type_of
from .operators import items_of, iterator, mapping_of, truth
from .record import is_array
from .shapes import is_symbol
from .signals import Break
from .world import _CALLABLES, is_constant


def construct(machine, cls, args, kwargs):
    """`cls(*args, **kwargs)`."""
    world = machine.world
    if cls is super:
        return _super(machine, args)
    if cls is type and len(args) == 1:
        return type_of(machine, args[0])
    if cls in (list, tuple, set, frozenset, dict, collections.OrderedDict, collections.deque) and args and not isinstance(args[0], (str, dict)):
        if cls in (dict, collections.OrderedDict) and not python_method(args[0], "keys"):
            return cls(items_of(machine, args[0]), *args[1:], **kwargs)
        if cls in (dict, collections.OrderedDict):
            return cls(mapping_of(machine, args[0]), **kwargs)
        if cls in (set, frozenset):
            return cls(map(as_key, items_of(machine, args[0])))
        return cls(items_of(machine, args[0]), *args[1:], **kwargs)
    if cls in (map, filter) and args:
        return cls(callback(machine, args[0]), *[iterator(machine, a) for a in args[1:]])
    if cls in (zip, enumerate, reversed) or cls.__module__ == "itertools":
        return _iterator_class(machine, cls, args, kwargs)
    if cls in (int, float, bool, str, bytes, complex, range, slice, object, property, staticmethod, classmethod, type, bytearray, memoryview):
        return _plain_class(machine, cls, args, kwargs)
    if cls is random.Random:
        return chance.made(machine, args, kwargs)
    if cls is functools.partial:
        return functools.partial(*args, **kwargs)
    meta_call = lookup(type(cls), "__call__")
    if type(meta_call) is _FUNCTION:
        if type(cls).__name__ == "EnumType":
            return cls(*args, **kwargs)
        if not type(cls).__module__.startswith(("cresset", "abc", "typing")):
            return machine.invoke(meta_call, (cls, *args), kwargs)
    if cls is torch.Generator or issubclass(cls, torch.Generator):
        raise Break("a generator of random numbers is made")
    if cls.__module__.partition(".")[0] in ("cresset", "_cresset") and not (issubclass(cls, _MODULE) or cls.__module__.startswith(_SEEN_THROUGH)):
        return call_native(machine, cls, args, kwargs)
    if issubclass(cls, Tensor):
        if not hasattr(cls, "__tensor_flatten__") or not machine.world.frame.compiler.fullgraph:
            raise Break(f"an object of {cls.__qualname__} is made")
        machine.world.has_subclass = True
        return as_node(machine, cls, args, kwargs)
    maker, starter = lookup(cls, "__new__"), lookup(cls, "__init__")
    maker = maker.__func__ if isinstance(maker, staticmethod) else maker
    if type(maker) is _FUNCTION:
        made = machine.invoke(maker, (cls, *args), kwargs)
        if not isinstance(made, cls):
            return made
    elif maker is object.__new__:
        if type(starter) is not _FUNCTION and (args or kwargs):
            raise TypeError(f"{cls.__name__}() takes no arguments")
        made = cls.__new__(cls)
    elif type(starter) is _FUNCTION and not issubclass(cls, BaseException):
        made = maker(cls) if not issubclass(cls, tuple) else maker(cls, *args, **kwargs)
    elif issubclass(cls, BaseException) and type(starter) is _FUNCTION:
        made = maker(cls, *args)
    else:
        return call_native(machine, cls, args, kwargs)
    world.keep.append(made)
    if type(starter) is _FUNCTION:
        machine.invoke(starter, (made, *args), kwargs)
    return made


def _number(machine, cls, tensor):
    """`int(tensor)` or `float(tensor)`: a number that is known, or a symbol."""
    shapes = machine.world.shapes
    if shapes is None or not shapes.env.allow_scalar_outputs:
        return cls(tensor)
    number = (tensor.to(torch.int64) if cls is int else tensor).item()
    return torch.sym_float(number) if is_symbol(number) and cls is float else number if is_symbol(number) else cls(number)


def _super(machine, args):
    if args:
        return super(*args)
    slots, names = machine.slots, machine.listing.slots
    if "__class__" not in names:
        raise RuntimeError("super(): __class__ cell not found")
    cell = slots[names.index("__class__")]
    cls = machine.world.read_cell(cell.value if type(cell).__name__ == "Raw" else cell, "__class__")
    first = slots[0]
    if type(first).__name__ == "Raw":
        first = slots[0] = machine.world.bring(first.value, first.place)
    if type(first) is types.CellType:
        first = machine.world.read_cell(first, names[0])
    return super(cls, first)


def _iterator_class(machine, cls, args, kwargs):
    args = [a if is_constant(a) and not isinstance(a, (str, tuple)) or not _iterable(a) else a for a in args]
    args = [_wrapped_iterable(machine, a) if not callable(a) or _iterable(a) else callback(machine, a) for a in args]
    kwargs = {k: callback(machine, v) if callable(v) else v for k, v in kwargs.items()}
    return cls(*args, **kwargs)


def _iterable(value):
    return lookup(type(value), "__iter__") is not _missing


def _wrapped_iterable(machine, value):
    if python_method(value, "__iter__") is not None:
        return iterator(machine, value)
    must_be_known(machine, value, "the items")
    return value


def _plain_class(machine, cls, args, kwargs):
    if cls in (int, float, bool, str, bytes, complex) and args:
        value = args[0] if cls is not str else as_key(args[0])
        args = (value, *args[1:])
        if cls is bool:
            return truth(machine, value)
        if is_array(value) and cls in (int, float, complex):
            value = value.tensor
        if isinstance(value, Tensor):
            return _number(machine, cls, value) if cls in (int, float) and len(args) == 1 else cls(value, *args[1:], **kwargs)
        special = {int: ("__int__", "__index__"), float: ("__float__",), str: ("__str__", "__repr__"), complex: ("__complex__",)}.get(cls, ())
        for name in special:
            own = python_method(value, name)
            if own is not None:
                return machine.invoke(own, (value,), {})
        if cls is not str:
            must_be_known(machine, value, f"{cls.__name__}()")
        if cls is str and not is_constant(value) and not isinstance(value, (*_CONTAINERS, BaseException, *_CALLABLES)):
            raise Break("the text of an object")
    return cls(*args, **kwargs)
