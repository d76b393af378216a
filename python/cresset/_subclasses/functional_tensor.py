"""Tensors without changes in place, below autograd: a mode wraps what operators make, and gives a tensor that is written a new value.

Around them stands `functionalize` (docs/records/0006-vmap.md), whose wrappers each `FunctionalTensor` holds one of.

>>> from torch._subclasses.functional_tensor import dispatch_functionalize
>>> def f(x):
...     y = x.clone()
...     y[0].mul_(2)
...     return y
>>> traced = torch.fx.experimental.proxy_tensor.make_fx(dispatch_functionalize(f))(torch.ones(2, 2))
>>> [node.name for node in traced.graph.nodes]
['x_1', 'clone', 'select', 'mul', 'select_scatter', 'output']
"""

import contextlib

import _cresset

import cresset as torch
from _cresset import Tensor

from .._dynamo.exc import UncapturedHigherOrderOpError
from .._higher_order_ops._operator import is_function
from .._modes import stack as _stack
from .._modes.subclasses import make_wrapper_subclass
from ..utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from ..utils._pytree import tree_leaves, tree_map, tree_map_only
from .fake_tensor import FakeTensor

_ALONE = "FunctionalTensor: operators take it only within the scope of its FunctionalTensorMode; enter that first"


class FunctionalTensor(Tensor):
    """A tensor whose changes in place become values; it is used in the scope of a `FunctionalTensorMode`.

    Args:
        elem: the wrapper of functionalize that it stands for, as `torch._to_functional_tensor` gives; kept as `elem`.
        mode: the FunctionalTensorMode that it belongs to.

    Errors: RuntimeError for an operator outside of the mode's scope, AssertionError for an `elem` that is no wrapper.

    >>> functional = torch._subclasses.functional_tensor
    >>> x = torch.zeros(2)
    >>> with functional.FunctionalTensorMode():
    ...     y = functional.FunctionalTensor.to_functional(x)
    ...     y.view(2, 1).add_(1)
    ...     y.from_functional(), x
    FunctionalTensor(_to_functional_tensor(tensor([[1.],
            [1.]])))
    (tensor([1., 1.]), tensor([0., 0.]))
    """

    def __new__(cls, elem, mode):
        if not _cresset.is_functional(elem):
            raise AssertionError(f"FunctionalTensor: expected a wrapper, as torch._to_functional_tensor gives, got a {type(elem).__name__}")
        out = make_wrapper_subclass(cls, elem.shape, elem.stride(), elem.storage_offset(), dtype=elem.dtype, layout=elem.layout, device=elem.device, requires_grad=False)  # fmt: skip
        out.elem, out._mode = elem, mode
        return out

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if any(kind not in (FunctionalTensor, FakeTensor) for kind in types):
            return NotImplemented  # another class takes the call over first
        if _is_identity(func):
            return _relabelled(func, args, kwargs or {})
        raise RuntimeError(_ALONE)

    def __repr__(self, *, tensor_contents=None):
        return f"FunctionalTensor(_to_functional_tensor({_value(self)!r}))"

    @staticmethod
    def to_functional(x):
        """`x` as a FunctionalTensor of the mode in force, with its requires_grad. AssertionError outside of a mode."""
        mode = _innermost()
        if mode is None:
            raise AssertionError("FunctionalTensor.to_functional: expected to be called in the scope of a FunctionalTensorMode")
        return _Beginning.apply(x, mode) if x.requires_grad else FunctionalTensor(_cresset.to_functional(x), mode)

    def from_functional(self):
        """The value after all changes up to now."""
        return _value(self)

    def is_base_tensor(self):
        """Whether it is a tensor of its own and no view."""
        return not _cresset.functional_changes(self.elem)[3]

    def replace_(self, output):
        """The value from now on, of its shape and dtype, a tensor or a FunctionalTensor. ValueError for another shape."""
        with _unheard():
            _cresset.set_functional(self.elem, _cresset.from_functional(output.elem if isinstance(output, FunctionalTensor) else output))

    def commit_update(self):
        """Nothing: a value that is given is in force at once."""

    def sync(self):
        """Makes a view see the changes of its base."""
        _value(self)

    def mark_mutation_hidden_from_autograd(self):
        """The last change is one that gradients need not know of."""
        _cresset.hide_functional_change(self.elem)

    def tolist(self):
        """Its numbers, in nested lists."""
        return _value(self).tolist()


def _value(t):
    """The plain value of a FunctionalTensor, of now."""
    return _cresset.from_functional(t.elem)


def _is_identity(func):
    return func in (torch.ops.aten.detach.default, torch.ops.aten.alias.default)


def _relabelled(func, args, kwargs):
    """`detach` outside of a mode, as autograd and printing call it: another FunctionalTensor over the same wrapper."""
    (source,) = args
    return return_and_correct_aliasing(func, args, kwargs, FunctionalTensor(source.elem, source._mode))


class _Beginning(torch.autograd.Function):
    """Lets a FunctionalTensor have the requires_grad of the tensor that it stands for, and be no leaf: it may be written."""

    @staticmethod
    def forward(ctx, x, mode):
        return FunctionalTensor(_cresset.to_functional(x.detach()), mode)

    @staticmethod
    def backward(ctx, grad):
        raise RuntimeError("FunctionalTensor: gradients end at the tensors that were made functional; differentiate with respect to these")


def _innermost():
    """The innermost FunctionalTensorMode, at either place."""
    both = _stack.active(_stack.ABOVE_LAYERS) + _stack.active()
    return next((mode for mode in reversed(both) if isinstance(mode, FunctionalTensorMode)), None)


def _inside(t):
    return t.elem if isinstance(t, FunctionalTensor) else t


class FunctionalTensorMode(TorchDispatchMode):
    """Makes FunctionalTensors of what operators make in its scope, and calls the modes around it with operators that write nothing.

    Args:
        pre_dispatch: hear operators above autograd, as `make_fx(pre_dispatch=True)` does; composites go on as their parts.
        export: with `pre_dispatch`, composites stay whole.
        _allow_token_discovery: make a token for the first call with an effect; without it the token must stand in `_tokens`, by its effect, already.

    It is inside of a tracing mode, whichever is entered first.

    >>> functional = torch._subclasses.functional_tensor
    >>> with functional.FunctionalTensorMode():
    ...     x = torch.ones(2)
    ...     x.add_(1)
    FunctionalTensor(_to_functional_tensor(tensor([2., 2.])))
    """

    _inside_of_tracing = True

    def __init__(self, pre_dispatch=False, export=False, _allow_token_discovery=False):
        super().__init__()
        self.pre_dispatch, self.export = pre_dispatch, export
        self._allow_token_discovery, self._tokens, self._tokens_forward_output = _allow_token_discovery, {}, {}

    @classmethod
    def is_infra_mode(cls):
        """Always: it is part of tracing."""
        return True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if any(kind not in (FunctionalTensor, FakeTensor) for kind in types):
            return NotImplemented  # another class takes the call over first
        if func.functionalize_rule is not None:
            return func.functionalize_rule(PythonFunctionalizeAPI(self), *args, **kwargs)
        if func._effect is not None:
            from .._higher_order_ops.effects import handle_effects, has_aliasing

            if not has_aliasing(func):
                return handle_effects(self._allow_token_discovery, self._tokens, func, args, kwargs)
        if self.pre_dispatch and func._can_decompose():
            if not self.export:
                with self:
                    return _cresset.body(func._entry)(*args, **kwargs)
            if not func._schema.is_mutable and not func.is_view:  # whole, on values
                values, named = tree_map_only(FunctionalTensor, _value, (args, kwargs))
                return tree_map_only(Tensor, lambda t: FunctionalTensor(_cresset.to_functional(t), self), func(*values, **named))
        inside_args, inside_kwargs = tree_map(_inside, (args, kwargs))
        out = _functionally(lambda: func(*inside_args, **inside_kwargs), above=self.pre_dispatch)
        _follow(args, kwargs)
        wrapped = tree_map_only(Tensor, self._wrapped, out)
        return return_and_correct_aliasing(func, args, kwargs, wrapped)

    def _call_higher_order(self, op, args, kwargs):
        """An operator over functions: by its rule, or on values, with functions of values that write none of their inputs."""
        api = PythonFunctionalizeAPI(self)
        if op.functionalize_rule is not None:
            return op.functionalize_rule(api, *args, **kwargs)
        args, kwargs = tree_map(lambda arg: self._of_values(op, arg) if is_function(arg) else arg, api.unwrap_tensors((args, kwargs)))
        return api.wrap_tensors(op(*args, **kwargs))

    def _of_values(self, op, function):
        """A function of values of one of FunctionalTensors, for an operator over functions, which may not write its inputs."""

        def inner(*args):
            with self:
                wrapped = tree_map_only(Tensor, FunctionalTensor.to_functional, args)
                out = function(*wrapped)
            if any(isinstance(t, FunctionalTensor) and _cresset.is_changed(t.elem) for t in tree_leaves(wrapped)):
                raise UncapturedHigherOrderOpError(f"{op}: a function writes one of its inputs; clone it there, and return what it became")
            return tree_map_only(FunctionalTensor, FunctionalTensor.from_functional, out)

        return inner

    def _wrapped(self, t):
        return FunctionalTensor(t, self) if _cresset.is_functional(t) else t


def _functionally(call, above=False):
    """The result of the function; operators that it calls are functionalized. With `above`, modes above all layers hear those on values alone."""
    scope = _cresset.enter_functional(False)
    try:
        return _cresset.with_functional(2 if above else 1, call)
    finally:
        _cresset.exit_functional(scope)


def _follow(args, kwargs):
    """Gives tensors whose wrappers have other sizes now, after `t_` say, the same."""
    for t in (*args, *kwargs.values()):
        if isinstance(t, FunctionalTensor) and (t.shape != t.elem.shape or t.stride() != t.elem.stride()):
            Tensor._take_geometry(t, t.elem)


def _unheard():
    """In its scope no FunctionalTensorMode is in force."""
    return _stack.without(lambda mode: isinstance(mode, FunctionalTensorMode))


@contextlib.contextmanager
def disable_functional_mode():
    """In its scope tensors are not functional; yields the mode that is off, or None.

    >>> functional = torch._subclasses.functional_tensor
    >>> with functional.FunctionalTensorMode(), functional.disable_functional_mode():
    ...     torch.ones(1)
    tensor([1.])
    """
    mode = _innermost()
    with _unheard():
        yield mode


def mb_unwrap_functional_tensor(tensor):
    """The value of a FunctionalTensor; any other tensor as it is.

    >>> x = torch.ones(1)
    >>> torch._subclasses.functional_tensor.mb_unwrap_functional_tensor(x) is x
    True
    """
    return _value(tensor) if isinstance(tensor, FunctionalTensor) else tensor


def dispatch_functionalize(func, mode=None):
    """The function with its changes in place made into values, those of its arguments too, which stay as they are.

    Args:
        func: a function of tensors in nested containers.
        mode: the FunctionalTensorMode that it runs in; a new one if None.

    Errors: RuntimeError where it runs within another FunctionalTensorMode.
    """
    mode = FunctionalTensorMode() if mode is None else mode

    def inner(*args, **kwargs):
        if _innermost() is not None:
            raise RuntimeError(_ALONE)
        with mode:
            args, kwargs = tree_map_only(Tensor, FunctionalTensor.to_functional, (args, kwargs))
            out = func(*args, **kwargs)
        return tree_map_only(FunctionalTensor, FunctionalTensor.from_functional, out)

    return inner


class BaseFunctionalizeAPI:
    """How a rule of `py_functionalize_impl` handles the tensors of its call: the same for every kind of functionalization."""

    def wrap_tensors(self, args):
        """The tensors in nested containers as functional ones."""
        raise NotImplementedError

    def unwrap_tensors(self, args):
        """The values of functional tensors in nested containers."""
        raise NotImplementedError

    def functionalize(self, inner_f):
        """The function of values of a function of functional tensors."""
        raise NotImplementedError

    def redispatch_to_next(self):
        """In its scope calls are not functionalized."""
        raise NotImplementedError

    def replace(self, input_tensor, output_tensor):
        """Gives a functional tensor another value."""
        raise NotImplementedError

    def commit_update(self, tensor):
        """Puts the value that `replace` has given in force."""
        raise NotImplementedError

    def sync(self, tensor):
        """Makes a view see the changes of its base."""
        raise NotImplementedError

    def mark_mutation_hidden_from_autograd(self, tensor):
        """The last change is one that gradients need not know of."""
        raise NotImplementedError


def _functional(tensor, name):
    if not isinstance(tensor, FunctionalTensor):
        raise AssertionError(f"{name}: expected a FunctionalTensor, got a {type(tensor).__name__}")
    return tensor


class PythonFunctionalizeAPI(BaseFunctionalizeAPI):
    """That of `FunctionalTensorMode`.

    >>> functional = torch._subclasses.functional_tensor
    >>> api = functional.PythonFunctionalizeAPI()
    >>> with api.mode:
    ...     api.unwrap_tensors(api.wrap_tensors((torch.ones(1), 2)))
    (tensor([1.]), 2)
    """

    def __init__(self, mode=None, pre_dispatch=False):
        self.mode = mode if mode is not None else FunctionalTensorMode(pre_dispatch=pre_dispatch)
        self.pre_dispatch = pre_dispatch

    def wrap_tensors(self, args):
        """Tensors in nested containers as FunctionalTensors of the mode."""
        with _unheard(), self.mode:
            return tree_map_only(Tensor, lambda t: t if isinstance(t, FunctionalTensor) else FunctionalTensor.to_functional(t), args)

    def unwrap_tensors(self, args):
        """The values of FunctionalTensors in nested containers."""
        return tree_map_only(FunctionalTensor, FunctionalTensor.from_functional, args)

    def functionalize(self, inner_f):
        """The function of values of a function of FunctionalTensors."""
        return dispatch_functionalize(inner_f, self.mode)

    def redispatch_to_next(self):
        """In its scope no FunctionalTensorMode is in force."""
        return _unheard()

    def replace(self, input_tensor, output_tensor):
        """Gives a FunctionalTensor another value."""
        _functional(input_tensor, "replace").replace_(output_tensor)

    def commit_update(self, tensor):
        """Nothing: a value that is given is in force at once."""
        _functional(tensor, "commit_update").commit_update()

    def sync(self, tensor):
        """Makes a view see the changes of its base."""
        _functional(tensor, "sync").sync()

    def mark_mutation_hidden_from_autograd(self, tensor):
        """The last change is one that gradients need not know of."""
        _functional(tensor, "mark_mutation_hidden_from_autograd").mark_mutation_hidden_from_autograd()


class CppFunctionalizeAPI(BaseFunctionalizeAPI):
    """That of `torch.func.functionalize`, whose tensors are wrappers themselves.

    >>> api = torch._subclasses.functional_tensor.CppFunctionalizeAPI()
    >>> api.unwrap_tensors(api.wrap_tensors((torch.ones(1),)))
    (tensor([1.]),)
    """

    def wrap_tensors(self, args):
        """Tensors in nested containers as wrappers."""
        return tree_map_only(Tensor, lambda t: t if _cresset.is_functional(t) else _cresset.to_functional(t), args)

    def unwrap_tensors(self, args):
        """The values of wrappers in nested containers."""
        return tree_map_only(Tensor, _cresset.from_functional, args)

    def functionalize(self, inner_f):
        """The function of values of a function of wrappers."""

        def inner(*args):
            return self.unwrap_tensors(_functionally(lambda: inner_f(*self.wrap_tensors(args))))

        return inner

    @contextlib.contextmanager
    def redispatch_to_next(self):
        """In its scope calls are not functionalized, those on values at least, which it is used with."""
        yield

    def replace(self, input_tensor, output_tensor):
        """Gives a wrapper another value."""
        _cresset.set_functional(input_tensor, _cresset.from_functional(output_tensor))

    def commit_update(self, tensor):
        """Nothing: a value that is given is in force at once."""

    def sync(self, tensor):
        """Makes a view see the changes of its base."""
        _cresset.from_functional(tensor)

    def mark_mutation_hidden_from_autograd(self, tensor):
        """The last change is one that gradients need not know of."""
        _cresset.hide_functional_change(tensor)
