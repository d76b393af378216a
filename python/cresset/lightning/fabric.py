"""Fabric: a training loop of one's own, with Lightning's words for devices, precision and files. It runs in one process."""

import contextlib
import os

import cresset as torch

from . import _data
from ._precision import Precision
from ._random import seed_everything

__all__ = ["Fabric"]


class _Wrapped(torch.nn.Module):
    """A module whose calls compute in the precision of the Fabric."""

    def __init__(self, module, fabric):
        super().__init__()
        self._forward_module = module
        object.__setattr__(self, "_fabric", fabric)

    @property
    def module(self):
        return self._forward_module

    def forward(self, *args, **kwargs):
        args, kwargs = self._fabric._precision.batch((args, kwargs))
        with self._fabric._precision.step():
            return self._forward_module(*args, **kwargs)

    def state_dict(self, *args, **kwargs):
        return self._forward_module.state_dict(*args, **kwargs)

    def load_state_dict(self, *args, **kwargs):
        return self._forward_module.load_state_dict(*args, **kwargs)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("_forward_module"), name)


class _Stepper:
    """An optimizer whose steps know the scale of the loss."""

    def __init__(self, optimizer, fabric):
        self.optimizer, self._fabric = optimizer, fabric

    def step(self, closure=None):
        if self._fabric._precision.scaler is None:
            return self.optimizer.step(closure)
        if closure is not None:
            raise RuntimeError("Fabric: a step with 16-mixed precision takes no closure")
        return self._fabric._precision.run_step(self.optimizer)

    def __getattr__(self, name):
        return getattr(self.optimizer, name)


class Fabric:
    """Sets up modules, optimizers and loaders for a training loop.

    Args:
        accelerator: "auto" or "cpu".
        strategy, devices, num_nodes: "auto", "auto" or 1, and 1.
        precision: as of `Trainer`.
        callbacks: objects whose methods `call` calls.
        loggers: what `log` writes to.

    Errors: ValueError for several processes or other devices.

    >>> fabric = torch.lightning.Fabric(accelerator="cpu")
    >>> net = nn.Linear(1, 1)
    >>> net, optimizer = fabric.setup(net, optim.SGD(net.parameters(), lr=0.1))
    >>> fabric.backward(net(torch.ones(1, 1)).sum())
    >>> optimizer.step()
    >>> fabric.device, fabric.world_size
    (device(type='cpu'), 1)
    """

    def __init__(self, accelerator="auto", strategy="auto", devices="auto", num_nodes=1, precision=None, plugins=None, callbacks=None, loggers=None):
        from .trainer import _refuse_several_processes

        _refuse_several_processes(strategy, num_nodes, None, plugins)
        if accelerator not in ("auto", "cpu") or devices not in ("auto", 1, "1", -1):
            raise ValueError(f"Fabric: it runs on one CPU device, got accelerator={accelerator!r}, devices={devices!r}")
        self._precision = Precision(precision or "32-true")
        self._callbacks = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks is not None else []
        self.loggers = list(loggers) if isinstance(loggers, (list, tuple)) else [loggers] if loggers is not None else []
        self.device = torch.device("cpu")
        self.world_size, self.global_rank, self.local_rank, self.node_rank, self.is_global_zero = 1, 0, 0, 0, True

    @property
    def logger(self):
        """The first logger."""
        return self.loggers[0]

    def launch(self, function=None, *args, **kwargs):
        """Calls the function with the Fabric, if there is one."""
        return function(self, *args, **kwargs) if function is not None else None

    def run(self, *args, **kwargs):
        """Method that a class of one's own overrides."""
        raise NotImplementedError("Fabric: a subclass has a method run")

    def setup(self, module, *optimizers, **kwargs):
        """The module and its optimizers, set up."""
        self._precision.prepare(module)
        wrapped = _Wrapped(module, self)
        return (wrapped, *(_Stepper(optimizer, self) for optimizer in optimizers)) if optimizers else wrapped

    def setup_module(self, module, **kwargs):
        """A module, set up."""
        return self.setup(module)

    def setup_optimizers(self, *optimizers):
        """Optimizers, set up."""
        made = tuple(_Stepper(optimizer, self) for optimizer in optimizers)
        return made[0] if len(made) == 1 else made

    def setup_dataloaders(self, *dataloaders, use_distributed_sampler=True, move_to_device=True):
        """The loaders: in one process they stay as they are."""
        return dataloaders[0] if len(dataloaders) == 1 else list(dataloaders)

    def backward(self, tensor, *args, model=None, **kwargs):
        """`tensor.backward()`, of the scaled loss where the precision scales it."""
        self._precision.scaled(tensor).backward(*args, **kwargs)

    def clip_gradients(self, module, optimizer, clip_val=None, max_norm=None, norm_type=2.0, error_if_nonfinite=True):
        """Limits the values or the norm of the gradients, one of the two."""
        if (clip_val is None) == (max_norm is None):
            raise ValueError("Fabric.clip_gradients: one of clip_val and max_norm is given")
        self._precision.unscale(getattr(optimizer, "optimizer", optimizer))
        if clip_val is not None:
            return torch.nn.utils.clip_grad_value_(module.parameters(), clip_val)
        return torch.nn.utils.clip_grad_norm_(module.parameters(), max_norm, norm_type, error_if_nonfinite)

    def autocast(self):
        """A context that computes in the precision."""
        return self._precision.step()

    def no_backward_sync(self, module, enabled=True):
        """A context for gradients that are not yet to be exchanged: nothing in one process."""
        return contextlib.nullcontext()

    def init_module(self, empty_init=None):
        """A context that makes modules on the device."""
        return contextlib.nullcontext()

    def to_device(self, obj):
        """A module or tensors, on the device."""
        return obj.to(self.device) if isinstance(obj, torch.nn.Module) else _data.mapped(obj, lambda t: t.to(self.device))

    def all_gather(self, data, group=None, sync_grads=False):
        """Values of all processes: the tensor itself."""
        return data

    def all_reduce(self, data, group=None, reduce_op="mean"):
        """Values of all processes, reduced: the tensor itself."""
        return data

    def broadcast(self, obj, src=0):
        """Value of process `src`: the object itself."""
        return obj

    def barrier(self, name=None):
        """Blocks until every process reaches it: returns at once."""

    def print(self, *args, **kwargs):
        """`print`, once."""
        print(*args, **kwargs)

    def save(self, path, state, filter=None):
        """Writes a dict of modules, optimizers and plain values to a file."""
        if filter:
            raise NotImplementedError("Fabric.save: filter is not there yet")
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        torch.save({name: value.state_dict() if hasattr(value, "state_dict") else value for name, value in state.items()}, path)

    def load(self, path, state=None, strict=True):
        """Reads such a file into the objects of `state`; what belongs to none of them is returned."""
        found = torch.load(path, weights_only=True)
        for name in list(state or ()):
            if name not in found:
                if strict:
                    raise KeyError(f"Fabric.load: {path} has no {name!r}")
                continue
            value = found.pop(name)
            if isinstance(state[name], torch.nn.Module):
                state[name].load_state_dict(value, strict=strict)
            elif hasattr(state[name], "load_state_dict"):
                state[name].load_state_dict(value)
            else:
                state[name] = value
        return found

    def call(self, hook_name, *args, **kwargs):
        """Calls a method of all callbacks that have it."""
        for callback in self._callbacks:
            if callable(getattr(callback, hook_name, None)):
                getattr(callback, hook_name)(*args, **kwargs)

    def log(self, name, value, step=None):
        """Writes a value to the loggers."""
        self.log_dict({name: value}, step)

    def log_dict(self, metrics, step=None):
        """Writes values to the loggers."""
        values = {name: value.item() if isinstance(value, torch.Tensor) else value for name, value in metrics.items()}
        for logger in self.loggers:
            logger.log_metrics(values, step=step)

    @staticmethod
    def seed_everything(seed=None, workers=None):
        """`lightning.seed_everything`."""
        return seed_everything(seed, workers=bool(workers))
