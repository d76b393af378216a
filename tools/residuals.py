#!/usr/bin/env python3
"""Backward errors of linear algebra as LAPACK's testing suite measures them: one row for each routine and dtype.

    PYTHONPATH=build/release/python python tools/residuals.py [--only REGEX] [--table FILE]

Each is a residual over the norms that enter it, the order and the machine's epsilon; LAPACK holds a routine for broken above 30. Every call
is one batch of matrices of all kinds: random, graded, close to singular, deficient, of norm 1e-30 and 1e30 (1e-150 and 1e150 in double).
Beside ours stand NumPy's (its LAPACK) and PyTorch's where they are installed. --table writes docs/residuals.md.
"""

import argparse
import importlib
import re
import sys
from pathlib import Path

import numpy as np

THRESHOLD = 30.0
DTYPES = ("float32", "float64", "complex64", "complex128")
ORDERS = (1, 2, 4, 7, 16, 24, 25, 33, 64, 70)
SHAPES = ((1, 4), (4, 1), (3, 2), (20, 12), (12, 20), (8, 64), (70, 30), (30, 70))


def adjoint(x):
    return np.conj(np.swapaxes(x, -2, -1))


def norm(x):
    return np.abs(x).sum(-2).max(-1)


def wide(x):
    """In double, where residuals of single precision are exact enough."""
    return x.astype("complex128" if np.iscomplexobj(x) else "float64")


class Matrices:
    """Batches of a dtype, by kind; the same in every run."""

    def __init__(self, dtype, *shape):
        self.dtype, self.shape, self.draw = np.dtype(dtype), shape, np.random.default_rng([*shape, DTYPES.index(dtype)])
        self.eps = float(np.finfo(self.dtype).eps)
        self.far = 1e30 if self.eps > 1e-10 else 1e150

    def random(self, *shape):
        x = self.draw.standard_normal(shape)
        return x + 1j * self.draw.standard_normal(shape) if self.dtype.kind == "c" else x

    def orthogonal(self, n):
        return np.linalg.qr(self.random(n, n))[0]

    def with_values(self, values):
        m, n = self.shape
        k = len(values)
        return (self.orthogonal(m)[:, :k] * values) @ adjoint(self.orthogonal(n)[:, :k])

    def steep(self, ratio):
        return np.logspace(0, -np.log10(ratio), min(self.shape))

    def nonsingular(self):
        m, n = self.shape
        rows, columns = np.logspace(0, -4, m)[:, None], np.logspace(0, 4, n)
        graded = [self.random(m, n) * rows, self.random(m, n) * columns]
        scaled = [self.random(m, n) / self.far, self.random(m, n) * self.far, np.eye(m, n) * 3]
        return [self.random(m, n), self.with_values(self.steep(10)), self.with_values(self.steep(0.05 / self.eps / max(m, n))), *graded, *scaled]

    def batch(self, matrices):
        return np.stack(matrices).astype(self.dtype)

    def regular(self):
        return self.batch(self.nonsingular())

    def every(self):
        m, n = self.shape
        rank = max(1, min(m, n) // 2)
        zero_column = self.random(m, n)
        zero_column[:, n // 2] = 0
        return self.batch([*self.nonsingular(), self.random(m, rank) @ self.random(rank, n), np.ones((m, n)), np.zeros((m, n)), zero_column])

    def symmetric(self, matrices):
        x = np.stack([*matrices])
        return ((x + adjoint(x)) / 2).astype(self.dtype)

    def definite(self):
        n = self.shape[0]
        q, scale = self.orthogonal(n), np.logspace(0, -6, n)
        well = lambda: (lambda x: x @ adjoint(x) + n * np.eye(n))(self.random(n, n))  # noqa: E731
        steep = (q * self.steep(0.02 / self.eps / n)) @ adjoint(q)
        return self.symmetric([well(), steep, scale[:, None] * well() * scale, well() / self.far, well() * self.far, np.eye(n)])


class Tensors:
    """A library of tensors by arrays."""

    def __init__(self, module):
        self.module, self.name = module, {"cresset": "Cresset", "torch": "PyTorch"}.get(module.__name__, module.__name__)

    def __call__(self, name, *arrays, **options):
        f = self.module
        for part in name.split("."):
            f = getattr(f, part)
        result = f(*(self.module.from_numpy(x) for x in arrays), **options)
        return [t.resolve_conj().numpy() for t in result] if isinstance(result, tuple) else result.resolve_conj().numpy()

    def cholesky(self, a, **options):
        return self("linalg.cholesky", a, **options)

    def cholesky_solve(self, b, factor):
        return self("cholesky_solve", b, factor)

    def lu(self, a):
        return self("linalg.lu", a)

    def qr(self, a, mode):
        return self("linalg.qr", a, mode=mode)

    def svd(self, a):
        return self("linalg.svd", a, full_matrices=True)

    def svdvals(self, a):
        return self("linalg.svdvals", a)

    def eigh(self, a, triangle):
        return self("linalg.eigh", a, UPLO=triangle)

    def eigvalsh(self, a):
        return self("linalg.eigvalsh", a)

    def eig(self, a):
        return self("linalg.eig", a)

    def solve(self, a, b):
        return self("linalg.solve", a, b)

    def inv(self, a):
        return self("linalg.inv", a)

    def lstsq(self, a, b, driver="gelsy"):
        return self("linalg.lstsq", a, b, driver=driver)[0]

    def pinv(self, a):
        return self("linalg.pinv", a)

    def ldl(self, a, hermitian):
        return self("linalg.ldl_factor_ex", a, hermitian=hermitian)[:2]

    def ldl_solve(self, factor, pivots, b, hermitian):
        return self("linalg.ldl_solve", factor, pivots, b, hermitian=hermitian)

    def matrix_exp(self, a):
        return self("linalg.matrix_exp", a)

    def solve_triangular(self, a, b, **options):
        return self("linalg.solve_triangular", a, b, **options)

    def reflections(self, a):
        return self("geqrf", a)

    def product(self, a, tau): return self("linalg.householder_product", a, tau)  # fmt: skip


class Arrays:
    """NumPy, as far as it goes."""

    name = "NumPy"

    def cholesky(self, a):
        return np.linalg.cholesky(a)

    def qr(self, a, mode):
        return each(lambda x: np.linalg.qr(x, mode), a)

    def svd(self, a):
        return np.linalg.svd(a)

    def svdvals(self, a):
        return np.linalg.svd(a, compute_uv=False)

    def eigh(self, a, triangle):
        return np.linalg.eigh(a, triangle)

    def eigvalsh(self, a):
        return np.linalg.eigvalsh(a)

    def eig(self, a):
        return np.linalg.eig(a)

    def solve(self, a, b):
        return np.linalg.solve(a, b)

    def inv(self, a):
        return np.linalg.inv(a)

    def pinv(self, a):
        return np.linalg.pinv(a, np.finfo(a.dtype).eps * max(a.shape[-2:]))

    def lstsq(self, a, b): return each(lambda x, y: np.linalg.lstsq(x, y, np.finfo(x.dtype).eps * max(x.shape))[:1], a, b)[0]  # fmt: skip


def each(f, *batches):
    return [np.stack(parts) for parts in zip(*(f(*row) for row in zip(*batches, strict=True)), strict=True)]


def over(residual, *scales):
    """Norms' quotients, where 0 over 0 is 0."""
    top = norm(residual)
    bottom = np.ones_like(top)
    for s in scales:
        bottom = bottom * s
    return float(np.max(np.divide(top, bottom, out=np.where(top == 0, 0.0, np.inf), where=bottom > 0)))


def unitary(q, eps):
    q = wide(q)
    return over(adjoint(q) @ q - np.eye(q.shape[-1]), q.shape[-2] * eps)


def right_sides(m, columns=3):
    return m.batch([m.random(m.shape[0], columns)])


def for_each(a, b):
    return np.array(np.broadcast_to(b, (len(a), *b.shape[1:])))


def solved(a, x, b, eps):
    a, x, b = wide(a), wide(x), wide(b)
    return over(b - a @ x, norm(a), norm(x), eps, max(a.shape[-1] ** 0.5, 1))


# ---- a routine's ratios: name -> number ----


def cholesky(lib, m):
    a, n = m.definite(), m.shape[0]
    factor = lib.cholesky(a)
    low = wide(factor)
    yield "A - L L^H", over(wide(a) - low @ adjoint(low), norm(wide(a)), n, m.eps)
    if isinstance(lib, Tensors):
        up = wide(lib.cholesky(a, upper=True))
        yield "A - U^H U", over(wide(a) - adjoint(up) @ up, norm(wide(a)), n, m.eps)
        b = for_each(a, right_sides(m))
        yield "B - A X", solved(a, lib.cholesky_solve(b, factor), b, m.eps)


def lu(lib, m):
    a = m.every()
    p, low, up = map(wide, lib.lu(a))
    yield "A - P L U", over(wide(a) - p @ low @ up, norm(wide(a)), max(m.shape), m.eps)


def qr(lib, m):
    a = m.every()
    for mode in ("reduced", "complete"):
        q, r = lib.qr(a, mode)
        yield "A - Q R", over(wide(a) - wide(q) @ wide(r), norm(wide(a)), max(m.shape), m.eps)
        yield "I - Q^H Q", unitary(q, m.eps)
    if isinstance(lib, Tensors) and m.shape[0] >= m.shape[1]:
        yield "I - Q^H Q of reflections", unitary(lib.product(*lib.reflections(a)), m.eps)


def svd(lib, m):
    a, k, most = m.every(), min(m.shape), max(m.shape)
    u, s, vh = lib.svd(a)
    yield "A - U S V^H", over(wide(a) - wide(u)[..., :k] * s[:, None].astype("float64") @ wide(vh)[:, :k], norm(wide(a)), most, m.eps)
    yield "I - U^H U", unitary(u, m.eps)
    yield "I - V^H V", unitary(adjoint(vh), m.eps)
    alone = lib.svdvals(a)
    for values in (s, alone):
        yield "order of S", 0.0 if (np.diff(values) <= 0).all() and (values >= 0).all() else np.inf
    exact = np.linalg.svd(wide(a), compute_uv=False)[..., None]
    yield "S alone", over(wide(alone)[..., None] - exact, exact[:, 0, 0], k, most, m.eps)


def eigh(lib, m):
    a, n = m.symmetric(m.every()), m.shape[0]
    full = wide(a)
    for triangle in "LU":
        half = np.tril(a) if triangle == "L" else np.triu(a)
        values, v = map(wide, lib.eigh(half, triangle))
        yield "A - V W V^H", over(full - v * values[:, None] @ adjoint(v), norm(full), n, m.eps)
        yield "I - V^H V", unitary(v, m.eps)
    alone = wide(lib.eigvalsh(a))
    yield "order of W", 0.0 if (np.diff(alone) >= 0).all() and (np.diff(values) >= 0).all() else np.inf
    yield "W alone", over((alone - values)[..., None], norm(full), n, n, m.eps)


def eig(lib, m):
    a = m.every()
    w, v = map(wide, lib.eig(a))
    yield "A V - V W", over(wide(a) @ v - v * w[:, None], norm(wide(a)), norm(v), m.shape[0] ** 0.5, m.eps)
    yield "norms of V", float(np.abs(np.sqrt((np.abs(v) ** 2).sum(-2)) - 1).max() / m.eps / m.shape[0])


def solve(lib, m):
    a = m.regular()
    b = for_each(a, right_sides(m))
    yield "B - A X", solved(a, lib.solve(a, b), b, m.eps)


def solve_triangular(lib, m):
    a = m.regular()
    b = for_each(a, right_sides(m))
    for upper in (False, True):
        t = np.triu(a) if upper else np.tril(a)
        t[:, range(m.shape[0]), range(m.shape[0])] += 3 * np.abs(a).max((-2, -1))[:, None].astype(a.dtype)
        yield "B - T X", solved(t, lib.solve_triangular(t, b, upper=upper), b, m.eps)
        across = np.ascontiguousarray(np.swapaxes(b, -2, -1))
        x = lib.solve_triangular(t, across, upper=upper, left=False)
        yield "B - X T", solved(np.swapaxes(t, -2, -1), np.swapaxes(x, -2, -1), b, m.eps)


def inv(lib, m):
    a = m.regular()
    x = wide(lib.inv(a))
    left = over(np.eye(m.shape[0]) - wide(a) @ x, norm(wide(a)), norm(x), m.shape[0], m.eps)
    yield "I - A X", left


def lstsq(lib, m):
    a = m.every()
    b = for_each(a, right_sides(m))
    most = max(m.shape)
    drivers = ("gelsy", "gelsd", "gelss") if isinstance(lib, Tensors) else (None,)
    for driver in drivers:
        x = wide(lib.lstsq(a, b, driver) if driver else lib.lstsq(a, b))
        rest = wide(b) - wide(a) @ x
        yield "A^H (B - A X)", over(adjoint(wide(a)) @ rest, norm(wide(a)), np.maximum(norm(wide(b)), norm(wide(a)) * norm(x)), most, m.eps)
        # The shortest solution is a combination of A's rows, which are known as well as A's condition allows.
        _, s, vh = np.linalg.svd(wide(a), full_matrices=False)
        kept = s > s[:, :1] * most * m.eps * 1e-2
        condition = np.where(kept, s[:, :1] / np.where(kept, s, 1), 1).max(-1)
        vh = vh * kept[..., None]
        yield "shortest X", over(x - adjoint(vh) @ (vh @ x), norm(x), condition, most, m.eps)


def pinv(lib, m):
    a = m.every()
    x, a = wide(lib.pinv(a)), wide(a)
    yield "A X A - A", over(a @ x @ a - a, norm(a), norm(x), norm(a), max(m.shape), m.eps)
    yield "X A X - X", over(x @ a @ x - x, norm(x), norm(a), norm(x), max(m.shape), m.eps)


def ldl(lib, m):
    n = m.shape[0]
    for hermitian in (True, False):
        x = m.every()
        a = m.symmetric(x) if hermitian else ((wide(x) + np.swapaxes(wide(x), -2, -1)) / 2).astype(m.dtype)
        factor, pivots = lib.ldl(a, hermitian)
        back = np.stack([composed(wide(f), p, hermitian) for f, p in zip(factor, pivots, strict=True)])
        yield "A - L D L^H", over(wide(a) - back, norm(wide(a)), n, m.eps)
        regular = a[[0, 5, 6, 7]] if n > 1 else a[:1]
        b = for_each(regular, right_sides(m))
        factor, pivots = lib.ldl(regular, hermitian)
        yield "B - A X", solved(regular, lib.ldl_solve(factor, pivots, b, hermitian), b, m.eps)


def composed(f, pivots, hermitian):
    """L D L^H from the lower triangle that sytrf leaves, whose exchanges act on the factor's own columns alone."""
    n = len(f)
    turn = adjoint if hermitian else lambda x: np.swapaxes(x, -2, -1)
    a, k = np.zeros_like(f), n
    while k > 0:
        size = 1 if pivots[k - 1] > 0 else 2
        k -= size
        low = np.eye(n, size, -k, dtype=f.dtype)
        low[k + size :] = f[k + size :, k : k + size]
        d = np.diag(np.diag(f)[k : k + size].real if hermitian else np.diag(f)[k : k + size]).astype(f.dtype)
        if size == 2:
            d[1, 0] = f[k + 1, k]
            d[0, 1] = np.conj(f[k + 1, k]) if hermitian else f[k + 1, k]
        a = a + low @ d @ turn(low)
        a[k:, :k], a[:k] = 0, 0
        other = abs(int(pivots[k + size - 1])) - 1
        at = k + size - 1
        a[[at, other]] = a[[other, at]]
        a[:, [at, other]] = a[:, [other, at]]
    return a


def matrix_exp(lib, m):
    n = m.shape[0]
    x = np.stack([m.random(n, n) * s / n**0.5 for s in (1e-8, 1e-3, 0.1, 1, 4)] + [m.with_values(m.steep(100)), np.zeros((n, n))]).astype(m.dtype)
    there, back = wide(lib.matrix_exp(x)), wide(lib.matrix_exp(-x))
    yield "e^A e^-A - I", over(there @ back - np.eye(n), norm(there), norm(back), n, m.eps)
    a = m.symmetric(x)
    values, v = np.linalg.eigh(wide(a))
    exact = v * np.exp(values)[:, None] @ adjoint(v)
    yield "e^A of symmetric A", over(wide(lib.matrix_exp(a)) - exact, norm(exact), 1 + norm(wide(a)), n, m.eps)


SQUARE = {"cholesky": cholesky, "eigh": eigh, "eig": eig, "solve": solve, "solve_triangular": solve_triangular, "inv": inv, "ldl": ldl}
SQUARE["matrix_exp"] = matrix_exp
ANY = {"lu": lu, "qr": qr, "svd": svd, "lstsq": lstsq, "pinv": pinv}
ROUTINES = {**SQUARE, **ANY}


def knows(lib, routine):
    return isinstance(lib, Tensors) or hasattr(lib, routine)


def measure(lib, routine, dtype):
    """The largest of each ratio over all shapes: ratio -> (number, shape)."""
    worst = {}
    for shape in [*((n, n) for n in ORDERS), *(SHAPES if routine in ANY else ())]:
        with np.errstate(all="ignore"):
            try:
                found = list(ROUTINES[routine](lib, Matrices(dtype, *shape)))
            except (RuntimeError, np.linalg.LinAlgError) as error:
                print(f"{lib.name}'s {routine} of {dtype} {shape[0]}x{shape[1]}: {error}", file=sys.stderr)
                found = [("gives up", np.inf)]
        for name, value in found:
            if name not in worst or not value <= worst[name][0]:
                worst[name] = (value, shape)
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="REGEX", help="routines whose name it finds")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the page of documentation")
    options = parser.parse_args()
    libraries = [Tensors(importlib.import_module("cresset")), Arrays()]
    try:
        libraries.append(Tensors(importlib.import_module("torch")))
    except ImportError:
        pass
    print(f"{'routine':<18}{'ratio':<28}{'dtype':<12}" + "".join(f"{lib.name:>10}" for lib in libraries))
    table, failed = [], 0
    for routine in filter(re.compile(options.only).search, ROUTINES):
        for dtype in DTYPES:
            found = [measure(lib, routine, dtype) if knows(lib, routine) else {} for lib in libraries]
            for ratio, (value, shape) in found[0].items():
                numbers = [shown(f[ratio][0]) if ratio in f else "-" for f in found]
                failed += not value <= THRESHOLD
                verdict = "" if value <= THRESHOLD else "   FAILED"
                print(f"{routine:<18}{ratio:<28}{dtype:<12}" + "".join(f"{x:>10}" for x in numbers) + f"   {shape[0]}x{shape[1]}{verdict}", flush=True)
                table.append(f"| `{routine}` | {ratio} | {dtype} | {' | '.join(numbers)} |")
    if options.table:
        heads = " | ".join(lib.name for lib in libraries)
        options.table.write_text(PAGE.format(heads=heads, line="|".join(["---:"] * len(libraries)), rows="\n".join(table)))
    print(f"{failed} above {THRESHOLD:g}")
    return 1 if failed else 0


def shown(x):
    return f"{x:.2f}" if x < 1e4 else f"{x:.1e}"


PAGE = """# Backward errors of linear algebra

The measure of LAPACK's testing suite: a residual over the norms that enter it, the order and the machine's epsilon, the largest over matrices of
order 1 to 70 (and rectangular ones) of every kind in one batch: random, graded by rows and columns, close to singular, deficient, of norm
1e-30 and 1e30 (1e-150 and 1e150 in double), zeros and ones. LAPACK holds a routine for broken above 30; `tests/python/ops/residuals_test.py` holds all to
that and to 4 times what NumPy's LAPACK gets in double (it computes in double what is given in single precision). Where PyTorch's number is large it is
wrong for one of these matrices: `lstsq` for numbers of 1e-30 or 1e30 and the complex `ldl_factor_ex` of a singular matrix. Made by

    python tools/residuals.py --table docs/residuals.md

| routine | residual | dtype | {heads} |
|---|---|---|{line}|
{rows}
"""


if __name__ == "__main__":
    sys.exit(main())
