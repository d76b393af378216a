"""Rprop."""

from __future__ import annotations

import cresset as torch

from ._elementwise import Elementwise, check_lr, check_range, counter, zeros_like
from ._functional import rprop

__all__ = ["Rprop", "rprop"]


class Rprop(Elementwise):
    r"""Resilient backpropagation (Riedmiller and Braun, "A direct adaptive method for faster backpropagation learning", ICNN 1993).

    Each element has its own step size: times ``etas[1]`` where the gradient kept its sign, times ``etas[0]`` where it changed, within
    ``step_sizes``; where it changed, the element stays. p -= sign(g) step size. For gradients of the whole data, not of small batches.

    Args:
        params: tensors, named tensors or groups.
        lr: the first step size, a number or a tensor of one element.
        etas: factors of decrease and increase, 0 < etas[0] < 1 < etas[1].
        step_sizes: smallest and largest step size.
        capturable: only for parameters on accelerators, as in PyTorch.
        foreach: accepted as PyTorch does; the numbers are the same.
        maximize: follow the gradient upwards.
        differentiable: record the step for autograd.

    Errors: ValueError for options out of range; RuntimeError for sparse gradients.

    Example::

        >>> import cresset as torch
        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> optimizer = torch.optim.Rprop([w], lr=0.5)
        >>> (3 * w).sum().backward()
        >>> optimizer.step()
        >>> w.item()
        0.5
    """

    _rule = "_fused_rprop_"
    _states = ("prev", "step_size")
    _rates = ()

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None, maximize=False,
                 differentiable=False):  # fmt: skip
        check_lr(lr)
        check_range(0.0 < etas[0] < 1.0 < etas[1], "eta values", f"{etas[0]}, {etas[1]}")
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable,
        })  # fmt: skip

    def _start(self, p, state, o):
        lr = float(o["lr"])
        state["step"], state["prev"] = counter(), zeros_like(p)
        state["step_size"] = torch.full_like(p, complex(lr, lr) if p.is_complex() else lr).detach()

    def _numbers(self, o):
        (shrink, grow), (smallest, largest) = o["etas"], o["step_sizes"]
        return {"etaminus": shrink, "etaplus": grow, "step_size_min": smallest, "step_size_max": largest}
