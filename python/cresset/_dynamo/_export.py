"""`torch._dynamo.export`: one graph of a function's own arguments."""

import collections
import contextlib
import inspect

import _cresset
from _cresset import Tensor

import cresset as torch

from ..fx import Graph, GraphModule, Interpreter
from .._subclasses.fake_tensor import FakeTensorMode
from ..fx import traceback as fx_traceback
from ..fx.experimental._guards import GuardPrinter
from ..fx.experimental.proxy_tensor import make_fx
from ..fx.experimental.symbolic_shapes import ShapeEnv
from ..fx.graph import _PyTreeCodeGen, _PyTreeInfo
from ..utils._pytree import tree_flatten, tree_unflatten
from . import config, eval_frame, exc
from .decorators import mark_dynamic

ExportResult = collections.namedtuple("ExportResult", "graph_module guards")
_NUMBERS = (bool, int, float, str)


class _Arguments:
    """Checks what a graph relies on of its arguments before it runs. Errors: AssertionError with the condition that does not hold."""

    def __init__(self, spec, numbers, conditions):
        self.spec, self.numbers, self.conditions = spec, numbers, conditions

    def __call__(self, module, args, kwargs):
        leaves, spec = tree_flatten((args, kwargs))
        if spec != self.spec or any(isinstance(leaf, Tensor) and _cresset._fake_mode_of(leaf) is not None for leaf in leaves):
            return
        for i, number in self.numbers.items():
            if type(leaves[i]) in _NUMBERS and leaves[i] != number:
                raise AssertionError(f"Guard failed: the graph was exported for the argument {number!r}, got {leaves[i]!r}")
        for text in self.conditions:
            if not GuardPrinter.evaluate(text, leaves):
                sizes = [tuple(leaf.shape) for leaf in leaves if isinstance(leaf, Tensor)]
                raise AssertionError(f"Guard failed: {text}, for tensors of the sizes {sizes}")


class _Capture:
    """The capture of a frame: its graph over the leaves of the arguments, and the leaves of its result."""

    def __init__(self, args, kwargs):
        self.leaves, self.spec = tree_flatten((args, kwargs))
        self.graph = None

    def __call__(self, world, value):
        tracer = world.tracer
        results = [self._result(tracer, leaf) for leaf in tree_flatten(value)[0]]
        tracer.finish_modes()
        outside = {id(fake): held for fake, held, _ in world.tensors}
        known = {id(held): fake for fake, held, _ in world.tensors}
        self.graph, self.root, self.fakes, copied = Graph(), tracer.root, [known.get(id(leaf), leaf) for leaf in self.leaves], {}
        nodes = [self._leaf(i, tracer, outside) for i in range(len(self.leaves))]
        for _, node, fake in tracer.inputs:
            held = outside.get(id(fake))
            i = next((i for i, leaf in enumerate(self.leaves) if leaf is held), None)
            copied[node] = nodes[i] if i is not None else self._kept(node, held)
        for node in tracer.graph.nodes:
            if node.op not in ("placeholder", "output"):
                copied[node] = self.graph.node_copy(node, copied.__getitem__)
        self.env = world.shapes.env if world.shapes is not None else None
        self.results = [copied[r] if isinstance(r, torch.fx.Node) else r for r in results]

    @staticmethod
    def _result(tracer, leaf):
        try:
            found = tracer.argument(leaf)
        except exc.TorchDynamoException:
            raise
        except Exception:
            return tracer.attribute(leaf)
        return tracer.attribute(leaf) if callable(leaf) else found

    def _leaf(self, i, tracer, outside):
        known = next(((node, fake) for _, node, fake in tracer.inputs if outside.get(id(fake)) is self.leaves[i]), None)
        node = self.graph.placeholder(f"arg{i}")
        if known is not None:
            node.meta = dict(known[0].meta)
        return node

    def _kept(self, node, held):
        """The node of a tensor that is no argument: an attribute of the module."""
        if held is None:
            raise exc.Unsupported(f"torch._dynamo.export: {node.name} is a number of its own, which no argument has")
        if isinstance(held, torch.nn.Parameter):
            setattr(self.root, node.name, held)
        else:
            self.root.register_buffer(node.name, held)
        made = self.graph.get_attr(node.name)
        made.meta = dict(node.meta)
        return made

    def module(self, result):
        """The module of the graph, whose result is nested like `result`."""
        flat, self.out_spec = tree_flatten(result)
        if len(self.results) != len(flat):
            raise exc.Unsupported(f"torch._dynamo.export: the function returns {len(flat)} values, of which the graph has {len(self.results)}")
        self.graph.output(tuple(self.results))
        return GraphModule(self.root, self.graph)

    def conditions(self):
        """The conditions on sizes that the graph relies on, as texts over L['t0'], L['t1'], ..."""
        return _conditions(self.env, self.fakes)


def _conditions(env, fakes):
    if env is None:
        return []
    held = [(leaf, f"L['t{i}']") for i, leaf in enumerate(fakes) if isinstance(leaf, Tensor) and _cresset._fake_mode_of(leaf) is not None]
    with _unwatched():
        return GuardPrinter(env, [leaf for leaf, _ in held], [text for _, text in held], ignore_static=False).conditions()


def _open(leaves):
    """Fake tensors of open sizes, each with a symbol of its own."""
    mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv(duck_shape=False))
    fake = lambda i, t: mode.from_tensor(t.detach().requires_grad_(t.requires_grad), static_shapes=False, source=f"L['t{i}']")  # noqa: E731
    return [fake(i, leaf) if isinstance(leaf, Tensor) else leaf for i, leaf in enumerate(leaves)]


@contextlib.contextmanager
def _unwatched():
    before = _cresset._fake_swap(None)
    try:
        yield
    finally:
        _cresset._fake_swap(before)


def exported(function, args, kwargs, *, aten_graph, static, tracing_mode, decompositions, dynamic_shapes, pre_dispatch, same_signature):
    """The graph of a function for example arguments, as a module of the same arguments; sizes are open unless `static`."""
    compiler = eval_frame.Compiler("eager", fullgraph=True)
    capture = compiler.exporting = _Capture(args, kwargs)
    function = function._orig_mod if isinstance(function, eval_frame.OptimizedModule) else eval_frame.innermost_fn(function)
    names = _names(function, args, kwargs)
    with config.patch(assume_static_by_default=static), _marked(function, args, kwargs, dynamic_shapes):
        result = eval_frame.compiled(function, compiler)(*args, **kwargs)
    if capture.graph is None:
        raise exc.Unsupported("torch._dynamo.export: the function is not captured")
    module = capture.module(result)
    guards = [line for *_, entry in compiler.region.entries() for line in entry.guards.text().splitlines()]
    closed = static and dynamic_shapes is None
    conditions = [] if closed else capture.conditions()
    if aten_graph:
        # Nodes of operators keep what is noted on the nodes that they come from.
        with fx_traceback.preserve_node_meta():
            mode, run = "real" if closed else tracing_mode, Interpreter(module).run
            given = _open(capture.leaves) if mode == "symbolic" else capture.leaves
            module = make_fx(run, decomposition_table=decompositions, tracing_mode=mode, _allow_non_fake_inputs=True, pre_dispatch=pre_dispatch)(*given)
        inputs = module.graph.find_nodes(op="placeholder")
        for i, node in enumerate(inputs):
            node._rename(f"arg{i}")
            node.target = node.name
        if mode == "symbolic":
            conditions += _conditions(module.shape_env, [node.meta.get("val") for node in inputs])
        module.recompile()
    if same_signature:
        module.graph.set_codegen(_PyTreeCodeGen(_PyTreeInfo(names, capture.spec, capture.out_spec)))
        module.recompile()
        numbers = {i: leaf for i, leaf in enumerate(capture.leaves) if type(leaf) in _NUMBERS}
        module.register_forward_pre_hook(_Arguments(capture.spec, numbers, conditions), with_kwargs=True)
    return ExportResult(module, guards)


def _names(function, args, kwargs):
    """Names of the arguments as they are given."""
    try:
        parameters = list(inspect.signature(function.forward if isinstance(function, torch.nn.Module) else function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "arg")
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [plain[i] if i < len(plain) else f"{rest}_{i - len(plain)}" for i in range(len(args))] + list(kwargs)


@contextlib.contextmanager
def _marked(function, args, kwargs, dynamic_shapes):
    """In its scope the dimensions that `dynamic_shapes` has a Dim for are marked as open."""
    if dynamic_shapes is None:
        yield
        return
    from ..export._shapes import _specs
    from ..export.dynamic_shapes import Dim, _NO_BOUND, combined

    before = []
    for tensor, dims in _specs(combined(function, args, kwargs), dynamic_shapes):
        before.append((tensor, dict(tensor.__dict__)))
        for d, dim in enumerate(dims):
            if isinstance(dim, Dim):
                mark_dynamic(tensor, d, min=dim.min, max=None if dim.max is _NO_BOUND else dim.max)
    try:
        yield
    finally:
        for tensor, attributes in before:
            tensor.__dict__.clear()
            tensor.__dict__.update(attributes)
