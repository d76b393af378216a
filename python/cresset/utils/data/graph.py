"""The steps that a step is made of."""

from .datapipes.datapipe import IterDataPipe, MapDataPipe
from .datapipes.iter import _Source

__all__ = ["traverse", "traverse_dps"]


def _within(value, seen):
    """The steps that a value holds."""
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        yield value
    elif isinstance(value, _Source):
        yield value.datapipe
    elif isinstance(value, (list, tuple, set)) and id(value) not in seen:
        seen.add(id(value))
        for part in value:
            yield from _within(part, seen)
    elif isinstance(value, dict):
        yield from _within(list(value.values()), seen)


def traverse_dps(datapipe):
    """A dictionary with one entry: the step's id, with the step and the dictionary of those it reads from.

    >>> from cresset.utils.data.graph import traverse_dps
    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper([1]).map(abs)
    >>> (step, rest), = traverse_dps(pipe).values()
    >>> step is pipe, len(rest)
    (True, 1)
    """
    return _traverse(datapipe, set())


def _traverse(datapipe, above):
    if id(datapipe) in above:
        return {}
    found = {}
    for value in vars(datapipe).values():
        for step in _within(value, set()):
            found.update(_traverse(step, above | {id(datapipe)}))
    return {id(datapipe): (datapipe, found)}


def traverse(datapipe, only_datapipe=True):
    """An old name of `traverse_dps`.

    >>> from cresset.utils.data.graph import traverse
    >>> len(traverse(torch.utils.data.datapipes.iter.IterableWrapper([1])))
    1
    """
    return traverse_dps(datapipe)
