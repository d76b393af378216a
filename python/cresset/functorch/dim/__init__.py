"""First-class dimensions: objects that name dimensions of tensors, which operators then run over.

>>> from cresset.functorch.dim import dims
>>> i, j, k = dims()
>>> a, b = torch.ones(2, 3), torch.ones(3, 4)
>>> (a[i, k] * b[k, j]).sum(k).order(i, j).shape
torch.Size([2, 4])
"""

import cresset as _torch

from ._dims import DimensionBindError, DimensionMismatchError, DimList, dimlists, dims
from ._index import index as _index
from ._values import Dim, Tensor
from ._calls import cat, softmax, split, stack

__all__ = ["Dim", "DimList", "DimensionBindError", "DimensionMismatchError", "Tensor", "cat", "dimlists", "dims", "index", "softmax", "split", "stack"]  # fmt: skip


def index(self, positions, dims):
    """Dimensions of a tensor, numbers or `Dim` objects, read at others: a group of positions becomes one dimension, and a group
    of `Dim` objects splits one.

    >>> from cresset.functorch.dim import dims, index
    >>> rows = dims(1)
    >>> index(torch.ones(2, 3, 4), (0, 2), rows).order(rows).shape
    torch.Size([8, 3])
    """
    return _index(self, positions, dims)


_of_operator = _torch.Tensor.index


def _method(self, indices, dims=None):
    """`index` of first-class dimensions; without `dims` the operator's."""
    return _of_operator(self, indices) if dims is None else index(self, indices, dims)


_torch.Tensor.index = _method
