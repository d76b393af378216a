"""`associative_scan`: all prefixes of an associative function, in about 2 log2(n) steps."""

import _cresset

from .._functorch import predispatch
from ..utils._pytree import tree_flatten, tree_unflatten
from ._operator import Body, HigherOrderOperator, check_callable
from .scan import along, check_dim_and_reverse


class AssociativeScanOp(HigherOrderOperator):
    """`associative_scan` along the first dimension on lists of tensors: (function, xs, tensors that it gets besides) -> results."""

    def __init__(self):
        super().__init__("associative_scan")

    def run(self, combine_fn, xs, additional_inputs=()):
        """All prefixes, level by level."""
        more = list(additional_inputs)
        return list(_cresset.control_associative_scan(lambda *a: combine_fn(*a, *more), list(xs), 0, False))


associative_scan_op = AssociativeScanOp()


@predispatch.transform
def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """`xs[0]`, `combine_fn(xs[0], xs[1])`, `combine_fn(combine_fn(xs[0], xs[1]), xs[2])` ... of the slices along `dim`, as tensors like `xs`.

    `combine_fn` takes two trees like a slice of `xs` and returns one; it is associative, and is called with many slices at once, as under `vmap`.
    `reverse` begins at the last slice. `combine_mode` "generic" runs on all devices; "pointwise" is for tensors on accelerators and functions of
    single elements. Gradients reach `xs` and tensors that `combine_fn` uses from around it.

    Errors: ValueError for a mode or tensors that do not fit, IndexError for the dimension, RuntimeError for a function that does not fit.

    >>> from cresset._higher_order_ops import associative_scan
    >>> associative_scan(lambda a, b: a * b, torch.tensor([1.0, 2.0, 3.0, 4.0]), 0, combine_mode="generic")
    tensor([ 1.,  2.,  6., 24.])
    """
    check_callable("associative_scan", ValueError, combine_fn=combine_fn)
    check_dim_and_reverse("associative_scan", dim, reverse)
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"associative_scan: expected combine_mode to be 'pointwise' or 'generic', got {combine_mode!r}")
    leaves, spec = tree_flatten(xs)
    if not leaves:
        raise IndexError("associative_scan: expected xs to have at least one tensor, got none")
    leaves = along("associative_scan", leaves, dim, ValueError)
    if combine_mode == "pointwise" and any(leaf.device.type not in ("cuda", "xpu") for leaf in leaves):
        raise ValueError(f"associative_scan: combine_mode 'pointwise' is for accelerators, got tensors on {leaves[0].device}; use combine_mode='generic'")

    def pair(*tensors):
        return combine_fn(tree_unflatten(list(tensors[: len(leaves)]), spec), tree_unflatten(list(tensors[len(leaves) :]), spec))

    body = Body("associative_scan", "combine_fn", pair, tree_flatten(tuple(leaves) * 2)[1])
    results = associative_scan_op(body, [leaf.flip(0) for leaf in leaves] if reverse else leaves)
    results = [y.flip(0) for y in results] if reverse else results
    return tree_unflatten([y.movedim(0, dim) if dim else y for y in results], spec)
