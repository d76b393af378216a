"""`while_loop`: a function again and again, as long as a condition on what it gives is true."""

import _cresset
from _cresset import Tensor

import cresset as torch

from .._core.creation import tensor
from .._dynamo.exc import UncapturedHigherOrderOpError
from ..utils._pytree import tree_flatten, tree_unflatten
from . import _capture
from ._operator import Body, HigherOrderOperator, check_callable


class WhileLoopOp(HigherOrderOperator):
    """`while_loop` on lists of tensors: (condition, body, carried tensors, tensors that both get besides) -> carried tensors."""

    def __init__(self):
        super().__init__("while_loop")

    def run(self, cond_fn, body_fn, carried_inputs, additional_inputs=()):
        """The steps, one after the other."""
        more = list(additional_inputs)
        one_of = lambda result: (result,) if isinstance(result, Tensor) else result  # noqa: E731
        return _cresset.control_while_loop(lambda *c: one_of(cond_fn(*c, *more)), lambda *c: one_of(body_fn(*c, *more)), list(carried_inputs))

    def trace(self, mode, cond_fn, body_fn, carried_inputs, additional_inputs=()):
        """A node with a module for the condition and one for the body."""
        carried, more = list(carried_inputs), list(additional_inputs)
        modules, lifted = _capture.modules_of(mode, [cond_fn, body_fn], [*carried, *more], singles=(0,))
        n, more = len(carried), [*more, *lifted]

        def call(*tensors):
            first, others = tensors[:n], tensors[n:]
            results = _capture.unheard(self.run, *modules, first, others)
            return _capture.record(mode, self, ("while_loop_cond_graph", "while_loop_body_graph"), modules, ((), (first, others)), results)

        def pullback(tensors, grads):
            return self._pullback(*modules, tensors[:n], tensors[n:], grads)

        tensors = [*carried, *more]
        if _capture.is_below_autograd(mode) and _capture.needs_gradient(tensors):
            return _capture.Recorded.apply(call, pullback, *tensors)
        return call(*tensors)

    def _pullback(self, cond_fn, body_fn, carried, more, grads):
        """Gradients of the carried tensors and of others: a loop back through the steps, each of which begins with what was carried there, computed again.

        So nothing is kept whose size is the number of steps, which only the data tells.
        """
        n, m = len(carried), len(more)
        zero = torch.zeros((), dtype=torch.int64)

        def counted(step, *tensors):
            return [step + 1, *body_fn(*tensors)]

        steps = self(lambda _, *tensors: cond_fn(*tensors), counted, [zero, *carried], more)[0]
        pull = _capture.pullback_of(body_fn, n + m)

        def back(left, *tensors):
            grads, sums, (last, *first), others = tensors[:n], tensors[n : n + m], tensors[n + m : n + m + n + 1], tensors[n + m + n + 1 :]
            at = left - 1
            state = self(
                lambda step, *tensors: step < tensors[n], lambda step, *tensors: counted(step, *tensors[:n], *tensors[n + 1 :]), [last, *first], [at, *others]
            )[1:]
            found = pull(*state, *others, *grads)
            return [at, *found[:n], *(a + b for a, b in zip(sums, found[n:], strict=True))]

        sums = [torch.zeros_like(t) for t in more]
        return self(lambda left, *_: left > 0, back, [steps, *grads, *sums], [zero, *carried, *more])[1:]


while_loop_op = WhileLoopOp()


class _Carried:
    """Carried values: tensors, which go through C++, and ints, which stay here."""

    def __init__(self, leaves, spec):
        self.leaves, self.spec = list(leaves), spec

    def tree(self, tensors):
        tensors = iter(tensors)
        return tree_unflatten([next(tensors) if isinstance(leaf, Tensor) else leaf for leaf in self.leaves], self.spec)

    def tensors(self):
        return [leaf for leaf in self.leaves if isinstance(leaf, Tensor)]


def _condition(cond_fn, carried, tensors):
    answer = cond_fn(*carried.tree(tensors))
    if isinstance(answer, bool):
        if answer and not any(isinstance(leaf, int) for leaf in carried.leaves):
            raise UncapturedHigherOrderOpError("while_loop: cond_fn returned True whatever is carried, so that the loop would not end")
        return (tensor(answer),)
    if not isinstance(answer, Tensor):
        raise UncapturedHigherOrderOpError(f"while_loop: expected cond_fn to return a tensor of one bool, got {type(answer).__name__}")
    return (answer,)


def while_loop(cond_fn, body_fn, carried_inputs):
    """Replace what is carried by `body_fn(*carried)` as long as `cond_fn(*carried)`, a tensor of one bool, is true; returns what is carried then.

    `carried_inputs` is a tuple or list of trees of tensors and ints. `body_fn` returns a tuple like it, with the same shapes and dtypes, and neither
    function writes its inputs or returns one as it is. Gradients go through the steps that were taken. Under `vmap` each example takes its own
    number of steps.

    Errors: RuntimeError for what cannot be called, AssertionError for carried values of other types, `torch._dynamo.exc.UncapturedHigherOrderOpError`, a
    RuntimeError, for functions that do not fit.

    >>> from cresset._higher_order_ops import while_loop
    >>> while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.ones(2)))
    (tensor(3), tensor([8., 8.]))
    """
    check_callable("while_loop", RuntimeError, cond_fn=cond_fn, body_fn=body_fn)
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"while_loop: expected carried_inputs to be a tuple or a list, got {type(carried_inputs).__name__}")
    leaves, spec = tree_flatten(tuple(carried_inputs))
    for leaf in leaves:
        if not isinstance(leaf, (Tensor, int)):
            raise AssertionError(f"while_loop: expected tensors and ints to be carried, got {type(leaf).__name__}")
    carried = _Carried(leaves, spec)
    body = Body("while_loop", "body_fn", lambda *tensors: body_fn(*carried.tree(tensors)), tree_flatten(tuple(carried.tensors()))[1], allows=(int,))

    def step(*tensors):
        results = body(*tensors)
        if len(body.constants) != len(leaves) or any(isinstance(c, int) == isinstance(leaf, Tensor) for c, leaf in zip(body.constants, leaves)):
            raise UncapturedHigherOrderOpError(
                f"while_loop: expected body_fn to return as many tensors and ints as are carried, {len(leaves)}, got {len(body.constants)}"
            )
        carried.leaves = [c if isinstance(c, int) else leaf for c, leaf in zip(body.constants, leaves)]
        return results

    results = while_loop_op(lambda *tensors: _condition(cond_fn, carried, tensors), step, carried.tensors())
    if body.out_spec is None:
        return carried.tree(results)
    return body.rebuilt(results)
