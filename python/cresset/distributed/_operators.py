"""The collectives as operators: `torch.ops._c10d_functional`, whose results are new tensors, its older forms, and `torch.ops.c10d`, which take a group as an
object and give its `Work`. The module is loaded when one of these namespaces is first asked for."""

import datetime
import re
import weakref

import cresset as torch

from . import _collectives as _in_place, _groups
from ._group import (
    AllgatherOptions,
    AllreduceCoalescedOptions,
    AllreduceOptions,
    AllToAllOptions,
    BarrierOptions,
    BroadcastOptions,
    GatherOptions,
    ProcessGroup,
    ReduceOp,
    ReduceOptions,
    ReduceScatterOptions,
    ScatterOptions,
    Work,
)

_REDUCTIONS = {"sum": ReduceOp.SUM, "avg": ReduceOp.AVG, "product": ReduceOp.PRODUCT, "min": ReduceOp.MIN, "max": ReduceOp.MAX, "band": ReduceOp.BAND,
               "bor": ReduceOp.BOR, "bxor": ReduceOp.BXOR}  # fmt: skip
_in_flight = {}  # id of a tensor -> the Work that reads or writes it, until it is waited for


def _group(name):
    if isinstance(name, ProcessGroup):
        return name
    if not isinstance(name, str):
        raise RuntimeError(f"distributed: expected a group or its name, got {type(name).__name__}")
    try:
        return _groups._resolve_process_group(name)
    except ValueError as error:
        raise RuntimeError(str(error)) from None


def _reduction(name):
    if name not in _REDUCTIONS:
        raise RuntimeError(f"distributed: expected one of {', '.join(_REDUCTIONS)} as reduction, got {name!r}")
    return _REDUCTIONS[name]


# ---- shapes of results ------------------------------------------------------------------------------------------------------


def _like(tensor, *_):
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


def _same(tensor, *_):
    return tensor


def _gathered(tensor, group_size, *_):
    return tensor.new_empty((tensor.shape[0] * group_size, *tensor.shape[1:]) if tensor.dim() else (group_size,))


def _scattered(tensor, reduce_op, group_size, *_):
    if tensor.shape[0] % group_size:
        raise RuntimeError(f"reduce_scatter_tensor: expected a dimension 0 that {group_size} ranks divide, got {tensor.shape[0]}")
    return tensor.new_empty((tensor.shape[0] // group_size, *tensor.shape[1:]))


def _exchanged(tensor, output_split_sizes, *_):
    return tensor.new_empty((sum(output_split_sizes) if output_split_sizes else tensor.shape[0], *tensor.shape[1:]))


def _given_out(*_, out):
    return out


def _resharded(tensor, gather_dim, shard_dim, group_name):
    size, shape = _group(group_name).size(), list(tensor.shape)
    shape[gather_dim] *= size
    shape[shard_dim] //= size
    return tensor.new_empty(shape)


# ---- values -----------------------------------------------------------------------------------------------------------------


def _all_reduce_(tensor, reduce_op, group_name):
    _in_place.all_reduce(tensor, _reduction(reduce_op), _group(group_name))
    return tensor


def _all_reduce(tensor, reduce_op, group_name):
    return _all_reduce_(tensor.clone(memory_format=torch.contiguous_format), reduce_op, group_name)


def _broadcast_(tensor, src, group_name):
    _in_place.broadcast(tensor, group=_group(group_name), group_src=src)
    return tensor


def _broadcast(tensor, src, group_name):
    return _broadcast_(tensor.clone(memory_format=torch.contiguous_format), src, group_name)


def _all_gather_out(tensor, group_size, group_name, *, out):
    _in_place.all_gather_into_tensor(out, tensor.contiguous(), _group(group_name))
    return out


def _all_gather(tensor, group_size, group_name):
    return _all_gather_out(tensor, group_size, group_name, out=_gathered(tensor, group_size))


def _reduce_scatter_out(tensor, reduce_op, group_size, group_name, *, out):
    _in_place.reduce_scatter_tensor(out, tensor.contiguous(), _reduction(reduce_op), _group(group_name))
    return out


def _reduce_scatter(tensor, reduce_op, group_size, group_name):
    return _reduce_scatter_out(tensor, reduce_op, group_size, group_name, out=_scattered(tensor, reduce_op, group_size))


def _all_to_all(tensor, output_split_sizes, input_split_sizes, group_name):
    out = _exchanged(tensor, output_split_sizes)
    _in_place.all_to_all_single(out, tensor.contiguous(), output_split_sizes, input_split_sizes, _group(group_name))
    return out


def _shard_dim_all_to_all(tensor, gather_dim, shard_dim, group_name):
    group = _group(group_name)
    parts = [part.contiguous() for part in tensor.chunk(group.size(), shard_dim)]
    if len({part.shape for part in parts}) != 1 or len(parts) != group.size():
        raise RuntimeError(f"shard_dim_alltoall: expected a dimension {shard_dim} that {group.size()} ranks divide, got {tensor.shape[shard_dim]}")
    received = [torch.empty_like(part) for part in parts]
    _in_place.all_to_all(received, parts, group)
    return torch.cat(received, gather_dim)


def _begun(tensor, work):
    _in_flight[id(tensor)] = work
    weakref.finalize(tensor, _in_flight.pop, id(tensor), None)
    return tensor


def _isend(tensor, dst, tag, group_name):
    return _begun(tensor, _group(group_name).send([tensor], dst, tag))


def _irecv(tensor, src, tag, group_name):
    return _begun(tensor, _group(group_name).recv([tensor], src, tag))


def _messages(op_list, peer_list, tag_list, tensors, group_name):
    unknown = set(op_list) - {"isend", "irecv"}
    if unknown:
        raise RuntimeError(f"batch_p2p_ops: expected isend and irecv, got {', '.join(sorted(unknown))}")
    return [(_isend if op == "isend" else _irecv)(tensor, peer, tag, group_name) for op, peer, tag, tensor in zip(op_list, peer_list, tag_list, tensors)]


def _wait(tensor):
    work = _in_flight.pop(id(tensor), None)
    if work is not None:
        work.wait()
    return tensor


def _of_each(function):
    return lambda tensors, *rest: [function(tensor, *rest) for tensor in tensors]


# ---- gradients --------------------------------------------------------------------------------------------------------------


def _linear(op, name):
    if op not in ("sum", "avg"):
        raise RuntimeError(f"{name}: a sum and an average have gradients, {op!r} has none")


def _all_reduce_gradient(inputs, grad):
    _linear(inputs[0], "all_reduce")
    return torch.ops._c10d_functional.all_reduce(grad, *inputs), None, None


def _all_gather_gradient(inputs, grad):
    return torch.ops._c10d_functional.reduce_scatter_tensor(grad.contiguous(), "sum", *inputs), None, None


def _reduce_scatter_gradient(inputs, grad):
    op, size, group_name = inputs
    _linear(op, "reduce_scatter_tensor")
    whole = torch.ops._c10d_functional.all_gather_into_tensor(grad.contiguous(), size, group_name)
    return whole / size if op == "avg" else whole, None, None, None


def _all_to_all_gradient(inputs, grad):
    outputs, given, group_name = inputs
    return torch.ops._c10d_functional.all_to_all_single(grad.contiguous(), given, outputs, group_name), None, None, None


def _same_gradient(inputs, grad):
    return grad


def _keep(ctx, inputs, output):
    ctx.given = inputs[1:]


def _formula(gradient, listed):
    """The operator's gradient from that of one tensor; operators of several tensors give each its own."""

    def backward(ctx, grads):
        if not listed:
            return gradient(ctx.given, grads)
        found = [gradient(ctx.given, grad) for grad in grads]
        return [own[0] for own in found], *found[0][1:]

    return backward


# ---- the older forms, which name ranks instead of a group -------------------------------------------------------------------


def _ranks(name):
    """An operator that takes a tag, ranks and their number at the end of its arguments."""

    def call(*args):
        from ._functional_collectives import _group_of

        group = _group_of(list(args[-2]))
        given = [() if a is None else a for a in args[:-3]]
        size = [group.size()] if "gather" in name or "scatter" in name else []
        return getattr(torch.ops._c10d_functional, name)(*given, *size, group)

    return call


# ---- operators that take a group as an object -------------------------------------------------------------------------------


def _options(kind, timeout, **fields):
    made = kind()
    if timeout >= 0:
        made.timeout = datetime.timedelta(milliseconds=timeout)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _ended(work, async_op):
    work = Work() if work is None else work
    if not async_op:
        work.wait()
    return work


def _over_group(method, kind, gives, *fields):
    """An operator that calls a method of the group: `gives` says how many tensor arguments it has and which of them it returns, `fields` are options."""
    count, returned = gives

    def call(*args):
        tensors, group, values = args[:count], args[count], args[count + 1 : count + 1 + len(fields)]
        async_op, timeout = (*args[count + 1 + len(fields) :], *(True, -1)[len(args) - count - 1 - len(fields) :])
        options = _options(kind, timeout, **dict(zip(fields, values)))
        work = _ended(getattr(group, method)(*tensors, options), async_op)
        return (tensors[returned], work) if returned is not None else work

    return call


def _all_reduce_object(tensors, group, reduce_op, sparse_indices, async_op=True, timeout=-1):
    if sparse_indices is not None:
        raise RuntimeError("allreduce_: expected no sparse_indices: pass a sparse tensor")
    return tensors, _ended(group.allreduce(tensors, _options(AllreduceOptions, timeout, reduceOp=reduce_op)), async_op)


def _exchange(output, tensor, group, outputs, inputs, async_op=True, timeout=-1):
    return _ended(group.alltoall_base(output, tensor, outputs, inputs, _options(AllToAllOptions, timeout)), async_op)


def _all_to_all_object(outputs, inputs, group, async_op=True, timeout=-1):
    return outputs, _ended(group.alltoall(outputs, inputs, _options(AllToAllOptions, timeout)), async_op)


def _barrier(tensor, group, device_ids, async_op=True, timeout=-1):
    return _ended(group.barrier(_options(BarrierOptions, timeout, device_ids=tuple(device_ids))), async_op)


def _monitored_barrier(tensor, group, device_ids, timeout, wait_all_ranks):
    group.monitored_barrier(None if timeout < 0 else datetime.timedelta(milliseconds=timeout), wait_all_ranks)


def _check_for_nan(tensor):
    if tensor.isnan().any():
        raise RuntimeError(f"check_for_nan: expected no NaN in a tensor of {tensor.numel()} elements, got one")


# One operator a line. GROUP_NAME, GROUP, REDUCTION, WORK and CALL stand for what rows have in common.
_FUNCTIONAL = """
all_reduce(Tensor input, str reduce_op, GROUP_NAME) -> Tensor
all_reduce_(Tensor(a!) input, str reduce_op, GROUP_NAME) -> Tensor(a!)
all_reduce_coalesced(Tensor[] inputs, str reduce_op, GROUP_NAME) -> Tensor[]
all_reduce_coalesced_(Tensor[](a!) inputs, str reduce_op, GROUP_NAME) -> Tensor[](a!)
all_gather_into_tensor(Tensor input, int group_size, GROUP_NAME) -> Tensor
all_gather_into_tensor_coalesced(Tensor[] inputs, int group_size, GROUP_NAME) -> Tensor[]
all_gather_into_tensor_out(Tensor input, int group_size, GROUP_NAME, *, Tensor(a!) out) -> Tensor(a!)
reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, GROUP_NAME) -> Tensor
reduce_scatter_tensor_coalesced(Tensor[] inputs, str reduce_op, int group_size, GROUP_NAME) -> Tensor[]
reduce_scatter_tensor_out(Tensor input, str reduce_op, int group_size, GROUP_NAME, *, Tensor(a!) out) -> Tensor(a!)
all_to_all_single(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, GROUP_NAME) -> Tensor
broadcast(Tensor input, int src, GROUP_NAME) -> Tensor
broadcast_(Tensor(a!) input, int src, GROUP_NAME) -> Tensor(a!)
batch_p2p_ops(str[] op_list, int[] peer_list, int[] tag_list, Tensor[] tensors, str group_name) -> Tensor[]
isend(Tensor tensor, int dst, int tag, str group_name) -> Tensor
irecv(Tensor tensor, int src, int tag, str group_name) -> Tensor
wait_tensor(Tensor tensor) -> Tensor
_wrap_tensor_autograd(Tensor input) -> Tensor
"""
# Values; shape of the result; gradient.
_ROWS = {
    "all_reduce": (_all_reduce, _like, _all_reduce_gradient),
    "all_reduce_": (_all_reduce_, _same, None),
    "all_reduce_coalesced": (_of_each(_all_reduce), _of_each(_like), _all_reduce_gradient),
    "all_reduce_coalesced_": (_of_each(_all_reduce_), _of_each(_same), None),
    "all_gather_into_tensor": (_all_gather, _gathered, _all_gather_gradient),
    "all_gather_into_tensor_coalesced": (_of_each(_all_gather), _of_each(_gathered), _all_gather_gradient),
    "all_gather_into_tensor_out": (_all_gather_out, _given_out, None),
    "reduce_scatter_tensor": (_reduce_scatter, _scattered, _reduce_scatter_gradient),
    "reduce_scatter_tensor_coalesced": (_of_each(_reduce_scatter), _of_each(_scattered), _reduce_scatter_gradient),
    "reduce_scatter_tensor_out": (_reduce_scatter_out, _given_out, None),
    "all_to_all_single": (_all_to_all, _exchanged, _all_to_all_gradient),
    "broadcast": (_broadcast, _like, None),
    "broadcast_": (_broadcast_, _same, None),
    "batch_p2p_ops": (_messages, lambda ops, peers, tags, tensors, name: tensors, None),
    "isend": (_isend, _same, None),
    "irecv": (_irecv, _same, None),
    "wait_tensor": (_wait, _same, _same_gradient),
    "_wrap_tensor_autograd": (_wait, _same, _same_gradient),
    "shard_dim_alltoall": (_shard_dim_all_to_all, _resharded, None),
}
_SHARDED = """
shard_dim_alltoall(Tensor input, int gather_dim, int shard_dim, GROUP_NAME) -> Tensor
"""
_OLDER = """
broadcast(Tensor self, int src, str tag, int[] ranks, int group_size) -> Tensor
all_reduce(Tensor self, str reduceOp, str tag, int[] ranks, int group_size) -> Tensor
all_reduce_coalesced(Tensor[] self, str reduceOp, str tag, int[] ranks, int group_size) -> Tensor[]
all_gather_into_tensor(Tensor shard, str tag, int[] ranks, int group_size) -> Tensor
all_gather_into_tensor_coalesced(Tensor[] input, str tag, int[] ranks, int group_size) -> Tensor[]
reduce_scatter_tensor(Tensor input, str reduceOp, str tag, int[] ranks, int group_size) -> Tensor
reduce_scatter_tensor_coalesced(Tensor[] inputs, str reduceOp, str tag, int[] ranks, int group_size) -> Tensor[]
all_to_all_single(Tensor input, SymInt[]? output_split_sizes, SymInt[]? input_split_sizes, str tag, int[] ranks, int group_size) -> Tensor
"""
_OF_OBJECTS = """
allreduce_(Tensor[] tensors, GROUP, REDUCTION, Tensor? sparse_indices, CALL) -> (Tensor[], WORK)
allreduce_coalesced_(Tensor[] tensors, GROUP, REDUCTION, CALL) -> WORK
broadcast_(Tensor[] tensors, GROUP, int root_rank, int root_tensor, CALL) -> (Tensor[], WORK)
reduce_(Tensor[] tensors, GROUP, REDUCTION, int root_rank, int root_tensor, CALL) -> WORK
allgather_(Tensor[][] output_tensors, Tensor[] input_tensors, GROUP, CALL) -> (Tensor[][], WORK)
_allgather_base_(Tensor output_tensor, Tensor input_tensor, GROUP, CALL) -> (Tensor, WORK)
allgather_coalesced_(Tensor[][] output_lists, Tensor[] input_list, GROUP, bool async_op=True) -> WORK
allgather_into_tensor_coalesced_(Tensor[] outputs, Tensor[] inputs, GROUP, bool async_op=True) -> WORK
gather_(Tensor[][] output_tensors, Tensor[] input_tensors, GROUP, int root_rank, CALL) -> WORK
scatter_(Tensor[] output_tensors, Tensor[][] input_tensors, GROUP, int root_rank, CALL) -> (Tensor[], WORK)
reduce_scatter_(Tensor[] output_tensors, Tensor[][] input_tensors, GROUP, REDUCTION, CALL) -> (Tensor[], WORK)
_reduce_scatter_base_(Tensor output_tensor, Tensor input_tensor, GROUP, REDUCTION, CALL) -> (Tensor, WORK)
reduce_scatter_tensor_coalesced_(Tensor[] outputs, Tensor[] inputs, GROUP, REDUCTION, CALL) -> WORK
alltoall_(Tensor[] output_tensors, Tensor[] input_tensors, GROUP, CALL) -> (Tensor[], WORK)
alltoall_base_(Tensor output, Tensor input, GROUP, int[] output_split_sizes, int[] input_split_sizes, CALL) -> WORK
barrier(Tensor tensor, GROUP, int[] device_ids, CALL) -> WORK
monitored_barrier_(Tensor tensor, GROUP, int[] device_ids, int timeout, bool wait_all_ranks) -> ()
send(Tensor[] tensors, GROUP, int dst, int tag) -> WORK
recv_(Tensor[] tensors, GROUP, int src, int tag) -> WORK
recv_any_source_(Tensor[] tensors, GROUP, int tag) -> WORK
check_for_nan(Tensor tensor) -> ()
"""
_OBJECT_ROWS = {
    "allreduce_": _all_reduce_object,
    "allreduce_coalesced_": _over_group("allreduce_coalesced", AllreduceCoalescedOptions, (1, None), "reduceOp"),
    "broadcast_": _over_group("broadcast", BroadcastOptions, (1, 0), "rootRank", "rootTensor"),
    "reduce_": _over_group("reduce", ReduceOptions, (1, None), "reduceOp", "rootRank", "rootTensor"),
    "allgather_": _over_group("allgather", AllgatherOptions, (2, 0)),
    "_allgather_base_": _over_group("_allgather_base", AllgatherOptions, (2, 0)),
    "allgather_coalesced_": _over_group("allgather_coalesced", AllgatherOptions, (2, None)),
    "allgather_into_tensor_coalesced_": _over_group("allgather_into_tensor_coalesced", AllgatherOptions, (2, None)),
    "gather_": _over_group("gather", GatherOptions, (2, None), "rootRank"),
    "scatter_": _over_group("scatter", ScatterOptions, (2, 0), "rootRank"),
    "reduce_scatter_": _over_group("reduce_scatter", ReduceScatterOptions, (2, 0), "reduceOp"),
    "_reduce_scatter_base_": _over_group("_reduce_scatter_base", ReduceScatterOptions, (2, 0), "reduceOp"),
    "reduce_scatter_tensor_coalesced_": _over_group("reduce_scatter_tensor_coalesced", ReduceScatterOptions, (2, None), "reduceOp"),
    "alltoall_": _all_to_all_object,
    "alltoall_base_": _exchange,
    "barrier": _barrier,
    "monitored_barrier_": _monitored_barrier,
    "send": lambda tensors, group, dst, tag: group.send(tensors, dst, tag),
    "recv_": lambda tensors, group, src, tag: group.recv(tensors, src, tag),
    "recv_any_source_": lambda tensors, group, tag: group.recv_anysource(tensors, tag),
    "check_for_nan": _check_for_nan,
}
_CLASS = "__torch__.torch.classes.c10d."
_STANDS_FOR = {"GROUP_NAME": "Any group_name", "GROUP": _CLASS + "ProcessGroup process_group", "REDUCTION": _CLASS + "ReduceOp reduce_op",
               "WORK": _CLASS + "Work", "CALL": "bool async_op=True, int timeout=-1"}  # fmt: skip
_libraries = []  # what they define goes with them


def _lines(text):
    """Names and schemas."""
    return [(line.partition("(")[0], re.sub("[A-Z_]{4,}", lambda found: _STANDS_FOR[found[0]], line)) for line in text.strip().splitlines()]


def _define(namespace, text, key, values):
    """Defines operators; `values` gives the function of each by its name."""
    library = torch.library.Library(namespace, "FRAGMENT")
    _libraries.append(library)
    for name, schema in _lines(text):
        library.define(schema)
        library.impl(name, values(name), key)
    return library


def _define_with_shapes(namespace, text):
    library = _define(namespace, text, "CompositeExplicitAutograd", lambda name: _ROWS[name][0])
    for name, schema in _lines(text):
        _, shape, gradient = _ROWS[name]
        library.impl(name, shape, "Meta")
        if gradient is not None:
            torch.library.register_autograd(f"{namespace}::{name}", _formula(gradient, "Tensor[]" in schema), setup_context=_keep)


def _with_names(*names):
    return "\n".join(line for line in _FUNCTIONAL.splitlines() if line.partition("(")[0] in names)


_define_with_shapes("_c10d_functional", _FUNCTIONAL)
_define_with_shapes("_c10d_functional_autograd", _with_names("all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single"))
_define_with_shapes("_dtensor", _SHARDED)
_define("c10d_functional", _OLDER, "CompositeImplicitAutograd", _ranks)
_define("c10d_functional", _with_names("wait_tensor", "isend", "irecv", "batch_p2p_ops"), "CompositeImplicitAutograd",
        lambda name: getattr(torch.ops._c10d_functional, name))  # fmt: skip
_define("c10d", _OF_OBJECTS, "CPU", _OBJECT_ROWS.__getitem__)
