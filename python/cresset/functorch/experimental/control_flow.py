"""The older names of control flow: `torch.cond` and `torch._higher_order_ops.map`.

>>> from cresset.functorch.experimental.control_flow import map
>>> map(lambda x, y: x + y, torch.arange(3), 10).tolist()
[10, 11, 12]
"""

from cresset._higher_order_ops import cond, map

__all__ = ["cond", "map"]
