"""The loader under the name that it has in torchdata."""

from typing import Any

from cresset.utils.data import DataLoader

from .stateful import Stateful as Stateful

class StatefulDataLoader(DataLoader):
    snapshot_every_n_steps: int
    def __init__(self, dataset: Any, *args: Any, snapshot_every_n_steps: int = 1, **kwargs: Any) -> None: ...
