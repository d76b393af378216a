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

    def _flat_grad(self):
        parts = []
        for p in self._params:
            part = torch.zeros_like(p) if p.grad is None else p.grad
            parts.append((torch.view_as_real(part) if part.is_complex() else part).reshape(-1))
        return torch.cat(parts, 0)

    def _move(self, t, direction):
        at = 0
        for p in self._params:
            p = torch.view_as_real(p) if p.is_complex() else p
            p.add_(direction[at : at + p.numel()].view_as(p), alpha=t)
            at += p.numel()

    def _direction(self, grad, state):
        """-H grad by the two-loop recursion over the remembered pairs."""
        h_diag = state["H_diag"]
        r, *alphas = torch._lbfgs_direction(grad, state["old_dirs"], state["old_stps"], state["ro"], h_diag.item() if torch.is_tensor(h_diag) else h_diag)
        state.setdefault("al", [None] * self.param_groups[0]["history_size"])[: len(alphas)] = alphas
        return r

    def step(self, closure):
        """Up to ``max_iter`` iterations.

        Args:
            closure: clears the gradients, computes the loss, calls backward and returns the loss.

        Returns: the closure's first result.
        """
        with torch.no_grad():
            return self._step(closure)

    def _step(self, closure):
        o = self.param_groups[0]
        lr, search, tolerance = o["lr"], o["line_search_fn"], o["tolerance_change"]
        state = self.state[o["params"][0]]  # one for all, kept with the first
        for counter in ("func_evals", "n_iter"):
            state.setdefault(counter, 0)

        def evaluate():
            with torch.enable_grad():
                return closure()

        first = evaluate()
        loss, grad, evaluations = float(first), self._flat_grad(), 1
        state["func_evals"] += 1
        done = bool(grad.abs().max() <= o["tolerance_grad"])
        if done:
            return first
        direction, t, iterations = state.get("d"), state.get("t"), 0
        while iterations < o["max_iter"]:
            iterations += 1
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                direction = grad.neg()
                state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            else:
                self._remember(grad.sub(state["prev_flat_grad"]), direction.mul(t), state, o["history_size"])
                direction = self._direction(grad, state)
            state["prev_flat_grad"] = grad.clone()
            before = state["prev_loss"] = loss
            t = min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr
            slope = grad.dot(direction)
            if slope > -tolerance:
                break
            calls = 0
            if search is not None:
                if search != "strong_wolfe":
                    raise RuntimeError(f"LBFGS: expected line_search_fn to be None or 'strong_wolfe', got {search!r}")
                start = [p.clone() for p in self._params]

                def along(t, direction=direction, start=start):
                    self._move(t, direction)
                    value = float(evaluate())
                    grad = self._flat_grad()
                    for p, value_before in zip(self._params, start):
                        p.copy_(value_before)
                    return value, grad, grad.dot(direction)

                t, loss, grad, calls = _cresset.strong_wolfe(along, loss, grad, slope, t, direction.abs().max(), tolerance)
                self._move(t, direction)
                done = bool(grad.abs().max() <= o["tolerance_grad"])
            else:
                self._move(t, direction)
                if iterations != o["max_iter"]:  # the last loss would not be used
                    loss, grad, calls = float(evaluate()), self._flat_grad(), 1
                    done = bool(grad.abs().max() <= o["tolerance_grad"])
            evaluations += calls
            state["func_evals"] += calls
            if done or evaluations >= o["max_eval"] or direction.mul(t).abs().max() <= tolerance or abs(loss - before) < tolerance:
                break
        state.update(d=direction, t=t)
        return first

    @staticmethod
    def _remember(y, s, state, size):
        ys = y.dot(s)
        if ys > 1e-10:
            for name, value in (("old_dirs", y), ("old_stps", s), ("ro", 1.0 / ys)):
                if len(state[name]) == size:
                    state[name].pop(0)
                state[name].append(value)
            state["H_diag"] = ys / y.dot(y)
