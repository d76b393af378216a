"""Collectives that gradients go through: each gives new tensors, and its backward is the collective that undoes it.

All processes must run backward through the same calls, in the same order.
"""

import cresset as torch
import cresset.distributed as dist

__all__ = ["all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"]


def _group(group):
    if group is None:
        dist.get_rank()  # raises before init_process_group
        return dist.group.WORLD
    if group == dist.GroupMember.NON_GROUP_MEMBER:
        raise ValueError("this process is no member of the group")
    return group


def _root(group, rank):
    return dist.get_group_rank(group, rank)


class _Broadcast(torch.autograd.Function):
    @staticmethod
    def forward(ctx, src, group, tensor):
        ctx.src, ctx.group = src, group
        out = tensor.detach().clone()
        dist.broadcast(out, src, group)
        return out

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.reduce(grad, ctx.src, dist.ReduceOp.SUM, ctx.group)
        return None, None, grad if ctx.group.rank() == _root(ctx.group, ctx.src) else torch.zeros_like(grad)


class _Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, dst, op, group, tensor):
        ctx.dst, ctx.group = dst, group
        out = tensor.detach().clone()
        dist.reduce(out, dst, op, group)
        return out

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.broadcast(grad, ctx.dst, ctx.group)
        return None, None, None, grad


class _AllReduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, op, group, tensor):
        ctx.op, ctx.group = op, group
        out = tensor.detach().clone()
        dist.all_reduce(out, op, group)
        return out

    @staticmethod
    def backward(ctx, grad):
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


class _AllToAll(torch.autograd.Function):
    @staticmethod
    def forward(ctx, group, outputs, *inputs):
        ctx.group, ctx.like = group, [(t.shape, t.dtype) for t in inputs]
        outputs = [torch.empty(shape, dtype=dtype) for shape, dtype in outputs]
        dist.all_to_all(outputs, [t.detach().contiguous() for t in inputs], group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx, *grads):
        return (None, None, *_AllToAll.apply(ctx.group, ctx.like, *grads))


def _exchange(group, outputs, inputs):
    return list(_AllToAll.apply(group, [(t.shape, t.dtype) for t in outputs], *inputs))


def broadcast(tensor, src, group=None):
    """The tensor of process `src`. Its gradient is the sum of all."""
    return _Broadcast.apply(src, _group(group), tensor)


def reduce(tensor, dst, op=dist.ReduceOp.SUM, group=None):
    """The sum over all processes, in process `dst`; the tensor itself elsewhere."""
    return _Reduce.apply(dst, op, _group(group), tensor)


def all_reduce(tensor, op=dist.ReduceOp.SUM, group=None):
    """The sum (or what `op` says) over all processes, everywhere. Its gradient is the same of the gradients."""
    return _AllReduce.apply(op, _group(group), tensor)


def all_gather(tensor, group=None):
    """The tensors of all processes, a tuple, everywhere."""
    group = _group(group)
    return tuple(_exchange(group, [tensor] * group.size(), [tensor] * group.size()))


def gather(tensor, dst=0, group=None):
    """The tensors of all processes, a tuple, in process `dst`; zeros elsewhere."""
    group = _group(group)
    root = _root(group, dst)
    nothing = tensor.new_zeros((0, *tensor.shape[1:])) if tensor.dim() else tensor.new_zeros(0)
    inputs = [tensor if peer == root else nothing for peer in range(group.size())]
    got = _exchange(group, [tensor if group.rank() == root else nothing] * group.size(), inputs)
    if group.rank() == root:
        return tuple(got)
    return tuple(torch.zeros_like(tensor) + part.sum() for part in got)  # so that backward comes through here in every process


def scatter(tensors, src=0, group=None):
    """The tensor at this process's number in the list of process `src`; the lists of the others give shapes only."""
    group = _group(group)
    root = _root(group, src)
    mine = tensors[group.rank()]
    nothing = mine.new_zeros(0)
    inputs = list(tensors) if group.rank() == root else [t.flatten()[:0] for t in tensors]
    got = _exchange(group, [mine if peer == root else nothing for peer in range(group.size())], inputs)
    return got[root]


def reduce_scatter(output, input_list, op=dist.ReduceOp.SUM, group=None):
    """The sum (or what `op` says) over all processes of the tensors at this one's number in their lists. `output` gives the shape."""
    group = _group(group)
    parts = torch.stack(_exchange(group, [output] * group.size(), input_list))
    joins = {dist.ReduceOp.SUM: lambda t: t.sum(0), dist.ReduceOp.AVG: lambda t: t.mean(0), dist.ReduceOp.PRODUCT: lambda t: t.prod(0),
             dist.ReduceOp.MIN: lambda t: t.amin(0), dist.ReduceOp.MAX: lambda t: t.amax(0)}  # fmt: skip
    if op not in joins:
        raise RuntimeError(f"reduce_scatter: {op} has no gradient")
    return joins[op](parts)


def all_to_all(output_tensor_list, input_tensor_list, group=None):
    """A tuple: what each process has for this one in its list. `output_tensor_list` gives the shapes."""
    return tuple(_exchange(_group(group), output_tensor_list, input_tensor_list))


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None):  # noqa: A002
    """`all_to_all` of tensors that are cut along their first dimension. `output` gives the shape."""
    group = _group(group)

    def cut(tensor, sizes):
        return list(tensor.split(list(sizes) if sizes else [len(tensor) // group.size()] * group.size()))

    return torch.cat(_exchange(group, cut(output, output_split_sizes), cut(input, input_split_sizes)))


_EXAMPLES = {
    broadcast: "broadcast(x, 0)", reduce: "reduce(x, 0)", all_reduce: "all_reduce(x)", all_gather: "all_gather(x)[0]", gather: "gather(x, 0)[0]",
    scatter: "scatter([x], 0)", reduce_scatter: "reduce_scatter(x.detach(), [x])", all_to_all: "all_to_all([x.detach()], [x])[0]",
    all_to_all_single: "all_to_all_single(x.detach(), x)",
}  # fmt: skip
for _function, _call in _EXAMPLES.items():
    _function.__doc__ += f"""

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> x = torch.ones(2, requires_grad=True)
    >>> from cresset.distributed.nn import functional as together
    >>> (together.{_call} * 3).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    >>> dist.destroy_process_group()
    """
