"""`replicate`: data parallelism of a module where it stands."""

import weakref

import cresset as torch

__all__ = ["replicate"]


class _Alone(torch.nn.Module):
    """Calls the module's own forward; its parameters are those of the module, under the same names."""

    def __init__(self, module):
        super().__init__()
        self.__dict__["_held"] = weakref.ref(module)
        self._parameters, self._buffers, self._modules = module._parameters, module._buffers, module._modules

    def forward(self, *inputs, **kwargs):
        return type(self._held()).forward(self._held(), *inputs, **kwargs)


def replicate(module, ignored_modules=None, **kwargs):
    """Averages the gradients of a module over all processes, as `DistributedDataParallel` does; names and class stay as they are.

    Args:
        ignored_modules: parts whose parameters take no part.
        **kwargs: those of `DistributedDataParallel`, or `device_mesh`.

    >>> dist = torch.distributed
    >>> if not dist.is_initialized(): dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    >>> from cresset.distributed._composable.replicate import replicate
    >>> net = replicate(nn.Linear(2, 1)); net(torch.ones(1, 2)).sum().backward(); net.weight.grad
    tensor([[1., 1.]])
    """
    ignored = {id(p) for part in ignored_modules or () for p in part.parameters()}
    module._ddp_params_and_buffers_to_ignore = [name for name, p in module.named_parameters() if id(p) in ignored]
    alone = _Alone(module)
    alone._ddp_params_and_buffers_to_ignore = module._ddp_params_and_buffers_to_ignore
    parallel = torch.nn.parallel.DistributedDataParallel(alone, **kwargs)
    module.__dict__["_replicated"] = parallel
    module.__dict__["forward"] = parallel.__call__
    return module
