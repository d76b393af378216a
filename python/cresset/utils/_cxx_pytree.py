"""The functions of `torch.utils._pytree` over optree, which has to be installed: its structures are `optree.PyTreeSpec`, made in C++."""

import warnings

import optree
from optree import PyTreeSpec

import _cresset

from . import _pytree as python_pytree
from ._pytree import (  # noqa: F401
    Context, DumpableContext, FlattenFn, FromDumpableContextFn, PyTree, ToDumpableContextFn, UnflattenFn, is_namedtuple, is_namedtuple_class,
    is_namedtuple_instance, is_structseq, is_structseq_class, is_structseq_instance, map_only,
)  # fmt: skip

__all__ = list(python_pytree.__all__)

_NAMESPACE = {"none_is_leaf": True, "namespace": "torch"}
TreeSpec = PyTreeSpec
# Dictionaries keep the order of their keys, for as long as the process runs.
_order = optree.dict_insertion_ordered(True, namespace="torch")
_order.__enter__()


# ---- classes ----------------------------------------------------------------------------------------------------------------


def _tell_optree(cls):
    """Registers a class of `_pytree` here; one that is registered anew keeps what it had."""
    flatten, unflatten = (python_pytree.SUPPORTED_NODES[cls][i] for i in (1, 2))
    try:
        optree.register_pytree_node(cls, flatten, lambda context, children: unflatten(list(children), context), namespace="torch")
    except ValueError:
        warnings.warn(f"_cxx_pytree: {cls} was registered already, and stays as it is here", stacklevel=3)


for _cls in (_cresset.Size, *python_pytree._registered):
    _tell_optree(_cls)
python_pytree._listeners.append(_tell_optree)


def register_pytree_node(
    cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None, from_dumpable_context=None, flatten_with_keys_fn=None
):
    """`torch.utils._pytree.register_pytree_node`: classes are containers of both modules.

    Args:
        cls, flatten_fn, unflatten_fn: as there.
        serialized_type_name, to_dumpable_context, from_dumpable_context: as there.
        flatten_with_keys_fn: None, since this module has no paths.

    Errors: NotImplementedError for flatten_with_keys_fn.
    """
    if flatten_with_keys_fn is not None:
        raise _no_paths()
    python_pytree.register_pytree_node(
        cls, flatten_fn, unflatten_fn,
        serialized_type_name=serialized_type_name, to_dumpable_context=to_dumpable_context, from_dumpable_context=from_dumpable_context,
    )  # fmt: skip


def _register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs):
    """The old name of `register_pytree_node`."""
    warnings.warn("torch.utils._cxx_pytree._register_pytree_node: a name of the past; register_pytree_node does the same", FutureWarning, stacklevel=2)
    python_pytree._private_register_pytree_node(cls, flatten_fn, unflatten_fn, **kwargs)


# ---- trees ------------------------------------------------------------------------------------------------------------------


def _spec(treespec):
    if isinstance(treespec, PyTreeSpec):
        return treespec
    if not isinstance(treespec, python_pytree.TreeSpec):
        raise TypeError(f"expected a PyTreeSpec, got {type(treespec).__name__}")
    return tree_structure(python_pytree.tree_unflatten([0] * treespec.num_leaves, treespec))


def tree_is_leaf(tree, is_leaf=None):
    """Whether a value is no container."""
    return optree.tree_is_leaf(tree, is_leaf=is_leaf, **_NAMESPACE)


def tree_flatten(tree, is_leaf=None):
    """The leaves of a tree in order, and its structure."""
    return optree.tree_flatten(tree, is_leaf=is_leaf, **_NAMESPACE)


def tree_unflatten(leaves, treespec):
    """Leaves put into a structure. Errors: ValueError for another number of leaves, TypeError for what is no structure."""
    return optree.tree_unflatten(_spec(treespec), leaves)


def tree_iter(tree, is_leaf=None):
    """An iterator over the leaves of a tree."""
    return optree.tree_iter(tree, is_leaf=is_leaf, **_NAMESPACE)


def tree_leaves(tree, is_leaf=None):
    """The leaves of a tree."""
    return optree.tree_leaves(tree, is_leaf=is_leaf, **_NAMESPACE)


def tree_structure(tree, is_leaf=None):
    """The structure of a tree."""
    return optree.tree_structure(tree, is_leaf=is_leaf, **_NAMESPACE)


def tree_map(func, tree, *rests, is_leaf=None):
    """A function applied to the leaves of a tree, and to the parts of other trees at their places."""
    return optree.tree_map(func, tree, *rests, is_leaf=is_leaf, **_NAMESPACE)


def tree_map_(func, tree, *rests, is_leaf=None):
    """A function called with every leaf; returns the tree as it is."""
    return optree.tree_map_(func, tree, *rests, is_leaf=is_leaf, **_NAMESPACE)


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """A function applied to the leaves of a type, of one of several, or for which a condition holds."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """A function called with such leaves; returns the tree as it is."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether all leaves satisfy a condition."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether a leaf satisfies a condition."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether all leaves of a type satisfy a condition."""
    return all(map(pred, filter(python_pytree._chosen(type_or_types), tree_iter(tree, is_leaf))))


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether a leaf of a type satisfies a condition."""
    return any(map(pred, filter(python_pytree._chosen(type_or_types), tree_iter(tree, is_leaf))))


def broadcast_prefix(prefix_tree, full_tree, is_leaf=None):
    """The leaves of a tree, each repeated for the leaves that another tree has below its place. Errors: ValueError where they do not fit."""
    return optree.broadcast_prefix(prefix_tree, full_tree, is_leaf=is_leaf, **_NAMESPACE)


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    spec = _spec(treespec)
    try:
        return broadcast_prefix(tree, tree_unflatten([0] * spec.num_leaves, spec), is_leaf)
    except ValueError:
        return None


# ---- structures -------------------------------------------------------------------------------------------------------------


def treespec_dumps(treespec, protocol=None):
    """A structure as text in JSON, the one of `torch.utils._pytree.treespec_dumps`."""
    return python_pytree.treespec_dumps(treespec, protocol)


def treespec_loads(serialized):
    """The structure that `treespec_dumps` wrote."""
    return _spec(python_pytree.treespec_loads(serialized))


def treespec_pprint(treespec):
    """A structure as text."""
    return python_pytree.treespec_pprint(python_pytree._own_spec(treespec))


def treespec_leaf():
    """The structure of a leaf."""
    return optree.treespec_leaf(none_is_leaf=True)


def treespec_tuple(iterable=(), /):
    """The structure of a tuple of structures."""
    return optree.treespec_tuple(iterable, **_NAMESPACE)


def treespec_dict(mapping=(), /, **kwargs):
    """The structure of a dictionary of structures."""
    return optree.treespec_dict(mapping, **kwargs, **_NAMESPACE)


class _LeafKind(type(PyTreeSpec)):
    def __instancecheck__(cls, spec):
        return isinstance(spec, PyTreeSpec) and spec.is_leaf()


class LeafSpec(metaclass=_LeafKind):
    """The structure of a leaf: `LeafSpec()` makes it, and it is an instance."""

    def __new__(cls):
        return treespec_leaf()


# ---- paths, which only `torch.utils._pytree` has ----------------------------------------------------------------------------


def _no_paths():
    return NotImplementedError("_cxx_pytree has no paths of leaves; torch.utils._pytree has")


def tree_flatten_with_path(tree, is_leaf=None):
    """Errors: NotImplementedError always."""
    raise _no_paths()


def tree_leaves_with_path(tree, is_leaf=None):
    """Errors: NotImplementedError always."""
    raise _no_paths()


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """Errors: NotImplementedError always."""
    raise _no_paths()


def keystr(kp):
    """Errors: NotImplementedError always."""
    raise _no_paths()


def key_get(obj, kp):
    """Errors: NotImplementedError always."""
    raise _no_paths()
