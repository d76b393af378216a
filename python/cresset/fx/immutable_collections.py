"""The lists and dictionaries in the arguments of nodes, which count their users: a change in place would not be noticed, so it is refused."""

from ..utils import _pytree

__all__ = ["immutable_list", "immutable_dict"]


def _refused(self, *args, **kwargs):
    raise TypeError(
        f"{type(self).__name__!r} object does not support mutation: it holds arguments of a torch.fx.Node. Make a changed copy and assign it:\n"
        "    node.args = (*node.args[:i], changed, *node.args[i + 1:])"
    )


class immutable_list(list):  # noqa: N801  PyTorch's name
    """A list that cannot be changed. TypeError where a program tries.

    >>> torch.fx.immutable_collections.immutable_list([1, 2])
    [1, 2]
    """

    append = extend = insert = clear = pop = remove = reverse = sort = _refused
    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refused

    def __reduce__(self):
        return type(self), (tuple(self),)

    def __hash__(self):
        return hash(tuple(self))


class immutable_dict(dict):  # noqa: N801  PyTorch's name
    """A dictionary that cannot be changed. TypeError where a program tries.

    >>> torch.fx.immutable_collections.immutable_dict(a=1)
    {'a': 1}
    """

    clear = pop = popitem = setdefault = update = _refused
    __delitem__ = __ior__ = __setitem__ = _refused

    def __reduce__(self):
        return type(self), (dict(self),)

    def __hash__(self):
        return hash(frozenset(self.items()))


_pytree.register_pytree_node(
    immutable_list,
    lambda values: (list(values), None),
    lambda values, _: immutable_list(values),
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
    flatten_with_keys_fn=lambda values: ([(_pytree.SequenceKey(i), value) for i, value in enumerate(values)], None),
)
_pytree.register_pytree_node(
    immutable_dict,
    lambda values: (list(values.values()), list(values)),
    lambda values, keys: immutable_dict(zip(keys, values, strict=True)),
    serialized_type_name="torch.fx.immutable_collections.immutable_dict",
    flatten_with_keys_fn=lambda values: ([(_pytree.MappingKey(key), value) for key, value in values.items()], list(values)),
)
