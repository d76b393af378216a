"""Steps of a `ZeroRedundancyOptimizer` while backward runs: a bucket's parameters are stepped as soon as its gradients are averaged."""

from .powerSGD_hook import _Later

__all__ = ["hook_with_zero_step", "hook_with_zero_step_interleaved"]


def hook_with_zero_step(hook, ddp, zero, shard_buckets=False):
    """The hook, followed by the step of the bucket's parameters by their owners. `zero` was made with `overlap_with_ddp=True`.

    Errors: ValueError for one that was not.

    >>> dist = torch.distributed
    >>> if not dist.is_initialized(): dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> from cresset.distributed.algorithms.ddp_comm_hooks.ddp_zero_hook import hook_with_zero_step
    >>> from cresset.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
    >>> net = nn.parallel.DistributedDataParallel(nn.Linear(2, 1, bias=False))
    >>> zero = dist.optim.ZeroRedundancyOptimizer(net.parameters(), torch.optim.SGD, overlap_with_ddp=True, lr=0.5)
    >>> net.register_comm_hook(None, hook_with_zero_step(allreduce_hook, net, zero))
    >>> before = net.module.weight.detach().clone(); net(torch.ones(1, 2)).sum().backward(); (before - net.module.weight).tolist()
    [[0.5, 0.5]]
    """
    if not zero._overlap_with_ddp:
        raise ValueError("hook_with_zero_step: expected a ZeroRedundancyOptimizer with overlap_with_ddp=True")

    def stepped(state, bucket):
        future = hook(state, bucket)

        def run():
            value = future.wait()
            row = value[0] if isinstance(value, (list, tuple)) else value
            buffer = bucket.buffer()
            if row.data_ptr() != buffer.data_ptr():
                buffer.copy_(row)
            for p, gradient in zip(bucket.parameters(), bucket.gradients()):
                p.grad = gradient
            zero._step_some(bucket.parameters())
            for p, gradient in zip(bucket.parameters(), bucket.gradients()):
                p.grad = gradient.clone()
            return buffer

        return _Later(run)

    return stepped


def hook_with_zero_step_interleaved(hook, ddp, zero, shard_buckets=False):
    """As `hook_with_zero_step`.

    >>> from cresset.distributed.algorithms.ddp_comm_hooks import ddp_zero_hook
    >>> callable(ddp_zero_hook.hook_with_zero_step_interleaved)
    True
    """
    return hook_with_zero_step(hook, ddp, zero, shard_buckets)
