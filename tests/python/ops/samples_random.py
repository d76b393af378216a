"""Arguments for the rows of random."""

import numpy as np
from samples import Seed, numbered

SHAPES = [(), (1,), (5,), (3, 4), (17,), (4, 8), (2, 3, 7), (0,), (2, 0)]


def _filled(source):
    for shape in SHAPES:
        for x in source.layouts(*shape):
            if not type(x).__name__ == "Conjugated":
                yield (x,), {}


def seeded(generate):
    """Every other case from a generator of its own."""

    def generator(source):
        for i, (args, kwargs) in enumerate(generate(source)):
            yield args, ({**kwargs, "generator": Seed(100 + i)} if i % 2 else kwargs)

    return generator


uniform = seeded(numbered((), (-2.0, 3.0), (0.5, 0.75))(_filled))
normal = seeded(numbered((), (1.5, 0.5))(_filled))
log_normal = seeded(numbered((), (0.25, 0.5))(_filled))
rate = seeded(numbered((), (2.5,))(_filled))
cauchy = seeded(numbered((), (1.0, 0.5))(_filled))
chance = seeded(numbered((0.3,), (0.8,))(_filled))
number_chance = seeded(numbered((), (0.3,), (0.0,), (1.0,))(_filled))
plain = seeded(_filled)
bounds = seeded(numbered((3, 60), (0, 1), (10, None))(_filled))
wide_bounds = seeded(numbered((3, 60), (-5, 2**35), (-(2**30), 2**30), (7, None))(_filled))
top = seeded(numbered((60,), (2,))(_filled))


def chances(source):
    for i, (x,) in enumerate(args for args, _ in _filled(source)):
        p = source.random.uniform(0, 1, x.shape[-1:]).astype((np.float32, np.float64)[i % 2])
        yield (x, p), {}


def _sizes(*before):
    def generate(source):
        for size in SHAPES:
            yield (*before, size), {"dtype": source.dtype}
        yield (*before, (2, 3)), {}

    return generate


def _with_generator(generate):
    def generator(source):
        for i, (args, kwargs) in enumerate(generate(source)):
            yield args, {**kwargs, "generator": Seed(i) if i % 3 else None}

    return generator


sizes, top_sizes, bounds_sizes = _sizes(), _sizes(50), _sizes(5, 90)
sizes_seeded, top_sizes_seeded, bounds_sizes_seeded = map(_with_generator, (sizes, top_sizes, bounds_sizes))
normal_sizes = seeded(_sizes(0.5, 2.0))


def permutation(source):
    for n in (0, 1, 2, 10, 50):
        yield (n,), {"dtype": source.dtype}
    yield (6,), {}


permutation_seeded = _with_generator(permutation)


def _like(*after):
    def generate(source):
        for i, (x,) in enumerate(args for args, _ in _filled(source)):
            yield (x, *after), {"dtype": np.dtype(np.float64)} if i % 5 == 4 else {}

    return generate


like, top_like, bounds_like = _like(), _like(50), _like(5, 90)
like_seeded, top_like_seeded, bounds_like_seeded = map(_with_generator, (like, top_like, bounds_like))


def means(source):
    for i, (x,) in enumerate(args for args, _ in _filled(source)):
        yield (x, 0.5), {"generator": Seed(3)} if i % 2 else {}


def deviations(source):
    for (x, mean), kwargs in means(source):
        yield (mean, np.abs(x)), kwargs


def means_deviations(source):
    for (x, _), kwargs in means(source):
        yield (x, np.abs(source.array(*x.shape))), kwargs
    yield (source.array(3, 1), np.abs(source.array(4))), {}


def own_chances(source):
    for i, (x,) in enumerate(args for args, _ in _filled(source)):
        yield ((0.05 + 0.9 * np.abs(np.sin(x))).astype(source.dtype),), {"generator": Seed(3)} if i % 2 else {}


def weights(source):
    for shape in [(6,), (3, 5)]:
        for x in list(source.layouts(*shape))[:3]:
            for samples, replacement in ((1, False), (4, False), (7, True), (1, True)):
                yield (x, samples, replacement), {"generator": Seed(8)} if samples == 4 else {}


def dropouts(source):
    for x in (args[0] for args, _ in _filled(source)):
        for p, train in ((0.4, True), (0.4, False), (0.0, True), (1.0, True)):
            yield (x, p, train), {}


def feature_dropouts(source):
    for (x, p, train), _ in dropouts(source):
        if x.ndim >= 2:
            yield (x, p, train), {}


def slopes(source):
    for i, (x,) in enumerate(args for args, _ in _filled(source)):
        yield (x, 0.1, 0.4, Seed(4) if i % 2 else None), {}


def rrelu(source):
    for (x, low, high, generator), _ in slopes(source):
        yield (x, low, high, True, generator), {}
        yield (x, low, high), {}


def _parameters(low, high, integer=False):
    """Parameters of distributions between two bounds, in single and double precision."""

    def generate(source):
        if source.dtype not in (np.float32, np.float64):
            return
        for x in (args[0] for args, _ in _filled(source)):
            between = low + (high - low) * np.abs(np.sin(3 * x.astype(np.float64)))
            yield (np.round(between) if integer else between).astype(x.dtype)

    return generate


def rates(source):
    for i, x in enumerate(_parameters(0.0, 40.0)(source)):
        yield (x,), {"generator": Seed(5)} if i % 2 else {}


def shapes(source):
    for i, x in enumerate(_parameters(0.2, 6.0)(source)):
        yield (x,), {"generator": Seed(5)} if i % 2 else {}


def trials(source):
    for i, x in enumerate(_parameters(0, 90, integer=True)(source)):
        p = source.random.uniform(0, 1, x.shape[-1:]).astype(x.dtype)
        yield (x, p), {"generator": Seed(5)} if i % 2 else {}
