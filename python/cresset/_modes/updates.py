"""Steps of optimizers in PyTorch's operators, one after the other: dispatch modes see these where our step is one operator (docs/records/0019-dispatch-modes.md)."""

import math

import _cresset

import cresset as torch

from .stack import none_active


def written_out(optimizer, options):
    """Makes the step of a group while a mode listens, or gives False where the step is one that PyTorch's modes see as ours, or that has none here."""
    rule = _RULES.get(optimizer._rule)
    params = [p for p in options["params"] if p.grad is not None]
    if rule is None or options.get("fused") or options.get("differentiable") or any(p.grad.is_sparse for p in params):
        return False
    optimizer._make([p for p in params if not optimizer.state[p] and optimizer._rule != "_fused_sgd_"], options)
    if params:
        run = rule[bool(options.get("foreach"))]
        _cresset._by_parts(lambda: run(params, optimizer.state, options))
    return True


# One parameter after the other: what the rows are made of.


def _sgd(params, state, o):
    numbers = {name: o[name] for name in ("weight_decay", "momentum", "lr", "dampening", "nesterov", "maximize")}
    for p in params:
        buffers, is_first = [], False
        if o["momentum"]:
            is_first = state[p].get("momentum_buffer") is None
            if is_first:
                with none_active():
                    state[p]["momentum_buffer"] = torch.zeros_like(p.detach())
            buffers = [state[p]["momentum_buffer"]]
        _cresset.body("_fused_sgd_")([p], [p.grad], buffers, **numbers, is_first_step=is_first)


def _adam(params, state, o):
    rule = "_fused_adamw_" if o["decoupled_weight_decay"] else "_fused_adam_"
    numbers = {name: o[name] for name in ("lr", "weight_decay", "eps", "amsgrad")}
    numbers["beta1"], numbers["beta2"] = o["betas"]
    for p in params:
        kept = state[p]
        change = -p.grad if o["maximize"] else p.grad
        kept["step"] += 1
        largest = [kept["max_exp_avg_sq"]] if o["amsgrad"] else []
        _cresset.body(rule)([p], [change], [kept["exp_avg"]], [kept["exp_avg_sq"]], largest, [kept["step"]], **numbers, maximize=False)


# All at once: the same rules in operators on lists.


def _sgd_of_lists(params, state, o):
    changes, are_own = [p.grad for p in params], bool(o["maximize"])
    if are_own:
        changes = torch._foreach_neg(changes)
    if o["weight_decay"]:
        changes = _added(changes, params, o["weight_decay"], are_own)
    if o["momentum"]:
        averages = [state[p].get("momentum_buffer") for p in params]
        if all(average is not None for average in averages):
            torch._foreach_mul_(averages, o["momentum"])
            torch._foreach_add_(averages, changes, alpha=1 - o["dampening"])
        else:
            for place, (p, change) in enumerate(zip(params, changes)):
                if averages[place] is None:
                    averages[place] = state[p]["momentum_buffer"] = change.detach().clone()
                else:
                    averages[place].mul_(o["momentum"]).add_(change, alpha=1 - o["dampening"])
        if o["nesterov"]:
            torch._foreach_add_(changes, averages, alpha=o["momentum"])
        else:
            changes = averages
    torch._foreach_add_(params, changes, alpha=-o["lr"])


def _added(changes, params, factor, are_own):
    if not are_own:
        return torch._foreach_add(changes, params, alpha=factor)
    torch._foreach_add_(changes, params, alpha=factor)
    return changes


def _sizes(o, t):
    """The length of Adam's step number t, and the root of what corrects the second moment."""
    return o["lr"] / (1 - o["betas"][0] ** t), math.sqrt(1 - o["betas"][1] ** t)


def _adam_of_lists(params, state, o):
    beta1, beta2 = o["betas"]
    changes, are_own = [p.grad for p in params], bool(o["maximize"])
    if are_own:
        changes = torch._foreach_neg(changes)
    counts, first, second = ([state[p][name] for p in params] for name in ("step", "exp_avg", "exp_avg_sq"))
    torch._foreach_add_(counts, torch.tensor(1.0), alpha=1.0)
    if o["weight_decay"] and o["decoupled_weight_decay"]:
        torch._foreach_mul_(params, 1 - o["lr"] * o["weight_decay"])
    elif o["weight_decay"]:
        changes = _added(changes, params, o["weight_decay"], are_own)
    torch._foreach_lerp_(first, changes, 1 - beta1)
    torch._foreach_mul_(second, beta2)
    torch._foreach_addcmul_(second, changes, changes, 1 - beta2)
    lengths = [_sizes(o, count.item())[0] for count in counts]  # each count is read twice, as PyTorch reads it
    roots = [_sizes(o, count.item())[1] for count in counts]
    if o["amsgrad"]:
        largest = [state[p]["max_exp_avg_sq"] for p in params]
        torch._foreach_maximum_(largest, second)
        second = largest
    below = torch._foreach_sqrt(second)
    torch._foreach_div_(below, roots)
    torch._foreach_add_(below, o["eps"])
    torch._foreach_addcdiv_(params, first, below, [-length for length in lengths])


#: By the operator of the step: one parameter after the other, and all at once (`foreach`).
_RULES = {"_fused_sgd_": (_sgd, _sgd_of_lists), "_fused_adam_": (_adam, _adam_of_lists), "_fused_adamw_": (_adam, _adam_of_lists)}
