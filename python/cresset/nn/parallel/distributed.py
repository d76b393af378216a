"""One model in several processes: each computes on its own data, and gradients are averaged while backward runs."""

import contextlib

import cresset as torch

from ..modules.module import Module

__all__ = ["DistributedDataParallel"]

_MIB = 1 << 20


class GradBucket:
    """Gradients that are averaged together, as a communication hook gets them.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> net = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> def doubled(state, bucket):
    ...     done = torch.futures.Future()
    ...     done.set_result(bucket.buffer() * 2)
    ...     return done
    >>> net.register_comm_hook(None, doubled)
    >>> net(torch.ones(1, 2)).sum().backward()
    >>> net.module.weight.grad
    tensor([[2., 2.]])
    >>> dist.destroy_process_group()
    """

    def __init__(self, index, flat, views, parameters, last):
        self._index, self._flat, self._views, self._parameters, self._last = index, flat, views, parameters, last

    def index(self):
        """Its number, in the order of averaging."""
        return self._index

    def buffer(self):
        """All gradients in one row."""
        return self._flat

    def set_buffer(self, buffer):
        """Another row in its place."""
        self._flat.copy_(buffer)

    def gradients(self):
        """The gradients in the shapes of the parameters."""
        return list(self._views)

    def parameters(self):
        """The parameters."""
        return list(self._parameters)

    def is_last(self):
        """Whether no other follows."""
        return self._last


class _Bucket:
    def __init__(self, parameters):
        self.parameters = parameters
        self.sizes = [p.numel() for p in parameters]
        self.flat = torch.zeros(sum(self.sizes), dtype=parameters[0].dtype)
        self.views = [part.view(p.shape) for part, p in zip(self.flat.split(self.sizes), parameters)]
        self.ready, self.work = set(), None


class DistributedDataParallel(Module):
    """A module whose gradients are the averages over all processes of a group. Names in `state_dict` begin with "module.".

    Parameters and buffers begin as those of the first process. While backward runs, gradients are averaged in buckets as soon as they are there.

    Args:
        module: with the same parameters in every process.
        device_ids, output_device, dim: of accelerators: None on the CPU.
        broadcast_buffers: whether buffers become those of the first process before every forward.
        init_sync: whether parameters become those of the first process.
        process_group: by default all processes.
        bucket_cap_mb: the size of a bucket, 25 by default; the first one has 1.
        find_unused_parameters: whether parameters may have no part in a result; they count as zeros then.
        forward_sync_buffers: another name of `broadcast_buffers`.
        gradient_as_bucket_view, static_graph, check_reduction, batched_grad_copy, skip_all_reduce_unused_params: kept for programs that set them; results are the same.

    Errors: ValueError before `init_process_group` and for devices; RuntimeError for modules without parameters to learn, for modules that differ,
    and, at the next forward, where a parameter got no gradient.

    >>> dist = torch.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> net = nn.parallel.DistributedDataParallel(nn.Linear(2, 1))
    >>> net(torch.ones(1, 2)).sum().backward()
    >>> net.module.weight.grad
    tensor([[1., 1.]])
    >>> dist.destroy_process_group()
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0, broadcast_buffers=None, init_sync=True, process_group=None, bucket_cap_mb=None,
                 find_unused_parameters=False, check_reduction=False, gradient_as_bucket_view=False, static_graph=False, delay_all_reduce_named_params=None,
                 param_to_hook_all_reduce=None, mixed_precision=None, device_mesh=None, skip_all_reduce_unused_params=False,
                 bucket_cap_mb_list=None, batched_grad_copy=False, forward_sync_buffers=None):  # fmt: skip
        super().__init__()
        dist = torch.distributed
        dist.get_rank(process_group)  # raises before init_process_group
        if device_ids or output_device is not None:
            raise ValueError(f"DistributedDataParallel device_ids and output_device arguments only work with modules on accelerators, got {device_ids}")
        for name, value in (("delay_all_reduce_named_params", delay_all_reduce_named_params), ("param_to_hook_all_reduce", param_to_hook_all_reduce),
                            ("mixed_precision", mixed_precision), ("device_mesh", device_mesh)):  # fmt: skip
            if value is not None:
                raise ValueError(f"DistributedDataParallel: {name} needs devices that are not built in")
        self.process_group = dist.group.WORLD if process_group is None else process_group
        self._learned = [p for p in module.parameters() if p.requires_grad and p not in _ignored(module)]
        if not self._learned:
            raise RuntimeError("DistributedDataParallel: expected a module with parameters that need gradients, got none")
        self.module, self.dim, self.device_ids, self.output_device = module, dim, None, None
        if broadcast_buffers is not None and forward_sync_buffers is not None and broadcast_buffers != forward_sync_buffers:
            raise ValueError("DistributedDataParallel: broadcast_buffers and forward_sync_buffers are two names of one option")
        chosen = forward_sync_buffers if broadcast_buffers is None else broadcast_buffers
        self._broadcast = True if chosen is None else bool(chosen)
        self._divisor, self._join_context, self._by_active = self.process_group.size(), None, False
        self.find_unused_parameters, self.gradient_as_bucket_view, self.static_graph = find_unused_parameters, gradient_as_bucket_view, static_graph
        self.require_backward_grad_sync, self.require_forward_param_sync = True, True
        self._hook = self._state = None
        self._check_alike()
        if init_sync:
            self._from_first([*module.parameters(), *module.buffers()])
        caps = [cap * _MIB for cap in bucket_cap_mb_list] if bucket_cap_mb_list else [1 * _MIB, (25 if bucket_cap_mb is None else bucket_cap_mb) * _MIB]
        self._buckets = _bucketed(self._learned, caps)
        self._place = {p: (b, i) for b in self._buckets for i, p in enumerate(b.parameters)}
        self._awaited = self._launched = None
        for parameter in self._learned:
            parameter.register_post_accumulate_grad_hook(self._arrived)

    def _check_alike(self):
        facts = [(name, tuple(p.shape), str(p.dtype)) for name, p in self.module.named_parameters()]
        everybody = [None] * self.process_group.size()
        torch.distributed.all_gather_object(everybody, facts, self.process_group)
        for rank, other in enumerate(everybody):
            if other != facts:
                raise RuntimeError(f"DDP expects same model across all ranks, but rank {rank} has other parameters than rank {self.process_group.rank()}")

    def _from_first(self, tensors, source=0):
        for tensor in tensors:
            torch.distributed.broadcast(tensor.detach(), group=self.process_group, group_src=source)

    @property
    def broadcast_buffers(self):
        """Whether buffers become those of the first process before every forward."""
        return self._broadcast

    @property
    def join_device(self):
        """Where the module's parameters lie."""
        return self._learned[0].device

    @property
    def join_process_group(self):
        """The group of processes."""
        return self.process_group

    def will_sync_module_buffers(self):
        """Whether the next forward makes buffers those of the first process."""
        return self.require_forward_param_sync and self._broadcast and next(self.module.buffers(), None) is not None

    @contextlib.contextmanager
    def no_sync(self):
        """A context whose backward passes average nothing: gradients add up in each process until the next pass outside it."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state, hook):
        """Lets hook(state, bucket) do the averaging: it returns a `torch.futures.Future` of the bucket's new row. RuntimeError the second time."""
        if self._hook is not None:
            raise RuntimeError("a communication hook is registered already.")
        if not callable(hook):
            raise TypeError("expected a communication hook that can be called.")
        self._state, self._hook = state, hook

    def scatter(self, inputs, kwargs, device_ids):
        """Positional and named arguments, cut for each device."""
        from . import scatter

        return tuple(scatter(inputs, device_ids, self.dim)), tuple(scatter(kwargs, device_ids, self.dim))

    def to_kwargs(self, inputs, kwargs, device_id):
        """Positional and named arguments on one device."""
        return self.scatter(inputs, kwargs, [device_id])

    def gather(self, outputs, output_device):
        """`nn.parallel.gather`."""
        from . import gather

        return gather(outputs, output_device, self.dim)

    def train(self, mode=True):
        """Sets the module to training, or not."""
        return super().train(mode)

    def join(self, divide_by_initial_world_size=True, enable=True, throw_on_early_termination=False):
        """A context for loops over different amounts of data: a process that leaves it takes part in the averages of the others, with zeros.

        Args:
            divide_by_initial_world_size: whether sums are divided by the number of all processes, or of those that still have data.
            enable: whether to do so at all.
            throw_on_early_termination: RuntimeError in all processes as soon as one runs out of data, instead.
        """
        from cresset.distributed.algorithms import Join

        return Join([self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size)

    def join_hook(self, **kwargs):
        """Part of a process without data for this module; see `torch.distributed.algorithms.Join`."""
        self._by_active = not kwargs.get("divide_by_initial_world_size", True)
        return _Shadow(self)

    def _largest(self, number):
        """The largest of the processes' numbers."""
        number = torch.tensor([number])
        torch.distributed.all_reduce(number, torch.distributed.ReduceOp.MAX, self.process_group)
        return number.item()

    def _join_step(self, active, averages):
        """Agreement of all processes before a step within `join`: who has data, and whether gradients are averaged."""
        rank = self._largest(self.process_group.rank() if active else -1)
        return rank, bool(self._largest(int(averages)))

    def forward(self, *inputs, **kwargs):
        from cresset.distributed.algorithms import Join

        source, active = 0, Join.notify_join_context(self)
        if active is not None:
            self._divisor = active if self._by_active else self.process_group.size()
            source, _ = self._join_step(True, torch.is_grad_enabled() and self.require_backward_grad_sync)
        if torch.is_grad_enabled() and self.require_backward_grad_sync:
            if self._awaited and self._launched is not None:
                names = [name for name, p in self.module.named_parameters() if p in self._awaited]
                self._reset()
                raise RuntimeError(
                    "DistributedDataParallel: expected a gradient for every parameter in the last backward, which find_unused_parameters=True does "
                    f"not ask for; got none for {', '.join(names)}"
                )
            self._reset()
        if self.will_sync_module_buffers():
            self._from_first(self.module.buffers(), source)
        return self.module(*inputs, **kwargs)

    # Averaging. Buckets go in their order, which is the same everywhere.

    def _reset(self):
        self._awaited, self._launched = set(self._learned), None
        for bucket in self._buckets:
            bucket.ready.clear()
            bucket.work = None

    def _arrived(self, parameter):
        if not self.require_backward_grad_sync or self._awaited is None:
            return
        if self._launched is None:
            self._launched = 0
            torch.autograd.Variable._execution_engine.queue_callback(self._finish)
        self._awaited.discard(parameter)
        bucket, place = self._place[parameter]
        bucket.ready.add(place)
        self._launch()

    def _launch(self, whatever=False):
        while self._launched < len(self._buckets):
            bucket = self._buckets[self._launched]
            if len(bucket.ready) < len(bucket.parameters) and not whatever:
                return
            for place, (view, parameter) in enumerate(zip(bucket.views, bucket.parameters)):
                if place in bucket.ready and parameter.grad is not None:
                    view.copy_(parameter.grad.detach())
                else:
                    view.zero_()
            bucket.work = self._averaged(self._launched)
            self._launched += 1

    def _averaged(self, number):
        bucket = self._buckets[number]
        if self._hook is not None:
            return self._hook(self._state, GradBucket(number, bucket.flat, bucket.views, bucket.parameters, number == len(self._buckets) - 1))
        bucket.flat.div_(self._divisor)
        return torch.distributed.all_reduce(bucket.flat, group=self.process_group, async_op=self.process_group.size() > 1)

    def _finish(self):
        if self._launched is None:
            return
        if self._awaited and not self.find_unused_parameters:
            for bucket in self._buckets[: self._launched]:
                self._take(bucket)
            return
        self._launch(whatever=True)
        for bucket in self._buckets:
            self._take(bucket)
        self._awaited = self._launched = None

    def _take(self, bucket):
        if bucket.work is not None:
            result = bucket.work.wait()
            if self._hook is not None:
                bucket.flat.copy_(result[0] if isinstance(result, (list, tuple)) else result)
        for view, parameter in zip(bucket.views, bucket.parameters):
            if parameter.grad is not None:
                parameter.grad.copy_(view)
            elif view.count_nonzero():  # another process has a gradient for it
                parameter.grad = view.clone()


class _Shadow:
    """The collective calls of a process that has no data."""

    def __init__(self, wrapped):
        self.wrapped = wrapped

    def main_hook(self):
        wrapped = self.wrapped
        source, averages = wrapped._join_step(False, False)
        if wrapped.will_sync_module_buffers():
            wrapped._from_first(wrapped.module.buffers(), source)
        if averages:
            for number, bucket in enumerate(wrapped._buckets):
                bucket.flat.zero_()
                work = wrapped._averaged(number)
                if work is not None:
                    work.wait()

    def post_hook(self, is_last_joiner):
        wrapped = self.wrapped
        source = wrapped._largest(wrapped.process_group.rank() if is_last_joiner else -1)
        wrapped._from_first([*wrapped.module.parameters(), *wrapped.module.buffers()], source)
        wrapped._divisor = wrapped.process_group.size()


def _ignored(module):
    names = getattr(module, "_ddp_params_and_buffers_to_ignore", ())
    return {p for name, p in module.named_parameters() if name in names}


def _bucketed(parameters, caps):
    """Parameters of one dtype in rows of limited size, from the last to the first: backward reaches the last ones first."""
    buckets, open_ = [], {}
    for parameter in reversed(parameters):
        held = open_.setdefault(parameter.dtype, [])
        held.append(parameter)
        if sum(p.numel() * p.element_size() for p in held) >= caps[min(len(buckets), len(caps) - 1)]:
            buckets.append(_Bucket(held))
            open_[parameter.dtype] = []
    buckets += [_Bucket(held) for held in open_.values() if held]
    return buckets
