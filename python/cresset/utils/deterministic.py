"""torch.utils.deterministic: fill pattern of uninitialized memory.

>>> torch.utils.deterministic.fill_uninitialized_memory
True
>>> torch.use_deterministic_algorithms(True)
>>> torch.empty(2)
tensor([nan, nan])
>>> torch.use_deterministic_algorithms(False)
"""

import sys
import types

from cresset._core import modes as _modes


class _Deterministic(types.ModuleType):
    @property
    def fill_uninitialized_memory(self):
        """Whether `empty` and its like are filled, with NaN or the greatest number, while deterministic algorithms are on."""
        return _modes._determinism["fill"]

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, fill):
        if not isinstance(fill, bool):
            raise RuntimeError(f"fill_uninitialized_memory: expected a bool, but got {type(fill)} instead")
        _modes._set_determinism(fill=fill)


sys.modules[__name__].__class__ = _Deterministic
