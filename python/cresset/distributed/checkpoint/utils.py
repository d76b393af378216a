"""Steps that ranks take together."""

import sys
import traceback

import cresset.distributed as dist

from .api import CheckpointException


class _Ranks:
    """Ranks that save or load together; without a group this process alone."""

    def __init__(self, group=None, alone=False, coordinator=0):
        self.group = group
        self.alone = alone or not dist.is_initialized()
        self.rank = 0 if self.alone else dist.get_rank(group)
        self.coordinator = coordinator
        self.is_coordinator = self.rank == coordinator or self.alone

    def gathered(self, what, step):
        """Results of `step` on all ranks, given to all of them. Errors: CheckpointException on all, where it fails on some."""
        mine = _tried(step)
        if self.alone:
            results = [mine]
        else:
            results = [None] * dist.get_world_size(self.group)
            dist.all_gather_object(results, mine, group=self.group)
            results[self.rank] = mine
        failures = {rank: (result[1], result[2] if rank == self.rank else []) for rank, result in enumerate(results) if not result[0]}
        if failures:
            raise CheckpointException(f"checkpoint, {what}", failures)
        return [result[1] for result in results]

    def decided(self, what, step):
        """The result of `step` on the coordinator, given to all ranks. Errors as above."""
        return self.gathered(what, lambda: step() if self.is_coordinator else None)[0 if self.alone else self.coordinator]


def _tried(step):
    try:
        return True, step(), None
    except Exception as error:
        frames = traceback.extract_tb(sys.exc_info()[2])
        return False, error, [(f.filename, f.lineno, f.name, f.line) for f in frames]
