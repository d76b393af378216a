"""Functions without changes in place: a tensor under functionalize is a wrapper whose value is exchanged where it would be written."""

import functools
import threading

import _cresset

import cresset as torch
from _cresset import Tensor

from .._functorch import predispatch
from .._modes import stack as _stack
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten


def functionalize(func, *, remove="mutations"):
    """Return a function that computes the same with every change in place made into a new value.

    Arguments that `func` changes are written once, at the end. With `remove="mutations_and_views"` views are copies, too. So
    `vmap(functionalize(f))` runs an `f` that writes elements of the batch into tensors which are the same for all.

    Errors: RuntimeError for another `remove`.

    >>> def f(x):
    ...     y = torch.zeros(2)
    ...     y.add_(x)
    ...     return y
    >>> torch.vmap(torch.func.functionalize(f))(torch.tensor([[1., 2.], [3., 4.]]))
    tensor([[1., 2.],
            [3., 4.]])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(f"functionalize: valid options for remove are 'mutations' and 'mutations_and_views', got {remove!r}")

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        leaves, spec = tree_flatten((args, kwargs))
        wrappers, given = {}, {}
        scope = _cresset.enter_functional(remove == "mutations_and_views")
        try:
            for leaf in leaves:
                if isinstance(leaf, Tensor) and id(leaf) not in wrappers:
                    wrapper = wrappers[id(leaf)] = _cresset.to_functional(leaf)
                    given[id(wrapper)] = leaf
            new_args, new_kwargs = tree_unflatten([wrappers.get(id(leaf), leaf) for leaf in leaves], spec)
            call = functools.partial(func, *new_args, **new_kwargs)
            # Who listens above all layers hears of values, as those below do.
            heard = _stack.active(_stack.ABOVE_LAYERS) or predispatch.recorder() is not None
            output = _cresset.with_functional(2, call) if heard else call()
        finally:
            _cresset.exit_functional(scope)

        def settled(leaf):
            if not isinstance(leaf, Tensor):
                return leaf
            # An argument that is returned as it came is returned as it is.
            return given[id(leaf)] if id(leaf) in given and id(leaf) not in written else _cresset.from_functional(leaf)

        written = {}
        for leaf in {id(leaf): leaf for leaf in leaves if isinstance(leaf, Tensor)}.values():
            wrapper = wrappers[id(leaf)]
            value, turned = _cresset.from_functional(wrapper), not _cresset.is_changed(wrapper)
            if not turned or _geometry(value) != _geometry(leaf):
                written[id(wrapper)] = leaf, value, turned
        output = tree_map(settled, output)
        for leaf, value, turned in written.values():
            _write(leaf, value, turned)
        return output

    return wrapped


def _geometry(tensor):
    return tensor.shape, tensor.stride() if tensor.layout is torch.strided else None


def _write(argument, value, turned):
    """Gives an argument the values that the program has written there and their sizes; the strides, too, where it is no more than `turned`."""
    if argument.numel() != value.numel():
        argument = argument.resize_(value.shape)
    elif turned or argument.shape != value.shape:
        argument = argument.as_strided_(value.shape, value.stride())
    argument.copy_(value)


# ---- the parts of functionalize, under PyTorch's names for them -----------------------------------------------------------


class _Scopes(threading.local):
    active = None


_scopes = _Scopes()


def _enable_functionalization(*, reapply_views=False):
    """From now on tensors that operators make are wrappers; views are copies unless `reapply_views`. Errors: RuntimeError where that is so already.

    >>> x = torch.zeros(2)
    >>> wrapper = torch._to_functional_tensor(x)
    >>> torch._enable_functionalization()
    >>> wrapper.add_(1)
    tensor([1., 1.])
    >>> torch._disable_functionalization()
    >>> torch._from_functional_tensor(wrapper), x
    (tensor([1., 1.]), tensor([0., 0.]))
    """
    if _scopes.active is not None:
        raise RuntimeError("_enable_functionalization: it is enabled already; call _disable_functionalization first")
    _scopes.active = _cresset.enter_functional(not reapply_views)


def _disable_functionalization():
    """Ends what `_enable_functionalization` began."""
    scope, _scopes.active = _scopes.active, None
    if scope is not None:
        _cresset.exit_functional(scope)


def _to_functional_tensor(t):
    """A wrapper of `t`. Errors: TypeError for no tensor, RuntimeError for a wrapper."""
    if not isinstance(t, Tensor):
        raise TypeError(f"_to_functional_tensor: expected a tensor, got {type(t).__name__}")
    if _cresset.is_functional(t):
        raise RuntimeError("_to_functional_tensor: expected a tensor that is no wrapper already")
    return _cresset.to_functional(t)


def _from_functional_tensor(t):
    """The value behind a wrapper, after all changes up to now. Errors: RuntimeError for what is none."""
    if not _is_functional_tensor(t):
        raise RuntimeError("_from_functional_tensor: expected a wrapper, as _to_functional_tensor gives")
    return _cresset.from_functional(t)


def _is_functional_tensor(t):
    """Whether a tensor is a wrapper."""
    return isinstance(t, Tensor) and _cresset.is_functional(t)


def _sync(t):
    """Makes a view see the changes of its base. Errors: RuntimeError for what is no wrapper."""
    _from_functional_tensor(t)
