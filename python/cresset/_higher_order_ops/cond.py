"""`cond`: one of two functions, by the value of a tensor."""

import warnings

import _cresset
from _cresset import Tensor

from .._core.symbolic import SymBool
from ..utils._pytree import tree_flatten
from . import _capture
from ._operator import Body, HigherOrderOperator, check_callable, same_structure


class CondOp(HigherOrderOperator):
    """`cond` on lists of tensors: (predicate, true function, false function, operands) -> results."""

    def __init__(self):
        super().__init__("cond")

    def run(self, pred, true_fn, false_fn, operands):
        """One of the branches; both where the predicate is a condition on open sizes."""
        true_fn, false_fn = (_listed(branch) for branch in (true_fn, false_fn))
        if not isinstance(pred, (Tensor, SymBool)):
            return tuple((true_fn if pred else false_fn)(*operands))
        return _cresset.control_cond(pred if isinstance(pred, Tensor) else None, true_fn, false_fn, list(operands))

    def _of_transform(self, pred, true_fn, false_fn, operands):
        if not isinstance(pred, Tensor) or not pred._is_batched or any(map(_cresset.has_tangent, operands)):
            return super()._of_transform()
        return self.run(pred, true_fn, false_fn, operands)  # both branches on the whole batch, whose operators are heard

    def trace(self, mode, pred, true_fn, false_fn, operands):
        """A node with a module for each branch."""
        operands = list(operands)
        modules, lifted = _capture.modules_of(mode, [true_fn, false_fn], operands)
        tensors = [*operands, *lifted]

        def call(*tensors):
            results = _capture.unheard(self.run, pred, *modules, tensors)
            return _capture.record(mode, self, ("true_graph", "false_graph"), modules, ((pred,), (tuple(tensors),)), results)

        def pullback(tensors, grads):
            pulls = [_capture.pullback_of(module, len(tensors)) for module in modules]
            return self.trace(mode, pred, *pulls, [*tensors, *grads])

        if _capture.is_below_autograd(mode) and _capture.needs_gradient(tensors):
            return _capture.Recorded.apply(call, pullback, *tensors)
        return call(*tensors)


cond_op = CondOp()


def _listed(branch):
    def call(*tensors):
        found = branch(*tensors)
        return [found] if isinstance(found, Tensor) else found

    return call


def _check_predicate(pred):
    if not isinstance(pred, (bool, int, float, SymBool, Tensor)):
        raise RuntimeError(f"cond: expected pred to be a bool or a tensor, got {type(pred).__name__}: {pred}")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"cond: expected pred to be a bool or a tensor of one element, got one of shape {tuple(pred.shape)}")


def cond(pred, true_fn, false_fn, operands=()):
    """`true_fn(*operands)` where `pred` is true, else `false_fn(*operands)`: the choice stays open in graphs that are captured.

    `pred` is a bool, a condition on sizes that are open, or a tensor of one element; `operands` a tuple or list of trees of tensors. The branches return trees of the same structure, whose
    tensors have the same shapes and dtypes; they write none of their inputs and return none of them as they are. They may use tensors from around
    them; gradients reach those, too. Under `vmap` with a predicate for each example both branches run.

    Errors: RuntimeError for other predicates and operands; `torch._dynamo.exc.UncapturedHigherOrderOpError`, a RuntimeError, for branches that do not fit.

    >>> x = torch.tensor([1.0, -2.0])
    >>> torch.cond(x.sum() > 0, lambda x: x.cos(), lambda x: x.abs(), (x,))
    tensor([1., 2.])
    """
    _check_predicate(pred)
    check_callable("cond", RuntimeError, true_fn=true_fn, false_fn=false_fn)
    leaves, spec = tree_flatten(tuple(operands)) if isinstance(operands, (tuple, list)) else ([None], None)
    if any(not isinstance(leaf, Tensor) for leaf in leaves):
        raise RuntimeError(f"cond: expected operands to be a tuple of tensors, possibly in tuples, lists and dicts, got {operands!r}")
    if not isinstance(pred, (Tensor, SymBool)):
        warnings.warn("cond: pred is a number of Python's, so that only one branch is run, and captured", UserWarning, stacklevel=2)
        return (true_fn if pred else false_fn)(*operands)
    branches = [Body("cond", name, function, spec, allows=(int,)) for name, function in (("true_fn", true_fn), ("false_fn", false_fn))]
    results = cond_op(pred, *branches, leaves)
    same_structure("cond", *branches)
    return next(b for b in branches if b.out_spec is not None).rebuilt(results)
