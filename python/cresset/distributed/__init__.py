"""torch.distributed: processes that compute together. Start each with its rank, let them meet, and call the same operations everywhere.

The backend is "gloo": TCP between the processes, tensors in the CPU's memory.

    import torch.distributed as dist
    dist.init_process_group("gloo", init_method="tcp://localhost:29500", rank=rank, world_size=2)
    dist.all_reduce(gradient, op=dist.ReduceOp.AVG)
    dist.destroy_process_group()
"""

from . import distributed_c10d, rendezvous as _rendezvous
from ._group import Backend, GroupMember, P2POp, ProcessGroup, ReduceOp, Work, default_pg_timeout, group
from ._stores import DistBackendError, DistError, DistNetworkError, DistStoreError, FileStore, HashStore, PrefixStore, Store, TCPStore
from .distributed_c10d import (
    all_gather,
    all_gather_into_tensor,
    all_gather_object,
    all_reduce,
    all_to_all,
    all_to_all_single,
    barrier,
    batch_isend_irecv,
    broadcast,
    broadcast_object_list,
    destroy_process_group,
    gather,
    gather_object,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    irecv,
    is_backend_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    isend,
    monitored_barrier,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
    recv,
    recv_object_list,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
    scatter_object_list,
    send,
    send_object_list,
    supports_complex,
)
from .rendezvous import register_rendezvous_handler, rendezvous

_SUBMODULES = ("algorithms", "elastic", "nn", "run")
__all__ = [
    "Backend", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "FileStore", "GroupMember", "HashStore", "P2POp", "PrefixStore",
    "ProcessGroup", "ReduceOp", "Store", "TCPStore", "Work", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all",
    "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast", "broadcast_object_list", "default_pg_timeout", "destroy_process_group",
    "gather", "gather_object", "get_backend", "get_global_rank", "get_group_rank", "get_node_local_rank", "get_pg_count", "get_process_group_ranks",
    "get_rank", "get_world_size", "group", "init_process_group", "irecv", "is_available", "is_backend_available", "is_gloo_available",
    "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available", "is_xccl_available", "isend",
    "monitored_barrier", "new_group", "new_subgroups", "new_subgroups_by_enumeration", "recv", "recv_object_list", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "register_rendezvous_handler", "rendezvous", "scatter", "scatter_object_list", "send", "send_object_list",
    "supports_complex",
]  # fmt: skip


def is_available():
    """Whether this build can run several processes together: always.

    >>> torch.distributed.is_available()
    True
    """
    return True
