"""torch.distributed.autograd: backward through calls of other workers.

    with autograd.context() as context_id:
        loss = rpc.rpc_sync("worker1", model, args=(x,)).sum()
        autograd.backward(context_id, [loss])
        gradients = autograd.get_gradients(context_id)

Gradients are kept in the context and not in `grad`.
"""

from ._contexts import backward, context, get_gradients

__all__ = ["backward", "context", "get_gradients", "is_available"]


def is_available():
    """Whether this build has distributed autograd: always.

    >>> torch.distributed.autograd.is_available()
    True
    """
    return True
