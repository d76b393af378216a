"""Arguments for the rows of factory, memory, index and matmul."""

import numpy as np
from samples import SHAPES, Format

# ---- factories ---------------------------------------------------------------------------------------------------------------


def sizes(source):
    for size in SHAPES:
        yield (size,), {"dtype": source.dtype}
    if source.dtype == np.float32:
        yield ((2, 3),), {}


def sizes_formats(source):
    yield from sizes(source)
    yield ((2, 3, 4, 5),), {"dtype": source.dtype, "memory_format": Format("channels_last")}
    yield ((2, 3, 2, 4, 5),), {"dtype": source.dtype, "memory_format": Format("channels_last_3d")}
    yield ((2, 3),), {"dtype": source.dtype, "memory_format": Format("contiguous_format")}


def strided_sizes(source):
    for size, stride in [((2, 3), (3, 1)), ((2, 3), (1, 2)), ((3,), (4,)), ((2, 2), (1, 1)), ((3, 2), (0, 1)), ((), ())]:
        yield (size, stride), {"dtype": source.dtype}


def _number(source):
    return {"b": True, "i": 3, "u": 3, "f": 1.5, "c": 1.5 - 0.5j}[source.dtype.kind]


def filled(source):
    for size in SHAPES:
        yield (size, _number(source)), {"dtype": source.dtype}
    for number in (True, 3, 1.5, 2j):
        yield ((2, 2), number), {}


def numbers(source):
    yield (_number(source),), {"dtype": source.dtype}
    if source.dtype == np.float32:
        yield (2,), {}


def like(source):
    for shape in SHAPES:
        for x in source.layouts(*shape):
            yield (x,), {}
    x = source.array(2, 3, 4)
    yield (x.transpose(2, 0, 1),), {}
    yield (x.transpose(1, 0, 2),), {"dtype": np.dtype(np.int16)}
    yield (x.transpose(1, 0, 2),), {"memory_format": Format("contiguous_format")}
    yield (source.array(2, 3, 4, 5),), {"memory_format": Format("channels_last")}


def filled_like(source):
    for (x,), kwargs in like(source):
        yield (x, 3 if "dtype" in kwargs else _number(source)), kwargs


def new(source):
    for size in SHAPES:
        yield (source.array(2), size), {}
    yield (source.array(), (2, 3)), {"dtype": np.dtype(np.float64)}


def new_filled(source):
    for args, kwargs in new(source):
        yield (*args, _number(source) if not kwargs else 1.5), kwargs


def new_strided(source):
    for args, _ in strided_sizes(source):
        yield (source.array(2), *args), {}


def _ranges(source):
    """Starts, ends and steps."""
    yield from [(0, 5, 1), (2, 9, 3), (1, 1, 1), (0, 6, 2)]
    if source.dtype.kind != "u":
        yield from [(3, -4, -2), (-3, 0, 1)]
    if source.dtype.kind == "f":
        yield from [(0.5, 4.0, 0.75), (1.0, -1.0, -0.25)]


def ends(source):
    for start, end, _ in _ranges(source):
        if start == 0:
            yield (end,), {"dtype": source.dtype}
            yield (end,), {}
    yield (2.5,), {"dtype": source.dtype}


def starts(source):
    for start, end, _ in _ranges(source):
        if end >= start:
            yield (start, end), {"dtype": source.dtype}
            yield (start, end), {}


def steps(source):
    for call in _ranges(source):
        yield call, {"dtype": source.dtype}
        yield call, {}


def closed_steps(source):
    for call in _ranges(source):
        yield call, {"dtype": source.dtype}


def spaces(source):
    for call in [(0, 10, 5), (3, 3, 1), (1, 7, 0), (0, 9, 10)]:
        yield call, {"dtype": source.dtype}
    if source.dtype.kind in "fc":
        yield (2.5, -1.25, 7), {"dtype": source.dtype}
    if source.dtype.kind == "c":
        yield (1 + 1j, 2.5, 4), {"dtype": source.dtype}
    if source.dtype == np.float32:
        yield (0, 1, 4), {}


def powers(source):
    for call in [(0, 2, 5), (-1.5, 1.0, 4, 2.0), (1, 3, 1), (0, 3, 0), (0, 1, 3, 3.0)]:
        yield call, {"dtype": source.dtype}


def _as_arrays(generate, *positions):
    def generator(source):
        for args, kwargs in generate(source):
            if not any(isinstance(args[p], complex) for p in positions):
                yield tuple(np.asarray(v, np.float64) if i in positions else v for i, v in enumerate(args)), kwargs

    return generator


spaces_both, spaces_first, spaces_second = _as_arrays(spaces, 0, 1), _as_arrays(spaces, 0), _as_arrays(spaces, 1)
powers_both, powers_first, powers_second = _as_arrays(powers, 0, 1), _as_arrays(powers, 0), _as_arrays(powers, 1)


def squares(source):
    for n in (0, 1, 4):
        yield (n,), {"dtype": source.dtype}


def rectangles(source):
    for call in [(2, 3), (3, 2), (0, 2), (4, 4)]:
        yield call, {"dtype": source.dtype}


def triangles(source):
    for row, col in [(3, 4), (4, 2), (1, 1), (0, 3), (3, 3)]:
        for offset in (0, 1, -1, -3, 2):
            yield (row, col, offset), {"dtype": source.dtype}
    yield (2, 3), {}


# ---- memory ------------------------------------------------------------------------------------------------------------------


def copies(source):
    for shape in SHAPES:
        for x in source.layouts(*shape):
            yield (x, source.array(*shape)), {}
    for x in source.layouts(3, 4):
        yield (x, source.array(4)), {}
        yield (x, source.array(4, 3).T), {}
        if source.dtype.kind in "fc":
            yield (x, np.arange(4, dtype=np.int16)), {}
            yield (x, np.arange(12, dtype=np.float32).reshape(3, 4)), {}


def fills(source):
    for shape in SHAPES:
        for x in source.layouts(*shape):
            yield (x, _number(source)), {}


def fills_tensor(source):
    for (x, _), _ in fills(source):
        yield (x, source.array()), {}


TARGETS = [np.dtype(name) for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64", "complex64", "complex128")]


def conversions(source):
    for target in TARGETS:
        if source.dtype.kind != "c" or target.kind in "bc":
            for x in source.layouts(2, 3):
                yield (x,), {"dtype": target}
    yield (source.array(),), {"dtype": np.dtype(np.float32)} if source.dtype.kind != "c" else {}
    yield (source.array(0, 2),), {}


def conversions_copied(source):
    for args, kwargs in conversions(source):
        yield args, kwargs
        yield args, {**kwargs, "copy": True}


def conversions_positional(source):
    for args, kwargs in conversions(source):
        if kwargs:
            yield (*args, kwargs["dtype"]), {}


def conversions_device(source):
    for (x, dtype), _ in conversions_positional(source):
        yield (x, "cpu", dtype), {}


def conversions_other(source):
    for (x, dtype), _ in conversions_positional(source):
        yield (x, np.ones(2, dtype)), {}


def resizes(source):
    for shape, size in [((2, 3), (3, 2)), ((6,), (2, 2)), ((), (1, 1)), ((2, 3), (0, 4)), ((0,), (0, 2))]:
        yield (source.array(*shape), size), {}


def resizes_like(source):
    for (x, size), _ in resizes(source):
        yield (x, np.zeros(size, np.float32)), {}


# ---- index, matmul -----------------------------------------------------------------------------------------------------------


def scatter_number(source):
    for x in source.layouts(4, 3):
        yield (x, 0, np.array([[0, 1, 2], [3, 2, 0]]), _number(source)), {}
        yield (x, -1, np.array([[2], [0]]), _number(source)), {}


def scatter_reduced(source):
    for x in source.layouts(4, 3):
        for reduce in ("add", "multiply"):
            yield (x, 0, np.array([[0, 1, 2], [0, 2, 0]]), source.array(2, 3)), {"reduce": reduce}
            yield (x, 1, np.array([[0, 1, 0, 2]]), source.array(2, 4)), {"reduce": reduce}


def scatter_number_reduced(source):
    for (x, dim, index, _), kwargs in scatter_reduced(source):
        yield (x, dim, index, _number(source)), kwargs


def _subscripts(source):
    mask = np.array([True, False, True])
    yield (5, 3), [np.array([4, 0, 0])]
    yield (5, 3), [None, np.array([[2, -1], [0, 1]])]
    yield (5, 3), [np.array([0, -5, 2]), np.array([1, 1, 2])]
    yield (5, 3), [np.array([[1], [3]]), np.array([0, 2])]
    yield (5, 3), [None, mask]
    yield (2, 3, 4), [np.array([1, 0]), None, np.array([3, 3])]
    yield (2, 3, 4), [None, np.array([0, 2]), np.array([1, 1])]
    yield (3, 4), [mask, np.array([0, 3])]
    yield (2, 3), [np.array([], dtype=np.int64)]
    yield (2, 3), [source.random.integers(0, 2, (2, 3)).astype(bool)]


def indexing(source):
    for shape, indices in _subscripts(source):
        for x in source.layouts(*shape):
            yield (x, indices), {}


def putting(source):
    for shape, indices in _subscripts(source):
        for x in source.layouts(*shape):
            picked = x[tuple(slice(None) if i is None else i for i in indices)].shape
            once = not any(i is not None and i.dtype != bool and len({int(v) % shape[d] for v in i.ravel()}) < i.size for d, i in enumerate(indices))
            if once or source.dtype.kind == "b":
                yield (x, indices, source.array(*picked) if once else source.array()), {}
            if source.dtype.kind != "b":
                yield (x, indices, source.array(*picked), True), {}
            if once:
                yield (x, indices, source.array()), {}


def embeddings(source):
    for indices in (np.array([0, 3, 3]), np.array([[1, 2], [4, 0]]), np.array(2), np.zeros((0, 2), np.int64)):
        yield (source.array(5, 3), indices), {}
        yield (source.array(3, 5).T, indices.astype(np.int32)), {}


def embedding_gradients(source):
    for indices in (np.array([0, 3, 3]), np.array([[1, 2], [4, 1]]), np.zeros((0, 2), np.int64)):
        for padding, scaled in ((-1, False), (3, False), (-1, True), (1, True)):
            if not scaled or source.dtype == np.float32:  # a scaled one has no derivative, in PyTorch neither
                yield (source.array(*indices.shape, 3), indices, 5, padding, scaled), {}


def along_places(source):
    for x in source.layouts(3, 4):
        yield (x, source.random.integers(0, 3, (2, 4)), 0), {}
        yield (x, source.random.integers(0, 4, (3, 1)), 1), {}
        yield (x, source.random.integers(0, 12, (5,))), {}


def classes(source):
    for shape in [(4,), (2, 3), ()]:
        yield (source.random.integers(0, 3, shape), 5), {}


def chains(source):
    for shapes in [[(2, 3), (3, 4)], [(2, 5), (5, 1), (1, 4)], [(4, 2), (2, 6), (6, 1), (1, 3)]]:
        yield ([source.array(*s) for s in shapes],), {}


def equations(source):
    for equation, *shapes in [("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 2)), ("ii->i", (3, 3)), ("ij->ji", (2, 3)), ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
                              ("i,j->ij", (2,), (3,)), ("ij,ij->", (2, 3), (2, 3)), ("...ij,...jk->...ik", (2, 2, 3), (3, 4)), ("ijk->j", (2, 3, 2)),
                              ("ab,bc,cd->ad", (2, 3), (3, 2), (2, 4)), ("ii", (3, 3)), ("a, b -> ba", (2,), (3,))]:  # fmt: skip
        for layout in (0, 1):
            operands = [source.array(*s) if layout == 0 else source.array(*s[::-1]).T for s in shapes]
            yield (equation, operands), {}
