"""RMSprop."""

from __future__ import annotations

from ._elementwise import Elementwise, check_lr, check_range, counter, zeros_like
from ._functional import rmsprop

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(Elementwise):
    r"""RMSprop (Hinton, lecture 6 of "Neural networks for machine learning", 2012), optionally centered (Graves, "Generating sequences
    with recurrent neural networks", 2013).

    v = alpha v + (1 - alpha) g^2; p -= lr g / (sqrt(v) + eps). Centered, v is reduced by the square of the mean gradient; with momentum
    b = momentum b + g / (sqrt(v) + eps), p -= lr b.

    Args:
        params: tensors, named tensors or groups.
        lr: step size per update, a number or a tensor of one element.
        alpha: decay rate of the average of squares.
        eps: added to the denominator.
        weight_decay: times the parameter is added to the gradient.
        momentum, centered: as above.
        capturable: only for parameters on accelerators, as in PyTorch.
        foreach: accepted as PyTorch does; the numbers are the same.
        maximize: follow the gradient upwards.
        differentiable: record the step for autograd.

    Errors: ValueError for options out of range; RuntimeError for sparse gradients.

    Example::

        >>> import cresset as torch
        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> optimizer = torch.optim.RMSprop([w], lr=0.01)
        >>> (3 * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        0.9
    """

    _rule = "_fused_rmsprop_"
    _states = ("square_avg", "momentum_buffer", "grad_avg")
    _rates = ("lr", "weight_decay", "momentum")

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False, foreach=None,
                 maximize=False, differentiable=False):  # fmt: skip
        check_lr(lr)
        check_range(eps >= 0.0, "epsilon value", eps)
        check_range(momentum >= 0.0, "momentum value", momentum)
        check_range(weight_decay >= 0.0, "weight_decay value", weight_decay)
        check_range(alpha >= 0.0, "alpha value", alpha)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered, "weight_decay": weight_decay,
            "capturable": capturable, "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
        })  # fmt: skip

    def _start(self, p, state, o):
        state["step"], state["square_avg"] = counter(), zeros_like(p)
        if o["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(p)
        if o["centered"]:
            state["grad_avg"] = zeros_like(p)

    def _kept(self, o):
        return ("square_avg",) + ("momentum_buffer",) * (o["momentum"] > 0) + ("grad_avg",) * bool(o["centered"])

    def _numbers(self, o):
        return {name: o[name] for name in ("lr", "alpha", "eps", "weight_decay", "momentum")}
