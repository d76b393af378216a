"""Inputs that share memory, some of which are written: graphs get this memory as one input, their base, of which they make the tensors that lie there."""

from _cresset import Tensor
from _cresset_compile import Guards

import cresset as torch

from ..utils._pytree import tree_flatten, tree_unflatten


def shared_memory(flat, written):
    """(number, number of another input over the same storage, distance in bytes) of the inputs whose numbers are `written`, where they share memory with others."""
    numbers = [i for i, leaf in enumerate(flat) if isinstance(leaf, Tensor) and leaf.layout is torch.strided]
    at = {number: i for i, number in enumerate(numbers)}
    found = Guards.shared_memory([flat[i] for i in numbers], [at[i] for i in written if i in at])
    return [(numbers[i], numbers[k], distance) for i, k, distance in found]


def _groups(shared):
    """Numbers of inputs over one storage each, in order."""
    groups = []
    for first, second, _ in shared:
        group = next((group for group in groups if first in group or second in group), None)
        if group is None:
            groups.append(group := set())
        group |= {first, second}
    return [sorted(group) for group in groups]


def _extent(leaf):
    """Where the elements of a tensor begin and end in its storage."""
    begin = leaf.storage_offset()
    return begin, begin + 1 + sum((size - 1) * stride for size, stride in zip(leaf.shape, leaf.stride(), strict=True)) if leaf.numel() else begin


def _base(leaves):
    """The memory in which tensors of one storage lie, as a tensor of one dimension."""
    extents = [_extent(leaf) for leaf in leaves]
    begin, end = min(first for first, _ in extents), max(last for _, last in extents)
    return leaves[0].detach().as_strided((end - begin,), (1,), begin)


def _has_base(leaves):
    """Whether tensors are plain views of one memory, whose histories do not matter."""
    if torch.is_grad_enabled() and any(leaf.requires_grad for leaf in leaves):
        return False
    return len({leaf.dtype for leaf in leaves}) == 1 and not any(leaf.is_conj() or leaf.is_neg() for leaf in leaves)


def over_bases(flat_fn, facts, flat, shared, compile):
    """A runner of a function whose inputs share memory as `shared` says: `compile(flat_fn, flat)` of the function of bases. Where histories of these inputs
    change, the function itself."""
    groups = _groups(shared)
    recorded = torch.is_grad_enabled() and any(i not in facts.unrecorded for i in facts.mutated if any(i in group for group in groups))
    if recorded or not all(_has_base([flat[i] for i in group]) for group in groups):
        return lambda flat: flat_fn(*flat)
    apart = [i for i in range(len(flat)) if not any(i in group for group in groups)]

    def bases(flat):
        return [_base([flat[i] for i in group]) for group in groups]

    begins = [min(_extent(flat[i])[0] for i in group) for group in groups]
    geometry = {
        i: (tuple(flat[i].shape), flat[i].stride(), flat[i].storage_offset() - begin) for group, begin in zip(groups, begins, strict=True) for i in group
    }

    def function_of_bases(*given):
        leaves = dict(zip(apart, given[len(groups) :], strict=True))
        for group, base in zip(groups, given, strict=False):
            leaves.update((i, base.as_strided(*geometry[i])) for i in group)
        outs, _ = tree_flatten(flat_fn(*(leaves[i] for i in range(len(flat)))))
        return [out for out, (kind, _) in zip(outs, facts.out_kinds, strict=True) if kind == "value"]

    def inputs(flat):
        return [*bases(flat), *(flat[i] for i in apart)]

    run = compile(function_of_bases, inputs(flat))

    def call(flat):
        values = iter(run(inputs(flat)))
        return tree_unflatten(
            [next(values) if kind == "value" else facts.result(number, flat) for number, (kind, _) in enumerate(facts.out_kinds)], facts.out_spec
        )

    return call
