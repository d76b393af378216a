"""torch.multiprocessing: Python's `multiprocessing`, and processes that begin together and end together.

Tensors go through queues and pipes by their memory, which moves to where both processes can map it: what one writes the other reads.
The sharing strategy says how the other process finds it: by a descriptor sent along, or by the name of a file in /dev/shm, which goes with
the last process that uses it.

    >>> ctx = torch.multiprocessing.get_context("spawn")
    >>> torch.multiprocessing.get_sharing_strategy()
    'file_descriptor'
"""

import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403
from multiprocessing import reduction as reducer  # noqa: F401

from .reductions import init_reductions
from .spawn import (
    ENV_VAR_PARALLEL_START,
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [*_multiprocessing.__all__, "ENV_VAR_PARALLEL_START", "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext",
           "init_reductions", "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes"]  # fmt: skip

_strategy = "file_descriptor"


def get_all_sharing_strategies():
    """The names of the ways in which processes find shared memory.

    >>> sorted(torch.multiprocessing.get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return {"file_descriptor", "file_system"}


def get_sharing_strategy():
    """The name of the way in which other processes find the memory of a tensor.

    >>> torch.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    return _strategy


def set_sharing_strategy(new_strategy):
    """Sets how other processes find memory that moves from now on. AssertionError for a name that is not there.

    >>> torch.multiprocessing.set_sharing_strategy("file_descriptor")
    """
    global _strategy
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"set_sharing_strategy: expected one of {sorted(get_all_sharing_strategies())}, got {new_strategy!r}")
    _strategy = new_strategy


class _Reductions:
    """Where it is unpickled, tensors go to other processes by their memory from then on."""

    def __reduce__(self):
        return init_reductions, ()


def _tell_children():
    """Processes that start anew send tensors as this one does, whatever they import."""
    import functools
    from multiprocessing import spawn as starting

    prepared = starting.get_preparation_data

    @functools.wraps(prepared)
    def get_preparation_data(name):
        return {"cresset": _Reductions(), **prepared(name)}

    starting.get_preparation_data = get_preparation_data


init_reductions()
_tell_children()
