"""`map`: a function of each slice of tensors."""

import _cresset
from _cresset import Tensor

from ..utils._pytree import tree_flatten, tree_unflatten
from . import _capture
from ._operator import Body, HigherOrderOperator, check_callable


class MapImpl(HigherOrderOperator):
    """`map` on lists of tensors: (function, tensors to take slices of, what is the same for all) -> stacked results."""

    def __init__(self):
        super().__init__("map_impl")

    def run(self, f, xs, pos_args):
        """The slices, one after the other."""
        # Other arguments than tensors are put into their places at each call.
        tensors = [a for a in pos_args if isinstance(a, Tensor)]

        def given(*arguments):
            others = iter(arguments[len(xs) :])
            found = f(*arguments[: len(xs)], *[next(others) if isinstance(a, Tensor) else a for a in pos_args])
            return [found] if isinstance(found, Tensor) else found

        return _cresset.control_map(given, list(xs), tensors)

    def trace(self, mode, f, xs, pos_args):
        """A node with a module for a slice."""
        xs, fixed = list(xs), [a for a in pos_args if not isinstance(a, Tensor)]
        others = [a for a in pos_args if isinstance(a, Tensor)]

        def of_tensors(*arguments):
            given = iter(arguments[len(xs) :])
            numbers = iter(fixed)
            return f(*arguments[: len(xs)], *[next(given) if isinstance(a, Tensor) else next(numbers) for a in pos_args])

        (module,), lifted = _capture.modules_of(mode, [of_tensors], [*_capture.first_slices(xs), *others])
        others = [*others, *lifted]

        def call(*tensors):
            over, with_all = list(tensors[: len(xs)]), list(tensors[len(xs) :])
            results = _capture.unheard(self.run, module, over, with_all)
            return _capture.record(mode, self, ("body_graph",), [module], ((), (over, with_all)), results)

        def pullback(tensors, grads):
            over, with_all, n = tensors[: len(xs)], tensors[len(xs) :], len(tensors)
            pull = _capture.pullback_of(module, n)

            def of_slice(*arguments):
                slices, grad_slices = arguments[: len(over)], arguments[len(over) : len(over) + len(grads)]
                return pull(*slices, *arguments[len(over) + len(grads) :], *grad_slices)

            found = self.trace(mode, of_slice, [*over, *grads], with_all)
            return [*found[: len(over)], *(g.sum(0) for g in found[len(over) :])]

        tensors = [*xs, *others]
        if _capture.is_below_autograd(mode) and _capture.needs_gradient(tensors):
            return _capture.Recorded.apply(call, pullback, *tensors)
        return call(*tensors)


map_impl = MapImpl()


def map(f, xs, *args):
    """`f(x, *args)` for each slice `x` of `xs` along the first dimension, the results stacked.

    `xs` is a tree of tensors with the same first size, at least 1; `args` are the same for each slice. `f` returns a tree of tensors and None, none of which
    is an input as it is, and writes no input. Gradients reach `xs`, `args` and tensors that `f` uses from around it.

    Errors: RuntimeError for what cannot be sliced or called, `torch._dynamo.exc.UncapturedHigherOrderOpError`, a RuntimeError, for functions that do not fit.

    >>> from cresset._higher_order_ops import map
    >>> map(lambda x, y: x.sum() + y, torch.tensor([[1.0, 2.0], [3.0, 4.0]]), 10.0)
    tensor([13., 17.])
    """
    check_callable("map", RuntimeError, f=f)
    leaves, spec = tree_flatten(xs)
    if not leaves or any(not isinstance(leaf, Tensor) for leaf in leaves):
        raise RuntimeError(f"map: expected xs to be tensors, possibly in tuples, lists and dicts, got {xs!r}")
    if any(leaf.dim() == 0 for leaf in leaves) or any(leaf.shape[0] != leaves[0].shape[0] for leaf in leaves) or leaves[0].shape[0] == 0:
        raise RuntimeError(f"map: expected xs to have the same first size, at least 1, got shapes {[tuple(leaf.shape) for leaf in leaves]}")
    others, others_spec = tree_flatten(args)

    def whole(*arguments):
        return f(tree_unflatten(list(arguments[: len(leaves)]), spec), *tree_unflatten(list(arguments[len(leaves) :]), others_spec))

    body = Body("map", "f", whole, tree_flatten(tuple(leaves) + tuple(others))[1], allows=(type(None),))
    return body.rebuilt(map_impl(body, leaves, others))
