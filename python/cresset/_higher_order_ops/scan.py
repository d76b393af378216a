"""`scan`: a function from slice to slice, which carries something along."""

import _cresset
from _cresset import Tensor

import cresset as torch

from .._dynamo.exc import UncapturedHigherOrderOpError
from ..utils._pytree import tree_flatten, tree_unflatten
from . import _capture
from ._operator import Body, HigherOrderOperator, check_callable


class ScanOp(HigherOrderOperator):
    """`scan` along the first dimension on lists of tensors: (function, init, xs, tensors that it gets besides) -> carry and outputs."""

    def __init__(self):
        super().__init__("scan")

    def run(self, combine_fn, init, xs, additional_inputs=()):
        """The slices, one after the other."""
        more = list(additional_inputs)
        carry, outputs = _cresset.control_scan(lambda *a: combine_fn(*a, *more), list(init), list(xs), 0, False)
        return [*carry, *outputs]

    def trace(self, mode, combine_fn, init, xs, additional_inputs=()):
        """A node with a module for a step."""
        init, xs, more = list(init), list(xs), list(additional_inputs)
        (module,), lifted = _capture.modules_of(mode, [combine_fn], [*init, *_capture.first_slices(xs), *more])
        more = [*more, *lifted]

        def call(*tensors):
            first, over, with_all = tensors[: len(init)], tensors[len(init) : len(init) + len(xs)], tensors[len(init) + len(xs) :]
            results = _capture.unheard(self.run, module, first, over, with_all)
            return _capture.record(mode, self, ("scan_combine_graph",), [module], ((), (list(first), list(over), tuple(with_all))), results)

        def pullback(tensors, grads):
            return self._pullback(mode, module, tensors, grads, len(init), len(xs))

        tensors = [*init, *xs, *more]
        if _capture.is_below_autograd(mode) and _capture.needs_gradient(tensors):
            return _capture.Recorded.apply(call, pullback, *tensors)
        return call(*tensors)

    def _pullback(self, mode, module, tensors, grads, num_init, num_xs):
        """Gradients of all tensors: the carries are computed again, then a scan goes back through the steps."""
        init, xs, more = tensors[:num_init], tensors[num_init : num_init + num_xs], tensors[num_init + num_xs :]

        def with_carry(*arguments):
            found = list(module(*arguments))
            return [*found[:num_init], *(c.clone() for c in arguments[:num_init])]

        carries = self.trace(mode, with_carry, init, xs, more)[num_init:]
        pull = _capture.pullback_of(module, len(tensors))
        grad_carry, grad_out = grads[:num_init], grads[num_init:]
        sums = [*grad_carry, *(torch.zeros_like(t) for t in more)]

        def back(*arguments):
            arguments = list(arguments)
            by_carry, by_more = arguments[:num_init], arguments[num_init : num_init + len(more)]
            rest = arguments[num_init + len(more) :]
            slices, outs = rest[: num_init + num_xs], rest[num_init + num_xs : num_init + num_xs + len(grad_out)]
            found = pull(*slices, *rest[num_init + num_xs + len(grad_out) :], *by_carry, *outs)
            added = [a + b for a, b in zip(by_more, found[num_init + num_xs :], strict=True)]
            return [*found[:num_init], *added, *found[num_init : num_init + num_xs]]

        over = [t.flip(0) for t in (*carries, *xs, *grad_out)]
        found = self.trace(mode, back, sums, over, more)
        by_init, by_more, by_xs = found[:num_init], found[num_init : num_init + len(more)], found[num_init + len(more) :]
        return [*by_init, *(g.flip(0) for g in by_xs), *by_more]


scan_op = ScanOp()


def along(who, leaves, dim, error):
    """Tensors to be scanned, with the dimension of the slices first; `error` is the class for tensors without slices."""
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise error(f"{who}: expected xs to be tensors, possibly in tuples, lists and dicts, got {type(leaf).__name__}")
        if not -leaf.dim() <= dim < leaf.dim():
            raise IndexError(f"{who}: expected dim from {-leaf.dim()} to {leaf.dim() - 1} for a tensor of shape {tuple(leaf.shape)}, got {dim}")
    sizes = [leaf.shape[dim] for leaf in leaves]
    if any(size != sizes[0] for size in sizes) or sizes[0] == 0:
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
