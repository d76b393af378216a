"""Adam."""

from __future__ import annotations

import cresset as torch

from ._elementwise import Elementwise, check_betas, check_fused, check_lr, check_range, counter, zeros_like
from ._functional import adam

__all__ = ["Adam", "adam"]


class Adam(Elementwise):
    r"""Adam (Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015).

    m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, p -= lr m' / (sqrt(v') + eps), where m' = m / (1 - beta1^t) and
    v' = v / (1 - beta2^t) undo the bias of a start from zero.

    Args:
        params: tensors, named tensors or groups.
        lr: step size per update, a number or a tensor of one element.
        betas: decay rates of the averages, each in [0, 1); both numbers or both tensors of one element.
        eps: added to the denominator.
        weight_decay: times the parameter is added to the gradient; with ``decoupled_weight_decay`` the parameter shrinks by lr times
            it instead (AdamW).
        amsgrad: use the largest v so far (Reddi et al., "On the convergence of Adam and beyond", ICLR 2018).
        maximize: follow the gradient upwards.
        foreach, fused: accepted as PyTorch does; plain arrays on the CPU take one fused pass either way, with the same numbers.
        capturable: only for parameters on accelerators, as in PyTorch.
        differentiable: record the step for autograd.

    Errors: ValueError for options out of range, mixed kinds of betas, tensor options together with ``foreach``; RuntimeError for
    ``fused`` with ``foreach`` or ``differentiable``, and for sparse gradients.

    Example::

        >>> import cresset as torch
        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> optimizer = torch.optim.Adam([w], lr=0.1)
        >>> (3 * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        0.9
    """

    _rule = "_fused_adam_"  # or AdamW's, see _call
    _states = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    _rates = ("lr", "beta1", "beta2", "weight_decay")

    def _no_sparse(self):
        return "Adam does not support sparse gradients; SparseAdam takes them"

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None, maximize=False,
                 capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):  # fmt: skip
        if isinstance(lr, torch.Tensor) and foreach and not capturable:
            raise ValueError("foreach=True takes lr as a tensor with capturable=True only")
        check_lr(lr)
        check_range(eps >= 0.0, "epsilon value", eps)
        check_betas(betas)
        check_range(weight_decay >= 0.0, "weight_decay value", weight_decay)
        are_tensors = [isinstance(beta, torch.Tensor) for beta in betas]
        if any(are_tensors):
            if not all(are_tensors):
                raise ValueError("expected betas to be two floats or two tensors")
            for i in (0, 1):
                if foreach and not capturable:
                    raise ValueError(f"betas[{i}] as a tensor needs capturable=True where foreach=True")
                if betas[i].numel() != 1:
                    raise ValueError(f"Tensor betas[{i}] must be 1-element")
        check_fused(fused, foreach, differentiable)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        })  # fmt: skip

    def _start(self, p, state, o):
        state["step"] = counter()
        for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 3 if o["amsgrad"] else 2]:
            state[name] = zeros_like(p)

    def _kept(self, o):
        return self._states if o["amsgrad"] else self._states[:2]

    def _numbers(self, o):
        beta1, beta2 = o["betas"]
        return {"lr": o["lr"], "beta1": beta1, "beta2": beta2, "weight_decay": o["weight_decay"], "eps": o["eps"], "amsgrad": o["amsgrad"]}

    def _call(self, rule, params, o):
        return super()._call("_fused_adamw_" if o["decoupled_weight_decay"] else "_fused_adam_", params, o)
