"""One model in several processes: each computes on its own data, and gradients are averaged while backward runs (`cresset/dist/ddp/reducer.h`)."""

import contextlib
import copy
import dataclasses

import cresset as torch

from ..modules.module import Module

__all__ = ["DistributedDataParallel"]

_MIB = 1 << 20


@dataclasses.dataclass
class _MixedPrecision:
    """The dtypes of `DistributedDataParallel(mixed_precision=...)`; None: as they are.

    param_dtype is that of parameters and inputs in forward and backward, reduce_dtype that of gradients between processes (that of the parameters
    where it is not set), buffer_dtype that of buffers. Parameters, gradients and the optimizer keep full precision.
    """

    param_dtype: torch.dtype | None = None
    reduce_dtype: torch.dtype | None = None
    buffer_dtype: torch.dtype | None = None


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
        self._flat = buffer

    def gradients(self):
        """The gradients in the shapes of the parameters."""
        return list(self._views)

    def parameters(self):
        """The parameters."""
        return list(self._parameters)

    def is_last(self):
        """Whether no other follows."""
        return self._last


def _in_dtype(value, dtype):
    """The value with its floating-point tensors in a dtype."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, dict):
        return {key: _in_dtype(part, dtype) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [_in_dtype(part, dtype) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def _tensors_in(value, found):
    if isinstance(value, torch.Tensor):
        found.append(value)
    elif isinstance(value, (list, tuple, set)):
        for part in value:
            _tensors_in(part, found)
    elif isinstance(value, dict):
        for part in value.values():
            _tensors_in(part, found)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            _tensors_in(getattr(value, name), found)
    return found


class DistributedDataParallel(Module):
    """A module whose gradients are the averages over all processes of a group. Names in `state_dict` begin with "module.".

    Parameters and buffers begin as those of the first process. While backward runs, gradients are averaged in buckets as soon as they are there;
    after the first backward the buckets are divided anew in the order in which gradients came.

    Args:
        module: with the same parameters in every process.
        device_ids, output_device, dim: of accelerators: None on the CPU.
        broadcast_buffers: whether buffers become those of the first process before every forward.
        init_sync: whether parameters become those of the first process.
        process_group: by default all processes.
        bucket_cap_mb: the size of a bucket, 25 by default; the first one has 1.
        find_unused_parameters: whether parameters may have no part in a result; those that no process uses keep their gradients.
        gradient_as_bucket_view: whether gradients lie in the buckets, which saves a copy.
        static_graph: whether every backward is the same: unused parameters and repeated ones are learnt in the first.
        mixed_precision: a `_MixedPrecision` with the dtypes of parameters, gradients under way and buffers.
        device_mesh: a mesh with one dimension, in place of `process_group`.
        forward_sync_buffers: another name of `broadcast_buffers`.
        check_reduction, batched_grad_copy, skip_all_reduce_unused_params: kept for programs that set them; results are the same.

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
        if process_group is not None and device_mesh is not None:
            raise RuntimeError("DistributedDataParallel: expected process_group or device_mesh, got both")
        if device_mesh is not None:
            if device_mesh.ndim != 1:
                raise RuntimeError(f"DistributedDataParallel: expected a mesh with one dimension, got one with {device_mesh.ndim}")
            process_group = device_mesh.get_group()
        dist.get_rank(process_group)  # raises before init_process_group
        if device_ids or output_device is not None:
            raise ValueError(f"DistributedDataParallel: device_ids and output_device are for modules on accelerators, got {device_ids}")
        for name, value in (("delay_all_reduce_named_params", delay_all_reduce_named_params), ("param_to_hook_all_reduce", param_to_hook_all_reduce)):
            if value is not None:
                raise ValueError(f"DistributedDataParallel: {name} is not built in")
        self.process_group = dist.group.WORLD if process_group is None else process_group
        self.device_mesh = device_mesh
        if any(isinstance(p, torch.nn.parameter.UninitializedParameter) for p in module.parameters()):
            raise RuntimeError("DistributedDataParallel: expected parameters with values, got some that wait for the first input; run a forward first")
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = [(name, p) for name, p in module.named_parameters() if p.requires_grad and name not in self.parameters_to_ignore]
        if not named:
            raise RuntimeError("DistributedDataParallel: expected a module with parameters that need gradients, got none")
        self.module, self.dim, self.device_ids, self.output_device = module, dim, None, None
        if broadcast_buffers is not None and forward_sync_buffers is not None and broadcast_buffers != forward_sync_buffers:
            raise ValueError("DistributedDataParallel: broadcast_buffers and forward_sync_buffers are two names of one option")
        chosen = forward_sync_buffers if broadcast_buffers is None else broadcast_buffers
        self.broadcast_buffers = True if chosen is None else bool(chosen)
        self.find_unused_parameters, self.gradient_as_bucket_view, self.static_graph = find_unused_parameters, gradient_as_bucket_view, static_graph
        self.require_backward_grad_sync, self.require_forward_param_sync = True, True
        caps = bucket_cap_mb_list if bucket_cap_mb_list else [25 if bucket_cap_mb is None else bucket_cap_mb]
        self._bucket_bytes = [max(1, int(cap * _MIB)) for cap in (caps if bucket_cap_mb_list or bucket_cap_mb is not None else [1, *caps])]
        self.bucket_bytes_cap, self._by_active = self._bucket_bytes[-1], False
        self._join_context, self._hook, self.mixed_precision = None, None, mixed_precision
        torch.distributed._reducer.check(self.process_group, [p.detach() for _, p in named])
        if init_sync:
            self._from_first([*(p for n, p in module.named_parameters() if n not in self.parameters_to_ignore), *self._buffers_to_send()])
        if mixed_precision is not None:
            torch.distributed._reducer.cast_in_place(self._buffers_to_send(), mixed_precision.buffer_dtype)
        self._connect(named)

    def _connect(self, named):
        self._learned = [p for _, p in named]
        mixed = self.mixed_precision or _MixedPrecision()
        frozen = [p for n, p in self.module.named_parameters() if not p.requires_grad and n not in self.parameters_to_ignore]
        self.reducer = torch.distributed._reducer.Reducer(
            self._learned, [name for name, _ in named], self.process_group, self._bucket_bytes, self.find_unused_parameters, self.static_graph,
            self.gradient_as_bucket_view, (mixed.param_dtype, mixed.reduce_dtype), frozen,
        )  # fmt: skip

    def _buffers_to_send(self):
        return [b for name, b in self.module.named_buffers() if name not in self.parameters_to_ignore]

    def _from_first(self, tensors, source=0):
        torch.distributed._reducer.send_all(self.process_group, [t.detach() for t in tensors], source)

    # Copies and pickles hold no group: they find the one of all processes.

    def __getstate__(self):
        state = self.__dict__.copy()
        for name in ("process_group", "reducer", "_learned", "_join_context", "_hook", "device_mesh"):
            state.pop(name, None)
        return state

    def __setstate__(self, state):
        super().__setstate__(state)
        torch.distributed.get_rank()
        self.__dict__.update(process_group=torch.distributed.group.WORLD, _join_context=None, _hook=None, device_mesh=None)
        self._connect([(name, p) for name, p in self.module.named_parameters() if p.requires_grad and name not in self.parameters_to_ignore])

    def __deepcopy__(self, memo):
        made = object.__new__(type(self))
        memo[id(self)] = made
        made.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return made

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module, params_and_buffers_to_ignore):
        """Names of parameters and buffers of a module that no process sends to another."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    @property
    def device(self):
        """The device of the parameters."""
        return self._learned[0].device

    @property
    def device_type(self):
        """The type of the parameters' device."""
        return self.device.type

    @property
    def join_device(self):
        """The device of the parameters."""
        return self.device

    @property
    def join_process_group(self):
        """The group of processes."""
        return self.process_group

    def _set_static_graph(self):
        """Says that every backward is the same, before the first."""
        self.static_graph = True
        self._connect([(name, p) for name, p in self.module.named_parameters() if p.requires_grad and name not in self.parameters_to_ignore])

    def will_sync_module_buffers(self):
        """Whether the next forward makes buffers those of the first process."""
        return self.require_forward_param_sync and self.broadcast_buffers and bool(self._buffers_to_send())

    @contextlib.contextmanager
    def no_sync(self):
        """A context for forwards whose backward passes average nothing: gradients add up in each process until the next pass outside it."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state, hook):
        """Lets hook(state, bucket) do the averaging: it returns a `torch.futures.Future` of the bucket's new row. RuntimeError the second time."""
        if not callable(hook):
            raise TypeError(f"DistributedDataParallel: register_comm_hook: expected a function of a state and a bucket, got {type(hook).__name__}")
        if self._hook is not None:
            raise RuntimeError("DistributedDataParallel: register_comm_hook: a communication hook is registered already")
        self._hook = (state, hook)
        self.reducer.register_comm_hook(state, hook)

    def _register_builtin_comm_hook(self, comm_hook_type):
        """Lets the reducer average by one of its own hooks."""
        if self._hook is not None:
            raise RuntimeError("DistributedDataParallel: a communication hook is registered already")
        self._hook = comm_hook_type
        self.reducer.register_builtin_comm_hook(comm_hook_type)

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

        averages = torch.is_grad_enabled() and self.require_backward_grad_sync
        source, active = 0, Join.notify_join_context(self)
        if active is not None:
            self.reducer.set_divisor(active if self._by_active else self.process_group.size())
            source, _ = self._join_step(True, averages)
        if self.will_sync_module_buffers():
            self._from_first(self._buffers_to_send(), source)
        self.reducer.prepare_for_forward()
        if self.mixed_precision is not None and self.mixed_precision.param_dtype is not None:
            inputs, kwargs = _in_dtype((inputs, kwargs), self.mixed_precision.param_dtype)
        try:
            output = self.module(*inputs, **kwargs)
        except BaseException:
            self.reducer.restore_parameters()
            raise
        if averages:
            unused = self.find_unused_parameters and not self.static_graph
            self.reducer.prepare_for_backward([t for t in _tensors_in(output, []) if t.requires_grad] if unused else [])
        else:
            self.reducer.skip_next_backward()
        return output


class _Shadow:
    """The collective calls of a process that has no data."""

    def __init__(self, wrapped):
        self.wrapped = wrapped

    def main_hook(self):
        wrapped = self.wrapped
        source, averages = wrapped._join_step(False, False)
        if wrapped.will_sync_module_buffers():
            wrapped._from_first(wrapped._buffers_to_send(), source)
        if averages:
            wrapped.reducer.shadow_backward()

    def post_hook(self, is_last_joiner):
        wrapped = self.wrapped
        source = wrapped._largest(wrapped.process_group.rank() if is_last_joiner else -1)
        wrapped._from_first([*wrapped.module.parameters(), *wrapped.module.buffers()], source)
        wrapped.reducer.set_divisor(wrapped.process_group.size())
