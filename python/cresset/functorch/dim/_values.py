"""Tensors with first-class dimensions. Their values hold those dimensions first, then the positional ones."""

import operator

import cresset as _torch

from ._dims import DimList, bind


def place(levels, dim):
    """Where a dimension stands in a list of dimensions, or -1: dimensions compare as tensors."""
    return next((at for at, level in enumerate(levels) if level is dim), -1)


def union(lists):
    found = []
    for levels in lists:
        found.extend(level for level in levels if place(found, level) < 0)
    return found


def parts(o):
    """The value and the dimensions of any tensor."""
    return (o._tensor, o._levels) if isinstance(o, _Tensor) else (o, ())


def made(value, levels):
    return Tensor(value, tuple(levels)) if levels else value


def ordered(value, levels, order):
    """The value with those of the dimensions in `order` that it has in that order."""
    source = [at for at in (place(levels, level) for level in order) if at >= 0]
    if source == list(range(len(source))):
        return value
    return value.permute(*source, *range(len(source), value.dim()))


def aligned(value, levels, order, positional):
    """The value broadcastable against values with all dimensions of `order` and that many positional ones."""
    count = len(levels)
    if count == len(order) and value.dim() - count == positional and all(a is b for a, b in zip(levels, order, strict=True)):
        return value
    value = ordered(value, levels, order)
    for at, level in enumerate(order):
        if place(levels, level) < 0:
            value = value.unsqueeze(at)
    for _ in range(positional - (value.dim() - len(order))):
        value = value.unsqueeze(len(order))
    return value


class _Tensor:
    """The common base of dimensions and tensors that have them, with the methods of `torch.Tensor`."""

    @property
    def dims(self):
        return tuple(self._levels)

    @property
    def shape(self):
        return self._tensor.shape[len(self._levels) :]

    @property
    def ndim(self):
        return self._tensor.dim() - len(self._levels)

    def dim(self):
        return self.ndim

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("len() of a tensor without positional dimensions")
        return self.shape[0]

    def __iter__(self):
        if self.ndim == 0:
            raise TypeError("iteration over a tensor without positional dimensions")
        return iter(self.unbind(0))

    def order(self, *dims):
        """The tensor with these dimensions positional, in this order, before the other positional ones. A group becomes one."""
        return order(self, dims)

    def __repr__(self):
        value, levels = parts(self)
        names = ", ".join([*map(repr, levels), *map(str, range(self.ndim))])
        return f"{value!r}\nwith dims=({names}{',' if value.dim() == 1 else ''}) sizes={tuple(value.shape)}"

    __hash__ = object.__hash__


class Dim(_Tensor):
    """A dimension; as a tensor it is the numbers of its places.

    >>> from cresset.functorch.dim import Dim
    >>> i = Dim("i", 3)
    >>> (i * 2).order(i)
    tensor([0, 2, 4])
    """

    def __init__(self, name, size=None):
        self._name, self._size, self._places = name, None, None
        if size is not None:
            self.size = size

    @property
    def is_bound(self):
        return self._size is not None

    @property
    def size(self):
        if self._size is None:
            raise ValueError(f"dimension {self._name} has no size yet: index a tensor with it, or set its size")
        return self._size

    @size.setter
    def size(self, value):
        bind(self, operator.index(value))

    @property
    def _tensor(self):
        if self._places is None:
            self._places = _torch.arange(self.size)
        return self._places

    @property
    def _levels(self):
        return (self,)

    @property
    def ndim(self):
        return 0

    @property
    def shape(self):
        return _torch.Size()

    def __repr__(self):
        return self._name


class Tensor(_Tensor):
    """A tensor some of whose dimensions are `Dim` objects (`dims`); the others are numbered as usual.

    >>> from cresset.functorch.dim import dims
    >>> i = dims()
    >>> x = torch.ones(2, 3)[i]
    >>> x.dims, x.shape
    ((i,), torch.Size([3]))
    """

    def __init__(self, value, levels, factors=None):
        self._value, self._levels, self._factors = value, levels, factors

    @property
    def _tensor(self):
        if self._value is None:
            first, second = self._factors
            self._value = aligned(*first, self._levels, 0) * aligned(*second, self._levels, 0)
        return self._value


def order(self, dims):
    value, levels = parts(self)
    positional = value.dim() - len(levels)
    flat, sizes = [], []
    for entry in (d for item in dims for d in (item if isinstance(item, DimList) else (item,))):
        group = [entry] if isinstance(entry, Dim) or not isinstance(entry, (tuple, list, DimList)) else list(entry)
        places = [place_of(item, levels, positional) for item in group]
        flat.extend(places)
        sizes.append(_size(value, places))
    if len(set(flat)) < len(flat):
        raise ValueError(f"order: a dimension is named more than once, got {dims}")
    kept = [at for at in range(len(levels)) if at not in flat]
    rest = [at for at in range(len(levels), value.dim()) if at not in flat]
    value = value.permute(*kept, *flat, *rest)
    shape = [*value.shape[: len(kept)], *sizes, *value.shape[len(kept) + len(flat) :]]
    return made(value.reshape(shape) if len(sizes) != len(flat) else value, [levels[at] for at in kept])


def place_of(item, levels, positional):
    if isinstance(item, Dim):
        at = place(levels, item)
        if at < 0:
            raise ValueError(f"order: the tensor does not have dimension {item!r}, got {tuple(levels)}")
        return at
    at = operator.index(item)
    if not -positional <= at < positional:
        raise IndexError(f"order: dimension {at} of a tensor with {positional} positional dimensions")
    return len(levels) + at % positional


def _size(value, places):
    size = 1
    for at in places:
        size *= value.shape[at]
    return size
