"""`print` as an operator: a line of text with values of tensors and numbers in it, which graphs keep in its place.

>>> torch.ops.higher_order.print("{} of {n}", 1, n=2)
1 of 2
"""

import builtins

from _cresset import Tensor

from .._library.effects import EffectType
from .._subclasses.fake_tensor import is_fake
from ..utils._pytree import tree_leaves
from . import _capture
from ._operator import HigherOrderOperator

__all__ = ["print"]


class Print(HigherOrderOperator):
    """Prints `format_str.format(*args, **kwargs)`. Programs that are only looked at, on fake tensors, print nothing.

    Errors: ValueError for a format that is no str; what `str.format` raises.
    """

    _effect = EffectType.ORDERED

    def __init__(self):
        super().__init__("print")

    def __call__(self, format_str, /, *args, **kwargs):
        """Prints the line."""
        if not isinstance(format_str, str):
            raise ValueError(f"print: expected a format string, got {type(format_str).__name__}")
        return super().__call__(format_str, *args, **kwargs)

    def run(self, format_str, *args, **kwargs):
        """The line, unless a value is fake."""
        if not any(isinstance(leaf, Tensor) and is_fake(leaf) for leaf in tree_leaves((args, kwargs))):
            builtins.print(format_str.format(*args, **kwargs))

    def trace(self, mode, format_str, *args, **kwargs):
        """One node."""
        tracer = mode.tracer
        _capture.unheard(lambda: self.run(format_str, *args, **kwargs))
        node = tracer.create_node("call_function", self, (format_str, *(tracer.create_arg(a) for a in args)), tracer.create_arg(kwargs), self.name())
        node.meta["val"] = None


print = Print()
