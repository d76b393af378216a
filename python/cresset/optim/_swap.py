"""Other parameters and state for an optimizer, for a while."""

from collections import defaultdict
from contextlib import contextmanager

__all__ = ["swap_in_optimizer_params_and_state"]

_NAME = "swap_in_optimizer_params_and_state"


@contextmanager
def swap_in_optimizer_params_and_state(optimizer, swapin_parameters, swapin_optim_state):
    """A context in which an optimizer works on other parameters, by name in the order of its own, and on a state as `state_dict` makes it.

    Tensors of that state are used as they are, so they change where they are updated in place; anything else that happens to the state is
    forgotten at the end, when the optimizer has its own again. RuntimeError for an optimizer without state, too few parameters, another number
    or other sizes of groups.

    >>> w = nn.Parameter(torch.ones(1))
    >>> optimizer = optim.SGD([w], lr=0.5, momentum=0.9)
    >>> w.grad = torch.ones(1)
    >>> optimizer.step()
    >>> other = nn.Parameter(torch.tensor([4.0]))
    >>> other.grad = torch.ones(1)
    >>> with optim.swap_in_optimizer_params_and_state(optimizer, {"w": other}, optimizer.state_dict()):
    ...     optimizer.step()
    >>> round(other.item(), 2), w.item()
    (3.05, 0.5)
    """
    if not optimizer.state:
        raise RuntimeError(f"{_NAME} requires initialized optimizer state.")
    own_state, own_groups = optimizer.state, optimizer.param_groups
    given, groups = swapin_optim_state.get("state"), swapin_optim_state.get("param_groups", [])
    if not isinstance(given, dict):
        raise RuntimeError(f"{_NAME}: expected swapin_optim_state['state'] to be a dict of states by parameter number, got {type(given).__name__}.")
    if len(groups) != len(own_groups):
        raise RuntimeError("swapin_optim_state and the optimizer differ in their number of groups.")
    if any(len(new["params"]) != len(old["params"]) for new, old in zip(groups, own_groups, strict=True)):
        raise RuntimeError("swap: expected groups of the optimizer's sizes in swapin_optim_state, got another size")
    parameters = list(swapin_parameters.values())
    numbers = [n for group in groups for n in group["params"]]
    if len(parameters) < len(numbers):
        raise RuntimeError(f"{_NAME}: the states are in another order than optimizer.param_groups.")
    by_number = dict(zip(numbers, parameters, strict=False))
    state = defaultdict(dict)
    for number, value in given.items():
        state[by_number.get(number, number)] = dict(value) if isinstance(value, dict) else value
    optimizer.state = state
    optimizer.param_groups = [{**group, "params": [by_number[n] for n in group["params"]]} for group in groups]
    try:
        yield
    finally:
        optimizer.state, optimizer.param_groups = own_state, own_groups
