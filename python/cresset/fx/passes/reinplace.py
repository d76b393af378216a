"""Operators that write into their first argument, in the place of those that make a new tensor."""

import cresset as torch

from .._compatibility import compatibility
from ..interpreter import Interpreter
from ..node import Node, _is_operator_of_torch, map_arg

__all__ = ["reinplace"]


_VIEWS_OF_SCATTERS = {"slice_scatter": "slice.Tensor", "select_scatter": "select.int", "diagonal_scatter": "diagonal.default",
                      "as_strided_scatter": "as_strided.default"}  # fmt: skip


class _Values(Interpreter):
    """Runs a graph and notes for every node its value and the storages of its tensors."""

    def __init__(self, module):
        super().__init__(module, garbage_collect_values=False)  # else a storage could take the place of another
        self.storages, self.values = {}, {}

    def run_node(self, n):
        result = super().run_node(n)
        self.note(n, result)
        return result

    def note(self, n, value):
        tensors = [t for t in torch.utils._pytree.tree_leaves(value) if isinstance(t, torch.Tensor)]
        self.storages[n], self.values[n] = {t.untyped_storage().data_ptr() for t in tensors}, value

    def moved(self, node, value, later):
        """The values of nodes that see memory of a node, if it had another value. Errors: RuntimeError where a view of that one cannot be had."""
        old, found = self.storages[node], {node: value}
        for n in later:
            if self.storages[n] & old and n.op == "call_function":
                found[n] = n.target(*map_arg(n.args, lambda used: found.get(used, self.values[used])), **map_arg(n.kwargs, lambda used: self.values[used]))
        return found


def _in_place(target):
    """The overload that writes into `self` where `target` makes a new tensor; None where there is none."""
    packet = getattr(target, "overloadpacket", None)
    if packet is None or packet.__name__.endswith("_"):
        return None
    other = getattr(torch.ops.aten, packet.__name__ + "_", None)
    return getattr(other, target.__name__.rpartition(".")[2], None) if other is not None else None


def _view_of_scatter(node):
    """The overload that gives the part of the first argument that a scatter replaces; None for another node."""
    packet = getattr(node.target, "overloadpacket", None)
    path = _VIEWS_OF_SCATTERS.get(getattr(packet, "__name__", None)) if node.op == "call_function" else None
    if path is None:
        return None
    name, _, overload = path.partition(".")
    return getattr(getattr(torch.ops.aten, name), overload)


def _same_place(a, b):
    return a.data_ptr() == b.data_ptr() and a.shape == b.shape and (a.stride() == b.stride() or a.numel() <= 1)


class _Rewrite:
    """One run of the pass over a module with the values of an example."""

    def __init__(self, gm, sample_args):
        self.gm, self.noted = gm, _Values(gm)
        with torch.no_grad():
            self.noted.run(*sample_args)
        self.order = list(gm.graph.nodes)
        self.kept = set().union(*(self.noted.storages[n] for n in gm.graph.nodes if n.op in ("placeholder", "get_attr", "output")))

    def run(self):
        for i, node in enumerate(self.order):
            if node.op == "call_function" and _is_operator_of_torch(node.target) and node.args and node.args[0] in self.noted.storages:
                with torch.no_grad():
                    self.visit(node, node.args[0], self.order[i + 1 :])
        self.gm.recompile()
        return self.gm

    def visit(self, node, written, later):
        values, memory = self.noted.values, self.noted.storages[written]
        view, in_place = _view_of_scatter(node), _in_place(node.target)
        if (view is None and in_place is None) or memory & (self.kept | self.noted.storages[node]):
            return
        if not _fits(values[written], values[node]) or (view is None and self.reads_what_it_writes(node, written)):
            return
        try:
            moved = self.noted.moved(node, values[written], later)
        except RuntimeError:
            return
        if any(memory & self.noted.storages[used] and not self.may_follow(n, moved, memory) for n in later for used in n.all_input_nodes):
            return
        if view is None:
            node.target = in_place
        elif not self.is_there(node, view):
            if self.noted.storages[node.args[1]] & memory:
                return
            with self.gm.graph.inserting_before(node):
                part = self.gm.graph.call_function(view, (written, *node.args[2:]), dict(node.kwargs))
                self.gm.graph.call_function(torch.ops.aten.copy_.default, (part, node.args[1]))
        node.replace_all_uses_with(written)
        if view is not None:
            self.gm.graph.erase_node(node)
        for n, value in moved.items():
            self.noted.note(n, value)

    def reads_what_it_writes(self, node, written):
        """Whether an argument besides the first one sees the memory that would be written, in another order than it is written in."""
        values, memory, others = self.noted.values, self.noted.storages[written], []
        map_arg((node.args[1:], node.kwargs), others.append)
        others = [used for used in others if self.noted.storages[used] & memory]
        pointwise = torch.Tag.pointwise in getattr(node.target, "tags", ())
        return any(not (pointwise and isinstance(values[used], torch.Tensor) and _same_place(values[used], values[written])) for used in others)

    def may_follow(self, node, moved, memory):
        """Whether a node that sees written memory may run afterwards: a view, or a scatter that puts what is written there where it is already."""
        view = _view_of_scatter(node)
        if view is None:
            schema = getattr(node.target, "_schema", None)
            return node.op == "call_function" and not (schema and schema.is_mutable) and bool(self.noted.storages[node] & memory)
        base, part = node.args[:2]
        return part in moved and _same_place(view(self.noted.values[base], *node.args[2:], **node.kwargs), moved[part])

    def is_there(self, node, view):
        base, part = node.args[:2]
        if not isinstance(part, Node) or not isinstance(self.noted.values[part], torch.Tensor):
            return False
        return _same_place(view(self.noted.values[base], *node.args[2:], **node.kwargs), self.noted.values[part])


@compatibility(is_backward_compatible=True)
def reinplace(gm, *sample_args):
    """Let operators of torch.ops write into their first argument where nothing uses it, or a view of it, afterwards.

    A scatter as `slice_scatter` becomes a copy into the view, and nothing where the view has the values already.

    Args:
        gm: the module, whose parameters are left alone; it is changed and compiled anew.
        sample_args: arguments of a call, which tell which tensors share memory.

    Returns the module.

    >>> aten = torch.ops.aten
    >>> traced = torch.fx.symbolic_trace(lambda x: aten.add.Tensor(aten.mul.Tensor(x, x), x))
    >>> [str(n.target) for n in torch.fx.passes.reinplace.reinplace(traced, torch.ones(2)).graph.nodes if n.op == "call_function"]
    ['aten.mul.Tensor', 'aten.add_.Tensor']
    """
    return _Rewrite(gm, sample_args).run()


def _fits(written, result):
    """Whether a result can be written into a tensor, none of whose elements is another one's memory too."""
    if not (isinstance(written, torch.Tensor) and isinstance(result, torch.Tensor)):
        return False
    same = written.shape == result.shape and written.dtype == result.dtype and written.device == result.device
    reached = 0  # of the dimensions with smaller steps, none of which may reach the next step
    for stride, size in sorted((stride, size) for stride, size in zip(written.stride(), written.shape) if size > 1):
        if stride <= reached:
            return False
        reached += stride * (size - 1)
    return same
