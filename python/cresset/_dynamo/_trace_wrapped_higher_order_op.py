"""Indexing by numbers of a batch, as masks of attention that are written for one place do it."""

import cresset as torch

from ..overrides import TorchFunctionMode

_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def _is_number(index):
    return isinstance(index, torch.Tensor) and index.dim() == 0 and index.dtype in _INTEGERS


class TransformGetItemToIndex(TorchFunctionMode):
    """In its scope `x[i]` of a 0-d tensor of integers is the operator `index`, which asks for no number of the tensor.

    >>> x = torch.arange(6).view(2, 3)
    >>> with torch._dynamo._trace_wrapped_higher_order_op.TransformGetItemToIndex():
    ...     torch.vmap(lambda i: x[i])(torch.tensor([1, 0]))
    tensor([[3, 4, 5],
            [0, 1, 2]])
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.Tensor.__getitem__:
            indices = args[1] if isinstance(args[1], tuple) else (args[1],)
            if indices and all(map(_is_number, indices)):
                return torch.ops.aten.index(args[0], list(indices))
        return func(*args, **(kwargs or {}))
