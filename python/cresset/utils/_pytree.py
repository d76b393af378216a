"""Trees of lists, tuples, named tuples and dictionaries: their leaves, their structure, and back."""

import typing
from collections import OrderedDict, defaultdict, namedtuple

__all__ = ["TreeSpec", "register_pytree_node", "tree_all", "tree_any", "tree_flatten", "tree_leaves", "tree_map", "tree_map_only", "tree_structure", "tree_unflatten"]


class TreeSpec(namedtuple("TreeSpec", "type context children")):
    """The structure of a tree: the container's type, its keys, and the structures within; a leaf has the type None.

    >>> torch.utils._pytree.tree_structure([1, (2, 3)])
    [*, (*, *)]
    """

    __slots__ = ()

    @property
    def num_leaves(self):
        """How many leaves the tree has."""
        return 1 if self.type is None else sum(child.num_leaves for child in self.children)

    def is_leaf(self):
        """Whether this is the structure of a value that is no container."""
        return self.type is None

    def __repr__(self):
        if self.type is None:
            return "*"
        parts = [repr(child) for child in self.children]
        if self.type in _registered:
            return f"{self.type.__name__}({', '.join(parts)})"
        if issubclass(self.type, dict):
            keys = self.context[1] if self.type is defaultdict else self.context
            return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(keys, parts, strict=True)) + "}"
        if issubclass(self.type, tuple):
            name = "" if self.type is tuple else self.type.__name__
            return name + "(" + ", ".join(parts) + ("," if len(parts) == 1 and not name else "") + ")"
        return "[" + ", ".join(parts) + "]"


_LEAF = TreeSpec(None, None, ())
_named_children = {}  # container: how to take it apart into pairs of a key and a child
_registered = {}  # container: how to take it apart, and how to put it together


def register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None, from_dumpable_context=None, flatten_with_keys_fn=None):
    """Make a class a container of trees, as lists and dictionaries are.

    Args:
        cls: the class, whose subclasses are not meant.
        flatten_fn: gives a list of an instance's children and a context that tells the rest.
        unflatten_fn: makes an instance of the children and the context.
        flatten_with_keys_fn: gives pairs of a key and a child, and the context, for `tree_flatten_with_path`.
        serialized_type_name, to_dumpable_context, from_dumpable_context: how structures are written to files, which Cresset does not do.

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
    if cls in _registered or cls in (list, tuple, dict, OrderedDict, defaultdict):
        raise ValueError(f"{cls} is a registered pytree node already.")
    _registered[cls] = flatten_fn, unflatten_fn
    if flatten_with_keys_fn is not None:
        _named_children[cls] = flatten_with_keys_fn


def _parts(tree):
    """The kind of a container, its context and its children; None for a leaf."""
    kind = type(tree)
    if kind in (list, tuple) or (isinstance(tree, tuple) and (hasattr(kind, "_fields") or kind.__module__ == "cresset.return_types")):
        return kind, None, list(tree)
    if kind in (dict, OrderedDict):
        keys = list(tree)
        return kind, keys, [tree[key] for key in keys]
    if kind is defaultdict:
        keys = list(tree)
        return kind, [tree.default_factory, keys], [tree[key] for key in keys]
    if kind in _registered:
        children, context = _registered[kind][0](tree)
        return kind, context, list(children)
    return None


def tree_flatten(tree, is_leaf=None):
    """Return the leaves of a tree in order, and its structure.

    >>> torch.utils._pytree.tree_flatten({"a": 1, "b": [2, 3]})
    ([1, 2, 3], {'a': *, 'b': [*, *]})
    """
    leaves = []

    def visit(value):
        parts = None if is_leaf is not None and is_leaf(value) else _parts(value)
        if parts is None:
            leaves.append(value)
            return _LEAF
        kind, context, children = parts
        return TreeSpec(kind, context, tuple([visit(child) for child in children]))

    return leaves, visit(tree)


def tree_unflatten(leaves, treespec):
    """Put leaves into a structure.

    Errors: ValueError for another number of leaves.

    >>> torch.utils._pytree.tree_unflatten([1, 2], torch.utils._pytree.tree_structure((0, [0])))
    (1, [2])
    """
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten: got {len(leaves)} leaves, expected {treespec.num_leaves}")
    rest = iter(leaves)

    def build(spec):
        if spec.type is None:
            return next(rest)
        children = [build(child) for child in spec.children]
        if spec.type in _registered:
            return _registered[spec.type][1](children, spec.context)
        if spec.type is defaultdict:
            return defaultdict(spec.context[0], zip(spec.context[1], children, strict=True))
        if issubclass(spec.type, dict):
            return spec.type(zip(spec.context, children, strict=True))
        return spec.type(*children) if hasattr(spec.type, "_fields") else spec.type(children)

    return build(treespec)


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
    """Apply a function to the leaves of a tree, or to those of several trees of one structure.

    >>> torch.utils._pytree.tree_map(lambda x, y: x + y, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves]
    for rest in rests:
        more, other = tree_flatten(rest, is_leaf)
        if other != spec:
            raise ValueError(f"tree_map: got trees of different structures, {spec!r} and {other!r}")
        columns.append(more)
    return tree_unflatten([func(*row) for row in zip(*columns, strict=True)], spec)


def tree_map_only(kind, func, tree, is_leaf=None):
    """Apply a function to the leaves of a type, or of one of several, and leave the others.

    >>> torch.utils._pytree.tree_map_only(int, lambda x: -x, [1, "a"])
    [-1, 'a']
    """
    return tree_map(lambda leaf: func(leaf) if isinstance(leaf, kind) else leaf, tree, is_leaf=is_leaf)


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


# ---- paths: where a leaf lies in its tree ---------------------------------------------------------------------------------


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


def keystr(path):
    """A path as text.

    >>> torch.utils._pytree.keystr((torch.utils._pytree.MappingKey("a"), torch.utils._pytree.SequenceKey(0)))
    "['a'][0]"
    """
    return "".join(map(str, path))


def _keys(tree, parts):
    """The places of a container's children."""
    kind, context, children = parts
    if kind in (dict, OrderedDict, defaultdict):
        return [MappingKey(key) for key in tree]
    if kind in _named_children:
        return [key for key, _ in _named_children[kind](tree)[0]]
    if hasattr(kind, "_fields"):
        return [GetAttrKey(name) for name in kind._fields]
    return [SequenceKey(i) for i in range(len(children))]


def tree_leaves_with_path(tree, is_leaf=None):
    """The leaves of a tree with their paths.

    >>> [(torch.utils._pytree.keystr(path), leaf) for path, leaf in torch.utils._pytree.tree_leaves_with_path({"a": [1, 2]})]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    found = []

    def visit(value, path):
        parts = None if is_leaf is not None and is_leaf(value) else _parts(value)
        if parts is None:
            found.append((path, value))
            return
        for key, child in zip(_keys(value, parts), parts[2], strict=True):
            visit(child, (*path, key))

    visit(tree, ())
    return found


def tree_flatten_with_path(tree, is_leaf=None):
    """`tree_leaves_with_path`, and the structure of the tree.

    >>> torch.utils._pytree.tree_flatten_with_path([3])[1]
    [*]
    """
    return tree_leaves_with_path(tree, is_leaf), tree_flatten(tree, is_leaf)[1]


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """A tree of what `func(path, leaf, ...)` gives for every leaf.

    >>> torch.utils._pytree.tree_map_with_path(lambda path, x: len(path) + x, {"a": [1, 2]})
    {'a': [3, 4]}
    """
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    others = [tree_flatten(rest, is_leaf)[0] for rest in rests]
    return tree_unflatten([func(path, leaf, *more) for (path, leaf), *more in zip(leaves, *others, strict=True)], spec)


# ---- names that libraries import ------------------------------------------------------------------------------------------

PyTree = Context = typing.Any
_register_pytree_node = register_pytree_node


class _SupportedNodes:
    """The containers that are known."""

    _BUILT_IN = (list, tuple, dict, OrderedDict, defaultdict, namedtuple)

    def __contains__(self, kind):
        return kind in self._BUILT_IN or kind in _registered

    def __iter__(self):
        return iter((*self._BUILT_IN, *_registered))


SUPPORTED_NODES = _SupportedNodes()


def _get_node_type(tree):
    return namedtuple if isinstance(tree, tuple) and hasattr(tree, "_fields") else type(tree)


def _dict_flatten(tree):
    return list(tree.values()), list(tree)


def _dict_flatten_with_keys(tree):
    return [(MappingKey(key), value) for key, value in tree.items()], list(tree)


def _dict_unflatten(values, context):
    return dict(zip(context, values))


def _list_flatten(tree):
    return tree, None


def _list_unflatten(values, context):
    return list(values)


def _tuple_flatten(tree):
    return list(tree), None


def _tuple_unflatten(values, context):
    return tuple(values)
