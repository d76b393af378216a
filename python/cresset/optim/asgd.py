"""Averaged stochastic gradient descent."""

from __future__ import annotations

from ._elementwise import Elementwise, check_lr, check_range, counter, zeros_like
from ._functional import asgd

__all__ = ["ASGD", "asgd"]


class ASGD(Elementwise):
    r"""Averaged stochastic gradient descent (Polyak and Juditsky, "Acceleration of stochastic approximation by averaging", 1992).

    p = (1 - lambd eta) p - eta g; the average ``ax`` moves by mu (p - ax); then eta = lr / (1 + lambd lr t)^alpha and
    mu = 1 / max(1, t - t0).

    Args:
        params: tensors, named tensors or groups.
        lr: the first step size, a number or a tensor of one element.
        lambd: decay of the parameters.
        alpha: power by which the step size falls.
        t0: the step at which averaging starts.
        weight_decay: times the parameter is added to the gradient.
        foreach: accepted as PyTorch does; the numbers are the same.
        maximize: follow the gradient upwards.
        differentiable: record the step for autograd.
        capturable: only for parameters on accelerators, as in PyTorch.

    Errors: ValueError for options out of range; RuntimeError for sparse gradients.

    Example::

        >>> import cresset as torch
        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> optimizer = torch.optim.ASGD([w], lr=0.1)
        >>> (3 * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        0.7
    """

    _rule = "_fused_asgd_"
    _states = ("ax", "mu", "eta")

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False, differentiable=False,
                 capturable=False):  # fmt: skip
        check_lr(lr)
        check_range(weight_decay >= 0.0, "weight_decay value", weight_decay)
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        })  # fmt: skip

    def _start(self, p, state, o):
        state["step"], state["eta"], state["mu"], state["ax"] = counter(), counter(float(o["lr"])), counter(1.0), zeros_like(p)

    def _numbers(self, o):
        return {**{name: o[name] for name in ("lr", "lambd", "alpha", "t0", "weight_decay")}, "joint": bool(o["foreach"])}
