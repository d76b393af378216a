"""The default backend.

>>> torch.compile(lambda x: x.sin() + 1)(torch.zeros(1))
tensor([1.])
"""

from ..._functorch.partitioners import min_cut_rematerialization_partition
from ..._inductor import config
from ..._inductor.compile_fx import compile_fx_inner
from ..._inductor.steps import compiled_step
from .. import _logs
from .common import aot_autograd, stays_whole
from .registry import register_backend


@register_backend
def inductor(gm, example_inputs, options=None):
    """Compiles graphs of forward and backward. A graph that cannot be taken apart to operators runs as it was captured, which is said once.

    `options` are settings of `torch._inductor.config` for this graph.
    """
    with config.patch(options or {}):
        return _compiled(gm, example_inputs)


def _compiled(gm, example_inputs):
    if stays_whole(gm):
        return gm.forward
    try:
        step = None if gm.meta.get("open") or gm.meta.get("shares_memory") else compiled_step(gm.forward, list(example_inputs))
        if step is not None:
            return step
        return aot_autograd(fw_compiler=compile_fx_inner, partition_fn=min_cut_rematerialization_partition)(gm, example_inputs)
    except Exception as error:
        _logs.once(f"torch.compile: a graph of {gm.meta.get('function', 'a function')} runs as it was captured: {type(error).__name__}: {error}")
        _logs.debug_error(error)
        return gm.forward
