"""How a tensor is spread over the ranks of a dimension of a mesh. Spread tensors are not there; programs choose, compare and print placements."""

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """Base of placements.

    >>> from cresset.distributed.tensor import Placement, Shard
    >>> isinstance(Shard(0), Placement)
    True
    """

    def is_shard(self, dim=None):
        """Whether ranks have pieces, along `dim` where it is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self):
        """Whether each rank has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op=None):
        """Whether what ranks have is still to be reduced, by `reduce_op` where it is given."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)

    def _key(self):
        return (type(self),)

    def __eq__(self, other):
        return isinstance(other, Placement) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())


class Shard(Placement):
    """Ranks have pieces along a dimension, the first ones larger where it does not divide.

    >>> from cresset.distributed.tensor import Shard
    >>> Shard(1), str(Shard(1)), Shard.local_shard_size_and_offset(10, 4, 2)
    (Shard(dim=1), 'S(1)', (3, 6))
    """

    def __init__(self, dim):
        if isinstance(dim, bool) or not isinstance(dim, int):
            raise TypeError(f"Shard: expected dim as an integer, got {type(dim).__name__}")
        self.dim = dim

    @staticmethod
    def local_shard_size_and_offset(curr_local_size, num_chunks, rank):
        """(size, first index) of the piece of a rank of `num_chunks`."""
        whole = -(-curr_local_size // num_chunks)
        begin = min(rank * whole, curr_local_size)
        return min(whole, curr_local_size - begin), begin

    def _key(self):
        return type(self), self.dim

    def __repr__(self):
        return f"Shard(dim={self.dim})"

    def __str__(self):
        return f"S({self.dim})"


class Replicate(Placement):
    """Each rank has all of it.

    >>> from cresset.distributed.tensor import Replicate
    >>> Replicate(), Replicate() == Replicate(), Replicate().is_shard()
    (Replicate(), True, False)
    """

    def __repr__(self):
        return "Replicate()"

    def __str__(self):
        return "R"


class Partial(Placement):
    """Ranks have parts that are still to be reduced, to "sum", "avg" or another of ALL_REDUCE_OPS.

    >>> from cresset.distributed.tensor import Partial
    >>> Partial(), Partial('avg').is_partial('avg')
    (Partial(sum), True)
    """

    ALL_REDUCE_OPS = ("sum", "avg", "min", "max", "product")
    LINEAR_REDUCE_OPS = ("sum", "avg")

    def __init__(self, reduce_op="sum"):
        self.reduce_op = reduce_op

    def _key(self):
        return type(self), self.reduce_op

    def __repr__(self):
        return f"Partial({self.reduce_op})"

    def __str__(self):
        return f"P({self.reduce_op})"
