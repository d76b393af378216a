"""Adafactor."""

from __future__ import annotations

import cresset as torch

from ._elementwise import Elementwise, check_lr, counter, zeros_like
from ._functional import adafactor

__all__ = ["Adafactor", "adafactor"]


class Adafactor(Elementwise):
    r"""Adafactor (Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear memory cost", ICML 2018).

    The average of squared gradients of a matrix is kept as its row and column means only. With rate min(lr, 1 / sqrt(t)) times
    max(eps[1], rms(p)), and an update scaled down where its root mean square exceeds ``d``.

    Args:
        params: real tensors, named tensors or groups.
        lr: largest relative step size, a number or a tensor of one element.
        beta2_decay: power of t by which the weight of new squares falls, at most 0.
        eps: guards of the squares (None: the dtype's epsilon) and of the parameter's size.
        d: threshold of the update's root mean square, at least 1.
        weight_decay: the parameter shrinks by lr times it.
        foreach: accepted as PyTorch does; the numbers are the same.
        maximize: follow the gradient upwards.

    Errors: ValueError for options out of range; RuntimeError, at the step, for complex parameters and sparse gradients.

    Example::

        >>> import cresset as torch
        >>> w = torch.ones(2, 2, requires_grad=True)
        >>> optimizer = torch.optim.Adafactor([w], lr=0.1)
        >>> (3 * w).sum().backward()
        >>> optimizer.step()
        >>> round(w[0, 0].item(), 4)
        0.9
    """

    _rule = "_fused_adafactor_"
    _states = ("row_var", "col_var", "variance")

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, foreach=None, maximize=False):
        if isinstance(lr, torch.Tensor):
            check_lr(lr)
        for ok, text in (
            (lr >= 0.0, f"expected lr of at least 0, got {lr}"),
            (beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}"),
            (eps[0] is None or eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}"),
            (eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}"),
            (d >= 1.0, f"Adafactor: expected d of at least 1, got {d}"),
            (weight_decay >= 0.0, f"expected weight_decay of at least 0, got {weight_decay}"),
        ):
            if not ok:
                raise ValueError(text)
        super().__init__(params, {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
        })  # fmt: skip

    def _start(self, p, state, o):
        if p.is_complex():
            raise RuntimeError("Adafactor: expected real parameters, got complex ones")
        state["step"] = counter()
        if p.dim() > 1:
            shape = list(p.shape)
            state["row_var"], state["col_var"] = p.new_zeros([*shape[:-1], 1]), p.new_zeros([*shape[:-2], 1, shape[-1]])
        else:
            state["variance"] = zeros_like(p)

    def _numbers(self, o):
        guard, smallest = o["eps"]
        return {**{name: o[name] for name in ("lr", "beta2_decay", "d", "weight_decay")}, "eps1": guard, "eps2": smallest}

    def _kept(self, o):
        if "matrices" not in o:
            return ("step",)
        return self._states[:2] if o["matrices"] else self._states[2:]

    def _move(self, params, o):
        for matrices in (True, False):
            super()._move([p for p in params if (p.dim() > 1) == matrices], {**o, "matrices": matrices})
