"""One model on several devices."""

from collections.abc import Sequence
from typing import Any

from _cresset import _Device, _int

from ..modules import Module

class DataParallel(Module):
    module: Module
    device_ids: list[_int]
    def __init__(
        self, module: Module, device_ids: Sequence[_Device] | None = None, output_device: _Device | None = None, dim: _int = 0
    ) -> None: ...
