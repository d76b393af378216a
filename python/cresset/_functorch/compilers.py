"""Compilers for `aot_function` that do little: they run the graph, print it, draw it, or make TorchScript of it."""

import contextlib
import copy
import functools

import cresset as torch

from ._boxed import make_boxed_compiler
from .aot_autograd import aot_function, aot_module
from .compile_utils import strip_overloads
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


def _scripted(graph_module):
    plain = torch.fx.GraphModule(graph_module, copy.deepcopy(graph_module.graph))
    strip_overloads(plain)  # whose names TorchScript does not have
    return torch.jit.freeze(torch.jit.script(plain).eval())


@make_boxed_compiler
def ts_compile(fx_g, inps):
    """The graph as TorchScript, frozen and optimised for inference: it runs without Python.

    Errors: RuntimeError, with the line, for what the language lacks, among it operators that are no rows of the table.

    >>> from cresset.functorch.compile import aot_function, ts_compile
    >>> aot_function(lambda x: x.cos() + 1, ts_compile)(torch.zeros(2))
    tensor([2., 2.])
    """
    return torch.jit.optimize_for_inference(_scripted(fx_g))


@make_boxed_compiler
def simple_ts_compile(fx_g, _):
    """The graph as TorchScript, frozen.

    >>> from cresset._functorch.compilers import simple_ts_compile
    >>> torch.func.vmap(aot_function(torch.cos, simple_ts_compile))(torch.zeros(2))
    tensor([1., 1.])
    """
    return _scripted(fx_g)


def nnc_jit(f):
    """A function that computes what `f` does, its forward and backward as TorchScript.

    >>> from cresset.functorch.compile import nnc_jit
    >>> nnc_jit(torch.cos)(torch.zeros(2))
    tensor([1., 1.])
    """
    return aot_function(f, simple_ts_compile)


def debug_compile(fx_g, inps):
    """Prints a program that finds a smaller graph which fails in the same way, for the module that it writes to the folder `foo`; then `ts_compile`.

    >>> from cresset.functorch.compile import debug_compile
    >>> callable(debug_compile)
    True
    """
    fx_g.to_folder("foo")
    shapes = [(tuple(t.shape), t.dtype) for t in inps]
    print(f"""import torch
from functorch.compile import minifier
from foo import FxModule

inputs = [torch.ones(shape, dtype=dtype) for shape, dtype in {shapes}]

def fails(module, inputs):
    ...  # whether what you look for happens

minifier(torch.fx.symbolic_trace(FxModule()), inputs, fails)""")
    return ts_compile(fx_g, inps)


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

    Values are computed again in backward where that is cheap; the compilers run the graph as it is, unless others are given.

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
