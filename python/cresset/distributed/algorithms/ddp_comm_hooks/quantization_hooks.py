"""Hooks that send gradients as bytes: each value is a whole number from 0 to 255 between the smallest and the largest of its tensor or channel."""

import cresset as torch
from cresset.distributed import _collectives, _groups

__all__ = ["quantization_perchannel_hook", "quantization_pertensor_hook"]


def _quantized(rows):
    """(bytes, scale, smallest) of each row."""
    low, high = rows.amin(1, keepdim=True), rows.amax(1, keepdim=True)
    scale = ((high - low) / 255).clamp_min(torch.finfo(torch.float32).tiny)
    return ((rows - low) / scale).round().clamp(0, 255).to(torch.uint8), scale, low


def _exchanged(group, row, length):
    group = _groups._world() if group is None else group
    padded = torch.nn.functional.pad(row.float(), (0, -row.numel() % length)).view(-1, length)
    parts = _quantized(padded)
    gathered = [[torch.empty_like(part) for _ in range(group.size())] for part in parts]
    works = [_collectives.all_gather(out, part.contiguous(), group, async_op=True) for out, part in zip(gathered, parts)]

    def averaged(done):
        done.value()
        total = sum((q.float() * scale + low for q, scale, low in zip(*gathered)), torch.zeros_like(padded))
        return (total / group.size()).view(-1)[: row.numel()].to(row.dtype)

    return torch.futures.collect_all([work.get_future() for work in works]).then(averaged)


def quantization_pertensor_hook(process_group, bucket):
    """The average of the ranks' buckets, each sent as bytes between its smallest and its largest value.

    >>> dist = torch.distributed
    >>> if not dist.is_initialized(): dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> from cresset.distributed.algorithms.ddp_comm_hooks.quantization_hooks import quantization_pertensor_hook
    >>> from cresset.nn.parallel.distributed import GradBucket
    >>> quantization_pertensor_hook(None, GradBucket(0, torch.tensor([0.0, 255.0, 7.0]), [], [], True)).wait()
    tensor([  0., 255.,   7.])
    """
    return _exchanged(process_group, bucket.buffer(), max(1, bucket.buffer().numel()))


def quantization_perchannel_hook(process_group, bucket, bucket_size=512):
    """As `quantization_pertensor_hook`, with a scale for each `bucket_size` values.

    >>> dist = torch.distributed
    >>> if not dist.is_initialized(): dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> from cresset.distributed.algorithms.ddp_comm_hooks.quantization_hooks import quantization_perchannel_hook
    >>> from cresset.nn.parallel.distributed import GradBucket
    >>> quantization_perchannel_hook(None, GradBucket(0, torch.tensor([0.0, 255.0, 0.0, 1.0]), [], [], True), 2).wait()
    tensor([  0., 255.,   0.,   1.])
    """
    return _exchanged(process_group, bucket.buffer(), bucket_size)
