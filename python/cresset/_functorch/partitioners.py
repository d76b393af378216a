"""How a joint graph of forward and backward is split into two: which values are kept in between, and which are computed again.

The graph has placeholders `primals_1`, ... for the inputs and `tangents_1`, ... for the gradients of the results; its output lists the results, then the
gradients. `choose_kept` of the graph library finds the fewest bytes (cresset/graph/passes/joint.h).
"""

import operator

import _cresset_graph
from _cresset import Tensor

import cresset as torch

from .. import fx
from ..fx.experimental.symbolic_shapes import hint_int

_DETACH = torch.ops.aten.detach.default

__all__ = ["default_partition", "draw_graph", "min_cut_rematerialization_partition"]


def _is_tangent(node):
    return node.op == "placeholder" and "tangents" in str(node.target)


def _is_primal(node):
    return node.op == "placeholder" and not _is_tangent(node)


def _results(joint_module):
    """The values that the graph returns, in a list."""
    (output,) = joint_module.graph.find_nodes(op="output")
    return list(output.args[0]) if isinstance(output.args[0], (tuple, list)) else [output.args[0]]


def _facts(node):
    """`meta["val"]` of a node, or what stands for it where a tracer left that out."""
    return node.meta["val"] if "val" in node.meta else node.meta.get("tensor_meta")


_UNKNOWN = 4096  # elements along what only the data tells


def _bytes(value):
    if isinstance(value, Tensor):
        return hint_int(value.numel(), _UNKNOWN) * value.element_size()
    if isinstance(value, (tuple, list)) and not hasattr(value, "shape"):
        return sum(_bytes(item) for item in value)
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        count = 1
        for size in value.shape:
            count *= hint_int(size, _UNKNOWN)
        return count * value.dtype.itemsize
    return 8


def _may_be_kept(node):
    value = _facts(node)
    return isinstance(value, Tensor) or hasattr(value, "shape") or (value is not None and not isinstance(value, (tuple, list)))


def _entry(target):
    """Name of an operator's row: "add.Tensor"."""
    name, _, overload = str(target).removeprefix("aten.").rpartition(".")
    return name if overload == "default" else f"{name}.{overload}"


def is_random(node):
    """Whether each call of a node gives other numbers."""
    tags = {getattr(tag, "name", tag) for tag in getattr(node.target, "tags", ())}
    return "nondeterministic_seeded" in tags


def _has_effect(node):
    """Whether the call does something beside its result: it writes, or `torch.library` was told so."""
    return getattr(node.target, "_effect", None) is not None or _writes(node)


def _writes(node):
    return getattr(getattr(node.target, "_schema", None), "is_mutable", False)


def may_recompute(node):
    """Whether a node may run again in backward: it is cheap beside reading its inputs, and gives the same."""
    if node.op == "get_attr" or node.target in (operator.getitem, _DETACH):
        return True
    return node.op == "call_function" and str(node.target).startswith("aten.") and not is_random(node) and _cresset_graph.is_cheap(_entry(node.target))


def _is_item(node):
    return node.op == "get_attr" or node.target is operator.getitem


class _Joint:
    """Nodes of a joint graph: those of forward, what each reads, and the values that backward reads."""

    def __init__(self, joint_module, num_fwd_outputs, static=()):
        self.module, self.results = joint_module, _results(joint_module)
        self.fwd_results, self.bwd_results = self.results[:num_fwd_outputs], self.results[num_fwd_outputs:]
        if len(self.fwd_results) < num_fwd_outputs:
            raise ValueError(f"partition: expected at least {num_fwd_outputs} results of the joint graph, got {len(self.results)}")
        self.nodes = [node for node in joint_module.graph.nodes if node.op != "output"]
        self.numbers = {node: i for i, node in enumerate(self.nodes)}
        self.primals = [node for node in self.nodes if _is_primal(node)]
        self.tangents = [node for node in self.nodes if _is_tangent(node)]
        self.static = {self.primals[i] for i in static}
        self.forward = {}
        for node in self.nodes:
            self.forward[node] = not _is_tangent(node) and all(self.forward[n] for n in node.all_input_nodes)

    def leave_to_backward(self):
        """Nodes that no result of forward needs count as those of backward."""
        leads, todo = set(), [node for node in self.fwd_results if isinstance(node, fx.Node)] + [n for n in self.nodes if self.forward[n] and _has_effect(n)]
        while todo:
            node = todo.pop()
            if node not in leads:
                leads.add(node)
                todo += node.all_input_nodes
        for node, forward in self.forward.items():
            # An item of several results is where they are, and a result that a gradient keeps is kept where it is made.
            source = node.args[0] if node.args else None
            taken = (node.target is operator.getitem and self.forward[source]) or (
                node.target is _DETACH and source.target is not _DETACH and self.forward[source]
            )
            self.forward[node] = forward and (node in leads or taken or node.op != "call_function")

    def rows(self, recompute):
        """Rows of `choose_kept`: a node each, `recompute` saying which may run again."""
        needed = {node for node in self.bwd_results if isinstance(node, fx.Node)}
        return [
            (
                [self.numbers[n] for n in node.all_input_nodes],
                0 if node in self.static else _bytes(_facts(node)),
                self.forward[node],
                node in needed,
                recompute(node) and node.op != "placeholder",
                node.op == "placeholder" or _may_be_kept(node),
            )
            for node in self.nodes
        ]

    def kept(self, recompute):
        """Nodes to keep, in the order of the graph. Where forward writes nothing runs again: it would see what was written."""
        if any(self.forward[node] and _writes(node) for node in self.nodes):
            recompute = _is_item
        return [self.nodes[i] for i in _cresset_graph.choose_kept(self.rows(recompute)) if self.nodes[i].op != "get_attr"]

    def split(self, kept):
        """Modules of forward, which returns what is kept after its results, and backward, which takes that before the gradients of the results."""
        sizes = [node for node in kept if _is_number(node)]
        kept = [node for node in kept if node not in sizes] + sizes
        # Random numbers are drawn in eager mode whether anything reads them or not, and operators with effects are called.
        drawn = [node for node in self.nodes if self.forward[node] and (is_random(node) or _has_effect(node))]
        forward = _extracted(self.module, self.primals, [*self.fwd_results, *kept], drawn)
        # Numbers come first among the inputs of backward.
        again = {node for node in self.nodes if self.forward[node]}
        written = [node for node in self.nodes if not self.forward[node] and _writes(node)]
        backward = _extracted(self.module, [*sizes, *[n for n in kept if n not in sizes], *self.tangents], self.bwd_results, written, late=again)
        return forward, backward


def _is_number(node):
    value = _facts(node)
    return value is not None and not isinstance(value, (Tensor, tuple, list)) and not hasattr(value, "shape")


def _extracted(module, inputs, results, also=(), late=()):
    """A module that computes `results` from `inputs`, nodes of the graph of `module`, and runs the nodes in `also`. Those in `late` stand before their first
    reader, so that their values are there for a short time."""
    graph, made = fx.Graph(), {}
    for node in inputs:
        made[node] = placeholder = graph.placeholder(node.name)
        placeholder.meta = dict(node.meta)
    wanted, todo = set(), [*also, *(node for node in results if isinstance(node, fx.Node))]
    while todo:
        node = todo.pop()
        if node in made or node in wanted:
            continue
        if node.op == "placeholder":
            raise RuntimeError(f"partition: {node.name} is read where it is not there")
        wanted.add(node)
        todo += node.all_input_nodes

    def place(node):
        todo = [node]
        while todo:
            needed = [other for other in todo[-1].all_input_nodes if other not in made]
            if needed:
                todo += needed
            elif (ready := todo.pop()) not in made:
                made[ready] = graph.node_copy(ready, made.__getitem__)

    for node in module.graph.nodes:
        if node in wanted and node not in late:
            place(node)
    for node in results:
        if isinstance(node, fx.Node) and node not in made:
            place(node)
    graph.output(tuple(made[node] if isinstance(node, fx.Node) else node for node in results))
    graph.lint()
    return fx.GraphModule(module, graph)


def default_partition(joint_module, _joint_inputs, *, num_fwd_outputs, static_lifetime_input_indices=None, static_lifetime_input_nodes=None):
    """Splits a joint graph so that backward gets each value of forward that it reads, and computes none again.

    Args:
        joint_module: a `GraphModule` of forward and backward, as `aot_function` makes them.
        _joint_inputs: its inputs, which are not looked at.
        num_fwd_outputs: how many of its results are those of forward.
        static_lifetime_input_indices: inputs that stay in memory anyway.

    Returns the modules of forward, whose results are followed by the values that it keeps, and of backward.

    >>> from cresset.functorch.compile import aot_function, nop, default_partition
    >>> x = torch.zeros(2, requires_grad=True)
    >>> aot_function(torch.sin, nop, partition_fn=default_partition)(x).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    joint = _Joint(joint_module, num_fwd_outputs, static_lifetime_input_indices or ())
    joint.leave_to_backward()
    return joint.split(joint.kept(lambda node: False))


def min_cut_rematerialization_partition(joint_module, _joint_inputs, compiler="inductor", *, num_fwd_outputs, static_lifetime_input_indices=None):
    """Splits a joint graph so that the values that forward keeps for backward take the fewest bytes: cheap ones are computed again.

    Products, convolutions, sorts and random numbers are never computed again. Arguments and result are those of `default_partition`.

    >>> from cresset.functorch.compile import aot_function, nop, min_cut_rematerialization_partition
    >>> x = torch.zeros(2, requires_grad=True)
    >>> aot_function(torch.sin, nop, partition_fn=min_cut_rematerialization_partition)(x).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """
    joint = _Joint(joint_module, num_fwd_outputs, static_lifetime_input_indices or ())
    return joint.split(joint.kept(may_recompute))


def draw_graph(traced, fname, figname="fx_graph", clear_meta=True, prog=None, parse_stack_trace=False, dot_graph_shape=None):
    """Writes a picture of a graph to a file, of the kind that its name ends in (.svg without an ending), with
    Graphviz; `.raw` for its input.

    Errors: RuntimeError where Graphviz is not installed.

    >>> import pathlib, tempfile
    >>> from cresset.functorch.compile import draw_graph
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "graph.raw"
    >>> draw_graph(torch.fx.symbolic_trace(lambda x: x + 1), str(file))
    >>> file.read_text().startswith("digraph")
    True
    """
    import copy
    import os

    from ..fx.passes.graph_drawer import FxGraphDrawer

    if clear_meta:
        traced = fx.GraphModule(traced, copy.deepcopy(traced.graph))
        for node in traced.graph.nodes:
            node.meta = {}
    base, extension = os.path.splitext(fname)
    extension = extension or ".svg"
    drawing = FxGraphDrawer(traced, figname, parse_stack_trace=parse_stack_trace, dot_graph_shape=dot_graph_shape).get_main_dot_graph()
    drawing.write(base + extension, extension[1:], **({} if prog is None else {"prog": prog}))
