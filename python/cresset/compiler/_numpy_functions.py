"""Functions of NumPy's arrays as functions of tensors."""

import functools
import sys

from _cresset import Tensor

import cresset as torch


def _arrays(tree):
    """Tensors in nested containers as arrays; a capture has its own way."""
    from ..utils._pytree import tree_map_only

    return tree_map_only(Tensor, lambda tensor: tensor.detach().numpy(), tree)


def _tensors(tree):
    """Arrays in nested containers as tensors; a capture has its own way."""
    from ..utils._pytree import tree_map_only

    numpy = sys.modules["numpy"]
    return tree_map_only((numpy.ndarray, numpy.generic), torch.as_tensor, tree)


def wrap_numpy(fn):
    """A function of tensors that computes what `fn` does, a function of NumPy's arrays. Compiled, it is one of operators on tensors, with gradients; elsewhere NumPy
    runs, without any.

    >>> import numpy as np
    >>> @torch.compile(fullgraph=True)
    ... @torch.compiler.wrap_numpy
    ... def total(a):
    ...     return np.sum(a * a)
    >>> x = torch.arange(3.0, requires_grad=True)
    >>> total(x).backward()
    >>> x.grad
    tensor([0., 2., 4.])
    """
    if not callable(fn):
        raise TypeError(f"wrap_numpy: expected a function, got {type(fn).__name__}")

    @functools.wraps(fn)
    def wrap(*args, **kwargs):
        args, kwargs = _arrays((args, kwargs))
        return _tensors(fn(*args, **kwargs))

    return wrap
