"""Sizes and names of first-class dimensions."""

from ._names import targets


class DimensionBindError(Exception):
    """A dimension has another size than what it is bound to, or cannot be told from what is there."""


class DimensionMismatchError(Exception):
    """Dimensions that do not belong together."""


def _dim_class():
    from ._values import Dim

    return Dim


def bind(dim, size):
    """The size of the dimension, which it then has for good. Raises DimensionBindError where it has another."""
    if dim._size is None:
        dim._size = size
    elif dim._size != size:
        raise DimensionBindError(f"dimension {dim!r} has size {dim._size}, and cannot take size {size}")


def bind_group(group, size):
    """Sizes of dimensions that split one of the given size: at most one of them is still unknown."""
    known, unknown = 1, []
    for dim in group:
        if dim._size is None:
            unknown.append(dim)
        else:
            known *= dim._size
    if len(unknown) > 1:
        raise DimensionBindError(f"the sizes of {', '.join(map(repr, unknown))} cannot be told from one size, {size}; set all but one")
    if unknown:
        if known == 0 or size % known != 0:
            raise DimensionBindError(f"a dimension of size {size} does not split into {tuple(group)}, whose known sizes multiply to {known}")
        unknown[0]._size = size // known
    elif known != size:
        raise DimensionBindError(f"a dimension of size {size} does not split into {tuple(group)}, whose sizes multiply to {known}")
    return [dim._size for dim in group]


class DimList:
    """Dimensions in a row, as many as are bound at the first use in an index.

    >>> from cresset.functorch.dim import dimlists, dims
    >>> rows, last = dimlists(1), dims(1)
    >>> torch.ones(2, 3, 4)[rows, last].order(last, *rows).shape
    torch.Size([4, 2, 3])
    """

    def __init__(self, len_or_dims=None, name=None):
        self._name, self._dims = name, None
        if isinstance(len_or_dims, int):
            self.bind_len(len_or_dims)
        elif len_or_dims is not None:
            Dim = _dim_class()
            self._dims = tuple(d if isinstance(d, Dim) else Dim(self._name_of(at), d) for at, d in enumerate(len_or_dims))

    def _name_of(self, at):
        return f"{self._name or 'dim'}{at}"

    @property
    def is_bound(self):
        return self._dims is not None

    def bind_len(self, size):
        """Makes that many dimensions; raises DimensionBindError where there are others already."""
        if self._dims is None:
            Dim = _dim_class()
            self._dims = tuple(Dim(self._name_of(at)) for at in range(size))
        elif len(self._dims) != size:
            raise DimensionBindError(f"{self!r} holds {len(self._dims)} dimensions, and cannot hold {size}")

    def bind(self, sizes):
        """Makes dimensions of these sizes, or checks those that are there."""
        sizes = list(sizes)
        self.bind_len(len(sizes))
        for dim, size in zip(self._dims, sizes, strict=True):
            bind(dim, size)

    def _bound(self):
        if self._dims is None:
            raise DimensionBindError(f"{self!r} is not bound yet: index a tensor with it first")
        return self._dims

    def __len__(self):
        return len(self._bound())

    def __getitem__(self, at):
        return self._bound()[at]

    def __iter__(self):
        return iter(self._bound())

    def __repr__(self):
        if self._dims is not None:
            return repr(self._dims)
        return f"*{self._name}" if self._name else "<unbound_dimlist>"


def _made(make, what, n, sizes):
    """Objects for the targets of the assignment two frames above; one alone is no tuple."""
    count, names = targets(2)
    if sizes is not None:
        sizes = list(sizes)
        if n is not None and n != len(sizes):
            raise ValueError(f"{what}: expected {n} sizes, got {len(sizes)}")
        n = len(sizes)
    n = count if n is None else n
    if n is None:
        raise SyntaxError(f"{what}: assign the results to names, or say how many")
    if n < 0:
        raise ValueError(f"{what}: expected a number of at least 0, got {n}")
    if count != n:
        names = ()
    made = tuple(make(names[at] if at < len(names) else f"d{at}", sizes[at] if sizes is not None else None) for at in range(n))
    return made[0] if n == 1 else made


def dims(n=None, sizes=None):
    """New dimensions, as many as the assignment takes and with its names, or `n`. Each has the size given, or that of what it is
    bound to first.

    >>> from cresset.functorch.dim import dims
    >>> batch, channel = dims(sizes=[None, 3])
    >>> batch, channel.size
    (batch, 3)
    """
    return _made(_dim_class(), "dims", n, sizes)


def dimlists(n=None, sizes=None):
    """New lists of dimensions, as `dims` makes dimensions; a size is how many the list holds, or a list of their sizes.

    >>> from cresset.functorch.dim import dimlists
    >>> open_, two = dimlists(sizes=[None, 2])
    >>> open_, two
    (*open_, (two0, two1))
    """
    return _made(lambda name, size: DimList(size, name), "dimlists", n, sizes)
