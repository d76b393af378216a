"""Parameters and buffers computed from others by modules, as the attribute that they were."""

import contextlib
import copy
import functools

import cresset as torch
from cresset.utils import _python_dispatch

from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

_depth = [0]  # of scopes of cached(): a list, so that captured programs look at it each time
_cache = {}


@contextlib.contextmanager
def cached():
    """Inside, every parametrized tensor is computed once.

    >>> with nn.utils.parametrize.cached():
    ...     pass
    """
    _depth[0] += 1
    try:
        yield
    finally:
        _depth[0] -= 1
        if not _depth[0]:
            _cache.clear()


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _refill(original, value):
    """Give `original` the memory of `value`, and its class where tensors are swapped or `original` wraps others; the object stays, so that optimizers still hold it."""
    if value is original:
        return
    with torch.no_grad():
        value = value.detach()
        if torch.__future__.get_swap_module_params_on_conversion() or _python_dispatch.is_traceable_wrapper_subclass(original):
            torch.utils.swap_tensors(original, Parameter(value, original.requires_grad) if isinstance(original, Parameter) else value)
        else:
            original.data = value


def _inverse(parametrization, value):
    """The right inverse of a value; the value where there is none."""
    with contextlib.suppress(NotImplementedError):
        return getattr(parametrization, "right_inverse", lambda same: same)(value)
    return value


def _check_kept(new, shape, dtype, subject):
    """ValueError unless `new` is a tensor of this shape and dtype."""
    got = (tuple(new.shape), new.dtype) if isinstance(new, torch.Tensor) else type(new).__name__
    if got != (tuple(shape), dtype):
        raise ValueError(f"{subject}: expected a tensor of shape {tuple(shape)} and dtype {dtype} unless unsafe=True, got {got}")


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order, and what they start from: `original`, or `original0`, `original1`, ...

    >>> class Doubled(nn.Module):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> layer = nn.utils.parametrize.register_parametrization(nn.Linear(1, 1), "weight", Doubled())
    >>> type(layer.parametrizations.weight).__name__
    'ParametrizationList'
    """

    def __init__(self, modules, original, unsafe=False):
        modules = list(modules)
        if not modules:
            raise ValueError("ParametrizationList: expected modules, got none.")
        super().__init__(modules)
        self.unsafe = unsafe
        before = original.shape, original.dtype
        with torch.no_grad():
            start = functools.reduce(lambda value, step: _inverse(step, value), reversed(modules), original)
        self.is_tensor = isinstance(start, torch.Tensor)
        if self.is_tensor:
            if start.dtype != original.dtype:
                raise ValueError(f"right_inverse: one tensor keeps its dtype, got {start.dtype}, expected {original.dtype}")
            _refill(original, start)
            _register(self, "original", original)
        else:
            wrong = [start] if not isinstance(start, (list, tuple)) else [t for t in start if not isinstance(t, torch.Tensor)]
            if wrong:
                raise ValueError(f"right_inverse: expected a tensor or a sequence of them, got {type(wrong[0]).__name__}")
            self.ntensors = len(start)
            for i, tensor in enumerate(start):
                _register(self, f"original{i}", Parameter(tensor, original.requires_grad) if isinstance(original, Parameter) else tensor)
        if not unsafe:
            _check_kept(self(), *before, "a parametrization")

    def _originals(self):
        return (self.original,) if self.is_tensor else tuple(getattr(self, f"original{i}") for i in range(self.ntensors))

    def right_inverse(self, value):
        """Set the originals so that the tensor becomes `value`, as far as the parametrizations can invert."""
        with torch.no_grad():
            for step in reversed(list(self)):
                if getattr(step, "right_inverse", None) is None:
                    raise RuntimeError(f"right_inverse: expected every parametrization to have it, got {type(step).__name__}, which has none")
                value = step.right_inverse(value)
            values = (value,) if self.is_tensor else tuple(value)
            if len(values) != len(self._originals()):
                raise ValueError(f"'right_inverse' must return {len(self._originals())} tensors, got {len(values)}")
            for original, new in zip(self._originals(), values, strict=True):
                if not isinstance(new, torch.Tensor) or original.dtype != new.dtype:
                    raise ValueError("'right_inverse' must return tensors of the dtype of the originals")
                _refill(original, new)

    def forward(self):
        first, *rest = self
        value = first(*self._originals())
        for module in rest:
            value = module(value)
        return value


def _inject_class(module):
    cls = type(module)

    def no_pickle(self):
        raise RuntimeError("a parametrized module is saved through its state_dict(), it cannot be pickled")

    def deepcopied(self, memo):
        if id(self) not in memo:
            memo[id(self)] = out = object.__new__(type(self))
            out.__dict__ = copy.deepcopy(self.__dict__, memo)
            own = type(self)
            out.__class__ = type(own.__name__, own.__bases__, {k: v for k, v in vars(own).items() if k not in ("__dict__", "__weakref__")})
        return memo[id(self)]

    copied = getattr(cls, "__deepcopy__", deepcopied)
    body = {"__getstate__": no_pickle, "__module__": cls.__module__, "__deepcopy__": copied}
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), body)


def _inject_property(module, name):
    def read(self):
        if not _depth[0]:
            return self.parametrizations[name]()
        if torch.jit.is_tracing():
            raise RuntimeError("parametrize.cached: a trace cannot follow weights that are computed once; trace the module outside of cached()")
        key = id(self), name
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def write(self, value):
        _cache.pop((id(self), name), None)
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Compute the parameter or buffer `tensor_name` by a module from now on; returns the module. Several apply in order.

    With a `right_inverse` the tensor can be assigned, and starts as what it was. ValueError for a name that is neither, and for a
    parametrization that changes shape or dtype unless `unsafe`.

    >>> class Symmetric(nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).transpose(-1, -2)
    >>> layer = nn.utils.parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    >>> torch.equal(layer.weight, layer.weight.t())
    True
    """
    parametrization.train(module.training)
    known = _steps_of(module, tensor_name)
    if known is None:
        _start(module, tensor_name, parametrization, unsafe)
        return module
    if not unsafe:
        now = getattr(module, tensor_name)
        made = parametrization(now)
        _check_kept(made, now.shape, now.dtype, f"a further parametrization of '{tensor_name}'")
        _check_kept(_inverse(parametrization, made), now.shape, now.dtype, f"right_inverse of a further parametrization of '{tensor_name}'")
    known.append(parametrization)
    known.unsafe |= unsafe
    return module


def _steps_of(module, name):
    """The parametrizations of a tensor, or None."""
    return module.parametrizations[name] if is_parametrized(module, name) else None


def _start(module, name, parametrization, unsafe):
    """Replaces a parameter or buffer by a property that computes it."""
    table = next((table for table in (module._parameters, module._buffers) if name in table), None)
    if table is None:
        raise ValueError(f"module '{type(module).__name__}' has no parameter, buffer or parametrized tensor '{name}'")
    steps = ParametrizationList([parametrization], table[name], unsafe)
    delattr(module, name)
    if not is_parametrized(module):
        _inject_class(module)
        module.add_module("parametrizations", ModuleDict())
    _inject_property(module, name)
    module.parametrizations.update({name: steps})


def is_parametrized(module, tensor_name=None):
    """Whether a module has parametrizations, or this tensor of it.

    >>> nn.utils.parametrize.is_parametrized(nn.Linear(1, 1))
    False
    """
    parametrizations = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Make a tensor an ordinary one again: with its computed value, or with its original one. Returns the module.

    ValueError for a tensor without parametrizations, and for several originals that should be left.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(1, 1))
    >>> type(nn.utils.parametrize.remove_parametrizations(layer, "weight")).__name__
    'Linear'
    """
    steps = _steps_of(module, tensor_name)
    if steps is None:
        raise ValueError(f"remove_parametrizations: expected a parametrized tensor of {type(module).__name__}, got '{tensor_name}'")
    original = steps._originals()[0]
    if not (leave_parametrized or steps.is_tensor):
        raise ValueError(f"remove_parametrizations: '{tensor_name}' is computed from several tensors, so leave_parametrized must be True")
    if leave_parametrized:
        with torch.no_grad():
            value = getattr(module, tensor_name).detach()
        if steps.is_tensor:
            _refill(original, value)
        else:
            original = Parameter(value, original.requires_grad) if isinstance(original, Parameter) else value
    delattr(type(module), tensor_name)
    module.parametrizations.pop(tensor_name)
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module):
    """The class of a module as it was.

    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(1, 1))
    >>> nn.utils.parametrize.type_before_parametrizations(layer).__name__
    'Linear'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Give `to_module` the parametrizations of `from_module`, for one tensor or for all, and their originals; returns `to_module`.

    ValueError when there are none.

    >>> source = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    >>> target = nn.utils.parametrize.transfer_parametrizations_and_params(source, nn.Linear(2, 2), "weight")
    >>> torch.equal(target.weight, source.weight)
    True
    """
    if not is_parametrized(from_module, tensor_name):
        raise ValueError(f"module {type(from_module).__name__} has no parametrization to transfer")
    for name in [tensor_name] if tensor_name else list(from_module.parametrizations):
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            _register(to_module, name, source.original if source.is_tensor else source.original0)
        for parametrization in source:
            register_parametrization(to_module, name, copy.deepcopy(parametrization), unsafe=True)
        target = to_module.parametrizations[name]
        for place, parametrization in enumerate(source, len(target) - len(source)):
            target[place] = copy.deepcopy(parametrization)  # a right inverse may have set what the first copy keeps
        for key, value in (*source._parameters.items(), *source._buffers.items()):
            setattr(target, key, value)
    return to_module
