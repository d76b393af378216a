"""The frame of optimizers: options and states here, the rule an operator on lists of parameters (ops/optim.toml)."""

from __future__ import annotations

import _cresset

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
        raise RuntimeError("fused and differentiable exclude each other")
    if fused and foreach:
        raise RuntimeError("fused and foreach exclude each other.")


def zeros_like(p):
    return torch.zeros_like(p, memory_format=torch.preserve_format)


def counter(value=0.0):
    """A scalar of a parameter's state: a tensor, so that checkpoints hold it."""
    return torch.tensor(value, dtype=torch.float32)


class Elementwise(Optimizer):
    """The frame of a step. A subclass names the operator and its lists, makes states in `_start` and gives the operator's numbers.

    In a differentiable step the states are fresh copies, so that what autograd saved of them stays as it was, and the options in `_rates`
    are given as tensors.
    """

    _rule = ""  # the operator
    _states = ()  # the lists that it takes, by the names of the states, in its order
    _rates = ("lr", "weight_decay")  # numbers through which a differentiable step has derivatives

    def _start(self, p, state, options):
        """Fills the state of a parameter that has none."""

    def _kept(self, options):
        """Which of `_states` there are with these options, a tuple."""
        return self._states

    def _numbers(self, options):
        """Arguments of the operator besides the lists, `maximize` excepted."""
        return {name: options[name] for name in self._rates}

    def _layout(self, p, group):
        state = {}
        self._start(torch.empty_like(p.detach(), device="meta"), state, {**_with_numbers(group), "fused": False, "capturable": False})
        return {name: value for name, value in state.items() if isinstance(value, torch.Tensor)}

    def _no_sparse(self):
        return f"{type(self).__name__} does not support sparse gradients"

    def _takes_sparse(self, options):
        """Whether the rule takes sparse gradients."""
        return False

    def _check(self, p, options):
        """Refuses a gradient that the rule cannot take."""
        if p.grad.is_sparse and not self._takes_sparse(options):
            raise RuntimeError(self._no_sparse())

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name, default in self.defaults.items():
                group.setdefault(name, default)
        for values in self.state.values():
            if isinstance(values, dict) and isinstance(values.get("step"), (int, float)):
                values["step"] = counter(float(values["step"]))

    def step(self, closure=None):
        """Updates the parameters once, or, where any of them cannot be updated, none.

        Args:
            closure: reevaluates the model and returns the loss; called with gradients enabled.

        Returns: the closure's result, or None. Errors: RuntimeError for sparse gradients where the method does not take them.
        """
        with torch.set_grad_enabled(self.defaults.get("differentiable", False)):
            loss = None
            if closure is not None:
                with torch.enable_grad():
                    loss = closure()
            groups = [self._options_of(group) for group in self.param_groups]
            if len(groups) > 1:  # a single one is looked at by the operator
                for options in groups:
                    self._prepare(options["params"], options)
            for options in groups:
                if not (_cresset._is_heard() and self._is_written_out(options)):
                    self._move(options["params"], options)
        return loss

    def _is_written_out(self, options):
        from .._modes.updates import written_out

        return written_out(self, options)

    def _options_of(self, group):
        differentiable = group.get("differentiable", False)
        if differentiable and group.get("foreach"):
            raise AssertionError("foreach steps are not recorded, got differentiable=True")
        if group.get("capturable"):
            self._check_capturable(group["params"])
        return group if differentiable else _with_numbers(group)

    def _prepare(self, params, options):
        """Checks the gradients and makes the states that are missing."""
        self._make(_cresset.list_step(None, params, self.state, self._kept(options), {}, self._takes_sparse(options)) or (), options)

    def _make(self, params, options):
        for p in params:
            self._check(p, options)
            state = self.state[p]
            if not state:
                self._start(p, state, options)

    def _move(self, params, options):
        """One step of these parameters."""
        if options.get("differentiable"):
            self._prepare(params, options)
            for p in params:
                if p.grad is not None:
                    state = self.state[p]
                    state.update({k: v.clone() for k, v in state.items() if isinstance(v, torch.Tensor)})
        unready = self._call(self._rule, params, options)
        if unready:
            self._make(unready, options)
            self._call(self._rule, params, options)

    def _call(self, rule, params, options):
        """The operator on those of the parameters that have a gradient; returns, instead, those that cannot be given to it as they are."""
        numbers, kept = self._numbers(options), self._kept(options)
        numbers["maximize"] = options.get("maximize", False)
        if self._rates and options.get("differentiable"):
            rule += ".Tensor"
        keys = kept if kept is self._states else tuple([name if name in kept else None for name in self._states])
        return _cresset.list_step(rule, params, self.state, keys, numbers, self._takes_sparse(options))

    @staticmethod
    def _check_capturable(params):
        if any(p.grad is not None and p.device.type not in _CAPTURABLE_DEVICES for p in params):
            raise AssertionError(f"capturable=True: parameters and steps have to be on one of {list(_CAPTURABLE_DEVICES)}.")


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
