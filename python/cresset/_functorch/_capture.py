"""Functions of flat tensors as graphs without writes: of forward alone, or of forward and backward together.

A function runs once on fake tensors, wrapped as `functionalize` wraps them, so that its writes become values; inputs that it wrote are further results.
"""

import dataclasses
import functools

import _cresset
from _cresset import Tensor

import cresset as torch

from .._modes import stack as _stack
from .._subclasses.fake_tensor import FakeTensorMode, is_fake, maybe_get_fake_mode
from .._higher_order_ops._tokens import thread
from .._higher_order_ops.effects import has_effects
from ..fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from ..utils._pytree import tree_flatten
from ._writes import without_writes


@dataclasses.dataclass
class Facts:
    """How a function treats its flat inputs, and what its flat results are: `out_kinds` has for each a ("value", None), ("input", i), ("view", i) or
    ("constant", value)."""

    mutated: list = dataclasses.field(default_factory=list)
    unrecorded: set = dataclasses.field(default_factory=set)  # those of them that were written with gradients off alone, and keep their history
    out_kinds: list = dataclasses.field(default_factory=list)
    out_spec: object = None
    views: dict = dataclasses.field(default_factory=dict)  # number of a result -> (size, stride, offset)
    detached: set = dataclasses.field(default_factory=set)  # numbers of views without a history
    differentiable: list = dataclasses.field(default_factory=list)  # of the results of the graph: whether each has a gradient
    tokens: int = 0  # inputs and results of the graph that are tokens, before all others
    backward_tokens: int = 0  # and those of backward, behind all others

    def result(self, number, flat, plain=lambda value: value):
        """A result that is no value of the graph: an input, a view of one, or a constant. `plain` gives numbers for symbols."""
        kind, which = self.out_kinds[number]
        if kind == "input":
            return flat[which]
        if kind == "constant":
            return plain(which)
        base = flat[which].detach() if number in self.detached else flat[which]
        shape, strides, offset = plain(self.views[number])
        return base.as_strided(shape, strides, base.storage_offset() + offset)


def fake_inputs(flat):
    """A mode, and the tensors of `flat` as its fakes."""
    mode = next((maybe_get_fake_mode(leaf) for leaf in flat if isinstance(leaf, Tensor) and is_fake(leaf)), None)
    mode = mode or FakeTensorMode._of_capture()
    return mode, [mode.from_tensor(leaf) if isinstance(leaf, Tensor) else leaf for leaf in flat]


def _memory(tensor):
    return tensor.untyped_storage()._cdata if tensor.layout is torch.strided else id(tensor)


def look(flat_fn, flat):
    """`Facts` of a function, by one run on fake tensors. Random generators keep their states."""
    mode, fakes = fake_inputs(flat)
    # A history of their own: leaves that require gradients may not be written.
    fakes = [leaf.detach().clone().requires_grad_(leaf.requires_grad) if isinstance(leaf, Tensor) else leaf for leaf in fakes]
    seen = [leaf.clone() if isinstance(leaf, Tensor) and leaf.requires_grad else leaf for leaf in fakes]
    versions = [leaf._version if isinstance(leaf, Tensor) else 0 for leaf in seen]
    histories = [leaf.grad_fn if isinstance(leaf, Tensor) else None for leaf in seen]
    with mode:
        outs, spec = tree_flatten(flat_fn(*seen))
    facts = Facts(out_spec=spec)
    facts.mutated = [i for i, leaf in enumerate(seen) if isinstance(leaf, Tensor) and leaf._version != versions[i]]
    facts.unrecorded = {i for i in facts.mutated if seen[i].grad_fn is histories[i]}
    facts.detached = {number for number, out in enumerate(outs) if isinstance(out, Tensor) and not out.requires_grad}
    if any(isinstance(leaf, Tensor) and leaf.layout is torch.strided and not _is_like_its_copy(leaf) for leaf in flat):
        mode, fakes = fake_inputs(flat)
        with mode, torch.no_grad():  # views are those of the inputs as they lie in memory
            seen = _apart([leaf.detach() if isinstance(leaf, Tensor) else leaf for leaf in fakes])
            outs, _ = tree_flatten(flat_fn(*seen))
    by_memory = {_memory(leaf): i for i, leaf in enumerate(seen) if isinstance(leaf, Tensor) and leaf.numel()}
    for number, out in enumerate(outs):
        if not isinstance(out, Tensor):
            facts.out_kinds.append(("constant", out))
            continue
        same = next((i for i, leaf in enumerate(seen) if leaf is out), None)
        source = by_memory.get(_memory(out)) if out.numel() else None
        if same is not None:
            facts.out_kinds.append(("input", same))
        elif source is not None and out.dtype == seen[source].dtype:
            facts.out_kinds.append(("view", source))
            facts.views[number] = (tuple(out.shape), out.stride(), out.storage_offset() - seen[source].storage_offset())
        else:
            facts.out_kinds.append(("value", None))
    return facts


def _apart(leaves):
    """Tensors without data as they lie in memory, those of one storage in several: a view is one of the tensor that it was made of, whatever else lies there."""
    known, made = set(), []
    for leaf in leaves:
        if isinstance(leaf, Tensor) and leaf.layout is torch.strided and _memory(leaf) in known:
            count = leaf.untyped_storage().nbytes() // leaf.element_size()
            leaf = leaf.new_empty((count,)).as_strided(leaf.shape, leaf.stride(), leaf.storage_offset())
        if isinstance(leaf, Tensor):
            known.add(_memory(leaf))
        made.append(leaf)
    return made


def _is_like_its_copy(leaf):
    """Whether a copy of a tensor has its strides and place in memory."""
    return leaf.storage_offset() == 0 and leaf.is_contiguous()


def plain_results(flat_fn, facts, flat, *, keep_views=False):
    """Runs a function that writes nothing: its results, as `functional_results` gives them."""
    outs, _ = tree_flatten(flat_fn(*flat))
    kept = ("value", "input", "view") if keep_views else ("value",)
    return [out for out, (kind, _) in zip(outs, facts.out_kinds, strict=True) if kind in kept]


def functional_results(flat_fn, facts, flat, *, keep_views=False):
    """Runs a function on wrapped inputs: what its written inputs became, then its results, without those that are inputs or (unless `keep_views`) views
    of them."""
    scope = _cresset.enter_functional(False)
    try:
        wrapped = [_cresset.to_functional(leaf) if isinstance(leaf, Tensor) else leaf for leaf in flat]
        call = functools.partial(flat_fn, *wrapped)
        # Who listens above all layers hears of values, as those below do.
        outs, _ = tree_flatten(_cresset.with_functional(2, call) if _stack.active(_stack.ABOVE_LAYERS) else call())
    finally:
        _cresset.exit_functional(scope)
    kept = ("value", "input", "view") if keep_views else ("value",)
    chosen = [wrapped[i] for i in facts.mutated] + [out for out, (kind, _) in zip(outs, facts.out_kinds, strict=True) if kind in kept]
    return [_cresset.from_functional(out) if isinstance(out, Tensor) else out for out in chosen]


def written_results(flat_fn, facts, flat, *, keep_views=False):
    """Runs a function as it is, writes and all: its results, as `functional_results` gives them."""
    outs, _ = tree_flatten(flat_fn(*flat))
    kept = ("value", "input", "view") if keep_views else ("value",)
    return [flat[i] for i in facts.mutated] + [out for out, (kind, _) in zip(outs, facts.out_kinds, strict=True) if kind in kept]


def _tidy(module):
    """Drops nodes that nothing uses. Writes of the trace have become values, so that only random numbers are left, which stay."""
    module.graph.eliminate_dead_code()
    module.recompile()
    return module


def _writes(module):
    """Whether an operator of a graph writes to an argument."""
    return any(getattr(getattr(node.target, "_schema", None), "is_mutable", False) for node in module.graph.nodes if node.op == "call_function")


def _functional(trace, facts, functional=True):
    """The graph that `trace(run)` makes, `run` being how the function runs: as it is where it writes nothing, or writes stay, else with its writes made into
    values."""
    if not functional:
        return trace(written_results)
    if not facts.mutated:
        traced = trace(plain_results)
        if not _writes(traced):
            return traced
    return trace(functional_results)


def trace_forward(flat_fn, facts, flat, decompositions, *, keep_views=False, pre_dispatch=False, functional=True, tokens=True):
    """The graph of forward: its results are those of `functional_results`. Unless `functional` the graph writes as the function does. With `tokens` calls that
    have effects stand in order by tokens."""
    mode, fakes = fake_inputs(flat)

    fakes = [leaf.detach() if isinstance(leaf, Tensor) else leaf for leaf in fakes]

    def trace(run):
        def forward(*inputs):  # in the gradient mode around it: the function may compute gradients of its own
            return tuple(run(flat_fn, facts, list(inputs), keep_views=keep_views))

        with mode:
            return make_fx(forward, decomposition_table=decompositions, _allow_non_fake_inputs=True, pre_dispatch=pre_dispatch)(*fakes)

    traced = _functional(trace, facts, functional)
    facts.differentiable = [False] * len(_output(traced))
    return _ordered(_tidy(traced), facts) if tokens else _tidy(traced)


def _ordered(module, facts, first_backward=None):
    """Threads tokens through the calls of a graph that have effects; other inputs are numbered after them."""
    inputs = [node for node in module.graph.find_nodes(op="placeholder") if not node.target.startswith("tangents")]
    prefix, end, begin = ("primals_", "", 1) if inputs and inputs[0].target.startswith("primals_") else ("arg", "_1", 0)
    facts.tokens, facts.backward_tokens, _ = thread(module.graph, name=f"{prefix}{begin}{end}", first_backward=first_backward)
    for number, node in enumerate(inputs if facts.tokens else (), begin + facts.tokens):
        node.name = node.target = f"{prefix}{number}{end}"  # after the token, whose number has been the first one's
    module.recompile()
    return module


def write_inputs(module, mutated, tokens=0):
    """Writes the first results of a graph to the inputs whose numbers are `mutated`, in place of giving them back. Tokens stand before both."""
    inputs, results = module.graph.find_nodes(op="placeholder")[tokens:], _output(module)
    tokens, results = results[:tokens], results[tokens:]
    end = module.graph.output_node()
    for i, value in zip(mutated, results, strict=False):
        with module.graph.inserting_before(end):
            node = module.graph.create_node("call_function", torch.ops.aten.copy_.default, (inputs[i], value), name="copy_")
            node.meta["val"] = inputs[i].meta.get("val")
    end.args = (tuple([*tokens, *results[len(mutated) :]]),)
    module.recompile()


def _output(module):
    (node,) = module.graph.find_nodes(op="output")
    return list(node.args[0]) if isinstance(node.args[0], (tuple, list)) else [node.args[0]]


def _has_gradient(out):
    return isinstance(out, Tensor) and out.requires_grad and (out.is_floating_point() or out.is_complex())


def _leaf(tensor, wanted):
    if tensor.layout is not torch.strided:  # which tracers know by its object alone
        return tensor.detach().requires_grad_(wanted)
    with _stack.none_active():  # PyTorch's graphs do not have the node
        return tensor.detach().requires_grad_(wanted)


def _leaves(flat, wanted, written, functional):
    """Inputs for differentiation: leaves of their own, and what the function gets for them; those that it writes are no leaves."""
    leaves = [_leaf(leaf, want) if isinstance(leaf, Tensor) else leaf for leaf, want in zip(flat, wanted, strict=True)]
    return leaves, [
        (leaf.view_as(leaf) if functional else leaf.clone()) if want and i in written else leaf
        for i, (leaf, want) in enumerate(zip(leaves, wanted, strict=True))
    ]


def wants_gradient(leaf):
    """Whether an input is one that gradients are computed by."""
    return isinstance(leaf, Tensor) and leaf.requires_grad


def trace_joint(flat_fn, facts, flat, decompositions, *, loss=None, functional=True, tokens=True):
    """The graph of forward and backward. Its inputs are `primals`, then `tangents`, one for each result with a gradient, or none where the result `loss`
    is a number whose gradient is 1; it gives the results of forward, then a gradient or None for each input. Unless `functional` writes stay. With `tokens`
    calls that have effects stand in order by tokens."""
    mode, fakes = fake_inputs(flat)
    wanted = [wants_gradient(leaf) for leaf in flat]

    def forward(primals, run):
        leaves, given = _leaves(primals, wanted, facts.mutated, functional)
        return leaves, run(flat_fn, facts, given, keep_views=loss is not None)

    with mode, torch.enable_grad():
        _, outs = forward(fakes, written_results if not functional else functional_results if facts.mutated else plain_results)
    facts.differentiable = [_has_gradient(out) for out in outs]
    tangents = [torch.empty_like(out).detach() if loss is None else None for out in outs if _has_gradient(out)]

    def joint(primals, tangents, run):
        with torch.enable_grad():
            leaves, outs = forward(primals, run)
        effects[:] = [sum(has_effects(node.target) for node in get_proxy_mode().tracer.graph.nodes)]
        inputs = [leaf for leaf, want in zip(leaves, wanted, strict=True) if want]
        if loss is None:
            roots, seeds = [out for out, differs in zip(outs, facts.differentiable, strict=True) if differs], list(tangents)
        else:
            with _stack.none_active():  # PyTorch's graphs do not have the node
                value = outs[loss].detach()
            roots, seeds = [outs[loss]], [torch.ones_like(value)]
        found = iter(torch.autograd.grad(roots, inputs, seeds, allow_unused=True) if inputs and roots else [None] * len(inputs))
        results = [*outs, *(next(found) if want else None for want in wanted)]
        return results if loss is None else tuple(results)

    fakes = [leaf.detach() if isinstance(leaf, Tensor) else leaf for leaf in fakes]
    effects = [0]  # calls of forward that have effects

    options = {"decomposition_table": decompositions, "_allow_non_fake_inputs": True}

    def trace(run):
        with mode:
            if loss is None:
                return make_fx(lambda primals, tangents: joint(primals, tangents, run), **options)(fakes, tangents)
            return make_fx(lambda *primals: joint(primals, [], run), **options)(*fakes)

    traced = _functional(trace, facts, functional)
    # Formulas of gradients write what they have made.
    traced = _inputs_as_leaves(without_writes(traced) if functional else traced)
    module = _results_apart(_tidy(traced), facts.differentiable)
    return _ordered(module, facts, effects[0]) if tokens else module


def _inputs_as_leaves(module):
    """Takes out the `detach` by which a sparse input has become a leaf: PyTorch's graphs do not have the node."""
    for node in module.graph.find_nodes(op="placeholder"):
        value = node.meta.get("val")
        for leaf in list(node.users) if isinstance(value, Tensor) and value.layout is not torch.strided else ():
            if leaf.target is torch.ops.aten.detach.default:
                leaf.replace_all_uses_with(node)
                module.graph.erase_node(leaf)
    return module


def _results_apart(module, differentiable):
    """Gives a result without a gradient, whose value is that of one that has it, a tensor of its own."""
    results = _output(module)
    having = {node for node, has in zip(results, differentiable, strict=False) if has}
    shared = [i for i, has in enumerate(differentiable) if not has and results[i] in having]
    if not shared:
        return module
    (output,) = module.graph.find_nodes(op="output")
    with module.graph.inserting_before(output):
        for i in shared:
            known, results[i] = results[i], module.graph.call_function(torch.ops.aten.detach.default, (results[i],))
            results[i].meta.update(known.meta)
    output.args = (type(output.args[0])(results),)
    module.recompile()
    return module


def without_detach(module):
    """Takes out `detach` nodes, which mean nothing in a graph that has its gradients or none."""
    aten = torch.ops.aten
    for node in list(module.graph.nodes):
        if node.target in (aten.detach.default, aten.alias.default):
            node.replace_all_uses_with(node.args[0])
            module.graph.erase_node(node)
    module.recompile()
    return module
