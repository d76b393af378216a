"""The rows of ops_peer.py: names, and functions from a module (cresset or torch) to a call to time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Make = Callable[[Any], Callable[[], object]]
UNARY = (
    "abs acos acosh angle asin asinh atan atanh bitwise_not ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac isfinite isinf isnan "
    "isneginf isreal lgamma log log10 log1p log2 logical_not logit nan_to_num neg positive rad2deg reciprocal relu round rsqrt selu sgn sigmoid sign signbit "
    "sin sinc sinh sqrt square tan tanh trunc"
).split()
SPECIAL = (
    "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 entr erfcx expit gammaln i0 i0e i1 i1e log_ndtr modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 "
    "modified_bessel_k1 ndtr ndtri psi scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0"
).split()
BINARY = (
    "add atan2 copysign div eq floor_divide fmax fmin fmod ge gt heaviside hypot isclose ldexp le logaddexp logaddexp2 logical_and logical_or logical_xor lt "
    "maximum minimum mul ne nextafter pow remainder rsub sub true_divide xlogy"
).split()
INTEGER = "add mul sub bitwise_and bitwise_or bitwise_xor floor_divide remainder gcd lcm maximum eq lt bitwise_left_shift bitwise_right_shift div pow".split()
ACTIVATIONS = (
    "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6 selu sigmoid silu softplus softshrink softsign tanh "
    "tanhshrink threshold"
).split()
REDUCTIONS = "all amax amin any argmax argmin count_nonzero logsumexp max mean median min mode nanmean nanmedian nansum norm prod std sum var aminmax std_mean var_mean".split()
SCANS = "cumsum cumprod cummax cummin logcumsumexp".split()


def rows(n: int) -> Iterator[tuple[str, Make]]:
    rng = np.random.default_rng(0)
    side = int(n**0.5)
    x = (rng.standard_normal(n).astype(np.float32)).reshape(side, side)
    y = (rng.standard_normal(n).astype(np.float32)).reshape(side, side)
    unit = rng.random((side, side), dtype=np.float32) * 0.998 + 0.001
    ints = rng.integers(-100, 100, (side, side))
    small = rng.integers(1, 7, (side, side))

    def on(array: np.ndarray, f: Callable[[Any, Any], object]) -> Make:
        def make(m: Any) -> Callable[[], object]:
            t = m.tensor(array)
            return lambda: f(m, t)

        return make

    def on_two(a: np.ndarray, b: np.ndarray, f: Callable[[Any, Any, Any], object]) -> Make:
        def make(m: Any) -> Callable[[], object]:
            t, u = m.tensor(a), m.tensor(b)
            return lambda: f(m, t, u)

        return make

    for name in UNARY:
        data = (
            ints
            if name == "bitwise_not"
            else unit + 1
            if name == "acosh"
            else unit
            if name in ("acos asin atanh erfinv logit log log10 log2 log1p sqrt rsqrt lgamma digamma".split())
            else x
        )
        yield name, on(data, lambda m, t, name=name: getattr(m, name)(t))
    yield "lgamma_negative", on(x * 10, lambda m, t: m.lgamma(t))
    yield "digamma_negative", on(x * 10, lambda m, t: m.digamma(t))
    yield "polygamma_1", on(unit + 1, lambda m, t: m.polygamma(1, t))
    yield "sin_large", on(x * 1e4, lambda m, t: m.sin(t))
    for name in ("exp", "log", "sin", "cos", "tanh", "lgamma", "erf", "sqrt", "sigmoid", "pow"):
        f = (lambda m, t: m.pow(t, t)) if name == "pow" else lambda m, t, name=name: getattr(m, name)(t)
        yield f"{name}_double", on((unit + 0.5).astype(np.float64), f)
        yield f"{name}_bfloat16", (lambda f=f: lambda m: (lambda t: lambda: f(m, t))(m.tensor(unit).to(m.bfloat16)))()
    for name in ("exp", "log", "sqrt", "sin", "tanh", "abs", "angle", "sigmoid"):
        yield f"{name}_complex", on((x + 1j * y).astype(np.complex64), lambda m, t, name=name: getattr(m, name)(t))
    for name in SPECIAL:
        data = unit if name in ("ndtri", "entr") else unit * 5
        yield f"special_{name}", on(data, lambda m, t, name=name: getattr(m.special, name)(t))
    yield "special_zeta", on_two(unit + 1.5, unit + 1, lambda m, t, u: m.special.zeta(t, u))
    yield "special_xlog1py", on_two(x, unit, lambda m, t, u: m.special.xlog1py(t, u))
    yield "igamma", on_two(unit * 5, unit * 5 + 1, lambda m, t, u: m.igamma(t, u))
    yield "multigammaln", on(unit + 3, lambda m, t: m.mvlgamma(t, 2))
    yield "chebyshev_polynomial_t", on(x, lambda m, t: m.special.chebyshev_polynomial_t(t, 5))
    for name in BINARY:
        yield name, on_two(unit if name in ("pow", "xlogy") else x, unit if name == "xlogy" else y, lambda m, t, u, name=name: getattr(m, name)(t, u))
    for name in ("pow_2", "pow_3", "pow_half", "pow_2.5", "pow_-1"):
        exponent = {"half": 0.5}.get(name[4:]) or float(name[4:])
        yield name, on(unit, lambda m, t, exponent=exponent: m.pow(t, exponent))
    yield "pow_of_number", on(x, lambda m, t: m.pow(2.5, t))
    for name in INTEGER:
        yield f"{name}_int64", on_two(ints, small, lambda m, t, u, name=name: getattr(m, name)(t, u))
        yield f"{name}_int32", on_two(ints.astype(np.int32), small.astype(np.int32), lambda m, t, u, name=name: getattr(m, name)(t, u))
    for dtype in ("bfloat16", "float16", "complex64", "float64", "uint8", "bool"):
        yield f"add_{dtype}", (lambda dtype=dtype: lambda m: (lambda t: lambda: m.add(t, t))(m.tensor(small).to(getattr(m, dtype))))()
        yield f"mul_{dtype}", (lambda dtype=dtype: lambda m: (lambda t: lambda: m.mul(t, t))(m.tensor(small).to(getattr(m, dtype))))()
        yield f"sum_{dtype}", (lambda dtype=dtype: lambda m: (lambda t: lambda: m.sum(t))(m.tensor(small).to(getattr(m, dtype))))()
    yield "add_broadcast", on_two(x, y[:1], lambda m, t, u: m.add(t, u))
    yield "add_column", on_two(x, y[:, :1], lambda m, t, u: m.add(t, u))
    yield "add_transposed", on_two(x, y, lambda m, t, u: m.add(t, u.t()))
    yield "add_mixed", on_two(x, ints, lambda m, t, u: m.add(t, u))
    yield "addcmul", on_two(x, y, lambda m, t, u: m.addcmul(t, t, u))
    yield "addcdiv", on_two(x, unit, lambda m, t, u: m.addcdiv(t, t, u))
    yield "lerp", on_two(x, y, lambda m, t, u: m.lerp(t, u, 0.3))
    yield "where", on_two(x, y, lambda m, t, u: m.where(t > 0, t, u))
    yield "clamp", on(x, lambda m, t: m.clamp(t, -1, 1))
    yield "masked_fill", on(x, lambda m, t: m.masked_fill(t, t > 0, 1.0))
    for name in ACTIVATIONS:
        f = (lambda m, t: m.nn.functional.threshold(t, 0.1, 1.0)) if name == "threshold" else lambda m, t, name=name: getattr(m.nn.functional, name)(t)
        yield f"F_{name}", on(x, f)
    for name in ("softmax", "log_softmax", "softmin", "normalize", "glu"):
        yield f"F_{name}", on(x, lambda m, t, name=name: getattr(m.nn.functional, name)(t, dim=-1))
    yield "F_softmax_dim0", on(x, lambda m, t: m.softmax(t, 0))
    for name in REDUCTIONS:
        if name not in ("logsumexp", "mode"):
            yield name, on(x, lambda m, t, name=name: getattr(m, name)(t))
        if name != "norm":
            for dim in (0, 1):
                yield f"{name}_dim{dim}", on(x, lambda m, t, name=name, dim=dim: getattr(m, name)(t, dim=dim))
    yield "sum_int64", on(ints, lambda m, t: m.sum(t))
    yield "prod_int64", on(ints, lambda m, t: m.prod(t))
    yield "max_int64_dim1", on(ints, lambda m, t: m.max(t, 1))
    for p in ("0", "1", "2", "3", "inf", "-inf", "2.5"):
        yield f"vector_norm_{p}", on(x, lambda m, t, p=p: m.linalg.vector_norm(t, float(p)))
        yield f"vector_norm_{p}_dim0", on(x, lambda m, t, p=p: m.linalg.vector_norm(t, float(p), 0))
        yield f"vector_norm_{p}_dim1", on(x, lambda m, t, p=p: m.linalg.vector_norm(t, float(p), 1))
    for p in ("fro", "inf", "1"):
        yield f"matrix_norm_{p}", on(x, lambda m, t, p=p: m.linalg.matrix_norm(t, p if p == "fro" else float(p)))
    yield "norm_complex", on((x + 1j * y).astype(np.complex64), lambda m, t: m.linalg.vector_norm(t))
    yield "renorm", on(x, lambda m, t: m.renorm(t, 2, 0, 1.0))
    for name in SCANS:
        for dim in (0, 1):
            yield f"{name}_dim{dim}", on(x, lambda m, t, name=name, dim=dim: getattr(m, name)(t, dim))
        yield f"{name}_flat", on(x.reshape(-1), lambda m, t, name=name: getattr(m, name)(t, 0))
    for name in ("cumsum", "cumprod", "cummax"):
        for dtype in (np.int64, np.int32):
            for dim in (0, 1):
                yield f"{name}_{np.dtype(dtype).name}_dim{dim}", on(ints.astype(dtype), lambda m, t, name=name, dim=dim: getattr(m, name)(t, dim))
    yield "cumsum_bool_dim1", on(ints > 0, lambda m, t: m.cumsum(t, 1))
    yield "cumsum_double_dim1", on(x.astype(np.float64), lambda m, t: m.cumsum(t, 1))
    yield "diff", on(x, lambda m, t: m.diff(t))
    yield "trapezoid", on(x, lambda m, t: m.trapezoid(t))
    yield "cumulative_trapezoid", on(x, lambda m, t: m.cumulative_trapezoid(t))
    yield "gradient", on(x, lambda m, t: m.gradient(t))
    yield from ordering(on, on_two, x, y, ints, side)
    yield from indexing(on, on_two, x, y, ints, side)
    yield from shaping(on, on_two, x, y, side)
    yield from network(rng)
    yield from products(rng, x, y, side)
    yield from spectra(rng, x, y)
    yield from sampling(x, unit)


def ordering(on: Any, on_two: Any, x: np.ndarray, y: np.ndarray, ints: np.ndarray, side: int) -> Iterator[tuple[str, Make]]:
    flat, flat_ints = x.reshape(-1), ints.reshape(-1)
    for name in ("sort", "argsort", "msort", "unique", "unique_consecutive"):
        yield f"{name}_flat", on(flat, lambda m, t, name=name: getattr(m, name)(t))
        yield f"{name}_int64_flat", on(flat_ints, lambda m, t, name=name: getattr(m, name)(t))
    yield "sort_dim1", on(x, lambda m, t: m.sort(t, 1))
    yield "sort_dim0", on(x, lambda m, t: m.sort(t, 0))
    yield "sort_stable", on(x, lambda m, t: m.sort(t, dim=1, stable=True))
    yield "unique_inverse", on(flat_ints, lambda m, t: m.unique(t, return_inverse=True, return_counts=True))
    yield "unique_dim0", on(ints[:, :4] % 5, lambda m, t: m.unique(t, dim=0))
    yield "topk_flat", on(flat, lambda m, t: m.topk(t, 50))
    yield "topk_dim1", on(x, lambda m, t: m.topk(t, 10))
    yield "topk_dim0", on(x, lambda m, t: m.topk(t, 10, dim=0))
    for name in ("kthvalue",):
        yield f"{name}_flat", on(flat, lambda m, t: m.kthvalue(t, 1000))
        yield f"{name}_dim1", on(x, lambda m, t: m.kthvalue(t, 100, dim=1))
        yield f"{name}_dim0", on(x, lambda m, t: m.kthvalue(t, 100, dim=0))
    yield "quantile", on(flat, lambda m, t: m.quantile(t, 0.3))
    yield "quantile_dim1", on(x, lambda m, t: m.quantile(t, 0.3, dim=1))
    yield "nanquantile_dim1", on(x, lambda m, t: m.nanquantile(t, 0.3, dim=1))
    yield "mode_int64_dim1", on(ints, lambda m, t: m.mode(t, 1))
    yield "histc", on(flat, lambda m, t: m.histc(t, 100))
    yield "histogram", on(flat, lambda m, t: m.histogram(t, 100))
    yield "histogramdd", on(x.reshape(-1, 2), lambda m, t: m.histogramdd(t, [20, 20]))
    yield "bincount", on(flat_ints + 100, lambda m, t: m.bincount(t))
    yield "bincount_weights", on_two(flat_ints + 100, flat, lambda m, t, u: m.bincount(t, u))
    edges = np.sort(y.reshape(-1)[:1000])
    yield "searchsorted", on_two(edges, flat, lambda m, t, u: m.searchsorted(t, u))
    yield "searchsorted_rows", on_two(np.sort(y, 1), x, lambda m, t, u: m.searchsorted(t, u))
    yield "bucketize", on_two(flat, edges, lambda m, t, u: m.bucketize(t, u))
    yield "isin", on_two(flat_ints, flat_ints[:20], lambda m, t, u: m.isin(t, u))
    yield "isin_many", on_two(flat_ints, flat_ints[:2000] * 7, lambda m, t, u: m.isin(t, u))


def indexing(on: Any, on_two: Any, x: np.ndarray, y: np.ndarray, ints: np.ndarray, side: int) -> Iterator[tuple[str, Make]]:
    rng = np.random.default_rng(1)
    flat = x.reshape(-1)
    where_to = rng.integers(0, side, (side, side))
    lines = rng.integers(0, side, side)
    anywhere = rng.integers(0, flat.size, flat.size)
    yield "index_rows", on_two(x, lines, lambda m, t, i: t[i])
    yield "index_columns", on_two(x, lines, lambda m, t, i: t[:, i])
    yield "index_flat", on_two(flat, anywhere, lambda m, t, i: t[i])
    yield "index_pairs", on_two(x, where_to, lambda m, t, i: t[i, i])
    yield "index_mask", on(x, lambda m, t: t[t > 0])
    for dim in (0, 1):
        yield f"index_select_dim{dim}", on_two(x, lines, lambda m, t, i, dim=dim: m.index_select(t, dim, i))
        yield f"gather_dim{dim}", on_two(x, where_to, lambda m, t, i, dim=dim: m.gather(t, dim, i))
        yield f"scatter_dim{dim}", on_two(x, where_to, lambda m, t, i, dim=dim: m.scatter(t, dim, i, t))
        yield f"scatter_add_dim{dim}", on_two(x, where_to, lambda m, t, i, dim=dim: m.scatter_add(t, dim, i, t))
        for reduce in ("sum", "prod", "mean", "amax"):
            yield f"scatter_reduce_{reduce}_dim{dim}", on_two(x, where_to, lambda m, t, i, dim=dim, reduce=reduce: m.scatter_reduce(t, dim, i, t, reduce))
        yield f"index_add_dim{dim}", on_two(x, lines, lambda m, t, i, dim=dim: m.index_add(t, dim, i, t))
        yield f"index_copy_dim{dim}", on_two(x, lines, lambda m, t, i, dim=dim: m.index_copy(t, dim, i, t))
        yield f"index_fill_dim{dim}", on_two(x, lines, lambda m, t, i, dim=dim: m.index_fill(t, dim, i, 1.0))
        yield f"index_reduce_amax_dim{dim}", on_two(x, lines, lambda m, t, i, dim=dim: m.index_reduce(t, dim, i, t, "amax"))
    yield "scatter_add_flat", on_two(flat, anywhere, lambda m, t, i: m.scatter_add(t, 0, i, t))
    yield "index_add_flat", on_two(flat, anywhere, lambda m, t, i: m.index_add(t, 0, i, t))
    yield "index_put_rows", on_two(x, lines, lambda m, t, i: m.index_put(t, (i,), t))
    yield "index_put_flat", on_two(flat, anywhere, lambda m, t, i: m.index_put(t, (i,), t))
    yield "index_put_accumulate_rows", on_two(x, lines, lambda m, t, i: m.index_put(t, (i,), t, accumulate=True))
    yield "index_put_accumulate_flat", on_two(flat, anywhere, lambda m, t, i: m.index_put(t, (i,), t, accumulate=True))
    yield "index_put_pairs", on_two(x, where_to, lambda m, t, i: m.index_put(t, (i, i), t))
    yield "index_put_mask", on(x, lambda m, t: m.index_put(t, (t > 0,), m.tensor(1.0)))
    yield "take", on_two(x, anywhere, lambda m, t, i: m.take(t, i))
    yield "put", on_two(x, anywhere, lambda m, t, i: m.put(t, i, t.view(-1)))
    yield "take_along_dim", on_two(x, where_to, lambda m, t, i: m.take_along_dim(t, i, 1))
    yield "masked_select", on(x, lambda m, t: m.masked_select(t, t > 0))
    yield "masked_scatter", on(x, lambda m, t: m.masked_scatter(t, t > 0, t))
    yield "nonzero", on(x, lambda m, t: m.nonzero(t > 0))
    yield "one_hot", on(ints.reshape(-1)[:50000] % 20, lambda m, t: m.nn.functional.one_hot(t, 20))
    yield "embedding", on_two(x, ints % side, lambda m, t, i: m.nn.functional.embedding(i[:64], t))
    yield "embedding_bag", on_two(x, ints % side, lambda m, t, i: m.nn.functional.embedding_bag(i[:64, :32], t))


def shaping(on: Any, on_two: Any, x: np.ndarray, y: np.ndarray, side: int) -> Iterator[tuple[str, Make]]:
    yield "clone", on(x, lambda m, t: t.clone())
    yield "transpose_copy", on(x, lambda m, t: t.t().contiguous())
    yield "permute_copy", on(x.reshape(16, 64, -1), lambda m, t: t.permute(2, 0, 1).contiguous())
    yield "cat_dim0", on_two(x, y, lambda m, t, u: m.cat((t, u), 0))
    yield "cat_dim1", on_two(x, y, lambda m, t, u: m.cat((t, u), 1))
    yield "stack_last", on_two(x, y, lambda m, t, u: m.stack((t, u), -1))
    yield "flip", on(x, lambda m, t: m.flip(t, (0, 1)))
    yield "fliplr", on(x, lambda m, t: m.fliplr(t))
    yield "roll", on(x, lambda m, t: m.roll(t, (3, 5), (0, 1)))
    yield "rot90", on(x, lambda m, t: m.rot90(t))
    yield "repeat", on(x[:256], lambda m, t: t.repeat(2, 2))
    yield "repeat_interleave", on(x[:256], lambda m, t: m.repeat_interleave(t, 4, 0))
    yield "repeat_interleave_last", on(x[:256], lambda m, t: m.repeat_interleave(t, 4, 1))
    yield "tile", on(x[:256], lambda m, t: m.tile(t, (2, 2)))
    yield "tril", on(x, lambda m, t: m.tril(t))
    yield "diag_embed", on(x[:, :32], lambda m, t: m.diag_embed(t))
    yield "kron", on(x[:32, :32], lambda m, t: m.kron(t, t))
    yield "block_diag", on(x[:256, :256], lambda m, t: m.block_diag(t, t, t, t))
    yield "meshgrid", on(x[0], lambda m, t: [g.contiguous() for g in m.meshgrid(t, t, indexing="ij")])
    yield "cartesian_prod", on(x[0], lambda m, t: m.cartesian_prod(t, t))
    yield "combinations", on(x[0], lambda m, t: m.combinations(t))
    yield "full", on(x[:1], lambda m, t: m.full((side, side), 3.0))
    yield "arange", on(x[:1], lambda m, t: m.arange(side * side))
    yield "arange_float", on(x[:1], lambda m, t: m.arange(0.0, side * side, 1.0))
    yield "linspace", on(x[:1], lambda m, t: m.linspace(0, 1, side * side))
    yield "logspace", on(x[:1], lambda m, t: m.logspace(0, 1, side * side))
    yield "eye", on(x[:1], lambda m, t: m.eye(side))
    yield "tril_indices", on(x[:1], lambda m, t: m.tril_indices(side, side))
    yield "to_double", on(x, lambda m, t: t.double())
    yield "to_int64", on(x, lambda m, t: t.long())
    yield "to_half", on(x, lambda m, t: t.half())
    yield "to_bfloat16", on(x, lambda m, t: t.bfloat16())
    yield "to_bool", on(x, lambda m, t: t.bool())
    yield "to_uint8", on(x, lambda m, t: (t * t).byte())
    yield "complex", on_two(x, y, lambda m, t, u: m.complex(t, u))
    yield "polar", on_two(x, y, lambda m, t, u: m.polar(t, u))
    yield "vander", on(x[0], lambda m, t: m.vander(t, 64))
    yield "frexp", on(x, lambda m, t: m.frexp(t))
    yield "equal", on_two(x, x.copy(), lambda m, t, u: m.equal(t, u))
    yield "allclose", on_two(x, x.copy(), lambda m, t, u: m.allclose(t, u))
    for mode in ("constant", "reflect", "replicate", "circular"):
        yield f"pad_{mode}", on(x.reshape(1, 64, 128, -1), lambda m, t, mode=mode: m.nn.functional.pad(t, (2, 3, 2, 3), mode=mode))


def network(rng: np.random.Generator) -> Iterator[tuple[str, Make]]:
    def data(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    def both(name: str, arrays: tuple[np.ndarray, ...], f: Callable[..., Any], grads: int = 1) -> Iterator[tuple[str, Make]]:
        """A forward row, and one with the gradients of the first `grads` arguments."""

        def forward(m: Any) -> Callable[[], object]:
            tensors = [m.tensor(a) for a in arrays]
            return lambda: f(m, *tensors)

        def backward(m: Any) -> Callable[[], object]:
            tensors = [m.tensor(a) for a in arrays]
            for t in tensors[:grads]:
                t.requires_grad_(True)

            # Weights of no pattern: sums of normalised rows have gradients of zero, whose last bits are all that there is to compare.
            shape = f(m, *tensors).shape
            weights = m.arange(int(np.prod(shape)), dtype=m.float32).cos().reshape(shape)

            def step() -> object:
                return m.autograd.grad(f(m, *tensors), tensors[:grads], weights)

            return step

        yield name, forward
        if grads:
            yield f"{name}_backward", backward

    image = data(4, 16, 128, 128)
    volume = data(2, 8, 40, 40, 40)
    line = data(16, 64, 1024)
    for d, array in ((1, line), (2, image), (3, volume)):
        for kind in ("max", "avg", "lp"):
            if kind == "lp":
                f = lambda m, t, d=d: getattr(m.nn.functional, f"lp_pool{d}d")(t, 2.0, 2)
            else:
                f = lambda m, t, d=d, kind=kind: getattr(m.nn.functional, f"{kind}_pool{d}d")(t, 3, 2, 1)
            yield from both(f"{kind}_pool{d}d", (array,), f)
            if kind != "lp":
                yield from both(f"adaptive_{kind}_pool{d}d", (array,), lambda m, t, d=d, kind=kind: getattr(m.nn.functional, f"adaptive_{kind}_pool{d}d")(t, 7))
        modes = {1: ("nearest", "linear"), 2: ("nearest", "bilinear", "bicubic"), 3: ("nearest", "trilinear")}[d]
        for mode in modes:
            yield from both(f"interpolate{d}d_{mode}", (array[:1],), lambda m, t, mode=mode: m.nn.functional.interpolate(t, scale_factor=2, mode=mode))
        yield from both(f"instance_norm{d}d", (array,), lambda m, t: m.nn.functional.instance_norm(t))
        yield from both(f"batch_norm{d}d", (array,), lambda m, t: m.nn.functional.batch_norm(t, None, None, training=True))
        c = array.shape[1]
        yield from both(f"conv{d}d", (array[:1], data(c, c, *(3,) * d)), lambda m, t, w, d=d: getattr(m.nn.functional, f"conv{d}d")(t, w, padding=1), 2)
        yield from both(
            f"conv_transpose{d}d", (array[:1], data(c, c, *(3,) * d)), lambda m, t, w, d=d: getattr(m.nn.functional, f"conv_transpose{d}d")(t, w, stride=2), 2
        )
        yield from both(
            f"conv{d}d_grouped", (array[:1], data(c, 1, *(3,) * d)), lambda m, t, w, d=d, c=c: getattr(m.nn.functional, f"conv{d}d")(t, w, groups=c), 2
        )
    yield from both("interpolate2d_antialias", (image,), lambda m, t: m.nn.functional.interpolate(t, size=50, mode="bilinear", antialias=True))
    yield from both("interpolate2d_area", (image,), lambda m, t: m.nn.functional.interpolate(t, size=50, mode="area"))
    yield from both("layer_norm", (data(1024, 1024),), lambda m, t: m.nn.functional.layer_norm(t, (1024,)))
    yield from both("rms_norm", (data(1024, 1024),), lambda m, t: m.nn.functional.rms_norm(t, (1024,)))
    yield from both("group_norm", (image,), lambda m, t: m.nn.functional.group_norm(t, 4))
    yield from both("local_response_norm", (image,), lambda m, t: m.nn.functional.local_response_norm(t, 5))
    grid = rng.uniform(-1, 1, (4, 128, 128, 2)).astype(np.float32)
    for mode in ("bilinear", "nearest", "bicubic"):
        yield from both(f"grid_sample_{mode}", (image, grid), lambda m, t, g, mode=mode: m.nn.functional.grid_sample(t, g, mode=mode, align_corners=False), 2)
    yield from both("affine_grid", (data(4, 2, 3),), lambda m, t: m.nn.functional.affine_grid(t, (4, 3, 128, 128), align_corners=False))
    yield from both("unfold", (image,), lambda m, t: m.nn.functional.unfold(t, 3, padding=1))
    yield from both("fold", (data(4, 64, 64 * 64),), lambda m, t: m.nn.functional.fold(t, 128, 2, stride=2))
    yield from both("pixel_shuffle", (image,), lambda m, t: m.nn.functional.pixel_shuffle(t, 4))
    yield from both("channel_shuffle", (image,), lambda m, t: m.nn.functional.channel_shuffle(t, 4), 0)
    labels = rng.integers(0, 1024, 1024)
    scores, scores2 = data(1024, 1024), data(1024, 1024)
    yield from both("cross_entropy", (scores, labels), lambda m, t, i: m.nn.functional.cross_entropy(t, i))
    yield from both("nll_loss", (scores, labels), lambda m, t, i: m.nn.functional.nll_loss(t, i))
    for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "poisson_nll_loss", "soft_margin_loss", "binary_cross_entropy_with_logits"):
        yield from both(name, (scores, scores2), lambda m, t, u, name=name: getattr(m.nn.functional, name)(t, u))
    yield from both(
        "binary_cross_entropy",
        (rng.random((1024, 1024), dtype=np.float32), rng.random((1024, 1024), dtype=np.float32)),
        lambda m, t, u: m.nn.functional.binary_cross_entropy(t, u),
    )
    yield from both("gaussian_nll_loss", (scores, scores2, scores * scores), lambda m, t, u, v: m.nn.functional.gaussian_nll_loss(t, u, v))
    yield from both("multi_margin_loss", (scores, labels), lambda m, t, i: m.nn.functional.multi_margin_loss(t, i))
    yield from both(
        "multilabel_margin_loss",
        (scores, np.where(np.arange(1024) < 20, rng.integers(0, 1024, (1024, 1024)), -1)),
        lambda m, t, i: m.nn.functional.multilabel_margin_loss(t, i),
    )
    yield from both(
        "multilabel_soft_margin_loss", (scores, (scores2 > 0).astype(np.float32)), lambda m, t, u: m.nn.functional.multilabel_soft_margin_loss(t, u)
    )
    yield from both("hinge_embedding_loss", (scores, np.sign(scores2)), lambda m, t, u: m.nn.functional.hinge_embedding_loss(t, u))
    yield from both("margin_ranking_loss", (scores, scores2, np.sign(scores2)), lambda m, t, u, v: m.nn.functional.margin_ranking_loss(t, u, v))
    yield from both("triplet_margin_loss", (scores, scores2, scores - scores2), lambda m, t, u, v: m.nn.functional.triplet_margin_loss(t, u, v))
    yield from both("cosine_embedding_loss", (scores, scores2, np.sign(scores2[0])), lambda m, t, u, v: m.nn.functional.cosine_embedding_loss(t, u, v))
    yield from both("cosine_similarity", (scores, scores2), lambda m, t, u: m.nn.functional.cosine_similarity(t, u), 2)
    yield from both("pairwise_distance", (scores, scores2), lambda m, t, u: m.nn.functional.pairwise_distance(t, u), 2)
    ctc, words = data(100, 16, 30), rng.integers(1, 30, (16, 20))
    yield (
        "ctc_loss",
        lambda m: (lambda t, i, a, b: lambda: m.nn.functional.ctc_loss(t, i, a, b))(
            m.tensor(ctc).log_softmax(-1), m.tensor(words), m.full((16,), 100), m.full((16,), 20)
        ),
    )
    for p in (0.0, 1.0, 2.0, 3.0, float("inf")):
        yield from both(f"cdist_{p}", (data(512, 64), data(512, 64)), lambda m, t, u, p=p: m.cdist(t, u, p), 2)
        yield from both(f"pdist_{p}", (data(512, 64),), lambda m, t, p=p: m.pdist(t, p))
    yield from both("cdist_2_no_mm", (data(512, 64), data(512, 64)), lambda m, t, u: m.cdist(t, u, 2.0, "donot_use_mm_for_euclid_dist"), 2)
    yield from both("cdist_2_small", (data(64, 16, 3), data(64, 16, 3)), lambda m, t, u: m.cdist(t, u), 2)
    q = data(4, 8, 128, 64)
    yield from both("attention", (q, q, q), lambda m, t, u, v: m.nn.functional.scaled_dot_product_attention(t, u, v), 3)
    yield from both("prelu", (scores, data(1)), lambda m, t, w: m.nn.functional.prelu(t, w), 2)
    for name in ("relu", "gelu", "silu", "sigmoid", "tanh", "softplus", "elu", "mish", "hardswish", "logsigmoid"):
        yield next(r for r in both(f"F_{name}", (scores,), lambda m, t, name=name: getattr(m.nn.functional, name)(t)) if r[0].endswith("backward"))
    for name in ("softmax", "log_softmax", "logsumexp", "cumsum", "cumprod", "prod", "amax", "median", "sort", "norm", "var"):

        def f(m: Any, t: Any, name: str = name) -> Any:
            out = getattr(m, name)(t, dim=1) if name not in ("softmax", "log_softmax", "logsumexp", "cumsum", "cumprod") else getattr(m, name)(t, 1)
            return out if isinstance(out, m.Tensor) else out[0]

        yield next(r for r in both(name, (scores,), f) if r[0].endswith("backward"))


def products(rng: np.random.Generator, x: np.ndarray, y: np.ndarray, side: int) -> Iterator[tuple[str, Make]]:
    def data(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float32)

    def call(f: Callable[..., object], *arrays: np.ndarray) -> Make:
        def make(m: Any) -> Callable[[], object]:
            tensors = [m.tensor(a) for a in arrays]
            return lambda: f(m, *tensors)

        return make

    yield "mm_256", call(lambda m, a, b: m.mm(a, b), data(256, 256), data(256, 256))
    yield "mm_256_double", call(lambda m, a, b: m.mm(a, b), data(256, 256).astype(np.float64), data(256, 256).astype(np.float64))
    yield "mm_256_complex", call(lambda m, a, b: m.mm(a, b), data(256, 256) + 1j * data(256, 256), data(256, 256) + 1j * data(256, 256))
    yield "mm_256_int64", call(lambda m, a, b: m.mm(a, b), rng.integers(0, 9, (256, 256)), rng.integers(0, 9, (256, 256)))
    square = data(256, 256)
    yield "mm_256_bfloat16", lambda m: (lambda a: lambda: m.mm(a, a))(m.tensor(square).bfloat16())
    yield "mm_256_half", lambda m: (lambda a: lambda: m.mm(a, a))(m.tensor(square).half())
    for b, k in ((10000, 2), (10000, 3), (10000, 4), (4096, 8), (1024, 16), (256, 32), (64, 64)):
        yield f"bmm_{b}x{k}", call(lambda m, s, t: m.bmm(s, t), data(b, k, k), data(b, k, k))
        yield f"bmm_{b}x{k}_double", call(lambda m, s, t: m.bmm(s, t), data(b, k, k).astype(np.float64), data(b, k, k).astype(np.float64))
        yield f"bmm_{b}x{k}_transposed", call(lambda m, s, t: m.bmm(s, t.mT), data(b, k, k), data(b, k, k))
    yield "mv", call(lambda m, a, v: m.mv(a, v), data(1024, 1024), data(1024))
    yield "mv_transposed", call(lambda m, a, v: m.mv(a.t(), v), data(1024, 1024), data(1024))
    yield "dot", call(lambda m, a, b: m.dot(a, b), data(1 << 20), data(1 << 20))
    yield "outer", call(lambda m, a, b: m.outer(a, b), data(1024), data(1024))
    yield "baddbmm", call(lambda m, c, a, b: m.baddbmm(c, a, b), data(64, 64, 64), data(64, 64, 64), data(64, 64, 64))
    yield "einsum_bij_bjk", call(lambda m, a, b: m.einsum("bij,bjk->bik", a, b), data(64, 64, 64), data(64, 64, 64))
    yield "einsum_ij_kj", call(lambda m, a, b: m.einsum("ij,kj->ik", a, b), data(256, 256), data(256, 256))
    yield "einsum_bhqd_bhkd", call(lambda m, a, b: m.einsum("bhqd,bhkd->bhqk", a, b), data(4, 8, 64, 32), data(4, 8, 64, 32))
    yield "tensordot", call(lambda m, a, b: m.tensordot(a, b, 2), data(64, 32, 32), data(32, 32, 64))
    yield "bilinear", call(lambda m, a, b, w: m.nn.functional.bilinear(a, b, w), data(128, 32), data(128, 32), data(32, 32, 32))
    yield "addmm", call(lambda m, c, a, b: m.addmm(c, a, b), data(256), data(256, 256), data(256, 256))
    yield "addr", call(lambda m, c, a, b: m.addr(c, a, b), data(1024, 1024), data(1024), data(1024))
    yield "cross", call(lambda m, a, b: m.linalg.cross(a, b), data(300000, 3), data(300000, 3))
    yield "vecdot", call(lambda m, a, b: m.linalg.vecdot(a, b), data(1024, 1024), data(1024, 1024))
    yield "cov", call(lambda m, a: m.cov(a), data(128, 1024))
    yield "trace", call(lambda m, a: m.trace(a), data(1024, 1024))
    for shape in ((1000, 4, 4), (200, 16, 16), (32, 64, 64), (128, 128), (512, 512)):
        text = f"{shape[0]}x{shape[1]}" if len(shape) == 3 else str(shape[0])
        a = data(*shape)
        spd = a @ a.swapaxes(-1, -2) + np.eye(shape[-1], dtype=np.float32)
        rhs = data(*shape)
        for name in ("inv", "det", "slogdet", "qr", "svd", "svdvals", "lu_factor", "pinv", "matrix_exp", "eig", "matrix_rank"):
            if shape[-1] < 512 or name in ("inv", "det", "qr", "svd", "lu_factor"):
                yield f"linalg_{name}_{text}", call(lambda m, t, name=name: getattr(m.linalg, name)(t), a / shape[-1] ** 0.5)
        for name in ("cholesky", "eigh", "eigvalsh"):
            yield f"linalg_{name}_{text}", call(lambda m, t, name=name: getattr(m.linalg, name)(t), spd)
        yield f"linalg_solve_{text}", call(lambda m, t, b: m.linalg.solve(t, b), a, rhs)
        yield f"linalg_solve_triangular_{text}", call(lambda m, t, b: m.linalg.solve_triangular(t, b, upper=False), np.tril(spd), rhs)
        yield f"cholesky_solve_{text}", call(lambda m, t, b: m.cholesky_solve(b, t), np.tril(spd), rhs)
        if shape[-1] < 512:
            yield f"linalg_lstsq_{text}", call(lambda m, t, b: m.linalg.lstsq(t, b), a, rhs)
            yield f"matrix_power_{text}", call(lambda m, t: m.linalg.matrix_power(t, 5), a / shape[-1] ** 0.5)


def spectra(rng: np.random.Generator, x: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, Make]]:
    z = (x + 1j * y).astype(np.complex64)

    def call(f: Callable[..., object], *arrays: np.ndarray) -> Make:
        def make(m: Any) -> Callable[[], object]:
            tensors = [m.tensor(a) for a in arrays]
            return lambda: f(m, *tensors)

        return make

    for n in (1000, 1009, 1024):
        yield f"fft_rows_{n}", call(lambda m, t: m.fft.fft(t), z[:, : min(n, z.shape[1])] if n <= z.shape[1] else z)
    yield "fft_flat", call(lambda m, t: m.fft.fft(t), z.reshape(-1))
    yield "fft_dim0", call(lambda m, t: m.fft.fft(t, dim=0), z)
    yield "ifft_rows", call(lambda m, t: m.fft.ifft(t), z)
    yield "rfft_rows", call(lambda m, t: m.fft.rfft(t), x)
    yield "rfft_flat", call(lambda m, t: m.fft.rfft(t), x.reshape(-1))
    yield "irfft_rows", call(lambda m, t: m.fft.irfft(t), z)
    yield "hfft_rows", call(lambda m, t: m.fft.hfft(t), z)
    yield "fft2", call(lambda m, t: m.fft.fft2(t), z)
    yield "rfft2", call(lambda m, t: m.fft.rfft2(t), x)
    yield "fft_double", call(lambda m, t: m.fft.fft(t), z.astype(np.complex128))
    yield "fftn_64", call(lambda m, t: m.fft.fftn(t), z.reshape(64, 64, 256))
    yield "fftshift", call(lambda m, t: m.fft.fftshift(t), x)
    yield "stft", call(lambda m, t: m.stft(t, 512, 128, window=m.hann_window(512), return_complex=True), x.reshape(16, -1))
    yield "istft", call(lambda m, t: m.istft(t, 512, 128, window=m.hann_window(512)), (rng.standard_normal((4, 257, 500)) + 0j).astype(np.complex64))


def sampling(x: np.ndarray, unit: np.ndarray) -> Iterator[tuple[str, Make]]:
    n = x.size

    def make(f: Callable[[Any, Any], object]) -> Make:
        def build(m: Any) -> Callable[[], object]:
            t = m.tensor(unit)
            return lambda: f(m, t)

        return build

    for name in ("rand", "randn", "randperm"):
        yield name, make(lambda m, t, name=name: getattr(m, name)(n))
    yield "randint", make(lambda m, t: m.randint(0, 100, (n,)))
    for name in ("bernoulli", "poisson"):
        yield name, make(lambda m, t, name=name: getattr(m, name)(t))
    for name in ("uniform_", "normal_", "exponential_", "cauchy_", "log_normal_", "random_"):
        yield name, (lambda name=name: lambda m: (lambda t: lambda: getattr(t, name)())(m.empty(n)))()
    yield "geometric_", lambda m: (lambda t: lambda: t.geometric_(0.3))(m.empty(n))
    yield "multinomial", make(lambda m, t: m.multinomial(t[0], 1000, replacement=True))
    yield "multinomial_without", make(lambda m, t: m.multinomial(t[:64], 100))
    yield "dropout", make(lambda m, t: m.nn.functional.dropout(t))
    yield "gamma", make(lambda m, t: m._standard_gamma(t))
    yield "dirichlet", make(lambda m, t: m._sample_dirichlet(t))
    yield "binomial", make(lambda m, t: m.binomial(m.full_like(t, 20.0), t))
    yield "gumbel_softmax", make(lambda m, t: m.nn.functional.gumbel_softmax(t))
