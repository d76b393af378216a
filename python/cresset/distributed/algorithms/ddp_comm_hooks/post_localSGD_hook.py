"""Averages of gradients over all ranks at first, and over those of a subgroup from some iteration on."""

import os

from cresset.distributed import _groups

from . import default_hooks

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]


class PostLocalSGDState:
    """The group of the first iterations, the subgroup of the others (by default the processes of one machine), and where those begin.

    >>> dist = torch.distributed
    >>> if not dist.is_initialized(): dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> from cresset.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState
    >>> PostLocalSGDState(None, dist.new_subgroups(1)[0], 10).iter
    0
    """

    __slots__ = ["iter", "post_local_gradient_allreduce", "process_group", "start_localSGD_iter", "subgroup"]

    def __init__(self, process_group, subgroup, start_localSGD_iter, post_local_gradient_allreduce=True):
        self.process_group, self.subgroup, self.start_localSGD_iter = process_group, subgroup, start_localSGD_iter
        self.post_local_gradient_allreduce, self.iter = post_local_gradient_allreduce, 0

    def maybe_increase_iter(self, bucket):
        """Counts an iteration after its last bucket."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state, bucket):
    """The average over the group of the iteration, or this rank's bucket where nothing is averaged.

    >>> dist = torch.distributed
    >>> if not dist.is_initialized(): dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> from cresset.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
    >>> from cresset.nn.parallel.distributed import GradBucket
    >>> state = PostLocalSGDState(None, dist.new_subgroups(1)[0], 0)
    >>> post_localSGD_hook(state, GradBucket(0, torch.ones(1), [], [], True)).wait(), state.iter
    (tensor([1.]), 1)
    """
    at_first = state.iter < state.start_localSGD_iter
    if not at_first and not state.post_local_gradient_allreduce:
        from .debugging_hooks import noop_hook

        return noop_hook(state, bucket)
    if not at_first and state.subgroup is None:
        state.subgroup, _ = _groups.new_subgroups(int(os.environ.get("LOCAL_WORLD_SIZE", 1)))
    state.maybe_increase_iter(bucket)
    return default_hooks.allreduce_hook(state.process_group if at_first else state.subgroup, bucket)
