"""Processes that have run out of data while others go on: they take part in the collectives of the others."""

import abc
import warnings

import cresset as torch

__all__ = ["Join", "JoinHook", "Joinable"]


class JoinHook:
    """Part of a process without data, for one object: ``main_hook()`` for every step of the others, ``post_hook(is_last_joiner)`` at the end.

    >>> from cresset.distributed.algorithms import JoinHook
    >>> JoinHook().main_hook()
    """

    def main_hook(self):
        """Called while others have data: it makes the collective calls of one step."""

    def post_hook(self, is_last_joiner):
        """Called once all have run out of data; `is_last_joiner` tells whether this process was among the last."""


class Joinable(abc.ABC):
    """An object whose steps make collective calls: ``join_hook(**kwargs)``, ``join_device`` and ``join_process_group`` say how others take part.

    >>> from cresset.distributed.algorithms import Joinable
    >>> isinstance(3, Joinable)
    False
    """

    _join_context = None

    @abc.abstractmethod
    def join_hook(self, **kwargs):
        """A `JoinHook` for this object."""

    @property
    @abc.abstractmethod
    def join_device(self):
        """The device of its collective calls."""

    @property
    @abc.abstractmethod
    def join_process_group(self):
        """The group of its collective calls."""


class Join:
    """A context for loops over different amounts of data: a process that leaves it takes part in the steps of those that are still within.

    Args:
        joinables: objects with `join_hook`, as `DistributedDataParallel`; the first one's steps are counted.
        enable: whether to do so at all.
        throw_on_early_termination: RuntimeError in all processes as soon as one runs out of data, instead.
        **kwargs: for `join_hook`.

    Errors: ValueError for no objects, TypeError for others.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> net = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> from cresset.distributed.algorithms import Join
    >>> with Join([net]):
    ...     for _ in range(2):
    ...         net(torch.ones(1, 2)).sum().backward()
    >>> dist.destroy_process_group()
    """

    def __init__(self, joinables, enable=True, throw_on_early_termination=False, **kwargs):
        if not joinables:
            raise ValueError("Join: expected at least one joinable, got none")
        if not all(hasattr(joinable, "join_hook") for joinable in joinables):
            raise TypeError("Join: every joinable has a join_hook")
        self._joinables, self._enable, self._throws = list(joinables), enable, throw_on_early_termination
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables] if enable else []
        self._group = joinables[0].join_process_group
        if any(joinable.join_process_group is not self._group for joinable in joinables):
            raise ValueError("Join: expected joinables of one process group, got several")

    def __enter__(self):
        if self._enable:
            for joinable in self._joinables:
                joinable._join_context = self

    def _counted(self, own):
        count = torch.tensor([own, 0 if own else 1])
        torch.distributed.all_reduce(count, group=self._group)
        return count.tolist()

    def __exit__(self, kind, value, traceback):
        if not self._enable:
            return
        for joinable in self._joinables:
            joinable._join_context = None
        if kind is not None:
            return
        last, steps = True, 0
        while self._counted(0)[0]:
            if self._throws:
                raise RuntimeError(f"Join: rank {self._group.rank()} has exhausted its inputs; it is the first")
            last = False
            for hook in self._hooks:
                hook.main_hook()
            steps += 1
            if steps == 1000:
                warnings.warn(
                    f"Join: ranks differ in their number of inputs by more than {steps}: one rank has that many more steps than rank {self._group.rank()}",
                    stacklevel=2,
                )
        for hook in self._hooks:
            hook.post_hook(last)

    @staticmethod
    def notify_join_context(joinable):
        """Called by the first object before the collective calls of a step: the number of processes that have data, or None outside of a context.

        Errors: RuntimeError where one has run out, if that is to be thrown.
        """
        context = joinable._join_context
        if context is None or context._joinables[0] is not joinable:
            return None
        active, ended = context._counted(1)
        if context._throws and ended:
            raise RuntimeError("Join: a rank has exhausted its inputs; all ranks raise.")
        return active
