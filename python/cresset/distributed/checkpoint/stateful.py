"""Objects that give and take their state."""

import typing

__all__ = ["Stateful", "StatefulT"]


@typing.runtime_checkable
class Stateful(typing.Protocol):
    """Anything with `state_dict()` and `load_state_dict(state)`, modules and optimizers among them; checkpoints save and load its state."""

    def state_dict(self) -> dict[str, typing.Any]: ...

    def load_state_dict(self, state_dict: dict[str, typing.Any]) -> None: ...


StatefulT = typing.TypeVar("StatefulT", bound=Stateful)
