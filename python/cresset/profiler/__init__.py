"""torch.profiler: of it there is `record_function`, which names parts of a program; `profile` is not there yet.

>>> with torch.profiler.record_function("a part"):
...     torch.ones(1)
tensor([1.])
"""

from ..autograd.profiler import record_function

__all__ = ["record_function"]
