"""Graphs of C++ whose pointwise operators, and reductions of the last dimension between them, are joined to kernels; values that are computed again."""

import operator

import _cresset_compile
from _cresset import Tensor

import cresset as torch

from .. import fx
from .. import graph as _graph
from .lowering import is_foreign

_aten = torch.ops.aten


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


def norms_again(joint):
    """Gives backward its own relu of each batch norm, which is computed again from the input of the norm; that is kept for the gradient anyway. Returns the new
    nodes."""
    later, again = set(), set()
    for node in joint.graph.nodes:
        if (node.op == "placeholder" and "tangents" in str(node.target)) or any(other in later for other in node.all_input_nodes):
            later.add(node)
    for relu in joint.graph.find_nodes(op="call_function", target=_aten.relu.default):
        item = relu.args[0]
        norm = item.args[0] if item.target is operator.getitem and item.args[1] == 0 else None
        readers = [node for node in relu.users if node in later and node.op != "output"]
        if norm is None or norm in later or norm.target is not _aten.native_batch_norm.default or not norm.args[5] or not readers:
            continue
        x, weight, bias, _, _, _, momentum, eps = norm.args
        with joint.graph.inserting_after(relu):
            made = joint.graph.call_function(_aten.native_batch_norm.default, (x, weight, bias, None, None, True, momentum, eps))
        with joint.graph.inserting_after(made):
            first = joint.graph.call_function(operator.getitem, (made, 0))
        with joint.graph.inserting_after(first):
            second = joint.graph.call_function(_aten.relu.default, (first,))
        made.meta, first.meta, second.meta = dict(norm.meta), dict(item.meta), dict(relu.meta)
        for node in readers:
            node.replace_input_with(relu, second)
        again.update((made, first, second))
    return again


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
