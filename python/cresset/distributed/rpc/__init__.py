"""torch.distributed.rpc: calls of functions in other workers, and references to objects there.

    rpc.init_rpc("worker0", rank=0, world_size=2)
    rpc.rpc_sync("worker1", torch.add, args=(torch.ones(2), 3))
    rpc.shutdown()

Functions travel by name and are looked up among the modules that the receiver has loaded; those of the program are let in, others where `allow` says so.
"""

from cresset.distributed._wire import allow, register_type

from . import backend_registry, constants, functions, options
from ._agent import WorkerInfo, register_function
from .api import (
    AllGatherStates,
    RRef,
    get_worker_info,
    init_rpc,
    is_available,
    method_factory,
    new_method,
    remote,
    rpc_async,
    rpc_sync,
    shutdown,
)
from .backend_registry import BackendType
from .options import RpcBackendOptions, TensorPipeRpcBackendOptions

__all__ = ["AllGatherStates", "BackendType", "RRef", "RpcBackendOptions", "TensorPipeRpcBackendOptions", "WorkerInfo", "allow", "get_worker_info", "init_rpc",
           "is_available", "method_factory", "new_method", "register_function", "register_type", "remote", "rpc_async", "rpc_sync", "shutdown"]  # fmt: skip
_SUBMODULES = ...
