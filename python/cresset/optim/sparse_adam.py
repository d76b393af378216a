"""Adam for sparse gradients."""

from __future__ import annotations

import cresset as torch

from ._elementwise import Elementwise, _with_numbers, check_betas, check_lr, check_range, zeros_like

__all__ = ["SparseAdam"]


class SparseAdam(Elementwise):
    r"""Adam (Kingma and Ba, ICLR 2015) where only what a sparse gradient stores moves: averages and parameters elsewhere stay as they are.

    With the gradient g at its positions: m += (1 - b1) (g - m); v += (1 - b2) (g^2 - v);
    p -= lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps).

    Args:
        params: dense tensors, named tensors or groups.
        lr: step size, a number or a tensor of one element.
        betas: b1 and b2.
        eps: added to the denominator.
        maximize: follow the gradient upwards.

    Errors: ValueError for options out of range and for sparse parameters; RuntimeError, at the step, for dense gradients.

    Example::

        >>> import cresset as torch
        >>> table = torch.nn.Embedding.from_pretrained(torch.ones(3, 1), freeze=False, sparse=True)
        >>> optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.5)
        >>> table(torch.tensor([1])).sum().backward()
        >>> optimizer.step()
        >>> table.weight.detach().flatten()
        tensor([1.0000, 0.5000, 1.0000])
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        check_lr(lr)
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        check_range(lr > 0.0, "learning rate", lr)
        check_range(eps > 0.0, "epsilon value", eps)
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        for kind, wrong, text in (
            ("Sparse", lambda p: p.is_sparse, "SparseAdam: expected dense parameters"),
            ("Complex", lambda p: p.is_complex(), "SparseAdam: expected real parameters, got complex ones"),
        ):
            found = [[g, i] for g, group in enumerate(self.param_groups) for i, p in enumerate(group["params"]) if wrong(p)]
            if found:
                raise ValueError(f"{kind} params at indices {found}: {text}")

    def __setstate__(self, state):
        super().__setstate__(state)
        for values in self.state.values():
            if isinstance(values, dict) and isinstance(values.get("step"), torch.Tensor):
                values["step"] = int(values["step"].item())

    def _start(self, p, state, o):
        state["step"], state["exp_avg"], state["exp_avg_sq"] = 0, zeros_like(p), zeros_like(p)

    def _layout(self, p, group):
        return dict.fromkeys(("exp_avg", "exp_avg_sq"), torch.empty_like(p.detach(), device="meta"))

    def _options_of(self, group):
        for p in group["params"]:
            if p.grad is not None:
                if not p.grad.is_sparse:
                    raise RuntimeError("SparseAdam: got a dense gradient; Adam takes those")
                if not self.state[p]:
                    self._start(p, self.state[p], group)
        # A tensor of a rate is computed with in its own precision.
        return {**_with_numbers(group), "lr": group["lr"]}

    def _prepare(self, params, o):
        pass  # it is in `_options_of`

    def _move(self, params, o):
        params = [p for p in params if p.grad is not None]
        states = [self.state[p] for p in params]
        for state in states:
            state["step"] += 1
        lists = ([state[name] for state in states] for name in ("exp_avg", "exp_avg_sq"))
        steps = [torch.tensor(float(state["step"])) for state in states]
        beta1, beta2 = o["betas"]
        torch._fused_sparse_adam_(params, [p.grad for p in params], *lists, steps, lr=o["lr"], beta1=beta1, beta2=beta2, eps=o["eps"], maximize=o["maximize"])
