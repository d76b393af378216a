"""Adamax."""

from __future__ import annotations

from ._elementwise import Elementwise, check_betas, check_lr, check_range, counter, zeros_like
from ._functional import adamax

__all__ = ["Adamax", "adamax"]


class Adamax(Elementwise):
    r"""Adamax, Adam with the infinity norm (Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015).

    m = beta1 m + (1 - beta1) g; u = max(beta2 u, abs(g) + eps); p -= lr / (1 - beta1^t) m / u.

    Args:
        params: tensors, named tensors or groups.
        lr: step size per update, a number or a tensor of one element.
        betas: decay rates of the average and of the maximum, each in [0, 1).
        eps: added to the gradient's size.
        weight_decay: times the parameter is added to the gradient.
        foreach: accepted as PyTorch does; the numbers are the same.
        maximize: follow the gradient upwards.
        differentiable: record the step for autograd.
        capturable: only for parameters on accelerators, as in PyTorch.

    Errors: ValueError for options out of range; RuntimeError for sparse gradients.

    Example::

        >>> import cresset as torch
        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> optimizer = torch.optim.Adamax([w], lr=0.1)
        >>> (3 * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        0.9
    """

    _rule = "_fused_adamax_"
    _states = ("exp_avg", "exp_inf")
    _rates = ("lr", "beta1", "beta2", "weight_decay")

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False, differentiable=False,
                 capturable=False):  # fmt: skip
        check_lr(lr)
        check_range(eps >= 0.0, "epsilon value", eps)
        check_betas(betas)
        check_range(weight_decay >= 0.0, "weight_decay value", weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        })  # fmt: skip

    def _start(self, p, state, o):
        state["step"], state["exp_avg"], state["exp_inf"] = counter(), zeros_like(p), zeros_like(p)

    def _numbers(self, o):
        beta1, beta2 = o["betas"]
        return {"lr": o["lr"], "beta1": beta1, "beta2": beta2, "eps": o["eps"], "weight_decay": o["weight_decay"]}
