"""One model on several devices, or in several processes."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from _cresset import _bool, _Device, _float, _int, device

from ..modules import Module

def scatter(inputs: Any, target_gpus: Sequence[_Device], dim: _int = 0) -> Any: ...
def gather(outputs: Any, target_device: _Device, dim: _int = 0) -> Any: ...
def replicate(network: Module, devices: Sequence[_Device], detach: _bool = False) -> list[Module]: ...
def parallel_apply(
    modules: Sequence[Callable[..., Any]],
    inputs: Sequence[Any],
    kwargs_tup: Sequence[dict[Any, Any]] | None = None,
    devices: Sequence[_Device] | None = None,
) -> list[Any]: ...
def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[_Device] | None = None,
    output_device: _Device | None = None,
    dim: _int = 0,
    module_kwargs: dict[Any, Any] | None = None,
) -> Any: ...

class DataParallel(Module):
    module: Module
    device_ids: list[_int]
    dim: _int
    def __init__(self, module: Module, device_ids: Sequence[_Device] | None = None, output_device: _Device | None = None, dim: _int = 0) -> None: ...
    def replicate(self, module: Module, device_ids: Sequence[_Device]) -> list[Module]: ...
    def scatter(self, inputs: Any, kwargs: Any, device_ids: Sequence[_Device]) -> Any: ...
    def parallel_apply(self, replicas: Sequence[Module], inputs: Any, kwargs: Any) -> list[Any]: ...
    def gather(self, outputs: Any, output_device: _Device) -> Any: ...

class DistributedDataParallel(Module):
    module: Module
    process_group: Any
    require_backward_grad_sync: _bool
    find_unused_parameters: _bool
    def __init__(
        self,
        module: Module,
        device_ids: Sequence[_Device] | None = None,
        output_device: _Device | None = None,
        dim: _int = 0,
        broadcast_buffers: _bool | None = None,
        init_sync: _bool = True,
        process_group: Any = None,
        bucket_cap_mb: _float | None = None,
        find_unused_parameters: _bool = False,
        check_reduction: _bool = False,
        gradient_as_bucket_view: _bool = False,
        static_graph: _bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: _bool = False,
        bucket_cap_mb_list: Sequence[_float] | None = None,
        batched_grad_copy: _bool = False,
        forward_sync_buffers: _bool | None = None,
    ) -> None: ...
    @property
    def broadcast_buffers(self) -> _bool: ...
    @property
    def join_device(self) -> device: ...
    @property
    def join_process_group(self) -> Any: ...
    def join(
        self, divide_by_initial_world_size: _bool = True, enable: _bool = True, throw_on_early_termination: _bool = False
    ) -> AbstractContextManager[None]: ...
    def join_hook(self, **kwargs: Any) -> Any: ...
    def no_sync(self) -> AbstractContextManager[None]: ...
    def register_comm_hook(self, state: Any, hook: Callable[[Any, Any], Any]) -> None: ...
    def will_sync_module_buffers(self) -> _bool: ...
    def scatter(self, inputs: Any, kwargs: Any, device_ids: Sequence[_Device]) -> Any: ...
    def to_kwargs(self, inputs: Any, kwargs: Any, device_id: _Device) -> Any: ...
    def gather(self, outputs: Any, output_device: _Device) -> Any: ...
