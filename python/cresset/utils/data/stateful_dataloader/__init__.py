"""torchdata.stateful_dataloader: the loader under the name that it has there. `DataLoader` itself tells where it is and goes on from there.

Example::

    >>> from cresset.utils.data.stateful_dataloader import StatefulDataLoader
    >>> loader = StatefulDataLoader(range(6), batch_size=2)
    >>> _ = next(iter(loader))
    >>> again = StatefulDataLoader(range(6), batch_size=2)
    >>> again.load_state_dict(loader.state_dict())
    >>> [batch.tolist() for batch in again]
    [[2, 3], [4, 5]]
"""

from __future__ import annotations

from typing import TypeVar

from ..dataloader import DataLoader
from . import sampler, stateful
from .stateful import Stateful

__all__ = ["Stateful", "StatefulDataLoader", "sampler", "stateful"]

T_co = TypeVar("T_co", covariant=True)


class StatefulDataLoader(DataLoader[T_co]):
    """A `DataLoader` with the arguments that torchdata's has.

    Args:
        dataset, args, kwargs: those of `DataLoader`.
        snapshot_every_n_steps: how often workers hand over their state. Here they do with every batch, so that a state is always that behind
            the last batch, as it is there with 1. Errors: ValueError for less than 1.

    Example::

        >>> from cresset.utils.data.stateful_dataloader import StatefulDataLoader
        >>> StatefulDataLoader([1, 2], snapshot_every_n_steps=10).state_dict()
        {'version': 1, 'batches': 0}
    """

    def __init__(self, dataset, *args, snapshot_every_n_steps=1, **kwargs):
        if snapshot_every_n_steps is None or snapshot_every_n_steps < 1:
            raise ValueError(f"snapshot_every_n_steps is at least 1, got {snapshot_every_n_steps}")
        self.snapshot_every_n_steps = snapshot_every_n_steps
        super().__init__(dataset, *args, **kwargs)
