"""Operators that PyTorch's table has and ours has not become the rows that compute them, so that programs of C++ run them."""

import functools
import operator
from unittest import mock

from _cresset import Tensor

import cresset as torch

from .. import fx
from .._core import aten_extra, aten_gradients
from .._core.operators import OpOverload
from .._decomp.decompositions import FORMULAS
from .._functorch._capture import without_detach
from .._modes import stack
from .._subclasses.fake_tensor import maybe_get_fake_mode
from ..fx.experimental.proxy_tensor import make_fx

_aten = torch.ops.aten


@functools.cache
def _operator_of(entry):
    """The row as an operator with a schema of its own, where PyTorch's operator of this name has another one."""
    overload = torch.ops._overload_of(entry)
    return overload if overload._entry is not None else OpOverload(overload.overloadpacket, overload._overloadname, entry=entry)


def _recorded_row(entry):
    """The row, which graphs record."""
    overload = _operator_of(entry)
    return lambda *args, **kwargs: stack.present(overload, *args, **kwargs)


def _scattered(scatter):
    """The gradient of a view: zeros, but for the part that is viewed."""
    return lambda grad, sizes, *rest: scatter(_aten.zeros.default(list(sizes), dtype=grad.dtype), grad, *rest)


# Their functions write into views, or ask for gradients, which graphs hold under these names.
_OTHERWISE = {
    _aten.mse_loss_backward.default: FORMULAS["mse_loss_backward"],
    _aten.glu_backward.default: FORMULAS["glu_backward"],
    _aten.select_backward.default: _scattered(_aten.select_scatter.default),
    _aten.slice_backward.default: _scattered(_aten.slice_scatter.default),
    _aten.diagonal_backward.default: _scattered(_aten.diagonal_scatter.default),
}


def is_foreign(node):
    """Whether a node calls an operator of PyTorch's table that no row of ours is."""
    return node.op == "call_function" and isinstance(node.target, OpOverload) and node.target._entry is None and node.target.namespace == "aten"


def _key(value):
    if isinstance(value, Tensor):
        return tuple(value.shape), value.stride(), value.dtype
    if isinstance(value, (tuple, list)):
        return tuple(map(_key, value))
    if isinstance(value, dict):
        return tuple((name, _key(v)) for name, v in value.items())
    return type(value), value


class _Lowering:
    def __init__(self, module):
        self.module, self.graph = module, fx.Graph()
        self.made, self.known = {}, {}

    def run(self):
        """The new module."""
        for node in self.module.graph.nodes:
            if node.target is operator.getitem and isinstance(self.made[node.args[0]], tuple):
                self.made[node] = self.made[node.args[0]][node.args[1]]
            elif not is_foreign(node) or not self._replace(node):
                self.made[node] = self.graph.node_copy(node, self.made.__getitem__)
        return fx.GraphModule(self.module, self.graph)

    def _replace(self, node):
        """Puts the rows of an operator in its place. False where that cannot be."""
        given = fx.map_arg((node.args, node.kwargs), lambda n: n.meta.get("val"))
        nodes, places = node.all_input_nodes, []
        fx.map_arg((node.args, node.kwargs), lambda n: places.append(nodes.index(n)))
        try:
            key = (node.target, tuple(places), *map(_key, given))
            body = self.known.get(key) or self.known.setdefault(key, _body(node.target, *given))
        except Exception:  # one that needs numbers, or writes
            return False
        if len(body.graph.find_nodes(op="placeholder")) != len(nodes):  # two nodes with one value
            return False
        inputs, inside = iter(nodes), {}
        for other in body.graph.nodes:
            if other.op == "placeholder":
                inside[other] = self.made[next(inputs)]
            elif other.op == "output":
                found = fx.map_arg(other.args[0], inside.__getitem__)
            else:
                inside[other] = self.graph.node_copy(other, inside.__getitem__)
        self.made[node] = tuple(found) if isinstance(found, (tuple, list)) else found
        return True


def _body(target, args, kwargs):
    """The graph of an operator, whose inputs are the tensors among its arguments, each once."""
    flat = []

    def note(value):
        if isinstance(value, Tensor) and not any(value is known for known in flat):
            flat.append(value)
        return value

    torch.utils._pytree.tree_map(note, (args, kwargs))
    function = _OTHERWISE.get(target, target._call)

    def run(*tensors):
        def swapped(value):
            return next((t for known, t in zip(flat, tensors, strict=True) if known is value), value) if isinstance(value, Tensor) else value

        given, named = torch.utils._pytree.tree_map(swapped, (args, kwargs))
        return function(*given, **named)

    return _traced(run, flat, target)


def _traced(run, flat, target):
    """The graph of a function of tensors, which computes `target`. Errors: operators in it that are no rows, or that write."""
    mode = maybe_get_fake_mode(flat[0])
    with torch.no_grad(), mode, mock.patch.object(aten_extra, "_row", _recorded_row):
        body = lowered(without_detach(make_fx(run, _allow_non_fake_inputs=True)(*flat)))
    if any(is_foreign(n) or getattr(getattr(n.target, "_schema", None), "is_mutable", False) for n in body.graph.nodes if n.op == "call_function"):
        raise NotImplementedError(f"{target} is not made of rows alone")
    return body


def with_shared_layers(joint):
    """The joint graph of forward and backward with rows in the place of recurrent layers whose gradient computes forward again: backward reads what forward
    has found."""
    for back in joint.graph.find_nodes(op="call_function", target=_aten.mkldnn_rnn_layer_backward.default):
        output = back.args[7]
        layer = output.args[0] if output.target is operator.getitem else None
        if layer is None or layer.target is not _aten.mkldnn_rnn_layer.default or layer.args[:7] != back.args[:7] or layer.meta["val"][0].itemsize < 4:
            continue
        try:
            _share(joint.graph, layer, back)
        except NotImplementedError:  # it stays as it is
            continue
    joint.graph.eliminate_dead_code()
    return joint


def _share(graph, layer, back):
    inputs, grads = layer.args[:7], back.args[10:13]
    nodes = list(dict.fromkeys(n for n in (*inputs, *grads) if n is not None))
    reverse, mode, has_biases = layer.args[7], layer.args[9], layer.args[12]

    def run(*tensors):
        at = lambda n: None if n is None else tensors[nodes.index(n)]  # noqa: E731
        out, found = aten_gradients.lstm_layer_and_gradients([at(n) for n in inputs], tuple(map(at, grads)), reverse, mode, has_biases)
        return (*out, *found)

    body = _traced(run, [n.meta["val"] for n in nodes], back.target)
    rows, later = {}, set(grads)
    for node, other in zip(nodes, body.graph.find_nodes(op="placeholder"), strict=True):
        rows[other] = node
    for other in body.graph.nodes:
        if other.op == "output":
            found = [rows[n] for n in other.args[0]]
        elif other.op != "placeholder":
            of_gradients = any(rows[n] in later for n in other.all_input_nodes)
            with graph.inserting_before(back if of_gradients else layer):
                made = rows[other] = graph.node_copy(other, rows.__getitem__)
            if of_gradients:
                later.add(made)
            # Only the sizes of the gates are asked for, which what is kept for the gradient has, too.
            if made.target is _aten._rnn_layer_backward.default and made.args[3].meta["val"].shape == made.args[9].meta["val"].shape:
                made.update_arg(3, made.args[9])
    for user in [*layer.users, *back.users]:
        if user.target is operator.getitem and (user.args[0] is back or user.args[1] < 3):
            user.replace_all_uses_with(found[user.args[1] + (3 if user.args[0] is back else 0)])


def lowered(module):
    """The module with rows in the place of operators that Python computes; others stay.

    >>> from cresset._inductor.lowering import lowered
    >>> from cresset.fx.experimental.proxy_tensor import make_fx
    >>> graph = make_fx(lambda x: torch.ops.aten._unsafe_view(x, [4]))(torch.zeros(2, 2))
    >>> [str(node.target) for node in lowered(graph).graph.nodes if node.op == "call_function"]
    ['aten.view.default']
    """
    return _Lowering(module).run() if any(map(is_foreign, module.graph.nodes)) else module
