"""Streams that are shared out."""

import enum
import itertools

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe

__all__ = ["SHARDING_PRIORITIES", "ShardingFilterIterDataPipe"]


class SHARDING_PRIORITIES(enum.IntEnum):
    """Who shares out a stream: groups of lower numbers first, each within the shares of those before; `DEFAULT` alone.

    >>> from cresset.utils.data.datapipes.iter.sharding import SHARDING_PRIORITIES
    >>> part = torch.utils.data.datapipes.iter.IterableWrapper(range(8)).sharding_filter()
    >>> part.apply_sharding(2, 1, SHARDING_PRIORITIES.MULTIPROCESSING)
    >>> part.apply_sharding(2, 0, SHARDING_PRIORITIES.DISTRIBUTED)
    >>> list(part)
    [2, 6]
    """

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(IterDataPipe):
    """Every n-th item, once `apply_sharding` has said which; a `DataLoader` does so for its workers.

    >>> part = torch.utils.data.datapipes.iter.IterableWrapper(range(6)).sharding_filter()
    >>> part.apply_sharding(3, 1)
    >>> list(part)
    [1, 4]
    """

    def __init__(self, source_datapipe, sharding_group_filter=None):
        self.source_datapipe, self.sharding_group_filter = source_datapipe, sharding_group_filter
        self.groups = {}
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(self, num_of_instances, instance_id, sharding_group=SHARDING_PRIORITIES.DEFAULT):
        """Of so many shares, which one is given; groups of shares multiply. ValueError for a number that is too large, RuntimeError for
        the default group beside others."""
        if instance_id >= num_of_instances:
            raise ValueError(f"apply_sharding: expected an instance_id below num_of_instances={num_of_instances}, got {instance_id}")
        groups = {*self.groups, sharding_group}
        if SHARDING_PRIORITIES.DEFAULT in groups and len(groups) > 1:
            raise RuntimeError(f"apply_sharding: the default group goes with no other, got {sorted(groups)}")
        self.groups[sharding_group] = num_of_instances, instance_id
        self.num_of_instances, self.instance_id = 1, 0
        for group in sorted(self.groups):
            if self.sharding_group_filter is None or group == self.sharding_group_filter:
                count, number = self.groups[group]
                self.instance_id += self.num_of_instances * number
                self.num_of_instances *= count

    def __iter__(self):
        yield from itertools.islice(self.source_datapipe, self.instance_id, None, self.num_of_instances)

    def __len__(self):
        full, rest = divmod(len(self.source_datapipe), self.num_of_instances)
        return full + (self.instance_id < rest)
