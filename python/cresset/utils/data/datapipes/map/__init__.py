"""Steps that are read by index or key."""

import cresset as torch

from .._decorator import copied_or_shared, functional_datapipe
from .._shared import Batches, OfOne, Shuffled, warn_of_unpicklable
from ..datapipe import DataChunk, IterDataPipe, MapDataPipe

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]


class SequenceWrapperMapDataPipe(MapDataPipe):
    """The items of a sequence or mapping; of a copy of it, unless `deepcopy` is false.

    >>> torch.utils.data.datapipes.map.SequenceWrapper("abc")[1]
    'b'
    """

    def __init__(self, sequence, deepcopy=True):
        self.sequence = copied_or_shared(sequence) if deepcopy else sequence

    def __getitem__(self, index):
        return self.sequence[index]

    def __len__(self):
        return len(self.sequence)


def _same(item):
    return item


@functional_datapipe("map")
class MapperMapDataPipe(OfOne, MapDataPipe):
    """A function of each item.

    >>> torch.utils.data.datapipes.map.SequenceWrapper([1, 2]).map(lambda x: 10 * x)[1]
    20
    """

    def __init__(self, datapipe, fn=_same):
        warn_of_unpicklable(fn)
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index):
        item = self.datapipe[index]
        return self.fn(item)


class ShufflerIterDataPipe(Shuffled, IterDataPipe):
    """The items at `indices` (0 to the length, by default) in random order, as a stream.

    >>> sorted(torch.utils.data.datapipes.map.SequenceWrapper("abc").shuffle())
    ['a', 'b', 'c']
    """

    def __init__(self, datapipe, *, indices=None):
        self.datapipe, self.indices = datapipe, list(range(len(datapipe))) if indices is None else indices
        self._begin()

    def __iter__(self):
        order = self._rng.sample(self.indices, len(self.indices)) if self._enabled else self.indices
        for index in reversed(order) if self._enabled else order:
            yield self.datapipe[index]


def _of_maps(pipes):
    """The pipes, each of which must be one that is read by index."""
    if not pipes:
        raise ValueError("expected DataPipes, got none")
    if wrong := [pipe for pipe in pipes if not isinstance(pipe, MapDataPipe)]:
        raise TypeError(f"expected MapDataPipes, got {type(wrong[0]).__name__}")
    return pipes


@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe):
    """Sequences one after the other. IndexError behind the last item.

    >>> from cresset.utils.data.datapipes.map import SequenceWrapper
    >>> SequenceWrapper("ab").concat(SequenceWrapper("c"))[2]
    'c'
    """

    def __init__(self, *datapipes):
        self.datapipes = _of_maps(datapipes)

    def __getitem__(self, index):
        rest = index
        for pipe in self.datapipes:
            if rest < len(pipe):
                return pipe[rest]
            rest -= len(pipe)
        raise IndexError(f"concat: expected an index below {len(self)}, got {index}")

    def __len__(self):
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class ZipperMapDataPipe(MapDataPipe):
    """Tuples of the items at the same place. IndexError where one has none.

    >>> from cresset.utils.data.datapipes.map import SequenceWrapper
    >>> SequenceWrapper("ab").zip(SequenceWrapper([1, 2]))[1]
    ('b', 2)
    """

    def __init__(self, *datapipes):
        self.datapipes = _of_maps(datapipes)

    def __getitem__(self, index):
        items = []
        for pipe in self.datapipes:
            try:
                items.append(pipe[index])
            except IndexError as error:
                raise IndexError(f"zip: expected an index that every pipe has, got {index}, which {pipe} lacks") from error
        return tuple(items)

    def __len__(self):
        return min(map(len, self.datapipes))


@functional_datapipe("batch")
class BatcherMapDataPipe(Batches, MapDataPipe):
    """Lists of `batch_size` items; the last may be smaller, unless `drop_last`. AssertionError for a size below 1, IndexError behind the last batch.

    >>> torch.utils.data.datapipes.map.SequenceWrapper("abc").batch(2)[1]
    ['c']
    """

    def __getitem__(self, index):
        items = range(index * self.batch_size, min((index + 1) * self.batch_size, len(self.datapipe)))
        if not items or (self.drop_last and len(items) < self.batch_size):
            raise IndexError(f"Index {index} is out of bound.")
        return self.wrapper_class([self.datapipe[i] for i in items])


Batcher, Concater, Mapper = BatcherMapDataPipe, ConcaterMapDataPipe, MapperMapDataPipe
SequenceWrapper, Shuffler, Zipper = SequenceWrapperMapDataPipe, ShufflerIterDataPipe, ZipperMapDataPipe

MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
