"""The operations of `torch.distributed` on tensors. All ranks of a group call the same ones in the same order, with equal dtypes and numbers of elements."""

import contextlib
import threading

import cresset as torch

from ._group import (
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    P2POp,
    ReduceOp,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
    Work,
    _RedOpType,
)
from ._groups import _peer, _resolve, _tensor, _tensors, get_global_rank
from ._stores import _milliseconds, _RangeError

_coalesced = threading.local()


def _reduction(op):
    if type(op) is _RedOpType:
        return int(op)
    if not isinstance(op, (int, ReduceOp)) or isinstance(op, bool) or not 0 <= int(op) <= 9:
        raise TypeError(f"distributed: expected a torch.distributed.ReduceOp, got {op!r}")
    return int(op)


def _done(impl, async_op, finish=None):
    """Result of a collective that the engine has begun."""
    works = getattr(_coalesced, "works", None)
    if works is not None:
        works.append(Work(impl, finish))
        return works[-1] if async_op else None
    if async_op:
        return Work(impl, finish)
    if finish is not None:
        finish()
    return None


def _later(async_op):
    return async_op or getattr(_coalesced, "works", None) is not None


def _own(work, async_op):
    """Result of a collective of a group written in Python."""
    if async_op:
        return work
    if work is not None:
        work.wait()
    return None


def _options(cls, async_op, **fields):
    made = cls()
    made.asyncOp = async_op
    for name, value in fields.items():
        setattr(made, name, value)
    return made


class _CoalescingManager:
    """The operations that were begun in a block."""

    def __init__(self):
        self.works = []

    def append(self, work):
        """Adds one."""
        if work is not None:
            self.works.append(work)

    def wait(self):
        """Waits for all."""
        for work in self.works:
            work.wait()


@contextlib.contextmanager
def _coalescing_manager(group=None, device=None, async_ops=False):
    """The collectives of a block run together: the block waits for all at its end, or, with `async_ops`, `wait` of what it gives does."""
    manager = _CoalescingManager()
    before = getattr(_coalesced, "works", None)
    _coalesced.works = manager.works
    try:
        yield manager
    finally:
        _coalesced.works = before
    if not async_ops:
        manager.wait()


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduces a tensor over all ranks; each has the same bits in `tensor` afterwards. With `async_op` a `Work` to wait for.

    >>> t = torch.ones(2); dist.all_reduce(t, dist.ReduceOp.MAX); t
    tensor([1., 1.])
    """
    tensor, op, g = _tensor("tensor", tensor), _reduction(op), _resolve(group)
    if g is None:
        return None
    if g._impl is None:
        return _own(g.allreduce([tensor], _options(AllreduceOptions, async_op, reduceOp=ReduceOp(op))), async_op)
    return _done(g._native("allreduce")(tensor, op, _later(async_op), 0), async_op)


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False):
    """`all_reduce` of several tensors of one dtype at once.

    >>> parts = [torch.ones(2), torch.ones(1)]; dist.all_reduce_coalesced(parts); parts
    [tensor([1., 1.]), tensor([1.])]
    """
    tensors, op, g = _tensors("tensors", [tensors] if isinstance(tensors, torch.Tensor) else tensors), _reduction(op), _resolve(group)
    if g is None:
        return None
    if g._impl is None:
        return _own(g.allreduce_coalesced(tensors, _options(AllreduceCoalescedOptions, async_op, reduceOp=ReduceOp(op))), async_op)
    return _done(g._native("allreduce_coalesced")(tensors, op, _later(async_op), 0), async_op)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """Reduces a tensor over all ranks into that of rank `dst`.

    >>> t = torch.ones(2); dist.reduce(t, dst=0); t
    tensor([1., 1.])
    """
    tensor, op, g = _tensor("tensor", tensor), _reduction(op), _resolve(group)
    if g is None:
        return None
    root = _peer(g, dst, group_dst, "dst")
    if g._impl is None:
        return _own(g.reduce([tensor], _options(ReduceOptions, async_op, reduceOp=ReduceOp(op), rootRank=root)), async_op)
    return _done(g._native("reduce")(tensor, root, op, _later(async_op), 0), async_op)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Gives all ranks the tensor of rank `src`.

    >>> t = torch.ones(2); dist.broadcast(t, src=0); t
    tensor([1., 1.])
    """
    tensor, g = _tensor("tensor", tensor), _resolve(group)
    if g is None:
        return None
    root = _peer(g, src, group_src, "src")
    if g._impl is None:
        return _own(g.broadcast([tensor], _options(BroadcastOptions, async_op, rootRank=root)), async_op)
    return _done(g._native("broadcast")(tensor, root, _later(async_op), 0), async_op)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Writes the tensors of all ranks to the list, in their order; sizes may differ from rank to rank.

    >>> parts = [torch.empty(2) for _ in range(dist.get_world_size())]; dist.all_gather(parts, torch.ones(2)); parts
    [tensor([1., 1.])]
    """
    outputs, tensor, g = _tensors("tensor_list", tensor_list), _tensor("tensor", tensor), _resolve(group)
    if g is None:
        return None
    if g._impl is None:
        return _own(g.allgather([outputs], [tensor], _options(AllgatherOptions, async_op)), async_op)
    return _done(g._native("allgather")(outputs, tensor, _later(async_op), 0), async_op)


def all_gather_coalesced(output_tensor_lists, input_tensor_list, group=None, async_op=False):
    """`all_gather` of several tensors at once: `output_tensor_lists[rank][i]` gets tensor i of a rank.

    >>> out = [[torch.empty(2), torch.empty(1)]]; dist.all_gather_coalesced(out, [torch.ones(2), torch.ones(1)]); out
    [[tensor([1., 1.]), tensor([1.])]]
    """
    g = _resolve(group)
    inputs = _tensors("input_tensor_list", input_tensor_list)
    if not isinstance(output_tensor_lists, list):
        raise TypeError(f"all_gather_coalesced: expected a list of lists of tensors, got {type(output_tensor_lists).__name__}")
    outputs = [_tensors("output_tensor_lists", tensors) for tensors in output_tensor_lists]
    if g is None:
        return None
    if g._impl is None:
        return _own(g.allgather_coalesced(outputs, inputs, _options(AllgatherOptions, async_op)), async_op)
    return _done(g._native("allgather_coalesced")(outputs, inputs, _later(async_op), 0), async_op)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Writes the tensors of all ranks one after another, along dimension 0 or along a new one in front.

    >>> all = torch.empty(dist.get_world_size() * 2); dist.all_gather_into_tensor(all, torch.ones(2)); all
    tensor([1., 1.])
    """
    output, tensor, g = _tensor("output_tensor", output_tensor), _tensor("input_tensor", input_tensor), _resolve(group)
    if g is None:
        return None
    if g._impl is None:
        return _own(g._allgather_base(output, tensor, _options(AllgatherOptions, async_op)), async_op)
    return _done(g._native("allgather_base")(output, tensor, _later(async_op), 0), async_op)


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Writes the tensors of all ranks to the list of rank `dst` (0); others pass no list.

    >>> parts = [torch.empty(2)]; dist.gather(torch.ones(2), parts, dst=0); parts
    [tensor([1., 1.])]
    """
    tensor, g = _tensor("tensor", tensor), _resolve(group)
    outputs = _tensors("gather_list", gather_list) if gather_list else []
    if g is None:
        return None
    root = _peer(g, dst, group_dst, "dst", 0)
    if (g.rank() == root) != bool(outputs):
        raise ValueError(f"gather: expected a list of outputs on rank {root} and on no other")
    if g._impl is None:
        return _own(g.gather([outputs] if outputs else [], [tensor], _options(GatherOptions, async_op, rootRank=root)), async_op)
    return _done(g._native("gather")(outputs, tensor, root, _later(async_op), 0), async_op)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Gives each rank its tensor of the list of rank `src` (0); others pass no list.

    >>> t = torch.empty(2); dist.scatter(t, [torch.ones(2)], src=0); t
    tensor([1., 1.])
    """
    tensor, g = _tensor("tensor", tensor), _resolve(group)
    inputs = _tensors("scatter_list", scatter_list) if scatter_list else []
    if g is None:
        return None
    root = _peer(g, src, group_src, "src", 0)
    if (g.rank() == root) != bool(inputs):
        raise ValueError(f"scatter: expected a list of inputs on rank {root} and on no other")
    if g._impl is None:
        return _own(g.scatter([tensor], [inputs] if inputs else [], _options(ScatterOptions, async_op, rootRank=root)), async_op)
    return _done(g._native("scatter")(tensor, inputs, root, _later(async_op), 0), async_op)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Reduces the lists of all ranks tensor by tensor; rank i has the i-th in `output`.

    >>> t = torch.empty(2); dist.reduce_scatter(t, [torch.ones(2)]); t
    tensor([1., 1.])
    """
    output, inputs, op, g = _tensor("output", output), _tensors("input_list", input_list), _reduction(op), _resolve(group)
    if g is None:
        return None
    if g._impl is None:
        return _own(g.reduce_scatter([output], [inputs], _options(ReduceScatterOptions, async_op, reduceOp=ReduceOp(op))), async_op)
    return _done(g._native("reduce_scatter")(output, inputs, op, _later(async_op), 0), async_op)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):  # noqa: A002
    """Reduces a tensor that has a part for each rank, one after another along dimension 0; each gets its own.

    >>> t = torch.empty(2); dist.reduce_scatter_tensor(t, torch.ones(2)); t
    tensor([1., 1.])
    """
    output, whole, op, g = _tensor("output", output), _tensor("input", input), _reduction(op), _resolve(group)
    if g is None:
        return None
    if g._impl is None:
        return _own(g._reduce_scatter_base(output, whole, _options(ReduceScatterOptions, async_op, reduceOp=ReduceOp(op))), async_op)
    return _done(g._native("reduce_scatter_base")(output, whole, op, _later(async_op), 0), async_op)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Sends the i-th input to rank i, and writes what comes from there to the i-th output.

    >>> out = [torch.empty(2)]; dist.all_to_all(out, [torch.ones(2)]); out
    [tensor([1., 1.])]
    """
    outputs, inputs, g = _tensors("output_tensor_list", output_tensor_list), _tensors("input_tensor_list", input_tensor_list), _resolve(group)
    if g is None:
        return None
    if g._impl is None:
        return _own(g.alltoall(outputs, inputs, _options(AllToAllOptions, async_op)), async_op)
    return _done(g._native("alltoall")(outputs, inputs, _later(async_op), 0), async_op)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):  # noqa: A002
    """As `all_to_all`, the tensors being pieces along dimension 0: equal ones, or of the sizes given.

    >>> t = torch.empty(2); dist.all_to_all_single(t, torch.ones(2)); t
    tensor([1., 1.])
    """
    out, whole, g = _tensor("output", output), _tensor("input", input), _resolve(group)
    if g is None:
        return None
    sizes = [list(output_split_sizes or ()), list(input_split_sizes or ())]
    if g._impl is None:
        return _own(g.alltoall_base(out, whole, *sizes, _options(AllToAllOptions, async_op)), async_op)
    return _done(g._native("alltoall_base")(out, whole, *sizes, _later(async_op), 0), async_op)


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """Blocks until every rank reaches the barrier. Errors: DistBackendError where that takes longer than `timeout`, a timedelta.

    >>> dist.barrier()
    """
    g = _resolve(group)
    if device_ids is not None and not isinstance(device_ids, list):
        raise TypeError(f"barrier: expected a list of devices as device_ids, got {type(device_ids).__name__}")
    if g is None:
        return None
    if g._impl is None:
        return _own(g.barrier(_options(BarrierOptions, async_op)), async_op)
    return _done(g._native("barrier")(_later(async_op), 0 if timeout is None else _milliseconds(timeout)), async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """As `barrier`; rank 0 names the ranks that do not come within the timeout, in a RuntimeError.

    >>> dist.monitored_barrier()
    """
    g = _resolve(group)
    if g is not None:
        g.monitored_barrier(timeout, wait_all_ranks)


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Sends a tensor to a rank, which receives it with the same tag.

    >>> if dist.get_world_size() > 1:
    ...     dist.send(torch.ones(2), dst=1)
    """
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def _other(g, peer, what):
    if peer == g.rank():
        raise _RangeError(f"distributed: expected another rank {what} than this process's own, {peer}")
    return peer


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    """As `send`; a `Work`.

    >>> if dist.get_world_size() > 1:
    ...     dist.isend(torch.ones(2), dst=1).wait()
    """
    tensor, g = _tensor("tensor", tensor), _resolve(group)
    return None if g is None else g.send([tensor], _other(g, _peer(g, dst, group_dst, "dst"), "to send to"), tag)


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """Receives into a tensor from a rank, or from whoever sends first; the sender's rank.

    >>> if dist.get_world_size() > 1:
    ...     dist.recv(torch.empty(2), src=1)
    """
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    if src is not None:
        return src
    return get_global_rank(group, work.source_rank() if group_src is None else group_src)


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    """As `recv`; a `Work`.

    >>> if dist.get_world_size() > 1:
    ...     dist.irecv(torch.empty(2), src=1).wait()
    """
    tensor, g = _tensor("tensor", tensor), _resolve(group)
    if g is None:
        return None
    if src is None and group_src is None:
        return g.recv_anysource([tensor], tag)
    return g.recv([tensor], _other(g, _peer(g, src, group_src, "src"), "to receive from"), tag)


def batch_isend_irecv(p2p_op_list):
    """Begins the messages of a list of `P2POp`; a list of `Work`.

    >>> dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.ones(2), 1)] if dist.get_world_size() > 1 else []) if dist.get_world_size() > 1 else []
    []
    """
    if isinstance(p2p_op_list, list) and not p2p_op_list:
        raise IndexError("batch_isend_irecv: expected a list of P2POp that is not empty")
    if not isinstance(p2p_op_list, list) or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("batch_isend_irecv: expected a list of P2POp")
    return [op.op(op.tensor, op.peer, op.group, op.tag, op.group_peer) for op in p2p_op_list]


def _make_nccl_premul_sum(factor):
    """A sum of values that are multiplied first: NCCL's alone, which the other backends refuse."""
    made = ReduceOp(ReduceOp.PREMUL_SUM)
    made._factor = factor
    return made


def _all_gather_base(output_tensor, input_tensor, group=None, async_op=False):
    """The older name of `all_gather_into_tensor`."""
    return all_gather_into_tensor(output_tensor, input_tensor, group, async_op)


def _reduce_scatter_base(output, input, op=ReduceOp.SUM, group=None, async_op=False):  # noqa: A002
    """The older name of `reduce_scatter_tensor`."""
    return reduce_scatter_tensor(output, input, op, group, async_op)


def all_gather_single(output_tensor, input_tensor, group=None, async_op=False):
    """`all_gather_into_tensor` under another name.

    >>> t = torch.empty(2); dist.all_gather_single(t, torch.ones(2)); t
    tensor([1., 1.])
    """
    return all_gather_into_tensor(output_tensor, input_tensor, group, async_op)


def reduce_scatter_single(output, input, op=ReduceOp.SUM, group=None, async_op=False):  # noqa: A002
    """`reduce_scatter_tensor` under another name.

    >>> t = torch.empty(2); dist.reduce_scatter_single(t, torch.ones(2)); t
    tensor([1., 1.])
    """
    return reduce_scatter_tensor(output, input, op, group, async_op)
