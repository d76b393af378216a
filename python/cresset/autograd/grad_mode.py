"""Whether operators record the graph: the contexts of `torch.no_grad` and its like."""

import _cresset

from .. import enable_grad, inference_mode, no_grad, set_grad_enabled
from .._core.modes import _Context

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]


def is_multithreading_enabled():
    """Whether backward may run in several threads.

    >>> torch.autograd.is_multithreading_enabled()
    True
    """
    enabled = _cresset.set_multithreading_enabled(True)
    _cresset.set_multithreading_enabled(enabled)
    return enabled


def is_view_replay_enabled():
    """Whether backward calls again the operators that made views, to make views of gradients, which it never does here.

    >>> torch.autograd.is_view_replay_enabled()
    False
    """
    return False


class set_multithreading_enabled(_Context):
    """Whether backward may run in several threads, for devices of different kinds. On the CPU it runs in the calling thread either way.

    >>> with torch.autograd.set_multithreading_enabled(False):
    ...     torch.ones(1, requires_grad=True).sum().backward()
    """

    def __init__(self, mode):
        self.mode = mode
        self._before = _cresset.set_multithreading_enabled(mode)

    def _again(self):
        return type(self)(self.mode)

    def __enter__(self):
        _cresset.set_multithreading_enabled(self.mode)

    def __exit__(self, *_):
        _cresset.set_multithreading_enabled(self._before)
