"""Scopes in which PyTorch asks Python for the kernels of each key. Kernels are asked in one order here, so that the scopes change nothing.

>>> with torch._dispatch.python.enable_python_dispatcher():
...     torch.ones(1)
tensor([1.])
"""

import contextlib


@contextlib.contextmanager
def enable_python_dispatcher():
    """A scope as any other."""
    yield


no_python_dispatcher = enable_pre_dispatch = enable_python_dispatcher
