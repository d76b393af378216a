"""The world outside of a captured frame: values are brought in once each, with guards, and what the frame changes out there is kept until the graph has run.

Python values are themselves inside of the capture, but for these: a tensor is a fake one; a container is a copy (a twin) whose items are inside values,
and is compared with what it was at the end; an object that lies outside stays as it is, and attributes that are set are kept in a table.
"""

import collections
import enum
import functools
import linecache
import re
import sys
import types
import typing
import weakref

import _cresset_compile
from _cresset import Tensor

import cresset as torch

from ..._subclasses.fake_tensor import FakeTensorMode, is_fake
from ...utils._pytree import TreeSpec, tree_flatten, tree_unflatten
from .. import config
from . import places as P
from .record import Tracer, _modes_now, is_array_of_numbers, is_numpy_scalar
from .signals import Break, Restart, Skip

NULL = _cresset_compile.NULL
DELETED = type("Deleted", (), {"__repr__": lambda self: "deleted"})()

_EQUAL = (int, float, str, bytes, complex, range)
_IDENTICAL = (type(None), bool, type(Ellipsis), type(NotImplemented), torch.dtype, torch.layout, torch.memory_format)
_CALLABLES = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType,
    types.ModuleType, type, type(torch.add), type(Tensor.add), types.GetSetDescriptorType, types.MemberDescriptorType, types.GenericAlias, types.UnionType,
    type(typing.List), type(typing.List[int]), type(typing.Optional), typing.TypeVar,
)  # fmt: skip

#: Classes of objects whose methods, written in C, change them.
_CHANGED_IN_C = frozenset((list, dict, set, collections.deque, collections.OrderedDict, collections.defaultdict))


class Raw:
    """A variable of the frame, or value of its stack, that nothing has looked at yet."""

    __slots__ = ("place", "value")

    def __init__(self, place, value):
        self.place, self.value = place, value


def is_constant(value):
    """Whether a value is the same inside and outside: a number, text, or a tuple of such."""
    kind = type(value)
    if kind in (tuple, frozenset, torch.Size):  # sizes may be symbols
        return all(is_constant(item) for item in value)
    if kind is slice:
        return is_constant((value.start, value.stop, value.step))
    return isinstance(value, (int, float, str, bytes, complex, torch.dtype, torch.device, torch.layout, torch.memory_format, enum.Enum, range)) and (
        kind in (*_EQUAL, torch.device) or isinstance(value, (enum.Enum, *_IDENTICAL))
    ) or value is None or value is Ellipsis or value is NotImplemented  # fmt: skip


def _takes_over(kind):
    """Whether a class of tensors has operators of its own."""
    return any(name in base.__dict__ for base in kind.__mro__ for name in ("__torch_function__", "__torch_dispatch__") if base not in Tensor.__mro__)


def is_plain_mapping(kind):
    """Whether a subclass of dict keeps its items as a dict does: methods of its own go through those of dict."""
    own = {name for cls in kind.__mro__ if cls.__module__ not in ("builtins", "collections") for name in cls.__dict__}
    return own.isdisjoint(("__iter__", "__len__", "keys", "values", "items", "__contains__", "__getitem__", "__missing__", "__new__", "__delitem__"))


def has_python_code(cls):
    """Whether objects of a class may run Python code of a program: it is not written in C."""
    return bool(cls.__flags__ & (1 << 9)) and cls not in _CALLABLES


class World:
    """The outside of one capture."""

    def __init__(self, frame, shapes=None):
        self.frame = frame  # facts of the frame: settings, function, code
        self.guards = _cresset_compile.Guards()
        self.shapes = shapes  # symbols, where sizes or numbers of the frame are open
        self.fake_mode = FakeTensorMode._of_capture(None if shapes is None else shapes.env)
        if shapes is not None:
            shapes.begin()
        self.seen = {}  # place -> inside value
        self.outside = {}  # place -> outside value
        self.twins = {}  # id of an outside object -> (object, inside value, place)
        self.origins = {}  # id of an inside value -> (value, place)
        self.snapshots = []  # (twin, what it was, place, outside object)
        self.tensor_places = {}  # id of a fake tensor -> place
        self.tensors = []  # (fake, outside tensor, place)
        self.cells = {}  # id of an outside cell -> (cell, place)
        self.cell_writes = {}  # id of a cell -> value
        self.attributes = {}  # id of an outside object -> (object, {name: value})
        self.global_writes = {}  # id of a dict of globals -> (place, {name: value})
        self.made_functions = set()
        self.hooks = []  # handles of hooks on tensors from outside
        self.known_functions = set()  # places of code and defaults that are guarded
        self.transforms = {}  # id of a function that a transform made -> (it, the transform, its arguments)
        self.stand_ins = {}  # id of a function that native code calls within the capture -> (it, what it stands for)
        self.keep = []
        self.handled = []  # errors whose handlers run, the innermost last
        self.where = []  # machines that run, the innermost last
        self.tracer = Tracer(self)
        self.start_modes = _modes_now()
        self.steps, self.stop_at = 0, None
        self.versions = {}  # id of a fake tensor from outside -> its version when it was last accounted for
        self.first_versions = {}  # the same when it was brought in
        self.has_arrays = False  # whether arrays of NumPy's are inputs: nothing tells which of them share memory
        self.shares_memory = False  # whether a tensor that is written shares memory with another
        self.same = set()  # places of objects that must be the same ones
        self.hidden = set()  # places of attributes that objects do not have, though their classes do
        self.stays_whole = False  # whether backends that take graphs apart are to leave it as it is
        self.later = []  # (function, arguments, arguments by name) that are called after the graph
        self.told = False  # whether the frame has asked if it is compiled: it must not run as it is then
        self.has_subclass = False  # whether a tensor is of a class of the program

    # ---- places -----------------------------------------------------------------------------------------------------------

    def place(self, what, parent=-1, key=None, number=0):
        """The number of a place."""
        return self.guards.get(what, parent, key, number)

    def check(self, what, place, value=None, number=0):
        """Adds a guard."""
        self.guards.check(what, place, value, number)

    def constant(self, value):
        """The place of an object that the guards keep: it cannot change which one it is."""
        return self.place(P.CONST, -1, value)

    def name_of(self, place):
        """The name of a place, with the names of the frame's variables."""
        names = self.frame.names
        return re.sub(r"^local (\d+)", lambda m: names[int(m[1])], self.guards.name(place))

    def stack_trace(self):
        """The user's lines that are running, as text."""
        return "".join(
            f'  File "{m.code.co_filename}", line {m.line()}, in {m.code.co_name}\n    {linecache.getline(m.code.co_filename, m.line()).strip()}\n'
            for m in self.where
        )

    def layer(self):
        """The class of the layer of torch.nn whose forward is running; None outside of one."""
        for m in reversed(self.where):
            owner = m.slots[0] if m.code.co_name == "forward" and m.slots else None
            if isinstance(owner, torch.nn.Module) and type(owner).__module__.startswith("cresset.nn.modules"):
                return type(owner)
        return None

    # ---- bringing values in -----------------------------------------------------------------------------------------------

    def bring(self, value, place):
        """The inside value of what is at a place, with guards."""
        if place in self.seen:
            return self.seen[place]
        self.outside[place] = value
        inside = self.seen[place] = self._bring(value, place)
        return inside

    def _bring(self, value, place):
        kind = type(value)
        if kind in _IDENTICAL or isinstance(value, enum.Enum):
            self.check(P.IS, place, value)
            return value
        if kind is int and self.frame.is_open_number(value, self.guards.name(place)):
            self.check(P.OF_TYPE, place, int)
            return self.need_shapes().integer(value, place, self.guards.name(place))
        if kind in _EQUAL or kind is torch.Size or is_numpy_scalar(value):
            self.check(P.EQUAL, place, value)
            return value
        if kind is TreeSpec:  # never changes
            self.check(P.IS, place, value)
            return value
        if isinstance(value, _CALLABLES):
            return self._bring_callable(value, place)
        known = self.twins.get(id(value))
        if known is not None:
            self.check(P.SAME, place, None, known[2])
            return known[1]
        inside = self._bring_object(value, kind, place)
        self.twins[id(value)] = value, inside, place
        if not is_constant(inside):
            self.origins[id(inside)] = inside, place
        return inside

    def _bring_callable(self, value, place):
        if type(value) is types.BuiltinMethodType and type(value.__self__) in _CHANGED_IN_C:
            return self._bring_method_of_container(value, place)
        if isinstance(value, types.FunctionType) and value.__closure__ and "<locals>" in value.__qualname__:
            # Made anew at each call, perhaps: what it does is its code and its cells.
            known = self.twins.get(id(value))
            if known is not None:
                self.check(P.SAME, place, None, known[2])
                return value
            self.check(P.OF_TYPE, place, types.FunctionType)
            self.check(P.IS, self.place(P.CODE, place), value.__code__)
            for i, cell in enumerate(value.__closure__):
                self.cells.setdefault(id(cell), (cell, self.place(P.CLOSURE, place, None, i)))
            self.twins[id(value)] = value, value, place
            self.origins[id(value)] = value, place
            return value
        self.check(P.IS, place, value)
        return value

    def _bring_object(self, value, kind, place):
        if isinstance(value, Tensor):
            return self._bring_tensor(value, place)
        if kind in (list, tuple) or (isinstance(value, tuple) and hasattr(kind, "_fields")):
            return self._bring_sequence(value, kind, place)
        if kind in (dict, collections.OrderedDict, collections.defaultdict) or (isinstance(value, dict) and is_plain_mapping(kind)):
            return self._bring_dict(value, kind, place)
        if kind in (set, frozenset):
            return self._bring_set(value, kind, place)
        if kind is collections.deque:
            return self._bring_deque(value, place)
        if kind is slice:
            self.check(P.EQUAL, place, value)
            return value
        if kind is torch.device:
            self.check(P.OF_TYPE, place, kind)
            raise_if_index = value  # devices are made anew each time: compared by what they are
            return self._bring_device(raise_if_index, place)
        if kind is types.MethodType:
            return self._bring_method(value, place)
        if kind is types.MethodWrapperType and type(value.__self__) in _CHANGED_IN_C:
            return self._bring_method_of_container(value, place)
        if kind is types.CellType:
            self.cells.setdefault(id(value), (value, place))
            return value
        if kind is functools.partial:
            return self._bring_partial(value, place)
        self.check(P.OF_TYPE, place, kind)
        return self._bring_array(value, place) if is_array_of_numbers(value) else value

    def _bring_array(self, value, place):
        """An array of NumPy's, as a tensor over the same memory."""
        from ..._numpy import Array, shared

        self.has_arrays = True
        with self.unwatched():
            tensor = shared(value)
        return Array(self._bring_tensor(tensor, self.place(P.SEEN, place, shared)))

    def _bring_device(self, value, place):
        return value

    def _bring_tensor(self, value, place):
        if is_fake(value):
            raise Skip("a fake tensor is an argument: another capture is running")
        kind = type(value)
        if kind not in (Tensor, torch.nn.Parameter, torch.nn.Buffer):
            self.has_subclass = True
            if kind in config.nontraceable_tensor_subclasses:
                raise Skip(f"a tensor of the class {kind.__name__}, which is one of config.nontraceable_tensor_subclasses")
            if _takes_over(kind):
                if not self.frame.compiler.fullgraph and kind not in config.traceable_tensor_subclasses:  # nothing is gained
                    raise Skip(f"a tensor of the class {kind.__name__}")
                return self._bring_wrapper(value, kind, place)
        if value.layout is not torch.strided:
            raise Skip(f"a tensor of layout {value.layout}")
        self.check(P.OF_TYPE, place, type(value))
        name = self.guards.name(place)
        open_sizes, strict = self.frame.open_sizes(value, name)
        unbacked = getattr(value, "_dynamo_unbacked_indices", ()) if open_sizes else ()
        self.guards.tensor(place, value, tuple([~d if d in unbacked else d for d in open_sizes]), False)
        with self.unwatched():
            fake = self._fake_of(value, name, open_sizes, strict)
        if open_sizes:
            self.shapes.saw_tensor(fake, place)
            chosen = self.shapes.specialized(value, fake)
            self.shapes.strict += [(name, fake, d, value.shape[d]) for d in strict if d not in chosen]
        self.tensor_places[id(fake)] = place
        self.tensors.append((fake, value, place))
        self.versions[id(fake)] = self.first_versions[id(fake)] = fake._version
        return fake

    def _bring_wrapper(self, value, kind, place):
        """A tensor whose class takes operators over: the graph calls them on the tensor itself, and the class runs on fake ones meanwhile."""
        self.check(P.OF_TYPE, place, kind)
        self.guards.tensor(place, value, (), False)
        with self.unwatched():
            fake = self._fake_wrapper(value, kind)
        self.tensor_places[id(fake)] = place
        self.tensors.append((fake, value, place))
        self.versions[id(fake)] = self.first_versions[id(fake)] = fake._version
        return fake

    def _fake_wrapper(self, value, kind):
        if kind in (Tensor, torch.nn.Parameter):
            return self.fake_mode.from_tensor(value)
        if hasattr(kind, "__tensor_flatten__"):
            names, context = value.__tensor_flatten__()
            parts = {name: self._fake_wrapper(getattr(value, name), type(getattr(value, name))) for name in names}
            with self.fake_mode:
                fake = kind.__tensor_unflatten__(parts, context, value.shape, value.stride())
            if value.requires_grad and not value.is_leaf:
                raise Skip(f"a tensor of the class {kind.__name__} with a history")
            return fake.requires_grad_(value.requires_grad)
        if any("__torch_dispatch__" in base.__dict__ for base in kind.__mro__ if base not in Tensor.__mro__) or value.requires_grad:
            raise Skip(f"a tensor of the class {kind.__name__}, which does not say what it holds (__tensor_flatten__)")
        with torch._C.DisableTorchFunctionSubclass():
            return self.fake_mode.from_tensor(value.as_subclass(Tensor)).as_subclass(kind)

    def need_shapes(self):
        """The symbols of the frame; the capture starts again with some where there are none yet."""
        if self.shapes is None:
            raise Restart("symbols")
        return self.shapes

    def _fake_of(self, value, name, open_sizes, strict):
        if open_sizes:
            shapes = self.need_shapes()
            context = shapes.context(name, value, open_sizes, strict)
            made = value.detach() if value.requires_grad and not value.is_leaf else value
            fake = self.fake_mode.from_tensor(made, source=name, static_shapes=False, symbolic_context=context)
            return fake if made is value else fake.requires_grad_(True)
        if value.requires_grad and not value.is_leaf:
            fake = self.fake_mode.from_tensor(value.detach().requires_grad_(True))
            with torch.enable_grad():
                return fake.view_as(fake)
        return self.fake_mode.from_tensor(value)

    def _bring_sequence(self, value, kind, place):
        self.check(P.OF_TYPE, place, kind)
        self.check(P.LENGTH, place, None, len(value))
        items = [self.bring(item, self.place(P.INDEX, place, None, i)) for i, item in enumerate(value)]
        if kind is list:
            return self._twin(items, list(items), place, value)
        return tuple(items) if kind is tuple else tuple.__new__(kind, items)

    def _bring_dict(self, value, kind, place):
        self.check(P.OF_TYPE, place, kind)
        if not all(is_constant(key) or isinstance(key, (*_CALLABLES, torch.nn.Module, Tensor)) for key in value):
            raise Break("a dict whose keys are no numbers, text, classes or tensors")
        self.check(P.KEYS, place, tuple(value))
        twin = kind(value.default_factory) if kind is collections.defaultdict else kind.__new__(kind)
        if getattr(value, "__dict__", None):
            raise Break(f"a dict of {kind.__qualname__} that has attributes")
        for key, item in dict.items(value):
            inside = self.bring(key, self.constant(key)) if isinstance(key, (Tensor, torch.nn.Module)) else key
            item = self.bring(item, self.place(P.ITEM, place, key))
            (collections.OrderedDict if isinstance(twin, collections.OrderedDict) else dict).__setitem__(twin, inside, item)
        return self._twin(twin, dict(twin), place, value)

    def _bring_set(self, value, kind, place):
        if not all(is_constant(item) for item in value):
            raise Break("a set of objects")
        self.check(P.EQUAL, place, kind(value))
        return self._twin(set(value), set(value), place, value) if kind is set else value

    def _bring_deque(self, value, place):
        self.check(P.OF_TYPE, place, collections.deque)
        self.check(P.LENGTH, place, None, len(value))
        items = [self.bring(item, self.place(P.INDEX, place, None, i)) for i, item in enumerate(value)]
        return self._twin(collections.deque(items, value.maxlen), collections.deque(items, value.maxlen), place, value)

    def _bring_method(self, value, place):
        self.check(P.OF_TYPE, place, types.MethodType)
        function = self.bring(value.__func__, self.place(P.FUNCTION, place))
        return types.MethodType(function, self.bring(value.__self__, self.place(P.SELF, place)))

    def _bring_method_of_container(self, value, place):
        self.check(P.OF_TYPE, place, type(value))
        self.check(P.EQUAL, self.place(P.FUNCTION, place), value.__name__)
        return getattr(self.bring(value.__self__, self.place(P.SELF, place)), value.__name__)

    def _bring_partial(self, value, place):
        # Its parts never change: the object is guarded, and they are brought in from it.
        self.check(P.IS, place, value)
        known = lambda part: self.bring(part, self.constant(part))  # noqa: E731
        return functools.partial(known(value.func), *map(known, value.args), **{k: known(v) for k, v in value.keywords.items()})

    def _twin(self, twin, snapshot, place, outside):
        self.snapshots.append((twin, snapshot, place, outside))
        return twin

    # ---- cells, globals ---------------------------------------------------------------------------------------------------

    def read_cell(self, cell, name):
        """The value in a cell."""
        if id(cell) in self.cell_writes:
            value = self.cell_writes[id(cell)]
            if value is DELETED:
                raise NameError(f"free variable '{name}' is not there")
            return value
        known = self.cells.get(id(cell))
        if known is None:
            return cell.cell_contents
        try:
            contents = cell.cell_contents
        except ValueError:
            raise Break(f"the variable {name} has no value yet") from None
        return self.bring(contents, self.place(P.CONTENTS, known[1]))

    def write_cell(self, cell, value):
        """Keeps what a cell from outside is to hold; one from inside holds it."""
        if id(cell) in self.cells:
            self.cell_writes[id(cell)] = value
        else:
            cell.cell_contents = value

    def know_closure(self, function):
        """Cells of a function from outside lie outside."""
        if function.__closure__ and id(function) not in self.made_functions and id(function) not in self.origins:
            for i, cell in enumerate(function.__closure__):
                if id(cell) not in self.cells:
                    self.cells[id(cell)] = cell, self.place(P.CLOSURE, self.constant(function), None, i)

    def know_function(self, function, part=0, value=None):
        """A function of the program still has its code, or with `part` its defaults (1), those of parameters given by name (2)."""
        if id(function) in self.made_functions or id(function) in self.origins or not _may_change(function):
            return
        place = self.place(P.CODE, self.constant(function), None, part)
        if place not in self.known_functions:
            self.known_functions.add(place)
            self.check(P.IS, place, function.__code__ if part == 0 else value)

    def globals_place(self, namespace):
        """The place of a dict of globals."""
        if namespace is self.frame.function.__globals__:
            return self.place(P.GLOBALS)
        return self.constant(namespace)

    def read_global(self, namespace, builtins, name):
        """A global name, else a built-in one."""
        written = self.written_global(namespace, name)
        if written is DELETED:
            raise NameError(f"name '{name}' is not defined", name=name)
        if written is not NULL:
            return written
        if name in namespace:
            value = namespace[name]
            if is_ours(namespace) and (isinstance(value, _CALLABLES) or is_constant(value)):
                return value
            return self.bring(value, self.place(P.ITEM, self.globals_place(namespace), name))
        if not is_ours(namespace):
            place = self.place(P.ITEM, self.globals_place(namespace), name)
            if place not in self.seen:
                self.seen[place] = NULL
                self.check(P.MISSING, place)
        if name in builtins:
            return builtins[name]
        raise NameError(f"name '{name}' is not defined", name=name)

    def written_global(self, namespace, name):
        """The value that a global name was set to; NULL if it was not."""
        known = self.global_writes.get(id(namespace))
        return known[1].get(name, NULL) if known is not None else NULL

    def write_global(self, namespace, name, value):
        """Keeps what a global name is to be."""
        self.global_writes.setdefault(id(namespace), (self.globals_place(namespace), {}, namespace))[1][name] = value

    # ---- objects ----------------------------------------------------------------------------------------------------------

    def origin(self, value):
        """The place of an inside value that lies outside as well; None for what the capture has made."""
        known = self.origins.get(id(value))
        return known[1] if known is not None and known[0] is value else None

    def check_identity(self, value):
        """Guards that an object from outside is this very one."""
        place = self.origin(value)
        if place not in self.same:
            self.same.add(place)
            self.check(P.IS, place, value)

    def written_attribute(self, obj, name):
        """The value that an attribute of an outside object was set to; NULL if it was not."""
        known = self.attributes.get(id(obj))
        return known[1].get(name, NULL) if known is not None else NULL

    def write_attribute(self, obj, name, value):
        """Keeps what an attribute of an outside object is to be."""
        self.attributes.setdefault(id(obj), (obj, {}))[1][name] = value

    def grad_of(self, tensor):
        """`tensor.grad`."""
        known = self.attributes.get(id(tensor))
        if known is not None and "grad" in known[1]:
            return known[1]["grad"]
        place = self.tensor_places.get(id(tensor))
        if place is None:
            return tensor.grad
        outside = next(value for fake, value, _ in self.tensors if fake is tensor)
        with self.unwatched():
            grad = outside.grad
        return self.bring(grad, self.place(P.GRAD, place))

    def constant_result(self, function, args, kwargs):
        """The result of a function that is always the same, as the program says: for tensors from outside, that of the example."""
        outside = {id(fake): held for fake, held, _ in self.tensors}
        leaves, spec = tree_flatten((args, kwargs))
        if any(isinstance(leaf, Tensor) and id(leaf) not in outside for leaf in leaves):
            raise Break("a function of a constant result gets a tensor of the graph")
        args, kwargs = tree_unflatten([outside.get(id(leaf), leaf) for leaf in leaves], spec)
        with self.unwatched():
            value = function(*args, **kwargs)
        return self.bring(value, self.constant(value)) if not is_constant(value) else value

    def stands_for(self, stand_in, value):
        """Notes that a function, which works within the capture only, is `value` outside of it; gives the function."""
        self.stand_ins[id(stand_in)] = stand_in, value
        return stand_in

    def unwatched(self):
        """A scope in which operators are run on data and are not written down."""
        return _Unwatched()

    def note_writes(self):
        """The writes so far are in the graph."""
        for fake, _, _ in self.tensors:
            self.versions[id(fake)] = fake._version

    def check_writes(self):
        """Refuses a capture in which something was written that is not in the graph."""
        for fake, _, _ in self.tensors:
            if fake._version != self.versions[id(fake)]:
                raise Skip("code of the package writes to a tensor in a way that is not seen")

    def close(self):
        """Lets go of what lies outside, which must not live as long as the capture's cycles of references do."""
        for held in (
            self.seen,
            self.outside,
            self.twins,
            self.origins,
            self.snapshots,
            self.tensors,
            self.attributes,
            self.stand_ins,
            self.transforms,
            self.keep,
            self.hooks,
        ):
            held.clear()

    def finish_guards(self):
        """Adds the guards that concern several places."""
        if self.shapes is not None:
            self.shapes.add_guards(self)
        places = [place for _, _, place in self.tensors]
        self.guards.distinct(places)
        written = [i for i, (fake, _, _) in enumerate(self.tensors) if id(fake) in self.tracer.written or fake._version != self.first_versions[id(fake)]]
        self.shares_memory = self.guards.memory(places, [value for _, value, _ in self.tensors], written)
        self.stays_whole |= bool(written) and self.has_arrays


class _Unwatched:
    def __enter__(self):
        import _cresset

        self._modes = []
        while _cresset._modes():
            self._modes.append(_cresset._pop_mode())
        self._fake = _cresset._fake_swap(None)

    def __exit__(self, *error):
        import _cresset

        _cresset._fake_swap(self._fake)
        for mode in reversed(self._modes):
            _cresset._push_mode(mode)


_STEADY = frozenset(("cresset", *sys.stdlib_module_names))


def _may_change(function):
    """Whether a function's code and defaults are a program's, who may replace them: not the package's, not Python's."""
    name = function.__globals__.get("__name__")
    return not isinstance(name, str) or name.partition(".")[0] not in _STEADY


def is_ours(namespace):
    """Whether a dict of globals is that of a module of the package, whose functions and classes do not change."""
    name = namespace.get("__name__")
    return isinstance(name, str) and name.partition(".")[0] == "cresset"


del weakref
