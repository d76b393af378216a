"""A sampler that goes on in the middle of an epoch, with another number of processes."""

import math

import cresset as torch
from cresset.utils.data.distributed import DistributedSampler

__all__ = ["ElasticDistributedSampler"]


class ElasticDistributedSampler(DistributedSampler):
    """A `DistributedSampler` of the samples from `start_index` on.

    >>> from cresset.distributed.elastic.utils.data import ElasticDistributedSampler
    >>> len(ElasticDistributedSampler(list(range(10)), num_replicas=2, rank=0, start_index=4))
    3
    """

    def __init__(self, dataset, num_replicas=None, rank=None, start_index=0):
        super().__init__(dataset=dataset, num_replicas=num_replicas, rank=rank)
        if not 0 <= start_index < len(dataset):
            raise ValueError(f"ElasticDistributedSampler: expected a start_index in [0, {len(dataset)}), got {start_index}")
        self.start_index = start_index
        self.num_samples = math.ceil((len(dataset) - start_index) / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self):
        generator = torch.Generator().manual_seed(self.epoch)
        indices = (torch.randperm(len(self.dataset) - self.start_index, generator=generator) + self.start_index).tolist()
        indices += indices[: self.total_size - len(indices)]
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self):
        return self.num_samples
