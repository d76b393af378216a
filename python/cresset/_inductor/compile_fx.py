"""Compiles graphs of operators: pointwise operators are joined, and the graph becomes a program of C++ with a plan of its memory.

>>> from cresset._inductor.compile_fx import compile_fx_inner
>>> from cresset.fx.experimental.proxy_tensor import make_fx
>>> compiled = compile_fx_inner(make_fx(lambda x: [x.sin() + 1])(torch.zeros(2)), [torch.zeros(2)])
>>> compiled([torch.zeros(2)])
(tensor([1., 1.]),)
"""

import cresset as torch

from .. import fx
from .._functorch._boxed import make_boxed_func
from . import config
from .fusion import fuse
from .lowering import lowered


class Compiled:
    """A compiled graph, `source`: a boxed function. `fused.operators` lists the operators of each kernel."""

    _boxed_call = True

    def __init__(self, fused, source, planned):
        self.fused, self.source = fused, source
        self.code = fused.graph._graph.program(planned)
        self._run = fused.graph._graph.run

    def __call__(self, args):
        given = tuple(args)
        if isinstance(args, list):
            args.clear()  # values without other owners are freed while the program runs
        return tuple(self._run(given))


class Interpreted:
    """A graph that Python runs, operator by operator: a boxed function."""

    _boxed_call = True

    def __init__(self, source):
        self.source = source
        self._forward = source.forward

    def __call__(self, args):
        return self._forward(*args)


def compile_fx_inner(gm, example_inputs, planned=True):
    """A boxed function that computes what a graph of operators does. Its intermediate values have places of their own in memory where `planned`.
    With `config.freezing` and without gradients weights are kept packed.

    A graph that holds what programs of C++ do not know is run by Python, operator by operator.
    """
    if not isinstance(gm, fx.GraphModule) or config.fallback_by_default:
        return make_boxed_func(gm.forward)
    if not any(node.op == "call_function" for node in gm.graph.nodes):
        return make_boxed_func(gm.forward)
    try:
        rows = lowered(gm)
        return Compiled(fuse(rows, config.freezing and not torch.is_grad_enabled()), rows, planned)
    except (ValueError, NotImplementedError, RuntimeError):
        return Interpreted(gm)
