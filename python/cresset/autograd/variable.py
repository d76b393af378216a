"""The name that tensors had before they became one with what differentiates them."""

import _cresset
from _cresset import Tensor


class _Meta(type):
    def __instancecheck__(cls, other):
        return isinstance(other, Tensor)


class _Engine:
    """Engine of backward passes."""

    @staticmethod
    def queue_callback(callback):
        """Call `callback()` when the backward pass that runs has finished. Errors: RuntimeError outside of a pass."""
        _cresset.queue_callback(callback)


class Variable(metaclass=_Meta):
    """A tensor: `Variable(data, requires_grad=False)` gives one over the same memory, outside the graph of `data`.

    >>> isinstance(torch.ones(1), torch.autograd.Variable)
    True
    """

    _execution_engine = _Engine()

    def __new__(cls, data, requires_grad=False):
        return data.detach().requires_grad_(requires_grad)
