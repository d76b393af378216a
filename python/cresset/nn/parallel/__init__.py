"""torch.nn.parallel: one model on several devices, or in several processes."""

import copy as _copy
import threading as _threading

import cresset as _torch

from ..modules.module import Module
from ..parameter import Parameter as _Parameter
from .distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]


def _cut(value, devices, dim):
    """The parts of a value for each of the devices: of tensors by their elements, of others the value itself."""
    if isinstance(value, _torch.Tensor):
        parts = value.chunk(len(devices), dim)
        return [part.to(device) for part, device in zip(parts, devices)]
    if isinstance(value, tuple) and value:
        columns = [_cut(part, devices, dim) for part in value]
        make = type(value)._make if hasattr(value, "_fields") else tuple
        return [make(row) for row in zip(*columns)]
    if isinstance(value, list) and value:
        return [list(row) for row in zip(*(_cut(part, devices, dim) for part in value))]
    if isinstance(value, dict) and value:
        columns = [_cut(part, devices, dim) for part in value.values()]
        return [type(value)(zip(value, row)) for row in zip(*columns)]
    return [value for _ in devices]


def scatter(inputs, target_gpus, dim=0):
    """Tensors cut along `dim` into a part for each device; within tuples, lists and dictionaries too. Other values go to all.

    >>> nn.parallel.scatter(torch.arange(4), ["cpu", "cpu"])
    [tensor([0, 1]), tensor([2, 3])]
    """
    return _cut(inputs, list(target_gpus), dim)


def gather(outputs, target_device, dim=0):
    """Inverse of `scatter`: tensors put together along `dim`, on one device. ValueError for dictionaries with different keys.

    >>> nn.parallel.gather([torch.zeros(1), torch.ones(1)], "cpu")
    tensor([0., 1.])
    """
    first = outputs[0]
    if isinstance(first, _torch.Tensor):
        parts = [part.unsqueeze(0) if part.dim() == 0 else part for part in outputs]
        return _torch.cat([part.to(target_device) for part in parts], dim)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(part.keys() != first.keys() for part in outputs):
            raise ValueError("gather: the dicts differ in their number of keys")
        return type(first)((key, gather([part[key] for part in outputs], target_device, dim)) for key in first)
    make = type(first)._make if hasattr(first, "_fields") else type(first)
    return make(gather(parts, target_device, dim) for parts in zip(*outputs))


def replicate(network, devices, detach=False):
    """Copies of a module for each device, whose gradients go to the module's own parameters (unless `detach`).

    >>> net = nn.Linear(1, 1)
    >>> first, second = nn.parallel.replicate(net, ["cpu", "cpu"])
    >>> (first(torch.ones(1)) + second(torch.ones(1))).backward()
    >>> net.weight.grad
    tensor([[2.]])
    """
    copies = []
    for device in devices:
        moved = {}

        def move(tensor, device=device, moved=moved):
            if tensor is not None and id(tensor) not in moved:
                moved[id(tensor)] = tensor.detach().to(device) if detach else tensor.to(device).view_as(tensor)
            return None if tensor is None else moved[id(tensor)]

        made = {id(module): _copy.copy(module) for module in network.modules()}
        for module in network.modules():
            replica = made[id(module)]
            replica.__dict__["_modules"] = {name: None if child is None else made[id(child)] for name, child in module._modules.items()}
            replica.__dict__["_buffers"] = {name: move(buffer) for name, buffer in module._buffers.items()}
            replica.__dict__["_parameters"] = {}
            for name, parameter in module._parameters.items():
                tensor = move(parameter)
                if isinstance(tensor, _Parameter):
                    replica._parameters[name] = tensor
                else:
                    replica.__dict__[name] = tensor
        copies.append(made[id(network)])
    return copies


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """Each module on its own arguments, in a thread each. An exception of one is raised here. AssertionError for lists of other lengths.

    >>> nn.parallel.parallel_apply([torch.sin, torch.cos], [torch.zeros(1), torch.zeros(1)])
    [tensor([0.]), tensor([1.])]
    """
    kwargs_tup = ({},) * len(modules) if kwargs_tup is None else kwargs_tup
    for name, given in (("inputs", inputs), ("kwargs_tup", kwargs_tup), ("devices", devices)):
        if given is not None and len(given) != len(modules):
            raise AssertionError(f"parallel_apply: {len(modules)} modules, but {len(given)} {name}")
    results = [None] * len(modules)
    recording = _torch.is_grad_enabled()

    def run(i):
        args = inputs[i] if isinstance(inputs[i], (list, tuple)) else (inputs[i],)
        try:
            with _torch.set_grad_enabled(recording):
                results[i] = modules[i](*args, **kwargs_tup[i])
        except Exception as error:  # noqa: BLE001  raised by the caller
            error.add_note(f"in replica {i}") if hasattr(error, "add_note") else None
            results[i] = _Failed(error)

    threads = [_threading.Thread(target=run, args=(i,)) for i in range(len(modules))]
    if len(modules) == 1:
        run(0)
    else:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for result in results:
        if isinstance(result, _Failed):
            raise result.error
    return results


class _Failed:
    def __init__(self, error):
        self.error = error


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """A module on parts of the batch, on several devices at once. Without devices, as where there is only the CPU, it is called as it is.

    >>> nn.parallel.data_parallel(nn.Identity(), torch.ones(2), device_ids=["cpu", "cpu"])
    tensor([1., 1.])
    """
    inputs = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    if not device_ids:
        return module(*inputs, **(module_kwargs or {}))
    parts, kwargs = scatter(inputs, device_ids, dim) or [()], scatter(module_kwargs or {}, device_ids, dim)
    used = device_ids[: len(parts)]
    outputs = parallel_apply(replicate(module, used), parts, kwargs[: len(parts)], used)
    return gather(outputs, used[0] if output_device is None else output_device, dim)


class DataParallel(Module):
    """A module on several devices, each with a part of the batch. Where there is only the CPU, as here, it calls the module.

    `device_ids` and `output_device` are those of accelerators: without any they name nothing, as in PyTorch. Names in `state_dict` begin with
    "module.".

    >>> net = nn.DataParallel(nn.Linear(2, 2))
    >>> list(net.state_dict()), net(torch.ones(1, 2)).shape
    (['module.weight', 'module.bias'], torch.Size([1, 2]))
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module
        self.device_ids, self.dim = [], dim

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)

    def replicate(self, module, device_ids):
        """`nn.parallel.replicate`."""
        return replicate(module, device_ids, not _torch.is_grad_enabled())

    def scatter(self, inputs, kwargs, device_ids):
        """Positional and named arguments, cut for each device."""
        return tuple(scatter(inputs, device_ids, self.dim)), tuple(scatter(kwargs, device_ids, self.dim))

    def parallel_apply(self, replicas, inputs, kwargs):
        """`nn.parallel.parallel_apply`."""
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[: len(replicas)] or None)

    def gather(self, outputs, output_device):
        """`nn.parallel.gather`."""
        return gather(outputs, output_device, self.dim)
