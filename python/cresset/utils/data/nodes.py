"""Steps that are put one behind the other, each of which knows where it is: the names are those of torchdata.nodes.

A node reads another one (its source). `Loader` makes an iterable of the last of them. Its `state_dict` is the state of all; after
`load_state_dict` the next epoch goes on behind what was handed out, whatever was read ahead.

Example::

    >>> from cresset.utils.data import nodes
    >>> def make():
    ...     numbers = nodes.IterableWrapper(range(6))
    ...     return nodes.Loader(nodes.Batcher(nodes.Mapper(numbers, lambda x: x * x), batch_size=2))
    >>> loader = make()
    >>> next(iter(loader))
    [0, 1]
    >>> again = make()
    >>> again.load_state_dict(loader.state_dict())
    >>> list(again)
    [[4, 9], [16, 25]]
"""

from __future__ import annotations

import collections
import concurrent.futures
import copy
import itertools
import multiprocessing
import warnings
import weakref
from collections.abc import Iterator
from typing import Generic, TypeVar

import cresset as torch

from .sampler import generators_of

__all__ = ["BaseNode", "Batcher", "Cycler", "Filter", "Header", "IterableWrapper", "Loader", "MapStyleWrapper", "Mapper", "MultiNodeWeightedSampler",
           "ParallelMapper", "PinMemory", "Prefetcher", "SamplerWrapper", "Shuffler", "StopCriteria", "Unbatcher"]  # fmt: skip

T = TypeVar("T", covariant=True)


def _is_stateful(value):
    return callable(getattr(value, "state_dict", None)) and callable(getattr(value, "load_state_dict", None))


class BaseNode(Iterator, Generic[T]):
    """Base class of nodes: an iterator that can be set back to its start or to a state.

    A subclass gives `reset`, which calls that of the base class, ``next``, which raises StopIteration at the end, and ``get_state``. A node
    is reset before it is read; a `Loader` does it.

    Example::

        >>> from cresset.utils.data import nodes
        >>> class Count(nodes.BaseNode):
        ...     def reset(self, initial_state=None):
        ...         super().reset(initial_state)
        ...         self.at = initial_state["at"] if initial_state else 0
        ...     def next(self):
        ...         if self.at == 3:
        ...             raise StopIteration
        ...         self.at += 1
        ...         return self.at
        ...     def get_state(self):
        ...         return {"at": self.at}
        >>> list(nodes.Loader(Count()))
        [1, 2, 3]
    """

    _is_ready = False

    def __iter__(self):
        return self

    def reset(self, initial_state=None):
        """Back to the start, or to where ``get_state`` gave the state."""
        self._is_ready = True

    def next(self):
        """The next item. Raises StopIteration at the end."""
        raise NotImplementedError(f"{type(self).__name__}.next")

    def get_state(self):
        """Where the node is: a dictionary of what `torch.save` can write."""
        raise NotImplementedError(f"{type(self).__name__}.get_state")

    def _check(self, what):
        if not self._is_ready:
            raise RuntimeError(f"{type(self).__name__}.{what}: call reset() before, which ends with super().reset(initial_state); a Loader does so")

    def __next__(self):
        self._check("next")
        return self.next()

    def state_dict(self):
        """The node's state, for ``reset``."""
        self._check("state_dict")
        return self.get_state()


class IterableWrapper(BaseNode[T]):
    """A node over an iterable. An iterable or an iterator with ``state_dict`` and ``load_state_dict`` is asked for its state; others are read
    up to where they were.

    Example::

        >>> from cresset.utils.data import nodes
        >>> list(nodes.Loader(nodes.IterableWrapper("abc")))
        ['a', 'b', 'c']
    """

    def __init__(self, iterable):
        super().__init__()
        self.iterable = iterable

    def reset(self, initial_state=None):
        super().reset(initial_state)
        state = initial_state or {"num_yielded": 0, "kind": None}
        self._yielded = state["num_yielded"]
        if state["kind"] == "iterable":
            self.iterable.load_state_dict(state["state"])
        self._items = iter(self.iterable)
        if state["kind"] == "iterator":
            self._items.load_state_dict(state["state"])
        elif state["kind"] is None:
            collections.deque(itertools.islice(self._items, self._yielded), maxlen=0)

    def next(self):
        item = next(self._items)
        self._yielded += 1
        return item

    def get_state(self):
        for kind, holder in (("iterator", self._items), ("iterable", self.iterable)):
            if _is_stateful(holder):
                return {"num_yielded": self._yielded, "kind": kind, "state": copy.deepcopy(holder.state_dict())}
        return {"num_yielded": self._yielded, "kind": None}


class SamplerWrapper(BaseNode[T]):
    """A node over a sampler, epoch after epoch: one with ``set_epoch`` is told which. The order is kept in the state: by the sampler's
    ``state_dict``, or else as the state of the generator that it was drawn from.

    Args:
        sampler: of indices.
        initial_epoch: the first epoch's number.
        epoch_updater: function of an epoch's number that gives the next one's; by default one more.

    Example::

        >>> from cresset.utils.data import DistributedSampler, nodes
        >>> loader = nodes.Loader(nodes.SamplerWrapper(DistributedSampler(range(4), 1, 0)))
        >>> first, second = list(loader), list(loader)
        >>> sorted(first) == sorted(second) and first != second
        True
    """

    def __init__(self, sampler, initial_epoch=0, epoch_updater=None):
        super().__init__()
        self.sampler, self.epoch = sampler, initial_epoch
        self._next_epoch = epoch_updater or (lambda epoch: epoch + 1)
        self._started = False

    def reset(self, initial_state=None):
        super().reset(initial_state)
        if initial_state is not None:
            self.epoch, self._yielded = initial_state["epoch"], initial_state["num_yielded"]
        else:
            self.epoch, self._yielded = self._next_epoch(self.epoch) if self._started else self.epoch, 0
        self._started, self._ended = self._yielded > 0, bool(initial_state and initial_state["ended"])
        if hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(self.epoch)
        if initial_state is not None and _is_stateful(self.sampler):
            self.sampler.load_state_dict(initial_state["sampler"])
            self._items = iter(self.sampler)
            return
        generators = generators_of(self.sampler)
        now = torch.get_rng_state()
        if initial_state is not None:
            for generator, value in zip(generators, initial_state["generators"]):
                generator.set_state(value)
        self._before = [generator.get_state() for generator in generators]
        self._items = iter(self.sampler)
        if initial_state is not None:
            collections.deque(itertools.islice(self._items, self._yielded + self._ended), maxlen=0)  # some draw once more at the end
            torch.set_rng_state(now)

    def next(self):
        self._started = True
        try:
            item = next(self._items)
        except StopIteration:
            self._ended = True
            raise
        self._yielded += 1
        return item

    def get_state(self):
        state = {"epoch": self.epoch, "num_yielded": self._yielded, "ended": self._ended}
        if _is_stateful(self.sampler):
            return {**state, "sampler": copy.deepcopy(self.sampler.state_dict())}
        return {**state, "generators": self._before}


class _Step(BaseNode[T]):
    """A node with a source and nothing else to remember."""

    def __init__(self, source):
        super().__init__()
        self.source = source

    def reset(self, initial_state=None):
        super().reset(initial_state)
        self.source.reset(initial_state["source"] if initial_state else None)

    def get_state(self):
        return {"source": self.source.state_dict()}


class Mapper(_Step[T]):
    """A function of each item.

    Example::

        >>> from cresset.utils.data import nodes
        >>> list(nodes.Loader(nodes.Mapper(nodes.IterableWrapper([1, 2]), str)))
        ['1', '2']
    """

    def __init__(self, source, map_fn):
        super().__init__(source)
        self.map_fn = map_fn

    def next(self):
        return self.map_fn(next(self.source))


class MapStyleWrapper(Mapper[T]):
    """The items of a dataset in a sampler's order.

    Example::

        >>> from cresset.utils.data import nodes
        >>> list(nodes.Loader(nodes.MapStyleWrapper("abc", [2, 0])))
        ['c', 'a']
    """

    def __init__(self, map_dataset, sampler):
        super().__init__(SamplerWrapper(sampler), map_dataset.__getitem__)


class Filter(_Step[T]):
    """The items of which a function says yes.

    Example::

        >>> from cresset.utils.data import nodes
        >>> list(nodes.Loader(nodes.Filter(nodes.IterableWrapper(range(5)), lambda x: x % 2)))
        [1, 3]
    """

    def __init__(self, source, filter_fn):
        super().__init__(source)
        self.filter_fn = filter_fn

    def next(self):
        while True:
            item = next(self.source)
            if self.filter_fn(item):
                return item


class Header(_Step[T]):
    """The first ``n`` items. Errors: ValueError for a number below 0.

    Example::

        >>> from cresset.utils.data import nodes
        >>> list(nodes.Loader(nodes.Header(nodes.IterableWrapper("abcd"), 2)))
        ['a', 'b']
    """

    def __init__(self, source, n):
        super().__init__(source)
        if n < 0:
            raise ValueError(f"Header: n must not be below 0, got {n}")
        self.n = n

    def reset(self, initial_state=None):
        super().reset(initial_state)
        self._yielded = initial_state["num_yielded"] if initial_state else 0

    def next(self):
        if self._yielded >= self.n:
            raise StopIteration
        item = next(self.source)
        self._yielded += 1
        return item

    def get_state(self):
        return {**super().get_state(), "num_yielded": self._yielded}


class Cycler(_Step[T]):
    """The source again and again, without an end unless it is empty.

    Example::

        >>> from cresset.utils.data import nodes
        >>> list(nodes.Loader(nodes.Header(nodes.Cycler(nodes.IterableWrapper("ab")), 5)))
        ['a', 'b', 'a', 'b', 'a']
    """

    def next(self):
        try:
            return next(self.source)
        except StopIteration:
            self.source.reset()
            return next(self.source)


class Batcher(_Step[list]):
    """Lists of ``batch_size`` items; the last, if it is shorter, is left out unless ``drop_last`` is False. Errors: ValueError for a size below 1.

    Example::

        >>> from cresset.utils.data import nodes
        >>> list(nodes.Loader(nodes.Batcher(nodes.IterableWrapper(range(5)), 2, drop_last=False)))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, source, batch_size, drop_last=True):
        super().__init__(source)
        if batch_size < 1:
            raise ValueError(f"Batcher: batch_size must be at least 1, got {batch_size}")
        self.batch_size, self.drop_last = batch_size, drop_last

    def next(self):
        batch = list(itertools.islice(self.source, self.batch_size))
        if not batch or (self.drop_last and len(batch) < self.batch_size):
            raise StopIteration
        return batch


class Unbatcher(_Step[T]):
    """The items of batches, one by one.

    Example::

        >>> from cresset.utils.data import nodes
        >>> list(nodes.Loader(nodes.Unbatcher(nodes.IterableWrapper([[1, 2], [3]]))))
        [1, 2, 3]
    """

    def reset(self, initial_state=None):
        super().reset(initial_state)
        self._before, self._batch, self._at = None, (), 0
        if initial_state and initial_state["at"]:
            self._read()
            self._at = initial_state["at"]

    def _read(self):
        self._before = self.source.state_dict()
        self._batch, self._at = next(self.source), 0

    def next(self):
        while self._at >= len(self._batch):
            self._read()
        self._at += 1
        return self._batch[self._at - 1]

    def get_state(self):
        inside = self._at < len(self._batch)
        return {"source": self._before if inside else self.source.state_dict(), "at": self._at if inside else 0}


class Shuffler(_Step[T]):
    """Items in random order out of a buffer: each is drawn from the ``buffer_size`` items that were read and not handed out.

    Args:
        source: that is read.
        buffer_size: at least 1. The state holds the buffer.
        seed: of the order, which is another one in each epoch.

    Errors: ValueError for a size below 1.

    Example::

        >>> from cresset.utils.data import nodes
        >>> loader = nodes.Loader(nodes.Shuffler(nodes.IterableWrapper(range(9)), 4))
        >>> sorted(loader)
        [0, 1, 2, 3, 4, 5, 6, 7, 8]
    """

    def __init__(self, source, buffer_size, seed=0):
        super().__init__(source)
        if buffer_size < 1:
            raise ValueError(f"Shuffler: buffer_size must be at least 1, got {buffer_size}")
        self.buffer_size, self._generator = buffer_size, torch.Generator().manual_seed(seed)

    def reset(self, initial_state=None):
        super().reset(initial_state)
        self._buffer = list(initial_state["buffer"]) if initial_state else []
        if initial_state:
            self._generator.set_state(initial_state["generator"])

    def next(self):
        self._buffer.extend(itertools.islice(self.source, self.buffer_size - len(self._buffer)))
        if not self._buffer:
            raise StopIteration
        i = int(torch.randint(len(self._buffer), (), generator=self._generator))
        self._buffer[i], self._buffer[-1] = self._buffer[-1], self._buffer[i]
        return self._buffer.pop()

    def get_state(self):
        return {**super().get_state(), "buffer": list(self._buffer), "generator": self._generator.get_state()}


class _Ahead(_Step[T]):
    """A node that reads ahead. Of every ``snapshot_frequency``-th item it keeps the source's state; its own is the last of these before the first
    item that was not handed out, and which of those behind it were."""

    def __init__(self, source, snapshot_frequency):
        super().__init__(source)
        if snapshot_frequency < 1:
            raise ValueError(f"{type(self).__name__}: snapshot_frequency must be at least 1, got {snapshot_frequency}")
        self.snapshot_frequency = snapshot_frequency
        self._stop = None

    def reset(self, initial_state=None):
        self._shut_down()
        super().reset(initial_state)
        self._snapshot = initial_state["source"] if initial_state else self.source.state_dict()
        self._base = 0  # the number of the item behind the snapshot
        self._skip = set(initial_state["handed_out"]) if initial_state else set()  # of the items since the snapshot
        self._later = {}  # number -> the source's state before that item
        self._number, self._ended = 0, False
        self._waiting, self._ready = collections.deque(), collections.deque()  # futures of items; (number, item) that were computed
        self._done = set(self._skip)
        self._start()

    def _read(self):
        """Number and value of the next item that was not handed out before."""
        while True:
            number = self._number
            if number and number % self.snapshot_frequency == 0:
                self._later[number] = self.source.state_dict()
            item = next(self.source)
            self._number += 1
            if number not in self._skip:
                return number, item
            self._skip.discard(number)

    def _handed_out(self, number):
        self._done.add(number)
        known = sorted(list(self._later))
        while known and all(n in self._done for n in range(self._base, known[0])):
            self._done.difference_update(range(self._base, known[0]))
            self._base = known.pop(0)
            self._snapshot = self._later.pop(self._base)

    def get_state(self):
        if self._ended and not self._waiting and not self._ready:
            return {"source": self.source.state_dict(), "handed_out": []}
        return {"source": self._snapshot, "handed_out": [n - self._base for n in sorted(self._done)]}

    def _start(self):
        raise NotImplementedError

    def _pool(self, pool):
        self._stop = weakref.finalize(self, pool.shutdown, wait=False, cancel_futures=True)
        return pool

    def _shut_down(self):
        if self._stop is not None and self._stop.detach():
            self._executor.shutdown(wait=True, cancel_futures=True)


_END = object()
_function = None


def _set_function(function):
    global _function
    _function = function
    torch.set_num_threads(1)


def _call(items):
    return [_function(item) for item in items]


class ParallelMapper(_Ahead[T]):
    """A function of each item, computed by threads or processes.

    Args:
        source: read in the thread that asks for items.
        map_fn: the function. With ``method="process"`` and fork it may be any; otherwise one that can be pickled.
        num_workers: how many; 0 computes in the calling thread.
        in_order: whether items come in the source's order; otherwise as they are ready.
        method: "thread" or "process".
        multiprocessing_context: "fork", "spawn" or "forkserver", of processes.
        max_concurrent: how many items are read ahead at most; by default two of each worker.
        snapshot_frequency: of how many items the source's state is kept once.
        prebatch: how many items go to a worker at once, where one is little work.

    An exception of ``map_fn`` is raised in its item's place; RuntimeError for a process that died. Errors: ValueError for arguments out of range.

    Example::

        >>> from cresset.utils.data import nodes
        >>> squares = nodes.ParallelMapper(nodes.IterableWrapper(range(5)), lambda x: x * x, num_workers=2)
        >>> list(nodes.Loader(squares))
        [0, 1, 4, 9, 16]
    """

    def __init__(self, source, map_fn, num_workers, in_order=True, method="thread", multiprocessing_context=None, max_concurrent=None,
                 snapshot_frequency=1, prebatch=None):  # fmt: skip
        super().__init__(source, snapshot_frequency)
        if num_workers < 0:
            raise ValueError(f"ParallelMapper: num_workers must not be below 0, got {num_workers}")
        if method not in ("thread", "process"):
            raise ValueError(f"ParallelMapper: method must be 'thread' or 'process', got {method!r}")
        for name, value in (("max_concurrent", max_concurrent), ("prebatch", prebatch)):
            if value is not None and value < 1:
                raise ValueError(f"ParallelMapper: {name} must be at least 1, got {value}")
        if max_concurrent is not None and max_concurrent > num_workers > 0:
            raise ValueError(f"ParallelMapper: max_concurrent must not be above num_workers {num_workers}, got {max_concurrent}")
        self.map_fn, self.num_workers, self.in_order, self.method = map_fn, num_workers, in_order, method
        self.multiprocessing_context, self.prebatch = multiprocessing_context, prebatch or 1
        self.max_concurrent = max_concurrent or 2 * max(num_workers, 1)

    def _start(self):
        if self.num_workers == 0:
            return
        if self.method == "thread":
            pool = concurrent.futures.ThreadPoolExecutor(self.num_workers)
        else:
            context = multiprocessing.get_context(self.multiprocessing_context)
            pool = concurrent.futures.ProcessPoolExecutor(self.num_workers, context, _set_function, (self.map_fn,))
        self._executor = self._pool(pool)

    def _submit(self):
        batch = []
        while len(batch) < self.prebatch and not self._ended:
            try:
                batch.append(self._read())
            except StopIteration:
                self._ended = True
        if batch:
            numbers, items = zip(*batch)
            future = self._executor.submit(_call, items) if self.method == "process" else self._executor.submit(lambda: [self.map_fn(i) for i in items])
            self._waiting.append((numbers, future))

    def next(self):
        if self.num_workers == 0:
            try:
                number, item = self._read()
            except StopIteration:
                self._ended = True
                raise
            self._handed_out(number)
            return self.map_fn(item)
        try:
            while len(self._waiting) < self.max_concurrent and not self._ended:
                self._submit()
            if not self._ready:
                if not self._waiting:
                    raise StopIteration
                self._ready.extend(self._results(*self._take()))
        except concurrent.futures.BrokenExecutor:
            raise RuntimeError(f"ParallelMapper: a worker process died while it computed items from number {self._base + len(self._done)} on") from None
        number, item = self._ready.popleft()
        self._handed_out(number)
        return item

    def _results(self, numbers, future):
        try:
            return list(zip(numbers, future.result()))
        except Exception:  # these items are lost, the ones behind them are not
            for number in numbers:
                self._handed_out(number)
            raise

    def _take(self):
        if not self.in_order:
            done, _ = concurrent.futures.wait([f for _, f in self._waiting], return_when=concurrent.futures.FIRST_COMPLETED)
            for entry in self._waiting:
                if entry[1] in done:
                    self._waiting.remove(entry)
                    return entry
        return self._waiting.popleft()


class Prefetcher(_Ahead[T]):
    """Reads up to ``prefetch_factor`` items ahead, in a thread. Errors: ValueError for numbers below 1.

    Example::

        >>> from cresset.utils.data import nodes
        >>> list(nodes.Loader(nodes.Prefetcher(nodes.IterableWrapper("abc"), prefetch_factor=2)))
        ['a', 'b', 'c']
    """

    def __init__(self, source, prefetch_factor, snapshot_frequency=1):
        super().__init__(source, snapshot_frequency)
        if prefetch_factor < 1:
            raise ValueError(f"Prefetcher: prefetch_factor must be at least 1, got {prefetch_factor}")
        self.prefetch_factor = prefetch_factor

    def _start(self):
        self._is_empty = False
        self._executor = self._pool(concurrent.futures.ThreadPoolExecutor(1))

    def _read_or_end(self):
        if not self._is_empty:
            try:
                return self._read()
            except StopIteration:
                self._is_empty = True
        return None, _END

    def next(self):
        while len(self._waiting) < self.prefetch_factor and not self._ended:
            self._waiting.append(self._executor.submit(self._read_or_end))
        if not self._waiting:
            raise StopIteration
        number, item = self._waiting.popleft().result()
        if item is _END:
            self._ended = True
            self._waiting.clear()
            raise StopIteration
        self._handed_out(number)
        if not self._ended:
            self._waiting.append(self._executor.submit(self._read_or_end))
        return item


class PinMemory(_Step[T]):
    """Moves the tensors of items to page-locked memory, for an accelerator; without one it warns and hands items on. It reads
    nothing ahead, so that ``snapshot_frequency`` does not matter; nor does ``pin_memory_device``.

    Example::

        >>> import warnings
        >>> from cresset.utils.data import nodes
        >>> with warnings.catch_warnings(action="ignore"):
        ...     list(nodes.Loader(nodes.PinMemory(nodes.IterableWrapper([1, 2]))))
        [1, 2]
    """

    def __init__(self, source, pin_memory_device="", snapshot_frequency=1):
        super().__init__(source)
        self.pin_memory_device, self.snapshot_frequency = pin_memory_device, snapshot_frequency
        self._pins = torch.accelerator.is_available()
        if not self._pins:
            warnings.warn("PinMemory: there is no accelerator, so nothing is pinned", stacklevel=2)

    def next(self):
        item = next(self.source)
        return torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: t.pin_memory(), item) if self._pins else item


class StopCriteria:
    """When a `MultiNodeWeightedSampler` ends.

    ``CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED``: sources begin again until each came to its end once. ``ALL_DATASETS_EXHAUSTED``: those at their
    end are left out, until none is left. ``FIRST_DATASET_EXHAUSTED``: when one ends. ``CYCLE_FOREVER``: never.

    Example::

        >>> from cresset.utils.data import nodes
        >>> nodes.StopCriteria.CYCLE_FOREVER
        'CYCLE_FOREVER'
    """

    CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED = "CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED"
    ALL_DATASETS_EXHAUSTED = "ALL_DATASETS_EXHAUSTED"
    FIRST_DATASET_EXHAUSTED = "FIRST_DATASET_EXHAUSTED"
    CYCLE_FOREVER = "CYCLE_FOREVER"


_CRITERIA = [value for name, value in vars(StopCriteria).items() if name.isupper()]


class MultiNodeWeightedSampler(BaseNode[T]):
    """Mixes sources: each item comes from one that is drawn with given weights.

    Args:
        source_nodes: name -> node.
        weights: name -> a positive number; they need not sum to 1.
        stop_criteria: one of `StopCriteria`.
        rank, world_size: each rank draws on its own; by default those of `torch.distributed`, or 0 of 1.
        seed: of the drawing, which is another one in each epoch.

    Errors: ValueError for names that differ, weights that are not positive and an unknown criterion.

    Example::

        >>> from cresset.utils.data import nodes
        >>> sources = {"a": nodes.IterableWrapper("aaa"), "b": nodes.IterableWrapper("bbb")}
        >>> mix = nodes.MultiNodeWeightedSampler(sources, {"a": 1.0, "b": 2.0}, nodes.StopCriteria.ALL_DATASETS_EXHAUSTED)
        >>> sorted(nodes.Loader(mix))
        ['a', 'a', 'a', 'b', 'b', 'b']
    """

    def __init__(self, source_nodes, weights, stop_criteria=StopCriteria.CYCLE_UNTIL_ALL_DATASETS_EXHAUSTED, rank=None, world_size=None, seed=0):
        super().__init__()
        if stop_criteria not in _CRITERIA:
            raise ValueError(f"MultiNodeWeightedSampler: stop_criteria must be one of {_CRITERIA}, got {stop_criteria!r}")
        if not source_nodes or set(source_nodes) != set(weights):
            raise ValueError(f"MultiNodeWeightedSampler: source_nodes are {sorted(source_nodes)}, weights are of {sorted(weights)}")
        if any(not weight > 0 for weight in weights.values()):
            raise ValueError(f"MultiNodeWeightedSampler: weights must be above 0, got {dict(weights)}")
        if (rank is None) != (world_size is None):
            raise ValueError(f"MultiNodeWeightedSampler: rank and world_size come together, got {rank} and {world_size}")
        if rank is None:
            group = torch.distributed.is_available() and torch.distributed.is_initialized()
            rank, world_size = (torch.distributed.get_rank(), torch.distributed.get_world_size()) if group else (0, 1)
        if not 0 <= rank < world_size:
            raise ValueError(f"MultiNodeWeightedSampler: rank must be from 0 to {world_size - 1}, got {rank}")
        self.source_nodes, self.weights, self.stop_criteria = dict(source_nodes), dict(weights), stop_criteria
        self.rank, self.world_size, self.seed, self._epoch, self._started = rank, world_size, seed, 0, False

    def reset(self, initial_state=None):
        super().reset(initial_state)
        state = initial_state or {}
        self._epoch = state.get("epoch", self._epoch + self._started)
        self._started = state.get("started", False)
        self._exhausted = {name: name in state.get("exhausted", ()) for name in self.source_nodes}
        self._generator = torch.Generator()
        if initial_state:
            self._generator.set_state(state["generator"])
        else:
            self._generator.manual_seed((self.seed + self._epoch) * self.world_size + self.rank)
        self._stopped = state.get("stopped", False)
        for name, source in self.source_nodes.items():
            source.reset(state["sources"][name] if initial_state else None)

    def next(self):
        self._started = True
        while not self._stopped:
            name = self._draw()
            try:
                return next(self.source_nodes[name])
            except StopIteration:
                self._exhausted[name] = True
            criterion, every = self.stop_criteria, all(self._exhausted.values())
            self._stopped = criterion == StopCriteria.FIRST_DATASET_EXHAUSTED or (every and criterion != StopCriteria.CYCLE_FOREVER)
            if not self._stopped and criterion != StopCriteria.ALL_DATASETS_EXHAUSTED:
                self.source_nodes[name].reset()
                try:
                    return next(self.source_nodes[name])
                except StopIteration:
                    raise RuntimeError(f"MultiNodeWeightedSampler: the source {name!r} has no items, so it cannot begin again") from None
        raise StopIteration

    def _draw(self):
        left_out = self._exhausted if self.stop_criteria == StopCriteria.ALL_DATASETS_EXHAUSTED else {}
        names = [name for name in self.source_nodes if not left_out.get(name)]
        weights = torch.tensor([self.weights[name] for name in names], dtype=torch.float64)
        return names[int(torch.multinomial(weights, 1, generator=self._generator))]

    def get_state(self):
        return {
            "sources": {name: source.state_dict() for name, source in self.source_nodes.items()}, "generator": self._generator.get_state(),
            "exhausted": [name for name, ended in self._exhausted.items() if ended], "epoch": self._epoch, "started": self._started,
            "stopped": self._stopped,
        }  # fmt: skip


class Loader(Generic[T]):
    """Makes an iterable of a node: each ``iter`` is an epoch, which begins anew.

    Args:
        root: the last node.
        restart_on_stop_iteration: whether the epoch after a state that was taken at an end is a new one; otherwise it is empty.

    Example::

        >>> from cresset.utils.data import nodes
        >>> loader = nodes.Loader(nodes.IterableWrapper(range(4)))
        >>> [x for x, _ in zip(loader, range(2))]
        [0, 1]
        >>> list(loader)
        [0, 1, 2, 3]
    """

    def __init__(self, root, restart_on_stop_iteration=True):
        self.root, self.restart_on_stop_iteration = root, restart_on_stop_iteration
        self._pending, self._ended, self._yielded = None, False, 0

    def __iter__(self):
        state, self._pending = self._pending, None
        self._ended, self._yielded = False, 0
        if state is None:
            self.root.reset()
        else:
            self.root.reset(state["root"])
            self._yielded = state["num_yielded"]
            if state["ended"]:
                if not self.restart_on_stop_iteration:
                    self._ended = True
                    return iter(())
                self.root.reset()
                self._yielded = 0
        return self._items()

    def _items(self):
        for item in self.root:
            self._yielded += 1
            yield item
        self._ended = True

    def state_dict(self):
        """Where the epoch that began last is."""
        if self._pending is not None:
            return self._pending
        if not self.root._is_ready:
            self.root.reset()
        return {"root": self.root.state_dict(), "num_yielded": self._yielded, "ended": self._ended}

    def load_state_dict(self, state_dict):
        """Lets the next epoch go on where a loader like this one was. Errors: ValueError for what `state_dict` did not give."""
        if not isinstance(state_dict, dict) or set(state_dict) != {"root", "num_yielded", "ended"}:
            raise ValueError("Loader.load_state_dict: expected what state_dict gave")
        self._pending = state_dict
