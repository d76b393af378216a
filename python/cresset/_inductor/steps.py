"""A captured graph as one compiled step: programs of forward and backward under a node of C++."""

import _cresset_compile
from _cresset import Tensor

import cresset as torch

from .._functorch import _capture
from .._dynamo import _logs
from .._functorch.partitioners import _Joint, is_random
from .compile_fx import Compiled, compile_fx_inner
from .fusion import norms_again, recomputed, without_idle_views
from .lowering import with_shared_layers


def _runner(compiled):
    """A program, or a function of a tuple of inputs."""
    if isinstance(compiled, Compiled):
        return compiled.code
    return lambda args: list(compiled(list(args)))


def _plainly(graph, compiled):
    """The graph as it was captured, as a function of a tuple, where it may replace a program that fails: random numbers are not drawn twice."""
    if not isinstance(compiled, Compiled) or any(node.op == "call_function" and is_random(node) for node in graph.graph.nodes):
        return None

    def run(args):
        _logs.once("torch.compile: a compiled program has failed; its graph runs as it was captured")
        return list(graph.forward(*args))

    return run


def _kinds(facts):
    """For each result -1, or the input that it is; None where a result is a view or no tensor."""
    out = []
    for kind, which in facts.out_kinds:
        if kind not in ("value", "input"):
            return None
        out.append(-1 if kind == "value" else which)
    return tuple(out)


def compiled_step(flat_fn, flat):
    """A callable of flat inputs like `flat` that gives a tuple of results; None where results are views of inputs, which the general way makes.

    >>> from cresset._inductor.steps import compiled_step
    >>> x = torch.ones(2, requires_grad=True)
    >>> step = compiled_step(lambda x: (x * 3,), [x])
    >>> step(x)[0].sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """
    facts = _capture.look(flat_fn, flat)
    kinds = _kinds(facts)
    if kinds is None:
        return None
    mutated = tuple(facts.mutated)
    if not (torch.is_grad_enabled() and any(map(_capture.wants_gradient, flat))):
        graph = without_idle_views(_capture.trace_forward(flat_fn, facts, flat, None, tokens=False))
        forward = compile_fx_inner(graph, flat)
        count = len(mutated) + sum(k < 0 for k in kinds)
        return _Held(
            _cresset_compile.Step(_runner(forward), None, count, mutated, kinds, (False,) * count, (), (), (forward,), _plainly(graph, forward), None), forward
        )
    joint = without_idle_views(with_shared_layers(_capture.without_detach(_capture.trace_joint(flat_fn, facts, flat, None, tokens=False))))
    count = len(facts.differentiable)
    tangents = [node.meta["val"] for node in joint.graph.find_nodes(op="placeholder")[len(flat) :]]
    first, second = _partitioned(joint, count)
    # Memory that one half gives back serves the other.
    forward = compile_fx_inner(first, flat, planned=False)
    backward = compile_fx_inner(second, [node.meta.get("val") for node in second.graph.find_nodes(op="placeholder")], planned=False)
    step = _cresset_compile.Step(
        _runner(forward), _runner(backward), count, mutated, kinds, tuple(facts.differentiable), tuple(map(_capture.wants_gradient, flat)),
        tuple(tuple(t.stride()) for t in tangents), (forward, backward), _plainly(first, forward), _plainly(second, backward),
    )  # fmt: skip
    return _Held(step, forward, backward)


def _partitioned(joint, count):
    """Forward and backward, with the fewest bytes kept in between; only cheap operators run twice."""
    cheap = recomputed(joint) | norms_again(joint)
    halves = _Joint(joint, count)
    return halves.split(halves.kept(lambda node: node in cheap or getattr(node.target, "is_view", False)))


class _Held:
    """A step, and what it runs: `call` is what regions call."""

    def __init__(self, call, *parts):
        self.call, self.parts = call, parts

    def __call__(self, *args):
        return self.call(*args)


del Tensor
