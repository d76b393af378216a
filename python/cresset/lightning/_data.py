"""Batches: how many there are, where they lie, and how a loader is brought to a place within its epoch."""

import itertools

import cresset as torch
from cresset.utils.data.dataloader import DataLoader, _SingleProcessDataLoaderIter

from . import _random


def mapped(value, change):
    """A nested value with every tensor changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(v, change) for v in value))
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(v, change) for v in value)
    if isinstance(value, dict):
        return type(value)((k, mapped(v, change)) for k, v in value.items())
    return value


def moved(batch, device):
    return mapped(batch, lambda tensor: tensor.to(device))


def size_of(batch):
    """How many samples a batch has, by its first tensor; 1 where that has no dimensions."""
    if isinstance(batch, torch.Tensor):
        return batch.shape[0] if batch.dim() else 1
    for part in batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (list, tuple)) else ():
        found = size_of(part)
        if found is not None:
            return found
    return None


def length_of(loader):
    """How many batches a loader has, or None."""
    try:
        return len(loader)
    except (TypeError, NotImplementedError):
        return None


def limited(length, limit, name):
    """How many batches of a loader are used: `limit` is a number of them, or a part."""
    if isinstance(limit, float):
        if not 0.0 <= limit <= 1.0:
            raise ValueError(f"{name}: a part is from 0.0 to 1.0, got {limit}")
        if limit == 1.0:
            return length
        if length is None:
            if limit == 0.0:
                return 0
            raise ValueError(f"{name}: a loader without a length has no part {limit}; give a whole number")
        return int(length * limit)
    return limit if length is None else min(length, limit)


def generators_of(loader):
    """The generators of a loader's own."""
    found = [getattr(loader, "generator", None), getattr(getattr(loader, "sampler", None), "generator", None)]
    found.append(getattr(getattr(loader, "batch_sampler", None), "generator", None))
    return list({id(generator): generator for generator in found if isinstance(generator, torch.Generator)}.values())


class Epoch:
    """The batches of one epoch, in order. It can be begun anew at the place where another process left it."""

    def __init__(self, loader, limit):
        self.loader, self.limit = loader, limit
        self.start = self.batches = self.before_ahead = None
        self.ahead = []

    def begin(self):
        self.start = {"rng": _random.captured(), "generators": [generator.get_state() for generator in generators_of(self.loader)]}
        self._open()

    def begin_again(self, start, done, before_ahead):
        """As after `done` batches of an epoch that began in the state `start`; the states of generators are left as they were.

        A batch that was read ahead is read again with the random numbers of then, `before_ahead`.
        """
        self.start = start
        with _random.left_alone():
            _random.restored(start["rng"])
            for generator, state in zip(generators_of(self.loader), start["generators"]):
                generator.set_state(state)
            self._open()
            if isinstance(self.batches, _SingleProcessDataLoaderIter) and not self.loader._is_stream:
                for _ in range(done):
                    next(self.batches._indices)
            else:
                for _ in itertools.islice(self.batches, done):
                    pass
            if before_ahead is not None:
                _random.restored(before_ahead)
                self._look_ahead()

    def _open(self):
        self.batches, self.ahead = iter(self.loader), []

    def _look_ahead(self):
        """A loader that does not tell its length has to be asked for the next batch to know whether this one is the last."""
        if self.limit is None and not self.ahead:
            self.before_ahead = _random.captured()
            self.ahead = [next(self.batches, None)]

    def __call__(self, index):
        """Batch number `index`, and whether it is the last; None after the last."""
        if self.limit is not None:
            if index >= self.limit:
                return None
            batch = next(self.batches, None)
            return None if batch is None else (batch, index + 1 == self.limit)
        self._look_ahead()
        batch, self.ahead = self.ahead[0], []
        if batch is None:
            self.ahead = [None]
            return None
        self._look_ahead()
        return batch, self.ahead[0] is None


def loaders_of(loaders):
    """A list of loaders: one, or several."""
    if loaders is None:
        return []
    if isinstance(loaders, (list, tuple)) and not all(isinstance(part, torch.Tensor) for part in loaders):
        return list(loaders)
    return [loaders]


def set_epoch(loader, epoch):
    """Tells samplers that shuffle by the epoch's number which it is."""
    for part in (loader, getattr(loader, "sampler", None), getattr(getattr(loader, "batch_sampler", None), "sampler", None)):
        if hasattr(part, "set_epoch"):
            part.set_epoch(epoch)


def is_loader(value):
    return isinstance(value, DataLoader) or hasattr(value, "__iter__")


def in_order(loader):
    """A loader that shuffles, without that; others as they are."""
    from cresset.utils.data import DataLoader, RandomSampler

    if not isinstance(loader, DataLoader) or not isinstance(loader.sampler, RandomSampler):
        return loader
    return DataLoader(loader.dataset, batch_size=loader.batch_size, num_workers=loader.num_workers, collate_fn=loader.collate_fn, drop_last=loader.drop_last,
                      timeout=loader.timeout, worker_init_fn=loader.worker_init_fn)  # fmt: skip
