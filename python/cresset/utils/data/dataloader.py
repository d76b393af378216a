"""The loader: batches of a dataset, read in the calling thread, by worker processes or by worker threads."""

from __future__ import annotations

import sys
import copy
import enum
import itertools
import multiprocessing
import os
import warnings
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import cresset as torch

from ._utils.collate import default_collate, default_convert, stacks_tensors
from ._utils.gather import gatherer
from ._utils.transport import Processes, Threads, WorkerDied
from ._utils.worker import RESUME, EndOfStream, Failure, Fetcher, Task, apply_shared_seed
from .datapipes.datapipe import IterDataPipe, MapDataPipe
from .dataset import IterableDataset
from .graph_settings import apply_shuffle_settings
from .sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed, generators_of

__all__ = ["DataLoader"]

_T = TypeVar("_T")
T_co = TypeVar("T_co", covariant=True)
_collate_fn_t = Callable[[list[_T]], Any]  # as programs annotate their own functions

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _Forever:
    """The sampler of a stream, which has no indices."""

    def __iter__(self):
        return itertools.repeat(None)


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches.

    Args:
        dataset: with ``__getitem__`` and ``__len__``, or an `IterableDataset`.
        batch_size: items per batch; None for items as the dataset gives them.
        shuffle: whether each epoch has its own random order.
        sampler: indices, instead of ``shuffle``.
        batch_sampler: lists of indices, instead of ``batch_size``, ``shuffle``, ``sampler`` and ``drop_last``.
        num_workers: worker processes that read ahead; 0 reads in the calling thread.
        collate_fn: makes a batch from a list of items; by default `default_collate`, without batches `default_convert`.
        pin_memory: page-locked memory for an accelerator; without one it warns and does nothing.
        drop_last: leave out a last batch that is not full.
        timeout: seconds to wait for a batch from workers; 0 waits without end.
        worker_init_fn: called with its number in each worker before it reads.
        multiprocessing_context: "fork", "spawn", "forkserver" or a context of `multiprocessing`; or "thread" for worker threads, which
            share the dataset and copy nothing, good where reading releases the interpreter's lock. By default threads for a list or tuple,
            for what is read in whole batches (a `TensorDataset`, a `Subset`, `StackDataset` or `ConcatDataset` of such, MNIST and CIFAR
            without random transforms), and for datasets with an attribute ``releases_gil = True``, unless there is a
            ``worker_init_fn`` or, but for the attribute, a ``collate_fn``; processes for others.
        generator: of the order and of the workers' seeds.
        prefetch_factor: batches read ahead by each worker, by default 2.
        persistent_workers: keep the workers after an epoch.
        pin_memory_device: accepted as PyTorch does, without effect.
        in_order: whether batches of several workers come in the order of the sampler; otherwise as they are ready.

    `state_dict` tells where the loader is, also in the middle of an epoch, and `load_state_dict` goes on from there with the same batches.

    Workers draw from seeds of their own (`get_worker_info().seed`). Tensors come from worker processes in shared memory. An
    exception in a worker is raised here with its type and traceback; RuntimeError for a worker that died or was too slow.

    Errors: ValueError for arguments that contradict each other or are out of range.

    Example::

        >>> from cresset.utils.data import DataLoader
        >>> loader = DataLoader([1.0, 2.0, 3.0], batch_size=2)
        >>> [batch.tolist() for batch in loader]
        [[1.0, 2.0], [3.0]]
        >>> len(loader)
        2
    """

    _iterator = None
    _initialized = False
    _place = None  # where the epoch is that began last
    _resume = None  # a state for the epoch that begins next

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None, pin_memory=False,
                 drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None, *, prefetch_factor=None,
                 persistent_workers=False, pin_memory_device="", in_order=True):  # fmt: skip
        if num_workers < 0:
            raise ValueError("DataLoader: expected num_workers of at least 0; 0 loads in this process.")
        if timeout < 0:
            raise ValueError("DataLoader: expected timeout of at least 0")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(f"DataLoader: expected no prefetch_factor with num_workers=0, got {prefetch_factor}")
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("DataLoader: expected prefetch_factor of at least 0")
        if persistent_workers and num_workers == 0:
            raise ValueError("DataLoader: persistent_workers needs num_workers above 0")
        self.dataset, self.num_workers, self.pin_memory, self.pin_memory_device = dataset, num_workers, pin_memory, pin_memory_device
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.timeout, self.worker_init_fn, self.multiprocessing_context = timeout, worker_init_fn, multiprocessing_context
        self.in_order = in_order
        self._is_stream = isinstance(dataset, IterableDataset)
        if isinstance(dataset, (IterDataPipe, MapDataPipe)) and (self._is_stream or not shuffle):
            self.dataset = apply_shuffle_settings(dataset, shuffle=shuffle)
            shuffle = False if self._is_stream else shuffle
        if self._is_stream:
            given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
            for name, value in given.items():
                if value is not None:
                    raise ValueError(f"DataLoader: an IterableDataset takes no {name} option, but got {name}={value}")
        if sampler is not None and shuffle:
            raise ValueError("DataLoader: expected sampler or shuffle, got both")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("DataLoader: batch_sampler stands instead of batch_size, shuffle, sampler and drop_last, got both")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("DataLoader: without batches (batch_size=None) there is no drop_last")
        if sampler is None:
            if self._is_stream:
                sampler = _Forever()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler, self.generator = batch_size, drop_last, sampler, batch_sampler, generator
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.persistent_workers = persistent_workers
        self.check_worker_number_rationality()
        self._initialized = True

    def __setattr__(self, name, value):
        if self._initialized and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self):
        """How worker processes start: a context of `multiprocessing`, "thread", or None."""
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, value):
        self._multiprocessing_context = self._context_of(value)

    def _context_of(self, value):
        if value is None:
            return None
        if self.num_workers == 0:
            raise ValueError(f"DataLoader: multiprocessing_context needs num_workers above 0, got {self.num_workers}")
        if isinstance(value, str) and value != "thread":
            methods = multiprocessing.get_all_start_methods()
            if value not in methods:
                raise ValueError(f"DataLoader: expected multiprocessing_context to be one of {methods} or 'thread', but got multiprocessing_context={value!r}")
            return multiprocessing.get_context(value)
        if value != "thread" and not isinstance(value, multiprocessing.context.BaseContext):
            raise TypeError(f"DataLoader: expected multiprocessing_context to be a context or its name, got {value!r}")
        return value

    def check_worker_number_rationality(self):
        """Warns where there are more worker processes than processors for them."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if self.num_workers > cores and self.multiprocessing_context != "thread":
            warnings.warn(
                f"DataLoader: num_workers={self.num_workers} is above the {cores} processors of this process, which may be slower than fewer",
                stacklevel=3,
            )

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self):
        return _MultiProcessingDataLoaderIter(self) if self.num_workers else _SingleProcessDataLoaderIter(self)

    def __iter__(self):
        if not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._begin(self)
        return self._iterator

    def state_dict(self):
        """Where the epoch that began last is: numbers, and the states of generators, samplers and datasets.

        Written by `torch.save`, read by `torch.load`. The order of an epoch is drawn again, so that nothing of the dataset is read twice;
        a sampler, a dataset or an iterator of a stream with ``state_dict`` and ``load_state_dict`` is asked for its own state instead, and
        other streams are read up to where they were. After the last batch the state is that before the next epoch.

        Example::

            >>> import cresset as torch
            >>> def make():
            ...     return torch.utils.data.DataLoader(range(6), 2, shuffle=True, generator=torch.Generator().manual_seed(0))
            >>> loader = make()
            >>> batches = iter(loader)
            >>> _ = next(batches)
            >>> state = loader.state_dict()
            >>> again = make()
            >>> again.load_state_dict(state)
            >>> [batch.tolist() for batch in again] == [batch.tolist() for batch in batches]
            True
        """
        if self._resume is not None:
            return self._resume
        return {"version": 1, "batches": 0} if self._place is None else self._place.state_dict()

    def load_state_dict(self, state_dict):
        """Lets the next epoch begin where a loader like this one was. Errors: ValueError for the state of a loader of another kind, and, of a
        stream, with another number of workers."""
        if not isinstance(state_dict, dict) or state_dict.get("version") != 1:
            raise ValueError("DataLoader.load_state_dict: expected what state_dict gave")
        if state_dict["batches"]:
            if state_dict["stream"] != self._is_stream:
                kinds = ("a dataset with indices", "a stream")
                raise ValueError(f"DataLoader.load_state_dict: the state is of {kinds[state_dict['stream']]}, this is a loader of {kinds[self._is_stream]}")
            if state_dict["batch_size"] != self.batch_size:
                raise ValueError(f"DataLoader.load_state_dict: the state is of batch_size {state_dict['batch_size']}, this loader has {self.batch_size}")
            if (self._is_stream or any(state_dict["states"])) and state_dict["num_workers"] != self.num_workers:
                raise ValueError(
                    f"DataLoader.load_state_dict: the state of what is read is of {state_dict['num_workers']} workers, this loader has {self.num_workers}"
                )
        self._resume = state_dict

    def __len__(self):
        if not self._is_stream:
            return len(self._index_sampler)
        length = len(self.dataset)
        if self.batch_size is not None:
            length = length // self.batch_size if self.drop_last else -(-length // self.batch_size)
        self._length_told = length
        return length

    def __getstate__(self):
        return {key: value for key, value in self.__dict__.items() if key not in ("_iterator", "_place")}

    def _generators(self):
        return generators_of(self._index_sampler, self.generator)

    def _stateful_sampler(self):
        """The sampler with a state of its own, or None."""
        for sampler in (self.batch_sampler, self.sampler):
            if callable(getattr(sampler, "state_dict", None)) and callable(getattr(sampler, "load_state_dict", None)):
                return sampler
        return None

    def _sampler_epoch(self):
        """The sampler that is told the epoch, or None."""
        for sampler in (self.batch_sampler, self.sampler):
            if callable(getattr(sampler, "set_epoch", None)) and isinstance(getattr(sampler, "epoch", None), int):
                return sampler
        return None


class _Place:
    """Where an epoch is. The loader keeps it when the epoch's iterator is gone."""

    def __init__(self, loader, seeds, resumed):
        workers, old = max(loader.num_workers, 1), resumed or {}
        self._loader, self.seeds, self.ended = weakref.ref(loader), seeds, False
        self.before = old.get("generators")  # their states before the first index
        self.epoch, self.sampler = old.get("epoch"), old.get("sampler")
        self.batches = old.get("batches", 0)  # handed out; of a dataset with indices: all up to here
        self.ahead = set(old.get("ahead", ()))  # and these
        self.turn = old.get("turn", 0)  # the worker of the next batch
        same = len(old.get("counts", ())) == workers
        self.counts = list(old["counts"]) if same else [0] * workers  # items of a stream handed out of each worker
        self.states = list(old["states"]) if same else [None] * workers  # of what each worker reads
        self.samplers = {}  # number -> the sampler's state after that batch
        self.current = None  # gives the state of what is read in the calling thread

    def note(self, number, worker, state):
        """A batch was handed out."""
        loader = self._loader()
        self.turn, self.states[worker] = (worker + 1) % len(self.states), state
        if loader is not None and loader._is_stream:
            self.counts[worker] += loader.batch_size or 1
            self.batches += 1
            return
        self.ahead.add(number)
        while self.batches in self.ahead:
            self.ahead.remove(self.batches)
            self.sampler = self.samplers.pop(self.batches, None)
            self.batches += 1

    def resume(self):
        """For each worker what `Fetcher` wants to know."""
        return list(zip(self.counts, self.states))

    def state_dict(self):
        loader = self._loader()
        if self.ended:
            state = {"version": 1, "batches": 0, "generators": [g.get_state() for g in loader._generators()[1:]]}
            return {**state, "base_seed": self.seeds[1]} if loader.persistent_workers else state  # workers that are kept keep theirs
        if not self.batches and not self.ahead:
            return {"version": 1, "batches": 0}
        return {
            "version": 1, "batches": self.batches, "ahead": sorted(self.ahead), "seeds": self.seeds, "generators": self.before, "epoch": self.epoch,
            "stream": loader._is_stream, "batch_size": loader.batch_size, "num_workers": loader.num_workers, "turn": self.turn,
            "counts": list(self.counts), "states": [self.current()] if self.current else list(self.states), "sampler": self.sampler,
        }  # fmt: skip


class _DatasetKind(enum.IntEnum):
    Map = 0
    Iterable = 1


class _Foreign:
    """A loader that is not a `DataLoader`, as libraries hand them to the iterators, with what these ask for besides."""

    _resume = _place = batch_size = None

    def __init__(self, loader):
        self._own, self._is_stream = loader, loader._dataset_kind == _DatasetKind.Iterable

    def __getattr__(self, name):
        return getattr(self._own, name)

    def _generators(self):
        return generators_of(None, self._own.generator)

    def _stateful_sampler(self):
        return None

    _sampler_epoch = _stateful_sampler


class _BaseDataLoaderIter:
    """One pass over the data."""

    def __init__(self, loader):
        loader = loader if isinstance(loader, DataLoader) else _Foreign(loader)
        self._loader = loader
        self._base_seed = None
        self._prepare()
        if loader.pin_memory:
            warnings.warn("DataLoader: pin_memory=True has no effect without an accelerator.", stacklevel=4)

    def _prepare(self):
        """Takes over the state that the loader was given, if any, and draws the seeds of the epoch."""
        loader = self._loader
        state, loader._resume = loader._resume, None
        self._resumed = state if state is not None and (state["batches"] or state.get("ahead")) else None
        if state is not None and self._resumed is None:  # the state before an epoch
            for generator, value in zip(loader._generators()[1:], state.get("generators", ())):
                generator.set_state(value)
            if loader.persistent_workers and self._base_seed is None:
                self._base_seed = state.get("base_seed")
        self._shared_seed = None  # one seed for the random steps of a stream, so that workers agree on its order
        if self._resumed:
            self._shared_seed, base_seed = state["seeds"]
        else:
            if isinstance(loader.dataset, IterDataPipe):
                self._shared_seed = draw_seed(loader.generator)
            base_seed = draw_seed(loader.generator) if self._base_seed is None else self._base_seed
        self._base_seed = base_seed if self._base_seed is None else self._base_seed  # that of workers that are kept stays
        if self._shared_seed is not None:
            apply_shared_seed(loader.dataset, self._shared_seed)
        self._place = loader._place = _Place(loader, (self._shared_seed, base_seed), self._resumed)
        self._start()

    def _start(self):
        loader = self._loader
        self._sampler_state = loader._stateful_sampler()
        self._yielded = 0
        self._promised = loader.__dict__.get("_length_told")
        place, generators, teller = self._place, loader._generators(), loader._sampler_epoch()
        if self._resumed is None:
            place.epoch = None if teller is None else teller.epoch
            place.before = [generator.get_state() for generator in generators]
            self._indices, self._number = iter(loader._index_sampler), 0
            return
        self._number = 0 if loader._is_stream else place.batches
        if teller is not None and place.epoch is not None:
            teller.set_epoch(place.epoch)
        if self._sampler_state is not None and place.sampler is not None:
            self._sampler_state.load_state_dict(place.sampler)
            self._indices = iter(loader._index_sampler)
            return
        # The order is drawn again from the states of then, and what was handed out of it left aside.
        now = torch.get_rng_state()
        for generator, value in zip(generators, place.before):
            generator.set_state(value)
        self._indices = iter(loader._index_sampler)
        for _ in range(self._number):
            next(self._indices, None)
        torch.set_rng_state(now)

    def _next_index(self):
        """Number and index list of the next batch."""
        while True:
            index, number = next(self._indices), self._number
            self._number += 1
            if self._sampler_state is not None:
                self._place.samplers[number] = copy.deepcopy(self._sampler_state.state_dict())
            if number not in self._place.ahead:
                return number, index

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader._index_sampler)

    def __next__(self):
        if "_cresset_profile" in sys.modules:
            from ...autograd.profiler import record_function

            with record_function(f"enumerate(DataLoader)#{type(self).__name__}.__next__"):
                return self._take()
        return self._take()

    def _take(self):
        try:
            batch = self._next()
        except StopIteration:
            self._place.ended = True
            raise
        self._yielded += 1
        if self._promised is not None and self._yielded > self._promised:
            warnings.warn(
                f"DataLoader: len() of {self._loader.dataset} promised {self._promised} samples, and it gave {self._yielded}",
                stacklevel=2,
            )
        return batch

    next = __next__


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Reads in the calling thread."""

    def __init__(self, loader):
        super().__init__(loader)
        loader = self._loader
        (resume,) = self._place.resume()
        self._fetch = Fetcher(loader.dataset, loader._is_stream, loader._auto_collation, loader.collate_fn, loader.drop_last, resume)
        self._place.current = self._fetch.state

    def _next(self):
        number, index = self._next_index()
        try:
            batch = self._fetch(index)
        except StopIteration:
            raise
        except Exception:
            self._place.note(number, 0, None)  # the batch after one that failed is the next one, as without a state
            raise
        self._place.note(number, 0, None)
        return batch


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Hands index lists to workers in turn, and out batches in the same order."""

    def __init__(self, loader):
        super().__init__(loader)
        loader = self._loader
        task = Task(loader.dataset, loader._is_stream, loader._auto_collation, loader.collate_fn, loader.drop_last, self._base_seed,
                    loader.worker_init_fn, loader.num_workers, self._shared_seed, self._place.resume())  # fmt: skip
        context = loader.multiprocessing_context or ("thread" if self._prefers_threads() else None)
        self._pool = Threads(task) if context == "thread" else Processes(task, context or multiprocessing.get_context())
        self._reset()

    def _prefers_threads(self):
        loader = self._loader
        if loader.worker_init_fn is not None:
            return False
        if loader._auto_collation and not loader._is_stream and stacks_tensors(loader.collate_fn):
            # Items that lie ready: handing them to another process costs more than reading them, and would copy the pages that they lie in.
            gather = gatherer(loader.dataset)
            if type(loader.dataset) in (list, tuple, range) or (gather is not None and gather.ready()):
                return True
        return getattr(loader.dataset, "releases_gil", False) is True

    def _begin(self, loader):
        """A new epoch of workers that are kept. Results still on their way are of the last one, and are dropped."""
        self._loader = loader
        self._prepare()
        resume = self._place.resume()
        self._tasks = {}
        for worker in range(loader.num_workers):
            self._send(worker, (RESUME, self._shared_seed, resume))
        waiting = loader.num_workers
        while waiting:
            waiting -= self._receive()[0] == RESUME
        self._reset()

    def _reset(self):
        loader = self._loader
        self._wanted = self._number
        self._tasks = {}  # number -> worker and index, of batches not yet received
        self._done = {}  # number -> worker, batch and state, received before its turn
        self._active = [True] * loader.num_workers
        self._turn = self._place.turn % loader.num_workers if loader._is_stream else self._number % loader.num_workers
        for _ in range(max(loader.prefetch_factor, 1) * loader.num_workers):
            self._request()

    def _request(self):
        """Asks the next worker in turn for one more batch."""
        workers = self._loader.num_workers
        for _ in range(workers):
            worker, self._turn = self._turn, (self._turn + 1) % workers
            if self._active[worker]:
                break
        else:
            return
        try:
            number, index = self._next_index()
        except StopIteration:
            return
        self._tasks[number] = worker, index
        self._send(worker, (number, index))

    def _send(self, worker, message):
        try:
            self._pool.send(worker, message)
        except WorkerDied as error:
            self._mourn(error)

    def _mourn(self, error):
        """Ends the epoch of a worker that died, and says what it was reading: the first that it owes."""
        self._pool.shutdown()
        for number, (worker, index) in sorted(self._tasks.items()):
            if worker != error.worker_id:
                continue
            if self._loader._is_stream:
                what = f"batch {number} of the stream"
            elif error.position is not None and isinstance(index, (list, tuple)) and 0 <= error.position < len(index):
                what = f"index {index[error.position]!r} of the batch {index!r}"
            else:
                what = f"the batch {index!r}" if isinstance(index, (list, tuple)) else f"index {index!r}"
            raise RuntimeError(f"{error} while it read {what}") from None
        raise error

    def _receive(self):
        timeout = self._loader.timeout or None
        try:
            result = self._pool.receive(timeout)
        except WorkerDied as error:
            self._mourn(error)
        except BaseException:
            self._pool.shutdown()
            raise
        if result is None:
            self._pool.shutdown()
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
        return result

    def _next(self):
        while True:
            number = next(iter(self._done), None) if not self._loader.in_order else self._wanted if self._wanted in self._done else None
            if number is not None:
                return self._hand_out(number, *self._done.pop(number))
            # Numbers that a worker left open when its share of a stream ended, and those of a resumed epoch that were handed out then.
            while self._wanted < self._number and self._wanted not in self._tasks and self._wanted not in self._done:
                self._wanted += 1
            if not self._tasks and not self._done:
                if not self._loader.persistent_workers:
                    self._pool.shutdown()
                raise StopIteration
            if self._wanted in self._done:
                continue
            number, batch, state = self._receive()
            worker, _ = self._tasks.pop(number, (None, None))
            if isinstance(batch, EndOfStream):
                self._active[worker] = False
                for open_number in [n for n, (w, _) in self._tasks.items() if w == worker]:
                    del self._tasks[open_number]
                self._request()
            elif worker is not None:
                self._done[number] = worker, batch, state

    def _hand_out(self, number, worker, batch, state):
        if number == self._wanted:
            self._wanted += 1
        self._place.note(number, worker, state)
        self._request()
        if isinstance(batch, Failure):
            batch.reraise()
        return batch
