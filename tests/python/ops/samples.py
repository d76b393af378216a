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
    "indices": ["int32", "int64"],
}


class Conjugated(np.ndarray):
    """Values that a tensor holds as the conjugates of its memory."""


class Format(str):
    """A memory format, by name."""


class Seed(int):
    """A generator of its own, of this seed."""


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

    def repeated(self, *shape):
        """Values that come several times; in double each comes once, for equal ones have no derivative."""
        if self.dtype == np.float64:
            return self.array(*shape)
        return self.random.integers(0, 2 if self.dtype.kind == "b" else 3, shape).astype(self.dtype)

    def layouts(self, *shape):
        """The same kind of values in every memory layout: plain, transposed, with gaps, expanded."""
        yield self.array(*shape)
        if not shape:
            return
        yield self.array(*shape[::-1]).transpose()
        yield self.array(*(2 * n + 1 for n in shape))[tuple(slice(1, None, 2) for _ in shape)]
        yield np.broadcast_to(self.array(*shape[:-1], 1), shape)
        if self.dtype.kind == "c":
            yield self.array(*shape).view(Conjugated)


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
movedims = views(
    ((2, 3, 4), ((0, 1), (2, 0))),
)
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


# ---- what other generators give, with further arguments ---------------------------------------------------------------------


def each(generate, *choices):
    """Every case of `generate` with every choice of (further args, further kwargs)."""

    def generator(source):
        for args, kwargs in generate(source):
            for more, named in choices:
                yield (*args, *more), {**kwargs, **named}

    return generator


def in_turn(generate, *choices):
    """Every case with one of the choices, in turn."""

    def generator(source):
        for i, (args, kwargs) in enumerate(generate(source)):
            more, named = choices[i % len(choices)]
            yield (*args, *more), {**kwargs, **named}

    return generator


def numbered(*choices):
    """As in_turn, for arguments without names."""
    return lambda generate: in_turn(generate, *[(choice, {}) for choice in choices])


def pairs(source):
    """Two tensors of one shape."""
    for shape in SHAPES:
        for x, y in zip(source.layouts(*shape), reversed(list(source.layouts(*shape))), strict=True):
            yield (x, y), {}


def number_first(source):
    for args, kwargs in scalar(source):
        yield args[::-1], kwargs


def few(source):
    """A handful of layouts."""
    for shape in [(), (5,), (3, 4), (2, 0)]:
        for x in source.layouts(*shape):
            yield (x,), {}


thresholds = numbered((0.5, -2.0), (-1, 7))(unary)
threshold_backward = numbered((0.5,), (-1,))(pairs)
hardtanh_backward = numbered((-1, 1), (-2.5, 0.5))(pairs)
leaky_backward = numbered((0.01, False), (0.3, True))(pairs)
lambd_backward = numbered((0.5,), (1.5,))(pairs)
softplus_backward = numbered((1.0, 20.0), (2.0, 3.0))(pairs)
gelu_backward = each(pairs, ((), {}), ((), {"approximate": "tanh"}))
glu = views(((4, 3), (0,)), ((3, 4), ()), ((2, 2, 3), (1,)), ((2,), ()), ((0, 4), ()))
rounding = each(binary, ((), {"rounding_mode": None}), ((), {"rounding_mode": "floor"}), ((), {"rounding_mode": "trunc"}))
rounding_number = each(scalar, ((), {"rounding_mode": None}), ((), {"rounding_mode": "floor"}), ((), {"rounding_mode": "trunc"}))
decimals = in_turn(unary, ((), {"decimals": 1}), ((), {"decimals": 2}))
polygamma_of = in_turn(unary, *[((), {"n": n}) for n in (0, 1, 2, 4)])
unbiased = in_turn(views(((5,), ()), ((3, 4), ())), ((True,), {}), ((False,), {}))


def elu_backward(source):
    for (values,), _ in few(source):
        grad = source.array(*values.shape)
        for is_result in (False, True):
            for alpha, scale, input_scale in ((1.0, 1.0, 1.0), (0.5, 1.5, 2.0)):
                result = np.where(values > 0, values * scale, np.abs(np.sin(values)) * -alpha * scale * 0.9).astype(source.dtype)
                yield (grad, alpha, scale, input_scale, is_result, result if is_result else values), {}


def prelu(source):
    for shape in [(5,), (2, 3), (2, 3, 4)]:
        for x in source.layouts(*shape):
            yield (x, source.array(1)), {}
            if len(shape) > 1:
                yield (x, source.array(3)), {}


def polygamma(source):
    for args, kwargs in polygamma_of(source):
        yield (kwargs["n"], *args), {}


def polygamma_inplace(source):
    for args, kwargs in polygamma_of(source):
        yield (*args, kwargs["n"]), {}


def lerp_number(source):
    for args, kwargs in binary(source):
        yield (*args, 0.25), kwargs
        yield (*args, 1.5), kwargs


def clamps(source):
    low, high = (1, 3) if source.dtype.kind in "iu" else (-0.75, 1.5)
    for i, (args, _) in enumerate(unary(source)):
        yield args, ({"min": low, "max": high}, {"min": low}, {"max": high}, {"min": high, "max": low})[i % 4]


def conditions(*kinds):
    """A condition and two values, of which `None` stands for a tensor."""

    def generate(source):
        for i, (x,) in enumerate(args for args, _ in unary(source)):
            condition = source.random.integers(0, 2, x.shape).astype(bool)
            if i % 3 == 2 and x.ndim:
                condition = condition[..., :1]
            yield (condition, *[x if kind is None else kind for kind in kinds]), {}

    return generate


number_or_tensor, tensor_or_number = conditions(2, None), conditions(None, 3)


def two_numbers(source):
    for shape in SHAPES:
        condition = source.random.integers(0, 2, shape).astype(bool)
        for pair in ((1.5, 2.5), (1, 2)):
            yield (condition, *pair), {}


def masked_tensor(source):
    for args, kwargs in masked(source):
        yield (*args, source.array()), kwargs


def compared(source):
    """Equal, nearly equal and unequal tensors, and such of other shapes."""
    for x in source.layouts(3, 4):
        other = x.copy()
        yield (x, other), {}
        other = other.copy()
        other[1, 2] = not other[1, 2] if source.dtype.kind == "b" else other[1, 2] + 1
        yield (x, other), {}
    yield (source.array(0), source.array(0)), {}


def compared_shapes(source):
    yield from compared(source)
    yield (source.array(2, 3), source.array(3, 2)), {}
    yield (source.array(0), source.array(0, 2)), {}


def close(source):
    yield from compared(source)
    if source.dtype.kind in "fc":
        x = source.array(5)
        yield (x, x * (1 + 5e-6)), {}
        yield (x, x * (1 + 5e-4)), {}
        yield (x, x * (1 + 5e-4), 1e-3), {}
        yield (x, x + 1e-3, 0.0, 1e-2), {}
        hole = x.copy()
        hole[2] = np.nan
        yield (hole, hole.copy()), {}
        yield (hole, hole.copy()), {"equal_nan": True}


def one_element(source):
    for shape in [(), (1,), (1, 1)]:
        yield (source.array(*shape),), {}
        yield (np.zeros(shape, source.dtype),), {}


def last_pairs(source):
    """A last dimension of two: real and imaginary parts."""
    for shape in [(2,), (3, 2), (2, 3, 2)]:
        yield (source.array(*shape),), {}
    yield (source.array(6, 2)[::2],), {}
    yield (source.array(6, 2)[6:],), {}


def dtypes_of_bytes(source):
    """Dtypes of the same, half and twice the size."""
    size = source.dtype.itemsize
    for other in ("uint8", "int16", "int32", "float32", "int64", "float64", "complex128"):
        other = np.dtype(other)
        if other.kind in "iu" or source.dtype.kind in "fc":  # integers' bytes may be NaN, which is equal to nothing
            yield (source.array(2, 16 // size), other), {}
            if other.itemsize == size:
                yield (source.array(3, 2).T, other), {}
                yield (source.array(), other), {}


def mixed(source):
    """A tensor beside tensors of other dtypes, some of no dimension."""
    for x in (source.array(2), source.array()):
        for other in ("bool", "uint8", "int32", "int64", "float32", "float64", "complex64"):
            for y in (np.ones(3, other), np.ones((), other)):
                yield (x, y), {}


def mixed_number(source):
    for x in (source.array(2), source.array()):
        for number in (True, 3, 1.5, 2j):
            yield (x, number), {}


def mixed_number_first(source):
    for args, kwargs in mixed_number(source):
        yield args[::-1], kwargs


def numbers(source):
    for x in (True, 3, 1.5, 2j):
        for y in (False, 2, 0.5, 1j):
            yield (x, y), {}


def with_gaps(source):
    """NaN among the values."""
    for args, kwargs in reduce(source):
        x = args[0].copy()
        x.reshape(-1)[::3] = np.nan
        yield (x, *args[1:]), kwargs


def gaps_whole(source):
    for (x,), kwargs in distinct_whole(source):
        if x.size > 1:
            x.reshape(-1)[::3] = np.nan
        yield (x,), kwargs


def with_gaps_lists(source):
    for (x, dim), kwargs in with_gaps(source):
        rows = x.shape[dim]
        if rows > 2:
            yield (x, (dim,)), kwargs


def extremes(source):
    for args, kwargs in distinct(source):
        yield args[:1], {"dim": args[1], **kwargs}
    for args, kwargs in whole(source):
        yield args, kwargs


def unbiased_dims(source):
    for args, kwargs in moments_lists(source):
        for flag in (True, False):
            yield (*args, flag), kwargs


def moments_lists(source):
    for x in source.layouts(4, 5):
        yield (x, (0,)), {}
        yield (x, (1, 0)), {"keepdim": True}
    for x in source.layouts(2, 3, 2):
        yield (x, (-1, 0)), {}


def norms_whole(source):
    for args, kwargs in in_turn(whole, *[((p,), {}) for p in (2, 1, 0, 3, 0.5, float("inf"), float("-inf"))])(source):
        yield args, kwargs


def norms_dims(source):
    for x in source.layouts(3, 4):
        for p in (None, 2, 1, 0, 3, float("inf"), float("-inf")):
            yield (x, p, (1,)), {}
        yield (x, 2, (0, 1)), {"keepdim": True}


def counted(source):
    for args, kwargs in unary(source):
        yield args, kwargs
    for args, kwargs in along(source):
        yield args, kwargs


def stable_sorts(source):
    """Values that come several times keep their order."""
    for shape in [(6,), (3, 5)]:
        x = source.repeated(*shape)
        for y in (x, x.T.copy().T):
            yield (y,), {"stable": True}
            yield (y,), {"stable": True, "dim": 0, "descending": True}


def sorted_lines(source):
    for (x, _), _ in sorts(source):
        yield (x,), {}


def kth(source):
    for (x, dim), kwargs in distinct(source):
        yield (x, 1, dim), kwargs
        yield (x, x.shape[dim], dim), kwargs


def distinct_gaps(source):
    for (x, dim), kwargs in distinct(source):
        x = x.copy()
        if x.dtype.kind == "f":
            x.reshape(-1)[::4] = np.nan
        yield (x, dim), kwargs


def distinct_whole(source):
    for x in (source.random.permutation(6), source.random.permutation(15).reshape(3, 5), source.random.permutation(1).reshape(())):
        yield (x.astype(source.dtype),), {}


def repeated(source):
    for shape in [(7,), (3, 5), (2, 3, 4)]:
        x = source.repeated(*shape)
        for dim in (-1, 0):
            yield (x, dim), {}
            yield (x, dim), {"keepdim": True}


def shaped_like(*pairs_of_shapes):
    def generate(source):
        for shape, like in pairs_of_shapes:
            for x in source.layouts(*shape):
                yield (x, np.empty(like, np.float32)), {}

    return generate


reshape_as = shaped_like(((2, 6), (3, 4)), ((0, 3), (3, 0, 2)), ((), (1, 1)))
expand_as = shaped_like(((1, 3), (2, 3)), ((3,), (2, 4, 3)), ((), (2,)))


def viewed_as(source):
    for (x, size), _ in viewed(source):
        if -1 not in size:
            yield (x, np.empty(size, np.float32)), {}


def several(source):
    yield ([source.array(3, 1), source.array(4), source.array()],), {}
    yield ([source.array(2, 3)],), {}


split_indices = views(((7, 2), ((2, 3, 5),)), ((2, 5), ((1, 4), 1)), ((4,), ((0, 4),)))
square_last = views(((3, 4), ()), ((2, 3, 4), ()))
squeeze_dims = views(((2, 1, 3, 1), ((1, 3),)), ((2, 1, 3, 1), ((-1, 0),)), ((1, 1), ((0, 1),)))


def grids(source):
    for indexing in ("ij", "xy"):
        yield ([source.array(3), source.array(4)],), {"indexing": indexing}
        yield ([source.array(2), source.array(3), source.array(2)],), {"indexing": indexing}
    yield ([source.array(3)],), {}


def unconjugated(source):
    for (x,), kwargs in unary(source):
        if not isinstance(x, Conjugated):
            yield (x,), kwargs
