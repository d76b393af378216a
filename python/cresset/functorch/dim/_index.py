"""Indices with first-class dimensions, read and written."""

import itertools

import cresset as _torch

from ._dims import DimensionBindError, DimList, bind, bind_group
from ._values import Dim, _Tensor, aligned, made, order, parts, place, union

_POSITIONAL = object()  # a dimension that stays as it is


def _is_group(entry):
    return isinstance(entry, (tuple, list)) and any(isinstance(item, Dim) for item in entry)


def _takes(entry):
    """How many dimensions an entry of an index takes."""
    if entry is None or entry is Ellipsis or isinstance(entry, bool):
        return 0
    if isinstance(entry, DimList):
        return len(entry) if entry.is_bound else 0
    return entry.dim() if isinstance(entry, _torch.Tensor) and entry.dtype in (_torch.bool, _torch.uint8) else 1


def _entries(index, count):
    """One entry for each positional dimension, and None for those that are new."""
    items = list(index) if isinstance(index, tuple) else [index]
    open_ = [at for at, item in enumerate(items) if item is Ellipsis or (isinstance(item, DimList) and not item.is_bound)]
    if len(open_) > 1:
        raise DimensionBindError(f"index: at most one `...` or unbound list of dimensions, got {len(open_)}, at {open_}")
    taken = sum(map(_takes, items))
    if taken > count:
        raise IndexError(f"index: {taken} indices for a tensor with {count} positional dimensions")
    left, found = count - taken, []
    for item in [*items, Ellipsis] if not open_ else items:
        if item is Ellipsis:
            found.extend(itertools.repeat(slice(None), left))
        elif isinstance(item, DimList):
            if not item.is_bound:
                item.bind_len(left)
            found.extend(item)
        elif isinstance(item, _torch.Tensor) and item.dtype in (_torch.bool, _torch.uint8):
            found.extend(item.nonzero().unbind(1))
        elif isinstance(item, (tuple, list)) and not _is_group(item):
            found.append(_torch.as_tensor(item))
        else:
            found.append(item)
    return found


class _Plan:
    """How an index reads a tensor: `view` holds the dimensions that `indices` read first, then the others; what is read has the
    dimensions `levels` first after `permutation`."""

    def __init__(self, tensor, index):
        value, own = parts(tensor)
        entries = _entries(index, value.dim() - len(own))
        basic = [slice(None) if isinstance(e, (_Tensor, _torch.Tensor)) or _is_group(e) else e for e in entries]
        self.view = value[(*[slice(None)] * len(own), *basic)]
        kinds = self._split([*own, *(e for e in entries if e is None or not isinstance(e, int))])
        gathered = self._gathered(kinds)
        if not gathered:
            self.indices = None
            self._arrange([k for k in kinds if isinstance(k, Dim)], list(enumerate(kinds)), 0, 0)
        else:
            self._gather(kinds, gathered)

    def _split(self, entries):
        """Each dimension of the view, as a Dim, a tensor of indices, or positional; groups split theirs."""
        kinds, at = [], 0
        for entry in entries:
            if _is_group(entry):
                sizes = bind_group(entry, self.view.shape[at])
                self.view = self.view.unflatten(at, sizes)
                kinds += entry
                at += len(entry)
                continue
            if isinstance(entry, Dim) and place([k for k in kinds if isinstance(k, Dim)], entry) < 0:  # again, it only reads the places it has
                bind(entry, self.view.shape[at])
            kinds.append(entry if isinstance(entry, (_Tensor, _torch.Tensor)) else _POSITIONAL)
            at += 1
        return kinds

    @staticmethod
    def _gathered(kinds):
        """Dimensions whose places are read together: those of tensors of indices, and those that occur twice."""
        tensors = [k for k in kinds if isinstance(k, (_Tensor, _torch.Tensor)) and not isinstance(k, Dim)]
        single = [k for k in kinds if isinstance(k, Dim)]
        twice = [k for at, k in enumerate(single) if place(single[:at], k) >= 0]
        return (tensors, union([*(parts(t)[1] for t in tensors), twice])) if tensors or twice else None

    def _gather(self, kinds, gathered):
        levels = gathered[1]
        read = [at for at, k in enumerate(kinds) if isinstance(k, (_Tensor, _torch.Tensor)) and (not isinstance(k, Dim) or place(levels, k) >= 0)]
        rest = [(at, k) for at, k in enumerate(kinds) if at not in read]
        positional = max(parts(kinds[at])[0].dim() - len(parts(kinds[at])[1]) for at in read)
        self.view = self.view.permute(*read, *(at for at, _ in rest))
        self.indices = tuple(aligned(*parts(kinds[at]), levels, positional) for at in read)
        shape = _torch.broadcast_shapes(*(i.shape for i in self.indices))
        self.indices = tuple(i.expand(shape) for i in self.indices)
        # New positional dimensions stand where the tensors of indices do, in front where these are apart.
        many = [at for at in read if parts(kinds[at])[0].dim() > len(parts(kinds[at])[1])]
        adjacent = many and many == list(range(many[0], many[-1] + 1))
        before = sum(k is _POSITIONAL for at, k in rest if adjacent and at < many[0])
        self._arrange(list(levels), [(at + len(levels) + positional, k) for at, (_, k) in enumerate(rest)], positional, before, len(levels))

    def _arrange(self, levels, rest, positional, before, offset=0):
        """Dimensions of what is read in order: the first-class ones, then the positional ones, `positional` new ones after `before`."""
        if self.indices is None:
            self.levels, first = levels, [at for at, k in rest if k is not _POSITIONAL]
        else:
            more = [(at, k) for at, k in rest if k is not _POSITIONAL]
            self.levels, first = [*levels, *(k for _, k in more)], [*range(len(levels)), *(at for at, _ in more)]
        last = [at for at, k in rest if k is _POSITIONAL]
        self.permutation = [*first, *last[:before], *range(offset, offset + positional), *last[before:]]

    def read(self):
        value = self.view if self.indices is None else self.view[self.indices]
        return made(value.permute(self.permutation), self.levels)

    def write(self, source):
        if self.indices is None:
            target = self.view.permute(self.permutation)
            target.copy_(self._source(source, target.dim()))
            return
        shape = [*self.indices[0].shape, *self.view.shape[len(self.indices) :]]
        source = self._source(source, len(shape)).expand([shape[at] for at in self.permutation])
        back = sorted(range(len(shape)), key=self.permutation.__getitem__)
        self.view[self.indices] = source.permute(back)

    def _source(self, source, dims):
        if not isinstance(source, (_Tensor, _torch.Tensor)):
            return _torch.as_tensor(source, dtype=self.view.dtype)
        value, own = parts(source)
        for level in own:
            if place(self.levels, level) < 0:
                raise DimensionBindError(f"index: the value has dimension {level!r}, which the place that is written does not have, got {tuple(self.levels)}")
        value = value.to(self.view.dtype)
        positional = dims - len(self.levels)
        while value.dim() - len(own) > positional and value.shape[len(own)] == 1:
            value = value.squeeze(len(own))
        return aligned(value, own, self.levels, positional)


def get_item(tensor, index):
    return _Plan(tensor, index).read()


def set_item(tensor, index, value):
    _Plan(tensor, index).write(value)


def index(tensor, positions, dims):
    """`functorch.dim.index`."""
    if not isinstance(positions, (tuple, list)) or not isinstance(dims, (tuple, list)):
        positions, dims = [positions], [dims]
    if len(positions) != len(dims):
        raise ValueError(f"index: {len(positions)} positions for {len(dims)} indices")
    first = order(tensor, tuple(positions))
    return get_item(first, tuple(dims))
