"""What runs in a worker: it fetches batches by index lists and reports results, errors and the end of a stream."""

from __future__ import annotations

import copy
import itertools
import random
import sys
import threading
import traceback
from dataclasses import dataclass
from typing import Any

import cresset as torch

from .collate import stacks_tensors

_local = threading.local()


@dataclass
class WorkerInfo:
    """What a worker knows about itself.

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


class Failure:
    """An exception on its way to the user, with the text of its traceback."""

    def __init__(self, where):
        kind, value, _ = sys.exc_info()
        self.kind, self.where, self.text = kind, where, traceback.format_exc()
        self.has_message = hasattr(value, "message")

    def reraise(self):
        """Raises an exception of the same type whose message holds the traceback, or RuntimeError where the type refuses."""
        message = f"Caught {self.kind.__name__} {self.where}.\nOriginal {self.text}"
        if issubclass(self.kind, KeyError):
            message = _Lines(message)  # a KeyError shows its message by repr
        try:
            error = self.kind(message=message) if self.has_message else self.kind(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


class _Lines(str):
    __slots__ = ()

    def __repr__(self):
        return str(self)


class EndOfStream:
    """A worker's share of a stream is used up."""


class Fetcher:
    """Batches of a dataset. `resume` is the number of items of a stream that were read before, and its state after them; `place`, where given,
    is told how far in its list of indices a batch is."""

    def __init__(self, dataset, is_stream, batched, collate_fn, drop_last, resume=(0, None), place=None):
        self.dataset, self.batched, self.collate_fn, self.drop_last, self.place = dataset, batched, collate_fn, drop_last, place
        self.items, self.ended = None, False
        self.columns = columns_of(dataset) if batched and not is_stream and stacks_tensors(collate_fn) else None
        self.length = len(dataset) if not is_stream and hasattr(dataset, "__len__") else None
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
        """What the stream's iterator or the dataset says of itself, or None."""
        for name, holder in (("iterator", self.items), ("dataset", self.dataset)):
            if callable(getattr(holder, "state_dict", None)) and callable(getattr(holder, "load_state_dict", None)):
                return name, copy.deepcopy(holder.state_dict())
        return None

    def __call__(self, index):
        """The batch of a list of indices, or the item of one. Of a stream: as many items. Raises StopIteration at a stream's end."""
        if self.items is None:
            if self.columns is not None and index and all(type(i) is int for i in index):
                return self._columns(index)
            return self.collate_fn(self._by_index(index))
        if not self.batched:
            return self.collate_fn(next(self.items))
        if self.ended:
            raise StopIteration
        batch = list(itertools.islice(self.items, len(index)))
        self.ended = len(batch) < len(index)
        if not batch or (self.drop_last and self.ended):
            raise StopIteration
        return self.collate_fn(batch)

    def _columns(self, index):
        """A batch of tensors in one step each, which is what collating their rows gives."""
        tensors, lookup = self.columns
        rows = torch.tensor(index if lookup is None else [lookup[i] for i in index])
        return [tensor[rows] for tensor in tensors]

    def _by_index(self, index):
        try:
            if not self.batched:
                return self.dataset[index]
            if callable(getattr(self.dataset, "__getitems__", None)):
                return self.dataset.__getitems__(index)
            if self.place is None:
                return [self.dataset[i] for i in index]
            batch = []
            for number, i in enumerate(index):
                self.place(number)
                batch.append(self.dataset[i])
            self.place(-1)
            return batch
        except IndexError as error:
            self._explain(index if self.batched else [index], error)
            raise

    def _explain(self, index, error):
        """Says so where a dataset has shrunk since the epoch's order was made."""
        now = len(self.dataset) if self.length is not None else None
        outside = [i for i in index if type(i) is int and now is not None and not -now <= i < now]
        if outside and now < self.length:
            raise IndexError(
                f"DataLoader: index {outside[0]} is outside the dataset, which has {now} items now and had {self.length} when the epoch began"
            ) from error


def columns_of(dataset):
    """The tensors of a `TensorDataset`, and the indices of a `Subset` of one: what can be read in whole batches. None for others."""
    from ..dataset import Subset, TensorDataset

    lookup = None
    if type(dataset) is Subset and type(dataset.dataset) is TensorDataset and all(type(i) is int for i in dataset.indices):
        dataset, lookup = dataset.dataset, dataset.indices
    if type(dataset) is not TensorDataset or not all(type(t) is torch.Tensor and t.layout == torch.strided for t in dataset.tensors):
        return None
    return dataset.tensors, lookup


@dataclass
class Task:
    """What a worker needs to begin."""

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

    def fetcher(self, dataset, worker_id, resume, place=None):
        """A worker's reader of batches."""
        resume = resume[worker_id] if resume else (0, None)
        return Fetcher(dataset, self.is_stream, self.batched, self.collate_fn, self.drop_last, resume, place)


RESUME = "resume"


def seed_process(base_seed, worker_id):
    """Seeds what draws in a worker process: ours and Python's generators with base + id, NumPy's, where imported, with both."""
    seed = base_seed + worker_id
    random.seed(seed)
    torch.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
        numpy.random.seed(numpy.random.SeedSequence(words).generate_state(4))


def apply_shared_seed(dataset, seed):
    """Gives the random steps of a stream made of steps the seeds that follow from one; None does nothing."""
    if seed is not None:
        from ..graph_settings import apply_random_seed

        apply_random_seed(dataset, torch.Generator().manual_seed(seed))


def work(task, worker_id, receive, send, threaded, place=None):
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
        fetch = task.fetcher(dataset, worker_id, task.resume, place)
    except Exception:
        failure = Failure(where)
    ended = False
    while (request := receive()) is not None:
        if request[0] == RESUME:
            ended = False
            try:
                apply_shared_seed(dataset, request[1])
                fetch = task.fetcher(dataset, worker_id, request[2], place)
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
