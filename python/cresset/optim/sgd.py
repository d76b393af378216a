"""Stochastic gradient descent."""

from __future__ import annotations

import cresset as torch

from ._elementwise import Elementwise, check_fused, check_lr, check_range, zeros_like
from ._functional import sgd

__all__ = ["SGD", "sgd"]


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

    _rule = "_fused_sgd_"
    _states = ("momentum_buffer",)
    _rates = ("weight_decay", "momentum", "lr")

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, foreach=None,
                 differentiable=False, fused=None):  # fmt: skip
        check_lr(lr)
        check_range(momentum >= 0.0, "momentum value", momentum)
        check_range(weight_decay >= 0.0, "weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("SGD: nesterov=True needs a momentum, and dampening of 0")
        check_fused(fused, foreach, differentiable)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        })  # fmt: skip

    _optional_state = ("momentum_buffer",)

    def _layout(self, p, group):
        return {"momentum_buffer": torch.empty_like(p.detach(), device="meta")} if group["momentum"] else {}

    def _takes_sparse(self, o):
        return True

    def _kept(self, o):
        return self._states if o["momentum"] else ()

    def _numbers(self, o):
        return {"weight_decay": o["weight_decay"], "momentum": o["momentum"], "lr": o["lr"], "dampening": o["dampening"], "nesterov": o["nesterov"],
                "is_first_step": o.get("first", False)}  # fmt: skip

    def _make(self, params, o):
        """Buffers for parameters that have none."""
        for p in params:
            self.state[p]["momentum_buffer"] = p.grad.detach().clone() if p.grad.is_sparse and not o["weight_decay"] else zeros_like(p)

    def _prepare(self, params, o):
        pass  # nothing of it can fail

    def _move(self, params, o):
        if o["differentiable"] and o["momentum"]:
            for p in params:
                buffer = self.state[p].get("momentum_buffer")
                if buffer is not None:
                    self.state[p]["momentum_buffer"] = buffer.clone()
        fresh = self._call(self._rule, params, o)
        if fresh:
            known = set(map(id, fresh))
            self._call(self._rule, [p for p in params if id(p) not in known], o)
            self._make(fresh, o)
            self._call(self._rule, fresh, {**o, "first": True})
