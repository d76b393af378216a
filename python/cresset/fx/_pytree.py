"""Arguments of traced functions, flattened along a structure that is known."""

from collections import OrderedDict, defaultdict, namedtuple

from ..utils._pytree import TreeSpec, _registered

SUPPORTED_NODES = {}
SUPPORTED_NODES_EXACT_MATCH = {}


def register_pytree_flatten_spec(cls, flatten_fn_spec, flatten_fn_exact_match_spec=None):
    """Let `tree_flatten_spec` take instances of a class apart.

    Args:
        cls: the class.
        flatten_fn_spec: gives the children of an instance that a structure has.
        flatten_fn_exact_match_spec: says whether an instance has no further ones.
    """
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def _deregister_pytree_flatten_spec(cls):
    SUPPORTED_NODES.pop(cls)
    SUPPORTED_NODES_EXACT_MATCH.pop(cls, None)


def tree_flatten_spec(pytree, spec, exact_structural_match=False):
    """The leaves of a tree at the places of a structure's leaves. Parts of the tree beyond the structure are left out, unless the match is to be exact.

    Errors: RuntimeError for a container that is not known, ValueError for a tree that lacks a part.

    >>> from cresset.utils import _pytree
    >>> torch.fx._pytree.tree_flatten_spec([1, {"a": 2}], _pytree.tree_structure([0, {"a": 0}]))
    [1, 2]
    """
    if spec.is_leaf():
        return [pytree]
    kind = spec.type
    lookup = kind
    if (
        lookup not in SUPPORTED_NODES
        and isinstance(lookup, type)
        and issubclass(lookup, tuple)
        and lookup.__module__ in ("cresset", "torch", "cresset.return_types")
    ):
        lookup = tuple  # sizes, and the named results of operators
    if lookup not in SUPPORTED_NODES and lookup in _registered:
        children, context = _registered[lookup][0](pytree)
        if context != spec.context:
            raise ValueError(f"expected a {kind.__name__} of {spec.context!r}, got one of {context!r}")
        return [leaf for child, part in zip(children, spec.children(), strict=True) for leaf in tree_flatten_spec(child, part, exact_structural_match)]
    if lookup not in SUPPORTED_NODES:
        raise RuntimeError(
            f"{type(pytree)} does not have a flatten_fn_spec associated with it. Please register one with torch.fx._pytree.register_pytree_flatten_spec."
        )
    try:
        children = SUPPORTED_NODES[lookup](pytree, spec)
    except (KeyError, IndexError, TypeError) as error:
        raise ValueError(f"expected a {kind.__name__} of {spec.num_children} as {spec!r}, got {pytree!r}") from error
    if exact_structural_match and not (SUPPORTED_NODES_EXACT_MATCH.get(lookup) or (lambda *_: True))(pytree, spec):
        raise RuntimeError(f"Cannot flatten pytree {pytree}, given spec: {spec}")
    return [leaf for child, part in zip(children, spec.children(), strict=False) for leaf in tree_flatten_spec(child, part, exact_structural_match)]


def _sequence(values, spec):
    return [values[i] for i in range(spec.num_children)]


register_pytree_flatten_spec(dict, lambda d, spec: [d[key] for key in spec.context], lambda d, spec: len(d) == spec.num_children)
register_pytree_flatten_spec(OrderedDict, lambda d, spec: [d[key] for key in spec.context], lambda d, spec: list(d) == list(spec.context))
register_pytree_flatten_spec(defaultdict, lambda d, spec: [d[key] for key in spec.context[1]], lambda d, spec: len(d) == spec.num_children)
register_pytree_flatten_spec(list, _sequence, lambda values, spec: len(values) == spec.num_children)
register_pytree_flatten_spec(tuple, _sequence, lambda values, spec: len(values) == spec.num_children)
register_pytree_flatten_spec(namedtuple, _sequence, lambda values, spec: len(values) == spec.num_children)

__all__ = ["TreeSpec", "register_pytree_flatten_spec", "tree_flatten_spec"]
