"""The share of one process in training from several."""

from __future__ import annotations

import math

import cresset as torch

from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler):
    """Every ``num_replicas``-th index from ``rank`` on, so that the processes share a dataset.

    Args:
        dataset: whose length counts.
        num_replicas: the number of processes; by default those of `torch.distributed`.
        rank: which of them this is, from 0; by default its number there.
        shuffle: whether indices come in random order, the same in all processes; `set_epoch` changes it.
        seed: of the order.
        drop_last: leave out the last indices where they do not divide evenly, instead of repeating the first.

    Errors: ValueError where number and rank are not given and there is no process group, and for a rank out of range.

    Example::

        >>> from cresset.utils.data import DistributedSampler
        >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
        [1, 3, 0]
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        num_replicas = torch.distributed.get_world_size() if num_replicas is None else num_replicas
        rank = torch.distributed.get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"DistributedSampler: expected rank within [0, {num_replicas - 1}], got {rank}")
        self.dataset, self.num_replicas, self.rank, self.epoch, self.drop_last = dataset, num_replicas, rank, 0, drop_last
        self.shuffle, self.seed = shuffle, seed
        uneven = drop_last and len(dataset) % num_replicas
        self.num_samples = math.ceil((len(dataset) - num_replicas if uneven else len(dataset)) / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        indices = list(range(len(self.dataset)))
        if self.shuffle:
            generator = torch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = torch.randperm(len(indices), generator=generator).tolist()
        if not self.drop_last:
            indices = (indices * math.ceil(self.total_size / max(len(indices), 1)))[: self.total_size]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Makes the next order that of an epoch. To be called before each, or all epochs have the same order."""
        self.epoch = epoch
