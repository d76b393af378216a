"""Functions of `torch` that stand elsewhere under other arguments, and control flow as functions."""

import _cresset as _extension

import cresset as _torch

from .. import Tensor as _Tensor


class AcceleratorError(RuntimeError):
    """Error of an accelerator while it computes; there is none here that could."""


def view_as_real_copy(input, *, out=None):
    """A copy of `view_as_real`.

    >>> torch.view_as_real_copy(torch.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """
    made = _torch.view_as_real(input).clone()
    return made if out is None else out.resize_(made.shape).copy_(made)


def view_as_complex_copy(input, *, out=None):
    """A copy of `view_as_complex`.

    >>> torch.view_as_complex_copy(torch.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """
    made = _torch.view_as_complex(input).clone()
    return made if out is None else out.resize_(made.shape).copy_(made)


def set_anomaly_enabled(enabled, check_nan=True):
    """Turns anomaly mode on or off; see `autograd.detect_anomaly`.

    >>> torch.set_anomaly_enabled(False)
    """
    _extension.set_anomaly(bool(enabled), bool(check_nan))


def cond(pred, true_fn, false_fn, operands=()):
    """true_fn(*operands) where `pred` is true, else false_fn(*operands). Gradients go through the one that ran.

    Errors: RuntimeError for a predicate that is neither a bool nor a tensor of one element, functions that cannot be called, operands that are no tuple.

    >>> torch.cond(torch.tensor(3) > 2, torch.sin, torch.cos, (torch.zeros(1),))
    tensor([0.])
    """
    if not isinstance(pred, (bool, _Tensor)) or (isinstance(pred, _Tensor) and (pred.numel() != 1 or pred.dtype != _torch.bool)):
        raise RuntimeError(f"cond: expected pred to be bool or a tensor of one bool, got {pred!r}")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("cond: expected both branches to be callable")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(f"cond: expected operands to be a tuple of tensors, got {type(operands).__name__}")
    return true_fn(*operands) if bool(pred) else false_fn(*operands)


def while_loop(cond_fn, body_fn, carried_inputs):
    """Runs body_fn(*values) on its own results while cond_fn(*values) is true, from `carried_inputs` on; returns the last values.

    Errors: RuntimeError for functions that cannot be called, inputs that are no tuple, and bodies that change how many tensors there are, or their
    shapes or dtypes.

    >>> torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.ones(1)))
    (tensor(3), tensor([8.]))
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("while_loop: expected cond_fn and body_fn to be callable")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"while_loop: expected carried_inputs to be a tuple, got {type(carried_inputs).__name__}")
    values = tuple(carried_inputs)
    while bool(cond_fn(*values)):
        after = body_fn(*values)
        after = tuple(after) if isinstance(after, (tuple, list)) else (after,)
        facts = [[(tuple(v.shape), v.dtype) if isinstance(v, _Tensor) else type(v) for v in side] for side in (values, after)]
        if facts[0] != facts[1]:
            raise RuntimeError(f"while_loop: the body changed {facts[0]} to {facts[1]}")
        values = after
    return values
