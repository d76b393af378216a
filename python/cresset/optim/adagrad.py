"""Adagrad."""

from __future__ import annotations

import cresset as torch

from ._elementwise import Elementwise, check_fused, check_lr, check_range, counter
from ._functional import adagrad

__all__ = ["Adagrad", "adagrad"]


class Adagrad(Elementwise):
    r"""Adagrad (Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and stochastic optimization", JMLR 2011).

    s += g^2; p -= lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps). The sums exist from the start.

    Args:
        params: tensors, named tensors or groups.
        lr: step size, a number or a tensor of one element.
        lr_decay: how fast the rate falls with the number of steps.
        weight_decay: times the parameter is added to the gradient.
        initial_accumulator_value: what s starts from.
        eps: added to the denominator.
        foreach, fused: accepted as PyTorch does; plain arrays on the CPU take one fused pass either way, with the same numbers.
        maximize: follow the gradient upwards.
        differentiable: record the step for autograd.

    Errors: ValueError for options out of range; RuntimeError for ``fused`` with ``foreach`` or ``differentiable``.

    Example::

        >>> import cresset as torch
        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> optimizer = torch.optim.Adagrad([w], lr=0.1)
        >>> (3 * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        0.9
    """

    _rule = "_fused_adagrad_"
    _states = ("sum",)

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *, maximize=False,
                 differentiable=False, fused=None):  # fmt: skip
        check_lr(lr)
        check_range(lr_decay >= 0.0, "lr_decay value", lr_decay)
        check_range(weight_decay >= 0.0, "weight_decay value", weight_decay)
        check_range(initial_accumulator_value >= 0.0, "initial_accumulator_value value", initial_accumulator_value)
        check_range(eps >= 0.0, "epsilon value", eps)
        check_fused(fused, foreach, differentiable)
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        })  # fmt: skip
        for group in self.param_groups:
            for p in group["params"]:
                self._start(p, self.state[p], group)

    def _start(self, p, state, o):
        start = o["initial_accumulator_value"]
        value = complex(start, start) if p.is_complex() else start
        state["step"], state["sum"] = counter(), torch.full_like(p, value, memory_format=torch.preserve_format).detach()

    def share_memory(self):
        """Moves the sums to shared memory, for training from several processes."""
        for values in self.state.values():
            values["sum"].share_memory_()

    def _takes_sparse(self, o):
        return not o["weight_decay"]

    def _no_sparse(self):
        return "Adagrad: sparse gradients allow no weight_decay"

    def _numbers(self, o):
        return {name: o[name] for name in ("lr", "lr_decay", "weight_decay", "eps")}
