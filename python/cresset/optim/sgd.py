"""Stochastic gradient descent."""

from __future__ import annotations

import _cresset

import cresset as torch

from ._elementwise import Elementwise, add_scaled, check_fused, check_lr, check_range

__all__ = ["SGD"]


class SGD(Elementwise):
    r"""Stochastic gradient descent, with momentum (Sutskever et al., "On the importance of initialization and momentum in deep
    learning", ICML 2013).

    With gradient g (plus ``weight_decay`` times p): b = momentum b + (1 - dampening) g, at the first step b = g; p -= lr b, or with
    ``nesterov`` p -= lr (g + momentum b).

    Args:
        params: tensors, named tensors or groups.
        lr: step size per update, a number or a tensor of one element.
        momentum, dampening, weight_decay, nesterov: as above.
        maximize: follow the gradient upwards.
        foreach, fused: accepted as PyTorch does; plain arrays on the CPU take one fused pass either way, with the same numbers.
        differentiable: record the step for autograd.

    Errors: ValueError for options out of range, and for ``nesterov`` without momentum or with dampening; RuntimeError for ``fused``
    with ``foreach`` or ``differentiable``.

    Example::

        >>> import cresset as torch
        >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
        >>> optimizer = torch.optim.SGD([w], lr=0.25, momentum=0.5)
        >>> for _ in range(2):
        ...     optimizer.zero_grad()
        ...     (w * w).sum().backward()
        ...     optimizer.step()
        >>> w.tolist()
        [0.0, 0.0]
    """

    _takes_sparse = True
    _views_complex = False

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, foreach=None,
                 differentiable=False, fused=None):  # fmt: skip
        check_lr(lr)
        check_range(momentum >= 0.0, "momentum value", momentum)
        check_range(weight_decay >= 0.0, "weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_fused(fused, foreach, differentiable)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        })  # fmt: skip

    _optional_state = ("momentum_buffer",)

    def _layout(self, p, group):
        return {"momentum_buffer": torch.empty_like(p.detach(), device="meta")} if group["momentum"] else {}

    def _fused(self, params, o):
        return _cresset.fused_sgd(params, self.state, o["lr"], o["momentum"], o["dampening"], o["weight_decay"], o["nesterov"], o["maximize"])

    def _update(self, p, grad, state, o):
        if o["weight_decay"]:
            grad = add_scaled(grad.clone(), p, o["weight_decay"])
        if o["momentum"]:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.clone().detach()
            else:
                buffer.mul_(o["momentum"]).add_(grad, alpha=1 - o["dampening"])
            grad = grad.add(buffer, alpha=o["momentum"]) if o["nesterov"] else buffer
        add_scaled(p, grad, -o["lr"])
