"""A mode that looks at what operators write and share, and compares it with their schemas.

>>> with torch._subclasses.schema_check_mode.SchemaCheckMode() as mode:
...     _ = torch.ones(2).add_(1)
>>> mode.ops
['aten::ones', 'aten::add_.Tensor']
"""

from ..utils._python_dispatch import TorchDispatchMode


class SchemaCheckMode(TorchDispatchMode):
    """Raises RuntimeError where an operator writes an argument, or shares memory with a result, and its schema does not say so. Its `ops` are the names of the
    operators that were called."""

    def __init__(self):
        super().__init__()
        self.ops = []

    def reset_cache(self):
        """Forgets the calls."""
        self.ops.clear()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        from .._library.checks import check_memory

        kwargs = kwargs or {}
        self.ops.append(func.name())
        return check_memory(func._schema, lambda: func(*args, **kwargs), args, kwargs)
