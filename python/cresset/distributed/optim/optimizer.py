"""An optimizer over parameters that live in several workers."""

import threading

import cresset as torch

__all__ = ["DistributedOptimizer"]


class _Local:
    """The optimizer of one worker's parameters."""

    def __init__(self, optimizer_class, parameters, args, kwargs):
        self._parameters = [p.local_value() for p in parameters]
        self._optimizer, self._lock = optimizer_class(self._parameters, *args, **kwargs), threading.Lock()

    def step(self, context_id):
        from cresset.distributed import autograd

        gradients = autograd.get_gradients(context_id)
        with self._lock:
            before = [p.grad for p in self._parameters]
            for p in self._parameters:
                p.grad = gradients.get(p)
            self._optimizer.step()
            for p, grad in zip(self._parameters, before):
                p.grad = grad


def _make(name, parameters, args, kwargs):
    from cresset.distributed import rpc

    return rpc.RRef(_Local(getattr(torch.optim, name), parameters, args, kwargs))


def _step(local, context_id):
    local.local_value().step(context_id)


_make._is_rpc_function = _step._is_rpc_function = True


class DistributedOptimizer:
    """Steps parameters, given as references, where they are, with the gradients of a context of distributed autograd.

    Args:
        optimizer_class: of `torch.optim`.
        params_rref: references to parameters.

    >>> from cresset.distributed import autograd, rpc
    >>> rpc.init_rpc("doc", rank=0, world_size=1, rpc_backend_options=rpc.TensorPipeRpcBackendOptions(init_method="tcp://localhost:0"))
    >>> p = nn.Parameter(torch.ones(1)); optimizer = torch.distributed.optim.DistributedOptimizer(torch.optim.SGD, [rpc.RRef(p)], lr=0.5)
    >>> with autograd.context() as context_id:
    ...     autograd.backward(context_id, [p.sum()]); optimizer.step(context_id)
    >>> p.item()
    0.5
    >>> rpc.shutdown()
    """

    def __init__(self, optimizer_class, params_rref, *args, **kwargs):
        from cresset.distributed import rpc

        if getattr(torch.optim, optimizer_class.__name__, None) is not optimizer_class:
            raise ValueError(f"DistributedOptimizer: expected a class of torch.optim, got {optimizer_class!r}")
        by_owner = {}
        for reference in params_rref:
            by_owner.setdefault(reference.owner(), []).append(reference)
        futures = [rpc.rpc_async(owner, _make, (optimizer_class.__name__, parameters, args, kwargs)) for owner, parameters in by_owner.items()]
        self.remote_optimizers = [future.wait() for future in futures]

    def step(self, context_id):
        """A step of all parameters. Errors: those of the workers."""
        from cresset.distributed import rpc

        for future in [rpc.rpc_async(local.owner(), _step, (local, context_id)) for local in self.remote_optimizers]:
            future.wait()
