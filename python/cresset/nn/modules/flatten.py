"""Joining and splitting dimensions."""

from ..._core.symbolic import SymInt
from .module import Module


class Flatten(Module):
    """Joins the dimensions from start_dim to end_dim; by default all but the batch.

    >>> nn.Flatten()(torch.ones(2, 3, 4)).shape
    torch.Size([2, 12])
    """

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits dimension `dim` into `unflattened_size`, of which one entry may be -1. TypeError for sizes that are no integers.

    >>> nn.Unflatten(1, (3, -1))(torch.ones(2, 12)).shape
    torch.Size([2, 3, 4])
    """

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim, unflattened_size):
        super().__init__()
        if not isinstance(dim, (int, str)):
            raise TypeError(f"invalid argument type for dim parameter: {type(dim).__name__}")
        if isinstance(dim, str):
            raise TypeError("unflattened_size must be tuple of tuples, but found named dimensions, which tensors here do not have")
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(f"expected unflattened_size to be a tuple of ints, got type {type(unflattened_size).__name__}")
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, (int, SymInt)):
                raise TypeError(f"unflattened_size must be tuple of ints, but found element of type {type(size).__name__} at pos {i}")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
