"""A module that lives in another worker."""

import cresset as torch

__all__ = ["RemoteModule"]


def _create(module_class, args, kwargs):
    return module_class(*args, **kwargs)


def _parameters(reference, recurse):
    from cresset.distributed import rpc

    return [rpc.RRef(p) for p in reference.local_value().parameters(recurse)]


def _forward(reference, args, kwargs):
    return reference.local_value()(*args, **kwargs)


_create._is_rpc_function = _parameters._is_rpc_function = _forward._is_rpc_function = True


class RemoteModule(torch.nn.Module):
    """A module made in a worker ("worker1/cpu"); `forward` runs there.

    >>> from cresset.distributed import rpc
    >>> from cresset.distributed.nn.api.remote_module import RemoteModule
    >>> rpc.init_rpc("doc", rank=0, world_size=1, rpc_backend_options=rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0"))
    >>> tuple(RemoteModule("doc/cpu", nn.Linear, args=(3, 2))(torch.ones(4, 3)).shape)
    (4, 2)
    >>> rpc.shutdown()
    """

    def __init__(self, remote_device, module_cls, args=None, kwargs=None, _module_interface_cls=None):
        from cresset.distributed import rpc

        super().__init__()
        name, _, device = str(remote_device).partition("/")
        self.on, self.device = name.removeprefix("rank:"), torch.device(device or "cpu")
        to = int(self.on) if str(remote_device).startswith("rank:") else self.on
        if self.device.type != "cpu":
            raise ValueError(f"RemoteModule: expected a device that is there, got {remote_device!r}")
        self.module_rref = rpc.remote(to, _create, (module_cls, tuple(args or ()), dict(kwargs or {})))
        self.module_rref._created.wait()

    def forward(self, *args, **kwargs):
        """The module's result."""
        return self.forward_async(*args, **kwargs).wait()

    def forward_async(self, *args, **kwargs):
        """A future of the module's result."""
        from cresset.distributed import rpc

        return rpc.rpc_async(self.module_rref.owner(), _forward, (self.module_rref, args, kwargs))

    def remote_parameters(self, recurse=True):
        """References to the parameters."""
        from cresset.distributed import rpc

        return rpc.rpc_sync(self.module_rref.owner(), _parameters, (self.module_rref, recurse))

    def get_module_rref(self):
        """The reference to the module."""
        return self.module_rref
