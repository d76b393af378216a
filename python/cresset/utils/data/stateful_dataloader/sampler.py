"""torchdata.stateful_dataloader.sampler: samplers that a loader finds its place in again, which it does in all of ours.

>>> from cresset.utils.data.stateful_dataloader.sampler import RandomSampler
>>> RandomSampler is torch.utils.data.RandomSampler
True
"""

from ..sampler import BatchSampler, RandomSampler

__all__ = ["BatchSampler", "RandomSampler"]
