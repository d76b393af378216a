"""The loader: batches of a dataset, read in the calling thread, by worker processes or by worker threads."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import warnings
from typing import Generic, TypeVar

from ._utils.collate import default_collate, default_convert
from ._utils.transport import Processes, Threads
from ._utils.worker import RESUME, EndOfStream, Failure, Fetcher, Task, apply_shared_seed
from .datapipes.datapipe import IterDataPipe, MapDataPipe
from .dataset import IterableDataset
from .graph_settings import apply_shuffle_settings
from .sampler import BatchSampler, RandomSampler, SequentialSampler, draw_seed

__all__ = ["DataLoader"]

T_co = TypeVar("T_co", covariant=True)

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
            share the dataset and copy nothing, good where reading releases the interpreter's lock.
        generator: of the order and of the workers' seeds.
        prefetch_factor: batches read ahead by each worker, by default 2.
        persistent_workers: keep the workers after an epoch.
        pin_memory_device: accepted as PyTorch does, without effect.
        in_order: whether batches of several workers come in the order of the sampler; otherwise as they are ready.

    Workers draw from seeds of their own (`get_worker_info().seed`). Large tensors come from worker processes through shared memory. An
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

    def __init__(self, dataset, batch_size=1, shuffle=None, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None, pin_memory=False,
                 drop_last=False, timeout=0, worker_init_fn=None, multiprocessing_context=None, generator=None, *, prefetch_factor=None,
                 persistent_workers=False, pin_memory_device="", in_order=True):  # fmt: skip
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing. "
                "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
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
                    raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
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
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
                f"but got num_workers={self.num_workers}"
            )
        if isinstance(value, str) and value != "thread":
            methods = multiprocessing.get_all_start_methods()
            if value not in methods:
                raise ValueError(
                    f"multiprocessing_context option should specify a valid start method in {methods} or 'thread', "
                    f"but got multiprocessing_context={value!r}"
                )
            return multiprocessing.get_context(value)
        if value != "thread" and not isinstance(value, multiprocessing.context.BaseContext):
            raise TypeError(f"multiprocessing_context option should be a valid context object or a string, but got {value!r}")
        return value

    def check_worker_number_rationality(self):
        """Warns where there are more worker processes than processors for them."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if self.num_workers > cores and self.multiprocessing_context != "thread":
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number of worker in current "
                f"system is {cores}, which is smaller than what this DataLoader is going to create. Please be aware that excessive worker "
                "creation might get DataLoader running slow or even freeze, lower the worker number to avoid potential slowness/freeze if "
                "necessary.",
                stacklevel=3,
            )

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def __iter__(self):
        if not self.persistent_workers:
            return _Workers(self) if self.num_workers else _Here(self)
        if self._iterator is None:
            self._iterator = _Workers(self)
        else:
            self._iterator._begin(self)
        return self._iterator

    def __len__(self):
        if not self._is_stream:
            return len(self._index_sampler)
        length = len(self.dataset)
        if self.batch_size is not None:
            length = length // self.batch_size if self.drop_last else -(-length // self.batch_size)
        return length

    def __getstate__(self):
        return {key: value for key, value in self.__dict__.items() if key != "_iterator"}


class _Epoch:
    """One pass over the data."""

    def __init__(self, loader):
        self._loader = loader
        self._share_seed()
        self._base_seed = draw_seed(loader.generator)
        if loader.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.", stacklevel=4
            )
        self._start()

    def _share_seed(self):
        """One seed for the random steps of a stream, so that workers agree on its order."""
        self._shared_seed = None
        if isinstance(self._loader.dataset, IterDataPipe):
            self._shared_seed = draw_seed(self._loader.generator)
            apply_shared_seed(self._loader.dataset, self._shared_seed)

    def _start(self):
        self._indices = iter(self._loader._index_sampler)
        self._yielded = 0
        self._promised = None
        if self._loader._is_stream and hasattr(self._loader.dataset, "__len__"):
            try:
                self._promised = len(self._loader)
            except (TypeError, NotImplementedError):
                pass

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader._index_sampler)

    def __next__(self):
        batch = self._next()
        self._yielded += 1
        if self._promised is not None and self._yielded == self._promised + 1:
            warnings.warn(
                f"Length of IterableDataset {self._loader.dataset} was reported to be {self._promised} (when accessing len(dataloader)), "
                f"but {self._yielded} samples have been fetched.",
                stacklevel=2,
            )
        return batch

    next = __next__


class _Here(_Epoch):
    """Reads in the calling thread."""

    def __init__(self, loader):
        super().__init__(loader)
        self._fetch = Fetcher(loader.dataset, loader._is_stream, loader._auto_collation, loader.collate_fn, loader.drop_last)

    def _next(self):
        return self._fetch(next(self._indices))


class _Workers(_Epoch):
    """Hands index lists to workers in turn, and out batches in the same order."""

    def __init__(self, loader):
        super().__init__(loader)
        task = Task(loader.dataset, loader._is_stream, loader._auto_collation, loader.collate_fn, loader.drop_last, self._base_seed,
                    loader.worker_init_fn, loader.num_workers, self._shared_seed)  # fmt: skip
        context = loader.multiprocessing_context
        self._pool = Threads(task) if context == "thread" else Processes(task, context or multiprocessing.get_context())
        self._reset()

    def _begin(self, loader):
        """A new epoch of workers that are kept. Results still on their way are of the last one, and are dropped."""
        self._loader = loader
        self._share_seed()
        self._start()
        for worker in range(loader.num_workers):
            self._pool.send(worker, (RESUME, self._shared_seed))
        waiting = loader.num_workers
        while waiting:
            waiting -= self._receive()[0] == RESUME
        self._reset()

    def _reset(self):
        loader = self._loader
        self._sent = self._wanted = 0
        self._tasks = {}  # number -> worker, of batches not yet received
        self._done = {}  # number -> batch, received before its turn
        self._active = [True] * loader.num_workers
        self._turn = 0
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
            index = next(self._indices)
        except StopIteration:
            return
        self._pool.send(worker, (self._sent, index))
        self._tasks[self._sent] = worker
        self._sent += 1

    def _receive(self):
        timeout = self._loader.timeout or None
        try:
            result = self._pool.receive(timeout)
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
                return self._hand_out(number, self._done.pop(number))
            # Numbers that a worker left open when its share of a stream ended.
            while self._wanted < self._sent and self._wanted not in self._tasks and self._wanted not in self._done:
                self._wanted += 1
            if not self._tasks and not self._done:
                if not self._loader.persistent_workers:
                    self._pool.shutdown()
                raise StopIteration
            if self._wanted in self._done:
                continue
            number, batch = self._receive()
            worker = self._tasks.pop(number, None)
            if isinstance(batch, EndOfStream):
                self._active[worker] = False
                for open_number in [n for n, w in self._tasks.items() if w == worker]:
                    del self._tasks[open_number]
                self._request()
            elif worker is not None:
                self._done[number] = batch

    def _hand_out(self, number, batch):
        if number == self._wanted:
            self._wanted += 1
        self._request()
        if isinstance(batch, Failure):
            batch.reraise()
        return batch
