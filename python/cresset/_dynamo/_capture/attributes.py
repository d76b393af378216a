"""How a captured frame reads, sets and deletes attributes."""

import functools
import types

from _cresset import Tensor

import cresset as torch

from . import places as P
from .objects import _CONTAINERS, _FUNCTION, _METHOD, _MODULE, _NATIVE, _missing, instance_dict, is_generated, lookup, python_method, type_of
from .signals import Break
from .world import DELETED, NULL, _CALLABLES, is_constant, is_ours


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
        return machine.invoke(found.fget, (owner,), {})
    return getattr(owner, name)


def _super_attribute(machine, owner, name):
    cls, obj = owner.__thisclass__, owner.__self__
    kind = owner.__self_class__
    mro = kind.__mro__
    for base in mro[mro.index(cls) + 1 :]:
        if name in base.__dict__:
            found = base.__dict__[name]
            if isinstance(found, property):
                return machine.invoke(found.fget, (obj,), {})
            return getattr(owner, name)
    return getattr(owner, name)


def _class_attribute(machine, owner, name):
    found = lookup(owner, name)
    if found is _missing or owner.__module__ == "builtins" or type(found) in (_FUNCTION, staticmethod, classmethod, *_NATIVE):
        return getattr(owner, name)
    meta = lookup(type(owner), name)
    if type(meta) is property:
        return machine.invoke(meta.fget, (owner,), {})
    if hasattr(type(found), "__get__") and not isinstance(found, (type, *_CALLABLES)):
        return getattr(owner, name)
    if owner.__module__.partition(".")[0] == "cresset" or is_generated(owner):
        return found
    world = machine.world
    written = world.written_attribute(owner, name)
    if written is not NULL:
        return written
    return world.bring(found, world.place(P.TYPE_ATTR, world.constant(owner), name))


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
            return machine.invoke(reader, (owner, name), {})
        except AttributeError:
            other = lookup(cls, "__getattr__")
            if type(other) is not _FUNCTION:
                raise
            return machine.invoke(other, (owner, name), {})
    found = lookup(cls, name)
    if type(found) is property:
        if found.fget is None:
            raise AttributeError(f"property '{name}' of '{cls.__name__}' object has no getter", name=name, obj=owner)
        return machine.invoke(found.fget, (owner,), {})
    if type(found) is types.MemberDescriptorType and place is not None:
        value = found.__get__(owner, cls)
        return world.bring(value, world.place(P.MEMBER, place, found))
    if type(found) is functools.cached_property and name not in instance_dict(owner):
        value = machine.invoke(found.func, (owner,), {})
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
        return machine.invoke(other, (owner, name), {})
    if place is not None:
        world.check(P.MISSING, world.place(P.ATTR, place, name))
    return getattr(owner, name) if place is None and not plain else _no_attribute(owner, cls, name)


def _no_attribute(owner, cls, name):
    raise AttributeError(f"'{cls.__name__}' object has no attribute '{name}'", name=name, obj=owner)


def _described(machine, owner, cls, found, name):
    getter = lookup(type(found), "__get__")
    if type(getter) is _FUNCTION:
        return machine.invoke(getter, (found, owner, cls), {})
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
        return machine.invoke(getter, (found, owner, cls), {})
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
        if name == "data" and isinstance(value, Tensor):
            world.tracer.set_data(owner, value)
            return
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
            machine.invoke(setter, (owner, name, value), {})
        return
    set_plainly(machine, owner, name, value)


def set_plainly(machine, owner, name, value):
    """`object.__setattr__(owner, name, value)`."""
    world, cls = machine.world, type(owner)
    found = lookup(cls, name)
    if type(found) is property:
        if found.fset is None:
            raise AttributeError(f"property '{name}' of '{cls.__name__}' object has no setter")
        machine.invoke(found.fset, (owner, value), {})
        return
    if found is not _missing and type(lookup(type(found), "__set__")) is _FUNCTION:
        machine.invoke(lookup(type(found), "__set__"), (found, owner, value), {})
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


def referent(machine, reference):
    """`reference()` of a weak reference."""
    place, value = machine.world.origin(reference), reference()
    return value if place is None else machine.world.bring(value, machine.world.place(P.REFERENT, place))
