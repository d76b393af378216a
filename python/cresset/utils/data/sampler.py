"""Samplers: the order in which a loader reads a dataset. Under one seed the orders are PyTorch's."""

from __future__ import annotations

import itertools
from typing import Generic, TypeVar

import cresset as torch

__all__ = ["BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler"]

T_co = TypeVar("T_co", covariant=True)


def _check_count(name, value):
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"sampler: expected {name} to be an int above 0, got {value}")


def _check_flag(name, value, error=TypeError):
    if not isinstance(value, bool):
        raise error(f"sampler: expected {name} to be a bool, got {value}")


def draw_seed(generator=None):
    """A 63-bit random number, the seed of what is drawn next."""
    return torch.empty((), dtype=torch.int64).random_(generator=generator).item()


def generators_of(sampler, *more):
    """The generators that an order is drawn from: the global one, given ones, the sampler's and those of samplers in it."""
    found = [torch.default_generator, *more]
    while sampler is not None:
        found.append(getattr(sampler, "generator", None))
        sampler = getattr(sampler, "sampler", None)
    return [g for i, g in enumerate(found) if isinstance(g, torch.Generator) and not any(g is other for other in found[:i])]


class Sampler(Generic[T_co]):
    """Base class: a subclass gives ``__iter__`` over indices (or lists of them), and usually ``__len__``.

    Example::

        >>> from cresset.utils.data import DataLoader, Sampler
        >>> class Backwards(Sampler):
        ...     def __init__(self, data):
        ...         self.data = data
        ...     def __iter__(self):
        ...         return reversed(range(len(self.data)))
        >>> [item.item() for item in DataLoader([1, 2, 3], sampler=Backwards([1, 2, 3]))]
        [3, 2, 1]
    """

    def __iter__(self):
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """The indices in order.

    Example::

        >>> from cresset.utils.data import SequentialSampler
        >>> list(SequentialSampler("abc"))
        [0, 1, 2]
    """

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        yield from range(len(self.data_source))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """The indices in random order.

    Args:
        data_source: whose length counts.
        replacement: whether each index is drawn from all of them.
        num_samples: how many; by default the length. More than the length are several permutations.
        generator: by default a new one each time, seeded from the global one.

    Errors: TypeError or ValueError for a ``replacement`` that is no flag and a number that is not positive.

    Example::

        >>> import cresset as torch
        >>> sampler = torch.utils.data.RandomSampler(range(5), generator=torch.Generator().manual_seed(0))
        >>> sorted(sampler)
        [0, 1, 2, 3, 4]
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source, self.replacement, self._num_samples, self.generator = data_source, replacement, num_samples, generator
        _check_flag("replacement", replacement)
        _check_count("num_samples", self.num_samples)

    @property
    def num_samples(self):
        """How many indices are drawn."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        n, wanted, generator = len(self.data_source), self.num_samples, self.generator
        if generator is None:
            generator = torch.Generator().manual_seed(draw_seed())
        if self.replacement:
            for start in range(0, wanted, 32):
                yield from torch.randint(n, (min(32, wanted - start),), dtype=torch.int64, generator=generator).tolist()
        else:
            for _ in range(wanted // n):
                yield from torch.randperm(n, generator=generator).tolist()
            yield from torch.randperm(n, generator=generator).tolist()[: wanted % n]

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order.

    Example::

        >>> from cresset.utils.data import SubsetRandomSampler
        >>> sorted(SubsetRandomSampler([7, 3]))
        [3, 7]
    """

    def __init__(self, indices, generator=None):
        self.indices, self.generator = indices, generator

    def __iter__(self):
        order = torch.randperm(len(self), generator=self.generator)
        yield from map(self.indices.__getitem__, order.tolist())

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with given weights, which need not sum to 1.

    Errors: ValueError for weights that are no row, a number that is not positive, a ``replacement`` that is no flag; RuntimeError, when
    read, for more than there are without replacement.

    Example::

        >>> from cresset.utils.data import WeightedRandomSampler
        >>> list(WeightedRandomSampler([0.0, 2.0], 3))
        [1, 1, 1]
    """

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        _check_count("num_samples", num_samples)
        _check_flag("replacement", replacement, ValueError)
        weights = torch.as_tensor(weights, dtype=torch.float64)
        if weights.dim() != 1:
            raise ValueError(f"WeightedRandomSampler: expected weights of one dimension, got shape {tuple(weights.shape)}")
        self.weights, self.num_samples, self.replacement, self.generator = weights, num_samples, replacement, generator

    def __iter__(self):
        yield from torch.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler[list]):
    """Lists of ``batch_size`` indices of another sampler; the last may be shorter, or is left out with ``drop_last``.

    Errors: ValueError for a size that is no positive integer and a ``drop_last`` that is no flag.

    Example::

        >>> from cresset.utils.data import BatchSampler
        >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size, drop_last):
        _check_count("batch_size", batch_size)
        _check_flag("drop_last", drop_last, ValueError)
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self):
        return len(self.sampler) // self.batch_size if self.drop_last else -(-len(self.sampler) // self.batch_size)
