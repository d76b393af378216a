"""Dimensions of a tensor in another order, joined and split, as a pattern says."""

import math
import re

from .._core.overridable import overridable

_REST = ["..."]  # outside of brackets, where it stays several dimensions
_TOKEN = re.compile(r"\.\.\.|->|[()]|[^\s()]+")


def _parsed(text, pattern):
    """The groups of one side of a pattern: a list of lists of names, numbers 1 and "..."."""
    groups, inner = [], None
    for token in _TOKEN.findall(text):
        if token == "(":
            if inner is not None:
                raise ValueError(f"rearrange: brackets inside brackets are not allowed, got {pattern!r}")
            inner = []
        elif token == ")":
            if inner is None:
                raise ValueError(f"rearrange: brackets do not match in {pattern!r}")
            groups.append(inner)
            inner = None
        else:
            if token not in ("...", "1") and (not token.isidentifier() or token[0] == "_" or token[-1] == "_"):
                raise ValueError(f"rearrange: expected names of dimensions, '...', '1' and brackets, got {token!r} in {pattern!r}")
            (groups.append(_REST if token == "..." else [token]) if inner is None else inner.append(token))
    if inner is not None:
        raise ValueError(f"rearrange: brackets do not match in {pattern!r}")
    names = [name for group in groups for name in group if name != "1"]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"rearrange: {pattern!r} contains the dimension {name!r} twice on one side")
    return [group if group is _REST else [name for name in group if name != "1"] for group in groups]


def _sizes(groups, shape, pattern, given):
    """{name: size} of the names of the left side, where "..." has a list; and the sizes in the order of the names."""
    rest = len(shape) - sum(group is not _REST for group in groups)
    has_rest = any(group is _REST for group in groups)
    if any("..." in group and group is not _REST for group in groups):
        raise ValueError(f"rearrange: '...' stands alone on the left side, got {pattern!r}")
    if rest < 0 or (rest and not has_rest):
        raise ValueError(f"rearrange: the pattern {pattern!r} has {len(groups) - has_rest} dimensions, the tensor {len(shape)}: {tuple(shape)}")
    sizes, at = {}, 0
    for group in groups:
        if group is _REST:
            sizes["..."] = list(shape[at : at + rest])
            at += rest
            continue
        _bind(group, shape[at], sizes, pattern, given)
        at += 1
    return sizes


def _bind(group, size, sizes, pattern, given):
    unknown = [name for name in group if name not in given]
    known = math.prod(given[name] for name in group if name in given)
    if len(unknown) > 1:
        raise ValueError(f"rearrange: the sizes of {unknown} in {pattern!r} are not known: give all but one of them")
    if (unknown and (known == 0 or size % known)) or (not unknown and known != size):
        raise ValueError(f"rearrange: a dimension of size {size} is no product of ({' '.join(group)}) in {pattern!r} with {given}")
    for name in group:
        sizes[name] = given[name] if name in given else size // known


def rearrange(tensor, pattern, **axes_lengths):
    """The tensor with its dimensions in another order, joined by brackets on the right of a pattern, and split by brackets on its left.

    Args:
        tensor: a tensor, or a list of tensors, which are stacked in front.
        pattern: "left -> right": names of dimensions, "..." for all others, "1" for one of size 1, and brackets around those that are one dimension.
        axes_lengths: sizes of names within brackets of the left side, of which one may be left out.

    Errors: ValueError for a pattern that cannot be read, or that does not fit the tensor.

    >>> torch.func.rearrange(torch.arange(6).reshape(2, 3), "a b -> b a").shape
    torch.Size([3, 2])
    >>> torch.func.rearrange(torch.arange(6), "(a b) -> b 1 a", a=2).shape
    torch.Size([3, 1, 2])
    """
    import cresset as torch

    if not isinstance(tensor, torch.Tensor):
        tensor = torch.stack(list(tensor))
    left, arrow, right = pattern.partition("->")
    if not arrow or "->" in right:
        raise ValueError(f"rearrange: expected one '->' in the pattern, got {pattern!r}")
    source, target = _parsed(left, pattern), _parsed(right, pattern)
    names, wanted = [n for group in source for n in group], [n for group in target for n in group]
    if set(names) != set(wanted):
        raise ValueError(f"rearrange: {sorted(set(names) ^ set(wanted))} stand on one side only of {pattern!r}")
    if unknown := set(axes_lengths) - set(names):
        raise ValueError(f"rearrange: {sorted(unknown)} are no dimensions of {pattern!r}")
    sizes = _sizes(source, tensor.shape, pattern, axes_lengths)
    split = tensor.reshape([size for name in names for size in (sizes[name] if name == "..." else [sizes[name]])])
    places, at = {}, 0
    for name in names:
        count = len(sizes[name]) if name == "..." else 1
        places[name] = list(range(at, at + count))
        at += count
    moved = split.permute([place for name in wanted for place in places[name]])
    shape = []
    for group in target:
        if group is _REST:
            shape += sizes["..."]
        else:
            shape.append(math.prod(math.prod(sizes[name]) if name == "..." else sizes[name] for name in group))
    return moved.reshape(shape)


rearrange = overridable(rearrange, "cresset.func")
