"""The code that runs after a graph: it makes the values of a frame from the graph's results, and does what the frame has done to the outside."""

import collections
import functools
import operator
import types
import weakref

import _cresset_compile
from _cresset import Tensor

import cresset as torch

from ..._subclasses.fake_tensor import is_fake
from . import places as P
from .chance import is_generator
from .hooks import Handle
from .machine import Generator
from .record import is_array, is_numpy_scalar
from .shapes import is_symbol
from .signals import Break
from .world import _CALLABLES, DELETED, NULL, Raw, is_constant

_ITERATORS = tuple(
    type(value)
    for value in (iter([]), iter(()), iter(range(0)), iter({}), iter({}.values()), iter({}.items()), iter(set()), iter(""), reversed([]), zip(), enumerate(()), map(len, ()), filter(None, ()))
)  # fmt: skip
_LOOK_UPS = (operator.attrgetter, operator.itemgetter, operator.methodcaller)


class Rebuilder:
    """Writes a function `after(o, s)` of the graph's results and of values at places."""

    def __init__(self, world):
        self.world, self.lines, self.names = world, [], {}
        self.outputs = []  # fake tensors that the graph gives
        self.sources = []  # places
        self.constants = []
        self._by_constant = {}
        self.keep = []

    # ---- pieces -----------------------------------------------------------------------------------------------------------

    def constant(self, value):
        """Text of an object that the code keeps."""
        key = id(value)
        if key not in self._by_constant:
            self._by_constant[key] = len(self.constants)
            self.constants.append(value)
        return f"c[{self._by_constant[key]}]"

    def source(self, place):
        """Text of what is at a place when the code runs."""
        if place not in self.sources:
            self.sources.append(place)
        return f"s[{self.sources.index(place)}]"

    def name(self, value, text=None):
        """A variable for a value, set to `text`."""
        name = f"v{len(self.names)}"
        self.names[id(value)] = name
        self.keep.append(value)
        if text is not None:
            self.lines.append(f"{name} = {text}")
        return name

    def text(self, value):
        """An expression for an inside value."""
        if value is NULL:
            return self.constant(NULL)
        if type(value) is Raw:
            return self.source(value.place)
        if value is None or value is True or value is False or (type(value) in (int, str) and len(repr(value)) < 40):
            return repr(value)
        if id(value) in self.names:
            return self.names[id(value)]
        if is_symbol(value):
            return self._symbol(value)
        if isinstance(value, Tensor):
            return self._tensor(value)
        place = self.world.origin(value)
        if place is not None:
            return self.source(place)
        if is_constant(value) or value is NotImplemented:
            return self.constant(value)
        return self._made(value)

    def _symbol(self, value):
        text = self.world.shapes.expression(value, self.source, self.constant)
        if text is not None:
            return self.name(value, text)
        self.outputs.append(value)
        return self.name(value, f"o[{len(self.outputs) - 1}]")

    def _tensor(self, value):
        place = self.world.tensor_places.get(id(value))
        if place is not None:
            return self.name(value, self.source(place))
        self.world.tracer.node_of(value)
        self.outputs.append(value)
        return self.name(value, f"o[{len(self.outputs) - 1}]")

    def _made(self, value):
        kind = type(value)
        maker = _MAKERS.get(kind)
        if maker is not None:
            return maker(self, value)
        if id(value) in self.world.stand_ins:
            return self.text(self.world.stand_ins[id(value)][1])
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if is_array(value):
            return self.name(value, f"{self.text(value.tensor)}.detach().numpy(){'[()]' if value.scalar else ''}")
        if is_numpy_scalar(value):
            return self.constant(value)
        if is_generator(value):
            name = self.name(value, f"{self.constant(kind)}()")
            self.lines.append(f"{name}.setstate({self.constant(value.getstate())})")
            return name
        owner = (
            getattr(value, "__self__", None)
            if isinstance(value, (types.BuiltinMethodType, types.MethodWrapperType, type(torch.add), type(Tensor.add)))
            else None
        )
        if isinstance(owner, Tensor):
            return self.name(value, f"{self.text(owner)}.{value.__name__}")
        if isinstance(owner, (list, dict, set, collections.deque)) or (owner is not None and self.world.origin(owner) is not None):
            return self._bound(value, owner)
        if isinstance(value, _CALLABLES) or kind.__name__ == "cython_function_or_method":
            return self.constant(value)
        if kind.__module__ in ("numpy", "numpy.dtypes") and kind.__name__.startswith(("ndarray", "dtype")):
            return self.name(value, f"{self.constant(value)}.copy()") if kind.__name__ == "ndarray" else self.constant(value)
        if kind in _ITERATORS or kind in _LOOK_UPS or kind.__module__ == "itertools":
            return self._reduced(value)
        if isinstance(value, Handle):
            return self._hook(value)
        if kind is weakref.ReferenceType:
            if value() is None:
                raise Break("a weak reference to something that is gone leaves the graph")
            return self.name(value, f"{self.constant(weakref.ref)}({self.text(value())})")
        if kind is torch.Size or (isinstance(value, tuple) and hasattr(kind, "n_sequence_fields")):
            return self.name(value, f"{self.constant(kind)}({self._items(value)})")
        if isinstance(value, tuple):
            return self.name(value, f"tuple.__new__({self.constant(kind)}, {self._items(value)})")
        if isinstance(value, BaseException):
            return self._exception(value)
        if isinstance(value, Generator):
            return self._generator(value)
        return self._object(value, kind)

    def _bound(self, value, owner):
        """A method written in C, of the class that it was taken from: `super().get` is not the object's own `get`."""
        for cls in type(owner).__mro__:
            found = cls.__dict__.get(value.__name__)
            if hasattr(type(found), "__get__") and not isinstance(found, types.FunctionType) and found.__get__(owner) == value:
                return self.name(value, f"{self.constant(found)}.__get__({self.text(owner)})")
        raise Break(f"the method {value.__name__} of an object of {type(owner).__qualname__} leaves the graph")

    def _items(self, values):
        return "(" + "".join(f"{self.text(value)}, " for value in values) + ")"

    def _list(self, value):
        name = self.name(value)
        at = len(self.lines)
        self.lines.append("")
        if any(not is_constant(item) and not isinstance(item, Tensor) for item in value):  # it may hold itself
            self.lines[at] = f"{name} = []"
            self.lines.append(f"{name}.extend({self._items(value)})")
        else:
            items = ", ".join(self.text(item) for item in value)
            self.lines[at] = "pass"
            self.lines.append(f"{name} = [{items}]")
        return name

    def _tuple(self, value):
        return self.name(value, self._items(value))

    def _dict(self, value):
        kind = type(value)
        if kind is collections.defaultdict:
            name = self.name(value, f"{self.constant(kind)}({self.text(value.default_factory)})")
        else:
            name = self.name(value, "{}" if kind is dict else f"{self.constant(kind)}()")
        for key, item in value.items():
            self.lines.append(f"{name}[{self.text(key)}] = {self.text(item)}")
        return name

    def _set(self, value):
        return self.name(value, f"{type(value).__name__}({self._items(value)})")

    def _deque(self, value):
        return self.name(value, f"{self.constant(collections.deque)}({self._items(value)}, {value.maxlen!r})")

    def _slice(self, value):
        return self.name(value, f"slice({self.text(value.start)}, {self.text(value.stop)}, {self.text(value.step)})")

    def _method(self, value):
        return self.name(value, f"{self.constant(types.MethodType)}({self.text(value.__func__)}, {self.text(value.__self__)})")

    def _partial(self, value):
        words = "".join(f", {key}={self.text(item)}" for key, item in value.keywords.items())
        return self.name(value, f"{self.constant(functools.partial)}({self.text(value.func)}, *{self._items(value.args)}{words})")

    def _cell(self, value):
        known = self.world.cells.get(id(value))
        if known is not None:
            return self.name(value, self.source(known[1]))
        name = self.name(value, f"{self.constant(types.CellType)}()")
        try:
            contents = value.cell_contents
        except ValueError:
            return name
        self.lines.append(f"{name}.cell_contents = {self.text(contents)}")
        return name

    def _function(self, value):
        if id(value) not in self.world.made_functions:
            if _holds_fakes(value):
                raise Break("a function that holds tensors of the graph leaves it")
            return self.constant(value)
        closure = self._items(value.__closure__) if value.__closure__ else "None"
        defaults = self._items(value.__defaults__) if value.__defaults__ else "None"
        make = self.constant(types.FunctionType)
        name = self.name(value, f"{make}({self.constant(value.__code__)}, {self.constant(value.__globals__)}, {value.__name__!r}, {defaults}, {closure})")
        self.lines.append(f"{name}.__qualname__ = {value.__qualname__!r}")
        if value.__kwdefaults__:
            self.lines.append(f"{name}.__kwdefaults__ = {self.text(value.__kwdefaults__)}")
        for key, item in value.__dict__.items():
            self.lines.append(f"{name}.__dict__[{key!r}] = {self.text(item)}")
        return name

    def _reduced(self, value):
        made = value.__reduce__()
        function, args, *state = made
        name = self.name(value, f"{self.constant(function)}(*{self._items(args)})")
        if state and state[0] is not None:
            self.lines.append(f"{name}.__setstate__({self.text(state[0])})")
        return name

    def _exception(self, value):
        name = self.name(value, f"{self.constant(type(value))}(*{self._items(value.args)})")
        for key, item in value.__dict__.items():
            self.lines.append(f"{name}.__dict__[{key!r}] = {self.text(item)}")
        return name

    def _generator(self, value):
        if value.started or value.finished:
            raise Break("a generator that has begun leaves the graph")
        words = "".join(f", {key}={self.text(item)}" for key, item in value.kwargs.items())
        return self.name(value, f"{self.text(value.function)}(*{self._items(value.args)}{words})")

    def _object(self, value, kind):
        if kind.__flags__ & (1 << 9) == 0 or isinstance(value, torch.nn.Module):
            raise Break(f"an object of {kind.__qualname__} leaves the graph")
        base = next(b for b in kind.__mro__ if not b.__flags__ & (1 << 9))
        if base in (dict, collections.OrderedDict, list):
            return self._container_object(value, kind, base)
        if base is not object:
            raise Break(f"an object of {kind.__qualname__}, a subclass of {base.__qualname__}, leaves the graph")
        name = self.name(value, f"object.__new__({self.constant(kind)})")
        for key, item in getattr(value, "__dict__", {}).items():
            self.lines.append(f"{name}.__dict__[{key!r}] = {self.text(item)}")
        for cls in kind.__mro__:
            for key, member in cls.__dict__.items():
                if type(member) is types.MemberDescriptorType and hasattr(value, key):
                    self.lines.append(f"object.__setattr__({name}, {key!r}, {self.text(getattr(value, key))})")
        return name

    def _container_object(self, value, kind, base):
        name = self.name(value, f"{self.constant(base)}.__new__({self.constant(kind)})")
        if base is list:
            self.lines.append(f"list.extend({name}, {self._items(list.__iter__(value))})")
        else:
            for key in base.keys(value):
                item = base.__getitem__(value, key)
                self.lines.append(f"{self.constant(base)}.__setitem__({name}, {self.text(key)}, {self.text(item)})")
        for key, item in getattr(value, "__dict__", {}).items():
            self.lines.append(f"{name}.__dict__[{key!r}] = {self.text(item)}")
        return name

    # ---- what the frame has done to the outside ---------------------------------------------------------------------------

    def effects(self, idle=()):
        """Writes what was changed: containers, attributes, variables of other functions, globals; not cells at the places `idle`, unless they are read."""
        world = self.world
        for handle in world.hooks:
            if id(handle) not in self.names and not handle.removed:
                self._hook(handle)
        for twin, before, place, _ in world.snapshots:
            self._container(twin, before, place)
        for owner, values in world.attributes.values():
            place = world.tensor_places.get(id(owner)) if isinstance(owner, Tensor) else world.origin(owner)
            where = self.source(place) if place is not None else self.text(owner)
            for name, value in values.items():
                self.lines.append(
                    f"{self.constant(_forget)}({where}, {name!r})" if value is DELETED else self._set_attribute(where, owner, name, self.text(value))
                )
        for place, values, _ in world.global_writes.values():
            where = self.source(place)
            for name, value in values.items():
                self.lines.append(f"{where}.pop({name!r}, None)" if value is DELETED else f"{where}[{name!r}] = {self.text(value)}")
        left = {place: value for key, value in world.cell_writes.items() for place in [world.cells[key][1]]}
        # A cell that is written may hold what reads another.
        while wanted := [place for place in left if place not in idle or place in self.sources]:
            for place in wanted:
                cell, value = self.source(place), left.pop(place)
                self.lines.append(f"del {cell}.cell_contents" if value is DELETED else f"{cell}.cell_contents = {self.text(value)}")
        for function, args, kwargs in world.later:
            self.lines.append(f"{self.constant(function)}(*{self.text(args)}, **{self.text(kwargs)})")

    def _hook(self, handle):
        """The handle of a hook on a tensor from outside, which is registered here."""
        world = self.world
        if handle not in world.hooks or handle.removed:
            raise Break("the handle of a hook on a tensor of the graph leaves it")
        for earlier in world.hooks[: world.hooks.index(handle)]:  # hooks run in the order in which they were registered
            if id(earlier) not in self.names and not earlier.removed:
                self._hook(earlier)
        if id(handle.tensor) in world.tracer.written:
            raise Break("a hook on a tensor that is written to")
        return self.name(handle, f"{self.source(world.tensor_places[id(handle.tensor)])}.{handle.name}({self.text(handle.hook)})")

    def _set_attribute(self, where, owner, name, value):
        if isinstance(owner, Tensor):
            return f"{where}.{name} = {value}"
        return f"object.__setattr__({where}, {name!r}, {value})"

    def _container(self, twin, before, place):
        if type(twin) is list:
            if len(twin) == len(before) and all(a is b for a, b in zip(twin, before, strict=True)):
                return
            # The old items may be among the new ones: they are read first.
            if twin[: len(before)] and len(twin) > len(before) and all(a is b for a, b in zip(twin, before)):
                added = self._items(twin[len(before) :])
                self.lines.append(f"{self.source(place)}.extend({added})")
                return
            items = self._items(twin)
            self.lines.append(f"{self.source(place)}[:] = {items}")
        elif isinstance(twin, dict):
            if list(twin) == list(before) and all(twin[key] is before[key] for key in twin):
                return
            where = self.source(place)
            kept = [key for key in before if key in twin]
            if list(twin)[: len(kept)] == kept:
                for key in before:
                    if key not in twin:
                        self.lines.append(f"dict.__delitem__({where}, {self.text(key)})" if type(twin) is dict else f"del {where}[{self.text(key)}]")
                for key, item in twin.items():
                    if key not in before or before[key] is not item:
                        self.lines.append(f"{where}[{self.text(key)}] = {self.text(item)}")
                return
            pairs = "".join(f"({self.text(key)}, {self.text(item)}), " for key, item in twin.items())
            new = f"w{len(self.lines)}"
            self.lines += [f"{new} = ({pairs})", f"{where}.clear()", f"{where}.update({new})"]
        elif isinstance(twin, collections.deque):
            if len(twin) != len(before) or any(a is not b for a, b in zip(twin, before, strict=True)):
                new, where = f"w{len(self.lines)}", self.source(place)
                items = self._items(twin)
                self.lines += [f"{new} = {items}", f"{where}.clear()", f"{where}.extend({new})"]
        elif isinstance(twin, set):
            if twin != before:
                where = self.source(place)
                self.lines += [f"{where}.clear()", f"{where}.update({self._items(twin)})"]

    def modes(self, before, now):
        """Leaves the modes of the thread as the frame has."""
        if before != now:
            self.lines.append(f"{self.constant(now)}.apply()")

    def finish(self, result):
        """The function, whose code ends with the expression `result`."""
        body = "\n".join(f"    {line}" for line in self.lines)
        text = f"def after(o, s):\n{body}\n    return {result}\n" if body else f"def after(o, s):\n    return {result}\n"
        space = {"c": tuple(self.constants)}
        exec(compile(text, "<torch.compile>", "exec"), space)
        return space["after"], text


def _forget(owner, name):
    """Deletes an attribute, which may be one that the frame alone has set."""
    if name in vars(owner):
        object.__delattr__(owner, name)


def _holds_fakes(function, depth=3):
    """Whether the variables of a function, made by the package while a frame was captured, hold tensors of the capture."""
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        leaves = value if isinstance(value, (list, tuple)) else value.values() if isinstance(value, dict) else (value,)
        for leaf in leaves:
            if isinstance(leaf, Tensor) and is_fake(leaf):
                return True
            if depth and isinstance(leaf, types.FunctionType) and _holds_fakes(leaf, depth - 1):
                return True
    return False


_MAKERS = {
    list: Rebuilder._list, tuple: Rebuilder._tuple, dict: Rebuilder._dict, collections.OrderedDict: Rebuilder._dict, collections.defaultdict: Rebuilder._dict,
    set: Rebuilder._set, frozenset: Rebuilder._set, collections.deque: Rebuilder._deque, slice: Rebuilder._slice, types.MethodType: Rebuilder._method,
    functools.partial: Rebuilder._partial, types.CellType: Rebuilder._cell,
}  # fmt: skip
del _cresset_compile, P
