"""Arguments of Fourier transforms, frequencies, windows and short-time transforms."""

import itertools

SHAPES = [(6,), (2, 5), (3, 4, 3)]
NORMS = [None, "backward", "ortho", "forward"]


def _arrays(source, shapes=SHAPES):
    for shape in shapes:
        yield from source.layouts(*shape)


def one(source):
    norms = itertools.cycle(NORMS)
    for x in _arrays(source):
        for n in (None, 2, 7):
            yield (x, n, x.ndim - 2 if n == 7 else -1), {"norm": next(norms)}
    yield (source.array(1, 4),), {"n": 1, "dim": 0}
    yield (source.array(0, 4),), {}


def two(source):
    norms = itertools.cycle(NORMS)
    for x in _arrays(source, SHAPES[1:]):
        for s in (None, (3, 6), (-1, 2)):
            yield (x, s), {"norm": next(norms)}
    yield (source.array(3, 4, 3),), {"dim": (2, 0)}


def several(source):
    norms = itertools.cycle(NORMS)
    for x in _arrays(source):
        yield (x,), {"norm": next(norms)}
        yield (x, [5]), {"norm": next(norms)}
        yield (x,), {"dim": (0,), "norm": next(norms)}
    yield (source.array(3, 2, 4),), {"dim": (2, 0)}
    yield (source.array(2, 3, 2, 3),), {"s": (3, -1, 4), "dim": (1, 3, 0)}


def c2c(source):
    for x in _arrays(source):
        for i, dims in enumerate(((0,), (x.ndim - 1,), tuple(range(x.ndim)), (-1,))):
            yield (x, dims, i % 3, i % 2 == 0), {}


def r2c(source):
    for x in _arrays(source):
        for i, dims in enumerate(((0,), (x.ndim - 1,), tuple(range(x.ndim)))):
            yield (x, dims, i, True), {}
            yield (x, dims, i, False), {}


def c2r(source):
    for x in _arrays(source):
        for i, dims in enumerate(((0,), (x.ndim - 1,), tuple(range(x.ndim)))):
            half = x.shape[dims[-1]]
            yield (x, dims, i, 2 * half - 1), {}
            yield (x, dims, i, 2 * half - 2), {}


def frequencies(source):
    for n in (1, 4, 5):
        yield (n,), {"dtype": source.dtype}
        yield (n, 0.3), {"dtype": source.dtype}
    yield (6, 2.0), {}


def shifts(source):
    for x in _arrays(source):
        yield (x,), {}
        yield (x, [x.ndim - 1]), {}


def signals(source):
    complex = {"return_complex": True}
    yield (source.array(12), 4), complex
    yield (source.array(2, 13), 5, 2), {"normalized": True, **complex}
    yield (source.array(2, 13)[:, ::-1].copy(), 6, 3, 4, source.array(4)), {"center": False, **complex}
    yield (source.array(16), 6, 2, 5), {"pad_mode": "constant", "onesided": False, **complex}
    yield (source.array(11), 4, 1, None, source.array(4)), {"return_complex": False}
    yield (source.array(11), 6, 2, 3), {"center": False, "align_to_window": True, **complex}


def spectrograms(source):
    yield (source.array(3, 6), 4), {}
    yield (source.array(2, 3, 6), 5, 2), {"normalized": True}
    yield (source.array(4, 5), 6, 2, 5), {"length": 7}
    yield (source.array(4, 5), 6, 1), {"length": 20, "center": False}
    yield (source.array(2, 6, 5), 6, 2), {"onesided": False, "return_complex": True}


def _lengths(source, *tails):
    for n in (0, 1, 2, 5, 8):
        for tail in tails:
            yield (n, *tail), {"dtype": source.dtype}
    yield (6, *tails[0]), {}


def lengths(source):
    yield from _lengths(source, ())


def periodic(source):
    yield from _lengths(source, (True,), (False,))


def periodic_one(source):
    yield from _lengths(source, (True, 0.4), (False, 3.0))


def periodic_two(source):
    yield from _lengths(source, (True, 0.4, 0.3), (False, 0.6, 0.5))
