"""functorch: the older name of `torch.func`, with modules as pairs of a function and its parameters.

>>> import cresset.functorch as functorch
>>> function, parameters = functorch.make_functional(nn.Linear(2, 1))
>>> function(parameters, torch.ones(3, 2)).shape
torch.Size([3, 1])
"""

import copy as _copy
import functools as _functools
import warnings as _warnings

import cresset as _torch
from cresset import func as _func
from cresset.func import linearize
from cresset.nn import Module as _Module

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev",
           "jvp", "linearize", "make_functional", "make_functional_with_buffers", "vjp", "vmap"]  # fmt: skip


def _deprecated(name, instead):
    _warnings.warn(f"functorch.{name} is deprecated; use torch.func.{instead}", FutureWarning, stacklevel=3)


def _moved(function, home):
    """A transform under its older name, which warns."""
    name = function.__name__

    @_functools.wraps(function)
    def older(*args, **kwargs):
        _warnings.warn(f"functorch.{name} is deprecated; use {home}.{name}", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    return older


vmap = _moved(_torch.vmap, "torch")
functionalize, grad, grad_and_value, hessian = (_moved(f, "torch.func") for f in (_func.functionalize, _func.grad, _func.grad_and_value, _func.hessian))
jacfwd, jacrev, jvp, vjp = (_moved(f, "torch.func") for f in (_func.jacfwd, _func.jacrev, _func.jvp, _func.vjp))


def _taken_out(model, members):
    """Tensors of a model in order, and the names that stand for each."""
    groups = {}
    for name, tensor in members(remove_duplicate=False):
        groups.setdefault(id(tensor), (tensor, []))[1].append(name)
    return tuple(tensor for tensor, _ in groups.values()), tuple(tuple(names) for _, names in groups.values())


class FunctionalModuleWithBuffers(_Module):
    """A module without tensors of its own, which is called with its parameters and its buffers.

    >>> import cresset.functorch as functorch
    >>> type(functorch.make_functional_with_buffers(nn.BatchNorm1d(2))[0]).__name__
    'FunctionalModuleWithBuffers'
    """

    def __init__(self, stateless_model, param_names, buffer_names):
        super().__init__()
        self.stateless_model, self.param_names, self.buffer_names = stateless_model, param_names, buffer_names

    def forward(self, params, buffers, *args, **kwargs):
        """Result of the module with these tensors."""
        from cresset.func import functional_call

        given = {}
        for groups, tensors in ((self.param_names, params), (self.buffer_names, buffers)):
            for names, tensor in zip(groups, tensors, strict=True):
                given.update(dict.fromkeys(names, tensor))
        return functional_call(self.stateless_model, given, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without tensors of its own, which is called with its parameters.

    >>> import cresset.functorch as functorch
    >>> type(functorch.make_functional(nn.Linear(2, 1))[0]).__name__
    'FunctionalModule'
    """

    def __init__(self, stateless_model, param_names):
        super().__init__(stateless_model, param_names, ())

    def forward(self, params, *args, **kwargs):
        """Result of the module with these parameters."""
        return super().forward(params, (), *args, **kwargs)


def _split(model, disable_autograd_tracking):
    stateless = _copy.deepcopy(model)
    parameters, parameter_names = _taken_out(stateless, stateless.named_parameters)
    buffers, buffer_names = _taken_out(stateless, stateless.named_buffers)
    stateless = stateless.to("meta")
    if disable_autograd_tracking:
        parameters = tuple(p.detach() for p in parameters)
    return stateless, parameters, parameter_names, buffers, buffer_names


def make_functional(model, disable_autograd_tracking=False):
    """A function of parameters and inputs that computes what a module without buffers does, and copies of the module's parameters.

    Errors: RuntimeError for a module with buffers.

    >>> import cresset.functorch as functorch
    >>> len(functorch.make_functional(nn.Linear(2, 1))[1])
    2
    """
    _deprecated("make_functional", "functional_call")
    if any(True for _ in model.buffers()):
        raise RuntimeError("make_functional: the module has buffers; use make_functional_with_buffers")
    stateless, parameters, names, *_ = _split(model, disable_autograd_tracking)
    return FunctionalModule(stateless, names), parameters


def make_functional_with_buffers(model, disable_autograd_tracking=False):
    """A function of parameters, buffers and inputs that computes what a module does, and copies of the module's parameters and buffers.

    >>> import cresset.functorch as functorch
    >>> function, parameters, buffers = functorch.make_functional_with_buffers(nn.BatchNorm1d(2).eval())
    >>> function(parameters, buffers, torch.zeros(1, 2)).tolist()
    [[0.0, 0.0]]
    """
    _deprecated("make_functional_with_buffers", "functional_call")
    stateless, parameters, names, buffers, buffer_names = _split(model, disable_autograd_tracking)
    return FunctionalModuleWithBuffers(stateless, names, buffer_names), parameters, buffers


def combine_state_for_ensemble(models):
    """A function of parameters, buffers and inputs for `vmap`, and the stacked parameters and buffers of models of one kind.

    Errors: RuntimeError for no models, or ones of different classes or modes.

    >>> import cresset.functorch as functorch
    >>> function, parameters, buffers = functorch.combine_state_for_ensemble([nn.Linear(2, 1) for _ in range(3)])
    >>> functorch.vmap(function, (0, 0, None))(parameters, buffers, torch.ones(4, 2)).shape
    torch.Size([3, 4, 1])
    """
    from cresset.func import stack_module_state

    _deprecated("combine_state_for_ensemble", "stack_module_state")
    models = list(models)
    parameters, buffers = stack_module_state(models)
    stateless = _copy.deepcopy(models[0]).to("meta")
    names = (_taken_out(models[0], members)[1] for members in (models[0].named_parameters, models[0].named_buffers))
    function = FunctionalModuleWithBuffers(stateless, *names)
    return function, tuple(parameters.values()), tuple(buffers.values())


def __getattr__(name):
    if name == "make_fx":
        from cresset.fx.experimental.proxy_tensor import make_fx

        return make_fx
    raise AttributeError(f"module 'functorch' has no attribute {name!r}")
