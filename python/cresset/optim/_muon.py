"""Muon."""

from __future__ import annotations

import cresset as torch

from ._elementwise import Elementwise, check_lr, zeros_like
from ._functional import muon

__all__ = ["Muon", "muon"]


class Muon(Elementwise):
    r"""Muon: momentum, orthogonalized by a Newton-Schulz iteration (Jordan et al., "Muon: an optimizer for hidden layers in neural
    networks", 2024).

    Args:
        params: matrices only, named or not, or groups; other parameters want AdamW beside it.
        lr: step size per update, a number or a tensor of one element.
        weight_decay: the parameter shrinks by lr times it.
        momentum: decay rate of the average of gradients.
        nesterov: look ahead along the momentum.
        ns_coefficients: of the iteration's x, x^3 and x^5.
        eps: guards the norm by which the iteration starts.
        ns_steps: iterations, fewer than 100.
        adjust_lr_fn: the factor of the rate for an A x B matrix: "original" (None) is sqrt(max(1, A / B)), "match_rms_adamw"
            0.2 sqrt(max(A, B)).

    Errors: ValueError for options out of range and for parameters that are no matrices; RuntimeError for complex parameters.

    Example::

        >>> import cresset as torch
        >>> w = torch.zeros(2, 3, requires_grad=True)
        >>> optimizer = torch.optim.Muon([w], lr=0.1)
        >>> w.sum().backward()
        >>> optimizer.step()
        >>> bool((w < 0).all())
        True
    """

    _rule = "_fused_muon_"
    _states = ("momentum_buffer",)

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.775, 2.0315), eps=1e-7,
                 ns_steps=5, adjust_lr_fn=None):  # fmt: skip
        if isinstance(lr, torch.Tensor):
            check_lr(lr)
        for ok, text in (
            (lr >= 0.0, f"expected lr of at least 0, got {lr}"),
            (momentum >= 0.0, f"momentum should be >= 0 but is: {momentum}"),
            (weight_decay >= 0.0, f"expected weight_decay of at least 0, got {weight_decay}"),
            (adjust_lr_fn in (None, "original", "match_rms_adamw"), f"Adjust learning rate function {adjust_lr_fn} is not supported"),
            (len(ns_coefficients) == 3, f"Coefficients must be a tuple of exactly 3 values, got {len(ns_coefficients)}"),
            (ns_steps < 100, f"Number of steps must be less than 100, got {ns_steps}"),
        ):
            if not ok:
                raise ValueError(text)
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov, "ns_coefficients": ns_coefficients,
            "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        })  # fmt: skip
        for p in self._all_params():
            if p.dim() != 2:
                raise ValueError(f"Muon: expected parameters of 2 dimensions, got shape {p.size()}")

    def _start(self, p, state, o):
        if p.is_complex():
            raise RuntimeError("Muon: expected real parameters, got complex ones")
        state["momentum_buffer"] = zeros_like(p)

    def _numbers(self, o):
        names = ("lr", "weight_decay", "momentum", "nesterov", "ns_coefficients", "eps", "ns_steps")
        return {**{name: o[name] for name in names}, "adjust_lr_fn": o["adjust_lr_fn"] or "original"}
