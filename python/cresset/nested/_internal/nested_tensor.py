"""Nested tensors in the jagged layout: one dense tensor of all components, one after the other, and the places where they begin."""

from collections import OrderedDict

import cresset as torch
from cresset._utils import _rebuild_from_type_v2, _rebuild_njt

from . import nested_int


class _Raggedness:
    """The part that tensors of the same offsets share: the number that stands for it among sizes, and positions, each computed once."""

    __slots__ = ("lengths", "longest", "number", "places", "shortest", "starts")

    def __init__(self):
        self.number = nested_int.fresh()
        self.starts = self.lengths = self.places = self.shortest = self.longest = None

    @staticmethod
    def of(offsets, lengths):
        """The one that the offsets, or the lengths, have carried since they were first used."""
        key = offsets if lengths is None else lengths
        found = key.__dict__.get("_raggedness")
        if not isinstance(found, _Raggedness):
            found = key._raggedness = _Raggedness()
        return found

    def __reduce__(self):
        """In files an empty dict: another process may use the number for other lengths."""
        return OrderedDict, ()


class NestedTensor(torch.Tensor):
    """A batch of tensors that differ in one dimension, the ragged one, whose size is a nested integer such as `j1`.

    Operators take it where they take dense tensors of its shape; `nested_tensor` and others of `torch.nested` make one.
    """

    @staticmethod
    def __new__(cls, values, offsets, *, lengths=None, **kwargs):
        ragged_idx = kwargs.get("_ragged_idx", 1)
        if not isinstance(offsets, torch.Tensor) or offsets.dim() != 1:
            raise RuntimeError(f"NestedTensor: expected offsets of one dimension, got {getattr(offsets, 'shape', offsets)}")
        if not 1 <= ragged_idx <= values.dim():
            raise RuntimeError(f"NestedTensor: the ragged dimension must lie within 1..{values.dim()}, got {ragged_idx}")
        ragged = _Raggedness.of(offsets, lengths)
        cache = kwargs.get("_metadata_cache") or {}
        for name, place in (("min_seqlen", "shortest"), ("max_seqlen", "longest")):
            if cache.get(name) is not None:
                setattr(ragged, place, _seqlen(cache[name]))
        sizes = list(values.shape)
        sizes[ragged_idx - 1] = ragged.number
        strides = (ragged.number * values.stride(ragged_idx - 1), *values.stride())
        made = torch.Tensor._make_wrapper_subclass(cls, (offsets.shape[0] - 1, *sizes), strides=strides, dtype=values.dtype, layout=torch.jagged, device=values.device, storage_size=0)  # fmt: skip
        made._values, made._offsets, made._lengths, made._ragged_idx, made._ragged = values, offsets, lengths, ragged_idx, ragged
        if kwargs.get("requires_grad", False):
            made.requires_grad_()
        return made

    def __init__(self, values, offsets, *, lengths=None, **kwargs):
        pass

    # ---- parts ----

    def values(self):
        """All components, one after the other, as one dense tensor; gradients pass through."""
        from .ops import values_of

        return values_of(self)

    def offsets(self):
        """The places where components begin, and the last one's end."""
        return self._offsets

    def lengths(self):
        """The lengths of the components where they are not given by the offsets alone, else None."""
        return self._lengths

    @property
    def _starts_and_lengths(self):
        """The beginnings and lengths of the components as lists."""
        ragged = self._ragged
        if ragged.starts is None:
            bounds = self._offsets.tolist()
            lengths = [b - a for a, b in zip(bounds, bounds[1:], strict=False)] if self._lengths is None else self._lengths.tolist()
            ragged.starts, ragged.lengths = bounds[:-1], lengths
        return ragged.starts, ragged.lengths

    @property
    def _max_seqlen(self):
        if self._ragged.longest is None:
            self._ragged.longest = max(self._starts_and_lengths[1], default=0)
        return self._ragged.longest

    @property
    def _min_seqlen(self):
        if self._ragged.shortest is None:
            self._ragged.shortest = min(self._starts_and_lengths[1], default=0)
        return self._ragged.shortest

    _maybe_max_seqlen, _maybe_min_seqlen = property(lambda self: self._ragged.longest), property(lambda self: self._ragged.shortest)

    @property
    def _metadata_cache(self):
        known = {"min_seqlen": self._ragged.shortest, "max_seqlen": self._ragged.longest}
        return {name: torch.empty(value, 0) for name, value in known.items() if value is not None}

    def to_padded_tensor(self, padding, output_size=None):
        """A dense tensor with `padding` where components end."""
        from .ops import to_padded_tensor

        return to_padded_tensor(self, padding, output_size)

    # ---- geometry ----

    is_nested = True
    layout = torch.jagged
    _is_shared = False  # whether a result that autograd knows looks at the same memory

    @property
    def _sizes(self):
        """The sizes with numbers in the place of nested integers."""
        sizes = list(self._values.shape)
        sizes[self._ragged_idx - 1] = self._ragged.number
        return (self._offsets.shape[0] - 1, *sizes)

    @property
    def shape(self):
        """The sizes, of which the ragged one is a nested integer."""
        return torch.Size(map(nested_int.lifted, self._sizes))

    def size(self, dim=None):
        """All sizes, or that of one dimension."""
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim=None):
        """All strides, or that of one dimension; that of the batch is a multiple of a nested integer."""
        steps = self._values.stride()
        batch = torch.SymInt(nested_int.NestedIntNode(self._ragged.number - nested_int.FIRST, steps[self._ragged_idx - 1]))
        return (batch, *steps) if dim is None else (batch, *steps)[dim]

    def dim(self):
        """The number of dimensions, that of the batch included."""
        return self._values.dim() + 1

    ndimension = dim
    ndim = property(dim)

    def numel(self):
        """The number of elements of all components together."""
        row = self._values.numel() // max(self._values.shape[self._ragged_idx - 1], 1)
        return self._values.numel() if self._lengths is None else row * sum(self._starts_and_lengths[1])

    nelement = numel
    nbytes = property(lambda self: self.numel() * self.element_size())

    def is_contiguous(self, memory_format=None):
        """Whether the values are contiguous and have no gaps between the components."""
        return self._lengths is None and self._values.is_contiguous()

    def storage_offset(self):
        """0: a wrapper has no memory of its own."""
        return 0

    def __len__(self):
        return self._offsets.shape[0] - 1

    def __iter__(self):
        return iter(self.unbind())

    # ---- as text and in files ----

    def __repr__(self, *, tensor_contents=None):
        grad = ""
        if self.grad_fn is not None:
            grad = f", grad_fn={self.grad_fn}"
        elif self.requires_grad:
            grad = ", requires_grad=True"
        sizes = ", ".join(map(str, self.shape))
        return f"NestedTensor(size=({sizes}), offsets={self._offsets}{grad}, contiguous={self.is_contiguous()})"

    __str__ = __repr__

    def __format__(self, spec):
        return format(repr(self), spec)

    def __reduce_ex__(self, protocol):
        parts = {"values": self._values, "offsets": self._offsets, "_ragged_idx": self._ragged_idx, "_metadata_cache": self._metadata_cache, "requires_grad": self.requires_grad}  # fmt: skip
        if self._lengths is not None:
            parts["lengths"] = self._lengths
        return _rebuild_from_type_v2, (_rebuild_njt, NestedTensor, (parts,), {})

    def __deepcopy__(self, memo):
        import copy

        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError("deepcopy: only tensors that the program made itself can be copied; this one is a result that autograd knows, detach it first")
        parts = {name: copy.deepcopy(value, memo) for name, value in self.__reduce_ex__(2)[1][2][0].items()}
        memo[id(self)] = made = _rebuild_njt(parts)
        if self.grad is not None:
            made.grad = copy.deepcopy(self.grad, memo)
        return made

    def tolist(self):
        """A nested tensor has no nested list. RuntimeError always."""
        raise RuntimeError("tolist: not possible for a nested tensor; take the components from unbind()")

    def numpy(self, *, force=False):
        """A nested tensor is no NumPy array. RuntimeError always."""
        raise RuntimeError("numpy: not possible for a nested tensor; take the components from unbind(), or values()")

    # ---- calls ----

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        from .ops import called

        return called(func, types, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        from .ops import dispatched

        return dispatched(func, args, kwargs or {})


def _seqlen(value):
    """A length; PyTorch keeps it as the size of an empty tensor."""
    return value.shape[0] if isinstance(value, torch.Tensor) else int(value)


def jagged_from_list(tensors, offsets, dtype=None, device=None):
    """The nested tensor of a list, and its offsets; gradients pass to the list.

    >>> x, offsets = jagged_from_list([torch.ones(2), torch.zeros(1)], None)
    >>> offsets
    tensor([0, 2, 3])
    """
    from .ops import wrapped

    if not tensors:
        raise RuntimeError("nested_tensor: a jagged tensor needs at least one component, got an empty list")
    for what in ("dtype", "device", "ndim"):
        if len({getattr(t, what) for t in tensors}) != 1:
            raise RuntimeError(f"nested_tensor: expected components of one {what}, got {', '.join(str(getattr(t, what)) for t in tensors)}")
    if tensors[0].dim() == 0:
        raise RuntimeError("nested_tensor: expected components of one dimension at least, got numbers")
    differing = [d for d, sizes in enumerate(zip(*(t.shape for t in tensors), strict=True)) if len(set(sizes)) > 1]
    if len(differing) > 1:
        raise RuntimeError(
            f"nested_tensor: components of a jagged tensor differ in one dimension at most, got the shapes {', '.join(str(tuple(t.shape)) for t in tensors)}"
        )
    ragged = differing[0] if differing else 0
    tensors = [t.to(dtype=dtype or t.dtype, device=device or t.device) for t in tensors]
    values, sizes = torch.cat(tensors, ragged), [t.shape[ragged] for t in tensors]
    if offsets is None:
        offsets = torch.tensor([0, *sizes], device=values.device).cumsum(0)
    made = wrapped(values, offsets, None, ragged + 1)
    made._ragged.shortest, made._ragged.longest = min(sizes), max(sizes)
    return made, offsets


def jagged_from_tensor_and_lengths(tensor, starts, lengths):
    """The components `tensor[i, starts[i] : starts[i] + lengths[i]]`, without a copy; also the offsets, and the lengths or None where they fill the tensor.

    >>> x, offsets, lengths = jagged_from_tensor_and_lengths(torch.ones(2, 3), torch.tensor([0, 1]), torch.tensor([1, 2]))
    >>> [t.tolist() for t in x.unbind()], offsets
    ([[1.0], [1.0, 1.0]], tensor([0, 4, 6]))
    """
    from .ops import wrapped

    batch, longest = tensor.shape[:2]
    starts, lengths = (part if isinstance(part, torch.Tensor) else torch.tensor(part) for part in (starts, lengths))
    starts, lengths = (part.to(tensor.device).expand(batch) for part in (starts, lengths))
    if bool(((starts < 0) | (lengths < 0) | (starts + lengths > longest)).any()):
        raise RuntimeError(f"narrow: starts and lengths must lie within a dimension of size {longest}, got {starts.tolist()} and {lengths.tolist()}")
    begins = starts + torch.arange(batch, device=tensor.device) * longest
    offsets = torch.cat([begins, (begins[-1:] + lengths[-1:]) if batch else begins.new_zeros(1)])
    full = bool((offsets[1:] - offsets[:-1] == lengths).all())
    lengths = None if full else lengths.clone()
    values = tensor.reshape(batch * longest, *tensor.shape[2:])
    return wrapped(values[: int(offsets[-1])] if full else values, offsets, lengths, 1), offsets, lengths
