"""torch.quasirandom: points that fill a cube more evenly than random ones.

>>> torch.quasirandom.SobolEngine(2).draw(3)
tensor([[0.0000, 0.0000],
        [0.5000, 0.5000],
        [0.7500, 0.2500]])
"""

import functools
import os

import cresset as torch

__all__ = ["SobolEngine"]

_BITS, _DIMENSIONS, _DEGREES, _POLYNOMIAL_BITS = 30, 21201, 18, 19


@functools.lru_cache(maxsize=None)
def _table():
    """The primitive polynomial of every dimension as bits, and its start numbers m_1 to m_18, 0 beyond its degree.

    S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional projections", SIAM J. Sci. Comput. 30, 2008, their set
    new-joe-kuo-6.21201. The file holds the polynomials with 19 bits each, then for k = 2 to 18 the numbers (m_k - 1) / 2 of the dimensions
    that have one with k - 1 bits each, since m_k is odd and less than 2^k.
    """
    with open(os.path.join(os.path.dirname(__file__), "_core", "sobol_numbers.bin"), "rb") as file:
        content = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)
    bits = (content.unsqueeze(1) >> torch.arange(7, -1, -1, dtype=torch.uint8)).bitwise_and_(1).flatten().long()
    at = 0

    def numbers(count, width):
        nonlocal at
        part = bits[at : at + count * width].view(count, width)
        at += count * width
        return (part << torch.arange(width - 1, -1, -1)).sum(1)

    polynomials = numbers(_DIMENSIONS, _POLYNOMIAL_BITS)
    degrees = ((polynomials.unsqueeze(1) >> torch.arange(_POLYNOMIAL_BITS)) > 0).sum(1) - 1
    starts = torch.zeros(_DIMENSIONS, _DEGREES, dtype=torch.long)
    starts[:, 0] = 1
    for k in range(1, _DEGREES):
        there = degrees > k
        starts[there, k] = 2 * numbers(int(there.sum()), k) + 1
    return polynomials, degrees, starts


def _directions(dimension):
    """The direction numbers of the first dimensions, most significant first, shape (dimension, 30)."""
    polynomials, degrees, starts = (t[:dimension] for t in _table())
    m = torch.zeros(dimension, _BITS, dtype=torch.long)
    m[:, :_DEGREES] = starts
    m[0] = 1
    for degree in degrees[1:].unique().tolist():
        rows = (degrees == degree).nonzero().flatten()
        rows, p = rows[rows > 0], polynomials[rows[rows > 0]]
        part = m[rows]
        for j in range(degree, _BITS):
            value = part[:, j - degree] ^ (part[:, j - degree] << degree)
            for k in range(1, degree):
                value ^= ((p >> (degree - k)) & 1) * (part[:, j - k] << k)
            part[:, j] = value
        m[rows] = part
    return m << torch.arange(_BITS - 1, -1, -1)


class SobolEngine:
    """Points of the Sobol sequence in [0, 1)^dimension, up to 21201 dimensions; with `scramble` after a random linear map and shift.

    `seed` seeds the scrambling; without it the default generator is used.

    Errors: ValueError for another dimension.

    >>> engine = torch.quasirandom.SobolEngine(3, scramble=True, seed=5)
    >>> engine.draw(2).shape, engine
    (torch.Size([2, 3]), SobolEngine(dimension=3, scramble=True, seed=5))
    """

    MAXBIT, MAXDIM = _BITS, _DIMENSIONS

    def __init__(self, dimension, scramble=False, seed=None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"SobolEngine: expected a dimension from 1 to {self.MAXDIM}, got {dimension}")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        cpu = torch.device("cpu")
        with cpu:
            self.sobolstate = _directions(dimension)
            self.shift = torch.zeros(dimension, dtype=torch.long)
            if scramble:
                self._scramble()
            self.quasi = self.shift.clone()
            self._first_point = (self.quasi / 2**_BITS).reshape(1, -1)
        self.num_generated = 0

    def _scramble(self):
        generator = None if self.seed is None else torch.Generator().manual_seed(self.seed)
        flips = torch.randint(2, (self.dimension, _BITS), generator=generator)
        self.shift = (flips << torch.arange(_BITS)).sum(1)
        # A random lower triangular matrix over the bits, most significant first, with ones on its diagonal.
        matrix = torch.randint(2, (self.dimension, _BITS, _BITS), generator=generator).tril().float()
        matrix.diagonal(dim1=1, dim2=2).fill_(1)
        place = torch.arange(_BITS - 1, -1, -1)
        bits = ((self.sobolstate.unsqueeze(1) >> place.view(1, -1, 1)) & 1).float()
        self.sobolstate = ((matrix.bmm(bits).long() & 1) << place.view(1, -1, 1)).sum(1)

    def draw(self, n=1, out=None, dtype=None):
        """The next `n` points, a row each.

        >>> torch.quasirandom.SobolEngine(1).draw(2)
        tensor([[0.0000],
                [0.5000]])
        """
        dtype = dtype or torch.get_default_dtype()
        with torch.device("cpu"):
            first = self.num_generated == 0 and n > 0
            states = self._states(self.num_generated + first, self.num_generated + n)
            points = states.to(dtype) * 2.0**-_BITS
            if first:
                points = torch.cat([self._first_point.to(dtype), points])
        if len(states):
            self.quasi = states[-1].clone()
        self.num_generated += n
        return points if out is None else out.resize_(points.shape).copy_(points)

    def draw_base2(self, m, out=None, dtype=None):
        """The next 2^m points. ValueError where these and the ones before are not a power of 2 together, which balance needs.

        >>> torch.quasirandom.SobolEngine(2).draw_base2(1).shape
        torch.Size([2, 2])
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(f"SobolEngine: {self.num_generated} points and 2^{m} more are {total}, expected a power of 2; draw() takes any number")
        return self.draw(n, out=out, dtype=dtype)

    def reset(self):
        """Begins again."""
        self.quasi = self.shift.clone()
        self.num_generated = 0
        return self

    def fast_forward(self, n):
        """Leaves out the next `n` points."""
        self.num_generated += n
        if self.num_generated:
            self.quasi = self._states(self.num_generated - 1, self.num_generated)[0]
        return self

    def _states(self, start, stop):
        """The points of these numbers as integers: each number's Gray code says which directions its point is the sum of."""
        numbers = torch.arange(start, stop)
        gray = numbers ^ (numbers >> 1)
        states = self.shift.expand(len(numbers), -1).clone()
        for bit in range(int(stop).bit_length()):
            states ^= ((gray >> bit) & 1).unsqueeze(1) * self.sobolstate[:, bit]
        return states

    def __repr__(self):
        facts = [f"dimension={self.dimension}"] + (["scramble=True"] if self.scramble else []) + ([] if self.seed is None else [f"seed={self.seed}"])
        return f"SobolEngine({', '.join(facts)})"
