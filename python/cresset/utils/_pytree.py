"""Trees of lists, tuples, named tuples and dictionaries: their leaves, their structure, and back."""

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
_registered = {}  # container: how to take it apart, and how to put it together


def register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None, from_dumpable_context=None, flatten_with_keys_fn=None):
    """Make a class a container of trees, as lists and dictionaries are.

    Args:
        cls: the class, whose subclasses are not meant.
        flatten_fn: gives a list of an instance's children and a context that tells the rest.
        unflatten_fn: makes an instance of the children and the context.
        serialized_type_name, to_dumpable_context, from_dumpable_context, flatten_with_keys_fn: how structures are written to files and leaves are named,
            which Cresset does not do; None or kept for nothing.

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
        raise ValueError(f"{cls} is already registered as pytree node.")
    _registered[cls] = flatten_fn, unflatten_fn


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
