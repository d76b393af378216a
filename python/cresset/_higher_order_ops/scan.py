"""`scan`: a function from slice to slice, which carries something along."""

import _cresset
from _cresset import Tensor

from .._dynamo.exc import UncapturedHigherOrderOpError
from ..utils._pytree import tree_flatten, tree_unflatten
from ._operator import Body, HigherOrderOperator, check_callable


class ScanOp(HigherOrderOperator):
    """`scan` along the first dimension on lists of tensors: (function, init, xs, tensors that it gets besides) -> carry and outputs."""

    def __init__(self):
        super().__init__("scan")

    def __call__(self, combine_fn, init, xs, additional_inputs=()):
        more = list(additional_inputs)
        carry, outputs = _cresset.control_scan(lambda *a: combine_fn(*a, *more), list(init), list(xs), 0, False)
        return [*carry, *outputs]


scan_op = ScanOp()


def along(who, leaves, dim, error):
    """Tensors to be scanned, with the dimension of the slices first; `error` is the class for tensors without slices."""
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise error(f"{who}: expected xs to be tensors, possibly in tuples, lists and dicts, got {type(leaf).__name__}")
        if not -leaf.dim() <= dim < leaf.dim():
            raise IndexError(f"{who}: expected dim from {-leaf.dim()} to {leaf.dim() - 1} for a tensor of shape {tuple(leaf.shape)}, got {dim}")
    sizes = {leaf.shape[dim] for leaf in leaves}
    if len(sizes) > 1 or 0 in sizes:
        raise error(f"{who}: expected xs to have the same size along dim {dim}, at least 1, got shapes {[tuple(leaf.shape) for leaf in leaves]}")
    return [leaf.movedim(dim, 0) if dim else leaf for leaf in leaves]


def check_dim_and_reverse(who, dim, reverse):
    """Errors: TypeError for a dimension that is no int, RuntimeError for a `reverse` that is no bool."""
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise TypeError(f"{who}: expected dim to be an int, got {type(dim).__name__}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"{who}: expected reverse to be a bool, got {type(reverse).__name__}")


class _Step:
    """combine_fn as a function of tensors: the new carry, then the output."""

    def __init__(self, combine_fn, init_spec, xs_spec, num_init):
        self.combine_fn, self.init_spec, self.xs_spec, self.num_init = combine_fn, init_spec, xs_spec, num_init
        self.carry = Body("scan", "the carry of combine_fn", None, None)
        self.output = Body("scan", "the output of combine_fn", None, None)

    def __call__(self, *tensors):
        n = self.num_init
        found = self.combine_fn(tree_unflatten(list(tensors[:n]), self.init_spec), tree_unflatten(list(tensors[n:]), self.xs_spec))
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            what = f"{len(found)} values" if isinstance(found, (tuple, list)) else type(found).__name__
            raise UncapturedHigherOrderOpError(f"scan: expected combine_fn to return a pair, the next carry and an output, got {what}")
        carry = self.carry.flat(found[0])
        if len(carry) != n:
            raise UncapturedHigherOrderOpError(f"scan: expected combine_fn to return as many tensors to carry as init has, {n}, got {len(carry)}")
        return [*carry, *self.output.flat(found[1])]


def scan(combine_fn, init, xs, *, dim=0, reverse=False):
    """Go from slice to slice of `xs` along `dim` with `carry, y = combine_fn(carry, x)`; returns the last carry, and the outputs `y` stacked.

    `init`, the first carry, and `xs` are trees of tensors. The carry keeps its structure, shapes and dtypes. Outputs are stacked along a new first
    dimension, in the order of the slices also with `reverse`, which begins at the last slice. Inputs are not written, nor returned as they are.
    Gradients reach `init`, `xs` and tensors that `combine_fn` uses from around it.

    Errors: RuntimeError for arguments of other types and sizes, IndexError for the dimension, `torch._dynamo.exc.UncapturedHigherOrderOpError`, a
    RuntimeError, for a function that does not fit.

    >>> from cresset._higher_order_ops import scan
    >>> scan(lambda carry, x: (carry + x, carry * 1), torch.zeros(()), torch.tensor([1.0, 2.0, 3.0]))
    (tensor(6.), tensor([0., 1., 3.]))
    """
    check_callable("scan", RuntimeError, combine_fn=combine_fn)
    check_dim_and_reverse("scan", dim, reverse)
    first, init_spec = tree_flatten(init)
    if not first or any(not isinstance(leaf, Tensor) for leaf in first):
        raise RuntimeError(f"scan: expected init to be tensors, at least one, possibly in tuples, lists and dicts, got {init!r}")
    leaves, xs_spec = tree_flatten(xs)
    if not leaves:
        return init, xs
    leaves = along("scan", leaves, dim, RuntimeError)
    step = _Step(combine_fn, init_spec, xs_spec, len(first))
    results = scan_op(step, first, [leaf.flip(0) for leaf in leaves] if reverse else leaves)
    outputs = [y.flip(0) for y in results[len(first) :]] if reverse else results[len(first) :]
    return step.carry.rebuilt(results[: len(first)]), step.output.rebuilt(outputs)
