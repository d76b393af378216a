"""Settings of all steps of a graph at once: seeds, shuffling, shares."""

import inspect
import warnings

import cresset as torch

from .datapipes.iter.sharding import SHARDING_PRIORITIES
from .graph import traverse_dps

__all__ = ["apply_random_seed", "apply_sharding", "apply_shuffle_seed", "apply_shuffle_settings", "get_all_graph_pipes"]


def get_all_graph_pipes(graph):
    """All steps of a graph that `traverse_dps` gave, each once.

    >>> from cresset.utils.data import graph, graph_settings
    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper([1]).map(abs)
    >>> graph_settings.get_all_graph_pipes(graph.traverse_dps(pipe))
    [MapperIterDataPipe, IterableWrapperIterDataPipe]
    """
    found = {}

    def add(part):
        for number, (step, rest) in part.items():
            if number not in found:
                found[number] = step
                add(rest)

    add(graph)
    return list(found.values())


def _steps(datapipe):
    return get_all_graph_pipes(traverse_dps(datapipe))


def apply_sharding(datapipe, num_of_instances, instance_id, sharding_group=SHARDING_PRIORITIES.DEFAULT):
    """Gives the step's graph one of so many shares of the data: at each `sharding_filter`. RuntimeError for two of them on one path.

    >>> from cresset.utils.data.graph_settings import apply_sharding
    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper(range(5)).sharding_filter()
    >>> list(apply_sharding(pipe, 2, 1))
    [1, 3]
    """

    def share(part, above):
        for step, rest in part.values():
            sharded = hasattr(type(step), "apply_sharding")
            if sharded and above is not None:
                raise RuntimeError(f"apply_sharding: expected one sharding step on a path, got {above} and {step}, which would lose items")
            if sharded:
                takes = len(inspect.signature(step.apply_sharding).parameters)
                step.apply_sharding(num_of_instances, instance_id, *([sharding_group] if takes > 2 else []))
            share(rest, step if sharded else above)

    share(traverse_dps(datapipe), None)
    return datapipe


def _shuffles(step):
    return callable(getattr(type(step), "set_shuffle", None)) and callable(getattr(type(step), "set_seed", None))


def apply_shuffle_settings(datapipe, shuffle=None):
    """Turns every `shuffle` of the step's graph on or off; without one, on, it puts one behind the step and warns. None changes nothing.

    >>> from cresset.utils.data.graph_settings import apply_shuffle_settings
    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper(range(5)).shuffle()
    >>> list(apply_shuffle_settings(pipe, shuffle=False))
    [0, 1, 2, 3, 4]
    """
    if shuffle is None:
        return datapipe
    shufflers = [step for step in _steps(datapipe) if _shuffles(step)]
    if shuffle and not shufflers:
        warnings.warn("shuffle=True: no step shuffles, so one with the usual buffer_size is put at the end", stacklevel=2)
        shufflers = [datapipe := datapipe.shuffle()]
    for step in shufflers:
        step.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe, rng):
    """Gives every random step of the step's graph a seed drawn from a generator.

    >>> from cresset.utils.data.graph_settings import apply_random_seed
    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper(range(5)).shuffle()
    >>> list(apply_random_seed(pipe, torch.Generator().manual_seed(1))) == list(apply_random_seed(pipe, torch.Generator().manual_seed(1)))
    True
    """
    for step in _steps(datapipe):
        if callable(getattr(type(step), "set_seed", None)):
            step.set_seed(int(torch.empty((), dtype=torch.int64).random_(generator=rng).item()))
    return datapipe


apply_shuffle_seed = apply_random_seed  # an old name
