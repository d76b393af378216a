"""Limits on gradients."""

import functools
import math
import warnings

import cresset as torch


def _gradients(parameters):
    if isinstance(parameters, torch.Tensor):
        parameters = [parameters]
    return [p.grad for p in parameters if p.grad is not None]


def _with_no_grad(function):
    @functools.wraps(function)
    def quiet(*args, **kwargs):
        with torch.no_grad():
            return function(*args, **kwargs)

    return quiet


@_with_no_grad
def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors as one vector, a tensor. RuntimeError for one that is not finite, if asked for.

    >>> nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])]).item()
    5.0
    """
    tensors = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return torch.tensor(0.0)
    norms = torch.stack(torch._foreach_norm(tensors, norm_type))
    total = torch.linalg.vector_norm(norms, norm_type)
    if error_if_nonfinite and not bool(torch.isfinite(total)):
        raise RuntimeError(f"the total norm of order {norm_type} of the gradients is {total.item()}: it cannot be clipped; "
                           "error_if_nonfinite=False goes on with it")  # fmt: skip
    return total


@_with_no_grad
def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scale gradients in place so that a norm of `total_norm` becomes `max_norm` at most.

    >>> p = nn.Parameter(torch.zeros(1)); p.grad = torch.tensor([10.0])
    >>> nn.utils.clip_grads_with_norm_([p], 1.0, torch.tensor(10.0))
    >>> p.grad.round().tolist()
    [1.0]
    """
    factor = torch._clip_factor(total_norm, float(max_norm))
    grads = _gradients(parameters)
    if grads:
        torch._foreach_mul_(grads, factor)


@_with_no_grad
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scale the gradients of parameters in place so that their norm as one vector is `max_norm` at most; returns the norm before.

    >>> p = nn.Parameter(torch.zeros(2)); p.grad = torch.tensor([3.0, 4.0])
    >>> nn.utils.clip_grad_norm_([p], max_norm=1.0).item(), p.grad.mul(5).round().tolist()
    (5.0, [3.0, 4.0])
    """
    parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
    if not parameters:
        warnings.warn("clip_grad_norm_: there are no parameters", stacklevel=3)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The old name of `clip_grad_norm_`; using it warns."""
    warnings.warn("nn.utils.clip_grad_norm is an old name of nn.utils.clip_grad_norm_", FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@_with_no_grad
def clip_grad_value_(parameters, clip_value, foreach=None):
    """Clip every element of the gradients to [-clip_value, clip_value] in place.

    >>> p = nn.Parameter(torch.zeros(2)); p.grad = torch.tensor([3.0, -4.0])
    >>> nn.utils.clip_grad_value_(p, 2.0); p.grad.tolist()
    [2.0, -2.0]
    """
    limit = float(clip_value)
    if math.isnan(limit):
        raise ValueError("clip_grad_value_: the limit is not a number")
    grads = _gradients(parameters)
    if grads:
        torch._foreach_clamp_min_(grads, -limit)
        torch._foreach_clamp_max_(grads, limit)
