"""The library that computes with quantised tensors: none is built in.

>>> torch.backends.quantized.engine, torch.backends.quantized.supported_engines
('none', ['none'])
"""

import sys as _sys
import types as _types

supported_engines = ["none"]


class _Module(_types.ModuleType):
    """The class of this module, which lets in no other engine."""

    @property
    def engine(self):
        """The engine in use. Errors, of an assignment: RuntimeError for one that is not supported."""
        return "none"

    @engine.setter
    def engine(self, name):
        if name not in supported_engines:
            raise RuntimeError(f"quantized.engine: {name!r} is not supported, for Cresset has no quantisation; expected one of {supported_engines}")


_sys.modules[__name__].__class__ = _Module
