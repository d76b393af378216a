"""NAdam."""

from __future__ import annotations

from ._elementwise import Elementwise, check_betas, check_lr, check_range, counter, zeros_like
from ._functional import nadam

__all__ = ["NAdam", "nadam"]


class NAdam(Elementwise):
    r"""Adam with Nesterov momentum (Dozat, "Incorporating Nesterov momentum into Adam", ICLR workshop 2016).

    mu_t = beta1 (1 - 0.5 * 0.96^(t momentum_decay)); with Adam's averages m and v, s = sqrt(v / (1 - beta2^t)) + eps and M the product
    of mu_1 to mu_t: p -= lr ((1 - mu_t) / (1 - M) g + mu_{t+1} / (1 - M mu_{t+1}) m) / s.

    Args:
        params: tensors, named tensors or groups.
        lr: step size per update, a number or a tensor of one element.
        betas: decay rates of the averages, each in [0, 1).
        eps: added to the denominator.
        weight_decay: times the parameter is added to the gradient; with ``decoupled_weight_decay`` the parameter shrinks by lr times it.
        momentum_decay: as above.
        foreach: accepted as PyTorch does; the numbers are the same.
        maximize: follow the gradient upwards.
        capturable: only for parameters on accelerators, as in PyTorch.
        differentiable: record the step for autograd.

    Errors: ValueError for options out of range; RuntimeError for sparse gradients.

    Example::

        >>> import cresset as torch
        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> optimizer = torch.optim.NAdam([w], lr=0.1)
        >>> (3 * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 3)
        0.894
    """

    _rule = "_fused_nadam_"
    _states = ("exp_avg", "exp_avg_sq", "mu_product")
    _rates = ("lr", "beta1", "beta2", "weight_decay")

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3, decoupled_weight_decay=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False):  # fmt: skip
        check_lr(lr)
        check_range(eps >= 0.0, "epsilon value", eps)
        check_betas(betas)
        check_range(weight_decay >= 0.0, "weight_decay value", weight_decay)
        check_range(momentum_decay >= 0.0, "momentum_decay value", momentum_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable,
        })  # fmt: skip

    def _start(self, p, state, o):
        state["step"], state["mu_product"] = counter(), counter(1.0)
        state["exp_avg"], state["exp_avg_sq"] = zeros_like(p), zeros_like(p)

    def _numbers(self, o):
        beta1, beta2 = o["betas"]
        plain = {name: o[name] for name in ("lr", "eps", "weight_decay", "momentum_decay", "decoupled_weight_decay")}
        return {**plain, "beta1": beta1, "beta2": beta2}
