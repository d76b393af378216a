"""Hooks that average a bucket as it is, or in a type of 16 bits. The state of each is a process group, or None for all processes."""

import cresset as torch
from cresset.distributed import _collectives, _groups

__all__ = ["allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper"]


def _averaged(group, row):
    group = _groups._world() if group is None else group
    row.div_(group.size())
    return _collectives.all_reduce(row, group=group, async_op=True).get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group, bucket):
    """The average of the ranks' buckets."""
    return _averaged(process_group, bucket.buffer())


def _compressed(process_group, bucket, dtype):
    buffer = bucket.buffer()
    return _averaged(process_group, buffer.to(dtype)).then(lambda done: buffer.copy_(done.value()))


def fp16_compress_hook(process_group, bucket):
    """The average of the ranks' buckets in half precision."""
    return _compressed(process_group, bucket, torch.float16)


def bf16_compress_hook(process_group, bucket):
    """The average of the ranks' buckets in bfloat16."""
    return _compressed(process_group, bucket, torch.bfloat16)


def _wrapped(hook, dtype):
    def compressed(state, bucket):
        whole = bucket.buffer()
        bucket.set_buffer(whole.to(dtype))

        def back(done):
            value = done.value()
            return whole.copy_(value[0] if isinstance(value, (list, tuple)) else value)

        return hook(state, bucket).then(back)

    return compressed


def fp16_compress_wrapper(hook):
    """The hook, given buckets in half precision."""
    return _wrapped(hook, torch.float16)


def bf16_compress_wrapper(hook):
    """The hook, given buckets in bfloat16."""
    return _wrapped(hook, torch.bfloat16)


_EXAMPLE = """

    >>> dist = torch.distributed
    >>> if not dist.is_initialized(): dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> from cresset.distributed.algorithms.ddp_comm_hooks import default_hooks
    >>> net = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> net.register_comm_hook(None, default_hooks.{})
    >>> net(torch.ones(1, 2)).sum().backward(); net.module.bias.grad
    tensor([1.])
    """
for _function in (allreduce_hook, bf16_compress_hook, fp16_compress_hook):
    _function.__doc__ += _EXAMPLE.format(_function.__name__)
for _function in (bf16_compress_wrapper, fp16_compress_wrapper):
    _function.__doc__ += _EXAMPLE.format(f"{_function.__name__}(default_hooks.allreduce_hook)")
