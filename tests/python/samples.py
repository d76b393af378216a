"""Arguments for the rows' tests: each generator gives (args, kwargs) of NumPy arrays and plain values for one dtype."""

import numpy as np

INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
DTYPES = {
    "all": ["bool", *INTEGERS, *FLOATS, *COMPLEX],
    "ordered": ["bool", *INTEGERS, *FLOATS],
    "numbers": [*INTEGERS, *FLOATS, *COMPLEX],
    "real": [*INTEGERS, *FLOATS],
    "signed": ["int8", "int16", "int32", "int64", *FLOATS],
    "inexact": [*FLOATS, *COMPLEX],
    "float": FLOATS,
    "complex": COMPLEX,
    "integral": INTEGERS,
    "bits": ["bool", *INTEGERS],
    "bool": ["bool"],
}


class Source:
    """Reproducible values of one dtype inside the domain that a row names."""

    def __init__(self, dtype, domain, seed):
        self.dtype, self.random = np.dtype(dtype), np.random.default_rng(seed)
        self.low, self.high = domain or (-4, 4)

    def array(self, *shape):
        low, high = self.low, self.high
        if self.dtype.kind == "b":
            return self.random.integers(0, 2, shape).astype(bool)
        if self.dtype.kind in "iu":
            low = max(int(np.ceil(low)), 0) if self.dtype.kind == "u" else int(np.ceil(low))
            return self.random.integers(low, max(int(high), low) + 1, shape).astype(self.dtype)
        values = self.random.uniform(low, high, shape)
        if self.dtype.kind == "c":
            values = values + 1j * self.random.uniform(low, high, shape)
        return np.asarray(values).astype(self.dtype)

    def layouts(self, *shape):
        """The same kind of values in every memory layout: plain, transposed, with gaps, expanded."""
        yield self.array(*shape)
        if not shape:
            return
        yield self.array(*shape[::-1]).transpose()
        yield self.array(*(2 * n + 1 for n in shape))[tuple(slice(1, None, 2) for _ in shape)]
        yield np.broadcast_to(self.array(*shape[:-1], 1), shape)


SHAPES = [(), (1,), (5,), (3, 4), (2, 1, 3), (0,), (2, 0, 3)]


def unary(source):
    for shape in SHAPES:
        for x in source.layouts(*shape):
            yield (x,), {}


def binary(source):
    for left, right in [((), ()), ((5,), (5,)), ((3, 4), (4,)), ((2, 1, 3), (4, 1)), ((), (3,)), ((0,), (1,)), ((2, 0), (2, 1))]:
        for x, y in zip(source.layouts(*left), list(source.layouts(*right)) * 4, strict=False):
            yield (x, y), {}


def ternary(source):
    for a, b, c in [((5,), (5,), (5,)), ((3, 4), (4,), (3, 1)), ((), (), ()), ((0, 2), (2,), (1,))]:
        for x, y, z in zip(source.layouts(*a), list(source.layouts(*b)) * 4, list(source.layouts(*c)) * 4, strict=False):
            yield (x, y, z), {}


def scalar(source):
    number = {"b": True, "i": 3, "u": 3, "f": 1.5, "c": 1.5 - 0.5j}[source.dtype.kind]
    for shape in SHAPES:
        for x in source.layouts(*shape):
            yield (x, number), {}


def _dims(x, most=3):
    return [d for d in (0, -1, 1) if -x.ndim <= d < x.ndim][:most]


def whole(source):
    """Reductions of all elements; nothing empty, since some have no identity."""
    for shape in [s for s in SHAPES if 0 not in s]:
        for x in source.layouts(*shape):
            yield (x,), {}


def along(source):
    for shape in [(5,), (3, 4), (2, 1, 3)]:
        for x in source.layouts(*shape):
            for dim in _dims(x):
                yield (x, dim), {}


def reduce(source):
    for shape in [(5,), (3, 4), (2, 1, 3)]:
        for x in source.layouts(*shape):
            for dim in _dims(x):
                yield (x, dim), {}
                yield (x, dim), {"keepdim": True}


def reduce_lists(source):
    for args, kwargs in reduce(source):
        yield (args[0], (args[1],)), kwargs
    for x in source.layouts(2, 3, 4):
        yield (x, (0, 2)), {}
        yield (x, (-1, 0)), {"keepdim": True}


def moments(source):
    for x in source.layouts(4, 5):
        for kwargs in ({"dim": (0,)}, {"dim": (1,), "correction": 0}, {"dim": (0, 1), "keepdim": True}):
            yield (x,), kwargs


def norms(source):
    for x in source.layouts(3, 4):
        for order in (2, 1, 0, 3, float("inf"), float("-inf")):
            yield (x, order), {"dim": (1,)}


def views(*calls):
    """Each call is (shape, args after the tensor)."""

    def generate(source):
        for shape, args in calls:
            for x in source.layouts(*shape):
                yield (x, *args), {}

    return generate


reshape = views(((2, 6), ((3, 4),)), ((2, 6), ((-1,),)), ((0, 3), ((3, 0, 2),)), ((), ((1, 1),)))
permute = views(((2, 3, 4), ((2, 0, 1),)), ((2, 3), ((-1, 0),)), ((), ((),)))
transpose = views(((2, 3, 4), (0, 2)), ((2, 3), (-1, -2)))
squeeze = views(((2, 1, 3, 1), ()), ((), ()), ((1, 1), ()))
squeeze_dim = views(((2, 1, 3, 1), (1,)), ((2, 1, 3, 1), (-1,)), ((2, 3), (0,)))
unsqueeze = views(((2, 3), (0,)), ((2, 3), (-1,)), ((), (0,)), ((0,), (1,)))
expand = views(((1, 3), ((2, 3),)), ((3,), ((2, 4, 3),)), ((), ((2,),)))
select = views(((3, 4), (0, 1)), ((3, 4), (-1, -2)))
narrow = views(((5, 3), (0, 1, 3)), ((5, 3), (-1, 0, 2)), ((5,), (0, 5, 0)))
slices = views(((6, 3), (0, 1, 5, 2)), ((6, 3), (1, -2, 9)), ((6,), (0, 4, 2)))
diagonal = views(((3, 4), ()), ((3, 4), (1,)), ((2, 3, 4), (-1, 2, 0)))
flatten = views(((2, 3, 4), ()), ((2, 3, 4), (1,)), ((2, 3, 4), (0, 1)), ((), ()))
unflatten = views(((2, 6), (1, (2, 3))), ((2, 6), (-1, (-1, 2))))
movedim = views(((2, 3, 4), (0, 2)), ((2, 3, 4), (-1, 0)))
movedims = views(((2, 3, 4), ((0, 1), (2, 0))),)
matrix = views(((2, 3), ()), ((4, 4), ()))
flips = views(((2, 3, 4), ((0,),)), ((2, 3, 4), ((-1, 1),)), ((0, 2), ((0,),)))
rolls = views(((5,), (2,)), ((3, 4), ((1, -2), (0, 1))), ((3, 4), (5,)))
repeats = views(((2, 3), ((2, 2),)), ((3,), ((2, 1, 2),)), ((2,), ((0,),)))
chunks = views(((7, 2), (3,)), ((2, 5), (2, 1)))
splits = views(((7, 2), (3,)), ((2, 5), (2, 1)))
split_sizes = views(((7, 2), ((3, 4),)), ((2, 5), ((1, 0, 4), 1)))
unbind = views(((3, 2), ()), ((3, 2), (1,)))
triangle = views(((3, 4), ()), ((3, 4), (1,)), ((2, 3, 3), (-1,)), ((0, 3), ()))
unfolds = views(((7,), (0, 3, 2)), ((2, 6), (1, 2, 3)))


def strided(source):
    yield (source.array(3, 4), (2, 2), (4, 1), 1), {}


def indexed(source):
    """Along a dimension, by a list of positions."""
    for shape, dim in [((5, 3), 0), ((2, 4), -1)]:
        for x in source.layouts(*shape):
            yield (x, dim, np.array([1, 0, 1])), {}
            yield (x, dim, np.array([], dtype=np.int64)), {}


def gathered(source):
    for shape, dim in [((4, 3), 0), ((2, 5), 1)]:
        for x in source.layouts(*shape):
            yield (x, dim, source.random.integers(0, shape[dim], (2, 3))), {}


def scattered(source):
    for x in source.layouts(4, 3):
        index = np.array([[0, 1, 2], [3, 2, 0]])
        yield (x, 0, index, source.array(2, 3)), {}


def index_added(source):
    for x in source.layouts(4, 3):
        yield (x, 0, np.array([2, 0]), source.array(2, 3)), {}
        yield (x, 1, np.array([0, 0, 2]), source.array(4, 3)), {}


def masked(source):
    for shape in SHAPES:
        for x in source.layouts(*shape):
            yield (x, source.random.integers(0, 2, shape).astype(bool)), {}


def masked_number(source):
    for args, kwargs in masked(source):
        yield (*args, {"b": True, "i": 3, "u": 3, "f": 1.5, "c": 1.5 - 0.5j}[source.dtype.kind]), kwargs


def chosen(source):
    for x, y in [(source.array(3, 4), source.array(4)), (source.array(), source.array(2))]:
        condition = source.random.integers(0, 2, np.broadcast_shapes(x.shape, y.shape)).astype(bool)
        yield (condition, x, y), {}


def lists(source):
    """A list of tensors and a dimension."""
    for dim in (0, -1, 1):
        yield ([source.array(2, 3), source.array(3, 2).T, source.array(4, 3)[::2]], dim), {}


def sorts(source):
    # Distinct values, since equal ones may come in any order.
    for shape in [(6,), (3, 5)]:
        x = source.random.permutation(int(np.prod(shape))).reshape(shape).astype(source.dtype)
        for y in (x, x.T.copy().T):
            yield (y, -1), {}
            yield (y, 0), {"descending": True}


def top(source):
    x = source.random.permutation(15).reshape(3, 5).astype(source.dtype)
    for k, kwargs in ((2, {}), (5, {}), (3, {"largest": False}), (1, {"dim": 0})):
        yield (x, k), kwargs


def products(*shapes):
    def generate(source):
        for case in shapes:
            for layout in range(3):
                yield tuple(list(source.layouts(*s))[layout % (len(s) and 3 or 1)] for s in case), {}

    return generate


mm = products(((2, 3), (3, 4)), ((5, 1), (1, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3)))
bmm = products(((2, 3, 4), (2, 4, 5)), ((0, 2, 2), (0, 2, 2)))
mv = products(((3, 4), (4,)), ((2, 0), (0,)))
dot = products(((5,), (5,)), ((0,), (0,)))
outer = products(((3,), (4,)), ((0,), (2,)))
matmul = products(((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 1, 2, 3), (4, 3, 2)))
addmm = products(((2, 4), (2, 3), (3, 4)), ((4,), (2, 3), (3, 4)))
addmv = products(((3,), (3, 4), (4,)))
baddbmm = products(((2, 3, 5), (2, 3, 4), (2, 4, 5)))
linear = products(((2, 3), (4, 3), (4,)), ((5, 2, 3), (4, 3), (4,)), ((3,), (4, 3), (4,)))


def distinct(source):
    """One dimension at a time, of values that differ, so that the place of the greatest is known."""
    for shape in [(6,), (3, 5)]:
        x = source.random.permutation(int(np.prod(shape))).reshape(shape).astype(source.dtype)
        for y in (x, x.T.copy().T):
            for dim in (0, -1):
                yield (y, dim), {}
                yield (y, dim), {"keepdim": True}


def listed(source):
    for x in source.layouts(2, 3, 4):
        yield (x, (0,)), {}
        yield (x, (1, -1)), {}


def viewed(source):
    """Shapes into which the memory can be viewed without a copy."""
    for shape, size in [((2, 6), (3, 4)), ((2, 6), (-1,)), ((0, 3), (3, 0, 2)), ((), (1, 1))]:
        yield (source.array(*shape), size), {}
    yield (source.array(4, 6)[:, ::2], (2, 2, 3)), {}


def stacks(source):
    for dim in (0, -1, 1):
        yield ([source.array(2, 3), source.array(3, 2).T, source.array(4, 3)[::2]], dim), {}


def scattered_twice(source):
    """Places that come more than once add up."""
    for x in source.layouts(4, 3):
        yield (x, 0, np.array([[0, 1, 2], [0, 2, 2]]), source.array(2, 3)), {}
