"""Operators, items, truth and iteration of a captured frame."""

import collections
import operator

from _cresset import Tensor

from .arrays import beside
from .attributes import get_attribute
from .objects import _CONTAINERS, _FUNCTION, _missing, _must_be_inside, _own_code, as_key, lookup, must_be_known, python_method
from .record import is_array, plain_number

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
    if is_array(b) and isinstance(a, Tensor):
        b = beside(b, a)
    elif is_array(a) and isinstance(b, Tensor):
        a = beside(a, b)
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
            result = machine.invoke(found, (left, right), {}) if type(found) is _FUNCTION else found(left, right)
            if result is not NotImplemented:
                return result
    if name in ("eq", "ne"):
        return (a is b) == (name == "eq")
    raise TypeError(f"unsupported operand type(s) for {name}: '{type(a).__name__}' and '{type(b).__name__}'")


def unary(machine, function, name, a):
    """`-a` and the like."""
    if isinstance(a, Tensor):
        return machine.world.tracer.operator(function, a)
    own = python_method(a, name)
    if own is not None:
        return machine.invoke(own, (a,), {})
    must_be_known(machine, a, "an operator")
    return function(a)


def truth(machine, value):
    """Whether a value is true."""
    if value is True or value is False or value is None:
        return value is True
    own = python_method(value, "__bool__")
    if own is not None:
        return bool(machine.invoke(own, (value,), {}))
    if lookup(type(value), "__bool__") is _missing:
        own = python_method(value, "__len__")
        if own is not None:
            return bool(machine.invoke(own, (value,), {}))
    if type(value) not in _CONTAINERS and any(lookup(type(value), name) is not _missing for name in ("__bool__", "__len__")):
        must_be_known(machine, value, "the truth")
    return bool(value)


def contains(machine, box, item):
    """`item in box`."""
    item = as_key(item) if isinstance(box, (dict, set, frozenset)) else item
    own = python_method(box, "__contains__")
    if own is not None:
        return truth(machine, machine.invoke(own, (box, item), {}))
    if type(box) in (list, tuple) and isinstance(item, Tensor):
        return any(one is item for one in box) or operator.contains(box, item)
    if type(box) not in _CONTAINERS and not isinstance(box, Tensor) and python_method(box, "__iter__"):
        return any(binary(machine, operator.eq, one, item) for one in items_of(machine, box))
    must_be_known(machine, box, "what it contains")
    return item in box


def get_item(machine, box, key):
    """`box[key]`."""
    key = as_key(key) if isinstance(box, dict) else key
    if isinstance(box, Tensor):
        return machine.world.tracer.operator(operator.getitem, box, key)
    own = python_method(box, "__getitem__")
    if own is not None:
        return machine.invoke(own, (box, key), {})
    if isinstance(box, type):
        return box[key]
    if not isinstance(box, tuple) and type(box) not in _CONTAINERS:
        _must_be_inside(machine, box, "an item is read")
    if type(box) is collections.defaultdict and key not in box and box.default_factory is not None:
        box[key] = value = machine.invoke(box.default_factory, (), {})
        return value
    return box[operator.index(key) if isinstance(key, Tensor) and not isinstance(box, dict) else key]


def set_item(machine, box, key, value):
    """`box[key] = value`."""
    key = as_key(key) if isinstance(box, dict) else key
    if isinstance(box, Tensor):
        machine.world.tracer.operator(operator.setitem, box, key, value)
        return
    own = python_method(box, "__setitem__")
    if own is not None:
        machine.invoke(own, (box, key, value), {})
        return
    if not isinstance(box, Tensor) and type(box) not in _CONTAINERS:
        _must_be_inside(machine, box, "an item is set")
    box[key] = value


def delete_item(machine, box, key):
    """`del box[key]`."""
    key = as_key(key) if isinstance(box, dict) else key
    own = python_method(box, "__delitem__")
    if own is not None:
        machine.invoke(own, (box, key), {})
        return
    if type(box) not in _CONTAINERS:
        _must_be_inside(machine, box, "an item is deleted")
    del box[key]


def iterator(machine, value):
    """`iter(value)`."""
    own = python_method(value, "__iter__")
    if own is not None and not isinstance(value, tuple):
        return machine.invoke(own, (value,), {})
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
        return machine.invoke(own, (value,), {})
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
    keys = machine.invoke(get_attribute(machine, value, "keys"), (), {})
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
