"""torch._inductor: settings of a code generator, which is not there."""

from ..compiler import cudagraph_mark_step_begin
from . import config
