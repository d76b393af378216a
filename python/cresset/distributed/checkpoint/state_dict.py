"""States of modules and optimizers by the names of parameters, whichever wrappers are around the modules: what checkpoints hold."""

import contextlib
import dataclasses

import cresset as torch
import cresset.distributed as dist
from cresset import nn

__all__ = ["DictValueType", "FQNS_T", "ListDictValueType", "OptimizerStateType", "PrimitiveType", "StateDictOptions", "ValueType", "get_model_state_dict",
           "get_optimizer_state_dict", "get_state_dict", "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict"]  # fmt: skip

FQNS_T = set[str]
PrimitiveType = torch.Tensor | int | float | str
ValueType = PrimitiveType | list[PrimitiveType] | tuple[PrimitiveType, ...] | dict[str, "ValueType"]
DictValueType = dict[str, ValueType]
ListDictValueType = list[DictValueType]
OptimizerStateType = dict[str, DictValueType | ListDictValueType]

_WRAPPERS = {"module", "_orig_mod", "_checkpoint_wrapped_module"}  # attributes that hold what a wrapper wraps


@dataclasses.dataclass
class StateDictOptions:
    """How states are taken and given.

    Args:
        full_state_dict: whole tensors; there are none but these here.
        cpu_offload: tensors of the CPU.
        ignore_frozen_params: leave out parameters that require no gradient.
        keep_submodule_prefixes: names of submodules' states begin with the submodule's.
        strict: `set_model_state_dict` refuses missing and unknown names.
        broadcast_from_rank0: give all ranks the state that rank 0 is given; needs `full_state_dict`.
        flatten_optimizer_state_dict: states of optimizers as one mapping, "state.name.value" and "param_groups.name.option".
        dsd_fqn_modifiers: a method of modules that renames states; there are none.

    >>> from cresset.distributed.checkpoint.state_dict import *
    >>> net = nn.Linear(1, 1); net.bias.requires_grad = False
    >>> list(get_model_state_dict(net, options=StateDictOptions(ignore_frozen_params=True)))
    ['weight']
    """

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _checked(options):
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("StateDictOptions: broadcast_from_rank0 needs full_state_dict=True")
    return options


def _is_wrapper(module):
    return isinstance(module, nn.parallel.DistributedDataParallel) or hasattr(module, "_orig_mod") or hasattr(module, "_checkpoint_wrapped_module")


def _unwrapped(model, name):
    """A name within a model without the wrappers on its way."""
    kept, module = [], model
    for part in name.split("."):
        inside = part in _WRAPPERS and isinstance(module, nn.Module) and _is_wrapper(module)
        if not inside:
            kept.append(part)
        module = getattr(module, part, None) if isinstance(module, nn.Module) else None
    return ".".join(kept)


def _names(model):
    """Names of the parameters, by their identity: all of a shared one."""
    names = {}
    for name, param in model.named_parameters(remove_duplicate=False):
        names.setdefault(param, []).append(_unwrapped(model, name))
    return names


def _moved(value, options):
    if isinstance(value, dict):
        return {key: _moved(item, options) for key, item in value.items()}
    if isinstance(value, torch.Tensor) and options.cpu_offload:
        return value.detach().cpu()
    return value


def _selected(model, submodules):
    """(name, prefix) of the submodules that are asked for."""
    places = {module: _unwrapped(model, name) if name else "" for name, module in model.named_modules()}
    for module in submodules:
        if module not in places:
            raise ValueError(f"get_model_state_dict: {type(module).__name__} is no submodule of the model")
    return [f"{places[module]}." if places[module] else "" for module in submodules]


def get_model_state_dict(model, *, submodules=None, options=None):
    """State of a module by the names that it has without wrappers.

    Args:
        model: the module.
        submodules: a set of submodules, of which alone the state is.
        options: `StateDictOptions`.

    >>> from cresset.distributed.checkpoint.state_dict import get_model_state_dict
    >>> sorted(get_model_state_dict(torch.nn.Sequential(torch.nn.Linear(1, 2))))
    ['0.bias', '0.weight']
    """
    options = _checked(options)
    state = {_unwrapped(model, name): value for name, value in model.state_dict().items()}
    if options.ignore_frozen_params:
        for param, names in _names(model).items():
            if not param.requires_grad:
                for name in names:
                    state.pop(name, None)
    if submodules is not None:
        kept = {}
        for prefix in _selected(model, submodules):
            for name, value in state.items():
                if name.startswith(prefix):
                    kept[name if options.keep_submodule_prefixes else name.removeprefix(prefix)] = value
        state = kept
    return _moved(state, options)


def _optimizers(optimizers):
    return (optimizers,) if isinstance(optimizers, torch.optim.Optimizer) else tuple(optimizers)


def _with_states(optimizer):
    """Has an optimizer make its states, by a step of rate and gradient zero, where it has none yet."""
    if optimizer.state:
        return
    params = [p for group in optimizer.param_groups for p in group["params"]]
    if any(p.grad is not None for p in params):
        raise RuntimeError("state of an optimizer: it has made no step yet and its parameters have gradients; expected a step, or zero_grad() first")
    rates = [group["lr"] for group in optimizer.param_groups if "lr" in group]
    for group in optimizer.param_groups:
        if "lr" in group:
            group["lr"] = torch.zeros_like(group["lr"]) if isinstance(group["lr"], torch.Tensor) else 0.0
    try:
        for param in params:
            if param.requires_grad:
                param.grad = torch.zeros_like(param)
        with contextlib.suppress(TypeError):  # LBFGS needs a closure, and has no state before it
            optimizer.step(closure=None)
    finally:
        for group, rate in zip((g for g in optimizer.param_groups if "lr" in g), rates):
            group["lr"] = rate
        optimizer.zero_grad(set_to_none=True)


def get_optimizer_state_dict(model, optimizers, *, submodules=None, options=None):
    """States of optimizers by the names of the parameters: {"state": {name: ...}, "param_groups": [{"params": [names], ...}]}.

    Args:
        model: the module of the parameters.
        optimizers: one or several.
        submodules: a set of submodules, of whose parameters alone the state is.
        options: `StateDictOptions`.

    >>> from cresset.distributed.checkpoint.state_dict import *
    >>> net = nn.Linear(2, 1); optimizer = torch.optim.Adam(net.parameters())
    >>> sorted(get_optimizer_state_dict(net, optimizer)['state'])
    ['bias', 'weight']
    """
    options, names = _checked(options), _names(model)
    prefixes = None if submodules is None else _selected(model, submodules)
    state, groups = {}, []
    for optimizer in _optimizers(optimizers):
        _with_states(optimizer)
        for group in optimizer.param_groups:
            own = []
            for param in group["params"]:
                if param not in names:
                    raise KeyError(f"state of an optimizer: a parameter of shape {tuple(param.shape)} is none of the model's")
                name = names[param][0]
                if prefixes is not None and not any(name.startswith(prefix) for prefix in prefixes):
                    continue
                own.append(name)
                if param in optimizer.state:
                    state[name] = _moved(dict(optimizer.state[param]), options)
            groups.append({**{key: value for key, value in group.items() if key != "params"}, "params": own})
    if not options.flatten_optimizer_state_dict:
        return {"state": state, "param_groups": groups}
    flat = {f"state.{name}.{key}": value for name, values in state.items() for key, value in values.items()}
    for group in groups:
        for name in group["params"]:
            flat.update({f"param_groups.{name}.{key}": value for key, value in group.items() if key != "params"})
    return flat


def get_state_dict(model, optimizers, *, submodules=None, options=None):
    """(state of the model, states of the optimizers), as the two functions give them.

    >>> from cresset.distributed.checkpoint.state_dict import *
    >>> net = nn.Linear(2, 1); optimizer = torch.optim.Adam(net.parameters())
    >>> model_state, optimizer_state = get_state_dict(net, optimizer)
    >>> sorted(model_state), optimizer_state['param_groups'][0]['params']
    (['bias', 'weight'], ['weight', 'bias'])
    """
    model_state = get_model_state_dict(model, submodules=submodules, options=options)
    if not _optimizers(optimizers):
        return model_state, {}
    return model_state, get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options)


def _from_first(state, options):
    """The state that rank 0 was given, on all ranks."""
    if not options.broadcast_from_rank0 or not dist.is_initialized():
        return state
    held = [state]
    dist.broadcast_object_list(held, src=0)
    return held[0]


def set_model_state_dict(model, model_state_dict, *, options=None):
    """Gives a module a state of `get_model_state_dict`.

    Returns: the missing and the unknown names. Errors: RuntimeError for such, where `strict`.

    >>> from cresset.distributed.checkpoint.state_dict import *
    >>> net = nn.Linear(2, 1); optimizer = torch.optim.Adam(net.parameters())
    >>> set_model_state_dict(net, {'weight': torch.ones(1, 2), 'bias': torch.ones(1)})
    <All keys matched successfully>
    """
    options = _checked(options)
    state = _from_first(model_state_dict, options)
    if not state:  # of a rank that takes no part
        return nn.modules.module._IncompatibleKeys([], [])
    if all(isinstance(key, nn.Module) for key in state):
        places = {module: name for name, module in model.named_modules()}
        state = {f"{places[m]}.{name}" if places[m] else name: value for m, values in state.items() for name, value in values.items()}
    wrapped = {}
    for name in model.state_dict():
        wrapped[_unwrapped(model, name)] = name
    named = {wrapped.get(name, name): value for name, value in state.items()}
    if options.ignore_frozen_params and options.strict:
        for param, names in _names(model).items():
            if not param.requires_grad:
                named.update({wrapped[name]: param.detach() for name in names if name in wrapped and wrapped[name] not in named})
    return model.load_state_dict(named, strict=options.strict)


def _nested(flat, model, optimizer):
    """The state of an optimizer from that of `flatten_optimizer_state_dict`."""
    names, state, groups = _names(model), {}, []
    for group in optimizer.param_groups:
        own = [names[param][0] for param in group["params"]]
        options = {}
        for name in own:
            head = f"state.{name}."
            values = {key.removeprefix(head): value for key, value in flat.items() if key.startswith(head)}
            if values:
                state[name] = values
            head = f"param_groups.{name}."
            options.update({key.removeprefix(head): value for key, value in flat.items() if key.startswith(head)})
        groups.append({**options, "params": own})
    return {"state": state, "param_groups": groups}


def set_optimizer_state_dict(model, optimizers, optim_state_dict, *, options=None):
    """Gives optimizers the states of `get_optimizer_state_dict`, nested or flat.

    Errors: RuntimeError where there is none for a parameter of an optimizer that requires gradients.

    >>> from cresset.distributed.checkpoint.state_dict import *
    >>> net = nn.Linear(2, 1); optimizer = torch.optim.Adam(net.parameters())
    >>> state = get_optimizer_state_dict(net, optimizer)
    >>> state['param_groups'][0]['lr'] = 0.5
    >>> set_optimizer_state_dict(net, optimizer, state)
    >>> optimizer.param_groups[0]['lr']
    0.5
    """
    options, names = _checked(options), _names(model)
    given = _from_first(optim_state_dict, options)
    for optimizer in _optimizers(optimizers):
        _with_states(optimizer)
        flat = bool(given) and "param_groups" not in given
        state = _nested(given, model, optimizer) if flat else given
        numbers, groups, states = {}, [], {}
        for group in optimizer.param_groups:
            own = [names[param][0] for param in group["params"]]
            held = next((g for g in state["param_groups"] if set(g["params"]) & set(own)), None)
            if held is None and own:
                raise RuntimeError(f"set_optimizer_state_dict: no group of the state has the parameters {own}")
            for name in own:
                numbers[name] = len(numbers)
                if name in state["state"]:
                    states[numbers[name]] = state["state"][name]
            options_of = {key: value for key, value in (held or {}).items() if key != "params"}
            groups.append({**{k: v for k, v in group.items() if k != "params"}, **options_of, "params": [numbers[name] for name in own]})
        optimizer.load_state_dict({"state": states, "param_groups": groups})


def set_state_dict(model, optimizers, *, model_state_dict, optim_state_dict, options=None):
    """Gives a model and its optimizers the states of `get_state_dict`. Returns: the missing and the unknown names of the model.

    >>> from cresset.distributed.checkpoint.state_dict import *
    >>> net = nn.Linear(2, 1); optimizer = torch.optim.Adam(net.parameters())
    >>> model_state, optimizer_state = get_state_dict(net, optimizer)
    >>> set_state_dict(net, optimizer, model_state_dict=model_state, optim_state_dict=optimizer_state)
    <All keys matched successfully>
    """
    if _optimizers(optimizers):
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
