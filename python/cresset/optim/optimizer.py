"""The base of all optimizers: parameter groups, state, hooks."""

from __future__ import annotations

import functools
import math
import sys
import typing
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from copy import deepcopy
from itertools import chain

import _cresset

import cresset as torch
from cresset.utils.hooks import RemovableHandle

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]


class _Required:
    def __repr__(self):
        return "<required parameter>"


required = _Required()

_global_pre_hooks: OrderedDict = OrderedDict()
_global_post_hooks: OrderedDict = OrderedDict()


def _register(table, hook, prepend=False):
    handle = RemovableHandle(table)
    table[handle.id] = hook
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook):
    """Calls ``hook(optimizer, args, kwargs)`` before the ``step`` of every optimizer; see `Optimizer.register_step_pre_hook`.

    Example::

        >>> import cresset as torch
        >>> from cresset.optim.optimizer import register_optimizer_step_pre_hook
        >>> handle = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print(type(optimizer).__name__))
        >>> torch.optim.SGD([torch.ones(1, requires_grad=True)]).step()
        SGD
        >>> handle.remove()
    """
    return _register(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    """Calls ``hook(optimizer, args, kwargs)`` after the ``step`` of every optimizer. Returns a removable handle.

    >>> from cresset.optim.optimizer import register_optimizer_step_post_hook
    >>> handle = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: print(type(optimizer).__name__))
    >>> optim.SGD([nn.Parameter(torch.ones(1))], lr=1.0).step()
    SGD
    >>> handle.remove()
    """
    return _register(_global_post_hooks, hook)


def _are_named():
    """Whether a profile or a dispatch mode may want the names of parts."""
    return "_cresset_profile" in sys.modules or _cresset._is_heard()


def _named(optimizer, what):
    """The scope of a method in a profile, which has loaded its extension."""
    from ..autograd.profiler import record_function

    return record_function(f"Optimizer.{what}#{type(optimizer).__name__}.{what}")


def _named_step(step, optimizer, args, kwargs):
    optimizer._in_named_step = True
    try:
        with _named(optimizer, "step"):
            return step(optimizer, *args, **kwargs)
    finally:
        del optimizer._in_named_step


def _with_hooks(step):
    """`step` between its hooks. Where one class's step calls its parent's, they run once, around the outer one."""

    @functools.wraps(step)
    def wrapped(self, *args, **kwargs):
        self._opt_called = True
        if _are_named() and not self.__dict__.get("_in_named_step"):
            return _named_step(wrapped, self, args, kwargs)
        if "_optimizer_step_pre_hooks" not in self.__dict__:  # it wraps another optimizer and has no state of its own
            return step(self, *args, **kwargs)
        pre, post = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        if not (pre or post or _global_pre_hooks or _global_post_hooks) or self.__dict__.get("_in_step"):
            return step(self, *args, **kwargs)
        self._in_step = True
        try:
            args = (self, *args)
            for hook in [*_global_pre_hooks.values(), *pre.values()]:
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(f"{step} returns None or (args, kwargs), got {changed}.")
                args, kwargs = changed
            result = step(*args, **kwargs)
            for hook in [*post.values(), *_global_post_hooks.values()]:
                hook(self, args, kwargs)
            return result
        finally:
            del self._in_step

    return wrapped


_HOOK_TABLES = ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post")


class Optimizer:
    """Base class of optimizers. A subclass gives ``step(closure=None)``.

    Args:
        params: tensors that require gradients, ``(name, tensor)`` pairs, or dictionaries of groups: ``"params"`` and options that
            override the defaults.
        defaults: the options of groups that do not give them.

    Attributes: ``param_groups`` (a list of dictionaries), ``state`` (per parameter, a dictionary), ``defaults``.

    Errors: TypeError for what is no tensor, for a set or a bare tensor; ValueError for no parameters, a tensor that is no leaf,
    a parameter in two groups, names for some parameters only.

    Example::

        >>> import cresset as torch
        >>> class Descent(torch.optim.Optimizer):
        ...     def __init__(self, params, lr):
        ...         super().__init__(params, {"lr": lr})
        ...     def step(self, closure=None):
        ...         for group in self.param_groups:
        ...             for p in group["params"]:
        ...                 p.data.add_(p.grad, alpha=-group["lr"])
        >>> w = torch.ones(2, requires_grad=True)
        >>> optimizer = Descent([w], 0.5)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w.tolist()
        [0.0, 0.0]
    """

    def __init__(self, params, defaults):
        self.defaults = defaults
        self._make_hook_tables()
        if isinstance(params, torch.Tensor):
            raise TypeError(f"optimizer: expected an iterable of tensors or dicts as params, got {params.type()}")
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer: expected parameters, got none")
        if not isinstance(groups[0], dict):
            groups = [{"params": params if isinstance(params, set) else groups}]
        for group in groups:
            self.add_param_group(group)

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])

    def _make_hook_tables(self):
        for name in _HOOK_TABLES:
            self.__dict__.setdefault(f"_optimizer_{name}_hooks", OrderedDict())

    def _patch_step_function(self):
        """Makes the tables of hooks of an optimizer that wraps another and leaves out the constructor: its `step` then runs between its hooks."""
        self._make_hook_tables()

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._make_hook_tables()
        self.__dict__.setdefault("defaults", {})

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += ["", f"Parameter Group {i}"] if i else [f"Parameter Group {i}"]
            lines += [f"    {key}: {_plain(group[key])}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    def add_param_group(self, param_group):
        """Adds a group of parameters, for example layers that are unfrozen later.

        Args:
            param_group: a dictionary with ``"params"`` and options; those left out are the defaults.

        Errors: as the constructor's; TypeError for what is no dictionary.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"add_param_group: expected a dict, got {type(param_group)}")
        given = param_group["params"]
        if isinstance(given, set):
            raise TypeError("optimizer: a set has another order in each run; pass the parameters as a list")
        params = [given] if isinstance(given, torch.Tensor) else [*given]
        names = [p[0] for p in params if isinstance(p, tuple)]
        if names:
            if len(names) < len(params):
                raise ValueError("optimizer: some parameters have names and some have none")
            params = [p[1] for p in params]
            param_group["param_names"] = names
        param_group.update(params=params)
        if wrong := [p for p in params if not isinstance(p, torch.Tensor)]:
            raise TypeError(f"optimizer: expected tensors as parameters, got {_typename(wrong[0])}")
        if not self.defaults.get("differentiable") and not all(p.is_leaf or p.retains_grad for p in params):
            raise ValueError("optimizer: expected leaf tensors, got one that was computed from others")
        if lacking := [name for name, value in self.defaults.items() if value is required and name not in param_group]:
            raise ValueError(f"optimizer: a group has no value for {lacking[0]}")
        param_group.update({name: value for name, value in self.defaults.items() if name not in param_group})
        if len(set(map(id, params))) != len(params):
            warnings.warn("optimizer: a group holds a parameter more than once", stacklevel=3)
        if self.param_groups and ("param_names" in param_group) != ("param_names" in self.param_groups[0]):
            with_names = "with" if "param_names" in param_group else "without"
            raise ValueError(f"optimizer: got a group {with_names} names, expected all groups to have them, or none")
        if not set(map(id, self._all_params())).isdisjoint(map(id, params)):
            raise ValueError("optimizer: a parameter is in more than one group")
        self.param_groups.append(param_group)

    def step(self, closure=None):
        """One update of the parameters from their gradients.

        Args:
            closure: reevaluates the model and returns the loss; needed by some optimizers only.

        Returns: the closure's result, or None. Errors: NotImplementedError where a subclass does not define it.
        """
        raise NotImplementedError

    # Types of hooks, for annotations.
    OptimizerPreHook = Callable[["Optimizer", tuple, dict], "tuple[tuple, dict] | None"]
    OptimizerPostHook = Callable[["Optimizer", tuple, dict], None]

    @staticmethod
    def profile_hook_step(func):
        """Makes a method run between the hooks of `step`, as the `step` of every subclass does by itself."""
        return _with_hooks(func)

    def zero_grad(self, set_to_none=True):
        """Resets the gradients of all parameters.

        Args:
            set_to_none: whether to drop the gradients instead of filling them with zeros.
        """
        if _are_named():
            with _named(self, "zero_grad"):
                return self._zero_grad(set_to_none)
        return self._zero_grad(set_to_none)

    def _zero_grad(self, set_to_none):
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.grad.detach_() if p.grad.grad_fn is not None else p.grad.requires_grad_(False)
                    p.grad.zero_()

    def state_dict(self):
        """The state as a dictionary: ``"state"`` by the parameter's number, ``"param_groups"`` with numbers for parameters.

        Tensors are shared with the optimizer, not copied.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers = {}
        for p in self._all_params():
            numbers.setdefault(id(p), len(numbers))
        groups = [{**{k: v for k, v in group.items() if k != "params"}, "params": [numbers[id(p)] for p in group["params"]]} for group in self.param_groups]
        state = {numbers[id(k)] if isinstance(k, torch.Tensor) else k: v for k, v in self.state.items()}
        packed = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, packed)
            if changed is not None:
                packed = changed
        return packed

    def load_state_dict(self, state_dict):
        """Takes over a state that `state_dict` made. The state of a parameter is converted to its dtype and device.

        Args:
            state_dict: of an optimizer of the same class with groups of the same sizes; it is not modified.

        Errors: ValueError if the number or the sizes of the groups differ, or if the state of a parameter is another optimizer's or
        another model's, so that the next step could not use it: what is missing, unexpected and of another shape is listed. Nothing has
        changed then.
        """
        state_dict = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        saved = deepcopy(state_dict["param_groups"])
        if len(saved) != len(self.param_groups):
            raise ValueError("load_state_dict: the state has another number of groups")
        if any(len(new["params"]) != len(old["params"]) for new, old in zip(saved, self.param_groups)):
            raise ValueError("load_state_dict: a group of the state has another number of parameters")
        params = dict(zip(chain.from_iterable(group["params"] for group in saved), self._all_params()))
        homes = {id(p): group for group in self.param_groups for p in group["params"]}
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = _fit_state(params[key], homes[id(params[key])], value)
            else:
                state[key] = value
        for new, old in zip(saved, self.param_groups):
            new["params"] = old["params"]
            if "param_names" in old:
                new.setdefault("param_names", old["param_names"])
        self._check_fits(state, saved)
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    _optional_state = ()  # what a step makes where it is missing

    def _layout(self, p, group):
        """State of `p` that a step needs, by name: tensors of the shapes. Empty: nothing is known."""
        return {}

    def _check_fits(self, state, groups):
        problems = []
        for number, (p, group) in enumerate((p, group) for group in groups for p in group["params"]):
            values = state.get(p)
            if not isinstance(values, dict) or not values:
                continue
            wanted = self._layout(p, {**self.defaults, **group})
            missing = [name for name in wanted if values.get(name) is None and name not in self._optional_state]
            other = [f"{name} {tuple(values[name].shape)} instead of {tuple(like.shape)}" for name, like in wanted.items()
                     if like.dim() and isinstance(values.get(name), torch.Tensor) and values[name].shape != like.shape]  # fmt: skip
            if missing or other:
                unexpected = [name for name in values if name not in wanted]
                lists = (("missing", missing), ("unexpected", unexpected), ("of another shape", other))
                problems.append(f"parameter {number}: " + "; ".join(f"{what}: {', '.join(map(str, names))}" for what, names in lists if names))
        if problems:
            raise ValueError(f"loaded state dict is not the state of this {type(self).__name__}: " + ". ".join(problems[:8] + ["..."] * (len(problems) > 8)))

    def _all_params(self):
        return chain.from_iterable(group["params"] for group in self.param_groups)

    def register_step_pre_hook(self, hook):
        """Calls ``hook(optimizer, args, kwargs)`` before each step; it may return new ``(args, kwargs)``. Returns a handle."""
        return _register(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Calls ``hook(optimizer, args, kwargs)`` after each step. Returns a removable handle."""
        return _register(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Calls ``hook(optimizer)`` before `state_dict`. ``prepend`` puts it before earlier ones. Returns a handle."""
        return _register(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Calls ``hook(optimizer, state_dict)`` after `state_dict`; what it returns, if anything, takes its place."""
        return _register(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Calls ``hook(optimizer, state_dict)`` before loading; what it returns, if anything, is loaded instead."""
        return _register(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    @staticmethod
    def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
        from ..utils import _foreach_utils

        return _foreach_utils._group_tensors_by_device_and_dtype(tensorlistlist, with_indices)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Calls ``hook(optimizer)`` after `load_state_dict`. Returns a removable handle."""
        return _register(self._optimizer_load_state_dict_post_hooks, hook, prepend)


def _plain(value):
    return value.item() if isinstance(value, torch.Tensor) and value.numel() == 1 else value


def _typename(obj):
    cls = type(obj)
    return cls.__qualname__ if cls.__module__ in ("builtins", None) else f"{cls.__module__}.{cls.__qualname__}"


def _fit_state(param, group, value, key=None):
    if isinstance(value, torch.Tensor):
        if key == "step":
            on_device = group.get("capturable") or group.get("fused")
            return value.to(dtype=torch.float32, device=param.device) if on_device else value
        return value.to(param.device, param.dtype if param.is_floating_point() else value.dtype)
    if isinstance(value, dict):
        return {k: _fit_state(param, group, v, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_fit_state(param, group, v) for v in value)
    return value


# ---- names that optimizers of others import -------------------------------------------------------------------------------

StateDict = dict[str, typing.Any]
ParamsT = typing.Union[typing.Iterable[torch.Tensor], typing.Iterable[dict], typing.Iterable[tuple[str, torch.Tensor]]]


def _use_grad_for_differentiable(step):
    """A `step` that runs with gradients enabled where the optimizer is differentiable."""

    @functools.wraps(step)
    def wrapped(self, *args, **kwargs):
        with torch.set_grad_enabled(self.defaults.get("differentiable", False)):
            return step(self, *args, **kwargs)

    return wrapped


def _get_value(x):
    return x.item() if isinstance(x, torch.Tensor) else x


def _dispatch_sqrt(x):
    return x.sqrt() if isinstance(x, torch.Tensor) else math.sqrt(x)


def _stack_if_compiling(x):
    return x


def _view_as_real(params, *state_and_grads):
    """Replaces complex tensors by their real views, in all lists."""
    complex_places = [i for i, param in enumerate(params) if param.is_complex()]
    for tensors in (params, *state_and_grads):
        for i in complex_places:
            tensors[i] = torch.view_as_real(tensors[i])


def _default_to_fused_or_foreach(params, differentiable, use_fused=False):
    """Whether the fused form, and the form over lists, are the default: neither on the CPU."""
    return False, False


def _get_capturable_supported_devices(supports_xla=True):
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]
