"""Main function of a worker: it fetches batches by index lists and reports results, errors and the end of a stream."""

from __future__ import annotations

import contextlib
import copy
import itertools
import random
import sys
import threading
from dataclasses import dataclass
from typing import Any

from _cresset import _put_row, _uniform

import cresset as torch

from ...._utils import ExceptionWrapper
from .collate import collate_into, stacks_tensors
from .gather import gatherer

_local = threading.local()


@dataclass
class WorkerInfo:
    """A worker's facts about itself.

    ``id`` from 0, ``num_workers``, ``seed`` of its random numbers, ``dataset``, its copy; in a thread also ``rng``, a generator of its
    own, since threads share the global one. ``worker_method`` is "multiprocessing" or "thread".
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str = "multiprocessing"


def get_worker_info():
    """The `WorkerInfo` of the worker that calls; None elsewhere.

    Example::

        >>> from cresset.utils.data import get_worker_info
        >>> get_worker_info() is None
        True
    """
    return getattr(_local, "info", None)


class Failure(ExceptionWrapper):
    """An exception of a worker on its way to the user."""

    def __init__(self, where):
        super().__init__(where=where)


class EndOfStream:
    """A worker's share of a stream is used up."""


class _Heap:
    """Batches in memory of their own."""

    @staticmethod
    def take(dtype, shape):
        return None


class Fetcher:
    """Batches of a dataset. `resume` is the number of items of a stream that were read before, and its state after them; `place`, where given,
    is told how far in its list of indices a batch is; `memory` gives the tensors of a batch that the caller hands on and that have no other owner."""

    def __init__(self, dataset, is_stream, batched, collate_fn, drop_last, resume=(0, None), place=None, memory=_Heap):
        self.dataset, self.batched, self.collate_fn, self.drop_last, self.place, self.memory = dataset, batched, collate_fn, drop_last, place, memory
        self.items, self.ended = None, False
        self.stacks = batched and stacks_tensors(collate_fn)
        self.gather = gatherer(dataset) if self.stacks and not is_stream else None
        self.by_row = self.stacks and not is_stream and not callable(getattr(dataset, "__getitems__", None))
        self.lengths = [] if is_stream else list(_lengths(dataset))
        count, state = resume
        if state is not None and state[0] == "dataset":
            dataset.load_state_dict(state[1])
        if is_stream:
            self.items = iter(dataset)
            if state is not None and state[0] == "iterator":
                self.items.load_state_dict(state[1])
            elif state is None and count:
                self.ended = sum(1 for _ in itertools.islice(self.items, count)) < count

    def state(self):
        """State of the stream's iterator or of the dataset, or None."""
        for name, holder in (("iterator", self.items), ("dataset", self.dataset)):
            if callable(getattr(holder, "state_dict", None)) and callable(getattr(holder, "load_state_dict", None)):
                return name, copy.deepcopy(holder.state_dict())
        return None

    def __call__(self, index):
        """The batch of a list of indices, or the item of one. Of a stream: as many items. Raises StopIteration at a stream's end."""
        if self.items is None:
            if self.gather is not None and (batch := self.gather.batch(index, self.memory.take)) is not None:
                return batch
            return self._by_index(index)
        if not self.batched:
            return self.collate_fn(next(self.items))
        if self.ended:
            raise StopIteration
        batch = list(itertools.islice(self.items, len(index)))
        self.ended = len(batch) < len(index)
        if not batch or (self.drop_last and self.ended):
            raise StopIteration
        return self._collate(batch)

    def _collate(self, batch):
        return collate_into(self.memory, batch) if self.stacks else self.collate_fn(batch)

    def _by_index(self, index):
        try:
            if not self.batched:
                items = self.dataset[index]
            elif callable(getattr(self.dataset, "__getitems__", None)):
                items = self.dataset.__getitems__(index)
            elif self.by_row and isinstance(index, list) and len(index) > 2:
                items, done = self._by_row(index)
                if done:
                    return items
            else:
                items = self._items(index, [])
        except IndexError as error:
            self._explain(index if self.batched else [index], error)
            raise
        return self._collate(items)

    def _items(self, index, batch):
        """The items from `len(batch)` on."""
        if self.place is None:
            return batch + [self.dataset[i] for i in itertools.islice(index, len(batch), None)]
        for number, i in itertools.islice(enumerate(index), len(batch), None):
            self.place(number)
            batch.append(self.dataset[i])
        self.place(-1)
        return batch

    def _by_row(self, index):
        """A batch and True; where its items cannot be put into it one by one, as they are read, a list of them and False.

        An item whose memory has no other owner can be copied at once, and its memory serves the next one. The first is kept until the end.
        """
        if self.place is not None:
            self.place(0)
        first = self.dataset[index[0]]
        sequence = type(first) in (tuple, list)
        values = first if sequence else [first]
        if not sequence and type(first) is not torch.Tensor:
            return self._items(index, [first]), False
        columns = []
        for value in values:
            kind = _uniform([value])
            if kind is None and isinstance(value, torch.Tensor):
                return self._items(index, [first]), False
            if kind is None:
                columns.append([value])
                continue
            shape = (len(index), *kind[1])
            out = self.memory.take(kind[0], shape)
            columns.append(torch.empty(shape, dtype=kind[0]) if out is None else out)
        columns = tuple(columns)
        for number in range(1, len(index)):
            if self.place is not None:
                self.place(number)
            rest = _put_row(columns, number, self.dataset[index[number]])
            if rest is not columns:
                self.by_row = False
                rows = [[column[k] for column in columns] for k in range(1, number)]
                batch = [first, *(type(first)(row) if sequence else row[0] for row in rows), rest]
                return self._items(index, batch), False
        if self.place is not None:
            self.place(-1)
        for i, value in enumerate(values):
            if type(columns[i]) is not list:
                columns[i][0].copy_(value)
        batch = [collate_into(self.memory, tuple(column)) if type(column) is list else column for column in columns]
        return batch if sequence else batch[0], True

    def _explain(self, index, error):
        """Says so where a dataset, or one within it, has shrunk since the epoch's order was made."""
        for part, then in self.lengths:
            now = len(part)
            if now >= then:
                continue
            shrunk = f"which has {now} items now and had {then} when the epoch began"
            if part is not self.dataset:
                raise IndexError(f"DataLoader: one of {index} is outside a {type(part).__name__} within the dataset, {shrunk}") from error
            outside = [i for i in index if type(i) is int and not -now <= i < now]
            if outside:
                raise IndexError(f"DataLoader: index {outside[0]} is outside the dataset, {shrunk}") from error


def _lengths(dataset):
    """A dataset and its length, and those within it."""
    from ..dataset import ConcatDataset, StackDataset, Subset

    with contextlib.suppress(Exception):  # one that has none, or will not tell
        yield dataset, len(dataset)
    inner = [dataset.dataset] if isinstance(dataset, Subset) else dataset.datasets if isinstance(dataset, ConcatDataset) else ()
    for part in dataset._parts() if isinstance(dataset, StackDataset) else inner:
        yield from _lengths(part)


@dataclass
class Task:
    """Start arguments of a worker."""

    dataset: Any
    is_stream: bool
    batched: bool
    collate_fn: Any
    drop_last: bool
    base_seed: int
    init_fn: Any
    num_workers: int
    shared_seed: int | None = None
    resume: Any = None  # of each worker: items of a stream read before, and its state after them

    def fetcher(self, dataset, worker_id, resume, place=None, memory=_Heap):
        """A worker's reader of batches."""
        resume = resume[worker_id] if resume else (0, None)
        return Fetcher(dataset, self.is_stream, self.batched, self.collate_fn, self.drop_last, resume, place, memory)


RESUME = "resume"


def _generate_state(base_seed, worker_id):
    """Four numbers of 32 bits that a worker's own generator may begin with. Needs NumPy."""
    from numpy.random import SeedSequence

    return SeedSequence([worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]).generate_state(4).tolist()


def seed_process(base_seed, worker_id):
    """Seeds what draws in a worker process: ours and Python's generators with base + id, NumPy's, where imported, with both."""
    seed = base_seed + worker_id
    random.seed(seed)
    torch.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(_generate_state(base_seed, worker_id))


def apply_shared_seed(dataset, seed):
    """Gives the random steps of a stream made of steps the seeds that follow from one; None does nothing."""
    if seed is not None:
        from ..graph_settings import apply_random_seed

        apply_random_seed(dataset, torch.Generator().manual_seed(seed))


def work(task, worker_id, receive, send, threaded, place=None, memory=_Heap):
    """Answers requests until it receives None: (number, index) with (number, batch, state); RESUME with (RESUME, None, None), a new epoch."""
    where = f"in DataLoader worker {'thread' if threaded else 'process'} {worker_id}"
    seed, failure, fetch = task.base_seed + worker_id, None, None
    rng, dataset = None, task.dataset
    if threaded:
        rng = torch.Generator()
        rng.manual_seed(seed)
    _local.info = WorkerInfo(worker_id, task.num_workers, seed, task.dataset, rng, "thread" if threaded else "multiprocessing")
    try:
        if task.shared_seed is not None:  # a stream made of steps: a copy of it, with this worker's share
            from ..graph_settings import apply_sharding

            dataset = copy.deepcopy(dataset) if threaded else dataset
            apply_shared_seed(dataset, task.shared_seed)
            apply_sharding(dataset, task.num_workers, worker_id)
        if task.init_fn is not None:
            task.init_fn(worker_id)
        fetch = task.fetcher(dataset, worker_id, task.resume, place, memory)
    except Exception:
        failure = Failure(where)
    ended = False
    while (request := receive()) is not None:
        if request[0] == RESUME:
            ended = False
            try:
                apply_shared_seed(dataset, request[1])
                fetch = task.fetcher(dataset, worker_id, request[2], place, memory)
            except Exception:
                failure = Failure(where)
            send((RESUME, None, None))
            continue
        number, index = request
        if ended:
            continue
        state = None
        if failure is not None:
            result, failure = failure, None
        else:
            try:
                result = fetch(index)
                state = fetch.state()
            except Exception as error:
                if task.is_stream and isinstance(error, StopIteration):
                    result, ended = EndOfStream(), True
                else:
                    result = Failure(where)
        send((number, result, state))
        del result
    _local.info = None
