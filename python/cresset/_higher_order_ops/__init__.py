"""Control flow as operators: branches and bodies are functions of trees of tensors, which programs that capture a graph keep as graphs of their own.

docs/records/0020-control-flow.md says how they run, differentiate and are captured.

>>> from cresset._higher_order_ops import scan
>>> scan(lambda carry, x: (carry + x, carry * x), torch.zeros(2), torch.ones(3, 2))[0]
tensor([3., 3.])
"""

from ._operator import HigherOrderOperator
from .associative_scan import associative_scan, associative_scan_op
from .auto_functionalize import auto_functionalized_v2
from .cond import cond, cond_op
from .effects import with_effects
from .map import map, map_impl
from .print import print
from .scan import scan, scan_op
from .while_loop import while_loop, while_loop_op

__all__ = ["HigherOrderOperator", "associative_scan", "associative_scan_op", "auto_functionalized_v2", "cond", "cond_op", "map", "map_impl", "print", "scan", "scan_op", "while_loop", "while_loop_op", "with_effects"]  # fmt: skip
