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
from .inline_asm_elementwise import inline_asm_elementwise
from .map import map, map_impl
from .out_dtype import out_dtype
from .print import print
from .scan import scan, scan_op
from .while_loop import while_loop, while_loop_op
from .wrap import wrap_with_autocast, wrap_with_set_grad_enabled

__all__ = ["HigherOrderOperator", "associative_scan", "associative_scan_op", "auto_functionalized_v2", "cond", "cond_op", "inline_asm_elementwise", "map", "map_impl", "out_dtype", "print", "scan", "scan_op", "while_loop", "while_loop_op", "with_effects", "wrap_with_autocast", "wrap_with_set_grad_enabled"]  # fmt: skip
