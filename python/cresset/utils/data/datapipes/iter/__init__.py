"""Steps that give streams."""

import collections
import copy as _copy
import fnmatch
import inspect
import itertools
import os
import warnings

import cresset as torch

from ..._utils.collate import default_collate
from ...sampler import SequentialSampler
from .._decorator import copied_or_shared, functional_datapipe
from .._shared import Batches, OfOne, Shuffled, warn_of_unpicklable
from ..datapipe import _ADVICE, DataChunk, IterDataPipe
from .sharding import ShardingFilterIterDataPipe

__all__ = ["Batcher", "Collator", "Concater", "Demultiplexer", "FileLister", "FileOpener", "Filter", "Forker", "Grouper", "IterableWrapper", "Mapper",
           "Multiplexer", "Sampler", "ShardingFilter", "Shuffler", "StreamReader", "UnBatcher", "Zipper"]  # fmt: skip


class IterableWrapperIterDataPipe(IterDataPipe):
    """The items of anything that can be iterated over; of a copy of it, unless `deepcopy` is false.

    >>> list(torch.utils.data.datapipes.iter.IterableWrapper(range(3)))
    [0, 1, 2]
    """

    def __init__(self, iterable, deepcopy=True):
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self):
        source = self.iterable
        if self.deepcopy:
            source = copied_or_shared(source)
        yield from source

    def __len__(self):
        return len(self.iterable)


def _positional(function):
    """The numbers of arguments that a function needs and takes, or None."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = sum(p.default is p.empty for p in places)
    return needed, float("inf") if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(places)


def _check_columns(function, input_col):
    counts = _positional(function)
    if counts is None:
        return
    named = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if named:
        raise ValueError(f"The function {getattr(function, '__name__', function)!r} needs the keywords {named}, which nothing is given for.")
    given, name = len(input_col) if isinstance(input_col, (list, tuple)) else 1, getattr(function, "__name__", repr(function))
    if given > counts[1]:
        raise ValueError(f"The function {name} takes {counts[1]} parameters, but {given} are required.")
    if given < counts[0]:
        raise ValueError(f"The function {name} takes {counts[0]} positional parameters, but {given} are required.")


def _applied(function, item, columns):
    if columns is None:
        return function(item)
    if isinstance(columns, (list, tuple)):
        return function(*(item[c] for c in columns))
    return function(item[columns])


@functional_datapipe("map")
class MapperIterDataPipe(OfOne, IterDataPipe):
    """A function of each item; with `input_col` of some of its places, whose result goes there or to `output_col` (-1: appended).

    >>> list(torch.utils.data.datapipes.iter.IterableWrapper([(1, 2)]).map(lambda x: -x, input_col=0))
    [(-1, 2)]
    """

    def __init__(self, datapipe, fn, input_col=None, output_col=None):
        warn_of_unpicklable(fn)
        if output_col is not None and input_col is None:
            raise ValueError("map: output_col needs an input_col.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError(f"map: expected one output_col, got {len(output_col)}")
            output_col = output_col[0]
        _check_columns(fn, input_col)
        self.datapipe, self.fn, self.input_col, self.output_col = datapipe, fn, input_col, output_col

    def _apply(self, item):
        result = _applied(self.fn, item, self.input_col)
        if self.input_col is None:
            return result
        as_tuple = isinstance(item, tuple)
        item = list(item) if as_tuple else _copy.copy(item)
        if self.output_col is None:
            columns = list(self.input_col) if isinstance(self.input_col, (list, tuple)) else [self.input_col]
            item[columns[0]] = result
            for column in sorted(columns[1:], reverse=True) if not isinstance(item, dict) else columns[1:]:
                del item[column]
        elif self.output_col == -1 and not isinstance(item, dict):
            item.append(result)
        else:
            item[self.output_col] = result
        return tuple(item) if as_tuple else item

    def __iter__(self):
        for item in self.datapipe:
            yield self._apply(item)


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Each item, a batch, collated: by `collate_fn`, by a function given as `conversion`, or by the default.

    >>> list(torch.utils.data.datapipes.iter.IterableWrapper([[1, 2]]).collate())
    [tensor([1, 2])]
    """

    def __init__(self, datapipe, conversion=default_collate, collate_fn=None):
        super().__init__(datapipe, collate_fn or conversion)


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe):
    """The items for which a function (of the places `input_col`) is true. ValueError where it gives no bool.

    >>> list(torch.utils.data.datapipes.iter.IterableWrapper(range(5)).filter(lambda x: x > 2))
    [3, 4]
    """

    def __init__(self, datapipe, filter_fn, input_col=None):
        warn_of_unpicklable(filter_fn)
        _check_columns(filter_fn, input_col)
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self):
        for item in self.datapipe:
            answer = _applied(self.filter_fn, item, self.input_col)
            if not isinstance(answer, (bool, torch.Tensor)) and type(answer).__name__ not in ("bool_", "bool"):
                raise ValueError(f"filter: expected a bool from filter_fn, got {type(answer).__name__}")
            if answer:
                yield item


@functional_datapipe("batch")
class BatcherIterDataPipe(Batches, IterDataPipe):
    """Lists of `batch_size` items; the last may be smaller, unless `drop_last`. AssertionError for a size below 1.

    >>> list(torch.utils.data.datapipes.iter.IterableWrapper(range(5)).batch(2, drop_last=True))
    [[0, 1], [2, 3]]
    """

    def __iter__(self):
        batch = []
        for item in self.datapipe:
            batch.append(item)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe):
    """The items of batches, `unbatch_level` lists deep, or (-1) as deep as they go. ValueError for smaller levels, IndexError where there are fewer lists.

    >>> list(torch.utils.data.datapipes.iter.IterableWrapper([[1, 2], [3]]).unbatch())
    [1, 2, 3]
    """

    def __init__(self, datapipe, unbatch_level=1):
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self):
        for item in self.datapipe:
            yield from self._items(item, self.unbatch_level)

    def _items(self, item, level):
        if level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        if level == 0 or (level == -1 and not isinstance(item, list)):
            yield item
            return
        if not isinstance(item, list):
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")
        for part in item:
            yield from self._items(part, level if level == -1 else level - 1)


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe):
    """Lists of items with the same key: of `group_size` items, and the rest at the end.

    Where `buffer_size` items wait, the largest group goes out; RuntimeError if it is smaller than `guaranteed_group_size`, unless
    `drop_remaining` lets it go. `keep_key` gives (key, list).

    >>> list(torch.utils.data.datapipes.iter.IterableWrapper(range(5)).groupby(lambda x: x % 2))
    [[0, 2, 4], [1, 3]]
    """

    def __init__(self, datapipe, group_key_fn, *, keep_key=False, buffer_size=10000, group_size=None, guaranteed_group_size=None, drop_remaining=False):
        warn_of_unpicklable(group_key_fn)
        if group_size is not None and not 0 < group_size <= buffer_size:
            raise AssertionError("groupby: expected group_size from 1 to buffer_size")
        if guaranteed_group_size is not None and (group_size is None or not 0 < guaranteed_group_size <= group_size):
            raise AssertionError("groupby: expected guaranteed_group_size from 1 to group_size, which it needs")
        self.datapipe, self.group_key_fn, self.keep_key, self.max_buffer_size = datapipe, group_key_fn, keep_key, buffer_size
        self.group_size, self.guaranteed_group_size, self.drop_remaining = group_size, guaranteed_group_size, drop_remaining
        if group_size is not None and guaranteed_group_size is None:
            self.guaranteed_group_size = group_size if not drop_remaining else guaranteed_group_size
        self.wrapper_class = DataChunk

    def _made(self, key, group):
        chunk = self.wrapper_class(group)
        return (key, chunk) if self.keep_key else chunk

    def __iter__(self):
        groups, waiting = {}, 0
        for item in self.datapipe:
            key = self.group_key_fn(item)
            groups.setdefault(key, []).append(item)
            waiting += 1
            if len(groups[key]) == self.group_size:
                waiting -= len(groups[key])
                yield self._made(key, groups.pop(key))
            if waiting == self.max_buffer_size:
                largest = max(groups, key=lambda k: len(groups[k]))
                group = groups.pop(largest)
                waiting -= len(group)
                enough = self.guaranteed_group_size is None or len(group) >= self.guaranteed_group_size
                if not enough and not self.drop_remaining:
                    raise RuntimeError("Failed to group items", str(group))
                if enough:
                    yield self._made(largest, group)
        for key, group in groups.items():
            yield self._made(key, group)


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(Shuffled, IterDataPipe):
    """The items in random order: each is drawn from `buffer_size` that wait. `set_seed` gives the next order; else it comes from `torch.manual_seed`.

    >>> sorted(torch.utils.data.datapipes.iter.IterableWrapper(range(4)).shuffle())
    [0, 1, 2, 3]
    """

    def __init__(self, datapipe, *, buffer_size=10000, unbatch_level=0):
        if buffer_size <= 0:
            raise AssertionError("expected buffer_size above 0")
        self.datapipe = datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level=unbatch_level)
        self.buffer_size = buffer_size
        self._begin()

    def __iter__(self):
        if not self._enabled:
            yield from self.datapipe
            return
        waiting = []
        for item in self.datapipe:
            if len(waiting) == self.buffer_size:
                place = self._rng.randint(0, len(waiting) - 1)
                waiting[place], item = item, waiting[place]
                yield item
            else:
                waiting.append(item)
        while waiting:
            yield waiting.pop(self._rng.randint(0, len(waiting) - 1))


class SamplerIterDataPipe(IterDataPipe):
    """Items of a sampler that is made with the step and further arguments. AssertionError for a step without a length.

    >>> list(torch.utils.data.datapipes.iter.Sampler(torch.utils.data.datapipes.iter.IterableWrapper("ab")))
    [0, 1]
    """

    def __init__(self, datapipe, sampler=SequentialSampler, sampler_args=None, sampler_kwargs=None):
        if not isinstance(datapipe, collections.abc.Sized):
            raise AssertionError("Sampler: expected a DataPipe that has a length")
        self.datapipe = datapipe
        self.sampler = sampler(*(sampler_args or ()), data_source=datapipe, **(sampler_kwargs or {}))

    def __iter__(self):
        yield from self.sampler

    def __len__(self):
        return len(self.sampler)


# ---- several streams ------------------------------------------------------------------------------------------------------


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe):
    """Streams one after the other. ValueError for none, TypeError for other values.

    >>> from cresset.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper("ab").concat(IterableWrapper("c")))
    ['a', 'b', 'c']
    """

    def __init__(self, *datapipes):
        if not datapipes:
            raise ValueError("expected DataPipes, got none")
        if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
            raise TypeError("expected IterDataPipes as inputs")
        self.datapipes = datapipes

    def __iter__(self):
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self):
        return sum(map(len, self.datapipes))


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe):
    """One item of each stream in turn, until the shortest ends.

    >>> from cresset.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([1, 2]).mux(IterableWrapper("abc")))
    [1, 'a', 2, 'b']
    """

    def __init__(self, *datapipes):
        self.datapipes = datapipes

    def __iter__(self):
        for round_ in zip(*self.datapipes):
            yield from round_

    def __len__(self):
        return min(map(len, self.datapipes)) * len(self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe):
    """Tuples of an item of each stream, until the shortest ends. TypeError for other values.

    >>> from cresset.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([1, 2]).zip(IterableWrapper("ab")))
    [(1, 'a'), (2, 'b')]
    """

    def __init__(self, *datapipes):
        if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
            raise TypeError("zip: expected IterDataPipes as inputs.")
        self.datapipes = datapipes

    def __iter__(self):
        yield from zip(*self.datapipes)

    def __len__(self):
        return min(map(len, self.datapipes))


class _Source:
    """One stream that several steps read, each at its own pace; a run ends when one of them begins again."""

    def __init__(self, datapipe, count, buffer_size):
        if count < 1:
            raise ValueError(f"expected num_instances above 0, got {count}")
        if buffer_size == 0:
            raise ValueError("`buffer_size` must be larger than 0, or -1 for no limit, got 0")
        if buffer_size < 0:
            warnings.warn("Unlimited buffer size is set, please be aware of OOM risks", UserWarning, stacklevel=3)
        self.datapipe, self.count, self.buffer_size = datapipe, count, buffer_size
        self.run = 0
        self.restart()

    def restart(self):
        self.run += 1
        self.stream, self.begun, self.ended = None, set(), set()
        self.waiting = [collections.deque() for _ in range(self.count)]

    def begin(self, number):
        if number in self.begun:
            if len(self.ended) < self.count:
                warnings.warn("a part begins again before all parts have ended: the others lose what they have not read", UserWarning, stacklevel=3)
            self.restart()
        self.begun.add(number)
        return self.run

    def read(self):
        if self.stream is None:
            self.stream = iter(self.datapipe)
        return next(self.stream)

    def __getstate__(self):
        return self.datapipe, self.count, self.buffer_size, {k: v for k, v in vars(self).items() if k in ("copy", "classifier_fn", "drop_none")}

    def __setstate__(self, state):
        self.datapipe, self.count, self.buffer_size, rest = state
        vars(self).update(rest)
        self.run = 0
        self.restart()


def _same(item):
    return item


class _Forked(OfOne, _Source):
    def __init__(self, datapipe, count, buffer_size, copy):
        super().__init__(datapipe, count, buffer_size)
        copies = {None: _same, "shallow": _copy.copy, "deep": _copy.deepcopy}
        if copy not in copies:
            raise ValueError(f"fork: expected copy to be one of {list(copies)}, got {copy!r}")
        self.copy = copies[copy]

    def next(self, number):
        if not self.waiting[number]:
            item = self.read()
            if self.buffer_size >= 0 and any(len(w) >= self.buffer_size for i, w in enumerate(self.waiting) if i != number):
                raise BufferError(f"ForkerIterDataPipe buffer overflow,buffer size {self.buffer_size} is insufficient.")
            for queue in self.waiting:
                queue.append(item)
        return self.copy(self.waiting[number].popleft())

    def __str__(self):
        return f"_ForkerIterDataPipe(buffer_size={self.buffer_size}, num_instances={self.count})"


class _Divided(_Source):
    def __init__(self, datapipe, count, buffer_size, classifier_fn, drop_none):
        warn_of_unpicklable(classifier_fn)
        super().__init__(datapipe, count, buffer_size)
        self.classifier_fn, self.drop_none = classifier_fn, drop_none

    def next(self, number):
        while not self.waiting[number]:
            item = self.read()
            kind = self.classifier_fn(item)
            if kind is None and self.drop_none:
                continue
            if kind is None or not 0 <= kind < self.count:
                raise ValueError(f"demux: expected classifier_fn to give 0 to {self.count - 1}, got {kind}")
            if kind == number:
                return item
            if self.buffer_size >= 0 and sum(map(len, self.waiting)) >= self.buffer_size:
                raise BufferError(f"demux: more than buffer_size={self.buffer_size} items wait for the other readers")
            self.waiting[kind].append(item)
        return self.waiting[number].popleft()

    def __str__(self):
        return f"_DemultiplexerIterDataPipe(buffer_size={self.buffer_size}, num_instances={self.count})"


class _ChildDataPipe(IterDataPipe):
    """One of the steps that read the same stream."""

    def __init__(self, main_datapipe, instance_id):
        self.main_datapipe, self.instance_id = main_datapipe, instance_id

    def __iter__(self):
        source = self.main_datapipe
        return self._items(source, source.begin(self.instance_id))

    def _items(self, source, run):
        while True:
            if source.run != run:
                raise RuntimeError(f"the iterator has ended, because another reader of the same stream was started: {source}.\n{_ADVICE}")
            try:
                item = source.next(self.instance_id)
            except StopIteration:
                source.ended.add(self.instance_id)
                return
            yield item

    def __len__(self):
        return len(self.main_datapipe)


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe):
    """A list of `num_instances` steps that give the same items each (copies, with `copy` "shallow" or "deep").

    BufferError where one is more than `buffer_size` items (-1: any number) ahead of another.

    >>> a, b = torch.utils.data.datapipes.iter.IterableWrapper(range(3)).fork(2)
    >>> list(a), list(b)
    ([0, 1, 2], [0, 1, 2])
    """

    def __new__(cls, datapipe, num_instances, buffer_size=1000, copy=None):
        if num_instances == 1:
            return datapipe
        source = _Forked(datapipe, num_instances, buffer_size, copy)
        return [_ChildDataPipe(source, i) for i in range(num_instances)]


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe):
    """A list of `num_instances` steps; a function gives for each item the number of the one it goes to (None: to none, with `drop_none`).

    ValueError for other numbers, BufferError where more than `buffer_size` items (-1: any number) wait.

    >>> even, odd = torch.utils.data.datapipes.iter.IterableWrapper(range(5)).demux(2, lambda x: x % 2)
    >>> list(even), list(odd)
    ([0, 2, 4], [1, 3])
    """

    def __new__(cls, datapipe, num_instances, classifier_fn, drop_none=False, buffer_size=1000):
        source = _Divided(datapipe, num_instances, buffer_size, classifier_fn, drop_none)
        return [_ChildDataPipe(source, i) for i in range(num_instances)]


# ---- files ----------------------------------------------------------------------------------------------------------------


def _fits(name, masks):
    return not any(masks) or any(fnmatch.fnmatch(name, mask) for mask in masks)


@functional_datapipe("list_files")
class FileListerIterDataPipe(IterDataPipe):
    """The paths of the files in a folder or several, whose names fit one of the `masks`; in folders within, too, if `recursive`. A file
    stands for itself.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> open(os.path.join(folder, "a.txt"), "w").close()
    >>> [os.path.basename(path) for path in torch.utils.data.datapipes.iter.FileLister(folder, "*.txt")]
    ['a.txt']
    """

    def __init__(self, root=".", masks="", *, recursive=False, abspath=False, non_deterministic=False, length=-1):
        self.datapipe = IterableWrapper([root] if isinstance(root, str) else root) if not isinstance(root, IterDataPipe) else root
        self.masks, self.recursive, self.abspath, self.non_deterministic, self.length = masks, recursive, abspath, non_deterministic, length

    def __iter__(self):
        masks = [self.masks] if isinstance(self.masks, str) else list(self.masks)
        for folder in self.datapipe:
            if os.path.isfile(folder):
                if _fits(os.path.basename(folder), masks):
                    yield os.path.abspath(folder) if self.abspath else folder
                continue
            for at, folders, files in os.walk(folder):
                if not self.non_deterministic:
                    folders.sort()
                    files.sort()
                for name in files:
                    if _fits(name, masks):
                        path = os.path.join(at, name)
                        yield os.path.abspath(path) if self.abspath else path
                if not self.recursive:
                    break

    def __len__(self):
        if self.length == -1:
            raise TypeError(f"len: the length of {type(self).__name__} is not known")
        return self.length


@functional_datapipe("open_files")
class FileOpenerIterDataPipe(IterDataPipe):
    """(path, open file) of each path. ValueError for other modes than r, t, b and their combinations, TypeError for what is no path.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("text")
    >>> [file.read() for _, file in torch.utils.data.datapipes.iter.FileOpener([path])]
    ['text']
    """

    def __init__(self, datapipe, mode="r", encoding=None, length=-1):
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"open_files: expected a mode of reading, got {mode!r}")
        if encoding is not None and "b" in mode:
            raise ValueError(f"open_files: expected no encoding in mode {mode!r}, got {encoding!r}")
        self.datapipe, self.mode, self.encoding, self.length = datapipe, mode if "r" in mode else "r" + mode, encoding, length

    def __iter__(self):
        for path in self.datapipe:
            if not isinstance(path, (str, os.PathLike)):
                raise TypeError(f"open_files: expected a path, got {type(path).__name__}")
            yield path, open(path, self.mode, encoding=self.encoding)  # noqa: SIM115  whoever reads it closes it

    __len__ = FileListerIterDataPipe.__len__


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe):
    """(path, content) of each (path, open file); in parts of `chunk` bytes where that is given.

    >>> import io
    >>> list(torch.utils.data.datapipes.iter.IterableWrapper([("a", io.BytesIO(b"abc"))]).read_from_stream(chunk=2))
    [('a', b'ab'), ('a', b'c')]
    """

    def __init__(self, datapipe, chunk=None):
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self):
        for path, stream in self.datapipe:
            if self.chunk is None:
                yield path, stream.read()
                continue
            while part := stream.read(self.chunk):
                yield path, part


Batcher, Collator, Concater, Demultiplexer = BatcherIterDataPipe, CollatorIterDataPipe, ConcaterIterDataPipe, DemultiplexerIterDataPipe
FileLister, FileOpener, Filter, Forker = FileListerIterDataPipe, FileOpenerIterDataPipe, FilterIterDataPipe, ForkerIterDataPipe
Grouper, IterableWrapper, Mapper, Multiplexer = GrouperIterDataPipe, IterableWrapperIterDataPipe, MapperIterDataPipe, MultiplexerIterDataPipe
Sampler, ShardingFilter, Shuffler, StreamReader = SamplerIterDataPipe, ShardingFilterIterDataPipe, ShufflerIterDataPipe, StreamReaderIterDataPipe
UnBatcher, Zipper = UnBatcherIterDataPipe, ZipperIterDataPipe
