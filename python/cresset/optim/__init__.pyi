"""torch.optim: optimizers and schedulers of their learning rate."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from _cresset import Tensor, _bool, _float, _int, _str

from . import lr_scheduler as lr_scheduler, swa_utils as swa_utils

_Params: TypeAlias = Iterable[Tensor] | Iterable[dict[_str, Any]] | Iterable[tuple[_str, Tensor]]

class Optimizer:
    param_groups: list[dict[_str, Any]]
    state: dict[Tensor, Any]
    defaults: dict[_str, Any]
    def __init__(self, params: _Params, defaults: dict[_str, Any]) -> None: ...
    def add_param_group(self, param_group: dict[_str, Any]) -> None: ...
    def zero_grad(self, set_to_none: _bool = True) -> None: ...
    OptimizerPreHook: TypeAlias = Callable[[Any, tuple[Any, ...], dict[_str, Any]], tuple[tuple[Any, ...], dict[_str, Any]] | None]
    OptimizerPostHook: TypeAlias = Callable[[Any, tuple[Any, ...], dict[_str, Any]], None]
    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]: ...
    def step(self, closure: Callable[[], Any] | None = None) -> Any: ...
    def state_dict(self) -> dict[_str, Any]: ...
    def load_state_dict(self, state_dict: dict[_str, Any]) -> None: ...
    def register_step_pre_hook(self, hook: Callable[..., Any]) -> Any: ...
    def register_step_post_hook(self, hook: Callable[..., Any]) -> Any: ...
    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: _bool = False) -> Any: ...
    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: _bool = False) -> Any: ...
    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: _bool = False) -> Any: ...
    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: _bool = False) -> Any: ...

class SparseAdam(Optimizer):
    def __init__(
        self, params: _Params, lr: _float | Tensor = 0.001, betas: tuple[_float, _float] = ..., eps: _float = 1e-08, maximize: _bool = False
    ) -> None: ...

class ASGD(Optimizer):
    def __init__(
        self, params: _Params, lr: _float | Tensor = 0.01, lambd: _float = 0.0001, alpha: _float = 0.75, t0: _float = 1000000.0,
        weight_decay: _float = 0, foreach: _bool | None = None, maximize: _bool = False, differentiable: _bool = False, capturable: _bool = False,
    ) -> None: ...  # fmt: skip

class Adadelta(Optimizer):
    def __init__(
        self, params: _Params, lr: _float | Tensor = 1.0, rho: _float = 0.9, eps: _float = 1e-06, weight_decay: _float = 0,
        foreach: _bool | None = None, *, capturable: _bool = False, maximize: _bool = False, differentiable: _bool = False,
    ) -> None: ...  # fmt: skip

class Adafactor(Optimizer):
    def __init__(
        self, params: _Params, lr: _float | Tensor = 0.01, beta2_decay: _float = -0.8, eps: tuple[_float | None, _float] = ..., d: _float = 1.0,
        weight_decay: _float = 0.0, *, foreach: _bool | None = None, maximize: _bool = False,
    ) -> None: ...  # fmt: skip

class Adagrad(Optimizer):
    def __init__(
        self, params: _Params, lr: _float | Tensor = 0.01, lr_decay: _float = 0, weight_decay: _float = 0, initial_accumulator_value: _float = 0,
        eps: _float = 1e-10, foreach: _bool | None = None, *, maximize: _bool = False, differentiable: _bool = False, fused: _bool | None = None,
    ) -> None: ...  # fmt: skip

class Adam(Optimizer):
    def __init__(
        self, params: _Params, lr: _float | Tensor = 0.001, betas: tuple[_float, _float] = ..., eps: _float = 1e-08, weight_decay: _float = 0,
        amsgrad: _bool = False, *, foreach: _bool | None = None, maximize: _bool = False, capturable: _bool = False, differentiable: _bool = False,
        fused: _bool | None = None, decoupled_weight_decay: _bool = False,
    ) -> None: ...  # fmt: skip

class AdamW(Adam):
    def __init__(
        self, params: _Params, lr: _float | Tensor = 0.001, betas: tuple[_float, _float] = ..., eps: _float = 1e-08, weight_decay: _float = 0.01,
        amsgrad: _bool = False, *, maximize: _bool = False, foreach: _bool | None = None, capturable: _bool = False, differentiable: _bool = False,
        fused: _bool | None = None,
    ) -> None: ...  # fmt: skip

class Adamax(Optimizer):
    def __init__(
        self, params: _Params, lr: _float | Tensor = 0.002, betas: tuple[_float, _float] = ..., eps: _float = 1e-08, weight_decay: _float = 0,
        foreach: _bool | None = None, *, maximize: _bool = False, differentiable: _bool = False, capturable: _bool = False,
    ) -> None: ...  # fmt: skip

class LBFGS(Optimizer):
    def __init__(
        self, params: _Params, lr: _float | Tensor = 1, max_iter: _int = 20, max_eval: _int | None = None, tolerance_grad: _float = 1e-07,
        tolerance_change: _float = 1e-09, history_size: _int = 100, line_search_fn: _str | None = None,
    ) -> None: ...  # fmt: skip
    def step(self, closure: Callable[[], Any]) -> Any: ...  # type: ignore[override]

class Muon(Optimizer):
    def __init__(
        self, params: _Params, lr: _float | Tensor = 0.001, weight_decay: _float = 0.1, momentum: _float = 0.95, nesterov: _bool = True,
        ns_coefficients: tuple[_float, _float, _float] = ..., eps: _float = 1e-07, ns_steps: _int = 5, adjust_lr_fn: _str | None = None,
    ) -> None: ...  # fmt: skip

class NAdam(Optimizer):
    def __init__(
        self, params: _Params, lr: _float | Tensor = 0.002, betas: tuple[_float, _float] = ..., eps: _float = 1e-08, weight_decay: _float = 0,
        momentum_decay: _float = 0.004, decoupled_weight_decay: _bool = False, *, foreach: _bool | None = None, maximize: _bool = False,
        capturable: _bool = False, differentiable: _bool = False,
    ) -> None: ...  # fmt: skip

class RAdam(Optimizer):
    def __init__(
        self, params: _Params, lr: _float | Tensor = 0.001, betas: tuple[_float, _float] = ..., eps: _float = 1e-08, weight_decay: _float = 0,
        decoupled_weight_decay: _bool = False, *, foreach: _bool | None = None, maximize: _bool = False, capturable: _bool = False,
        differentiable: _bool = False,
    ) -> None: ...  # fmt: skip

class RMSprop(Optimizer):
    def __init__(
        self, params: _Params, lr: _float | Tensor = 0.01, alpha: _float = 0.99, eps: _float = 1e-08, weight_decay: _float = 0, momentum: _float = 0,
        centered: _bool = False, capturable: _bool = False, foreach: _bool | None = None, maximize: _bool = False, differentiable: _bool = False,
    ) -> None: ...  # fmt: skip

class Rprop(Optimizer):
    def __init__(
        self, params: _Params, lr: _float | Tensor = 0.01, etas: tuple[_float, _float] = ..., step_sizes: tuple[_float, _float] = ..., *, capturable: _bool = False,
        foreach: _bool | None = None, maximize: _bool = False, differentiable: _bool = False,
    ) -> None: ...  # fmt: skip

class SGD(Optimizer):
    def __init__(
        self, params: _Params, lr: _float | Tensor = 0.001, momentum: _float = 0, dampening: _float = 0, weight_decay: _float = 0,
        nesterov: _bool = False, *, maximize: _bool = False, foreach: _bool | None = None, differentiable: _bool = False, fused: _bool | None = None,
    ) -> None: ...  # fmt: skip

def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[_str, Tensor], swapin_optim_state: dict[_str, Any]
) -> AbstractContextManager[None]: ...
