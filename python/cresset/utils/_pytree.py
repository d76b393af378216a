"""Trees of lists, tuples, named tuples and dictionaries: their leaves, their structure, and back."""

import copyreg
import dataclasses
import enum
import json
import sys
import types
import typing
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple

import _cresset

__all__ = [
    "PyTree", "Context", "FlattenFn", "UnflattenFn", "DumpableContext", "ToDumpableContextFn", "FromDumpableContextFn", "PyTreeSpec", "TreeSpec", "LeafSpec",
    "keystr", "key_get", "register_pytree_node", "tree_is_leaf", "tree_flatten", "tree_flatten_with_path", "tree_unflatten", "tree_iter", "tree_leaves",
    "tree_leaves_with_path", "tree_structure", "tree_map", "tree_map_with_path", "tree_map_", "tree_map_only", "tree_map_only_", "tree_all", "tree_any",
    "tree_all_only", "tree_any_only", "treespec_dumps", "treespec_loads", "treespec_pprint", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance",
    "is_structseq", "is_structseq_class", "is_structseq_instance",
]  # fmt: skip


class TreeSpec:
    """The structure of a tree: the container's type, its keys, and the structures within; a leaf has the type None.

    Named tuples have the type `collections.namedtuple` and their class as the context.

    >>> torch.utils._pytree.tree_structure([1, (2, 3)])
    TreeSpec(list, None, [*,
      TreeSpec(tuple, None, [*,
        *])])
    """

    __slots__ = ("type", "_context", "_children", "num_leaves", "num_nodes", "__weakref__")

    def __init__(self, type, context=None, children_specs=()):
        self.__setstate__((type, context, list(children_specs)))

    def __setstate__(self, state):
        self.type, self._context, self._children = state
        self.num_leaves = 1 if self.type is None else sum(child.num_leaves for child in self._children)
        self.num_nodes = 1 + sum(child.num_nodes for child in self._children)

    @property
    def context(self):
        """The container's keys, or what else its class needs besides the children."""
        return self._context

    def is_leaf(self):
        """Whether this is the structure of a value that is no container."""
        return self.type is None

    @property
    def num_children(self):
        """How many children the outermost container has."""
        return len(self._children)

    def children(self):
        """The structures of the children, as a list."""
        return list(self._children)

    @property
    def children_specs(self):
        """The structures of the children; `children()` gives them too, without a warning."""
        warnings.warn("TreeSpec.children_specs: a name of the past; children() gives all, child(index) one of them", FutureWarning, stacklevel=2)
        return list(self._children)

    def child(self, index):
        """The structure of one child."""
        return self._children[index]

    def unflatten(self, leaves):
        """Puts leaves into this structure."""
        return tree_unflatten(leaves, self)

    def flatten_up_to(self, tree):
        """The parts of a tree at the places of this structure's leaves.

        Errors: ValueError where the tree has another structure above them.
        """
        return _up_to(self, tree)

    def __eq__(self, other):
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return self.type is other.type and self._context == other._context and self._children == other._children

    def __hash__(self):
        return hash((self.type, _hashable(self._context), tuple(self._children)))

    def __reduce__(self):
        return copyreg.__newobj__, (TreeSpec,), (self.type, self._context, self._children)

    def __copy__(self):
        return self

    def __repr__(self):
        if self.type is None:
            return "*"
        children = ",\n".join(map(repr, self._children)).replace("\n", "\n  ")
        return f"TreeSpec({self.type.__name__}, {self._context}, [{children}])"


def _hashable(context):
    """Lists and dictionaries of a context as tuples; what has no hash counts by its class alone."""
    if isinstance(context, (list, tuple)):
        return tuple(map(_hashable, context))
    if isinstance(context, dict):
        return tuple((key, _hashable(value)) for key, value in context.items())
    try:
        return hash(context)
    except TypeError:
        return type(context)


_LEAF = TreeSpec(None)
_files = {}  # the names of containers in files, with how to write and read their contexts
_named_children = {}  # container: how to take it apart into pairs of a key and a child
_registered = {}  # container: how to take it apart, and how to put it together
_listeners = []  # called with each class that is registered from now on
CONSTANT_NODES = set()
STANDARD_DICT_TYPES = frozenset((dict, OrderedDict, defaultdict))
BUILTIN_TYPES = STANDARD_DICT_TYPES | {tuple, list, namedtuple, deque}
DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1


def register_pytree_node(
    cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None, from_dumpable_context=None, flatten_with_keys_fn=None
):
    """Make a class a container of trees, as lists and dictionaries are.

    Args:
        cls: the class, whose subclasses are not meant.
        flatten_fn: gives a list of an instance's children and a context that tells the rest.
        unflatten_fn: makes an instance of the children and the context.
        flatten_with_keys_fn: gives pairs of a key and a child, and the context, for `tree_flatten_with_path`.
        serialized_type_name, to_dumpable_context, from_dumpable_context: the name and the context in `treespec_dumps`.

    Errors: ValueError for a class that is a container already, TypeError for what is no class.

    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> torch.utils._pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda children, _: Pair(*children))
    >>> torch.utils._pytree.tree_map(lambda x: 2 * x, Pair(1, 2)).b
    4
    """
    if not isinstance(cls, type):
        raise TypeError(f"register_pytree_node: expected a class, got {type(cls).__name__}")
    if cls in _registered or cls in BUILTIN_TYPES:
        raise ValueError(f"{cls} is a registered pytree node already.")
    _register(cls, flatten_fn, unflatten_fn, serialized_type_name, to_dumpable_context, from_dumpable_context, flatten_with_keys_fn)


def _register(cls, flatten_fn, unflatten_fn, serialized_type_name=None, to_dumpable_context=None, from_dumpable_context=None, flatten_with_keys_fn=None):
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"register_pytree_node of {cls}: to_dumpable_context and from_dumpable_context go together")
    _registered[cls] = flatten_fn, unflatten_fn
    _files[cls] = serialized_type_name, to_dumpable_context, from_dumpable_context
    if flatten_with_keys_fn is not None:
        _named_children[cls] = flatten_with_keys_fn
    for listener in _listeners:
        listener(cls)


def _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs):
    """`register_pytree_node`, by which a class that is registered already is registered anew, with a warning."""
    if cls in _registered:
        warnings.warn(f"register_pytree_node of {cls}: it was registered already, and the new functions take the place of the old ones", stacklevel=2)
    _register(cls, flatten_fn, unflatten_fn, **kwargs)


def _register_pytree_node(cls, flatten_fn, unflatten_fn, to_str_fn=None, maybe_from_str_fn=None, **kwargs):
    """The old name of `register_pytree_node`; functions of texts have no effect."""
    warnings.warn("torch.utils._pytree._register_pytree_node: a name of the past; register_pytree_node does the same", FutureWarning, stacklevel=2)
    if to_str_fn is not None or maybe_from_str_fn is not None:
        warnings.warn("_register_pytree_node: to_str_fn and maybe_from_str_fn have no effect", FutureWarning, stacklevel=2)
    _private_register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs)


def _register_namedtuple(cls, *, serialized_type_name):
    """Give a class of named tuples a name for `treespec_dumps`."""
    _files[cls] = serialized_type_name, None, None


def _parts(tree):
    """The kind of a container, its context and its children; None for a leaf."""
    kind = type(tree)
    if kind in (list, tuple, _cresset.Size):
        return kind, None, list(tree)
    if isinstance(tree, tuple) and kind not in _registered:
        if hasattr(kind, "_fields"):
            return namedtuple, kind, list(tree)
        if kind.__module__ == "cresset.return_types":
            return kind, None, list(tree)
    if kind in (dict, OrderedDict):
        keys = list(tree)
        return kind, keys, [tree[key] for key in keys]
    if kind is defaultdict:
        keys = list(tree)
        return kind, [tree.default_factory, keys], [tree[key] for key in keys]
    if kind is deque:
        return kind, tree.maxlen, list(tree)
    if kind in _registered:
        children, context = _registered[kind][0](tree)
        return kind, context, list(children)
    return None


def tree_flatten(tree, is_leaf=None):
    """Return the leaves of a tree in order, and its structure.

    >>> torch.utils._pytree.tree_flatten({"a": 1, "b": [2, 3]})
    ([1, 2, 3], TreeSpec(dict, ['a', 'b'], [*,
      TreeSpec(list, None, [*,
        *])]))
    """
    leaves = []
    return leaves, _flattened(tree, is_leaf, leaves)


def _flattened(value, is_leaf, leaves):
    """The structure of a tree, whose leaves are put into the list. No function of its own for each call: one that calls itself is a circle, which would hold
    the leaves until the collector comes."""
    parts = None if is_leaf is not None and is_leaf(value) else _parts(value)
    if parts is None:
        leaves.append(value)
        return _LEAF
    kind, context, children = parts
    return TreeSpec(kind, context, [_flattened(child, is_leaf, leaves) for child in children])


def tree_unflatten(leaves, treespec):
    """Put leaves into a structure.

    Errors: ValueError for another number of leaves.

    >>> torch.utils._pytree.tree_unflatten([1, 2], torch.utils._pytree.tree_structure((0, [0])))
    (1, [2])
    """
    treespec, leaves = _own_spec(treespec), list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten: got {len(leaves)} leaves, expected {treespec.num_leaves}")
    return _built(treespec, iter(leaves))


def _built(spec, rest):
    """The tree of a structure, whose leaves come in turn."""
    if spec.type is None:
        return next(rest)
    children = [_built(child, rest) for child in spec._children]
    if spec.type in _registered:
        return _registered[spec.type][1](children, spec.context)
    if spec.type is namedtuple:
        return spec.context(*children)
    if spec.type is defaultdict:
        return defaultdict(spec.context[0], zip(spec.context[1], children, strict=True))
    if spec.type is deque:
        return deque(children, maxlen=spec.context)
    if spec.type is _cresset.Size and not all(isinstance(child, int) for child in children):
        return tuple(children)  # what stands for numbers, as a tracer's places do
    if issubclass(spec.type, dict):
        return spec.type(zip(spec.context, children, strict=True))
    return spec.type(children)


def _own_spec(treespec):
    """The structure, made of one of `torch.utils._cxx_pytree` where it is of that kind. Errors: TypeError for what is no structure."""
    if isinstance(treespec, TreeSpec):
        return treespec
    optree = sys.modules.get("optree")
    if optree is None or not isinstance(treespec, optree.PyTreeSpec):
        raise TypeError(f"expected a TreeSpec, got {type(treespec).__name__}")
    return tree_structure(optree.tree_unflatten(treespec, [0] * treespec.num_leaves))


def tree_leaves(tree, is_leaf=None):
    """Return the leaves of a tree.

    >>> torch.utils._pytree.tree_leaves([1, (2, 3)])
    [1, 2, 3]
    """
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree, is_leaf=None):
    """Return the structure of a tree.

    >>> torch.utils._pytree.tree_structure(1)
    *
    """
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    """Apply a function to the leaves of a tree, or to those and the parts of other trees at their places.

    >>> torch.utils._pytree.tree_map(lambda x, y: x + y, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return tree_unflatten([func(*row) for row in zip(leaves, *map(spec.flatten_up_to, rests), strict=True)], spec)


def _chosen(kind):
    """Whether a leaf is meant by a type, a tuple or union of types, or a condition."""
    if isinstance(kind, (type, tuple, types.UnionType)):
        return lambda leaf: isinstance(leaf, kind)
    if callable(kind):
        return kind
    raise TypeError(f"expected a type, a tuple or union of types, or a function of a leaf, got {type(kind).__name__}")


def map_only(type_or_types_or_pred, /):
    """A decorator: the function gets the leaves of a type, or those for which a condition holds, and others come back as they are.

    >>> torch.utils._pytree.map_only(int)(lambda x: -x)("a")
    'a'
    """
    meant = _chosen(type_or_types_or_pred)
    return lambda func: lambda leaf: func(leaf) if meant(leaf) else leaf


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """Apply a function to the leaves of a type, of one of several, or for which a condition holds, and leave the others.

    >>> torch.utils._pytree.tree_map_only(int, lambda x: -x, [1, "a"])
    [-1, 'a']
    """
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_any(pred, tree, is_leaf=None):
    """Whether a leaf satisfies a condition.

    >>> torch.utils._pytree.tree_any(lambda x: x > 2, [1, (3,)])
    True
    """
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all(pred, tree, is_leaf=None):
    """Whether all leaves satisfy a condition.

    >>> torch.utils._pytree.tree_all(lambda x: x > 2, [1, (3,)])
    False
    """
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_is_leaf(tree, is_leaf=None):
    """Whether a value is no container.

    >>> torch.utils._pytree.tree_is_leaf(1), torch.utils._pytree.tree_is_leaf([1])
    (True, False)
    """
    return (is_leaf is not None and bool(is_leaf(tree))) or _parts(tree) is None


def tree_iter(tree, is_leaf=None):
    """Go through the leaves of a tree.

    >>> sum(torch.utils._pytree.tree_iter([1, (2, 3)]))
    6
    """
    yield from tree_leaves(tree, is_leaf)


def tree_map_(func, tree, *rests, is_leaf=None):
    """Call a function with every leaf, and return the tree as it is.

    >>> torch.utils._pytree.tree_map_(print, [1])
    1
    [1]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    for row in zip(leaves, *map(spec.flatten_up_to, rests), strict=True):
        func(*row)
    return tree


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """Call a function with the leaves of a type, or of one of several, and return the tree as it is.

    >>> torch.utils._pytree.tree_map_only_(int, print, [1, "a"])
    1
    [1, 'a']
    """
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf=is_leaf)
    return tree


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether all leaves of a type satisfy a condition.

    >>> torch.utils._pytree.tree_all_only(int, lambda x: x > 0, [1, "a"])
    True
    """
    return all(map(pred, filter(_chosen(type_or_types), tree_leaves(tree, is_leaf))))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether a leaf of a type satisfies a condition.

    >>> torch.utils._pytree.tree_any_only(int, lambda x: x > 1, [1, "a"])
    False
    """
    return any(map(pred, filter(_chosen(type_or_types), tree_leaves(tree, is_leaf))))


def arg_tree_leaves(*args, **kwargs):
    """The leaves of arguments.

    >>> torch.utils._pytree.arg_tree_leaves(1, [2], a=3)
    [1, 2, 3]
    """
    return tree_leaves([*args, *kwargs.values()])


def _up_to(spec, tree):
    """The parts of a tree at the leaves of a structure."""
    if spec.type is None:
        return [tree]
    parts = _parts(tree)
    kind, context, children = parts if parts is not None else (type(tree), None, [])
    dictionaries = STANDARD_DICT_TYPES.issuperset((spec.type, kind))
    if parts is None or not (kind is spec.type or dictionaries):
        raise ValueError(f"flatten_up_to: expected a {spec.type.__name__}, got {getattr(kind, '__name__', kind)} in {tree!r}")
    if len(children) != len(spec._children):
        raise ValueError(f"flatten_up_to: expected a {spec.type.__name__} of {len(spec._children)}, got one of {len(children)}")
    if dictionaries:
        keys = spec.context[1] if spec.type is defaultdict else spec.context
        if set(keys) != set(tree):
            raise ValueError(f"flatten_up_to: expected the keys {keys}, got {list(tree)}")
        children = [tree[key] for key in keys]
    elif kind is not deque and context != spec.context:
        raise ValueError(f"flatten_up_to: expected a {spec.type.__name__} with {spec.context!r}, got one with {context!r}")
    return [leaf for child, part in zip(spec._children, children, strict=True) for leaf in _up_to(child, part)]


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """The leaves of a tree repeated for all leaves that a structure has below them; None where they do not fit."""
    spec = _own_spec(treespec)
    if tree_is_leaf(tree, is_leaf):
        return [tree] * spec.num_leaves
    kind, context, children = _parts(tree)
    if len(children) != len(spec._children):
        return None
    if STANDARD_DICT_TYPES.issuperset((spec.type, kind)):
        keys = spec.context[1] if spec.type is defaultdict else spec.context
        if set(keys) != set(tree):
            return None
        children = [tree[key] for key in keys]
    elif spec.type is not kind or context != spec.context:
        return None
    found = [_broadcast_to_and_flatten(child, part, is_leaf) for child, part in zip(children, spec._children, strict=True)]
    return None if any(leaves is None for leaves in found) else [leaf for leaves in found for leaf in leaves]


# ---- structures in files, and classes as containers -------------------------------------------------------------------------

_BUILT_IN_NAMES = {f"{kind.__module__}.{kind.__qualname__}": kind for kind in (list, tuple, dict, namedtuple, OrderedDict, defaultdict, deque)}
_BUILT_IN_NAMES["torch.Size"] = _cresset.Size
_NAMES_OF_BUILT_IN = {kind: name for name, kind in _BUILT_IN_NAMES.items()}


def _written(spec):
    """The context of a structure as JSON can hold it. Errors: NotImplementedError for a class of named tuples without a name for files."""
    if spec.type is namedtuple:
        name = _files.get(spec.context, (None,))[0]
        if name is None:
            raise NotImplementedError(f"treespec_dumps: the named tuple {spec.context} has no name for files; _register_namedtuple gives it one")
        return name
    if spec.type is defaultdict:
        factory, keys = spec.context
        owner = None if factory is None else factory.__module__
        return {"default_factory_module": owner, "default_factory_name": owner and factory.__qualname__, "dict_context": keys}
    write = _files.get(spec.type, (None, None))[1]
    return json.dumps(spec.context, cls=EnumEncoder) if write is None else write(spec.context)


def _read(kind, context, kinds):
    """The context of a structure that `_written` wrote. A factory of missing values is a class of a module that is imported already."""
    if kind is namedtuple:
        if context not in kinds:
            raise NotImplementedError(f"treespec_loads: no named tuple is registered as {context!r}")
        return kinds[context]
    if kind is defaultdict and isinstance(context, dict):
        home, name = context["default_factory_module"], context["default_factory_name"]
        factory = None if home is None else getattr(sys.modules.get(home), name, None)
        if home is not None and not isinstance(factory, type):
            raise NotImplementedError(f"treespec_loads: {home}.{name} is no class of a module that is imported")
        return [factory, context["dict_context"]]
    read = _files.get(kind, (None, None, None))[2]
    return json.loads(context, object_hook=enum_object_hook) if read is None else read(context)


class EnumEncoder(json.JSONEncoder):
    """Writes members of enumerations as JSON objects, with the class and the name.

    >>> import enum, json
    >>> json.dumps(enum.Enum("Side", "LEFT RIGHT", module="sides").LEFT, cls=torch.utils._pytree.EnumEncoder)
    '{"__enum__": true, "fqn": "sides:Side", "name": "LEFT"}'
    """

    def default(self, o):
        """The object in place of a value that JSON has no form of."""
        if not isinstance(o, enum.Enum):
            return super().default(o)
        kind = type(o)
        return {"__enum__": True, "fqn": f"{kind.__module__}:{kind.__qualname__}", "name": o.name}


def enum_object_hook(obj):
    """The member of an enumeration that `EnumEncoder` wrote; other objects as they are.

    Errors: ModuleNotFoundError where its module is not imported yet, TypeError where the name is that of something else, KeyError where the
    enumeration has no such member.

    >>> torch.utils._pytree.enum_object_hook({"__enum__": True, "fqn": "inspect:_ParameterKind", "name": "VAR_KEYWORD"}).name
    'VAR_KEYWORD'
    """
    if "__enum__" not in obj:
        return obj
    module, _, path = obj["fqn"].partition(":")
    kind = sys.modules.get(module)
    if kind is None:
        raise ModuleNotFoundError(f"enum_object_hook: {obj['fqn']} is in a module that is not imported; a file imports none: import {module} first")
    for name in path.split("."):
        kind = vars(kind).get(name) if isinstance(kind, (type, types.ModuleType)) else None
    if not (isinstance(kind, type) and issubclass(kind, enum.Enum)):
        raise TypeError(f"enum_object_hook: {obj['fqn']} is no enumeration but {kind!r}")
    return kind[obj["name"]]


def treespec_dumps(treespec, protocol=None):
    """A structure as text in JSON.

    Errors: TypeError for what is no structure, NotImplementedError for a container that was registered without a name for files, ValueError for another protocol than 1.

    >>> spec = torch.utils._pytree.tree_structure({"a": [1]})
    >>> torch.utils._pytree.treespec_loads(torch.utils._pytree.treespec_dumps(spec)) == spec
    True
    """
    treespec = _own_spec(treespec)
    if protocol not in (None, 1):
        raise ValueError(f"treespec_dumps: expected protocol 1, got {protocol!r}")

    def described(spec):
        if spec.type is None:
            return {"type": None, "context": None, "children_spec": []}
        name = _NAMES_OF_BUILT_IN.get(spec.type) or _files.get(spec.type, (None,))[0]
        if name is None:
            raise NotImplementedError(f"treespec_dumps: {spec.type} has no name for files; register it with serialized_type_name")
        return {"type": name, "context": _written(spec), "children_spec": [described(child) for child in spec._children]}

    return json.dumps((1, described(treespec)))


def treespec_loads(serialized):
    """The structure that `treespec_dumps` wrote.

    Errors: ValueError for another protocol, NotImplementedError for a container that is not known.

    >>> torch.utils._pytree.treespec_loads(torch.utils._pytree.treespec_dumps(torch.utils._pytree.tree_structure(1)))
    *
    """
    protocol, content = json.loads(serialized)
    if protocol != 1:
        raise ValueError(f"treespec_loads: expected protocol 1, got {protocol!r}")
    kinds = {**_BUILT_IN_NAMES, **{name: kind for kind, (name, *_) in _files.items() if name is not None}}

    def built(found):
        if found["type"] is None:
            return _LEAF
        if found["type"] not in kinds:
            raise NotImplementedError(f"treespec_loads: no container is registered as {found['type']!r}")
        kind = kinds[found["type"]]
        return TreeSpec(kind, _read(kind, found["context"], kinds), [built(child) for child in found["children_spec"]])

    return built(content)


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Make a dataclass a container of trees, whose children are its fields but for those that are None.

    Errors: ValueError for what is no dataclass, or for names that are not its fields.

    >>> import dataclasses
    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: int
    ...     y: int
    >>> torch.utils._pytree.register_dataclass(Point)
    >>> torch.utils._pytree.tree_leaves(Point(1, 2))
    [1, 2]
    """
    if field_names is None and not dataclasses.is_dataclass(cls):
        raise ValueError(f"register_dataclass: expected a dataclass or field_names, got {cls}")
    names = [f.name for f in dataclasses.fields(cls) if f.init] if dataclasses.is_dataclass(cls) else list(field_names)
    dropped = set(drop_field_names or ())
    chosen = [n for n in names if n not in dropped] if field_names is None else list(field_names)
    if {*chosen, *dropped} != set(names):
        raise ValueError(f"register_dataclass of {cls}: its fields are {names}, got {chosen} and {sorted(dropped)} to drop")

    def names_of(obj):
        """Fields with a value, and those that are None, which are no children."""
        return [n for n in chosen if getattr(obj, n) is not None], [n for n in chosen if getattr(obj, n) is None]

    register_pytree_node(
        cls, lambda obj: ([getattr(obj, n) for n in names_of(obj)[0]], list(names_of(obj))),
        lambda values, context: cls(**dict(zip(context[0], values, strict=True)), **dict.fromkeys(context[1])),
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=lambda obj: ([(GetAttrKey(n), getattr(obj, n)) for n in names_of(obj)[0]], list(names_of(obj))),
    )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    """The context of a constant: the instance itself, which two equal structures have equal.

    >>> torch.utils._pytree.ConstantNode(3) == torch.utils._pytree.ConstantNode(3)
    True
    """

    value: typing.Any


def register_constant(cls):
    """Make a class a container without children: its instances belong to the structure.

    >>> class Name(str):
    ...     pass
    >>> torch.utils._pytree.register_constant(Name)
    >>> torch.utils._pytree.tree_leaves([Name("a"), 1])
    [1]
    """
    register_pytree_node(cls, lambda obj: ([], ConstantNode(obj)), lambda _, context: context.value)
    CONSTANT_NODES.add(cls)


def is_constant_class(cls):
    """Whether `register_constant` knows a class.

    >>> torch.utils._pytree.is_constant_class(int)
    False
    """
    return cls in CONSTANT_NODES


def _deregister_pytree_node(cls):
    """Let a registered class be a leaf again."""
    for table in (_registered, _files, _named_children):
        table.pop(cls, None)
    CONSTANT_NODES.discard(cls)


# ---- paths: where a leaf lies in its tree ---------------------------------------------------------------------------------


@typing.runtime_checkable
class KeyEntry(typing.Protocol):
    """A step on the way to a leaf, which gets the value below it.

    >>> isinstance(torch.utils._pytree.SequenceKey(0), torch.utils._pytree.KeyEntry)
    True
    """

    def get(self, parent):
        """The value of this step within a container."""
        ...


class SequenceKey(namedtuple("SequenceKey", "idx")):
    """A place in a list or tuple.

    >>> str(torch.utils._pytree.SequenceKey(1))
    '[1]'
    """

    __slots__ = ()

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        """The value."""
        return sequence[self.idx]


class MappingKey(namedtuple("MappingKey", "key")):
    """A key of a dictionary.

    >>> str(torch.utils._pytree.MappingKey("a"))
    "['a']"
    """

    __slots__ = ()

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        """The value."""
        return mapping[self.key]


class GetAttrKey(namedtuple("GetAttrKey", "name")):
    """A field of a named tuple or an object.

    >>> str(torch.utils._pytree.GetAttrKey("a"))
    '.a'
    """

    __slots__ = ()

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        """The value."""
        return getattr(obj, self.name)


def key_get(obj, kp):
    """The value at a path.

    >>> pytree = torch.utils._pytree
    >>> pytree.key_get({"a": [1]}, (pytree.MappingKey("a"), pytree.SequenceKey(0)))
    1
    """
    for key in kp:
        if not hasattr(key, "get"):
            raise NotImplementedError(f"key_get: expected keys of paths, got {type(key).__name__}")
        obj = key.get(obj)
    return obj


def keystr(kp):
    """A path as text.

    >>> torch.utils._pytree.keystr((torch.utils._pytree.MappingKey("a"), torch.utils._pytree.SequenceKey(0)))
    "['a'][0]"
    """
    return "".join(map(str, kp))


def _keys(tree, parts):
    """The places of a container's children."""
    kind, context, children = parts
    if kind in (dict, OrderedDict, defaultdict):
        return [MappingKey(key) for key in tree]
    if kind in _named_children:
        return [key for key, _ in _named_children[kind](tree)[0]]
    if kind is namedtuple:
        return [GetAttrKey(name) for name in context._fields]
    return [SequenceKey(i) for i in range(len(children))]


def tree_leaves_with_path(tree, is_leaf=None):
    """The leaves of a tree with their paths.

    >>> [(torch.utils._pytree.keystr(path), leaf) for path, leaf in torch.utils._pytree.tree_leaves_with_path({"a": [1, 2]})]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return list(_with_paths(tree, is_leaf, ()))


def _with_paths(value, is_leaf, path):
    parts = None if is_leaf is not None and is_leaf(value) else _parts(value)
    if parts is None:
        yield path, value
        return
    for key, child in zip(_keys(value, parts), parts[2], strict=True):
        yield from _with_paths(child, is_leaf, (*path, key))


def tree_flatten_with_path(tree, is_leaf=None):
    """`tree_leaves_with_path`, and the structure of the tree.

    >>> torch.utils._pytree.tree_flatten_with_path([3])[1]
    TreeSpec(list, None, [*])
    """
    return tree_leaves_with_path(tree, is_leaf), tree_flatten(tree, is_leaf)[1]


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """A tree of what `func(path, leaf, ...)` gives for every leaf.

    >>> torch.utils._pytree.tree_map_with_path(lambda path, x: len(path) + x, {"a": [1, 2]})
    {'a': [3, 4]}
    """
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return tree_unflatten([func(path, leaf, *more) for (path, leaf), *more in zip(leaves, *others, strict=True)], spec)


# ---- names that libraries import ------------------------------------------------------------------------------------------


class _LeafKind(type):
    def __instancecheck__(cls, spec):
        warnings.warn("isinstance(spec, LeafSpec): a way of the past; spec.is_leaf() says it", FutureWarning, stacklevel=2)
        return isinstance(spec, TreeSpec) and spec.type is None


class LeafSpec(TreeSpec, metaclass=_LeafKind):
    """The structure of a leaf: `LeafSpec()` makes it, and `is_leaf()` tells it.

    >>> torch.utils._pytree.LeafSpec() == torch.utils._pytree.tree_structure(1)
    True
    """

    __slots__ = ()

    def __new__(cls):
        return _LEAF

    def __init__(self):
        pass


T, S, U, R = (typing.TypeVar(name) for name in "TSUR")
K = typing.TypeVar("K", bound=typing.Hashable)
PyTree = Context = DumpableContext = typing.Any
FlattenFunc = FlattenFn = typing.Callable[[typing.Any], tuple[list, typing.Any]]
UnflattenFunc = UnflattenFn = typing.Callable[[typing.Iterable, typing.Any], typing.Any]
ToDumpableContextFn = FromDumpableContextFn = typing.Callable[[typing.Any], typing.Any]
PyTreeSpec = TreeSpec


def treespec_leaf():
    """The structure of a leaf.

    >>> torch.utils._pytree.treespec_leaf()
    *
    """
    return _LEAF


def treespec_tuple(iterable=()):
    """The structure of a tuple of structures.

    >>> torch.utils._pytree.treespec_tuple([torch.utils._pytree.treespec_leaf()])
    TreeSpec(tuple, None, [*])
    """
    return TreeSpec(tuple, None, iterable)


def treespec_dict(mapping=(), /, **kwargs):
    """The structure of a dictionary of structures.

    >>> torch.utils._pytree.treespec_dict({"a": torch.utils._pytree.treespec_leaf()})
    TreeSpec(dict, ['a'], [*])
    """
    found = dict(mapping, **kwargs)
    return TreeSpec(dict, list(found), found.values())


def treespec_pprint(treespec):
    """A structure as text.

    >>> torch.utils._pytree.treespec_pprint(torch.utils._pytree.tree_structure({"a": [1, (2, 3)]}))
    "{'a': [*, (*, *)]}"
    """
    if treespec.type is None:
        return "*"
    kind, parts = treespec.type, [treespec_pprint(child) for child in treespec._children]
    if kind in _registered:
        return f"{kind.__name__}({', '.join(parts)})"
    if kind is namedtuple:
        return f"{treespec.context.__name__}({', '.join(f'{name}={part}' for name, part in zip(treespec.context._fields, parts, strict=True))})"
    if issubclass(kind, dict):
        keys = treespec.context[1] if kind is defaultdict else treespec.context
        return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(keys, parts, strict=True)) + "}"
    if issubclass(kind, tuple):
        name = "" if kind is tuple else kind.__name__
        return name + "(" + ", ".join(parts) + ("," if len(parts) == 1 and not name else "") + ")"
    return f"deque([{', '.join(parts)}])" if kind is deque else "[" + ", ".join(parts) + "]"


def is_namedtuple_class(cls):
    """Whether this is a class of named tuples.

    >>> torch.utils._pytree.is_namedtuple_class(tuple)
    False
    """
    fields = getattr(cls, "_fields", None)
    named = isinstance(fields, tuple) and all(type(name) is str for name in fields)
    return isinstance(cls, type) and issubclass(cls, tuple) and named and callable(getattr(cls, "_make", None))


def is_namedtuple_instance(obj):
    """Whether this is a named tuple.

    >>> torch.utils._pytree.is_namedtuple_instance((1,))
    False
    """
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj):
    """Whether this is a named tuple, or a class of them.

    >>> torch.utils._pytree.is_namedtuple(torch.utils._pytree.SequenceKey)
    True
    """
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


class structseq(tuple, typing.Generic[T]):
    """The type of the tuples with names that C code makes, such as what `max` returns; for annotations only.

    >>> torch.utils._pytree.is_structseq_instance(torch.ones(2).max(0))
    True
    """

    __slots__ = ()

    def __new__(cls, sequence, dict=...):
        raise NotImplementedError("structseq: a name for annotations; C code makes these tuples")

    def __init_subclass__(cls):
        raise TypeError("structseq: a name for annotations, expected no class derived from it")


def is_structseq_class(cls):
    """Whether this is a class of tuples whose fields have names too, as the results of operators are.

    >>> torch.utils._pytree.is_structseq_class(torch.return_types.max)
    True
    """
    return isinstance(cls, type) and issubclass(cls, tuple) and not is_namedtuple_class(cls) and type(getattr(cls, "n_fields", None)) is int


def is_structseq_instance(obj):
    """Whether this is such a tuple.

    >>> torch.utils._pytree.is_structseq_instance(torch.ones(2, 2).max(0))
    True
    """
    return is_structseq_class(type(obj))


def is_structseq(obj):
    """Whether this is such a tuple, or a class of them.

    >>> torch.utils._pytree.is_structseq(())
    False
    """
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


pytree_to_str, str_to_pytree = treespec_dumps, treespec_loads


class _SupportedNodes:
    """The containers that are known."""

    def __contains__(self, kind):
        return kind in BUILTIN_TYPES or kind in _registered or kind is _cresset.Size

    def __iter__(self):
        return iter((*BUILTIN_TYPES, _cresset.Size, *_registered))

    def __len__(self):
        return sum(1 for _ in self)

    def __getitem__(self, kind):
        if kind in _registered:
            return NodeDef(kind, *_registered[kind], _named_children.get(kind))
        if kind not in self:
            raise KeyError(kind)

        def flatten(tree):
            _, context, children = _parts(tree)
            return children, context

        def flatten_with_keys(tree):
            parts = _parts(tree)
            return list(zip(_keys(tree, parts), parts[2], strict=True)), parts[1]

        return NodeDef(kind, flatten, lambda values, context: TreeSpec(kind, context, [_LEAF] * len(values)).unflatten(values), flatten_with_keys)

    def get(self, kind, default=None):
        return self[kind] if kind in self else default

    def pop(self, kind, *default):
        """Let a registered class be a leaf; what it was registered with. KeyError for another without a default."""
        if kind not in _registered:
            if not default:
                raise KeyError(kind)
            return default[0]
        node = self[kind]
        _registered.pop(kind)
        _named_children.pop(kind, None)
        return node

    def __setitem__(self, kind, node):
        _registered[kind] = node.flatten_fn, node.unflatten_fn
        if node.flatten_with_keys_fn is not None:
            _named_children[kind] = node.flatten_with_keys_fn

    def items(self):
        return [(kind, self[kind]) for kind in self]

    keys = __iter__


class NodeDef(typing.NamedTuple):
    """A registered container: how to take it apart and put it together.

    >>> torch.utils._pytree.NodeDef(set, list, lambda values, _: set(values), None).type
    <class 'set'>
    """

    type: type
    flatten_fn: typing.Callable
    unflatten_fn: typing.Callable
    flatten_with_keys_fn: typing.Callable | None


SUPPORTED_NODES = _SupportedNodes()


def _get_node_type(tree):
    return namedtuple if isinstance(tree, tuple) and hasattr(tree, "_fields") else type(tree)


# ---- how the containers of Python are taken apart, for programs that register classes like them: children and context, with keys, and back


def _mapping_flatten(tree):
    return list(tree.values()), list(tree)


def _mapping_flatten_with_keys(tree):
    return [(MappingKey(key), value) for key, value in tree.items()], list(tree)


_dict_flatten = _ordereddict_flatten = _odict_flatten = _mapping_flatten
_dict_flatten_with_keys = _ordereddict_flatten_with_keys = _mapping_flatten_with_keys


def _dict_unflatten(values, context):
    return dict(zip(context, values, strict=True))


def _ordereddict_unflatten(values, context):
    return OrderedDict(zip(context, values, strict=True))


_odict_unflatten = _ordereddict_unflatten


def _defaultdict_flatten(tree):
    return list(tree.values()), [tree.default_factory, list(tree)]


def _defaultdict_flatten_with_keys(tree):
    return _mapping_flatten_with_keys(tree)[0], [tree.default_factory, list(tree)]


def _defaultdict_unflatten(values, context):
    return defaultdict(context[0], zip(context[1], values, strict=True))


def _sequence_keys(tree):
    return [(SequenceKey(i), value) for i, value in enumerate(tree)]


def _list_flatten(tree):
    return tree, None


def _list_flatten_with_keys(tree):
    return _sequence_keys(tree), None


def _list_unflatten(values, context):
    return list(values)


def _tuple_flatten(tree):
    return list(tree), None


def _tuple_flatten_with_keys(tree):
    return _sequence_keys(tree), None


def _tuple_unflatten(values, context):
    return tuple(values)


def _namedtuple_flatten(tree):
    return list(tree), type(tree)


def _namedtuple_flatten_with_keys(tree):
    return [(GetAttrKey(name), value) for name, value in zip(tree._fields, tree, strict=True)], type(tree)


def _namedtuple_unflatten(values, context):
    return context(*values)


def _deque_flatten(tree):
    return list(tree), tree.maxlen


def _deque_flatten_with_keys(tree):
    return _sequence_keys(tree), tree.maxlen


def _deque_unflatten(values, context):
    return deque(values, maxlen=context)
