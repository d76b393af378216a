"""Graphs of operators without their writes: what formulas of gradients write into what they have made becomes values."""

import contextlib

import cresset as torch
from cresset import Tensor

from .. import fx
from .._subclasses.fake_tensor import maybe_get_fake_mode

_aten = torch.ops.aten
_SCATTER = {
    _aten.select.int: _aten.select_scatter.default,
    _aten.slice.Tensor: _aten.slice_scatter.default,
    _aten.diagonal.default: _aten.diagonal_scatter.default,
    _aten.as_strided.default: _aten.as_strided_scatter.default,
}
_RESHAPED = frozenset((_aten.view.default, _aten.unsqueeze.default, _aten.squeeze.dim, _aten.squeeze.default, _aten.squeeze.dims, _aten._unsafe_view.default))


def _writes(node):
    return node.op == "call_function" and getattr(getattr(node.target, "_schema", None), "is_mutable", False)


def _is_view(node):
    return node.op == "call_function" and (node.target in _SCATTER or node.target in _RESHAPED or node.target in (_aten.t.default, _aten.transpose.int, _aten.permute.default, _aten.alias.default, _aten.detach.default, _aten.expand.default))  # fmt: skip


def _same_kind(node):
    """The first value of the sizes and dtype of a node that a copy or an empty tensor was made like."""
    while node.target in (_aten.clone.default, _aten.empty_like.default) and not node.kwargs:
        source = node.args[0]
        ours, theirs = node.meta.get("val"), source.meta.get("val")
        if not isinstance(theirs, Tensor) or (ours.shape, ours.stride(), ours.dtype) != (theirs.shape, theirs.stride(), theirs.dtype):
            break
        node = source
    return node


class _Rewriter:
    def __init__(self, module):
        self.module, self.graph = module, module.graph
        self.roots = {}  # node -> (root, [views from the root to it])
        self.now = {}  # root -> node of its value now
        self.made = {}  # (node, value of its root) -> node of its value
        self.at = None

    def run(self):
        for node in list(self.graph.nodes):
            self.at = node
            if node.op == "output":
                node.args = fx.map_arg(node.args, self.value)
                continue
            if _is_view(node) and isinstance(node.args[0], fx.Node):
                root, views = self.roots.get(node.args[0], (node.args[0], []))
                self.roots[node] = root, [*views, node]
            if _writes(node):
                self.write(node)
            elif not (node in self.roots and self.roots[node][0] in self.now):
                node.args, node.kwargs = fx.map_arg(node.args, self.value), fx.map_arg(node.kwargs, self.value)
        idle = (_aten.clone.default, _aten.empty_like.default)
        for node in reversed(list(self.graph.nodes)):
            if (_writes(node) or _is_view(node) or node.target in idle) and not node.users:
                self.graph.erase_node(node)
        self.module.recompile()
        return self.module

    def call(self, target, *args):
        """A new node before the one that is being looked at."""
        with self.graph.inserting_before(self.at):
            node = self.graph.call_function(target, args)
        with torch.no_grad():
            node.meta["val"] = target(*fx.map_arg(args, lambda given: given.meta["val"]))
        return node

    def value(self, node):
        """The node of what a value is now."""
        root, views = self.roots.get(node, (node, []))
        if root not in self.now:
            return node
        now = self.now[root]
        for view in views:
            key = view, now
            if key not in self.made:
                rest = fx.map_arg(tuple(view.args[1:]), self.value)
                self.made[key] = self.call(view.target, now, *rest)
            now = self.made[key]
        return now

    def write(self, node):
        target = node.args[0]
        part = self.value(target)
        fresh = self.fresh(node, part)
        root, views = self.roots.get(target, (target, []))
        wholes = [self.value(whole) for whole in (root, *views[:-1])][: len(views)]
        repeated = next((k for k, view in enumerate(views) if view.target is _aten.expand.default), len(views))
        if repeated < len(views):
            fresh = self.scatter(views[repeated:], wholes[repeated], fresh)
        for view, whole in zip(reversed(views[:repeated]), reversed(wholes[:repeated]), strict=True):
            fresh = self.put(view, whole, fresh)
        self.now[root] = fresh
        self.roots[node] = self.roots.get(target, (target, []))  # the write gives what it has written

    def fresh(self, node, part):
        """The value that a write leaves."""
        name = node.target.__name__.partition(".")[0]
        args = [fx.map_arg(a, self.value) for a in node.args[1:]]
        if name == "copy_":
            return self.call(_aten.copy.default, part, *args)
        if name == "zero_":
            return self.call(_aten.zeros_like.default, part)
        if node.target is _aten.bernoulli_.float:
            return self.call(_aten.bernoulli.p, _same_kind(part), *(args or [0.5]))  # draws the same numbers
        if name == "transpose_":
            return self.call(_aten.transpose.int, part, *args)
        packet = getattr(_aten, "normal_functional" if name == "normal_" else name.removesuffix("_"), None)
        overload = getattr(packet, node.target.__name__.partition(".")[2] or "default", None)
        if overload is None or not name.endswith("_"):
            raise RuntimeError(f"a graph writes by {node.target}, which has no form without a write")
        return self.call(overload, part, *args)

    def scatter(self, views, whole, part):
        """The value of `whole` with `part` where the views, the first of which repeats elements, lie: by their numbers in `whole`."""
        shape = list(whole.meta["val"].shape)
        with maybe_get_fake_mode(whole.meta["val"]) or contextlib.nullcontext():
            at = self.call(_aten.view.default, self.call(_aten.arange.default, whole.meta["val"].numel()), shape)
        for view in views:
            at = self.call(view.target, at, *fx.map_arg(tuple(view.args[1:]), self.value))
        flat = lambda node: self.call(_aten.reshape.default, node, [-1])  # noqa: E731
        return self.call(_aten.reshape.default, self.call(_aten.index_put.default, flat(whole), [flat(at)], flat(part)), shape)

    def put(self, view, whole, part):
        """The value of `whole` with `part` where the view is."""
        rest = fx.map_arg(tuple(view.args[1:]), self.value)
        if view.target in _SCATTER:
            return self.call(_SCATTER[view.target], whole, part, *rest)
        if view.target in (_aten.t.default, _aten.transpose.int):
            return self.call(view.target, part, *rest)
        if view.target is _aten.permute.default:
            dims = [d % len(rest[0]) for d in rest[0]]
            return self.call(view.target, part, [dims.index(i) for i in range(len(dims))])
        if view.target in (_aten.alias.default, _aten.detach.default):
            return part
        return self.call(_aten.reshape.default, part, list(whole.meta["val"].shape))


def without_writes(module):
    """The module, whose graph has values in place of writes to what it has made itself. Each node must have `meta["val"]`.

    Errors: RuntimeError for a write that has no such form.
    """
    return _Rewriter(module).run() if any(_writes(node) and isinstance(node.args[0].meta.get("val"), Tensor) for node in module.graph.nodes) else module
