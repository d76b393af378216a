"""Functions without changes in place: a tensor under functionalize is a wrapper whose value is exchanged where it would be written."""

import functools

import _cresset
from _cresset import Tensor

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
            output = func(*new_args, **new_kwargs)
        finally:
            _cresset.exit_functional(scope)

        def settled(leaf):
            if not isinstance(leaf, Tensor):
                return leaf
            # An argument that is returned is returned as it is.
            return given[id(leaf)] if id(leaf) in given else _cresset.from_functional(leaf)

        output = tree_map(settled, output)
        for leaf in leaves:
            if isinstance(leaf, Tensor) and _cresset.is_changed(wrappers[id(leaf)]):
                leaf.copy_(_cresset.from_functional(wrappers[id(leaf)]))
        return output

    return wrapped
