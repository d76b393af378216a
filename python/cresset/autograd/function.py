"""Custom functions: operators with gradients of one's own."""

import functools
import itertools
import warnings

import _cresset
from _cresset import Tensor

from .. import is_grad_enabled, no_grad
from . import graph

__all__ = ["BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "once_differentiable"]

_numbers = itertools.count()


class FunctionCtx:
    """State that `forward` keeps for `backward`; any attribute may be set on it beside what its methods keep.

    >>> class Scale(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x, factor):
    ...         ctx.factor = factor
    ...         return x * factor
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * ctx.factor, None
    >>> x = torch.ones(2, requires_grad=True)
    >>> Scale.apply(x, 3.0).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """

    def save_for_backward(self, *tensors):
        """Keep tensors (or None) for `saved_tensors` in `backward`; call it once, with inputs and outputs of `forward` in any order.

        Changes in place between the two are noticed, and nothing leaks. Errors: TypeError for anything but tensors and None.

        >>> class Exp(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         y = x.exp()
        ...         ctx.save_for_backward(y)
        ...         return y
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         y, = ctx.saved_tensors
        ...         return grad * y
        >>> x = torch.zeros(2, requires_grad=True)
        >>> Exp.apply(x).sum().backward(); x.grad.tolist()
        [1.0, 1.0]
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Keep tensors (or None) for `saved_tensors` in `jvp`."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise TypeError(f"save_for_forward: expected tensors or None, got {type(t).__name__}")
        self.saved_for_forward = tensors

    def mark_dirty(self, *args):
        """Name the inputs that `forward` has changed in place; it must return them. Errors: RuntimeError for anything else."""
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs):
        """Deprecated, has no effect: views are followed by themselves."""
        warnings.warn("mark_shared_storage is deprecated; tensors with shared storages are tracked by themselves", FutureWarning, stacklevel=2)

    def mark_non_differentiable(self, *args):
        """Name the outputs that have no gradient; `backward` gets zeros for them."""
        self.non_differentiable = args

    def set_materialize_grads(self, value):
        """Whether `backward` gets zeros, and not None, for outputs without a gradient; true unless told otherwise."""
        self.materialize_grads = value


class _HookMixin:
    register_hook = graph._register_hook
    register_prehook = graph._register_prehook


class BackwardCFunction(_cresset._FunctionBase, FunctionCtx, _HookMixin):
    """The node of a custom function, and the `ctx` that its methods get."""

    def apply(self, *grads):
        """Run `backward`, or `vjp`, of the function."""
        cls = self._forward_cls
        if cls.vjp is Function.vjp:
            return cls.backward(self, *grads)
        if cls.backward is not Function.backward:
            raise RuntimeError(f"{cls.__name__}: expected backward or vjp, which are two names of one thing, got both")
        return cls.vjp(self, *grads)


class FunctionMeta(type):
    """Makes the class of the nodes of each function: `XBackward` for `X`.

    >>> class Same(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x.clone()
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad
    >>> y = Same.apply(torch.ones(1, requires_grad=True))
    >>> y.grad_fn.name()
    'SameBackward'
    """

    def __init__(cls, name, bases, attributes):
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), {"_forward_cls": cls, "_autograd_function_id": next(_numbers)})
        super().__init__(name, bases, attributes)


class Function(_cresset._FunctionBase, FunctionCtx, _HookMixin, metaclass=FunctionMeta):
    """Base of operators with gradients of one's own: write `forward` and `backward` as static methods, call `apply`.

    `forward(ctx, *args)` computes without being recorded, or `forward(*args)` does and `setup_context(ctx, inputs, output)` keeps what
    `backward` needs. `backward(ctx, *grads)` gets one gradient for each output and returns one for each argument of `forward`, None
    for those that need none or are no tensors.

    Errors: RuntimeError for a wrong number or shape of gradients; an exception of one of the methods passes as it is.

    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(x, factor):
    ...         return x * factor
    ...     @staticmethod
    ...     def setup_context(ctx, inputs, output):
    ...         ctx.factor = inputs[1]
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * ctx.factor, None
    >>> x = torch.ones(2, requires_grad=True)
    >>> Double.apply(x, 2).sum().backward(); x.grad.tolist()
    [2.0, 2.0]
    """

    #: Whether a rule for vmap is derived from the methods.
    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        warnings.warn(f"{type(self)} should not be instantiated: the methods of functions are static, call them on the class", DeprecationWarning, stacklevel=2)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Function: old-style functions with methods that are not static are not supported; use static forward and backward")

    @staticmethod
    def forward(*args, **kwargs):
        """Compute the outputs; see the class."""
        raise NotImplementedError("Function: you must implement the forward function of a custom autograd.Function")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keep on `ctx` what `backward` needs, where `forward` has no `ctx`."""
        raise NotImplementedError("Function: setup_context is not implemented")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """Return the gradients of the arguments of `forward`; see the class."""
        raise NotImplementedError("Function: you must implement either the backward or vjp method of a custom autograd.Function to use it with backward")

    #: Another name for `backward`; implement one of them.
    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """Return the derivatives of the outputs along the given directions of the inputs; for forward mode."""
        raise NotImplementedError("Function: you must implement the jvp function of a custom autograd.Function to use it with forward mode")

    @staticmethod
    def vmap(info, in_dims, *args):
        """Compute the outputs of a batch; for vmap."""
        raise NotImplementedError("Function: you must implement the vmap function of a custom autograd.Function to use it with vmap")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Call the function: what `forward` returns, recorded with `backward` as its gradient."""
        if cls.setup_context is Function.setup_context:
            if kwargs:
                raise TypeError(f"{cls.__name__}.apply: forward() got an unexpected keyword argument {next(iter(kwargs))!r}")
            return _cresset.function_apply(cls, args, False)
        bound = _signature(cls.forward).bind(*args, **kwargs)
        bound.apply_defaults()
        return _cresset.function_apply(cls, bound.args, True)


@functools.lru_cache(maxsize=None)
def _signature(function):
    import inspect  # takes longer to load than all of this package's autograd

    return inspect.signature(function)


class _Twice(Function):
    """Passes tensors on and refuses to be differentiated."""

    @staticmethod
    def forward(ctx, *tensors):
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx, *grads):
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def once_differentiable(fn):
    """Decorate a `backward` that computes without being recorded: differentiating its result is an error, not a wrong number.

    >>> class Twice(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @torch.autograd.function.once_differentiable
    ...     def backward(ctx, grad):
    ...         return grad * 2
    """

    @functools.wraps(fn)
    def wrapper(ctx, *args):
        recording = is_grad_enabled()
        with no_grad():
            outputs = fn(ctx, *args)
        if not recording or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        listed = outputs if isinstance(outputs, tuple) else (outputs,)
        guarded = iter(_Twice.apply(*(t.detach().requires_grad_() for t in listed if t is not None)))
        listed = tuple(None if t is None else next(guarded) for t in listed)
        return listed if isinstance(outputs, tuple) else listed[0]

    return wrapper


class InplaceFunction(Function):
    """A function with a flag that says whether it changes its input; kept for old programs.

    >>> torch.autograd.function.InplaceFunction(inplace=True).inplace
    True
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace
