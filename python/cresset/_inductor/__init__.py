"""torch._inductor: settings of a code generator, which is not there."""

from ..compiler import cudagraph_mark_step_begin
from . import config


def __getattr__(name):
    from cresset._core import missing as _missing

    return _missing.found(__name__, name)
