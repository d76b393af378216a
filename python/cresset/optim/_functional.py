"""Steps of optimizers as functions of lists, for programs that keep the states themselves: `torch.optim.adam.adam` and its kin.

Each calls the operator of its rule (ops/optim.toml), moves the counters in `state_steps` on by one, and updates parameters and states in place: all
of them or, where an argument is refused, none. `foreach` and `fused` are accepted as PyTorch does, with the same numbers; `has_complex` and `has_sparse_grad`
are found from the tensors.

Errors: RuntimeError for lists that do not fit one another, for counters that are no tensors, and for sparse gradients where the rule takes none.
"""

from __future__ import annotations

import _cresset

import cresset as torch

from ._elementwise import check_fused, zeros_like

__all__ = []


def _step(rule, params, grads, states, steps, numbers, rates=(), differentiable=False, foreach=None, fused=None):
    """Calls the operator `rule` on the lists. `rates` are those of `numbers` that a differentiable step takes as tensors."""
    if not all(isinstance(step, torch.Tensor) for step in steps or ()):
        raise RuntimeError(f"{rule.strip('_').removeprefix('fused_')}: expected `state_steps` to be a list of tensors of one element")
    check_fused(fused, foreach, differentiable)
    if differentiable and foreach:
        raise AssertionError("foreach steps are not recorded, got differentiable=True")
    if not params:
        return
    counted = () if steps is None or rule in _UNCOUNTED else (steps,)
    if differentiable and rates:
        rule += ".Tensor"
    else:
        numbers = {
            name: value.item() if isinstance(value, torch.Tensor) and name not in ("grad_scale", "found_inf") else value for name, value in numbers.items()
        }
    _advance(steps, 1)
    try:
        _cresset.call_on_lists(rule, (params, grads, *states, *counted), numbers)
    except BaseException:
        _advance(steps, -1)
        raise
    if numbers.get("found_inf") is not None:
        _advance(steps, -numbers["found_inf"].item())  # 1 where the step was left out


_UNCOUNTED = ("_fused_sgd_", "_fused_rmsprop_", "_fused_adadelta_", "_fused_rprop_", "_fused_muon_")  # rules whose numbers do not depend on the step


def _advance(steps, by):
    with torch.no_grad():
        for step in steps or ():
            step += by


def adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, foreach=None, capturable=False, differentiable=False, fused=None, grad_scale=None,
         found_inf=None, has_complex=False, decoupled_weight_decay=False, *, amsgrad, beta1, beta2, lr, weight_decay, eps, maximize):  # fmt: skip
    """One step of Adam on lists of parameters, gradients and states.

    Example::

        >>> w, g, m, v, t = torch.ones(1), torch.ones(1), torch.zeros(1), torch.zeros(1), torch.tensor(0.0)
        >>> torch.optim.adam.adam([w], [g], [m], [v], [], [t], amsgrad=False, beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0, eps=1e-8,
        ...     maximize=False)
        >>> w, t
        (tensor([0.9000]), tensor(1.))
    """
    numbers = {"lr": lr, "beta1": beta1, "beta2": beta2, "weight_decay": weight_decay, "eps": eps, "amsgrad": amsgrad, "maximize": maximize}
    if fused:
        numbers.update(grad_scale=grad_scale, found_inf=found_inf)
    states = (exp_avgs, exp_avg_sqs, max_exp_avg_sqs if amsgrad else [])
    rule = "_fused_adamw_" if decoupled_weight_decay else "_fused_adam_"
    _step(rule, params, grads, states, state_steps, numbers, ("lr", "beta1", "beta2", "weight_decay"), differentiable, foreach, fused)


def adamw(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, foreach=None, capturable=False, differentiable=False, fused=None, grad_scale=None,
          found_inf=None, has_complex=False, *, amsgrad, beta1, beta2, lr, weight_decay, eps, maximize):  # fmt: skip
    """One step of AdamW: Adam whose parameters shrink by ``lr * weight_decay`` of themselves.

    Example::

        >>> w, g, m, v, t = torch.ones(1), torch.ones(1), torch.zeros(1), torch.zeros(1), torch.tensor(0.0)
        >>> torch.optim.adamw.adamw([w], [g], [m], [v], [], [t], amsgrad=False, beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0.5, eps=1e-8,
        ...     maximize=False)
        >>> w
        tensor([0.8500])
    """
    adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, foreach, capturable, differentiable, fused, grad_scale, found_inf, has_complex, True,
         amsgrad=amsgrad, beta1=beta1, beta2=beta2, lr=lr, weight_decay=weight_decay, eps=eps, maximize=maximize)  # fmt: skip


def sgd(params, d_p_list, momentum_buffer_list, has_sparse_grad=False, foreach=None, fused=None, grad_scale=None, found_inf=None, *, weight_decay, momentum, lr,
        dampening, nesterov, maximize):  # fmt: skip
    """One step of SGD. Where there is a momentum, a buffer that is None is made and put into `momentum_buffer_list`.

    Example::

        >>> w, g, momenta = torch.ones(1), torch.ones(1), [None]
        >>> torch.optim.sgd.sgd([w], [g], momenta, weight_decay=0, momentum=0.9, lr=0.1, dampening=0, nesterov=False, maximize=False)
        >>> w, momenta
        (tensor([0.9000]), [tensor([1.])])
    """
    numbers = {"weight_decay": weight_decay, "momentum": momentum, "lr": lr, "dampening": dampening, "nesterov": nesterov, "maximize": maximize}
    if fused:
        numbers.update(grad_scale=grad_scale, found_inf=found_inf)
    if not momentum:
        return _step("_fused_sgd_", params, d_p_list, ([],), None, {**numbers, "is_first_step": False}, foreach=foreach, fused=fused)
    first = [buffer is None for buffer in momentum_buffer_list]
    for i, is_first in enumerate(first):
        if is_first:
            grad = d_p_list[i]
            momentum_buffer_list[i] = grad.detach().clone() if grad.is_sparse and not weight_decay else zeros_like(params[i])
    for wanted in (False, True):
        lists = [[t for t, is_first in zip(tensors, first, strict=True) if is_first is wanted] for tensors in (params, d_p_list, momentum_buffer_list)]
        _step("_fused_sgd_", lists[0], lists[1], lists[2:], None, {**numbers, "is_first_step": wanted}, foreach=foreach, fused=fused)


def adagrad(params, grads, state_sums, state_steps, fused=None, grad_scale=None, found_inf=None, has_sparse_grad=False, foreach=None, differentiable=False,
            has_complex=False, *, lr, weight_decay, lr_decay, eps, maximize):  # fmt: skip
    """One step of Adagrad.

    Example::

        >>> w, g, total, t = torch.ones(1), torch.ones(1), torch.zeros(1), torch.tensor(0.0)
        >>> torch.optim.adagrad.adagrad([w], [g], [total], [t], lr=0.1, weight_decay=0, lr_decay=0, eps=1e-10, maximize=False)
        >>> w, total
        (tensor([0.9000]), tensor([1.]))
    """
    numbers = {"lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay, "eps": eps, "maximize": maximize}
    if fused:
        numbers.update(grad_scale=grad_scale, found_inf=found_inf)
    _step("_fused_adagrad_", params, grads, (state_sums,), state_steps, numbers, ("lr", "weight_decay"), differentiable, foreach, fused)


def rmsprop(params, grads, square_avgs, grad_avgs, momentum_buffer_list, state_steps, foreach=None, maximize=False, differentiable=False, capturable=False,
            has_complex=False, *, lr, alpha, eps, weight_decay, momentum, centered):  # fmt: skip
    """One step of RMSprop.

    Example::

        >>> w, g, square, t = torch.ones(1), torch.ones(1), torch.zeros(1), torch.tensor(0.0)
        >>> torch.optim.rmsprop.rmsprop([w], [g], [square], [], [], [t], lr=0.1, alpha=0.75, eps=1e-8, weight_decay=0, momentum=0, centered=False)
        >>> w, square
        (tensor([0.8000]), tensor([0.2500]))
    """
    numbers = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum, "maximize": maximize}
    states = (square_avgs, momentum_buffer_list if momentum > 0 else [], grad_avgs if centered else [])
    _step("_fused_rmsprop_", params, grads, states, state_steps, numbers, ("lr", "weight_decay", "momentum"), differentiable, foreach)


def adadelta(params, grads, square_avgs, acc_deltas, state_steps, capturable=False, foreach=None, differentiable=False, has_complex=False, *, lr, rho, eps,
             weight_decay, maximize):  # fmt: skip
    """One step of Adadelta.

    Example::

        >>> w, g, square, delta, t = torch.ones(1), torch.ones(1), torch.zeros(1), torch.zeros(1), torch.tensor(0.0)
        >>> torch.optim.adadelta.adadelta([w], [g], [square], [delta], [t], lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, maximize=False)
        >>> square
        tensor([0.1000])
    """
    numbers = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
    _step("_fused_adadelta_", params, grads, (square_avgs, acc_deltas), state_steps, numbers, ("lr", "weight_decay"), differentiable, foreach)


def adamax(params, grads, exp_avgs, exp_infs, state_steps, foreach=None, maximize=False, differentiable=False, capturable=False, has_complex=False, *, eps, beta1,
           beta2, lr, weight_decay):  # fmt: skip
    """One step of Adamax.

    Example::

        >>> w, g, m, largest, t = torch.ones(1), torch.ones(1), torch.zeros(1), torch.zeros(1), torch.tensor(0.0)
        >>> torch.optim.adamax.adamax([w], [g], [m], [largest], [t], eps=1e-8, beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0)
        >>> w
        tensor([0.9000])
    """
    numbers = {"lr": lr, "beta1": beta1, "beta2": beta2, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
    _step("_fused_adamax_", params, grads, (exp_avgs, exp_infs), state_steps, numbers, ("lr", "beta1", "beta2", "weight_decay"), differentiable, foreach)


def nadam(params, grads, exp_avgs, exp_avg_sqs, mu_products, state_steps, decoupled_weight_decay=False, foreach=None, capturable=False, differentiable=False,
          has_complex=False, maximize=False, *, beta1, beta2, lr, weight_decay, momentum_decay, eps):  # fmt: skip
    """One step of NAdam.

    Example::

        >>> w, g, m, v, product, t = torch.ones(1), torch.ones(1), torch.zeros(1), torch.zeros(1), torch.ones(()), torch.tensor(0.0)
        >>> torch.optim.nadam.nadam([w], [g], [m], [v], [product], [t], beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0, momentum_decay=4e-3, eps=1e-8)
        >>> product
        tensor(0.4501)
    """
    numbers = {"lr": lr, "beta1": beta1, "beta2": beta2, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
               "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize}  # fmt: skip
    rates = ("lr", "beta1", "beta2", "weight_decay")
    _step("_fused_nadam_", params, grads, (exp_avgs, exp_avg_sqs, mu_products), state_steps, numbers, rates, differentiable, foreach)


def radam(params, grads, exp_avgs, exp_avg_sqs, state_steps, decoupled_weight_decay=False, foreach=None, differentiable=False, capturable=False, has_complex=False,
          maximize=False, *, beta1, beta2, lr, weight_decay, eps):  # fmt: skip
    """One step of RAdam.

    Example::

        >>> w, g, m, v, t = torch.ones(1), torch.ones(1), torch.zeros(1), torch.zeros(1), torch.tensor(0.0)
        >>> torch.optim.radam.radam([w], [g], [m], [v], [t], beta1=0.9, beta2=0.999, lr=0.1, weight_decay=0, eps=1e-8)
        >>> w
        tensor([0.9000])
    """
    numbers = {"lr": lr, "beta1": beta1, "beta2": beta2, "eps": eps, "weight_decay": weight_decay, "decoupled_weight_decay": decoupled_weight_decay,
               "maximize": maximize}  # fmt: skip
    _step("_fused_radam_", params, grads, (exp_avgs, exp_avg_sqs), state_steps, numbers, ("lr", "beta1", "beta2", "weight_decay"), differentiable, foreach)


def rprop(params, grads, prevs, step_sizes, state_steps, foreach=None, capturable=False, maximize=False, differentiable=False, has_complex=False, *, step_size_min,
          step_size_max, etaminus, etaplus):  # fmt: skip
    """One step of Rprop. Its rule has no derivative of a rate, so a differentiable step is the same.

    Example::

        >>> w, g, before, size, t = torch.ones(1), torch.ones(1), torch.zeros(1), torch.full((1,), 0.1), torch.tensor(0.0)
        >>> torch.optim.rprop.rprop([w], [g], [before], [size], [t], step_size_min=1e-6, step_size_max=50, etaminus=0.5, etaplus=1.2)
        >>> w
        tensor([0.9000])
    """
    numbers = {"etaminus": etaminus, "etaplus": etaplus, "step_size_min": step_size_min, "step_size_max": step_size_max, "maximize": maximize}
    _step("_fused_rprop_", params, grads, (prevs, step_sizes), state_steps, numbers, foreach=foreach)


def asgd(params, grads, axs, mus, etas, state_steps, foreach=None, maximize=False, differentiable=False, capturable=False, has_complex=False, *, lambd, lr, t0, alpha,
         weight_decay):  # fmt: skip
    """One step of averaged SGD.

    Example::

        >>> w, g, average, mu, eta, t = torch.ones(1), torch.ones(1), torch.zeros(1), torch.ones(()), torch.tensor(0.1), torch.tensor(0.0)
        >>> torch.optim.asgd.asgd([w], [g], [average], [mu], [eta], [t], lambd=0.0, lr=0.1, t0=1e6, alpha=0.75, weight_decay=0)
        >>> w
        tensor([0.9000])
    """
    numbers = {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "maximize": maximize, "joint": bool(foreach)}
    _step("_fused_asgd_", params, grads, (axs, mus, etas), state_steps, numbers, ("lr", "weight_decay"), differentiable, foreach)


def adafactor(params, grads, row_vars, col_vars, variances, state_steps, foreach=None, grad_scale=None, found_inf=None, has_complex=False, *, d, lr, beta2_decay,
              weight_decay, eps1, eps2, maximize):  # fmt: skip
    """One step of Adafactor. Parameters of two and more dimensions have an entry in `row_vars` and `col_vars`, others in `variances`; the rest is None."""
    numbers = {"lr": lr, "beta2_decay": beta2_decay, "eps1": eps1, "eps2": eps2, "d": d, "weight_decay": weight_decay, "maximize": maximize}
    for is_matrix in (True, False):
        places = [i for i, p in enumerate(params) if (p.dim() > 1) == is_matrix]
        chosen = [[tensors[i] for i in places] for tensors in (params, grads, row_vars, col_vars, variances, state_steps)]
        states = (*chosen[2:4], []) if is_matrix else ([], [], chosen[4])
        _step("_fused_adafactor_", *chosen[:2], states, chosen[5], numbers, foreach=foreach)


def muon(params, grads, muon_momentum_bufs, *, foreach=None, lr, weight_decay, momentum, nesterov, ns_coefficients, ns_steps, eps, adjust_lr_fn, has_complex):
    """One step of Muon on matrices."""
    if foreach:
        raise AssertionError("muon: there is no joint form, got foreach=True")
    numbers = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov, "ns_coefficients": list(ns_coefficients), "eps": eps,
               "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn or "original", "maximize": False}  # fmt: skip
    _step("_fused_muon_", params, grads, (muon_momentum_bufs,), None, numbers)


def sparse_adam(params, grads, exp_avgs, exp_avg_sqs, state_steps, *, eps, beta1, beta2, lr, maximize):
    """One step of SparseAdam on sparse gradients. `state_steps` are numbers, those of this step: they are not moved on."""
    steps = [torch.tensor(float(step)) for step in state_steps]
    numbers = {"lr": lr, "beta1": beta1, "beta2": beta2, "eps": eps, "maximize": maximize}
    if params:
        _cresset.call_on_lists("_fused_sparse_adam_", (params, grads, exp_avgs, exp_avg_sqs, steps), numbers)
