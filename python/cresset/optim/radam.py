"""RAdam."""

from __future__ import annotations

from ._elementwise import Elementwise, check_betas, check_lr, check_range, counter, zeros_like
from ._functional import radam

__all__ = ["RAdam", "radam"]


class RAdam(Elementwise):
    r"""Rectified Adam (Liu et al., "On the variance of the adaptive learning rate and beyond", ICLR 2020).

    With r = 2 / (1 - beta2) - 1 and r_t = r - 2 t beta2^t / (1 - beta2^t), Adam's averages m (without bias: m') and v: where r_t > 5,
    p -= lr m' sqrt((r_t - 4) (r_t - 2) r / ((r - 4) (r - 2) r_t)) sqrt(1 - beta2^t) / (sqrt(v) + eps); before that p -= lr m'.

    Args:
        params: tensors, named tensors or groups.
        lr: step size per update, a number or a tensor of one element.
        betas: decay rates of the averages, each in [0, 1).
        eps: added to the denominator.
        weight_decay: times the parameter is added to the gradient; with ``decoupled_weight_decay`` the parameter shrinks by lr times it.
        foreach: accepted as PyTorch does; the numbers are the same.
        maximize: follow the gradient upwards.
        capturable: only for parameters on accelerators, as in PyTorch.
        differentiable: record the step for autograd.

    Errors: ValueError for options out of range; RuntimeError for sparse gradients.

    Example::

        >>> import cresset as torch
        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> optimizer = torch.optim.RAdam([w], lr=0.1)
        >>> (3 * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        0.7
    """

    _rule = "_fused_radam_"
    _states = ("exp_avg", "exp_avg_sq")
    _rates = ("lr", "beta1", "beta2", "weight_decay")

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False):  # fmt: skip
        check_lr(lr)
        check_range(eps >= 0.0, "epsilon value", eps)
        check_betas(betas)
        check_range(weight_decay >= 0.0, "weight_decay value", weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
        })  # fmt: skip

    def _start(self, p, state, o):
        state["step"], state["exp_avg"], state["exp_avg_sq"] = counter(), zeros_like(p), zeros_like(p)

    def _numbers(self, o):
        beta1, beta2 = o["betas"]
        return {**{name: o[name] for name in ("lr", "eps", "weight_decay", "decoupled_weight_decay")}, "beta1": beta1, "beta2": beta2}
