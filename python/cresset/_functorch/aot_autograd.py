"""Forward and backward of a function captured ahead of time, as graphs for a compiler: `aot_function`, `aot_module` and graphs for export.

>>> from cresset.functorch.compile import aot_function
>>> def show(graph, inputs):
...     print(graph.code.strip())
...     return graph
>>> aot_function(lambda x: x.sin() * 2, show)(torch.zeros(2))
def forward(self, arg0_1):
    sin = torch.ops.aten.sin.default(arg0_1);  arg0_1 = None
    mul = torch.ops.aten.mul.Tensor(sin, 2);  sin = None
    return (mul,)
tensor([0., 0.])
"""

import contextlib
import dataclasses
import functools
import itertools

from _cresset import Tensor

import cresset as torch

from .. import nn
from .._higher_order_ops.effects import new_token_tensor
from .._subclasses.fake_tensor import is_fake, maybe_get_fake_mode
from ..utils._pytree import tree_flatten, tree_unflatten
from . import _capture
from ._bases import over_bases, shared_memory
from ._boxed import call_boxed, make_boxed_compiler, make_boxed_func
from ._sizes import Sizes
from .partitioners import default_partition

__all__ = ["BackwardSignature", "GraphSignature", "aot_export_joint_simple", "aot_export_module", "aot_function", "aot_module", "aot_module_simplified",
           "compiled_function", "compiled_module", "get_aot_compilation_context", "get_aot_graph_name", "get_graph_being_compiled", "make_boxed_compiler",
           "make_boxed_func"]  # fmt: skip

_counter = itertools.count()
_compiling = []  # names of the graphs that are being compiled: (kind, number)


# ---- the graph that is being compiled -------------------------------------------------------------------------------------


@contextlib.contextmanager
def _compiling_graph(number, kind):
    _compiling.append((f"{number}_{kind}", next(_counter)))
    try:
        yield
    finally:
        _compiling.pop()


def get_aot_compilation_context():
    """The kinds of the graphs that are being compiled, the name of the model, and the number of the graph.

    >>> from cresset.functorch.compile import get_aot_compilation_context
    >>> get_aot_compilation_context()
    ([], 'model', 0)
    """
    return [kind for kind, _ in _compiling], "model", _compiling[-1][1] if _compiling else 0


def get_aot_graph_name():
    """Name of the graph that a compiler is looking at.

    >>> from cresset.functorch.compile import aot_function, get_aot_graph_name
    >>> def compiler(graph, inputs):
    ...     print(get_aot_graph_name().startswith("model__"))
    ...     return graph
    >>> aot_function(torch.sin, compiler)(torch.zeros(1))
    True
    tensor([0.])
    """
    kinds, model, number = get_aot_compilation_context()
    return f"{model}__{'_'.join(kinds)}_{number}"


get_graph_being_compiled = get_aot_graph_name


# ---- running --------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class _Settings:
    fw_compiler: object
    bw_compiler: object = None
    partition_fn: object = default_partition
    decompositions: dict | None = None
    num_params_buffers: int = 0
    inference_compiler: object = None
    keep_inference_input_mutations: bool = False
    dynamic: bool = False
    functional: bool = True  # writes are values in graphs
    number: int = dataclasses.field(default_factory=_counter.__next__)


def _compiled_forward(flat_fn, facts, flat, settings):
    """A function from flat inputs to the graph's results, for calls without gradients, and what is left to be done with these."""
    graph = _capture.trace_forward(flat_fn, facts, flat, settings.decompositions, functional=settings.functional)
    if settings.keep_inference_input_mutations and facts.mutated and settings.functional:
        _capture.write_inputs(graph, facts.mutated, facts.tokens)
        facts = dataclasses.replace(facts, mutated=[])
    with _compiling_graph(settings.number, "inference"):
        compiled = (settings.inference_compiler or settings.fw_compiler)(graph, [*_tokens(facts.tokens), *flat])

    def run(inputs):
        with torch.no_grad():
            return call_boxed(compiled, [*_tokens(facts.tokens), *inputs])[facts.tokens :]

    return run, facts


def _tokens(count):
    return [new_token_tensor() for _ in range(count)]


class _Halves:
    """Compiled forward and backward of a function."""

    def __init__(self, flat_fn, facts, flat, settings, sizes=None):
        self.sizes = sizes
        joint = _capture.trace_joint(flat_fn, facts, flat, settings.decompositions, functional=settings.functional)
        self.num_results = len(facts.differentiable)
        self.tokens, self.backward_tokens = facts.tokens, facts.backward_tokens
        given = [*_tokens(self.tokens), *flat]
        tangents = [node.meta["val"] for node in joint.graph.find_nodes(op="placeholder")[len(given) :]]
        self.strides = [tangent.stride() for tangent in tangents[: len(tangents) - self.backward_tokens]]
        static = list(range(self.tokens, self.tokens + settings.num_params_buffers))
        options = {"static_lifetime_input_indices": static} if static else {}
        forward, backward = settings.partition_fn(joint, [given, tangents], num_fwd_outputs=self.tokens + self.num_results, **options)
        self.wanted = [_capture.wants_gradient(leaf) for leaf in flat]
        self.differentiable, self.mutated = facts.differentiable, facts.mutated
        with _compiling_graph(settings.number, "forward"):
            self.forward = settings.fw_compiler(forward, given)
        inputs = [node.meta.get("val") for node in backward.graph.find_nodes(op="placeholder")]
        with _compiling_graph(settings.number, "backward"):
            self.backward = (settings.bw_compiler or settings.fw_compiler)(backward, inputs)

    def __call__(self, flat):
        return _Step.apply(self, *flat)


def _laid_out(tensor, strides):
    """A tensor with the strides that the graph was made for."""
    if tensor.stride() == strides:
        return tensor
    return torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=tensor.device).copy_(tensor)


def _lies_in(value, storages):
    return isinstance(value, Tensor) and value.layout is torch.strided and value.untyped_storage()._cdata in storages


class _Step(torch.autograd.Function):
    """One run of both halves. Values that forward keeps are saved; numbers among them are kept beside the tensors."""

    @staticmethod
    def forward(ctx, halves, *flat):
        found = list(call_boxed(halves.forward, [*_tokens(halves.tokens), *flat]))[halves.tokens :]
        results, kept = found[: halves.num_results], found[halves.num_results :]
        # After this run inputs are written, and all that lies in their storages counts as changed, while backward reads what it was.
        written = {flat[i].untyped_storage()._cdata for i in halves.mutated}
        kept = [value.clone() if written and _lies_in(value, written) else value for value in kept]
        ctx.halves = halves
        ctx.strides = halves.strides if halves.sizes is None else halves.sizes.plain(halves.strides, halves.sizes.bound(flat))
        ctx.numbers = [value for value in kept if not isinstance(value, Tensor)]
        ctx.save_for_backward(*[value for value in kept if isinstance(value, Tensor)])
        ctx.mark_non_differentiable(*[r for r, has in zip(results, halves.differentiable, strict=True) if isinstance(r, Tensor) and not has])
        return tuple(results)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, *grads):
        halves, kept = ctx.halves, [*ctx.numbers, *ctx.saved_tensors]  # as backward takes them
        tangents = [g for g, has in zip(grads, halves.differentiable, strict=True) if has]
        tangents = [_laid_out(g, strides) for g, strides in zip(tangents, ctx.strides, strict=True)]
        found = list(call_boxed(halves.backward, [*kept, *tangents, *_tokens(halves.backward_tokens)]))
        return (None, *found[: len(found) - halves.backward_tokens])


def _with_updates(run, facts, sizes=None):
    """Runs a compiled graph and does what the graph does not: writes inputs, and gives results that are inputs or views of them."""

    def call(flat):
        found = list(run(flat))
        for i, value in zip(facts.mutated, found[: len(facts.mutated)], strict=True):
            with torch.no_grad() if i in facts.unrecorded else contextlib.nullcontext():
                flat[i].copy_(value)
        values = iter(found[len(facts.mutated) :])
        options = ()
        if sizes is not None:
            bound = sizes.bound(flat)
            options = (lambda value: sizes.plain(value, bound),)
        outs = [next(values) if kind == "value" else facts.result(number, flat, *options) for number, (kind, _) in enumerate(facts.out_kinds)]
        return tree_unflatten(outs, facts.out_spec)

    return call


def _compile(flat_fn, flat, settings, sizes=None, real=None):
    """A runner of a function of inputs like `flat`; where these are of open sizes, `real` are those at hand."""
    facts = _capture.look(flat_fn, flat)
    shared = shared_memory(real or flat, facts.mutated)
    if shared and sizes is not None:
        return lambda flat: flat_fn(*flat)
    if shared:
        return over_bases(flat_fn, facts, flat, shared, lambda fn, inputs: _compile(fn, inputs, settings))
    if torch.is_grad_enabled() and any(_capture.wants_gradient(leaf) for leaf in flat):
        return _with_updates(_Halves(flat_fn, facts, flat, settings, sizes), facts, sizes)
    return _with_updates(*_compiled_forward(flat_fn, facts, flat, settings), sizes)


def _key(leaf):
    if not isinstance(leaf, Tensor):
        return (type(leaf), leaf)
    strides = leaf.stride() if leaf.layout is torch.strided else ()
    return tuple(leaf.shape), strides, leaf.dtype, leaf.device, leaf.requires_grad, leaf.layout


def _kind(leaf):
    """The same without sizes."""
    return (leaf.dim(), leaf.dtype, leaf.device, leaf.requires_grad, leaf.layout) if isinstance(leaf, Tensor) else _key(leaf)


class _Compiled:
    """A function with its compiled graphs, one for each kind of inputs: shapes (or conditions on them), dtypes, whether gradients are wanted, values that are no
    tensors."""

    def __init__(self, settings):
        self.settings, self.known = settings, {}

    def __call__(self, fn, args, kwargs):
        flat, spec = tree_flatten((args, kwargs))
        shared = shared_memory(flat, range(len(flat)))
        if self.settings.dynamic:
            key = (str(spec), torch.is_grad_enabled(), *map(_kind, flat), *((first, second) for first, second, _ in shared))
        else:
            key = (str(spec), torch.is_grad_enabled(), *map(_key, flat), *shared)

        def flat_fn(*leaves):
            given, named = tree_unflatten(list(leaves), spec)
            return fn(*given, **named)

        if self.settings.dynamic:
            return self._of_open_sizes(key, flat_fn, flat)(flat)
        if key not in self.known:
            self.known[key] = _compile(flat_fn, flat, self.settings)
        return self.known[key](flat)

    def _of_open_sizes(self, key, flat_fn, flat):
        known = self.known.setdefault(key, [])
        for sizes, run in known:
            if sizes.hold(flat):
                return run
        sizes = Sizes(flat)
        run = sizes.settled(lambda: _compile(flat_fn, sizes.fakes, self.settings, sizes, flat))
        known.append((sizes, run))
        return run


def _settings(fw_compiler, bw_compiler, partition_fn, **others):
    if not callable(fw_compiler):
        raise TypeError(f"aot_autograd: expected a compiler, a function of a graph and its inputs, got {type(fw_compiler).__name__}")
    return _Settings(fw_compiler, bw_compiler, partition_fn, **others)


def _refuse(caller, **flags):
    for name, value in flags.items():
        if value:
            raise NotImplementedError(f"{caller}: {name}={value!r} is not supported")


def aot_function(fn, fw_compiler, bw_compiler=None, partition_fn=default_partition, decompositions=None, num_params_buffers=0,
                 keep_inference_input_mutations=False, inference_compiler=None, *, dynamic=False, enable_log=True, disable_functionalization=False,
                 _disable_torch_fn_metadata_mode=False):  # fmt: skip
    """A function that computes what `fn` does, by graphs of its forward and backward that compilers get at the first call with inputs of a kind.

    Args:
        fn: a function of tensors, and other values, in nested containers. It may write its inputs.
        fw_compiler: a function (GraphModule, inputs) that returns what runs in its place: a function of the inputs, or a boxed one, of a list of them.
        bw_compiler: the same for backward; `fw_compiler` by default.
        partition_fn: how a graph of forward and backward is split: `default_partition`, `min_cut_rematerialization_partition`.
        decompositions: {overload of `torch.ops`: function that is traced in its place}.
        num_params_buffers: how many of the first inputs stay in memory anyway.
        inference_compiler: for calls without gradients; `fw_compiler` by default.
        dynamic: sizes of inputs stay open; inputs that break a condition on sizes are captured anew. Compilers get fake tensors.
        disable_functionalization: graphs write where the function does, to copies of inputs that require gradients. Results are the same.
        _disable_torch_fn_metadata_mode: nothing: nodes name no functions of the front end here.

    Else the graphs hold no writes, but with `keep_inference_input_mutations` for those of inputs in graphs without gradients: what an input becomes is a result, which is written after the graph has run. Results that are views of inputs are made anew
    of these. Inputs of other shapes are captured anew, unless sizes are open. Errors: RuntimeError for second derivatives, and for what `make_fx` cannot trace.

    >>> from cresset.functorch.compile import aot_function, nop
    >>> aot_function(torch.sin, nop)(torch.zeros(2))
    tensor([0., 0.])
    """
    compiled = _Compiled(
        _settings(
            fw_compiler, bw_compiler, partition_fn, decompositions=decompositions, num_params_buffers=num_params_buffers,
            inference_compiler=inference_compiler, keep_inference_input_mutations=keep_inference_input_mutations, dynamic=dynamic,
            functional=not disable_functionalization,
        )
    )  # fmt: skip

    @functools.wraps(fn, updated=())
    def returned_function(*args, **kwargs):
        return compiled(fn, args, kwargs)

    return returned_function


class _Module(nn.Module):
    def __init__(self, mod, options):
        super().__init__()
        self.orig_module = mod

        def call(parameters, buffers, args, kwargs):
            return torch.func.functional_call(mod, {**parameters, **buffers}, args, kwargs)

        self._call = aot_function(call, *options[0], **options[1])

    def forward(self, *args, **kwargs):
        """The module's result, by its graphs."""
        return self._call(dict(self.orig_module.named_parameters()), dict(self.orig_module.named_buffers()), args, kwargs)


def aot_module(mod, *args, **kwargs):
    """A module that computes what `mod` does, by graphs of its forward and backward; its parameters and buffers are inputs of these, and are those of `mod`.

    The other arguments are those of `aot_function`.

    >>> from cresset.functorch.compile import aot_module, nop
    >>> aot_module(nn.ReLU(), nop)(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """
    if not isinstance(mod, nn.Module):
        raise TypeError(f"aot_module: expected a module, got {type(mod).__name__}")
    return _Module(mod, (args, kwargs))


compiled_function, compiled_module = aot_function, aot_module


def aot_module_simplified(mod, args, fw_compiler, bw_compiler=None, partition_fn=default_partition, decompositions=None,
                          keep_inference_input_mutations=False, inference_compiler=None, compiler_config_extra=None, ignore_shape_env=False,
                          disable_functionalization=False, pre_grad_passes=None, compile_region_name=None):  # fmt: skip
    """A function of the inputs of `mod`, a module of flat inputs and results, captured for inputs like `args` now; parameters and buffers come first among
    the inputs of the graphs. The other arguments are those of `aot_function`; Inductor's are refused.

    >>> from cresset.functorch.compile import aot_module_simplified, nop
    >>> aot_module_simplified(nn.ReLU(), [torch.zeros(2)], nop)(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """
    _refuse("aot_module_simplified", compiler_config_extra=compiler_config_extra, ignore_shape_env=ignore_shape_env, pre_grad_passes=pre_grad_passes,
            compile_region_name=compile_region_name)  # fmt: skip
    state = {**dict(mod.named_parameters()), **dict(mod.named_buffers())}
    names = list(state)

    def flat_fn(*flat):
        return torch.func.functional_call(mod, dict(zip(names, flat[: len(names)], strict=True)), tuple(flat[len(names) :]))

    settings = _settings(
        fw_compiler, bw_compiler, partition_fn, decompositions=decompositions, num_params_buffers=len(names), inference_compiler=inference_compiler,
        keep_inference_input_mutations=keep_inference_input_mutations, functional=not disable_functionalization,
    )  # fmt: skip
    compiled = _compile(flat_fn, [*state.values(), *args], settings)

    def forward(*runtime_args):
        return compiled([*state.values(), *runtime_args])

    forward.zero_grad, forward.named_parameters, forward.named_buffers = mod.zero_grad, mod.named_parameters, mod.named_buffers
    return forward


# ---- graphs for export ----------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class BackwardSignature:
    """Which result of a joint graph is the gradient of what, and which is the loss: names of nodes."""

    gradients_to_parameters: dict
    gradients_to_user_inputs: dict
    loss_output: str


@dataclasses.dataclass
class GraphSignature:
    """Which inputs and results of a graph are parameters, buffers, and inputs and results of the module: names of nodes and of the module's tensors."""

    parameters: list
    buffers: list
    user_inputs: list
    user_outputs: list
    inputs_to_parameters: dict
    inputs_to_buffers: dict
    buffers_to_mutate: dict
    parameters_to_mutate: dict
    user_inputs_to_mutate: dict
    in_spec: object
    out_spec: object
    backward_signature: BackwardSignature | None
    input_tokens: list = dataclasses.field(default_factory=list)
    output_tokens: list = dataclasses.field(default_factory=list)


def _names(nodes):
    return [node.name if hasattr(node, "name") else node for node in nodes]


def _signature(graph, facts, parameters, buffers, spec, loss):
    inputs = _names(graph.graph.find_nodes(op="placeholder"))
    results = _names(_capture._output(graph))
    tokens = inputs[: facts.tokens], results[: facts.tokens]
    inputs, results = inputs[facts.tokens :], results[facts.tokens :]
    if facts.backward_tokens:
        tokens = [*tokens[0], inputs.pop()], [*tokens[1], results.pop()]
    state = [*parameters, *buffers]
    num_mutated = len(facts.mutated)
    num_results = num_mutated + sum(kind != "constant" for kind, _ in facts.out_kinds)
    written = dict(zip(results, facts.mutated))
    named = {name: inputs[i] if i >= len(state) else state[i] for name, i in written.items()}
    backward = None
    if loss is not None:
        grads = dict(zip(inputs, results[num_results:]))
        backward = BackwardSignature(
            {grads[i]: name for i, name in zip(inputs, parameters) if grads.get(i) is not None},
            {grads[i]: i for i in inputs[len(state) :] if grads.get(i) is not None},
            results[num_mutated + loss],
        )
    return GraphSignature(
        parameters=list(parameters), buffers=list(buffers), user_inputs=inputs[len(state) :], user_outputs=results[num_mutated:num_results],
        inputs_to_parameters=dict(zip(inputs, parameters)), inputs_to_buffers=dict(zip(inputs[len(parameters) :], buffers)),
        buffers_to_mutate={n: named[n] for n, i in written.items() if len(parameters) <= i < len(state)},
        parameters_to_mutate={n: named[n] for n, i in written.items() if i < len(parameters)},
        user_inputs_to_mutate={n: named[n] for n, i in written.items() if i >= len(state)},
        in_spec=spec, out_spec=facts.out_spec, backward_signature=backward, input_tokens=list(tokens[0]), output_tokens=list(tokens[1]),
    )  # fmt: skip


def aot_export_module(mod, args, *, decompositions=None, trace_joint, output_loss_index=None, pre_dispatch=False, dynamic_shapes=None, kwargs=None):
    """The graph of a module without writes, for `args`, with its signature: parameters, buffers and then inputs are those of the graph, in this order.

    Args:
        mod: a module that returns a tuple.
        trace_joint: capture forward and backward from the result `output_loss_index`, a number; each input that requires a gradient gets one as a result.
        pre_dispatch: write composites down whole.
        dynamic_shapes: keep the sizes of `args` open in a graph without backward, where none of them is a fake tensor with sizes of its own; a joint graph has
            the sizes of `args`, as PyTorch's has.

    Returns a GraphModule and a GraphSignature. Errors: RuntimeError for a module that returns no tuple, and a loss that is no number with a gradient.
    """
    if trace_joint and output_loss_index is None:
        raise RuntimeError("aot_export_module: trace_joint=True needs output_loss_index, the number of the result that is the loss")
    parameters, buffers = dict(mod.named_parameters(remove_duplicate=False)), dict(mod.named_buffers(remove_duplicate=False))
    state = [*parameters, *buffers]
    given, spec = tree_flatten((tuple(args), kwargs or {}))
    mode = next((maybe_get_fake_mode(leaf) for leaf in given if isinstance(leaf, Tensor) and is_fake(leaf)), None)
    weights = [*parameters.values(), *buffers.values()]
    flat = [*(weights if mode is None else [mode.from_tensor(t, static_shapes=True) for t in weights]), *given]

    def flat_fn(*leaves):
        given, named = tree_unflatten(list(leaves[len(state) :]), spec)
        out = torch.func.functional_call(mod, dict(zip(state, leaves[: len(state)], strict=True)), given, named)
        if not isinstance(out, (tuple, list)):
            raise RuntimeError(f"aot_export_module: expected the module to return a tuple, got {type(out).__name__}")
        return out

    if trace_joint:
        facts = _capture.look(flat_fn, flat)
        graph = _capture.trace_joint(flat_fn, facts, flat, decompositions, loss=len(facts.mutated) + output_loss_index)
        return graph, _signature(graph, facts, parameters, buffers, spec, output_loss_index)

    def forward(flat):
        with torch.no_grad():
            facts = _capture.look(flat_fn, flat)
            return _capture.trace_forward(flat_fn, facts, flat, decompositions, keep_views=True, pre_dispatch=pre_dispatch), facts

    if dynamic_shapes and mode is None:
        sizes = Sizes(flat, fixed=len(state))
        graph, facts = sizes.settled(lambda: forward(sizes.fakes))
    else:
        graph, facts = forward(flat)
    return graph, _signature(graph, facts, parameters, buffers, spec, None)


def aot_export_joint_simple(func, args, *, trace_joint, num_params_buffers=0, decompositions=None):
    """The graph of a function of flat tensors, or with `trace_joint` of its forward and backward: from `primals` and `tangents` to results and gradients.

    Errors: RuntimeError for functions that write inputs or return them, and for containers in `args` or results.
    """
    flat, spec = tree_flatten(tuple(args))
    if len(flat) != len(tuple(args)) or any(not isinstance(leaf, Tensor) for leaf in flat):
        raise RuntimeError("aot_export_joint_simple: expected args to be tensors, without containers")
    facts = _capture.look(func, flat)
    if facts.mutated or any(kind != "value" for kind, _ in facts.out_kinds):
        raise RuntimeError("aot_export_joint_simple: expected a function that writes no input and returns new tensors")
    if trace_joint:
        return _capture.trace_joint(func, facts, flat, decompositions)
    return _capture.trace_forward(func, facts, flat, decompositions)
