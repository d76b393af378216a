"""AdamW."""

from __future__ import annotations

from ._functional import adamw
from .adam import Adam

__all__ = ["AdamW", "adamw"]


class AdamW(Adam):
    r"""Adam with decoupled weight decay (Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019).

    The parameter is first multiplied by 1 - lr ``weight_decay``; the rest is `Adam`'s rule, which does not see the decay.

    Args: those of `Adam`, with ``weight_decay`` 0.01. Errors: those of `Adam`.

    Example::

        >>> import cresset as torch
        >>> w = torch.tensor([1.0], requires_grad=True)
        >>> optimizer = torch.optim.AdamW([w], lr=0.1, weight_decay=0.5)
        >>> (3 * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        0.85
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False, foreach=None,
                 capturable=False, differentiable=False, fused=None):  # fmt: skip
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                         differentiable=differentiable, fused=fused, decoupled_weight_decay=True)  # fmt: skip
