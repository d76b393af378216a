"""torch.nested: batches of tensors that differ in size, without padding.

Two layouts. `torch.jagged`: one dimension differs; most of the library takes such a tensor (docs/records/0028-nested-tensors.md). `torch.strided`: any may
differ; for programs that were written against it.
"""

import cresset as torch

from . import _strided
from ._internal import nested_tensor as _jagged
from ._internal import ops as _jagged_ops

__all__ = ["as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor"]

_NESTED = (_jagged.NestedTensor, _strided.StridedNestedTensor)


def _is_jagged(what, layout):
    if layout not in (None, torch.strided, torch.jagged):
        raise RuntimeError(f"{what}: the layouts of nested tensors are torch.strided and torch.jagged, got {layout}")
    return layout is torch.jagged


def _made(what, tensors, dtype, device, layout):
    if _is_jagged(what, layout):
        return _jagged.jagged_from_list(tensors, None, dtype=dtype, device=device)[0]
    return _strided.from_list([t.to(dtype=dtype or tensors[0].dtype, device=device or t.device) for t in tensors], dtype, device)


def nested_tensor(tensor_list, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A nested tensor that holds copies of a list of tensors, or of lists of numbers; a leaf of autograd.

    Args:
        tensor_list: the components. In the jagged layout they differ in one dimension.
        layout: `torch.strided` (default) or `torch.jagged`.

    Errors: TypeError for what is no list; RuntimeError for components that do not fit each other.

    >>> x = torch.nested.nested_tensor([torch.ones(2, 4), torch.zeros(3, 4)], layout=torch.jagged)
    >>> x.is_nested, x.dim(), [tuple(t.shape) for t in x.unbind()]
    (True, 3, [(2, 4), (3, 4)])
    >>> (2 * x).sum(1)
    tensor([[4., 4., 4., 4.],
            [0., 0., 0., 0.]])
    """
    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError(f"nested_tensor: expected a list of tensors, or of lists of numbers, got {type(tensor_list).__name__}")
    jagged = _is_jagged("nested_tensor", layout)
    if not all(isinstance(t, (torch.Tensor, list, tuple)) for t in tensor_list):
        wrong = next(t for t in tensor_list if not isinstance(t, (torch.Tensor, list, tuple)))
        raise (RuntimeError if jagged else TypeError)(f"nested_tensor: expected tensors or lists of numbers as components, got {type(wrong).__name__}")
    tensors = [t.detach() if isinstance(t, torch.Tensor) else torch.tensor(t, dtype=dtype, device=device) for t in tensor_list]
    made = _made("nested_tensor", tensors, dtype, device, layout)
    if pin_memory:
        made = made.pin_memory()
    return made.requires_grad_() if requires_grad else made


def as_nested_tensor(ts, dtype=None, device=None, layout=None):
    """A nested tensor of a list of tensors, or of the slices of one; gradients pass to them.

    >>> parts = [torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)]
    >>> (torch.nested.as_nested_tensor(parts, layout=torch.jagged) * 3).sum().backward()
    >>> parts[0].grad
    tensor([3., 3.])
    """
    jagged = _is_jagged("as_nested_tensor", layout)
    if isinstance(ts, _NESTED):
        if jagged != isinstance(ts, _jagged.NestedTensor):
            raise RuntimeError(
                f"as_nested_tensor: got a nested tensor in the layout {ts.layout}, expected {torch.jagged if jagged else torch.strided}; make one from its unbind()"
            )
        return ts.to(dtype=dtype or ts.dtype, device=device or ts.device)
    if not isinstance(ts, torch.Tensor) and not (isinstance(ts, (list, tuple)) and all(isinstance(t, torch.Tensor) for t in ts)):
        raise TypeError(f"as_nested_tensor: expected a list of tensors, or one tensor, got {type(ts).__name__}")
    if isinstance(ts, torch.Tensor):
        if ts.dim() < 2:
            raise RuntimeError(f"as_nested_tensor: expected a tensor of two dimensions at least, got {ts.dim()}")
        ts = ts.unbind()
    return _made("as_nested_tensor", list(ts), dtype, device, layout)


def to_padded_tensor(input, padding, output_size=None, out=None):
    """A dense tensor of the components of a nested one, filled up with `padding` to the longest, or to `output_size`.

    >>> x = torch.nested.nested_tensor([[1, 2], [3]], layout=torch.jagged)
    >>> torch.nested.to_padded_tensor(x, 0)
    tensor([[1, 2],
            [3, 0]])
    """
    if not isinstance(input, _NESTED):
        raise RuntimeError(f"to_padded_tensor: expected a nested tensor, got {type(input).__name__}")
    dense = input.to_padded_tensor(padding, output_size)
    return dense if out is None else out.copy_(dense)


def nested_tensor_from_jagged(values, offsets=None, lengths=None, jagged_dim=None, min_seqlen=None, max_seqlen=None):
    """The jagged tensor over `values`, without a copy; gradients pass to them.

    Args:
        values: all components, one after the other along `jagged_dim` - 1.
        offsets: where components begin, and the end of the last.
        lengths: their lengths; alone it stands for offsets, beside offsets there may be gaps between the components.
        jagged_dim: the ragged dimension of the result, 1 by default.
        min_seqlen, max_seqlen: the shortest and longest length, where they are known.

    Errors: RuntimeError without offsets and lengths.

    >>> x = torch.nested.nested_tensor_from_jagged(torch.arange(5), torch.tensor([0, 2, 5]))
    >>> x.unbind()
    (tensor([0, 1]), tensor([2, 3, 4]))
    """
    if offsets is None and lengths is None:
        raise RuntimeError("nested_tensor_from_jagged: expected offsets, lengths, or both")
    if offsets is None:
        offsets, lengths = torch.nn.functional.pad(lengths.cumsum(0), (1, 0)), None
    made = _jagged_ops.wrapped(values, offsets, lengths, 1 if jagged_dim is None else jagged_dim)
    made._ragged.shortest = made._ragged.shortest if min_seqlen is None else min_seqlen
    made._ragged.longest = made._ragged.longest if max_seqlen is None else max_seqlen
    return made


def narrow(tensor, dim, start, length, layout=torch.strided):
    """A nested tensor whose components are parts of a dense one's rows, which differ in length.

    Args:
        tensor: a dense tensor whose first dimension is the batch.
        dim: the dimension that is cut; 1 in the jagged layout, which takes no copy.
        start, length: a number, or one for each row as a tensor (in the jagged layout).

    >>> x = torch.nested.narrow(torch.arange(6).reshape(2, 3), 1, 0, torch.tensor([1, 3]), layout=torch.jagged)
    >>> x.unbind()
    (tensor([0]), tensor([3, 4, 5]))
    """
    if not isinstance(start, (int, torch.Tensor)) or not isinstance(length, (int, torch.Tensor)):
        raise RuntimeError(f"narrow: expected start and length to be ints or tensors, got {type(start).__name__} and {type(length).__name__}")
    if not _is_jagged("narrow", layout):
        if isinstance(start, torch.Tensor) or isinstance(length, torch.Tensor):
            raise RuntimeError("narrow: expected start and length to be ints in the strided layout; the jagged one takes tensors")
        return as_nested_tensor(tensor.narrow(dim, start, length))
    if dim != 1:
        raise RuntimeError(f"narrow: expected dimension 1 in the jagged layout, got {dim}")
    return _jagged.jagged_from_tensor_and_lengths(tensor, start, length)[0]


def masked_select(tensor, mask):
    """The elements of each row where `mask` is true, as a jagged tensor.

    >>> x = torch.tensor([[1, 2], [3, 4]])
    >>> torch.nested.masked_select(x, x > 1).unbind()
    (tensor([2]), tensor([3, 4]))
    """
    if tensor.layout is not torch.strided or isinstance(tensor, _NESTED):
        raise RuntimeError(f"masked_select: expected a dense tensor, got one in the layout {tensor.layout}")
    if mask.dim() != 2 or mask.dtype is not torch.bool:
        raise RuntimeError(f"masked_select: expected a mask of two dimensions and dtype bool, got {mask.dim()} and {mask.dtype}")
    mask = mask.expand(torch.broadcast_shapes(tensor.shape, mask.shape))
    offsets = torch.nn.functional.pad(mask.sum(1).cumsum(0), (1, 0))
    return nested_tensor_from_jagged(tensor.masked_select(mask), offsets)
