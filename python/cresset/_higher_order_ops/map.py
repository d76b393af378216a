"""`map`: a function of each slice of tensors."""

import _cresset
from _cresset import Tensor

from ..utils._pytree import tree_flatten, tree_unflatten
from ._operator import Body, HigherOrderOperator, check_callable


class MapImpl(HigherOrderOperator):
    """`map` on lists of tensors: (function, tensors to take slices of, what is the same for all) -> stacked results."""

    def __init__(self):
        super().__init__("map_impl")

    def __call__(self, f, xs, pos_args):
        # Other arguments than tensors are put into their places at each call.
        tensors = [a for a in pos_args if isinstance(a, Tensor)]

        def given(*arguments):
            others = iter(arguments[len(xs) :])
            return f(*arguments[: len(xs)], *[next(others) if isinstance(a, Tensor) else a for a in pos_args])

        return _cresset.control_map(given, list(xs), tensors)


map_impl = MapImpl()


def map(f, xs, *args):
    """`f(x, *args)` for each slice `x` of `xs` along the first dimension, the results stacked.

    `xs` is a tree of tensors with the same first size, at least 1; `args` are the same for each slice. `f` returns a tree of tensors, none of which
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
    if any(leaf.dim() == 0 for leaf in leaves) or len({leaf.shape[0] for leaf in leaves}) != 1 or leaves[0].shape[0] == 0:
        raise RuntimeError(f"map: expected xs to have the same first size, at least 1, got shapes {[tuple(leaf.shape) for leaf in leaves]}")
    others, others_spec = tree_flatten(args)

    def whole(*arguments):
        return f(tree_unflatten(list(arguments[: len(leaves)]), spec), *tree_unflatten(list(arguments[len(leaves) :]), others_spec))

    body = Body("map", "f", whole, tree_flatten(tuple(leaves) + tuple(others))[1])
    return body.rebuilt(map_impl(body, leaves, others))
