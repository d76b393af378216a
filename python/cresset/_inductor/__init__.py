"""torch._inductor: settings of a code generator, which is not there."""

from ..compiler import cudagraph_mark_step_begin
from . import config


def __getattr__(name):
    from cresset import _missing

    return _missing.found(__name__, name)
