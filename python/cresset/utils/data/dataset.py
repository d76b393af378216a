"""Datasets: by index, as streams, and combinations of them."""

from __future__ import annotations

import bisect
import itertools
import math
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
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


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
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other):
        return ChainDataset([self, other])


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
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        return self.tensors[0].size(0)


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
            raise ValueError("Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like input/output, but both types are given.")
        self.datasets = args or kwargs
        parts = self._parts()
        if not parts:
            raise ValueError("At least one dataset should be passed")
        self._length = len(parts[0])
        if any(len(part) != self._length for part in parts):
            raise ValueError("Size mismatch between datasets")

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
    items = dataset.__getitems__(indices)
    if len(items) != len(indices):
        raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}")
    return items


class ConcatDataset(Dataset):
    """Datasets one after the other. Errors: AssertionError for none and for streams, ValueError for an index too far below 0.

    Example::

        >>> from cresset.utils.data import ConcatDataset
        >>> ConcatDataset(["ab", "cde"])[3]
        'd'
    """

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence):
        """The lengths of the datasets, summed up to each of them."""
        return list(itertools.accumulate(map(len, sequence)))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
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
                raise AssertionError("ChainDataset only supports IterableDataset")
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
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for i, fraction in enumerate(lengths):
            if not 0 <= fraction <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        lengths = [math.floor(total * fraction) for fraction in lengths]
        for i in range(total - sum(lengths)):
            lengths[i % len(lengths)] += 1
        for i, length in enumerate(lengths):
            if length == 0:
                warnings.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2)
    if sum(lengths) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = torch.randperm(total, generator=generator).tolist()
    ends = itertools.accumulate(lengths)
    return [Subset(dataset, order[end - length : end]) for end, length in zip(ends, lengths)]


gather.register(gather.Tensors, TensorDataset)
gather.register(gather.Subsets, Subset)
gather.register(gather.Stacks, StackDataset)
gather.register(gather.Concats, ConcatDataset)
