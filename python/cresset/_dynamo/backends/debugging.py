"""Backends that compile nothing: to find which part of compilation a fault is in.

>>> torch.compile(lambda x: x + 1, backend="aot_eager")(torch.ones(1))
tensor([2.])
"""

from ..._functorch._boxed import make_boxed_func
from ..._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from ..._functorch.partitioners import min_cut_rematerialization_partition
from .common import aot_autograd
from .registry import register_debug_backend

__all__ = ["aot_eager", "aot_eager_decomp_partition", "eager", "eager_noexcept"]


@register_debug_backend
def eager(gm, fake_tensor_inputs, **kwargs):
    """Runs graphs as they are."""
    return gm.forward


@register_debug_backend
def eager_noexcept(gm, fake_tensor_inputs, **kwargs):
    """Runs graphs as they are; an error there is one of the compiler."""

    def inner(*args):
        try:
            return gm(*args)
        except Exception as error:
            raise RuntimeError("an error within a graph") from error

    return inner


def boxed_nop(fx_g, example_inputs):
    """Runs a graph of operators as it is."""
    return make_boxed_func(fx_g.forward)


def _taken_apart(gm, inputs, **options):
    """Graphs of forward and backward; a graph whose sizes only the data tells as it was captured."""
    try:
        return aot_autograd(fw_compiler=boxed_nop, **options)(gm, inputs)
    except (DataDependentOutputException, DynamicOutputShapeException):
        return gm.forward


@register_debug_backend
def aot_eager(gm, fake_tensor_inputs, **kwargs):
    """Runs graphs of forward and backward as they are."""
    return _taken_apart(gm, fake_tensor_inputs)


@register_debug_backend
def aot_eager_decomp_partition(gm, fake_tensor_inputs, **kwargs):
    """Runs graphs of forward and backward as they are, taken apart and split as for a code generator."""
    from ..._decomp import core_aten_decompositions

    return _taken_apart(gm, fake_tensor_inputs, decompositions=core_aten_decompositions(), partition_fn=min_cut_rematerialization_partition)
