"""The default backend.

>>> torch.compile(lambda x: x.sin() + 1)(torch.zeros(1))
tensor([1.])
"""

from ..._functorch.partitioners import min_cut_rematerialization_partition
from .common import aot_autograd
from .debugging import boxed_nop
from .registry import register_backend


@register_backend
def inductor(gm, example_inputs, **kwargs):
    """Compiles graphs of forward and backward."""
    return aot_autograd(fw_compiler=boxed_nop, partition_fn=min_cut_rematerialization_partition)(gm, example_inputs)
