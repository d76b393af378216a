"""Options of workers."""

from . import constants

__all__ = ["RpcBackendOptions", "TensorPipeRpcBackendOptions"]


class RpcBackendOptions:
    """`rpc_timeout` in seconds, and `init_method`, a URL by which workers meet.

    >>> from cresset.distributed.rpc import RpcBackendOptions
    >>> RpcBackendOptions().rpc_timeout
    60.0
    """

    def __init__(self, rpc_timeout=constants.DEFAULT_RPC_TIMEOUT_SEC, init_method="env://"):
        self.rpc_timeout, self.init_method = float(rpc_timeout), init_method


class TensorPipeRpcBackendOptions(RpcBackendOptions):
    """Those with `num_worker_threads`, which is kept for programs that set it: every request has a thread of its own.

    >>> from cresset.distributed.rpc import TensorPipeRpcBackendOptions
    >>> TensorPipeRpcBackendOptions(num_worker_threads=4).num_worker_threads
    4
    """

    def __init__(self, *, num_worker_threads=constants.DEFAULT_NUM_WORKER_THREADS, rpc_timeout=constants.DEFAULT_RPC_TIMEOUT_SEC, init_method="env://",
                 device_maps=None, devices=None, _transports=None, _channels=None):  # fmt: skip
        super().__init__(rpc_timeout, init_method)
        if device_maps or devices:
            raise ValueError("TensorPipeRpcBackendOptions: device maps are for accelerators, of which there are none")
        self.num_worker_threads, self.device_maps, self.devices = num_worker_threads, {}, []
