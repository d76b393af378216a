"""torchdata.stateful_dataloader.stateful: what a dataset, a sampler or an iterator has that says where it is."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Stateful"]


@runtime_checkable
class Stateful(Protocol):
    """Has a state that can be told and taken over.

    >>> isinstance(torch.nn.Linear(1, 1), torch.utils.data.stateful_dataloader.Stateful)
    True
    >>> isinstance([], torch.utils.data.stateful_dataloader.Stateful)
    False
    """

    def state_dict(self) -> dict[str, Any]:
        """Where it is."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from there."""
