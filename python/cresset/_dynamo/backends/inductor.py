"""The default backend.

>>> torch.compile(lambda x: x.sin() + 1)(torch.zeros(1))
tensor([1.])
"""

from ..._functorch.partitioners import min_cut_rematerialization_partition
from ..._inductor.compile_fx import compile_fx_inner
from ..._inductor.steps import compiled_step
from .common import aot_autograd
from .registry import register_backend


@register_backend
def inductor(gm, example_inputs, **kwargs):
    """Compiles graphs of forward and backward."""
    step = None if gm.meta.get("open") else compiled_step(gm.forward, list(example_inputs))
    if step is not None:
        return step
    return aot_autograd(fw_compiler=compile_fx_inner, partition_fn=min_cut_rematerialization_partition)(gm, example_inputs)
