"""Optimizers whose rule treats every parameter by itself: one step written once, with a fused kernel in front where there is one."""

from __future__ import annotations

import cresset as torch

from .optimizer import Optimizer

_CAPTURABLE_DEVICES = ("cuda", "xpu", "hpu", "privateuseone", "xla")


def check_range(ok, what, value):
    """Raises PyTorch's ValueError for an option out of its range."""
    if not ok:
        raise ValueError(f"Invalid {what}: {value}")


def check_lr(lr):
    if isinstance(lr, torch.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_range(lr >= 0.0, "learning rate", lr)


def check_betas(betas):
    for i in (0, 1):
        check_range(0.0 <= betas[i] < 1.0, f"beta parameter at index {i}", betas[i])


def check_fused(fused, foreach, differentiable):
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def zeros_like(p):
    return torch.zeros_like(p, memory_format=torch.preserve_format)


def counter(value=0.0):
    """A scalar of a parameter's state: a tensor, so that checkpoints hold it."""
    return torch.tensor(value, dtype=torch.float32)


def add_product(t, a, b, weight=1.0):
    """t += weight * a * b, in place."""
    return t.add_(a * b * weight) if isinstance(weight, torch.Tensor) else t.addcmul_(a, b, value=weight)


def add_quotient(t, a, b, weight):
    """t += weight * a / b, in place."""
    return t.add_(a / b * weight) if isinstance(weight, torch.Tensor) else t.addcdiv_(a, b, value=weight)


def add_scaled(t, a, weight):
    """t += weight * a, in place."""
    return t.add_(a * weight) if isinstance(weight, torch.Tensor) else t.add_(a, alpha=weight)


class Elementwise(Optimizer):
    """The frame of a step. A subclass gives `_start` and `_update`, and `_fused` where a kernel does the update in one pass.

    `_update` changes the tensors of the state in place. In a differentiable step these are fresh copies, so that what autograd
    saved of them stays as it was; and counters stay tensors, as PyTorch computes with them.
    """

    _takes_sparse = False
    _views_complex = True  # whether the rule sees complex parameters as pairs of real numbers

    def _start(self, p, state, options):
        """Fills the state of a parameter that has none."""

    def _update(self, p, grad, state, options):
        raise NotImplementedError

    def _layout(self, p, group):
        state = {}
        self._start(torch.empty_like(p.detach(), device="meta"), state, {**_with_numbers(group), "fused": False, "capturable": False})
        return {name: value for name, value in state.items() if isinstance(value, torch.Tensor)}

    def _no_sparse(self):
        return f"{type(self).__name__} does not support sparse gradients"

    def _fused(self, params, options):
        """Updates what a fused kernel can, and returns the rest."""
        return params

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, default in self.defaults.items():
                group.setdefault(name, default)
        for values in self.state.values():
            if isinstance(values, dict) and isinstance(values.get("step"), (int, float)):
                values["step"] = counter(float(values["step"]))

    def step(self, closure=None):
        """Updates the parameters once.

        Args:
            closure: reevaluates the model and returns the loss; called with gradients enabled.

        Returns: the closure's result, or None. Errors: RuntimeError for sparse gradients where the method does not take them.
        """
        with torch.set_grad_enabled(self.defaults.get("differentiable", False)):
            loss = None
            if closure is not None:
                with torch.enable_grad():
                    loss = closure()
            for group in self.param_groups:
                self._step_group(group)
        return loss

    def _step_group(self, group):
        differentiable = group.get("differentiable", False)
        if differentiable and group.get("foreach"):
            raise AssertionError("_foreach ops don't support autograd")
        options = group if differentiable else _with_numbers(group)
        params = group["params"]
        if group.get("capturable"):
            self._check_capturable(params)
        if not differentiable:
            params = self._fused(params, options)
        if not params:
            return
        rest = []
        for p in params:
            if p.grad is None:
                continue
            if p.grad.is_sparse and not self._takes_sparse:
                raise RuntimeError(self._no_sparse())
            state = self.state[p]
            if not state:
                self._start(p, state, options)
                rest += [] if differentiable else self._fused([p], options)
            else:
                rest.append(p)
        for p in params if differentiable else rest:
            if p.grad is not None:
                self._step_one(p, options, differentiable)

    def _step_one(self, p, options, differentiable):
        state, grad = self.state[p], p.grad
        if differentiable:
            state.update({k: v.clone() for k, v in state.items() if isinstance(v, torch.Tensor)})
        if options.get("maximize"):
            grad = -grad
        if "step" in state:
            state["step"] += 1
        if self._views_complex and p.is_complex():
            p, grad = torch.view_as_real(p), torch.view_as_real(grad)
            state = {k: torch.view_as_real(v) if isinstance(v, torch.Tensor) and v.is_complex() else v for k, v in state.items()}
        self._update(p, grad, state, options)

    @staticmethod
    def _check_capturable(params):
        if any(p.grad is not None and p.device.type not in _CAPTURABLE_DEVICES for p in params):
            raise AssertionError(
                "If capturable=True, params and state_steps must be on supported devices: " f"{list(_CAPTURABLE_DEVICES)}."
            )


def _with_numbers(group):
    """The options of a group, those that are tensors as numbers."""
    for value in group.values():
        if isinstance(value, torch.Tensor) or (isinstance(value, tuple) and any(isinstance(v, torch.Tensor) for v in value)):
            return {k: v if k == "params" else _number(v) for k, v in group.items()}
    return group


def _number(value):
    if isinstance(value, torch.Tensor):
        return value.item()
    return tuple(_number(v) for v in value) if isinstance(value, tuple) else value


def root(value):
    return value.sqrt() if isinstance(value, torch.Tensor) else value**0.5
