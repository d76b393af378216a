"""How a captured frame calls, reads, sets and iterates: Python code of the program is executed by a machine, everything else runs as it is on inside values.

Functions written in C that get an object from outside are run only where they do not look into it.
"""

import builtins
import collections
import functools
import inspect
import operator
import types
import typing
import weakref

from _cresset import Tensor

import cresset as torch

from ...utils._pytree import tree_flatten, tree_map
from .. import config
from ..decorators import is_marked
from . import places as P
from .record import LEAVES, is_refused, plain_number
from .signals import Break
from .world import _CALLABLES, DELETED, NULL, is_constant, is_ours

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


# ---- classes and their methods ----------------------------------------------------------------------------------------------


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


# ---- operators --------------------------------------------------------------------------------------------------------------

_SPECIAL = {
    operator.add: "add", operator.and_: "and", operator.floordiv: "floordiv", operator.lshift: "lshift", operator.matmul: "matmul", operator.mul: "mul",
    operator.mod: "mod", operator.or_: "or", operator.pow: "pow", operator.rshift: "rshift", operator.sub: "sub", operator.truediv: "truediv", operator.xor: "xor",
    operator.iadd: "iadd", operator.iand: "iand", operator.ifloordiv: "ifloordiv", operator.ilshift: "ilshift", operator.imatmul: "imatmul",
    operator.imul: "imul", operator.imod: "imod", operator.ior: "ior", operator.ipow: "ipow", operator.irshift: "irshift", operator.isub: "isub",
    operator.itruediv: "itruediv", operator.ixor: "ixor", operator.lt: "lt", operator.le: "le", operator.eq: "eq", operator.ne: "ne", operator.gt: "gt",
    operator.ge: "ge",
}  # fmt: skip
_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


_OUT_OF_PLACE = {one: other for one, name in _SPECIAL.items() for other, plain in _SPECIAL.items() if name == f"i{plain}"}


def binary(machine, function, a, b):
    """`a + b` and the like."""
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        a, b = plain_number(a), plain_number(b)
        if not isinstance(a, Tensor) and function in _OUT_OF_PLACE:
            function = _OUT_OF_PLACE[function]  # a number is not changed in place
        if (isinstance(a, Tensor) or not _own_code(a)) and (isinstance(b, Tensor) or not _own_code(b)):
            return machine.world.tracer.operator(function, a, b)
    name = _SPECIAL[function]
    if isinstance(a, str):
        b = as_key(b)
    if not (_own_code(a) or _own_code(b)):
        must_be_known(machine, a, "an operator")
        must_be_known(machine, b, "an operator")
        return function(a, b)
    names = [name]
    if name[0] == "i" and name[1:] in _SPECIAL.values():
        names.append(name[1:])
    for one in names:
        compares = one in _MIRRORED
        other = f"__{_MIRRORED[one]}__" if compares else f"__r{one}__"
        tries = [(a, f"__{one}__", b)]
        if not (one.startswith("i") and one[1:] in _SPECIAL.values()):
            if type(b) is not type(a) or compares:
                tries.append((b, other, a))
            if type(b) is not type(a) and issubclass(type(b), type(a)):
                tries.reverse()
        for left, method, right in tries:
            found = lookup(type(left), method)
            if found is _missing or found is None:
                continue
            result = call(machine, found, (left, right), {}) if type(found) is _FUNCTION else found(left, right)
            if result is not NotImplemented:
                return result
    if name in ("eq", "ne"):
        return (a is b) == (name == "eq")
    raise TypeError(f"unsupported operand type(s) for {name}: '{type(a).__name__}' and '{type(b).__name__}'")


def _own_code(value):
    """Whether the class of an object may have operators written in Python."""
    cls = type(value)
    if cls in _CONTAINERS or isinstance(value, (Tensor, type)) or value is None:
        return False
    return bool(cls.__flags__ & (1 << 9)) and not cls.__module__ == "enum" and cls.__module__.partition(".")[0] not in ("cresset", "numpy")


def unary(machine, function, name, a):
    """`-a` and the like."""
    if isinstance(a, Tensor):
        return machine.world.tracer.operator(function, a)
    own = python_method(a, name)
    if own is not None:
        return call(machine, own, (a,), {})
    must_be_known(machine, a, "an operator")
    return function(a)


def truth(machine, value):
    """Whether a value is true."""
    if value is True or value is False or value is None:
        return value is True
    own = python_method(value, "__bool__")
    if own is not None:
        return bool(call(machine, own, (value,), {}))
    if lookup(type(value), "__bool__") is _missing:
        own = python_method(value, "__len__")
        if own is not None:
            return bool(call(machine, own, (value,), {}))
    if type(value) not in _CONTAINERS and any(lookup(type(value), name) is not _missing for name in ("__bool__", "__len__")):
        must_be_known(machine, value, "the truth")
    return bool(value)


def contains(machine, box, item):
    """`item in box`."""
    item = as_key(item) if isinstance(box, (dict, set, frozenset)) else item
    own = python_method(box, "__contains__")
    if own is not None:
        return truth(machine, call(machine, own, (box, item), {}))
    if type(box) in (list, tuple) and isinstance(item, Tensor):
        return any(one is item for one in box) or operator.contains(box, item)
    if type(box) not in _CONTAINERS and not isinstance(box, Tensor) and python_method(box, "__iter__"):
        return any(binary(machine, operator.eq, one, item) for one in items_of(machine, box))
    must_be_known(machine, box, "what it contains")
    return item in box


def as_key(value):
    """A value where symbolic numbers cannot stand, as keys and in texts: each is the number of the example, which becomes a guard."""
    if isinstance(value, torch.SymInt):
        return int(value)
    if isinstance(value, (torch.SymFloat, torch.SymBool)):
        return float(value) if isinstance(value, torch.SymFloat) else bool(value)
    return type(value)(map(as_key, value)) if type(value) in (tuple, torch.Size) else value


def get_item(machine, box, key):
    """`box[key]`."""
    key = as_key(key) if isinstance(box, dict) else key
    if isinstance(box, Tensor):
        return machine.world.tracer.operator(operator.getitem, box, key)
    own = python_method(box, "__getitem__")
    if own is not None:
        return call(machine, own, (box, key), {})
    if isinstance(box, type):
        return box[key]
    if not isinstance(box, tuple) and type(box) not in _CONTAINERS:
        _must_be_inside(machine, box, "an item is read")
    return box[key]


def set_item(machine, box, key, value):
    """`box[key] = value`."""
    key = as_key(key) if isinstance(box, dict) else key
    if isinstance(box, Tensor):
        machine.world.tracer.operator(operator.setitem, box, key, value)
        return
    own = python_method(box, "__setitem__")
    if own is not None:
        call(machine, own, (box, key, value), {})
        return
    if not isinstance(box, Tensor) and type(box) not in _CONTAINERS:
        _must_be_inside(machine, box, "an item is set")
    box[key] = value


def delete_item(machine, box, key):
    """`del box[key]`."""
    key = as_key(key) if isinstance(box, dict) else key
    own = python_method(box, "__delitem__")
    if own is not None:
        call(machine, own, (box, key), {})
        return
    if type(box) not in _CONTAINERS:
        _must_be_inside(machine, box, "an item is deleted")
    del box[key]


def must_be_known(machine, value, what):
    """Ends the graph at an object that guards know by its class alone: its state, which C code reads or changes, is not theirs."""
    if type(value) not in _CONTAINERS and _lies_outside(machine, value):
        _must_be_inside(machine, value, what)


def _must_be_inside(machine, value, what):
    if machine.world.origin(value) is not None:
        raise Break(f"{what} of an object of {type(value).__qualname__}, a class written in C, from outside of the frame")


# ---- iteration --------------------------------------------------------------------------------------------------------------


def iterator(machine, value):
    """`iter(value)`."""
    own = python_method(value, "__iter__")
    if own is not None and not isinstance(value, tuple):
        return call(machine, own, (value,), {})
    if lookup(type(value), "__iter__") is _missing and python_method(value, "__getitem__") is not None:
        return _by_number(machine, value)
    if type(value) not in _CONTAINERS and not isinstance(value, (Tensor, tuple)):
        _must_be_inside(machine, value, "the items")
    return iter(value)


def _by_number(machine, value):
    i = 0
    while True:
        try:
            yield get_item(machine, value, i)
        except IndexError:
            return
        i += 1


def advance(machine, value):
    """`next(value)`."""
    own = python_method(value, "__next__")
    if own is not None and own.__module__ != __name__.rpartition(".")[0] + ".machine":
        return call(machine, own, (value,), {})
    _must_be_inside(machine, value, "the next item")
    return next(value)


def items_of(machine, value):
    """All items of an iterable, in a list or tuple."""
    if type(value) in (list, tuple):
        return value
    found, steps = [], iterator(machine, value)
    while True:
        try:
            found.append(advance(machine, steps))
        except StopIteration:
            return found


def mapping_of(machine, value):
    """A mapping as a dict."""
    if isinstance(value, dict):
        return value
    keys = call(machine, get_attribute(machine, value, "keys"), (), {})
    return {key: get_item(machine, value, key) for key in items_of(machine, keys)}


def match_class(machine, subject, cls, count, names):
    """The attributes that a class pattern asks for, or None."""
    if not isinstance(subject, cls):
        return None
    wanted = list(names)
    if count:
        if cls in (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple):
            return (subject, *[get_attribute(machine, subject, name) for name in names])
        wanted = [*cls.__match_args__[:count], *names]
    try:
        return tuple([get_attribute(machine, subject, name) for name in wanted])
    except AttributeError:
        return None


# ---- attributes -------------------------------------------------------------------------------------------------------------


def get_attribute(machine, owner, name):
    """`owner.name`."""
    world = machine.world
    if isinstance(owner, Tensor):
        return _tensor_attribute(machine, owner, name)
    if isinstance(owner, types.ModuleType):
        written = world.written_global(owner.__dict__, name)
        if written is DELETED:
            raise AttributeError(f"module '{owner.__name__}' has no attribute '{name}'", name=name, obj=owner)
        if written is not NULL:
            return written
        value = getattr(owner, name)
        if is_ours(owner.__dict__) or owner.__name__.partition(".")[0] in _PLAIN_MODULES or name not in owner.__dict__:
            return value
        return world.bring(value, world.place(P.ITEM, world.constant(owner.__dict__), name))
    if isinstance(owner, type):
        return _class_attribute(machine, owner, name)
    if isinstance(owner, _FUNCTION):
        world.know_closure(owner)
        return getattr(owner, name)
    cls = type(owner)
    if isinstance(owner, tuple) and cls is not tuple:
        return _tuple_attribute(machine, owner, cls, name)
    if cls is super:
        return _super_attribute(machine, owner, name)
    if is_constant(owner) or cls in _CONTAINERS or isinstance(owner, _CALLABLES) or cls.__module__ == "builtins":
        return getattr(owner, name)
    return _object_attribute(machine, owner, cls, name)


_PLAIN_MODULES = frozenset(
    ("math", "operator", "itertools", "functools", "collections", "builtins", "typing", "types", "numpy", "contextlib", "copy", "dataclasses", "enum", "abc")
)


def _tensor_attribute(machine, owner, name):
    if name in ("__dict__", "__weakref__"):
        raise Break(f"Tensor.{name}")
    written = machine.world.written_attribute(owner, name)
    if written is not NULL:
        return written
    if name == "__class__":
        return type_of(machine, owner)
    if lookup(type(owner), name) is _missing and machine.world.tensor_places.get(id(owner)) is not None:
        outside = next(value for fake, value, _ in machine.world.tensors if fake is owner)
        if name in outside.__dict__:
            place = machine.world.place(P.ATTR, machine.world.tensor_places[id(owner)], name)
            return machine.world.bring(outside.__dict__[name], place)
    found = getattr(owner, name)
    if isinstance(found, Tensor) and name in instance_dict(owner) and not machine.world.tracer.knows(found):
        machine.world.tracer.node(getattr, (owner, name), {}, found)
    return found


def _tuple_attribute(machine, owner, cls, name):
    found = lookup(cls, name)
    if type(found) is property:
        return call(machine, found.fget, (owner,), {})
    return getattr(owner, name)


def _super_attribute(machine, owner, name):
    cls, obj = owner.__thisclass__, owner.__self__
    kind = owner.__self_class__
    mro = kind.__mro__
    for base in mro[mro.index(cls) + 1 :]:
        if name in base.__dict__:
            found = base.__dict__[name]
            if isinstance(found, property):
                return call(machine, found.fget, (obj,), {})
            return getattr(owner, name)
    return getattr(owner, name)


def _class_attribute(machine, owner, name):
    found = lookup(owner, name)
    if found is _missing or owner.__module__ == "builtins" or type(found) in (_FUNCTION, staticmethod, classmethod, *_NATIVE):
        return getattr(owner, name)
    meta = lookup(type(owner), name)
    if type(meta) is property:
        return call(machine, meta.fget, (owner,), {})
    if hasattr(type(found), "__get__") and not isinstance(found, (type, *_CALLABLES)):
        return getattr(owner, name)
    if owner.__module__.partition(".")[0] == "cresset" or is_generated(owner):
        return found
    world = machine.world
    written = world.written_attribute(owner, name)
    if written is not NULL:
        return written
    return world.bring(found, world.place(P.TYPE_ATTR, world.constant(owner), name))


def is_generated(cls):
    """Whether a class is an enumeration or a named tuple, whose attributes do not change."""
    return type(cls).__name__ == "EnumType" or (issubclass(cls, tuple) and hasattr(cls, "_fields"))


def instance_dict(owner):
    """The dict of an object; empty for one that has none."""
    try:
        return object.__getattribute__(owner, "__dict__")
    except AttributeError:
        return {}


def _object_attribute(machine, owner, cls, name, plain=False):
    world = machine.world
    if name == "__class__":
        return cls
    place = world.origin(owner)
    written = world.written_attribute(owner, name)
    if written is DELETED:
        raise AttributeError(f"'{cls.__name__}' object has no attribute '{name}'", name=name, obj=owner)
    if written is not NULL:
        return written
    reader = lookup(cls, "__getattribute__")
    if type(reader) is _FUNCTION and not plain:
        try:
            return call(machine, reader, (owner, name), {})
        except AttributeError:
            other = lookup(cls, "__getattr__")
            if type(other) is not _FUNCTION:
                raise
            return call(machine, other, (owner, name), {})
    found = lookup(cls, name)
    if type(found) is property:
        if found.fget is None:
            raise AttributeError(f"property '{name}' of '{cls.__name__}' object has no getter", name=name, obj=owner)
        return call(machine, found.fget, (owner,), {})
    if type(found) is types.MemberDescriptorType and place is not None:
        value = found.__get__(owner, cls)
        return world.bring(value, world.place(P.MEMBER, place, found))
    if type(found) is functools.cached_property and name not in instance_dict(owner):
        value = call(machine, found.func, (owner,), {})
        set_plainly(machine, owner, name, value)
        return value
    own = instance_dict(owner)
    if name == "__dict__":
        return own if place is None else world.bring(own, world.place(P.DICT, place))
    if found is not _missing and hasattr(type(found), "__set__") and type(found) is not types.MemberDescriptorType:
        return _described(machine, owner, cls, found, name)
    if name in own:
        if place is None:
            return own[name]
        return world.bring(own[name], world.place(P.ATTR, place, name))
    if found is not _missing:
        return _from_class(machine, owner, cls, found, name)
    if isinstance(owner, _MODULE) and place is not None:
        value = _module_attribute(machine, owner, place, own, name)
        if value is not _missing:
            return value
    other = _missing if plain else lookup(cls, "__getattr__")
    if type(other) is _FUNCTION and not (isinstance(owner, _MODULE) and is_ours(other.__globals__)):
        return call(machine, other, (owner, name), {})
    if place is not None:
        world.check(P.MISSING, world.place(P.ATTR, place, name))
    return getattr(owner, name) if place is None and not plain else _no_attribute(owner, cls, name)


def _no_attribute(owner, cls, name):
    raise AttributeError(f"'{cls.__name__}' object has no attribute '{name}'", name=name, obj=owner)


def _described(machine, owner, cls, found, name):
    getter = lookup(type(found), "__get__")
    if type(getter) is _FUNCTION:
        return call(machine, getter, (found, owner, cls), {})
    if machine.world.origin(owner) is not None and not isinstance(owner, BaseException):
        raise Break(f"{cls.__qualname__}.{name}, which is computed in C from an object outside of the frame")
    return getattr(owner, name)


def _guard_class_attribute(world, owner, cls, found, name):
    """An object of a class of the program still has nothing of its own by this name, nor its class anything else."""
    place = world.origin(owner)
    if place is None or not cls.__dictoffset__ or (getattr(found, "__module__", None) or cls.__module__).partition(".")[0] == "cresset":
        return
    own = world.place(P.ATTR, place, name)
    if own not in world.hidden:
        world.hidden.add(own)
        world.check(P.MISSING, own)
        world.check(P.IS, world.place(P.TYPE_ATTR, world.place(P.TYPE, place), name), found)


def _from_class(machine, owner, cls, found, name):
    world = machine.world
    if type(found) in (_FUNCTION, staticmethod, classmethod) or is_constant(found):
        _guard_class_attribute(world, owner, cls, found, name)
    if type(found) is _FUNCTION:
        return _METHOD(found, owner)
    if type(found) is staticmethod:
        return found.__func__
    if type(found) is classmethod:
        return _METHOD(found.__func__, cls)
    if type(found) in _NATIVE:
        return getattr(owner, name)
    getter = lookup(type(found), "__get__")
    if type(getter) is _FUNCTION:
        return call(machine, getter, (found, owner, cls), {})
    if getter is not _missing or cls.__module__.partition(".")[0] == "cresset":
        return getattr(owner, name)
    return world.bring(
        found, world.place(P.TYPE_ATTR, world.place(P.TYPE, world.origin(owner)) if world.origin(owner) is not None else world.constant(cls), name)
    )


def _module_attribute(machine, owner, place, own, name):
    """A parameter, buffer or child of a module from outside."""
    world = machine.world
    for table in ("_parameters", "_buffers", "_modules"):
        held = own.get(table)
        if held is None:
            continue
        known = world.twins.get(id(held))
        if known is not None:  # the frame has looked at the table as a whole, and may have changed it
            if name in known[1]:
                return known[1][name]
        elif name in held:
            return world.bring(held[name], world.place(P.ITEM, world.place(P.ATTR, place, table), name))
    return _missing


def has_attribute(machine, owner, name):
    """`hasattr(owner, name)`."""
    try:
        get_attribute(machine, owner, name)
    except AttributeError:
        return False
    return True


def set_attribute(machine, owner, name, value):
    """`owner.name = value`."""
    world = machine.world
    if isinstance(owner, Tensor):
        if lookup(Tensor, name) is not _missing:
            raise Break(f"Tensor.{name} is set")
        world.write_attribute(owner, name, value)
        return
    cls = type(owner)
    if type(owner) is types.ModuleType and not is_ours(owner.__dict__):
        world.write_global(owner.__dict__, name, value)
        return
    if isinstance(owner, (type, types.ModuleType)):
        raise Break(f"an attribute of {owner!r} is set")
    if isinstance(owner, _FUNCTION) and world.origin(owner) is None and id(owner) not in world.made_functions:
        raise Break("an attribute of a function is set")
    setter = lookup(cls, "__setattr__")
    if type(setter) is _FUNCTION:
        if isinstance(owner, _MODULE) and is_ours(setter.__globals__):
            _set_on_module(machine, owner, cls, name, value)
        else:
            call(machine, setter, (owner, name, value), {})
        return
    set_plainly(machine, owner, name, value)


def set_plainly(machine, owner, name, value):
    """`object.__setattr__(owner, name, value)`."""
    world, cls = machine.world, type(owner)
    found = lookup(cls, name)
    if type(found) is property:
        if found.fset is None:
            raise AttributeError(f"property '{name}' of '{cls.__name__}' object has no setter")
        call(machine, found.fset, (owner, value), {})
        return
    if found is not _missing and type(lookup(type(found), "__set__")) is _FUNCTION:
        call(machine, lookup(type(found), "__set__"), (found, owner, value), {})
        return
    if world.origin(owner) is None:
        object.__setattr__(owner, name, value)
    else:
        world.write_attribute(owner, name, value)


def _set_on_module(machine, owner, cls, name, value):
    world, place = machine.world, machine.world.origin(owner)
    if place is None:
        setattr(owner, name, value)
        return
    own = instance_dict(owner)
    if name in own["_buffers"] and (value is None or isinstance(value, Tensor)):
        table = world.bring(own["_buffers"], world.place(P.ATTR, place, "_buffers"))
        table[name] = value
        return
    if isinstance(value, (torch.nn.Parameter, _MODULE)) or name in own["_parameters"] or name in own["_modules"]:
        raise Break(f"the parameter or child {name} of a module is replaced")
    set_plainly(machine, owner, name, value)


def delete_attribute(machine, owner, name):
    """`del owner.name`."""
    world = machine.world
    get_attribute(machine, owner, name)
    if isinstance(owner, (Tensor, type, types.ModuleType, _MODULE)) or python_method(owner, "__delattr__"):
        raise Break("an attribute is deleted")
    if world.origin(owner) is None:
        delattr(owner, name)
    else:
        world.write_attribute(owner, name, DELETED)


# ---- calls ------------------------------------------------------------------------------------------------------------------


def call(machine, function, args, kwargs):
    """`function(*args, **kwargs)`."""
    if config.reorderable_logging_functions and function in config.reorderable_logging_functions:
        machine.world.later.append((function, args, kwargs))
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
    if kind is _FUNCTION:
        return call_function(machine, function, args, kwargs)
    if kind is _METHOD and isinstance(function.__self__, Tensor) and function.__name__ in _HOOKS and not machine.world.tracer.in_region:
        from .hooks import register

        return register(machine, function.__self__, function.__name__, *args, **kwargs)
    if kind is _METHOD and isinstance(function.__self__, Tensor) and function.__name__ in LEAVES and function.__name__ != "tolist":
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


def referent(machine, reference):
    """`reference()` of a weak reference."""
    place, value = machine.world.origin(reference), reference()
    return value if place is None else machine.world.bring(value, machine.world.place(P.REFERENT, place))


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
#: Modules of the package whose Python is executed like a program's.
_SEEN_THROUGH = (
    "cresset.nn.modules",
    "cresset.nn.parallel",
    "cresset.vision",
    "cresset.optim",
    "cresset.distributions",
    "cresset.utils.data",
    "cresset._dynamo.testing",
)


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


_DECORATORS = ("cresset._core.modes", "cresset.amp.autocast_mode", "cresset._dynamo.eval_frame", "cresset.autograd.grad_mode")


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
    if cls is functools.partial:
        return functools.partial(*args, **kwargs)
    meta_call = lookup(type(cls), "__call__")
    if type(meta_call) is _FUNCTION:
        if type(cls).__name__ == "EnumType":
            return cls(*args, **kwargs)
        if not type(cls).__module__.startswith(("cresset", "abc", "typing")):
            return call(machine, meta_call, (cls, *args), kwargs)
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
        made = call(machine, maker, (cls, *args), kwargs)
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
        call(machine, starter, (made, *args), kwargs)
    return made


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
        if isinstance(value, Tensor):
            return cls(*args, **kwargs)
        special = {int: ("__int__", "__index__"), float: ("__float__",), str: ("__str__", "__repr__"), complex: ("__complex__",)}.get(cls, ())
        for name in special:
            own = python_method(value, name)
            if own is not None:
                return call(machine, own, (value,), {})
        if cls is not str:
            must_be_known(machine, value, f"{cls.__name__}()")
        if cls is str and not is_constant(value) and not isinstance(value, (*_CONTAINERS, BaseException, *_CALLABLES)):
            raise Break("the text of an object")
    return cls(*args, **kwargs)


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
    if type(value).__name__ == "Generator" and type(value).__module__.startswith("cresset._dynamo"):
        return types.GeneratorType
    return type(value)


def callback(machine, function):
    """A function that native code may call: Python functions of the program are executed within the capture."""
    if isinstance(function, (_FUNCTION, _METHOD, functools.partial)) or (callable(function) and type(lookup(type(function), "__call__")) is _FUNCTION):
        return machine.world.stands_for(lambda *args, **kwargs: call(machine, function, args, kwargs), function)
    return function


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


def _filled(cell):
    try:
        cell.cell_contents  # noqa: B018  it raises where nothing is there
    except ValueError:
        return False
    return True


def _stays_outside(machine, owner):
    """Whether an object lies outside and is not a copy of what does."""
    known = machine.world.twins.get(id(owner))
    return known is not None and known[0] is owner and known[1] is owner


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


def _lies_outside(machine, value):
    if (
        value is None
        or isinstance(value, (Tensor, types.ModuleType, type, tuple))
        or type(value) in _CONTAINERS
        or isinstance(value, _CALLABLES)
        or is_constant(value)
    ):
        return False
    return machine.world.origin(value) is not None


def is_of_package(function):
    """Whether a function, or what it is a method of, is the package's."""
    module = (function.__globals__.get("__name__") if type(function) is _FUNCTION else getattr(function, "__module__", None)) or ""
    if not isinstance(module, str):
        module = ""
    return type(function) in (type(torch.add), type(Tensor.add)) or isinstance(getattr(function, "__self__", None), Tensor) or module.partition(".")[0] in (
        "cresset", "_cresset", "_cresset_graph") or type(function).__module__.partition(".")[0] in ("cresset", "_cresset")  # fmt: skip


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
            cls.__module__.partition(".")[0] in _PURE_MODULES or (isinstance(owner, type) and issubclass(owner, (tuple, dict, list, set))) or _made_here(owner)
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


def _name_of(function):
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or type(function).__qualname__
    return f"{module}.{name}" if isinstance(module, str) and module != "builtins" else name


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


HANDLERS = {}
del inspect
