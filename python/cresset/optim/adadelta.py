"""Adadelta."""

from __future__ import annotations

from ._elementwise import Elementwise, check_lr, check_range, counter, zeros_like
from ._functional import adadelta

__all__ = ["Adadelta", "adadelta"]


class Adadelta(Elementwise):
    r"""Adadelta (Zeiler, "ADADELTA: an adaptive learning rate method", 2012).

    v = rho v + (1 - rho) g^2; d = sqrt(u + eps) / sqrt(v + eps) g; u = rho u + (1 - rho) d^2; p -= lr d.

    Args:
        params: tensors, named tensors or groups.
        lr: factor of each change, a number or a tensor of one element.
        rho: decay rate of both averages, in [0, 1].
        eps: added to both averages before their roots.
        weight_decay: times the parameter is added to the gradient.
        foreach: accepted as PyTorch does; the numbers are the same.
        capturable: only for parameters on accelerators, as in PyTorch.
        maximize: follow the gradient upwards.
        differentiable: record the step for autograd.

    Errors: ValueError for options out of range; RuntimeError for sparse gradients.

    Example::

        >>> import cresset as torch
        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> optimizer = torch.optim.Adadelta([w])
        >>> (3 * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        0.9968
    """

    _rule = "_fused_adadelta_"
    _states = ("square_avg", "acc_delta")

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
                 differentiable=False):  # fmt: skip
        check_lr(lr)
        check_range(0.0 <= rho <= 1.0, "rho value", rho)
        check_range(eps >= 0.0, "epsilon value", eps)
        check_range(weight_decay >= 0.0, "weight_decay value", weight_decay)
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "capturable": capturable,
            "foreach": foreach, "differentiable": differentiable,
        })  # fmt: skip

    def _start(self, p, state, o):
        state["step"], state["square_avg"], state["acc_delta"] = counter(), zeros_like(p), zeros_like(p)

    def _numbers(self, o):
        return {name: o[name] for name in ("lr", "rho", "eps", "weight_decay")}
