"""Which kernels may serve attention."""

import enum
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from _cresset import _bool, _str

from . import bias as bias, flex_attention as flex_attention

WARN_FOR_UNFUSED_KERNELS: _bool

class SDPBackend(enum.Enum):
    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: _bool = False) -> AbstractContextManager[dict[Any, Any]]: ...
def register_flash_attention_impl(impl: _str, *, register_fn: Callable[[], Any]) -> None: ...
def activate_flash_attention_impl(impl: _str) -> None: ...
def list_flash_attention_impls() -> list[_str]: ...
def current_flash_attention_impl() -> _str | None: ...
def restore_flash_attention_impl(_raise_warn: _bool = True) -> None: ...
