"""Datasets: by index, as streams, and combinations of them."""

from __future__ import annotations

import bisect
import itertools
import math
import operator
import warnings
from typing import Generic, TypeVar

import cresset as torch

from ._utils import gather

__all__ = ["ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset", "random_split"]

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """A dataset read by index: a subclass gives ``__getitem__`` and usually ``__len__``.

    One that also gives ``__getitems__(indices)``, a list of items, is asked for whole batches. ``a + b`` is the one after the other.

    Example::

        >>> from cresset.utils.data import Dataset
        >>> class Squares(Dataset):
        ...     def __len__(self):
        ...         return 3
        ...     def __getitem__(self, index):
        ...         return index**2
        >>> both = Squares() + Squares()
        >>> len(both), both[5]
        (6, 4)
    """

    def __getitem__(self, index):
        raise NotImplementedError(f"Dataset: expected a subclass with __getitem__, got {type(self).__name__}")

    def __add__(self, other):
        return ConcatDataset((self, other))


class IterableDataset(Dataset[T_co]):
    """A dataset read as a stream: a subclass gives ``__iter__``.

    With several workers each of them iterates over a copy; `get_worker_info` tells ``__iter__`` which share is its own.

    Example::

        >>> from cresset.utils.data import DataLoader, IterableDataset
        >>> class Count(IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(5))
        >>> [batch.tolist() for batch in DataLoader(Count(), batch_size=2)]
        [[0, 1], [2, 3], [4]]
    """

    def __iter__(self):
        raise NotImplementedError(f"IterableDataset: expected a subclass with __iter__, got {type(self).__name__}")

    def __add__(self, other):
        return ChainDataset((self, other))


class TensorDataset(Dataset):
    """Tuples of the i-th slices of tensors.

    Args:
        tensors: of equal size in the first dimension. Errors: AssertionError otherwise.

    Example::

        >>> import cresset as torch
        >>> dataset = torch.utils.data.TensorDataset(torch.arange(4), torch.arange(4) ** 2)
        >>> [x.item() for x in dataset[3]]
        [3, 9]
    """

    def __init__(self, *tensors):
        self.tensors = tensors
        if len(lengths := {len(tensor) for tensor in tensors}) > 1:
            raise AssertionError(f"TensorDataset: expected tensors of one length, got {sorted(lengths)}")

    def __getitem__(self, index):
        return tuple(map(operator.itemgetter(index), self.tensors))

    def __len__(self):
        return len(self.tensors[0])


class StackDataset(Dataset):
    """Datasets of equal length side by side: items are tuples (arguments) or dictionaries (named arguments) of theirs.

    Errors: ValueError for both kinds of arguments, for none, and for different lengths.

    Example::

        >>> from cresset.utils.data import StackDataset
        >>> StackDataset(text=["a", "b"], label=[0, 1])[1]
        {'text': 'b', 'label': 1}
    """

    def __init__(self, *args, **kwargs):
        if args and kwargs:
            raise ValueError(f"StackDataset: expected all datasets by place or all by name, got {len(args)} by place and {len(kwargs)} by name")
        self.datasets = args or kwargs
        parts = self._parts()
        if not parts:
            raise ValueError("StackDataset: expected datasets, got none")
        self._length = len(parts[0])
        if len(lengths := set(map(len, parts))) > 1:
            raise ValueError(f"StackDataset: expected datasets of one length, got {sorted(lengths)}")

    def _parts(self):
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _joined(self, values):
        return dict(zip(self.datasets, values)) if isinstance(self.datasets, dict) else tuple(values)

    def __getitem__(self, index):
        return self._joined([part[index] for part in self._parts()])

    def __getitems__(self, indices):
        columns = [_items(part, indices) for part in self._parts()]
        return [self._joined(values) for values in zip(*columns)]

    def __len__(self):
        return self._length


def _items(dataset, indices):
    """Items of a dataset, at once where it can."""
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[i] for i in indices]
    found = dataset.__getitems__(indices)
    if (count := len(found)) != len(indices):
        raise ValueError(f"__getitems__: expected {len(indices)} items of {type(dataset).__name__}, got {count}")
    return found


class ConcatDataset(Dataset):
    """Datasets one after the other. Errors: AssertionError for none and for streams, ValueError for an index too far below 0.

    Example::

        >>> from cresset.utils.data import ConcatDataset
        >>> ConcatDataset(["ab", "cde"])[3]
        'd'
    """

    def __init__(self, datasets):
        self.datasets = [*datasets]
        if not self.datasets:
            raise AssertionError("ConcatDataset: expected datasets, got none")
        if streams := [type(dataset).__name__ for dataset in self.datasets if isinstance(dataset, IterableDataset)]:
            raise AssertionError(f"ConcatDataset: expected datasets that are read by index, got {streams[0]}")
        self.cumulative_sizes = type(self).cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence):
        """The lengths of the datasets, summed up to each of them."""
        return list(itertools.accumulate(map(len, sequence)))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        if index < 0:
            index += len(self)
            if index < 0:
                raise ValueError(f"ConcatDataset: expected an index of at least {-len(self)}, got {index - len(self)}")
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]

    @property
    def cummulative_sizes(self):
        """An old, misspelt name of ``cumulative_sizes``."""
        warnings.warn("cummulative_sizes attribute is renamed to cumulative_sizes", FutureWarning, stacklevel=2)
        return self.cumulative_sizes


class ChainDataset(IterableDataset):
    """Streams one after the other. Errors: AssertionError, when read, for what is no stream.

    >>> class Count(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([1, 2])
    >>> list(torch.utils.data.ChainDataset([Count(), Count()]))
    [1, 2, 1, 2]
    """

    def __init__(self, datasets):
        self.datasets = datasets

    def __iter__(self):
        for dataset in self._streams():
            yield from dataset

    def _streams(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError(f"ChainDataset: expected streams, got {type(dataset).__name__}")
            yield dataset

    def __len__(self):
        return sum(map(len, self._streams()))


class Subset(Dataset[T_co]):
    """The items of a dataset at given indices.

    Example::

        >>> from cresset.utils.data import Subset
        >>> list(Subset("abcd", [3, 0]))
        ['d', 'a']
    """

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        return self.dataset[[self.indices[i] for i in index] if isinstance(index, list) else self.indices[index]]

    def __getitems__(self, indices):
        return _items(self.dataset, [self.indices[i] for i in indices])

    def __len__(self):
        return len(self.indices)


def random_split(dataset, lengths, generator=None):
    """Non-overlapping random subsets.

    Args:
        dataset: to split.
        lengths: numbers of items that sum to its length, or fractions that sum to 1: these are rounded down, and what is left goes to
            the first subsets, one item each.
        generator: of the permutation; by default the global one.

    Errors: ValueError for lengths or fractions that do not add up.

    Example::

        >>> import cresset as torch
        >>> parts = torch.utils.data.random_split(range(10), [0.7, 0.3], generator=torch.Generator().manual_seed(0))
        >>> [len(part) for part in parts]
        [7, 3]
    """
    total = len(dataset)
    whole = sum(lengths)
    if whole <= 1 and math.isclose(whole, 1):
        if outside := [fraction for fraction in lengths if not 0 <= fraction <= 1]:
            raise ValueError(f"random_split: expected fractions within [0, 1], got {outside[0]}")
        lengths = [math.floor(total * fraction) for fraction in lengths]
        for i in range(total - sum(lengths)):
            lengths[i % len(lengths)] += 1
        for place in (i for i, length in enumerate(lengths) if not length):
            warnings.warn(f"random_split: part {place} is empty", stacklevel=2)
    if sum(lengths) != total:
        raise ValueError(f"random_split: expected lengths that sum to {total}, got {list(lengths)}")
    order = torch.randperm(total, generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, order[end - length : end]) for end, length in zip(ends, lengths)]


gather.register(gather.Tensors, TensorDataset)
gather.register(gather.Subsets, Subset)
gather.register(gather.Stacks, StackDataset)
gather.register(gather.Concats, ConcatDataset)
