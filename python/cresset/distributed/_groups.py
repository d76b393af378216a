"""Groups of processes: how they begin, which there are, and who is in them."""

import os
import warnings

import _cresset_dist
import cresset as torch

from . import rendezvous as _rendezvous
from ._group import Backend, BackendConfig, GroupMember, ProcessGroup, ReduceOp, default_pg_timeout
from ._stores import PrefixStore, Store, TCPStore, _ArgumentError, _milliseconds, _RangeError

_groups = []  # all that are open, the world first


def _world():
    if not _groups:
        raise ValueError("distributed: there is no default process group; initialize it by init_process_group first")
    return _groups[0]


def _get_default_group():
    """The group of all processes. Errors: ValueError before init_process_group."""
    return _world()


def _get_default_store():
    """The store through which the processes met."""
    return _world()._store_base


def _get_process_group_name(pg):
    return pg.group_name


def _get_process_group_store(pg):
    return pg._store


def _resolve_process_group(name):
    """The open group of a name."""
    for g in _groups:
        if g.group_name == name:
            return g
    raise ValueError(f"distributed: no open group has the name {name!r}")


def _rank_not_in_group(group):
    return group == GroupMember.NON_GROUP_MEMBER and group is not None


def _resolve(group):
    """The group that an argument means, or None for a process outside of it."""
    if group is None:
        return _world()
    if isinstance(group, int) and group == GroupMember.NON_GROUP_MEMBER:
        return None
    if not isinstance(group, ProcessGroup):
        raise TypeError(f"distributed: expected a process group, got {type(group).__name__}")
    if not any(g is group for g in _groups):
        raise ValueError("distributed: the group does not exist, or no more")
    return group


def _peer(group, rank, group_rank, name, default=None):
    """A rank of the group from a rank of the world or of the group, one of which must be given."""
    if rank is not None and group_rank is not None:
        raise ValueError(f"distributed: expected {name} or group_{name}, got both")
    if group_rank is not None:
        return group_rank
    if rank is None:
        if default is None:
            raise ValueError(f"distributed: expected {name} or group_{name}, got neither")
        rank = default
    return get_group_rank(group, rank)


def _tensor(name, tensor):
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"distributed: expected a tensor as {name} (torch.Tensor), got {type(tensor).__name__}")
    return tensor if tensor.is_sparse else tensor.detach()


def _tensors(name, tensors):
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, torch.Tensor) for t in tensors):
        raise TypeError(f"distributed: expected a list of tensors as {name}, got {type(tensors).__name__}")
    return [t.detach() for t in tensors]


def is_initialized():
    """Whether `init_process_group` has been called.

    >>> torch.distributed.is_initialized()
    False
    """
    return bool(_groups)


def is_gloo_available():
    """Whether the backend "gloo" is here: always.

    >>> dist.is_gloo_available()
    True
    """
    return True


def is_mpi_available():
    """Whether the backend "mpi" is here: where its library was built (libopenmpi-dev) and can be opened.

    >>> isinstance(dist.is_mpi_available(), bool)
    True
    """
    return _cresset_dist.engine_available("mpi")


def is_nccl_available():
    """Whether the backend "nccl" is here: never.

    >>> dist.is_nccl_available()
    False
    """
    return False


def is_ucc_available():
    """Whether the backend "ucc" is here: never.

    >>> dist.is_ucc_available()
    False
    """
    return False


def is_xccl_available():
    """Whether the backend "xccl" is here: never.

    >>> dist.is_xccl_available()
    False
    """
    return False


def is_backend_available(backend):
    """Whether a backend of that name is here.

    >>> torch.distributed.is_backend_available("gloo"), torch.distributed.is_backend_available("nccl")
    (True, False)
    """
    return backend.lower() in Backend._plugins or backend.lower() == "gloo" or (backend.lower() == "mpi" and is_mpi_available())


def is_torchelastic_launched():
    """Whether an elastic launcher has started this process.

    >>> dist.is_torchelastic_launched()
    False
    """
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def supports_complex(reduceOp):
    """Whether a reduction is there for complex numbers.

    >>> dist.supports_complex(dist.ReduceOp.SUM), dist.supports_complex(dist.ReduceOp.MAX)
    (True, False)
    """
    return int(reduceOp) not in (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="", pg_options=None,
                       device_id=None, _ranks=None):  # fmt: skip
    """Connects all processes of the job: each calls this with its rank.

    They meet at `init_method` (`env://`, the default, reads MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE; `tcp://host:port`; `file:///path`) or
    in a `store`. With the backend "mpi" the program is begun by `mpirun`, which gives each process its rank. `timeout` is a timedelta after which operations give up. Errors: ValueError for what is missing or was done already, RuntimeError
    for a backend that is not here, DistNetworkError or DistStoreError where the processes do not meet in time.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> t = torch.ones(2); dist.all_reduce(t); t, dist.get_rank(), dist.get_world_size(), dist.get_backend()
    (tensor([1., 1.]), 0, 1, 'gloo')
    >>> dist.destroy_process_group()
    """
    if _groups:
        raise ValueError("init_process_group: the default process group exists; it is not made twice")
    if store is not None and init_method is not None:
        raise _ArgumentError("init_process_group: expected init_method or store, got both.")
    if timeout is not None and not hasattr(timeout, "total_seconds"):
        raise TypeError(f"init_process_group: expected a timedelta as timeout, got {type(timeout).__name__}")
    config = _checked_backend(backend)
    timeout = default_pg_timeout if timeout is None else timeout
    if config.get_device_backend_map().get("cpu") == "mpi":
        store, rank, world_size = _mpi_job(timeout, rank, world_size)
    elif store is None:
        store, rank, world_size = next(iter(_rendezvous.rendezvous(init_method or "env://", rank, world_size, timeout=timeout)))
        store.set_timeout(timeout)
    elif not isinstance(store, Store):
        raise TypeError(f"init_process_group: expected a store, got {type(store).__name__}")
    if world_size <= 0:
        raise (_ArgumentError if init_method is None else _RangeError)(f"init_process_group: expected a world_size above 0, got {world_size}")
    if rank < 0:
        raise _ArgumentError(f"init_process_group: expected a rank of 0 or more beside a store, got {rank}")
    if rank >= world_size:
        raise _RangeError(f"init_process_group: expected a rank below the world_size {world_size}, got {rank}")
    world = _made_group(
        config, PrefixStore("default_pg", store), rank, world_size, timeout, list(range(world_size)), group_name or "0", "default_pg", pg_options
    )
    world._store_base, world._count = store, 0
    world.bound_device_id = device_id
    _groups.append(world)
    GroupMember.WORLD = world


def _mpi_job(timeout, rank, world_size):
    """The store, rank and size of the job that mpirun began; arguments that say something else are warned of."""
    own_rank, own_size, host, native = _cresset_dist.mpi_job(_milliseconds(timeout))
    if (rank, world_size) not in ((-1, -1), (own_rank, own_size)):
        warnings.warn(
            f"init_process_group: mpirun has given this process rank {own_rank} of {own_size}; rank={rank} and world_size={world_size} are not used",
            stacklevel=3,
        )
    return TCPStore._held(host, native), own_rank, own_size


def _checked_backend(name):
    """The configuration of backends that `init_process_group` was given. Errors: one that is not here."""
    config = BackendConfig(Backend("undefined" if name is None else name))
    for device, backend in config.get_device_backend_map().items():
        if device != "cpu" and (name is None or ":" in str(name)):
            continue
        if is_backend_available(backend):
            continue
        if backend not in Backend.backend_list:
            raise _ArgumentError(f"distributed: {str(backend)!r} is no backend; there are {', '.join(Backend.backend_list)}, and those that are registered")
        if device == "cpu" or len(config.get_device_backend_map()) == 1:
            raise RuntimeError(f"distributed: the backend {str(backend)!r} is not built in; this build has {_built_in()}, for tensors on the CPU")
    config._given = name
    return config


def _built_in():
    return "'gloo' and 'mpi'" if is_mpi_available() else "'gloo'"


def _made_group(config, store, rank, size, timeout, ranks, name, description, options=None):
    backends = config.get_device_backend_map()
    backend = backends.get("cpu") or next(iter(backends.values()))
    if backend in Backend._plugins:
        function, extended = Backend._plugins[backend]
        if extended:
            made = function(_BackendOptions(store, rank, size, timeout, name, ranks), options)
        else:
            made = function(store, rank, size, timeout)
        made._store = store
        made.__dict__.setdefault("_impl", None)
    else:
        made = ProcessGroup(rank, size)
        made._connect(store, rank, size, timeout, backend)
    made._timeout, made._ranks, made.group_name, made._description, made._config = timeout, ranks, name, description, config
    made._backend = Backend(backend)
    made._named = Backend("undefined" if config._given is None else config._given)
    return made


class _BackendOptions:
    """Arguments of a registered backend with an extended interface."""

    def __init__(self, store, group_rank, group_size, timeout, group_id, global_ranks_in_group):
        self.store, self.group_rank, self.group_size, self.timeout = store, group_rank, group_size, timeout
        self.group_id, self.global_ranks_in_group = group_id, global_ranks_in_group


def destroy_process_group(group=None):
    """Ends a group; without one, or with that of all processes, all groups. Errors: ValueError for one that does not exist.

    >>> dist.destroy_process_group(); dist.is_initialized()
    False
    """
    if not _groups:
        raise _ArgumentError("destroy_process_group: there is no group; initialize one by init_process_group first")
    chosen = _resolve(group)
    if chosen is None:
        return
    ended = list(_groups) if chosen is _groups[0] else [chosen]
    _groups[:] = [g for g in _groups if not any(g is e for e in ended)]
    if not _groups:
        GroupMember.WORLD = None
    for g in ended:
        g.shutdown()


def get_rank(group=None):
    """This process's rank in a group; -1 outside of it.

    >>> dist.get_rank()
    0
    """
    g = _resolve(group)
    return -1 if g is None else g.rank()


def get_world_size(group=None):
    """The number of processes in a group; -1 outside of it.

    >>> dist.get_world_size()
    1
    """
    g = _resolve(group)
    return -1 if g is None else g.size()


def get_backend(group=None):
    """The name of a group's backend.

    >>> dist.get_backend(dist.new_group([0], backend="gloo"))
    'gloo'
    """
    g = _resolve(group)
    if g is None:
        raise ValueError("distributed: this process is not in the group")
    return g._named


def get_backend_config(group=None):
    """Which backend each type of device has in a group, as text.

    >>> dist.get_backend_config()
    'cpu:gloo'
    """
    g = _resolve(group)
    if g is None:
        raise ValueError("distributed: this process is not in the group")
    return str(g._config)


def get_default_backend_for_device(device):
    """The name of the backend for a device, or a type of devices. Errors: ValueError where there is none.

    >>> dist.get_default_backend_for_device("cpu")
    'gloo'
    """
    kind = device.type if isinstance(device, torch.device) else torch.device(device).type
    if kind not in Backend.default_device_backend_map:
        raise ValueError(f"distributed: the device {device} has no default backend")
    return Backend.default_device_backend_map[kind]


def get_pg_count():
    """How many groups are open.

    >>> dist.get_pg_count()
    1
    """
    return len(_groups)


def get_process_group_ranks(group):
    """The ranks in the world of a group's processes.

    >>> dist.get_process_group_ranks(dist.group.WORLD)
    [0]
    """
    g = _resolve(group)
    return [] if g is None else list(g._ranks)


def get_group_rank(group, global_rank):
    """A process's rank in a group from that in the world. Errors: ValueError where it is not in the group.

    >>> dist.get_group_rank(dist.group.WORLD, 0)
    0
    """
    ranks = _resolve(group)._ranks
    if global_rank not in ranks:
        raise _RangeError(f"distributed: rank {global_rank} of the world is not part of {group}")
    return ranks.index(global_rank)


def get_global_rank(group, group_rank):
    """A process's rank in the world from that in a group. Errors: ValueError where the group has no such rank.

    >>> dist.get_global_rank(dist.group.WORLD, 0)
    0
    """
    ranks = _resolve(group)._ranks
    if not 0 <= group_rank < len(ranks):
        raise _RangeError(f"distributed: {group} has no rank {group_rank}")
    return ranks[group_rank]


def get_node_local_rank(fallback_rank=None):
    """The rank among the processes of this host, which the launcher says (LOCAL_RANK). Errors: RuntimeError where it does not.

    >>> dist.get_node_local_rank(fallback_rank=0)
    0
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError("get_node_local_rank: the environment has no LOCAL_RANK, and no fallback_rank was given")
    return int(fallback_rank)


def new_group(ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False, group_desc=None, device_id=None, sort_ranks=True):
    """A group of some of the processes. All processes of the world call this (with `use_local_synchronization` only its members), with the same ranks.

    Returns the group, or `GroupMember.NON_GROUP_MEMBER` to processes outside. Errors: ValueError for ranks that there are not or that are named twice.

    >>> half = dist.new_group([0]); dist.get_world_size(half)
    1
    """
    world = _world()
    ranks = list(range(world.size())) if ranks is None else list(ranks)
    ranks = sorted(ranks) if sort_ranks else ranks
    if len(ranks) > world.size():
        raise ValueError(f"new_group: expected at most {world.size()} ranks, the world's, got {len(ranks)}")
    if len(set(ranks)) != len(ranks):
        raise ValueError(f"new_group: ranks are named twice in {ranks}")
    for rank in ranks:
        if not 0 <= rank < world.size():
            raise ValueError(f"new_group: expected ranks in [0, {world.size()}), got {rank}")
    if use_local_synchronization:
        name = "local " + " ".join(map(str, ranks))
        counts = world.__dict__.setdefault("_local_counts", {})
        counts[name] = counts.get(name, 0) + 1
        name += f" {counts[name]}"
    else:
        world._count += 1
        name = f"group {world._count}"
    if world.rank() not in ranks:
        return GroupMember.NON_GROUP_MEMBER
    config = world._config if backend is None else _checked_backend(backend)
    timeout = world._timeout if timeout is None else timeout
    made = _made_group(
        config, PrefixStore(name, world._store), ranks.index(world.rank()), len(ranks), timeout, ranks, name, group_desc or "undefined", pg_options
    )
    made.bound_device_id = device_id
    _groups.append(made)
    return made


def split_group(parent_pg=None, split_ranks=None, timeout=None, pg_options=None, group_desc=None, backend=None):
    """One of several groups that a group falls into: that of this process, or None. All its processes call this.

    >>> dist.split_group(dist.group.WORLD, [[0]]).size()
    1
    """
    parent = _resolve(parent_pg)
    if not split_ranks:
        raise ValueError("split_group: expected lists of ranks, got none")
    own = None
    for ranks in split_ranks:
        made = new_group([parent._ranks[rank] for rank in ranks], timeout, backend, pg_options, group_desc=group_desc)
        if parent.rank() in ranks:
            own = made
    return own


def shrink_group(ranks_to_exclude, group=None, shrink_flags=0, pg_options=None):
    """A group without some ranks. The processes that stay call this.

    >>> dist.shrink_group([]).size()
    1
    """
    g = _resolve(group)
    gone = set(ranks_to_exclude)
    if not gone <= set(range(g.size())) or len(gone) == g.size():
        raise ValueError(f"shrink_group: expected some of the ranks [0, {g.size()}), got {sorted(gone)}")
    if g.rank() in gone:
        return GroupMember.NON_GROUP_MEMBER
    return new_group([rank for i, rank in enumerate(g._ranks) if i not in gone], use_local_synchronization=True)


def new_subgroups_by_enumeration(ranks_per_subgroup_list, timeout=None, backend=None, pg_options=None, group_desc=None):
    """Groups from lists of ranks that do not overlap: (this process's group, all groups).

    >>> own, every = dist.new_subgroups_by_enumeration([[0]]); own.size(), len(every)
    (1, 1)
    """
    if not ranks_per_subgroup_list:
        raise ValueError("new_subgroups: expected ranks, got an empty ranks_per_subgroup_list")
    seen, own, made = set(), None, []
    for ranks in ranks_per_subgroup_list:
        twice = seen.intersection(ranks)
        if twice:
            raise ValueError(f"Rank {min(twice)} has appeared in several subgroups")
        seen.update(ranks)
    for ranks in ranks_per_subgroup_list:
        subgroup = new_group(ranks, timeout, backend, pg_options, group_desc=group_desc)
        made.append(subgroup)
        if get_rank() in ranks:
            own = subgroup
    return own, made


def new_subgroups(group_size=None, group=None, timeout=None, backend=None, pg_options=None, group_desc=None):
    """The world in groups of `group_size` neighbours: (this process's group, all groups). Errors: ValueError where that does not come out even.

    >>> own, every = dist.new_subgroups(1); own.size(), len(every)
    (1, 1)
    """
    size = get_world_size()
    if group_size is None or group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if size < group_size:
        raise ValueError(f"new_subgroups: expected group_size of at most {size}, the number of ranks, got {group_size}")
    if size % group_size:
        raise ValueError(f"new_subgroups: expected a group_size that divides the world's {size} ranks, got {group_size}")
    return new_subgroups_by_enumeration([list(range(i, i + group_size)) for i in range(0, size, group_size)], timeout, backend)
