"""Schedules of the learning rate."""

from collections.abc import Callable, Sequence
from typing import Any

from _cresset import Tensor, _bool, _float, _int, _str

from . import Optimizer

class LRScheduler:
    optimizer: Optimizer
    base_lrs: list[_float]
    last_epoch: _int
    def __init__(self, optimizer: Optimizer, last_epoch: _int = -1) -> None: ...
    def state_dict(self) -> dict[_str, Any]: ...
    def load_state_dict(self, state_dict: dict[_str, Any]) -> None: ...
    def get_last_lr(self) -> list[_float]: ...
    def get_lr(self) -> list[_float]: ...
    def step(self, epoch: _int | None = None) -> None: ...

class ChainedScheduler(LRScheduler):
    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None: ...
    def step(self) -> None: ...  # type: ignore[override]

class ConstantLR(LRScheduler):
    def __init__(self, optimizer: Optimizer, factor: _float = 0.3333333333333333, total_iters: _int = 5, last_epoch: _int = -1) -> None: ...

class CosineAnnealingLR(LRScheduler):
    def __init__(self, optimizer: Optimizer, T_max: _int, eta_min: _float = 0.0, last_epoch: _int = -1) -> None: ...

class CosineAnnealingWarmRestarts(LRScheduler):
    def __init__(self, optimizer: Optimizer, T_0: _int, T_mult: _int = 1, eta_min: _float = 0.0, last_epoch: _int = -1) -> None: ...
    def step(self, epoch: _float | None = None) -> None: ...

class CyclicLR(LRScheduler):
    def __init__(
        self, optimizer: Optimizer, base_lr: _float | Sequence[_float], max_lr: _float | Sequence[_float], step_size_up: _int = 2000, step_size_down: _int | None = None,
        mode: _str = 'triangular', gamma: _float = 1.0, scale_fn: Callable[[_float], _float] | None = None, scale_mode: _str = 'cycle', cycle_momentum: _bool = True,
        base_momentum: _float = 0.8, max_momentum: _float = 0.9, last_epoch: _int = -1,
    ) -> None: ...  # fmt: skip

class ExponentialLR(LRScheduler):
    def __init__(self, optimizer: Optimizer, gamma: _float, last_epoch: _int = -1) -> None: ...

class LambdaLR(LRScheduler):
    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[_int], _float] | Sequence[Callable[[_int], _float]], last_epoch: _int = -1) -> None: ...

class LinearLR(LRScheduler):
    def __init__(
        self, optimizer: Optimizer, start_factor: _float = 0.3333333333333333, end_factor: _float = 1.0, total_iters: _int = 5,
        last_epoch: _int = -1,
    ) -> None: ...  # fmt: skip

class MultiStepLR(LRScheduler):
    def __init__(self, optimizer: Optimizer, milestones: Sequence[_int], gamma: _float = 0.1, last_epoch: _int = -1) -> None: ...

class MultiplicativeLR(LRScheduler):
    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[_int], _float] | Sequence[Callable[[_int], _float]], last_epoch: _int = -1) -> None: ...

class OneCycleLR(LRScheduler):
    def __init__(
        self, optimizer: Optimizer, max_lr: _float | Sequence[_float], total_steps: _int | None = None, epochs: _int | None = None, steps_per_epoch: _int | None = None,
        pct_start: _float = 0.3, anneal_strategy: _str = 'cos', cycle_momentum: _bool = True, base_momentum: _float = 0.85,
        max_momentum: _float = 0.95, div_factor: _float = 25.0, final_div_factor: _float = 10000.0, three_phase: _bool = False,
        last_epoch: _int = -1,
    ) -> None: ...  # fmt: skip

class PolynomialLR(LRScheduler):
    def __init__(self, optimizer: Optimizer, total_iters: _int = 5, power: _float = 1.0, last_epoch: _int = -1) -> None: ...

class ReduceLROnPlateau(LRScheduler):
    def __init__(
        self, optimizer: Optimizer, mode: _str = 'min', factor: _float = 0.1, patience: _int = 10, threshold: _float = 0.0001,
        threshold_mode: _str = 'rel', cooldown: _int = 0, min_lr: _float | Sequence[_float] = 0, eps: _float = 1e-08,
    ) -> None: ...  # fmt: skip
    def step(self, metrics: _float | Tensor, epoch: _int | None = None) -> None: ...  # type: ignore[override]
    @property
    def in_cooldown(self) -> _bool: ...

class SequentialLR(LRScheduler):
    def __init__(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[_int], last_epoch: _int = -1) -> None: ...
    def step(self) -> None: ...  # type: ignore[override]

class StepLR(LRScheduler):
    def __init__(self, optimizer: Optimizer, step_size: _int, gamma: _float = 0.1, last_epoch: _int = -1) -> None: ...
