"""Structures of arguments: keyword arguments in the order of a program, and comparison by a rule of one's own."""


def reorder_kwargs(user_kwargs, spec):
    """Keyword arguments in the order that a program was exported with; `spec` is its structure of `(args, kwargs)`.

    Errors: ValueError for other names than those of the program.

    >>> program = torch.export.export(nn.Bilinear(1, 1, 1), (), {"input1": torch.ones(1), "input2": torch.ones(1)})
    >>> torch.export._tree_utils.reorder_kwargs({"input2": 2, "input1": 1}, program.call_spec.in_spec)
    {'input1': 1, 'input2': 2}
    """
    names = spec.child(1).context
    if set(names) != set(user_kwargs):
        raise ValueError(f"reorder_kwargs: expected the keyword arguments {list(names)}, got {list(user_kwargs)}")
    return {name: user_kwargs[name] for name in names}


def is_equivalent(spec1, spec2, equivalence_fn):
    """Whether two structures have as many children everywhere and `equivalence_fn(type, context, other type, other context)` holds at each place.

    >>> from cresset.utils import _pytree
    >>> first, second = (_pytree.tree_structure(tree) for tree in ([1, 2], (1, 2)))
    >>> torch.export._tree_utils.is_equivalent(first, second, lambda *facts: True), torch.export._tree_utils.is_equivalent(first, second, lambda a, _, b, __: a is b)
    (True, False)
    """
    if not equivalence_fn(spec1.type, spec1.context, spec2.type, spec2.context) or spec1.num_children != spec2.num_children:
        return False
    return all(is_equivalent(a, b, equivalence_fn) for a, b in zip(spec1.children(), spec2.children(), strict=True))
