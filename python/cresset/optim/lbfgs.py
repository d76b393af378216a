"""Limited-memory BFGS."""

from __future__ import annotations

import _cresset

import cresset as torch

from ._elementwise import check_lr
from .optimizer import Optimizer

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    r"""Limited-memory BFGS (Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", 1989).

    All parameters are one vector; there is one group. Memory is ``history_size`` + 1 times that of the parameters, twice.

    Args:
        params: tensors or named tensors.
        lr: length of a step along the direction, a number or a tensor of one element.
        max_iter: iterations within one ``step``.
        max_eval: evaluations of the closure within one ``step``; by default 1.25 ``max_iter``.
        tolerance_grad: ends where no element of the gradient is larger.
        tolerance_change: ends where neither the loss nor a parameter changes by more.
        history_size: pairs of changes that are remembered.
        line_search_fn: None, or "strong_wolfe".

    Errors: ValueError for several groups or a negative rate; RuntimeError, at the step, for another line search.

    Example::

        >>> import cresset as torch
        >>> w = torch.tensor([3.0, -4.0], requires_grad=True)
        >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = (w * w).sum()
        ...     loss.backward()
        ...     return loss
        >>> first = optimizer.step(closure)
        >>> bool(closure() < 1e-9)
        True
    """

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100,
                 line_search_fn=None):  # fmt: skip
        check_lr(lr)
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        })  # fmt: skip
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS: expected one group of parameters")

    @property
    def _params(self):
        return self.param_groups[0]["params"]

    _optional_state = ("d", "prev_flat_grad")

    def _layout(self, p, group):
        count = sum(q.numel() * (2 if q.is_complex() else 1) for q in group["params"])
        return dict.fromkeys(self._optional_state, torch.empty(count, device="meta")) if p is group["params"][0] else {}

    def step(self, closure):
        """Up to ``max_iter`` iterations.

        Args:
            closure: clears the gradients, computes the loss, calls backward and returns the loss.

        Returns: the closure's first result.
        """
        first = []

        def evaluate():
            with torch.enable_grad():
                loss = closure()
            if not first:
                first.append(loss)
            return loss

        params = self._params
        _cresset.lbfgs_step(params, self.state[params[0]], self.param_groups[0], evaluate)
        return first[0]
