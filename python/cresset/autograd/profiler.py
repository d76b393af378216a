"""torch.autograd.profiler: named parts of a program. Nothing records them yet; `profile` is not there.

>>> with torch.autograd.profiler.record_function("a part"):
...     torch.ones(1)
tensor([1.])
"""

import functools

__all__ = ["record_function"]


class record_function:
    """A context, or a decorator, that names a part of a program for a profiler.

    >>> @torch.autograd.profiler.record_function("doubling")
    ... def doubled(x):
    ...     return 2 * x
    >>> doubled(3)
    6
    """

    def __init__(self, name, args=None):
        self.name, self.args = name, args

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        pass

    def __call__(self, function):
        @functools.wraps(function)
        def named(*args, **kwargs):
            with type(self)(self.name, self.args):
                return function(*args, **kwargs)

        return named
