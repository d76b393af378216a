"""Forward and backward of functions as graphs for compilers.

>>> from cresset.functorch.compile import aot_function, make_boxed_func, min_cut_rematerialization_partition, nop
>>> f = aot_function(lambda x: x.sin().cos(), nop, partition_fn=min_cut_rematerialization_partition)
>>> x = torch.zeros(2, requires_grad=True)
>>> f(x).sum().backward()
>>> x.grad
tensor([-0., -0.])
"""

from cresset._functorch import compilers as _compilers, config  # noqa: F401
from cresset._functorch.aot_autograd import (
    aot_function,
    aot_module,
    aot_module_simplified,
    compiled_function,
    compiled_module,
    get_aot_compilation_context,
    get_aot_graph_name,
    get_graph_being_compiled,
    make_boxed_compiler,
    make_boxed_func,
)
from cresset._functorch.compilers import (
    debug_compile,
    draw_graph_compile,
    memory_efficient_fusion,
    nnc_jit,
    nop,
    print_compile,
    pythonkey_decompose,
    ts_compile,
)
from cresset._functorch.fx_minifier import minifier
from cresset._functorch.partitioners import default_partition, draw_graph, min_cut_rematerialization_partition

__all__ = ["aot_function", "aot_module", "aot_module_simplified", "compiled_function", "compiled_module", "debug_compile", "default_partition",
           "draw_graph", "draw_graph_compile", "get_aot_compilation_context", "get_aot_graph_name", "get_graph_being_compiled", "make_boxed_compiler",
           "make_boxed_func", "memory_efficient_fusion", "minifier", "min_cut_rematerialization_partition", "nnc_jit", "nop", "print_compile", "pythonkey_decompose",
           "ts_compile"]  # fmt: skip


def __getattr__(name):
    if name == "default_decompositions":
        return _compilers.default_decompositions
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
