"""References of the rows of random: the same numbers, from NumPy's Mersenne twister of the same seed and the definitions of the distributions."""

import math

import numpy as np

SEED = 20  # rows.py seeds the default generator with it before each call
DEFAULT = np.dtype(np.float32)


class Stream:
    """32-bit words, and fractions of 24 bits (one word) or 53 bits (two, the upper half first)."""

    def __init__(self, generator=None):
        self.bits = np.random.RandomState(SEED if generator is None else int(generator))._bit_generator
        self.kept = None

    def words(self, n):
        return np.asarray(self.bits.random_raw(n), np.uint64) if n else np.zeros(0, np.uint64)

    def long_words(self, n):
        pairs = self.words(2 * n).reshape(n, 2)
        return pairs[:, 0] << np.uint64(32) | pairs[:, 1]

    def u24(self, n):
        return (self.words(n) & np.uint64(2**24 - 1)).astype(np.float64) * 2.0**-24

    def u53(self, n):
        return (self.long_words(n) & np.uint64(2**53 - 1)).astype(np.float64) * 2.0**-53

    def fractions(self, n, dtype):
        return self.u53(n) if dtype == np.float64 else self.u24(n)

    def normal_pairs(self, n):
        """By Box and Muller, two numbers at a time, of which the second of a last pair waits for the next call."""
        out = []
        for _ in range(n):
            if self.kept is None:
                angle, u = self.u53(2)
                radius = math.sqrt(-2 * math.log1p(-u))
                out.append(radius * math.cos(2 * math.pi * angle))
                self.kept = radius * math.sin(2 * math.pi * angle)
            else:
                out.append(self.kept)
                self.kept = None
        return np.array(out)

    def normal(self, n, dtype, packed=True):
        """Sixteen and more numbers in a row come in blocks of sixteen, the last of which may overlap the one before."""
        if n < 16 or not packed:
            return self.normal_pairs(n)
        block = lambda u: np.concatenate([np.sqrt(-2 * np.log(1 - u[:8])) * f(2 * np.pi * u[8:]) for f in (np.cos, np.sin)])  # noqa: E731
        out = self.fractions(n, dtype)
        for start in range(0, n - 15, 16):
            out[start : start + 16] = block(out[start : start + 16].copy())
        if n % 16:
            out[-16:] = block(self.fractions(16, dtype))
        return out


def put(x, values):
    """Writes values in the order of x's memory."""
    order = sorted(range(x.ndim), key=lambda d: (x.shape[d] > 1, -x.strides[d]))
    if x.ndim:
        np.transpose(x, order)[...] = np.asarray(values).reshape([x.shape[d] for d in order])
    else:
        x[...] = np.asarray(values).reshape(())
    return x


def _floats(draw):
    """A sampler of floating tensors; a complex number is drawn as its two parts."""

    def fill(x, *args, generator=None, **named):
        stream = Stream(generator)
        return put(x, draw(stream, x, *args, **named))

    return fill


def _parts(x):
    if x.dtype.kind != "c":
        return x
    return np.lib.stride_tricks.as_strided(x.real, (*x.shape, 2), (*x.strides, x.itemsize // 2))


def uniform_(x, low=0.0, high=1.0, *, generator=None):
    parts = _parts(x)
    put(parts, Stream(generator).fractions(parts.size, parts.dtype) * (high - low) + low)
    return x


def normal_(x, mean=0.0, std=1.0, *, generator=None):
    parts = _parts(x)
    std = std / math.sqrt(2) if x.dtype.kind == "c" else std
    put(parts, Stream(generator).normal(parts.size, parts.dtype, parts.flags.c_contiguous) * std + mean)
    return x


log_normal_ = _floats(lambda s, x, mean=1.0, std=2.0: np.exp(s.normal_pairs(x.size) * std + mean))
exponential_ = _floats(lambda s, x, lambd=1.0: -np.log1p(-s.u53(x.size)) / lambd)
cauchy_ = _floats(lambda s, x, median=0.0, sigma=1.0: median + sigma * np.tan(np.pi * (s.u53(x.size) - 0.5)))
geometric_ = _floats(lambda s, x, p: np.ceil(np.log(s.u53(x.size)) / math.log1p(-p)))
bernoulli_number_ = _floats(lambda s, x, p=0.5: s.u53(x.size) < p)


def bernoulli_(x, p, *, generator=None):
    """With a chance for each element, in the order of x's memory."""
    order = sorted(range(x.ndim), key=lambda d: (x.shape[d] > 1, -x.strides[d]))
    chances = np.transpose(np.broadcast_to(p, x.shape), order) if x.ndim else p
    return put(x, Stream(generator).fractions(x.size, p.dtype) < np.ravel(chances))


def _whole(stream, n, low, count):
    words = stream.long_words(n) if count >= 2**28 else stream.words(n)
    return np.array([low + int(w) % count for w in words], dtype=object)


def random_(x, *, generator=None):
    """All whole numbers that the dtype has from zero on, as far as each is exact."""
    bits = {"float32": 24, "float64": 53}
    if x.dtype.name in bits:
        count = 2 ** bits[x.dtype.name] + 1
    else:
        count = 2 if x.dtype == bool else int(np.iinfo(x.dtype).max) + 1
    stream = Stream(generator)
    words = stream.long_words(x.size) if x.dtype.itemsize == 8 else stream.words(x.size)
    return put(x, np.array([int(w) % count for w in words], dtype=object).astype(x.dtype))


def random_from_(x, low, high, *, generator=None):
    if high is None:
        high = {"float32": 2**24, "float64": 2**53}.get(x.dtype.name) or int(np.iinfo(x.dtype).max)
        high += 1
    return put(x, _whole(Stream(generator), x.size, low, high - low).astype(x.dtype))


def random_to_(x, high, *, generator=None):
    return random_from_(x, 0, high, generator=generator)


# ---- new tensors -------------------------------------------------------------------------------------------------------------


def rand(size, *, generator=None, dtype=DEFAULT):
    return uniform_(np.zeros(size, dtype), generator=generator)


def randn(size, *, generator=None, dtype=DEFAULT):
    return normal_(np.zeros(size, dtype), generator=generator)


def randint(*args, generator=None, dtype=np.dtype(np.int64)):
    *bounds, size = args
    low, high = bounds if len(bounds) == 2 else (0, *bounds)
    return random_from_(np.zeros(size, dtype), low, high, generator=generator)


def randperm(n, *, generator=None, dtype=np.dtype(np.int64)):
    stream, out = Stream(generator), np.arange(n)
    for i in range(n - 1):
        j = i + int(stream.words(1)[0]) % (n - i)
        out[i], out[j] = out[j], out[i]
    return out.astype(dtype)


def like(x, dtype=None, shape=None):
    """Dense, with x's order of dimensions."""
    order = sorted(range(x.ndim), key=lambda d: (x.strides[d] == 0, -x.strides[d]))
    shape = x.shape if shape is None else shape
    return np.transpose(np.zeros([shape[d] for d in order], dtype or x.dtype), np.argsort(order)) if x.ndim else np.zeros((), dtype or x.dtype)


def rand_like(x, *, generator=None, dtype=None):
    return uniform_(like(x, dtype), generator=generator)


def randn_like(x, *, generator=None, dtype=None):
    return normal_(like(x, dtype), generator=generator)


def randint_like(x, *bounds, generator=None, dtype=None):
    return random_from_(like(x, dtype), *(bounds if len(bounds) == 2 else (0, *bounds)), generator=generator)


def normal(mean, std=1.0, size=None, *, generator=None, dtype=DEFAULT):
    if size is not None:
        return normal_(np.zeros(size, dtype), mean, std, generator=generator)
    if isinstance(mean, np.ndarray) and isinstance(std, np.ndarray):
        base = np.zeros(np.broadcast_shapes(mean.shape, std.shape), mean.dtype)
    else:
        base = mean if isinstance(mean, np.ndarray) else std
        base = np.zeros(base.shape, base.dtype)
    return (normal_(base, generator=generator) * std + mean).astype(base.dtype)


def bernoulli(x, *, generator=None):
    return bernoulli_(np.zeros(x.shape, x.dtype), x, generator=generator)


def bernoulli_p(x, p, *, generator=None):
    return bernoulli_number_(np.zeros(x.shape, x.dtype), p, generator=generator)


def multinomial(weights, samples, replacement=False, *, generator=None):
    """With replacement by the cumulative chances; without, those with the greatest weight over an exponential number."""
    stream, rows = Stream(generator), np.atleast_2d(weights)
    if replacement and samples > 1:
        out = []
        for row in rows:
            chances = np.cumsum(row, dtype=row.dtype)
            out.append([int(np.searchsorted((chances / chances[-1]).astype(float), u)) for u in stream.u53(samples)])
    else:
        exponentials = put(like(rows), -np.log1p(-stream.u53(rows.size)))
        out = np.argsort(-(rows / exponentials), axis=1, kind="stable")[:, :samples]
    return np.array(out, np.int64).reshape(*weights.shape[:-1], samples)


# ---- dropout -----------------------------------------------------------------------------------------------------------------


def native_dropout(x, p, train):
    out, noise = _noisy(x, p, train)
    return out, noise != 0 if x.size else noise


def _noisy(x, p, train):
    if train is False or p == 0:
        return x.copy(), np.ones(x.shape, x.dtype)
    if p == 1:
        return np.zeros_like(x), np.zeros(x.shape, x.dtype)
    # In the order of memory.
    order = sorted(range(x.ndim), key=lambda d: -x.strides[d])
    noise = ((Stream().u53(x.size) < 1 - p) / (1 - p)).reshape([x.shape[d] for d in order]).transpose(np.argsort(order)).astype(x.dtype)
    return np.asarray(x * noise, x.dtype), noise


def dropout(x, p, train):
    return native_dropout(x, p, train)[0]


def _channels(x):
    return np.zeros(x.shape[:2] + (1,) * (x.ndim - 2), x.dtype)


def feature_dropout(x, p, train):
    if not train or p in (0, 1) or not x.size:
        return x * (0 if train and p == 1 else 1)
    return (x * bernoulli_number_(_channels(x), 1 - p) / (1 - p)).astype(x.dtype)


def _alpha(x, noise, p):
    """A dropped element becomes the least value of SELU; then mean and variance are as before."""
    alpha = 1.7580993408473766
    a = 1 / math.sqrt((alpha**2 * p + 1) * (1 - p))
    return (a * np.where(noise == 1, x, -alpha) + a * alpha * p).astype(x.dtype)


def alpha_dropout(x, p, train):
    return _alpha(x, bernoulli_number_(like(x), 1 - p), p) if train and 0 < p < 1 and x.size else x * (0 if train and p == 1 else 1)


def feature_alpha_dropout(x, p, train):
    return _alpha(x, bernoulli_number_(_channels(x), 1 - p), p) if train and 0 < p < 1 and x.size else x * (0 if train and p == 1 else 1)


def _inplace(function):
    def apply(x, *args):
        x[...] = function(x, *args)
        return x

    return apply


dropout_, feature_dropout_, alpha_dropout_, feature_alpha_dropout_ = map(_inplace, (dropout, feature_dropout, alpha_dropout, feature_alpha_dropout))


def rrelu_noise(x, lower, upper, generator=None):
    """A draw for each element that is not positive, in rows."""
    stream, out = Stream(generator), np.ones(x.shape, x.dtype)
    for at in np.ndindex(*x.shape):
        if x[at] <= 0:
            out[at] = stream.u53(1)[0] * (upper - lower) + lower
    return out


def rrelu(x, lower=1 / 8, upper=1 / 3, training=False, generator=None):
    return np.where(x > 0, x, x * ((lower + upper) / 2)).astype(x.dtype) if not training else x * rrelu_noise(x, lower, upper, generator)


# ---- distributions that take a varying count of draws -------------------------------------------------------------------------------------------


def _in_rows(draw):
    """A number for each element of arrays that broadcast, drawn in rows."""

    def sample(*parameters, generator=None):
        stream = Stream(generator)
        shape = np.broadcast_shapes(*(p.shape for p in parameters))
        out = [draw(stream, *(p.dtype.type(v) for p, v in zip(parameters, values))) for values in zip(*(np.broadcast_to(p, shape).ravel() for p in parameters))]
        return np.array(out, np.float64).reshape(shape).astype(parameters[0].dtype)

    return sample


def _poisson(stream, rate):
    """Products of fractions; from a rate of 10 on, W. Hoermann's transformed rejection."""
    rate = float(rate)
    u = lambda: float(stream.u53(1)[0])  # noqa: E731
    if rate == 0:
        return 0
    if rate < 10:
        k, product = 0, u()
        while product > math.exp(-rate):
            k, product = k + 1, product * u()
        return k
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    while True:
        x, v = u() - 0.5, u()
        reach = 0.5 - abs(x)
        k = math.floor((2 * a / reach + b) * x + rate + 0.43)
        if reach >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2):
            return k
        if k < 0 or (reach < 0.013 and v > reach):
            continue
        if math.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / reach**2 + b)) <= k * math.log(rate) - rate - math.lgamma(k + 1):
            return k


def _binomial(stream, count, p):
    """Geometric waiting times; where ten or more are expected, W. Hoermann's BTRS."""
    if count <= 0 or p <= 0:
        return 0
    if p >= 1:
        return float(count)
    n, q = float(count), float(min(p, 1 - p))
    u = lambda: float(stream.u53(1)[0])  # noqa: E731
    if n * q < 10:
        hits, trials = 0, math.ceil(math.log(u()) / math.log1p(-q))
        while trials <= n:
            hits, trials = hits + 1, trials + math.ceil(math.log(u()) / math.log1p(-q))
    else:
        spread = math.sqrt(n * q * (1 - q))
        b = 1.15 + 2.53 * spread
        a = -0.0873 + 0.0248 * b + 0.01 * q
        mode, ratio = math.floor((n + 1) * q), q / (1 - q)
        weight = lambda k: math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(ratio)  # noqa: E731
        while True:
            x, v = u() - 0.5, u()
            reach = 0.5 - abs(x)
            hits = math.floor((2 * a / reach + b) * x + n * q + 0.5)
            if reach >= 0.07 and v <= 0.92 - 4.2 / b:
                break
            if 0 <= hits <= n and math.log(v * (2.83 + 5.1 / b) * spread / (a / reach**2 + b)) <= weight(hits) - weight(mode):
                break
    return hits if p <= 0.5 else n - hits


def _gamma(stream, shape):
    """G. Marsaglia and W. W. Tsang's rejection; a shape below 1 is raised by 1, and the number scaled."""
    a, scale = float(shape), 1.0
    u = lambda: 1 - float(stream.u53(1)[0])  # noqa: E731
    if a < 1:
        scale, a = u() ** (1 / a), a + 1
    d = a - float(np.float32(1 / 3))  # PyTorch's third is a float's
    while True:
        y = 0
        while y <= 0:
            x = float(stream.normal_pairs(1)[0])
            y = 1 + x / math.sqrt(9 * d)
        v, w = y**3, u()
        if w < 1 - 0.0331 * x**4 or math.log(w) < 0.5 * x * x + d * (1 - v + math.log(v)):
            return max(scale * d * v, float(np.finfo(shape.dtype).tiny))


poisson, binomial, standard_gamma = map(_in_rows, (_poisson, _binomial, _gamma))


def sample_dirichlet(x, generator=None):
    parts = standard_gamma(np.asarray(x, np.float64), generator=generator)
    return (parts / parts.sum(-1, keepdims=True)).astype(x.dtype)
