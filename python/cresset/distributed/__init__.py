"""torch.distributed: processes that compute together. Start each with its rank, let them meet, and call the same operations everywhere.

The backend "gloo" has tensors in the CPU's memory; between processes of one host they go through memory that all share, between hosts through
Gloo.

    import torch.distributed as dist
    dist.init_process_group("gloo", init_method="tcp://localhost:29500", rank=rank, world_size=2)
    dist.all_reduce(gradient, op=dist.ReduceOp.AVG)
    dist.destroy_process_group()
"""

import importlib as _importlib

from cresset._core.missing import found as _found

from . import distributed_c10d, rendezvous as _rendezvous
from ._collectives import (
    _all_gather_base,
    _coalescing_manager,
    _make_nccl_premul_sum,
    _reduce_scatter_base,
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_gather_single,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    barrier,
    batch_isend_irecv,
    broadcast,
    gather,
    irecv,
    isend,
    monitored_barrier,
    recv,
    reduce,
    reduce_scatter,
    reduce_scatter_single,
    reduce_scatter_tensor,
    scatter,
    send,
)
from ._group import (
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    Backend,
    BackendConfig,
    BarrierOptions,
    BroadcastOptions,
    DebugLevel,
    GatherOptions,
    GroupMember,
    P2POp,
    ProcessGroup,
    ProcessGroupGloo,
    ProcessGroupNCCL,
    ReduceOp,
    ReduceOptions,
    record_comm,
    ReduceScatterOptions,
    ScatterOptions,
    Work,
    default_pg_timeout,
    get_debug_level,
    group,
    reduce_op,
    set_debug_level,
    set_debug_level_from_env,
)
from ._groups import (
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_backend_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
    shrink_group,
    split_group,
    supports_complex,
)
from ._objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from ._stores import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistQueueEmptyError,
    DistStoreError,
    FileStore,
    HashStore,
    PrefixStore,
    Store,
    TCPStore,
)
from .rendezvous import register_rendezvous_handler, rendezvous

QueueEmptyError = DistQueueEmptyError
_SUBMODULES = ...  # all that have a file
# Names whose modules are loaded when they are asked for.
_LATE = {
    "DeviceMesh": "device_mesh",
    "init_device_mesh": "device_mesh",
    "GradBucket": "_reducer",
    "BuiltinCommHookType": "_reducer",
    "Reducer": "_reducer",
    "Logger": "_reducer",
}


def __getattr__(name):
    if name in _LATE:
        return getattr(_importlib.import_module(f".{_LATE[name]}", __name__), name)
    return _found(__name__, name)


class GroupName(str):
    """The name of a group.

    >>> dist.GroupName("world")
    'world'
    """


_breaks = 0


def breakpoint(rank=0, skip=0, timeout_s=3600):  # noqa: A001
    """Opens the debugger on one rank, which stands at its terminal; the others wait for it. The first `skip` calls do nothing.

    >>> dist.breakpoint(skip=1)
    """
    global _breaks
    _breaks += 1
    if _breaks <= skip:
        return
    if get_rank() == rank:
        import pdb
        import sys

        pdb.Pdb().set_trace(sys._getframe(1))
    import datetime

    barrier(timeout=datetime.timedelta(seconds=timeout_s))


def is_available():
    """Whether this build can run several processes together: always.

    >>> torch.distributed.is_available()
    True
    """
    return True
