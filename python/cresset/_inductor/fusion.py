"""Graphs of C++ whose pointwise operators, and reductions of the last dimension between them, are joined to kernels; values that are computed again."""

import operator

import _cresset_compile
from _cresset import Tensor

import cresset as torch

from .. import fx
from .. import graph as _graph
from .lowering import is_foreign


class Fused:
    """A graph of C++, in which kernels have the place of operators. `operators` lists those of each kernel, `numbers` has the kernels' own."""

    def __init__(self, module, freezing):
        self.graph = _graph.from_fx(module)
        self._kept, kernels = _cresset_compile.fuse(self.graph._graph.module(), freezing)
        self.numbers = [number for number, _ in kernels]
        self.operators = [names for _, names in kernels]


def _plain(value):
    return isinstance(value, Tensor) and value.layout is torch.strided and value.device.type == "cpu" and not value.is_conj() and not value.is_neg()


def _geometry(value):
    return value.shape, value.stride(), value.storage_offset(), value.dtype, value.is_conj(), value.is_neg()


def without_idle_views(module):
    """The module without views that lie as what they are views of, such as a transpose of a transpose."""
    for node in list(module.graph.nodes):
        source = node
        while source.op == "call_function" and getattr(source.target, "is_view", False) and isinstance(source.args[0], fx.Node):
            source = source.args[0]
            ours, theirs = node.meta.get("val"), source.meta.get("val")
            if _plain(ours) and _plain(theirs) and _geometry(ours) == _geometry(theirs):
                node.replace_all_uses_with(source)
                break
    module.graph.eliminate_dead_code()
    return module


def _rows_alone(module):
    """The graph with inputs in the place of operators that are no rows."""
    graph, made = fx.Graph(), {}
    for node in module.graph.nodes:
        left_out = is_foreign(node) or (node.target is operator.getitem and node.args[0] not in made)
        if node.op == "output":
            graph.output([made[value] for value in node.all_input_nodes if value in made])
        elif not left_out and node.op != "placeholder":
            made[node] = graph.node_copy(node, made.__getitem__)
        elif node.op == "placeholder" or isinstance(node.meta.get("val"), Tensor):
            made[node] = graph.placeholder(node.name)
            made[node].meta = dict(node.meta)
    return fx.GraphModule(module, graph)


def recomputed(module):
    """Nodes of a joint graph that backward may compute again: views, and pointwise operators whose loops cost less than memory."""
    try:
        names = _cresset_compile.cheap(_graph.from_fx(_rows_alone(module))._graph.module())
    except (ValueError, NotImplementedError, RuntimeError):  # it holds what graphs of C++ cannot
        return set()
    return {node for node in module.graph.nodes if node.name in names}


def fuse(module, freezing=False):
    """The graph of C++ of a module of operators, with fewer passes over memory. With `freezing` weights are kept in the order that kernels read them in.

    >>> from cresset._inductor.fusion import fuse
    >>> from cresset.fx.experimental.proxy_tensor import make_fx
    >>> x = torch.linspace(-1, 1, 1024)
    >>> fused = fuse(make_fx(lambda x: x.sin() * x + 1)(x))
    >>> fused.operators, torch.equal(fused.graph(x), x.sin() * x + 1)
    ([['sin', 'mul.Tensor', 'add.Scalar']], True)
    """
    return Fused(module, freezing)
