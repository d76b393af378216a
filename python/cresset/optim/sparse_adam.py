"""Adam for sparse gradients."""

from __future__ import annotations

import cresset as torch

from ._elementwise import Elementwise, check_betas, check_lr, check_range, zeros_like

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

    _takes_sparse = True
    _views_complex = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        check_lr(lr)
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        check_range(lr > 0.0, "learning rate", lr)
        check_range(eps > 0.0, "epsilon value", eps)
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        for kind, wrong, text in (
            ("Sparse", lambda p: p.is_sparse, "SparseAdam requires dense parameter tensors"),
            ("Complex", lambda p: p.is_complex(), "SparseAdam does not support complex parameters"),
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
        if not p.grad.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        state["step"], state["exp_avg"], state["exp_avg_sq"] = 0, zeros_like(p), zeros_like(p)

    def _layout(self, p, group):
        return dict.fromkeys(("exp_avg", "exp_avg_sq"), torch.empty_like(p.detach(), device="meta"))

    def _step_group(self, group):
        self._rate = group["lr"]
        super()._step_group(group)

    def _update(self, p, grad, state, o):
        if not grad.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        grad = grad.coalesce()
        if grad._nnz() == 0:
            return
        (beta1, beta2), step = o["betas"], state["step"]
        values = grad.values()
        first, second = (state[name].sparse_mask(grad).values() for name in ("exp_avg", "exp_avg_sq"))

        def move(target, change):
            target.add_(torch.sparse_coo_tensor(grad.indices(), change, grad.shape, is_coalesced=True, check_invariants=False))

        first_change, second_change = (values - first) * (1 - beta1), (values * values - second) * (1 - beta2)
        move(state["exp_avg"], first_change)
        move(state["exp_avg_sq"], second_change)
        # A tensor of a rate is computed with in its own precision.
        rate = self._rate * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        move(p, (first + first_change) / ((second + second_change).sqrt() + o["eps"]) * -rate)
