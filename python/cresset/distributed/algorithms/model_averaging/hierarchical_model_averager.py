"""Averages over small groups often and over large ones seldom."""

import collections

from cresset.distributed import _groups

from . import averagers, utils

__all__ = ["HierarchicalModelAverager"]


class HierarchicalModelAverager(averagers.ModelAverager):
    """Averages over neighbours: `period_group_size_dict` says, from the shortest period to the longest, how many processes average every so often.

    Of the periods that divide a step the longest counts. Periods and sizes grow; the last size is that of the group.

    >>> import collections
    >>> dist = torch.distributed
    >>> if not dist.is_initialized(): dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> from cresset.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
    >>> HierarchicalModelAverager(collections.OrderedDict([(2, 1)])).step
    0
    """

    def __init__(self, period_group_size_dict=None, warmup_steps=0, process_group=None):
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("HierarchicalModelAverager: expected periods and sizes of groups, got none")
        self._periods, sizes = list(period_group_size_dict), list(period_group_size_dict.values())
        if self._periods[0] <= 0 or sorted(set(self._periods)) != self._periods:
            raise ValueError(f"HierarchicalModelAverager: expected positive periods that grow, got {self._periods}")
        if sizes[0] <= 0 or sorted(set(sizes)) != sizes:
            raise ValueError(f"HierarchicalModelAverager: expected positive sizes that grow, got {sizes}")
        if sizes[-1] != self.process_group.size():
            raise ValueError(f"HierarchicalModelAverager: expected {self.process_group.size()}, the group's size, as the last one, got {sizes[-1]}")
        if warmup_steps < 0:
            raise ValueError(f"HierarchicalModelAverager: expected warmup_steps that are not negative, got {warmup_steps}")
        self.warmup_steps, self.period_process_group_dict = warmup_steps, collections.OrderedDict()
        for period, size in period_group_size_dict.items():
            whole = size == self.process_group.size()
            self.period_process_group_dict[period] = self.process_group if whole else _groups.new_subgroups(size)[0]

    def average_parameters(self, params):
        """Averages where it is time; counts the step."""
        if self.step >= self.warmup_steps:
            chosen = next((p for p in reversed(self._periods) if self.step % p == 0), None)
            if chosen is not None:
                utils.average_parameters_or_parameter_groups(params, self.period_process_group_dict[chosen])
        self.step += 1
