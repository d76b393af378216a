"""Compilers for `aot_function` that do little: they run the graph, print it or draw it."""

import contextlib
import functools

import cresset as torch

from ._boxed import make_boxed_compiler
from .aot_autograd import aot_function, aot_module
from .partitioners import draw_graph, min_cut_rematerialization_partition

__all__ = ["debug_compile", "default_decompositions", "draw_graph_compile", "memory_efficient_fusion", "nnc_jit", "nop", "print_compile",
           "pythonkey_decompose", "ts_compile"]  # fmt: skip


def nop(fx_g, _):
    """The graph itself.

    >>> from cresset.functorch.compile import aot_function, nop
    >>> aot_function(lambda x: x + 1, nop)(torch.zeros(2))
    tensor([1., 1.])
    """
    return fx_g


def print_compile(fx_g, _):
    """Prints the graph's code; runs the graph.

    >>> from cresset.functorch.compile import aot_function, print_compile
    >>> _ = aot_function(torch.sin, print_compile)(torch.zeros(2))  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
    def forward(self, arg0_1): ...
    """
    print(fx_g.code)
    return fx_g


def draw_graph_compile(name):
    """A compiler that draws the graph to a file of this name, and runs it.

    >>> from cresset.functorch.compile import draw_graph_compile
    >>> callable(draw_graph_compile("graph.svg"))
    True
    """

    def compile_drawing(fx_g, inputs):
        draw_graph(fx_g, name, clear_meta=False)
        return fx_g

    return make_boxed_compiler(compile_drawing)


def _no_torchscript(name):
    def refuse(*args, **kwargs):
        raise NotImplementedError(f"{name}: Cresset has no TorchScript compiler; use nop to run graphs, or a compiler of your own")

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"""Refuses: it needs TorchScript, which is not there. Errors: NotImplementedError.

    >>> from cresset.functorch.compile import {name}
    >>> try:
    ...     {name}(None, [])
    ... except NotImplementedError as error:
    ...     print("no TorchScript" in str(error))
    True
    """
    return refuse


ts_compile, nnc_jit, debug_compile = _no_torchscript("ts_compile"), _no_torchscript("nnc_jit"), _no_torchscript("debug_compile")

_DEFAULT = ("detach", "gelu_backward", "leaky_relu_backward", "sigmoid_backward", "threshold_backward", "hardtanh_backward", "hardsigmoid_backward",
            "hardswish_backward", "tanh_backward", "silu_backward", "elu_backward", "masked_fill", "elu", "leaky_relu")  # fmt: skip


@functools.cache
def _defaults():
    from .._decomp import get_decompositions

    return get_decompositions([getattr(torch.ops.aten, name) for name in _DEFAULT])


def __getattr__(name):
    if name == "default_decompositions":
        return _defaults()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def memory_efficient_fusion(fn, **kwargs):
    """`aot_function`, or `aot_module` for a module, with the partition that keeps the fewest bytes and simple pieces of backward.

    Values are computed again in backward where that is cheap; nothing is fused, since there is no compiler.

    >>> from cresset.functorch.compile import memory_efficient_fusion
    >>> memory_efficient_fusion(torch.sin)(torch.zeros(2))
    tensor([0., 0.])
    """
    options = {"fw_compiler": nop, "bw_compiler": nop, "partition_fn": min_cut_rematerialization_partition, "decompositions": _defaults(), **kwargs}
    return aot_module(fn, **options) if isinstance(fn, torch.nn.Module) else aot_function(fn, **options)


@contextlib.contextmanager
def pythonkey_decompose(decomposition_table):
    """In its scope a table of decompositions; yields it.

    >>> from cresset.functorch.compile import pythonkey_decompose
    >>> with pythonkey_decompose({}) as table:
    ...     print(table)
    {}
    """
    yield decomposition_table
