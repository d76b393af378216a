"""Parts of a graph that are captured as operators: transforms of functions (vmap, grad, jvp), control flow, and what else calls functions in its own way."""

import contextlib

from _cresset import Tensor

from ... import fx
from ..._core.symbolic import SymBool
from ...fx.experimental import proxy_tensor
from ...fx.experimental._proxy_symbols import UnknownNumber
from ...fx.experimental._proxy_tracer import PythonKeyTracer
from ..._subclasses.fake_tensor import maybe_get_fake_mode
from ...utils._pytree import tree_flatten, tree_unflatten
from . import objects
from .signals import Break


def captured(machine, function, args, kwargs):
    """The result of a call, whose operators become nodes."""
    tracer = machine.world.tracer
    flat, spec = tree_flatten((tuple(args), dict(kwargs)))
    numbers = [i for i, leaf in enumerate(flat) if isinstance(leaf, Tensor)]
    flat = [leaf if isinstance(leaf, (Tensor, SymBool)) else objects.callback(machine, leaf) for leaf in flat]
    if tracer.in_region:  # its operators are nodes of the region around it
        given, named = tree_unflatten(flat, spec)
        return function(*given, **named)
    found = []

    def run(*tensors):
        leaves = list(flat)
        for i, tensor in zip(numbers, tensors, strict=True):
            leaves[i] = tensor
        given, named = tree_unflatten(leaves, spec)
        found[:] = [function(*given, **named)]
        return tree_flatten(found[0])[0]

    given = [flat[i] for i in numbers]
    try:
        module, inputs = _region(machine, run, given)
    except UnknownNumber as error:
        if not any(isinstance(leaf, SymBool) for leaf in flat):
            raise Break(f"a size from around a function: {error}") from None
        # A branch uses an integer that no tensor has: the condition is decided, so that the other branch is not in the graph.
        return captured(machine, function, *tree_unflatten([bool(leaf) if isinstance(leaf, SymBool) else leaf for leaf in flat], spec))
    if any(callable(leaf) and not isinstance(leaf, Tensor) for leaf in tree_flatten(found[0])[0]):
        raise Break("a transform that gives a function")
    _copy(tracer, module, inputs, tree_flatten(found[0])[0])
    return found[0]


def _region(machine, function, tensors):
    """The graph of a function of tensors, while the frame's own is not written."""
    tracer = machine.world.tracer
    with tracer.silence():
        tracer.in_region = True
        try:
            return _graph_of(function, tensors, machine.world.shapes)
        finally:
            tracer.in_region = False


class _RegionTracer(PythonKeyTracer):
    """Numbers of symbolic shapes that no tensor of the region has become inputs."""

    def __init__(self, inputs, shapes):
        super().__init__()
        self.inputs, self.shapes = list(inputs), shapes
        self.fake_mode = next((mode for mode in map(maybe_get_fake_mode, inputs) if mode is not None), None)

    def number_from_around(self, value):
        first = next((node for node in self.graph.nodes if node.op != "placeholder"), None)
        with self.graph.inserting_before(first) if first is not None else contextlib.nullcontext():
            node = self.create_node("placeholder", f"number{len(self.inputs)}", (), {})
        self.inputs.append(value)
        return node

    def tensor_of_size(self, value):
        """A tensor of the region, or one from outside of the frame."""
        found = super().tensor_of_size(value)
        return self.shapes.tensor_of_size(value) if found is None and self.shapes is not None else found


def _graph_of(function, tensors, shapes):
    """The graph of a function of tensors, and its inputs: the tensors, then numbers of symbolic shapes."""
    tracer = _RegionTracer(tensors, shapes)
    mode = proxy_tensor.ProxyTorchDispatchMode(tracer)
    with mode:
        module = proxy_tensor.dispatch_trace(
            proxy_tensor.wrap_key(proxy_tensor.fake_signature(function, len(tensors)), tuple(tensors), tracer), tracer, (fx.PH,) * len(tensors)
        )
    return module, tracer.inputs


def _copy(tracer, module, inputs, outputs):
    """Adds the nodes of a graph, whose inputs are known tensors and numbers; `outputs` are its results."""
    nodes, given = {}, iter(inputs)
    tracer._note_modes()
    for node in module.graph.nodes:
        if node.op == "placeholder":
            nodes[node] = tracer.argument(next(given))
        elif node.op == "get_attr":
            value = module
            for part in node.target.split("."):
                value = getattr(value, part)
            nodes[node] = tracer.node_of(value) if isinstance(value, Tensor) else tracer.attribute(value, "_branch")
        elif node.op == "output":
            results = node.args[0] if isinstance(node.args[0], (list, tuple)) else [node.args[0]]
            for result, value in zip(results, outputs, strict=True):
                if isinstance(value, Tensor):
                    if not isinstance(result, fx.Node):
                        raise Break("a transform whose result is a constant")
                    if tracer._is_new(value):
                        tracer.nodes[id(value)] = value, nodes[result]
        else:
            nodes[node] = tracer.graph.node_copy(node, lambda n: nodes[n])
            tracer.num_ops += 1
