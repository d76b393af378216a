"""Schedules of the learning rate.

A scheduler writes the rate of every group of its optimizer; its ``step`` is called after the optimizer's, usually once an epoch.
``last_epoch`` counts these calls; given to a constructor it resumes there, and the groups must hold an ``initial_lr``.
"""

from __future__ import annotations

import math
import types
import warnings
from bisect import bisect_right
from collections import Counter

import _cresset

import cresset as torch

from .optimizer import Optimizer

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler",
           "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR",
           "StepLR"]  # fmt: skip

EPOCH_DEPRECATION_WARNING = (
    "scheduler.step(epoch) is deprecated: call step() without it. With an epoch the rate is computed from that alone where there is a "
    "formula, not from the rate before."
)


def _warn_of_epoch(epoch):
    if epoch is not None:
        warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=3)


def _copied(value):
    return value.clone() if isinstance(value, torch.Tensor) else value


def _set(group, name, value):
    """A rate that is a tensor stays the same tensor."""
    if isinstance(group[name], torch.Tensor):
        group[name].fill_(value.item() if isinstance(value, torch.Tensor) else value)
    else:
        group[name] = value


def _one_per_group(name, optimizer, value):
    if isinstance(value, (list, tuple)):
        if len(value) != len(optimizer.param_groups):
            raise ValueError(f"scheduler: expected a {name} for each of {len(optimizer.param_groups)} groups, got {len(value)}")
        return [_copied(v) for v in value]
    return [_copied(value) for _ in optimizer.param_groups]


def _is_replaced(optimizer):
    """Whether the optimizer got another `step` since the scheduler was made."""
    return vars(optimizer).get("step") != getattr(optimizer, "_scheduled_step", None)  # methods of a copy are equal, not the same


def _check_optimizer(optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"scheduler: expected an Optimizer, got {type(optimizer).__name__}")


class LRScheduler:
    """Base class of schedules. A subclass gives ``get_lr()``, the list of the groups' next rates.

    Args:
        optimizer: whose groups are written.
        last_epoch: the number of steps already taken, less one.

    Errors: TypeError for what is no optimizer; KeyError if ``last_epoch`` is given and a group has no ``initial_lr``.

    Example::

        >>> import cresset as torch
        >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [base * 0.5**self.last_epoch for base in self.base_lrs]
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = Halving(optimizer)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer, last_epoch=-1):
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        for group in optimizer.param_groups if last_epoch == -1 else ():
            group.setdefault("initial_lr", _copied(group["lr"]))
        if lacking := [i for i, group in enumerate(optimizer.param_groups) if group.get("initial_lr") is None]:
            raise KeyError(
                f"scheduler: expected 'initial_lr' in every group with last_epoch={last_epoch}, got none in param_groups[{lacking[0]}]; "
                "load the optimizer's state before making the scheduler, or begin with last_epoch=-1"
            )
        self.base_lrs = [_copied(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        optimizer._opt_called, optimizer._scheduled_step = False, vars(optimizer).get("step")
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self):
        """All attributes but the optimizer, as a dictionary."""
        return self._facts()

    def _facts(self, *others):
        """The attributes but the optimizer and some others."""
        return {name: self.__dict__[name] for name in self.__dict__ if name not in ("optimizer", *others)}

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` returned."""
        vars(self).update(state_dict)

    def get_last_lr(self):
        """The rates that the last step set, one per group."""
        return self._last_lr

    def get_lr(self):
        """The groups' rates at ``last_epoch``, from those now set."""
        raise NotImplementedError

    def _warn_outside_step(self):
        if not self._get_lr_called_within_step:
            warnings.warn("get_lr is for step(); call get_last_lr() for the rate in use.", UserWarning, stacklevel=3)

    def step(self, epoch=None):
        """Sets the rates of the next epoch.

        Args:
            epoch: deprecated; goes to this epoch, by the closed form where there is one.
        """
        if self._step_count == 1 and _is_replaced(self.optimizer):
            warnings.warn("lr_scheduler.step(): optimizer.step has been replaced since the scheduler was made, so that nothing tells whether it was called first", UserWarning, stacklevel=2)  # fmt: skip
        elif self._step_count == 1 and not getattr(self.optimizer, "_opt_called", True):
            warnings.warn("lr_scheduler.step() before optimizer.step(): the first rate is never used; swap the two calls", UserWarning, stacklevel=2)
        self._step_count += 1
        _warn_of_epoch(epoch)
        self._go_to(epoch)

    def _begin(self):
        """The step that the constructor takes, after `recursive_undo`."""
        self._is_initial, self._step_count = True, 0
        self.step()
        self._is_initial = False

    def _go_to(self, epoch):
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._write(self._get_closed_form_lr() if epoch is not None and hasattr(self, "_get_closed_form_lr") else self._next_rates())

    def _next_rates(self):
        self._get_lr_called_within_step = True
        try:
            return self.get_lr()
        finally:
            self._get_lr_called_within_step = False

    def _write(self, rates):
        for group, rate in zip(self.optimizer.param_groups, rates):
            _set(group, "lr", rate)
        self._last_lr = [_copied(group["lr"]) for group in self.optimizer.param_groups]


_LRScheduler = LRScheduler


def _like(rate, value):
    """A computed rate as the one before it is kept: a tensor, or a number."""
    if value == rate:
        return rate
    return torch.full_like(rate, value) if isinstance(rate, torch.Tensor) else value


class _Formula(LRScheduler):
    """A schedule by a formula of C++: ``_formula`` names it, ``_settings()`` gives its numbers."""

    def get_lr(self):
        """The groups' rates at ``last_epoch``, from those now set."""
        self._warn_outside_step()
        settings, state = self._settings(), (self.last_epoch, self._is_initial, self._step_count == 1)
        pairs = zip((group["lr"] for group in self.optimizer.param_groups), self.base_lrs)
        return [_like(rate, _cresset.learning_rate(self._formula, settings, rate, base, *state)) for rate, base in pairs]

    def _get_closed_form_lr(self):
        settings = self._settings()
        return [_like(base, _cresset.closed_learning_rate(self._formula, settings, 0.0, base, self.last_epoch)) for base in self.base_lrs]


class _PerGroupFunctions(LRScheduler):
    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        _check_optimizer(optimizer)
        groups = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(self.lr_lambdas) != groups:
            raise ValueError(f"scheduler: expected {groups} functions, one for each group, got {len(self.lr_lambdas)}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """All attributes but the optimizer. Functions are left out; of callable objects the attributes are kept."""
        state = self._facts()
        state["lr_lambdas"] = [None if isinstance(f, types.FunctionType) else dict(f.__dict__) for f in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` returned; the functions must be given to the constructor again."""
        state = dict(state_dict)
        for function, attributes in zip(self.lr_lambdas, state.pop("lr_lambdas")):
            if attributes is not None:
                function.__dict__.update(attributes)
        vars(self).update(state)


class LambdaLR(_PerGroupFunctions):
    """The initial rate times ``lr_lambda(epoch)``; one function, or a list with one for each group.

    Errors: ValueError if the list's length is not the number of groups.

    Example::

        >>> import cresset as torch
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def get_lr(self):
        """The groups' rates at ``last_epoch``."""
        self._warn_outside_step()
        return [base * function(self.last_epoch) for base, function in zip(self.base_lrs, self.lr_lambdas)]


class MultiplicativeLR(_PerGroupFunctions):
    """The last rate times ``lr_lambda(epoch)``; one function, or a list with one for each group.

    Errors: ValueError if the list's length is not the number of groups.

    >>> sgd = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> schedule = optim.lr_scheduler.MultiplicativeLR(sgd, lambda epoch: 0.5)
    >>> sgd.step(); schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def get_lr(self):
        """The groups' rates at ``last_epoch``, from those now set."""
        self._warn_outside_step()
        rates = [group["lr"] for group in self.optimizer.param_groups]
        return rates if self._is_initial else [rate * function(self.last_epoch) for rate, function in zip(rates, self.lr_lambdas)]


class StepLR(_Formula):
    """The rate times ``gamma`` every ``step_size`` epochs.

    Example::

        >>> import cresset as torch
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
        >>> for epoch in range(4):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> scheduler.get_last_lr()
        [0.25]
    """

    _formula = "step"

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _settings(self):
        return self.step_size, self.gamma


class MultiStepLR(_Formula):
    """The rate times ``gamma`` at each epoch of ``milestones``, once for each time it stands there.

    >>> sgd = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> schedule = optim.lr_scheduler.MultiStepLR(sgd, milestones=[1], gamma=0.5)
    >>> sgd.step(); schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    _formula = "milestones"

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _settings(self):
        return self.gamma, *self.milestones.elements()


class ConstantLR(_Formula):
    """The rate times ``factor``, in [0, 1], for the first ``total_iters`` epochs. Errors: ValueError for another factor.

    >>> sgd = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> schedule = optim.lr_scheduler.ConstantLR(sgd, factor=0.5, total_iters=2)
    >>> schedule.get_last_lr()
    [0.5]
    """

    _formula = "constant"

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if not 0 <= factor <= 1.0:
            raise ValueError("ConstantLR: expected factor within [0, 1].")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _settings(self):
        return self.factor, self.total_iters


class LinearLR(_Formula):
    """The rate times a factor that goes in a line from ``start_factor`` to ``end_factor`` within ``total_iters`` epochs.

    Errors: ValueError for a ``start_factor`` not in (0, 1] or an ``end_factor`` not in [0, 1].

    Example::

        >>> import cresset as torch
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
        >>> scheduler.get_last_lr()
        [0.5]
    """

    _formula = "linear"

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        if not 0 < start_factor <= 1.0:
            raise ValueError("LinearLR: expected start_factor within (0, 1].")
        if not 0 <= end_factor <= 1.0:
            raise ValueError("LinearLR: expected end_factor within [0, 1].")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _settings(self):
        return self.start_factor, self.end_factor, self.total_iters


class ExponentialLR(_Formula):
    """The rate times ``gamma`` every epoch.

    >>> sgd = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> schedule = optim.lr_scheduler.ExponentialLR(sgd, gamma=0.5)
    >>> sgd.step(); schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    _formula = "exponential"

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _settings(self):
        return (self.gamma,)


class PolynomialLR(_Formula):
    """The rate falls to 0 within ``total_iters`` epochs as (1 - epoch / total_iters)^power.

    >>> sgd = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> schedule = optim.lr_scheduler.PolynomialLR(sgd, total_iters=4, power=1.0)
    >>> sgd.step(); schedule.step()
    >>> schedule.get_last_lr()
    [0.75]
    """

    _formula = "polynomial"

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _settings(self):
        return self.total_iters, self.power


class CosineAnnealingLR(_Formula):
    """The rate along half a cosine from the initial one to ``eta_min`` in ``T_max`` epochs, and back (Loshchilov and Hutter, "SGDR:
    stochastic gradient descent with warm restarts", ICLR 2017, without the restarts).

    Example::

        >>> import cresset as torch
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> round(scheduler.get_last_lr()[0], 6)
        0.5
    """

    _formula = "cosine"

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _settings(self):
        return self.T_max, self.eta_min


class CosineAnnealingWarmRestarts(LRScheduler):
    """The rate along half a cosine from the initial one to ``eta_min``, again and again: in ``T_0`` epochs, then in ``T_mult`` times as
    many each time (Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR 2017).

    ``step(epoch)`` takes fractions of an epoch, for a rate that changes with every batch.

    Errors: ValueError unless ``T_0`` is a positive and ``T_mult`` an integer of at least 1, and for a negative epoch.

    >>> sgd = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> schedule = optim.lr_scheduler.CosineAnnealingWarmRestarts(sgd, T_0=2)
    >>> rates = []
    >>> for epoch in range(4):
    ...     rates.append(schedule.get_last_lr()[0]); sgd.step(); schedule.step()
    >>> [round(r, 4) for r in rates]
    [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"expected {name} to be an int of at least 1, got {value}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"expected eta_min to be a number, got {eta_min} of type {type(eta_min)}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The groups' rates ``T_cur`` epochs after the last restart."""
        self._warn_outside_step()
        settings = (self.T_cur, self.T_i, self.eta_min)
        return [_like(base, _cresset.closed_learning_rate("restarts", settings, 0.0, base)) for base in self.base_lrs]

    def step(self, epoch=None):
        """Sets the rates of the next epoch, or of ``epoch``, which may be a fraction."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            place = _cresset.next_restart(self.T_cur, self.T_i, self.T_mult)
        else:
            place = _cresset.warm_restart(epoch, self.T_0, self.T_mult)
        self.T_cur, self.T_i = (int(value) if value.is_integer() else value for value in place)
        self.last_epoch = math.floor(epoch)
        self._write(self._next_rates())


def _set_momentum(group, value):
    if "betas" in group:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


def _check_momentum(optimizer):
    if not {"momentum", "betas"} & optimizer.defaults.keys():
        raise ValueError("cycle_momentum: expected an optimizer with momentum or betas")
    return "betas" in optimizer.defaults


# How high cycles are, by the number of the cycle or of steps.
_CYCLE_SCALES = {"triangular": "cycle", "triangular2": "cycle", "exp_range": "iterations"}


class CyclicLR(LRScheduler):
    """The rate goes up and down in lines between two bounds, the momentum down and up (Smith, "Cyclical learning rates for training
    neural networks", WACV 2017). For a step with every batch.

    Args:
        optimizer: whose groups are written.
        base_lr, max_lr: the bounds; a number, or a list with one for each group.
        step_size_up, step_size_down: steps of the two halves of a cycle; by default as many.
        mode: "triangular"; "triangular2", whose height halves every cycle; "exp_range", whose height is gamma^iterations.
        gamma: for "exp_range".
        scale_fn, scale_mode: an own height, as a function of the number of the cycle ("cycle") or of steps ("iterations").
        cycle_momentum, base_momentum, max_momentum: whether and within which bounds the momentum (or beta1) moves against the rate.
        last_epoch: the number of steps already taken, less one.

    Errors: ValueError for an unknown mode, lists of wrong lengths, an optimizer without momentum.

    >>> sgd = optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0, momentum=0.9)
    >>> schedule = optim.lr_scheduler.CyclicLR(sgd, base_lr=0.0, max_lr=1.0, step_size_up=2)
    >>> rates = []
    >>> for step in range(5):
    ...     rates.append(schedule.get_last_lr()[0]); sgd.step(); schedule.step()
    >>> [round(r, 4) for r in rates]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None, mode="triangular", gamma=1.0, scale_fn=None,
                 scale_mode="cycle", cycle_momentum=True, base_momentum=0.8, max_momentum=0.9, last_epoch=-1):  # fmt: skip
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = _one_per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups):
                _set(group, "lr", rate)
        self.max_lrs = _one_per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size, self.step_ratio = up + down, up / (up + down)
        if scale_fn is None and mode not in _CYCLE_SCALES:
            raise ValueError("CyclicLR: expected a known mode or a scale_fn")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else _CYCLE_SCALES[mode]
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _check_momentum(optimizer)
            self.base_momentums = _one_per_group("base_momentum", optimizer, base_momentum)
            self.max_momentums = _one_per_group("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                for low, high, group in zip(self.base_momentums, self.max_momentums, optimizer.param_groups):
                    _set_momentum(group, high)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x):
        """The height of a cycle, as a factor: ``x`` is the number of the cycle or of steps (``scale_mode``)."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return 1.0 if self.mode == "triangular" else _cresset.learning_rate(self.mode, (x, self.gamma))

    def get_lr(self):
        """The groups' rates at ``last_epoch``; sets their momentum, too."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        share = _cresset.learning_rate("cycle", (self.total_size, self.step_ratio), 0.0, 0.0, self.last_epoch)
        height = share * self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for low, high, group in zip(self.base_momentums, self.max_momentums, self.optimizer.param_groups):
                _set_momentum(group, high - (high - low) * height)
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self):
        """All attributes but the optimizer; of an own ``scale_fn`` that is an object, its attributes."""
        state = super().state_dict()
        scale = state["_scale_fn_custom"]
        state["_scale_fn_custom"] = None if scale is None or isinstance(scale, types.FunctionType) else dict(scale.__dict__)
        return state

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` returned; an own ``scale_fn`` must be given to the constructor again."""
        state = dict(state_dict)
        attributes = state.pop("_scale_fn_custom", None)
        super().load_state_dict(state)
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)


_ANNEALS = ("cos", "linear")


def _anneal(strategy, start, end, share):
    return _like(start, _cresset.learning_rate("anneal", (strategy == "linear", start, end, share)))


def _check_anneal(strategy):
    if strategy not in _ANNEALS:
        raise ValueError(f"expected anneal_strategy to be 'cos' or 'linear', got {strategy}")


class OneCycleLR(LRScheduler):
    """One rise to ``max_lr`` and a fall far below the initial rate, the momentum against it (Smith and Topin, "Super-convergence: very
    fast training of neural networks using large learning rates", 2018). For a step with every batch.

    Args:
        optimizer: whose groups are written.
        max_lr: the highest rate; a number, or a list with one for each group.
        total_steps: of the cycle; or ``epochs`` and ``steps_per_epoch``, whose product it is.
        pct_start: the share of the rise.
        anneal_strategy: "cos" or "linear".
        cycle_momentum, base_momentum, max_momentum: whether and within which bounds the momentum (or beta1) moves against the rate.
        div_factor: max_lr divided by it is the initial rate; that divided by ``final_div_factor`` is the last one.
        three_phase: fall as slowly as the rise, then to the last rate.
        last_epoch: the number of steps already taken, less one.

    Errors: ValueError for arguments out of range, for an optimizer without momentum, and for a step past the end.

    Example::

        >>> import cresset as torch
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
        >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.5, total_steps=10)
        >>> round(scheduler.get_last_lr()[0], 6)
        0.02
    """

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None, pct_start=0.3, anneal_strategy="cos",
                 cycle_momentum=True, base_momentum=0.85, max_momentum=0.95, div_factor=25.0, final_div_factor=1e4, three_phase=False,
                 last_epoch=-1):  # fmt: skip
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        counts = {"total_steps": total_steps} if total_steps is not None else {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
        if None in counts.values():
            raise ValueError("OneCycleLR: expected total_steps, or epochs and steps_per_epoch")
        for name, value in counts.items():
            if not isinstance(value, int) or value <= 0:
                raise ValueError(f"Expected positive integer {name}, but got {value}")
        self.total_steps = math.prod(counts.values())
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: expected pct_start to be a float within [0, 1], got {pct_start}")
        _check_anneal(anneal_strategy)
        self._anneal_func_type = anneal_strategy
        rise = float(pct_start * self.total_steps) - 1
        turns = [(rise, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
        if three_phase:
            turns.append((float(2 * pct_start * self.total_steps) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"))
            turns.append((self.total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"))
        else:
            turns.append((self.total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"))
        self._schedule_phases = [dict(zip(("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum"), turn)) for turn in turns]
        max_lrs = _one_per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, max_lrs):
                first = rate / div_factor
                group.update(initial_lr=first, max_lr=rate, min_lr=first / final_div_factor)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _check_momentum(optimizer)
            lows, highs = (_one_per_group(n, optimizer, v) for n, v in (("base_momentum", base_momentum), ("max_momentum", max_momentum)))
            if last_epoch == -1:
                for group, low, high in zip(optimizer.param_groups, lows, highs):
                    _set_momentum(group, high)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The groups' rates at ``last_epoch``; sets their momentum, too."""
        self._warn_outside_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(f"OneCycleLR: expected at most {self.total_steps} steps, got {self.last_epoch}")
        at, share = _cresset.one_cycle_phase(self.last_epoch, tuple(phase["end_step"] for phase in self._schedule_phases))
        phase, strategy, rates = self._schedule_phases[at], self._anneal_func_type, []
        for group in self.optimizer.param_groups:
            rates.append(_anneal(strategy, group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                _set_momentum(group, _anneal(strategy, group[phase["start_momentum"]], group[phase["end_momentum"]], share))
        return rates


class ReduceLROnPlateau(LRScheduler):
    """The rate times ``factor`` when a metric has not become better for ``patience`` epochs.

    Args:
        optimizer: whose groups are written.
        mode: whether the metric should become small ("min") or large ("max").
        factor: below 1.
        patience: epochs without a better metric that are accepted.
        threshold: by how much better counts: of the best ("rel") or absolutely ("abs"), as ``threshold_mode`` says.
        cooldown: epochs to wait after a reduction.
        min_lr: lower bound, a number or a list with one for each group.
        eps: smaller changes of the rate are left out.

    Errors: ValueError for a factor of 1 or more, unknown modes, a list of another length than the groups.

    Example::

        >>> import cresset as torch
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, factor=0.5)
        >>> for loss in (1.0, 1.0, 1.0):
        ...     scheduler.step(loss)
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4, threshold_mode="rel", cooldown=0, min_lr=0, eps=1e-8):
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau: expected factor below 1, got {factor}")
        _check_optimizer(optimizer)
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = _one_per_group("min_lr", optimizer, min_lr)
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        self.optimizer, self.factor, self.patience, self.cooldown, self.eps = optimizer, factor, patience, cooldown, eps
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.last_epoch = 0
        self._last_lr = [_copied(group["lr"]) for group in optimizer.param_groups]
        self._reset()

    def _reset(self):
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    def step(self, metrics, epoch=None):
        """Tells the metric of an epoch, a number or a tensor of one element."""
        current = float(metrics)
        _warn_of_epoch(epoch)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        better = self._is_better(current, self.best)
        self.best = current if better else self.best
        self.num_bad_epochs = 0 if better or self.in_cooldown else self.num_bad_epochs + 1
        self.cooldown_counter -= self.in_cooldown
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [_copied(group["lr"]) for group in self.optimizer.param_groups]

    def _reduce(self):
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"ReduceLROnPlateau: the optimizer has {len(groups)} groups, expected {len(self.min_lrs)} as at first; set min_lrs to one number for each"
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs):
            before = float(group["lr"])
            rate = _cresset.learning_rate("plateau", (self.factor, least, self.eps), before)
            if rate != before:
                _set(group, "lr", rate)

    @property
    def in_cooldown(self):
        """Whether the last reduction is less than ``cooldown`` epochs ago."""
        return self.cooldown_counter > 0

    def _is_better(self, a, best):
        bound = _cresset.learning_rate("better", (self.mode == "max", self.threshold_mode == "rel", self.threshold), best)
        return a > bound if self.mode == "max" else a < bound


def _check_common_optimizer(name, optimizer, schedulers):
    for i, scheduler in enumerate(schedulers):
        theirs = getattr(scheduler, "optimizer", None)
        if theirs is None:
            raise TypeError(f"{name}: expected schedulers, got {type(scheduler).__name__} without an optimizer at {i}")
        if theirs is not optimizer:
            raise ValueError(f"{name}: expected schedulers of one optimizer, got {type(scheduler).__name__} at {i} of another, {theirs}")


class _Composed(LRScheduler):
    def _begin(self):
        for scheduler in self._schedulers:
            scheduler._begin()
        self._last_lr = [_copied(group["lr"]) for group in self.optimizer.param_groups]

    def _go_to(self, epoch):
        for scheduler in self._schedulers:
            scheduler._go_to(epoch)
        self._last_lr = [_copied(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self):
        """The attributes but the optimizer, with the states of the schedulers under ``_schedulers``."""
        state = self._facts("_schedulers")
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict):
        """Takes over what `state_dict` returned, in every scheduler."""
        state = dict(state_dict)
        for scheduler, part in zip(self._schedulers, state.pop("_schedulers")):
            scheduler.load_state_dict(part)
        vars(self).update(state)


class SequentialLR(_Composed):
    """Schedulers one after the other.

    Args:
        optimizer: that of all of them.
        schedulers: in order.
        milestones: the epochs at which the second, third and so on begin.
        last_epoch: the number of steps already taken, less one.

    Errors: ValueError for none, for another number of milestones than schedulers less one, for other optimizers.

    Example::

        >>> import cresset as torch
        >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        >>> warm_up = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=10)
        >>> decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
        >>> scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warm_up, decay], milestones=[2])
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        if not schedulers:
            raise ValueError("SequentialLR: expected schedulers, got none")
        if any(isinstance(scheduler, ReduceLROnPlateau) for scheduler in schedulers):
            raise ValueError("SequentialLR: ReduceLROnPlateau takes a metric at each step, which the schedulers of a sequence are not given")
        _check_common_optimizer("SequentialLR", optimizer, schedulers)
        if len(schedulers) - len(milestones) != 1:
            raise ValueError(f"SequentialLR: expected one scheduler more than milestones, got {len(schedulers)} and {len(milestones)}")
        self.optimizer, self._schedulers, self._milestones, self.last_epoch = optimizer, schedulers, milestones, last_epoch + 1
        # Making the schedulers stepped each of them: back to the beginning, and only the first one goes.
        for group in optimizer.param_groups:
            _set(group, "lr", group["initial_lr"])
        for scheduler in schedulers:
            self.recursive_undo(scheduler)
        schedulers[0]._begin()
        self._last_lr = schedulers[0].get_last_lr()

    def recursive_undo(self, sched=None):
        """Takes back the last step's count of a scheduler (by default this one), and of those within it."""
        scheduler = self if sched is None else sched
        for part in scheduler._schedulers if isinstance(scheduler, _Composed) else ():
            self.recursive_undo(part)
        if hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def _begin(self):
        self._schedulers[0]._begin()
        self._last_lr = self._schedulers[0].get_last_lr()

    def step(self):
        """Sets the rates of the next epoch."""
        self.last_epoch += 1
        now = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[now]
        if now > 0 and self._milestones[now - 1] == self.last_epoch:
            scheduler._go_to(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Composed):
    """Schedulers together: each changes what the one before it has set.

    Args:
        schedulers: chainable ones of one optimizer.
        optimizer: by default that of the first.

    Errors: ValueError for none and for other optimizers.

    >>> adam = optim.Adam([nn.Parameter(torch.ones(1))], lr=1.0)
    >>> both = optim.lr_scheduler.ChainedScheduler([optim.lr_scheduler.ExponentialLR(adam, 0.5), optim.lr_scheduler.ExponentialLR(adam, 0.1)])
    >>> adam.step(); both.step()
    >>> both.get_last_lr()
    [0.05]
    """

    def __init__(self, schedulers, optimizer=None):
        if len(schedulers) < 1:
            raise ValueError("ChainedScheduler: expected schedulers, got none.")
        optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        _check_common_optimizer("ChainedScheduler", optimizer, schedulers)
        self._schedulers, self.optimizer = schedulers, optimizer
        self._last_lr = [_copied(group["lr"]) for group in optimizer.param_groups]

    def step(self):
        """Sets the rates of the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = [_copied(group["lr"]) for group in self.optimizer.param_groups]
