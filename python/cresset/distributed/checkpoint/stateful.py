"""Objects that give and take their state."""

import typing

__all__ = ["Stateful", "StatefulT"]


@typing.runtime_checkable
class Stateful(typing.Protocol):
    """Anything with `state_dict()` and `load_state_dict(state)`, modules and optimizers among them; checkpoints save and load its state.

    >>> from cresset.distributed.checkpoint.stateful import Stateful
    >>> isinstance(nn.Linear(1, 1), Stateful), isinstance(3, Stateful)
    (True, False)
    """

    def state_dict(self) -> dict[str, typing.Any]: ...

    def load_state_dict(self, state_dict: dict[str, typing.Any]) -> None: ...


StatefulT = typing.TypeVar("StatefulT", bound=Stateful)
