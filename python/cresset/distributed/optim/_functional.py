"""Optimizers that are given parameters and gradients, rather than reading `grad`."""

import cresset as torch

__all__ = ["as_functional_optim", "functional_optim_map"]


class _Functional:
    """Steps of an optimizer of `torch.optim` with gradients that are handed over."""

    kind = None

    def __init__(self, params=(), lr=1e-3, _allow_empty_param_list=True, **options):
        self.param_group = {"params": [*params]}
        self._make = lambda chosen: self.kind(chosen, lr=lr, **options)
        self._optimizer = self._make(self.param_group["params"]) if self.param_group["params"] else None

    @property
    def state(self):
        """The states of the parameters."""
        return {} if self._optimizer is None else self._optimizer.state

    def _known(self, param):
        if self._optimizer is None:
            self._optimizer = self._make([param])
        elif not any(param is p for group in self._optimizer.param_groups for p in group["params"]):
            self._optimizer.param_groups[0]["params"].append(param)

    def step_param(self, param, grad):
        """One step of one parameter."""
        self._known(param)
        self._with({id(param): grad})

    def step(self, gradients):
        """One step of all parameters, with a gradient or None for each."""
        params = self.param_group["params"]
        if len(params) != len(gradients):
            raise ValueError(f"functional optimizer: expected {len(params)} gradients, one a parameter, got {len(gradients)}")
        self._with({id(p): grad for p, grad in zip(params, gradients)})

    def _with(self, gradients):
        params = [p for group in self._optimizer.param_groups for p in group["params"]]
        before = [p.grad for p in params]
        try:
            for p in params:
                p.grad = gradients.get(id(p))
            with torch.no_grad():
                self._optimizer.step()
        finally:
            for p, grad in zip(params, before):
                p.grad = grad


def _made(kind):
    return type(f"_Functional{kind.__name__}", (_Functional,), {"kind": kind, "__doc__": f"Functional `{kind.__name__}`."})


functional_optim_map = {kind: _made(kind) for kind in (
    torch.optim.Adagrad, torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD, torch.optim.Adadelta, torch.optim.RMSprop, torch.optim.Rprop, torch.optim.Adamax,
)}  # fmt: skip


def as_functional_optim(optim_cls, *args, **kwargs):
    """A functional optimizer of a class of `torch.optim`, without parameters: `step_param(param, grad)` adds them. Errors: ValueError for other classes.

    >>> from cresset.distributed.optim import as_functional_optim
    >>> p = torch.ones(2); as_functional_optim(torch.optim.SGD, lr=0.5).step_param(p, torch.ones(2)); p
    tensor([0.5000, 0.5000])
    """
    if optim_cls not in functional_optim_map:
        raise ValueError(f"as_functional_optim: expected one of {', '.join(sorted(k.__name__ for k in functional_optim_map))}, got {optim_cls!r}")
    return functional_optim_map[optim_cls]([], *args, **kwargs)
