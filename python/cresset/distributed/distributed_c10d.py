"""The operations of `torch.distributed`. All ranks of a group call the same ones in the same order, with equal dtypes and numbers of elements."""

import os
import pickle

import cresset as torch

from . import rendezvous as _rendezvous
from ._group import Backend, GroupMember, P2POp, ProcessGroup, ReduceOp, Work, _checked_backend, default_pg_timeout
from ._stores import DistBackendError, PrefixStore, Store

_groups = []  # all that are open, the world first


def _world():
    if not _groups:
        raise ValueError("there is no default process group: call init_process_group before.")
    return _groups[0]


def _resolve(group):
    """The group that an argument means, or None for a process outside of it."""
    if group is None:
        return _world()
    if group == GroupMember.NON_GROUP_MEMBER:
        return None
    if not isinstance(group, ProcessGroup):
        raise TypeError(f"expected a process group, got {type(group).__name__}")
    if group not in _groups:
        raise ValueError("The given group does not exist (any more)")
    return group


def _peer(group, rank, group_rank, name, default=None):
    """A rank of the group from a rank of the world or of the group, one of which must be given."""
    if rank is not None and group_rank is not None:
        raise ValueError(f"Can't specify both {name} and group_{name}")
    if group_rank is not None:
        return group_rank
    if rank is None:
        if default is None:
            raise ValueError(f"Must specify {name} or group_{name}")
        rank = default
    return get_group_rank(group, rank)


def _tensor(name, tensor):
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"expected parameter `{name}` of type torch.Tensor but got {type(tensor)} instead.")
    return tensor.detach()


def _tensors(name, tensors):
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, torch.Tensor) for t in tensors):
        raise TypeError(f"expected {name} to be a list of tensors, got {type(tensors).__name__}")
    return [t.detach() for t in tensors]


def _reduction(op):
    if not isinstance(op, (int, ReduceOp.RedOpType)) or isinstance(op, bool) or not 0 <= int(op) <= 7:
        raise TypeError(f"expected a torch.distributed.ReduceOp, got {op!r}")
    return int(op)


def _run(method, *arguments, async_op=False, finish=None):
    try:
        work = Work(method(*arguments, async_op), finish)
    except (ValueError, TypeError):
        raise
    except RuntimeError as error:
        raise DistBackendError(str(error)) from None
    if async_op:
        return work
    return None if finish is None else finish()


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
    """Whether the backend "mpi" is here: never.

    >>> dist.is_mpi_available()
    False
    """
    return False


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
    return backend.lower() == "gloo"


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
    in a `store`. `timeout` is a timedelta after which operations give up. Errors: ValueError for what is missing or was done already, RuntimeError
    for a backend that is not here, DistNetworkError or DistStoreError where the processes do not meet in time.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> t = torch.ones(2); dist.all_reduce(t); t, dist.get_rank(), dist.get_world_size(), dist.get_backend()
    (tensor([1., 1.]), 0, 1, 'gloo')
    >>> dist.destroy_process_group()
    """
    if _groups:
        raise ValueError("init_process_group: the default process group exists already")
    if store is not None and init_method is not None:
        raise ValueError("init_process_group: expected init_method or store, got both.")
    _checked_backend(backend)
    timeout = default_pg_timeout if timeout is None else timeout
    if store is None:
        store, rank, world_size = next(iter(_rendezvous.rendezvous(init_method or "env://", rank, world_size, timeout=timeout)))
    elif not isinstance(store, Store):
        raise TypeError(f"init_process_group: expected a store, got {type(store).__name__}")
    if world_size <= 0:
        raise ValueError("init_process_group: store needs a world_size above 0")
    if rank < 0:
        raise ValueError("init_process_group: store needs a rank of 0 or more")
    world = ProcessGroup(PrefixStore("default_pg", store), rank, world_size, timeout, name=group_name or "0")
    world._timeout, world._count = timeout, 0
    _groups.append(world)
    GroupMember.WORLD = world


def destroy_process_group(group=None):
    """Ends a group; without one, or with that of all processes, all groups. Errors: ValueError for one that does not exist.

    >>> dist.destroy_process_group(); dist.is_initialized()
    False
    """
    chosen = _resolve(group)
    if chosen is None:
        return
    if chosen is _groups[0]:
        _groups.clear()
        GroupMember.WORLD = None
    else:
        _groups.remove(chosen)


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

    >>> dist.get_backend()
    'gloo'
    """
    if _resolve(group) is None:
        raise ValueError("Invalid process group specified")
    return Backend("gloo")


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
    return list(_resolve(group)._ranks)


def get_group_rank(group, global_rank):
    """A process's rank in a group from that in the world. Errors: ValueError where it is not in the group.

    >>> dist.get_group_rank(dist.group.WORLD, 0)
    0
    """
    ranks = _resolve(group)._ranks
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_global_rank(group, group_rank):
    """A process's rank in the world from that in a group. Errors: ValueError where the group has no such rank.

    >>> dist.get_global_rank(dist.group.WORLD, 0)
    0
    """
    ranks = _resolve(group)._ranks
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
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
    _checked_backend(backend)
    ranks = list(range(world.size())) if ranks is None else list(ranks)
    ranks = sorted(ranks) if sort_ranks else ranks
    if len(set(ranks)) != len(ranks):
        raise ValueError(f"new_group: ranks are named twice in {ranks}")
    for rank in ranks:
        if not 0 <= rank < world.size():
            raise ValueError(f"The new group's rank should be within the world_size set by init_process_group, got {rank} of {world.size()}")
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
    timeout = world._timeout if timeout is None else timeout
    made = ProcessGroup(PrefixStore(name, world._store), ranks.index(world.rank()), len(ranks), timeout, ranks, name)
    made._timeout = timeout
    _groups.append(made)
    return made


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
        subgroup = new_group(ranks, timeout, backend)
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


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduces a tensor over all ranks; each has the same bits in `tensor` afterwards. With `async_op` a `Work` to wait for.

    >>> t = torch.ones(2); dist.all_reduce(t, dist.ReduceOp.MAX); t
    tensor([1., 1.])
    """
    tensor, op, g = _tensor("tensor", tensor), _reduction(op), _resolve(group)
    return None if g is None else _run(g._impl.all_reduce, tensor, op, async_op=async_op)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """Reduces a tensor over all ranks into that of rank `dst`.

    >>> t = torch.ones(2); dist.reduce(t, dst=0); t
    tensor([1., 1.])
    """
    tensor, op, g = _tensor("tensor", tensor), _reduction(op), _resolve(group)
    return None if g is None else _run(g._impl.reduce, tensor, _peer(g, dst, group_dst, "dst"), op, async_op=async_op)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Gives all ranks the tensor of rank `src`.

    >>> t = torch.ones(2); dist.broadcast(t, src=0); t
    tensor([1., 1.])
    """
    tensor, g = _tensor("tensor", tensor), _resolve(group)
    return None if g is None else _run(g._impl.broadcast, tensor, _peer(g, src, group_src, "src"), async_op=async_op)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Writes the tensors of all ranks to the list, in their order.

    >>> parts = [torch.empty(2) for _ in range(dist.get_world_size())]; dist.all_gather(parts, torch.ones(2)); parts
    [tensor([1., 1.])]
    """
    outputs, tensor, g = _tensors("tensor_list", tensor_list), _tensor("tensor", tensor), _resolve(group)
    return None if g is None else _run(g._impl.all_gather, outputs, tensor, async_op=async_op)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Writes the tensors of all ranks one after another, along dimension 0 or along a new one in front.

    >>> all = torch.empty(dist.get_world_size() * 2); dist.all_gather_into_tensor(all, torch.ones(2)); all
    tensor([1., 1.])
    """
    output, tensor, g = _tensor("output_tensor", output_tensor), _tensor("input_tensor", input_tensor), _resolve(group)
    if g is None:
        return None
    return _run(g._impl.all_gather, _pieces("all_gather_into_tensor", output, g.size(), tensor), tensor, async_op=async_op)


def _pieces(name, whole, count, piece):
    """Views of `whole`, one for each rank, each with as many elements as `piece`."""
    if whole.numel() != count * piece.numel():
        raise ValueError(f"{name}: expected {count} times the {piece.numel()} elements of one rank's tensor, got shape {tuple(whole.shape)}")
    if not whole.is_contiguous():
        raise ValueError(f"{name}: expected a contiguous tensor for all ranks, got strides {whole.stride()}")
    return list(whole.view(count, -1).unbind(0)) if piece.numel() else [whole.view(-1)] * count


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Writes the tensors of all ranks to the list of rank `dst` (0); others pass no list.

    >>> parts = [torch.empty(2)]; dist.gather(torch.ones(2), parts, dst=0); parts
    [tensor([1., 1.])]
    """
    tensor, g = _tensor("tensor", tensor), _resolve(group)
    outputs = _tensors("gather_list", gather_list) if gather_list else []
    if g is None:
        return None
    return _run(g._impl.gather, outputs, tensor, _peer(g, dst, group_dst, "dst", 0), async_op=async_op)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Gives each rank its tensor of the list of rank `src` (0); others pass no list.

    >>> t = torch.empty(2); dist.scatter(t, [torch.ones(2)], src=0); t
    tensor([1., 1.])
    """
    tensor, g = _tensor("tensor", tensor), _resolve(group)
    inputs = _tensors("scatter_list", scatter_list) if scatter_list else []
    if g is None:
        return None
    return _run(g._impl.scatter, tensor, inputs, _peer(g, src, group_src, "src", 0), async_op=async_op)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduces the lists of all ranks tensor by tensor; rank i has the i-th in `output`.

    >>> t = torch.empty(2); dist.reduce_scatter(t, [torch.ones(2)]); t
    tensor([1., 1.])
    """
    output, inputs, op, g = _tensor("output", output), _tensors("input_list", input_list), _reduction(op), _resolve(group)
    return None if g is None else _run(g._impl.reduce_scatter, output, inputs, op, async_op=async_op)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduces a tensor that has a part for each rank, one after another along dimension 0; each gets its own.

    >>> t = torch.empty(2); dist.reduce_scatter_tensor(t, torch.ones(2)); t
    tensor([1., 1.])
    """
    output, whole, op, g = _tensor("output", output), _tensor("input", input), _reduction(op), _resolve(group)
    if g is None:
        return None
    return _run(g._impl.reduce_scatter, output, _pieces("reduce_scatter_tensor", whole, g.size(), output), op, async_op=async_op)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Sends the i-th input to rank i, and writes what comes from there to the i-th output.

    >>> out = [torch.empty(2)]; dist.all_to_all(out, [torch.ones(2)]); out
    [tensor([1., 1.])]
    """
    outputs, inputs, g = _tensors("output_tensor_list", output_tensor_list), _tensors("input_tensor_list", input_tensor_list), _resolve(group)
    return None if g is None else _run(g._impl.all_to_all, outputs, inputs, async_op=async_op)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """As `all_to_all`, the tensors being pieces along dimension 0: equal ones, or of the sizes given.

    >>> t = torch.empty(2); dist.all_to_all_single(t, torch.ones(2)); t
    tensor([1., 1.])
    """
    out, whole, g = _tensor("output", output), _tensor("input", input), _resolve(group)
    if g is None:
        return None

    def split(t, sizes, name):
        if not sizes:
            if t.shape[0] % g.size():
                raise RuntimeError("the first dimension is no multiple of the group's size")
            sizes = [t.shape[0] // g.size()] * g.size()
        if len(sizes) != g.size() or sum(sizes) != t.shape[0]:
            raise RuntimeError(f"all_to_all_single: expected {g.size()} {name} sizes that add up to {t.shape[0]}, got {list(sizes)}")
        return list(t.split(list(sizes)))

    return _run(g._impl.all_to_all, split(out, output_split_sizes, "output"), split(whole, input_split_sizes, "input"), async_op=async_op)


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """Waits until all ranks have come here. Errors: DistBackendError where that takes longer than `timeout`, a timedelta.

    >>> dist.barrier()
    """
    g = _resolve(group)
    if g is None or timeout is None:
        return None if g is None else _run(g._impl.barrier, async_op=async_op)
    work = _run(g._impl.barrier, async_op=True)
    work.wait(timeout)
    return work if async_op else None


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """As `barrier`; rank 0 names the ranks that have not come within the timeout, in a RuntimeError.

    >>> dist.monitored_barrier()
    """
    g = _resolve(group)
    if g is None:
        return
    from ._stores import _milliseconds

    g._barriers = getattr(g, "_barriers", 0) + 1
    mark = f"monitored {g._barriers} "
    seconds = _milliseconds(timeout, g._timeout) / 1000
    if g.rank() > 0:
        g._store.set(mark + str(g.rank()), "")
        g._store.wait([mark + "all"], seconds)
        return
    import time

    end = time.monotonic() + seconds
    missing = []
    for rank in range(1, g.size()):
        try:
            g._store.wait([mark + str(rank)], max(0.001, end - time.monotonic()))
        except RuntimeError:
            missing.append(g._ranks[rank])
            if not wait_all_ranks:
                break
    if missing:
        raise RuntimeError(f"monitored_barrier: rank{'s' * (len(missing) > 1)} {', '.join(map(str, missing))} did not come within {seconds:g} s")
    g._store.set(mark + "all", "")


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Sends a tensor to a rank, which receives it with the same tag.

    >>> if dist.get_world_size() > 1:
    ...     dist.send(torch.ones(2), dst=1)
    """
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    """As `send`; a `Work`.

    >>> if dist.get_world_size() > 1:
    ...     dist.isend(torch.ones(2), dst=1).wait()
    """
    tensor, g = _tensor("tensor", tensor), _resolve(group)
    if g is None:
        return None
    return Work(g._impl.send(tensor, _peer(g, dst, group_dst, "dst"), tag))


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """Receives into a tensor from a rank, or from whoever sends first; the sender's rank.

    >>> if dist.get_world_size() > 1:
    ...     dist.recv(torch.empty(2), src=1)
    """
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return get_global_rank(group, work.source_rank())


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    """As `recv`; a `Work`.

    >>> if dist.get_world_size() > 1:
    ...     dist.irecv(torch.empty(2), src=1).wait()
    """
    tensor, g = _tensor("tensor", tensor), _resolve(group)
    if g is None:
        return None
    source = -1 if src is None and group_src is None else _peer(g, src, group_src, "src")
    return Work(g._impl.receive(tensor, source, tag))


def batch_isend_irecv(p2p_op_list):
    """Begins the messages of a list of `P2POp`; a list of `Work`.

    >>> dist.batch_isend_irecv([])
    []
    """
    if not isinstance(p2p_op_list, list) or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("batch_isend_irecv: expected a list of P2POp")
    return [op.op(op.tensor, op.peer, op.group, op.tag, op.group_peer) for op in p2p_op_list]


# ---- Python objects, as pickles: only from processes that you trust ----


def _packed(value):
    return torch.frombuffer(bytearray(pickle.dumps(value)), dtype=torch.uint8)


def _unpacked(row, size):
    return pickle.loads(bytes(row[: int(size)].numpy()))


def _gathered(value, g):
    """The objects of all ranks."""
    data = _packed(value)
    sizes = torch.empty(g.size(), dtype=torch.int64)
    _run(g._impl.all_gather, list(sizes.split(1)), torch.tensor([data.numel()]))
    longest = int(sizes.max())
    rows = torch.empty(g.size(), longest, dtype=torch.uint8)
    own = torch.zeros(longest, dtype=torch.uint8)
    own[: data.numel()] = data
    _run(g._impl.all_gather, list(rows.unbind(0)), own)
    return [_unpacked(row, size) for row, size in zip(rows, sizes)]


def all_gather_object(object_list, obj, group=None):
    """Writes the objects of all ranks to the list, in their order. They travel as pickles: trust the other processes.

    >>> objects = [None]; dist.all_gather_object(objects, {'loss': 0.5}); objects
    [{'loss': 0.5}]
    """
    g = _resolve(group)
    if g is not None:
        object_list[:] = _gathered(obj, g)


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """As `all_gather_object`, for rank `dst` (0) alone; others pass no list.

    >>> objects = [None]; dist.gather_object('mine', objects); objects
    ['mine']
    """
    g = _resolve(group)
    if g is None:
        return
    receives = g.rank() == _peer(g, dst, group_dst, "dst", 0)
    if receives and object_gather_list is None:
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
    if not receives and object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must NOT be specified on non-destination ranks.")
    objects = _gathered(obj, g)
    if receives:
        object_gather_list[:] = objects


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Gives all ranks the objects of rank `src` (0), in lists of equal length.

    >>> objects = ['seed', 7]; dist.broadcast_object_list(objects, src=0); objects
    ['seed', 7]
    """
    g = _resolve(group)
    if g is None:
        return
    source = _peer(g, src, group_src, "src", 0)
    sends = g.rank() == source
    rows = [_packed(o) for o in object_list] if sends else []
    sizes = torch.tensor([r.numel() for r in rows]) if sends else torch.empty(len(object_list), dtype=torch.int64)
    _run(g._impl.broadcast, sizes, source)
    data = torch.cat(rows) if sends and rows else torch.empty(int(sizes.sum()), dtype=torch.uint8)
    _run(g._impl.broadcast, data, source)
    if not sends:
        object_list[:] = [_unpacked(row, row.numel()) for row in data.split([int(n) for n in sizes])]


def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None):
    """Writes to the first place of the output list this rank's object of the list of rank `src` (0).

    >>> own = [None]; dist.scatter_object_list(own, ['yours'], src=0); own
    ['yours']
    """
    g = _resolve(group)
    if g is None:
        return
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("scatter_object_list: expected a list of one place or more as output.")
    source = _peer(g, src, group_src, "src", 0)
    objects = list(scatter_object_input_list) if g.rank() == source else [None] * g.size()
    if len(objects) != g.size():
        raise ValueError(f"scatter_object_list: expected {g.size()} objects, one for each rank, got {len(objects)}")
    packed = [pickle.dumps(o) for o in objects]
    broadcast_object_list(packed, group=group, group_src=source)
    scatter_object_output_list[0] = pickle.loads(packed[g.rank()])


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None, use_batch=False):
    """Sends objects to a rank, which gets them with `recv_object_list`.

    >>> if dist.get_world_size() > 1:
    ...     dist.send_object_list(['hello'], dst=1)
    """
    if _resolve(group) is None:
        return
    rows = [_packed(o) for o in object_list]
    send(torch.tensor([r.numel() for r in rows]), dst, group, 0, group_dst)
    send(torch.cat(rows), dst, group, 0, group_dst)


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None, use_batch=False):
    """Receives as many objects as the list is long; the sender's rank.

    >>> if dist.get_world_size() > 1:
    ...     dist.recv_object_list([None], src=1)
    """
    if _resolve(group) is None:
        return -1
    sizes = torch.empty(len(object_list), dtype=torch.int64)
    source = recv(sizes, src, group, 0, group_src)
    data = torch.empty(int(sizes.sum()), dtype=torch.uint8)
    recv(data, source, group, 0)
    object_list[:] = [_unpacked(row, row.numel()) for row in data.split([int(n) for n in sizes])]
    return source
