"""Datasets of tensors in memory, read in whole batches: what collating their items gives, by one step for each tensor."""

from __future__ import annotations

import bisect

import cresset as torch


def gatherer(dataset):
    """Reads batches of a `TensorDataset`, of a `Subset`, a `StackDataset` or a `ConcatDataset` of such, and of what else is registered. None for
    other datasets, subclasses of these among them: their items may be anything."""
    cls = type(dataset)
    kind, read = _KINDS.get(cls, (None, None))
    if kind is None or cls.__getitem__ is not read or "__getitems__" in vars(dataset):
        return None
    parts = [gatherer(part) for part in kind.parts(dataset)]
    return None if any(part is None for part in parts) else kind(dataset, parts)


_KINDS = {}  # class -> how batches of it are read, and how items were when that was said


def register(kind, *classes):
    """Batches of these classes are read by a `kind` of `Gatherer` from now on, as long as the reading of their items is not replaced."""
    _KINDS.update((cls, (kind, cls.__getitem__)) for cls in classes)


class _Rows:
    """Indices, as a tensor when one is asked for."""

    def __init__(self, index):
        self.index, self._tensor = index, None

    def tensor(self):
        if self._tensor is None:
            self._tensor = torch.tensor(self.index, dtype=torch.int64)
        return self._tensor


class Gatherer:
    """Subclasses have `read(rows, take)`: the batch, None where it is not to be had; `take(dtype, shape)` gives memory for it, or None."""

    def __init__(self, dataset, parts):
        self.dataset, self.inner = dataset, parts

    @staticmethod
    def parts(dataset):
        return []

    def ready(self):
        """Whether batches are to be had so, as things are now."""
        return all(part.ready() for part in self.inner)

    def batch(self, index, take):
        """The batch of a list of indices, None where it is not to be had so; then reading its items also tells what is wrong."""
        if not index or type(index) is not list or not all(type(i) is int for i in index):
            return None
        try:
            return self.read(_Rows(index), take)
        except (IndexError, RuntimeError):
            return None


def _is_dense(t):
    return type(t) is torch.Tensor and t.layout == torch.strided and t.is_contiguous() and not t.is_conj() and not t.is_neg() and t.dim() > 0


class Tensors(Gatherer):
    def read(self, rows, take):
        tensors = self.dataset.tensors
        if not all(map(_is_dense, tensors)):
            return None
        result = []
        for t in tensors:
            out = None if t.requires_grad else take(t.dtype, (len(rows.index), *t.shape[1:]))
            result.append(torch.index_select(t, 0, rows.tensor()) if out is None else torch.index_select(t, 0, rows.tensor(), out=out))
        return result


class Subsets(Gatherer):
    @staticmethod
    def parts(dataset):
        return [dataset.dataset]

    def read(self, rows, take):
        lookup = self.dataset.indices
        if type(lookup) in (list, tuple, range):
            index = [lookup[i] for i in rows.index]
        elif type(lookup) is torch.Tensor and lookup.dim() == 1:
            index = lookup[rows.tensor()].tolist()
        else:
            return None
        return self.inner[0].read(_Rows(index), take) if all(type(i) is int for i in index) else None


class Stacks(Gatherer):
    @staticmethod
    def parts(dataset):
        return dataset._parts()

    def read(self, rows, take):
        columns = [part.read(rows, take) for part in self.inner]
        if any(column is None for column in columns):
            return None
        names = self.dataset.datasets
        return dict(zip(names, columns)) if isinstance(names, dict) else columns


class Concats(Gatherer):
    @staticmethod
    def parts(dataset):
        return dataset.datasets

    def read(self, rows, take):
        ends = self.dataset.cumulative_sizes
        mine = [[] for _ in ends]
        order = [[] for _ in ends]
        for place, i in enumerate(rows.index):
            if not 0 <= i < ends[-1]:
                return None
            which = bisect.bisect_right(ends, i)
            mine[which].append(i - (ends[which - 1] if which else 0))
            order[which].append(place)
        read = [(part.read(_Rows(index), _nothing), places) for part, index, places in zip(self.inner, mine, order) if index]
        if any(batch is None for batch, _ in read):
            return None
        back = torch.tensor([place for _, places in read for place in places]).argsort()
        return _merged([batch for batch, _ in read], back)


def _nothing(dtype, shape):
    return None


def _merged(batches, back):
    """Batches of one structure, one after the other and in the order `back`; None where they are of different kinds."""
    first = batches[0]
    if isinstance(first, torch.Tensor):
        if any(b.dtype != first.dtype or b.shape[1:] != first.shape[1:] for b in batches):
            return None
        return torch.cat(batches).index_select(0, back)
    if any(type(b) is not type(first) or len(b) != len(first) for b in batches):
        return None
    if isinstance(first, dict):
        merged = [_merged([b[key] for b in batches], back) for key in first] if all(b.keys() == first.keys() for b in batches) else [None]
    else:
        merged = [_merged(list(column), back) for column in zip(*batches)]
    if any(m is None for m in merged):
        return None
    return dict(zip(first, merged)) if isinstance(first, dict) else merged
