#!/usr/bin/env python3
"""The error of elementary and special functions in float32, in units in the last place, against mpmath: one row for each function.

    PYTHONPATH=build/release/python python tools/ulp.py [--points N] [--only REGEX] [--module torch] [--table FILE] [--golden FILE]

A function passes within 2 ulp, or within PyTorch's own error at the same points: measured where PyTorch is installed, else the figure of
the golden file. Activations, which are products of such functions, pass within 4. Points are drawn evenly and by their logarithms from the
range where a function does its work, by their bits from its whole domain, and beside the points where it vanishes, has a pole or changes.

--table writes docs/accuracy.md. --golden writes the points that are hardest for us and for PyTorch, with their exact values and what
PyTorch says of zeros, infinities and NaN, to be checked where there is no mpmath.
"""

import argparse
import importlib
import math
import random
import re
import struct
import sys
from pathlib import Path

try:
    import mpmath
except ImportError:
    mpmath = None

BOUND, BOUND_OF_PRODUCTS = 2.0, 4.0
ALIKE = 1.05  # where both cancel they differ by a rounding
GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "python" / "ops" / "ulp_golden.txt"
MAX, TINY = 3.4028234663852886e38, 1e-45
PI, INF = math.pi, math.inf
EVERY, POSITIVE = (-MAX, MAX), (TINY, MAX)
CORNERS = (0.0, -0.0, 1.0, -1.0, INF, -INF, math.nan)


class Function:
    """`reference(*numbers)` of mpmath; for each argument a range where the function does its work, the domain, and places to look beside."""

    def __init__(self, reference, *core, whole=None, near=(), call=None):
        whole = core if whole is None else whole if isinstance(whole[0], tuple) else (whole,)
        near = near if near and isinstance(near[0], tuple) else tuple(near for _ in core)
        self.reference, self.arguments, self.call = reference, list(zip(core, whole, near, strict=True)), call

    def on(self, module, name, columns):
        tensors = [module.tensor(c, dtype=module.float32) for c in columns]
        return (self.call(module, *tensors) if self.call else find(module, name)(*tensors)).tolist()


class Nothing:
    """In the place of mpmath: functions can be named, not called."""

    def __getattr__(self, name):
        return None


def functions():
    """name: Function, of every elementary and special function."""
    m, f = mpmath or Nothing(), Function
    sinusoids = [k * PI / 4 for k in range(-9, 10)]
    integers = list(range(-20, 1))
    halves = [k / 2 for k in range(-9, 10)]
    j0, j1 = (2.404825557695773, 5.520078110286311, 8.653727912911012, 5.0), (3.831705970207512, 7.015586669815619, 10.17346813506272, 5.0)
    y0, y1 = (0.8935769662791675, 3.957678419314858, 7.086051060301773, 5.0), (2.197141326031017, 5.429681040794135, 8.596005868331169, 5.0)
    airy = (-2.338107410459767, -4.087949444130971, -5.520559828095551, 2.09)
    gamma_zeros = (1.0, 2.0, -2.4570247382208006, -2.7476826467274127, -3.955294284858598)
    digamma_zeros = (1.4616321449683623, -0.504083008264455409, -1.573498473162390, -2.610720868444145)
    unit = tuple(k / 8 for k in range(-8, 9))
    beside = ((1e-6, 200), (1e-30, 300)), ((1, 20, 4.5), (1, 20, 4.5))
    rows = {
        "exp": f(m.exp, (-103, 88), whole=EVERY, near=(0, 88.7, -87.3, -103)),
        "exp2": f(lambda x: m.mpf(2) ** x, (-149, 127), whole=EVERY, near=(0, 128, -126, -149)),
        "expm1": f(m.expm1, (-20, 88), whole=EVERY, near=(0, 88.7, -17)),
        "log": f(m.log, (1e-37, 1e38), whole=POSITIVE, near=(1, 0.7071, 1.4142)),
        "log2": f(lambda x: m.log(x, 2), (1e-37, 1e38), whole=POSITIVE, near=(1, 0.7071, 2, 4)),
        "log10": f(m.log10, (1e-37, 1e38), whole=POSITIVE, near=(1, 10, 0.1)),
        "log1p": f(m.log1p, (-0.9999, 1e6), whole=(-0.99999994, MAX), near=(0, -0.5, 1, -0.99999)),
        "sin": f(m.sin, (-1e5, 1e5), whole=EVERY, near=sinusoids), "cos": f(m.cos, (-1e5, 1e5), whole=EVERY, near=sinusoids),
        "tan": f(m.tan, (-1e5, 1e5), whole=EVERY, near=sinusoids), "asin": f(m.asin, (-1, 1), near=unit), "acos": f(m.acos, (-1, 1), near=unit),
        "atan": f(m.atan, (-1e6, 1e6), whole=EVERY, near=(0, 1, -1, 0.41421356)), "sinh": f(m.sinh, (-88, 88), whole=EVERY, near=(0, 1, 88.7)),
        "cosh": f(m.cosh, (-88, 88), whole=EVERY, near=(0, 1, 88.7)), "tanh": f(m.tanh, (-20, 20), whole=EVERY, near=(0, 0.55, 9)),
        "asinh": f(m.asinh, (-1e10, 1e10), whole=EVERY, near=(0, 1)), "acosh": f(m.acosh, (1, 1e10), whole=(1, MAX), near=(1, 2)),
        "atanh": f(m.atanh, (-0.99999, 0.99999), whole=(-0.99999994, 0.99999994), near=(0, 0.5, 0.99999, -0.99999)),
        "sigmoid": f(logistic, (-80, 80), whole=EVERY, near=(0, -87, 17)),
        "sqrt": f(m.sqrt, (0, MAX), whole=POSITIVE), "rsqrt": f(lambda x: 1 / m.sqrt(x), (1e-37, 1e38), whole=POSITIVE),
        "erf": f(m.erf, (-4, 4), whole=EVERY, near=(0, 0.84375, 1.25, 3.9)), "erfc": f(m.erfc, (-4, 9), whole=EVERY, near=(0, 0.84, 9.2, 10)),
        "erfinv": f(m.erfinv, (-0.99999, 0.99999), whole=(-0.99999994, 0.99999994), near=(0, 0.7, 0.99999994)),
        "lgamma": f(log_gamma, (-20, 1e3), whole=EVERY, near=(*gamma_zeros, *integers, 2.3, 30)),
        "digamma": f(m.digamma, (-20, 1e3), whole=(-1e5, MAX), near=(*digamma_zeros, *integers, 10)),
        "special.expit": f(logistic, (-80, 80), whole=EVERY, near=(0, -87)),
        "special.logit": f(lambda x: m.log(x / (1 - x)), (1e-6, 0.999), whole=(TINY, 0.99999994), near=(0.5, 0.99999)),
        "special.entr": f(lambda x: -x * m.log(x), (1e-30, 1e6), whole=(TINY, 1e36), near=(1, 0.36787944)),
        "special.erfcx": f(lambda x: m.exp(x * x) * m.erfc(x), (-9, 1e3), whole=(-MAX, 1e18), near=(0, -9.38, 25, 50)),
        "special.ndtr": f(m.ncdf, (-13, 6), whole=EVERY, near=(0, 1, -1, -14)), "special.log_ndtr": f(log_ndtr, (-1e3, 5), whole=(-MAX, 13), near=(0, 1, -1, -5, 5)),
        "special.ndtri": f(lambda p: m.sqrt(2) * m.erfinv(2 * p - 1), (1e-9, 0.999), whole=(TINY, 0.99999994), near=(0.5, 0.1353, 0.8647)),
        "special.i0": f(lambda x: m.besseli(0, x), (-88, 88), whole=(-1e3, 1e3), near=(0, 8, 91.9)),
        "special.i0e": f(lambda x: m.exp(-abs(x)) * m.besseli(0, x), (-500, 500), whole=(-1e7, 1e7), near=(0, 8)),
        "special.i1": f(lambda x: m.besseli(1, x), (-88, 88), whole=(-1e3, 1e3), near=(0, 8, 91.9)),
        "special.i1e": f(lambda x: m.exp(-abs(x)) * m.besseli(1, x), (-500, 500), whole=(-1e7, 1e7), near=(0, 8)),
        "special.airy_ai": f(m.airyai, (-20, 10), whole=(-100, 100), near=airy),
        "special.bessel_j0": f(lambda x: m.besselj(0, x), (-50, 50), whole=(-1e6, 1e6), near=j0),
        "special.bessel_j1": f(lambda x: m.besselj(1, x), (-50, 50), whole=(-1e6, 1e6), near=j1),
        "special.bessel_y0": f(lambda x: m.bessely(0, x), (1e-3, 50), whole=(TINY, 1e6), near=y0),
        "special.bessel_y1": f(lambda x: m.bessely(1, x), (1e-3, 50), whole=(TINY, 1e6), near=y1),
        "special.modified_bessel_i0": f(lambda x: m.besseli(0, x), (-80, 80), whole=(-1e3, 1e3), near=(0, 8, 91.9)),
        "special.modified_bessel_i1": f(lambda x: m.besseli(1, x), (-80, 80), whole=(-1e3, 1e3), near=(0, 8, 91.9)),
        "special.modified_bessel_k0": f(lambda x: m.besselk(0, x), (1e-3, 80), whole=(TINY, 1e3), near=(2, 85, 100)),
        "special.modified_bessel_k1": f(lambda x: m.besselk(1, x), (1e-3, 80), whole=(TINY, 1e3), near=(2, 85, 100)),
        "special.scaled_modified_bessel_k0": f(lambda x: m.exp(x) * m.besselk(0, x), (1e-3, 500), whole=(TINY, 1e6), near=(2,)),
        "special.scaled_modified_bessel_k1": f(lambda x: m.exp(x) * m.besselk(1, x), (1e-3, 500), whole=(TINY, 1e6), near=(2,)),
        "special.spherical_bessel_j0": f(lambda x: m.sin(x) / x if x else m.mpf(1), (-50, 50), whole=EVERY, near=(0, 0.5, *sinusoids)),
        "sinc": f(m.sincpi, (-50, 50), whole=EVERY, near=halves), "special.sinc": f(m.sincpi, (-50, 50), whole=EVERY, near=halves),
        "nn.functional.gelu": f(lambda x: x * m.ncdf(x), (-5, 10), whole=EVERY, near=(0, -14)),
        "nn.functional.gelu(tanh)": f(gelu_tanh, (-5, 10), whole=(-9, MAX), near=(0,), call=lambda t, x: t.nn.functional.gelu(x, approximate="tanh")),
        "nn.functional.silu": f(lambda x: x * logistic(x), (-80, 80), whole=EVERY, near=(0, -87)),
        "nn.functional.mish": f(lambda x: x * m.tanh(m.log1p(m.exp(x))), (-80, 80), whole=(-85, MAX), near=(0,)),
        "nn.functional.softplus": f(lambda x: m.log1p(m.exp(x)), (-80, 19), whole=(-MAX, 20), near=(0, -87)),
        "nn.functional.logsigmoid": f(lambda x: -m.log1p(m.exp(-x)), (-80, 80), whole=EVERY, near=(0, 87)),
        "nn.functional.elu": f(lambda x: x if x > 0 else m.expm1(x), (-20, 20), whole=EVERY, near=(0,)),
        "nn.functional.selu": f(selu, (-20, 20), whole=(-MAX, 3e38), near=(0,)),
        "atan2": f(m.atan2, (-10, 10), (-10, 10), whole=(EVERY, EVERY)), "hypot": f(m.hypot, (-1e6, 1e6), (-1e6, 1e6), whole=(EVERY, EVERY)),
        "pow": f(m.power, (1e-3, 30), (-15, 15), whole=(POSITIVE, EVERY), near=((1, 2, 0.5), (0, 1, 2, 0.5, -1))),
        "logaddexp": f(lambda x, y: m.log(m.exp(x) + m.exp(y)), (-80, 80), (-80, 80)),
        "logaddexp2": f(lambda x, y: m.log(m.mpf(2) ** x + m.mpf(2) ** y, 2), (-80, 80), (-80, 80)),
        "xlogy": f(lambda x, y: x * m.log(y), (-10, 10), (1e-6, 1e6), whole=((-1e30, 1e30), POSITIVE), near=((0, 1), (1, 2))),
        "special.xlog1py": f(lambda x, y: x * m.log1p(y), (-10, 10), (-0.999, 1e6), whole=((-1e30, 1e30), (-0.99999994, MAX)), near=((0, 1), (0, 1))),
        "special.zeta": f(m.zeta, (1.01, 40), (0.1, 40), whole=((1.0000001, 130), (1e-4, 1e5)), near=((2, 1.001), (1, 2, 10))),
        "special.gammainc": f(lambda a, x: m.gammainc(a, 0, x, regularized=True), (0.01, 50), (0.01, 60), whole=beside[0], near=beside[1]),
        "special.gammaincc": f(lambda a, x: m.gammainc(a, x, m.inf, regularized=True), (0.01, 50), (0.01, 60), whole=beside[0], near=beside[1]),
        "special.logsumexp": f(lambda x: m.log1p(m.exp(x)), (-80, 80), near=(0, 17),
                               call=lambda t, x: t.special.logsumexp(t.stack([x, t.zeros_like(x)]), 0)),
        "special.softmax": f(logistic, (-80, 80), near=(0, -87, 17), call=lambda t, x: t.special.softmax(t.stack([x, t.zeros_like(x)]), 0)[0]),
        "special.log_softmax": f(lambda x: -m.log1p(m.exp(-x)), (-80, 17), near=(0, 17),
                                 call=lambda t, x: t.special.log_softmax(t.stack([x, t.zeros_like(x)]), 0)[0]),
        "special.multigammaln(3)": f(lambda x: m.log(m.pi) * 1.5 + sum(log_gamma(x - m.mpf(k) / 2) for k in range(3)), (1.001, 1e3), whole=(1.0000001, 1e35),
                                     near=(1.0000001, 1.5), call=lambda t, x: t.special.multigammaln(x, 3)),
    }  # fmt: skip
    for n in (1, 2, 3, 6):
        rows[f"special.polygamma({n})"] = f(lambda x, n=n: m.psi(n, x), (0.01, 100), whole=(-20 if n < 3 else 1e-3, 1e6), near=(1, 2, 10, *(integers if n < 3 else ())),
                                            call=lambda t, x, n=n: t.special.polygamma(n, x))  # fmt: skip
    for name, reference in polynomials().items():
        low, high = (0, 1) if "shifted" in name else (-1, 1)
        if "hermite" in name or "laguerre" in name:
            low, high = (-8, 8) if "hermite" in name else (0, 20)
        for n in (2, 5, 12):
            rows[f"special.{name}({n})"] = f(lambda x, n=n, p=reference: p(n, x), (low, high), whole=(-100, 100), near=(low, high, (low + high) / 2, 0.5),
                                             call=lambda t, x, n=n, name=name: getattr(t.special, name)(x, n))  # fmt: skip
    return rows


def polynomials():
    m = mpmath or Nothing()
    v = lambda n, x: m.chebyu(n, x) - m.chebyu(n - 1, x)  # noqa: E731
    w = lambda n, x: m.chebyu(n, x) + m.chebyu(n - 1, x)  # noqa: E731
    first = {"t": m.chebyt, "u": m.chebyu, "v": v, "w": w}
    plain = {f"chebyshev_polynomial_{k}": p for k, p in first.items()}
    shifted = {f"shifted_chebyshev_polynomial_{k}": lambda n, x, p=p: p(n, 2 * x - 1) for k, p in first.items()}
    others = {"hermite_polynomial_h": m.hermite, "hermite_polynomial_he": lambda n, x: m.hermite(n, x / m.sqrt(2)) / m.mpf(2) ** (m.mpf(n) / 2),
              "laguerre_polynomial_l": lambda n, x: m.laguerre(n, 0, x), "legendre_polynomial_p": m.legendre}  # fmt: skip
    return {**plain, **shifted, **others}


def logistic(x):
    return 1 / (1 + mpmath.exp(-x)) if abs(x) < 1e4 else mpmath.mpf(x > 0) if x > 0 else mpmath.exp(max(x, -1e6))


def log_ndtr(x):
    if x < -1e4:
        return -x * x / 2 - mpmath.log(-x * mpmath.sqrt(2 * mpmath.pi)) + mpmath.log1p(-1 / (x * x))
    return mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2)


def log_gamma(x):
    return mpmath.inf if x <= 0 and x == mpmath.floor(x) else mpmath.re(mpmath.loggamma(x))


def gelu_tanh(x):
    return x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3)))


def selu(x):
    scale, alpha = mpmath.mpf("1.0507009873554804934193349852946"), mpmath.mpf("1.6732632423543772848170429916717")
    return scale * (x if x > 0 else alpha * mpmath.expm1(x))


def single(x):
    """The float32 next to `x`."""
    return struct.unpack("f", struct.pack("f", x))[0]


def bits(x):
    """Floats in their order as integers."""
    i = struct.unpack("i", struct.pack("f", x))[0]
    return i if i >= 0 else -(i & 0x7FFFFFFF)


def from_bits(i):
    return struct.unpack("f", struct.pack("i", i if i >= 0 else -i - 0x80000000))[0]


def drawn(rng, kind, argument):
    (low, high), (least, most), near = argument
    if kind == 0:
        return rng.uniform(low, high)
    if kind == 1:  # by logarithms, with both signs where the range has both
        top = max(abs(low), abs(high))
        start = min(abs(low), abs(high)) if low * high > 0 else top * 1e-9
        size = math.exp(rng.uniform(math.log(start), math.log(top)))
        return size if low >= 0 else -size if high <= 0 else math.copysign(size, rng.random() - 0.5)
    if kind == 2 and near:
        place = rng.choice(near)
        if rng.random() < 0.3:
            return from_bits(bits(single(place)) + rng.randint(-3, 3))
        return place + math.copysign(2.0 ** -rng.uniform(1, 24), rng.random() - 0.5) * max(abs(place), 0.5)
    return from_bits(rng.randint(bits(least), bits(most)))


def points(name, arguments, count):
    """The same for every module: columns of arguments that are float32."""
    rng = random.Random(name)
    rows = []
    while len(rows) < count:
        kind = rng.randrange(4)
        row = [single(drawn(rng, kind if rng.random() < 0.8 else rng.randrange(4), argument)) for argument in arguments]
        if all(least <= x <= most for x, (_, (least, most), _) in zip(row, arguments, strict=True)):
            rows.append(row)
    return [list(column) for column in zip(*rows, strict=True)]


def exact_values(function, columns):
    """Values of mpmath for each row, None at a pole."""
    values = []
    with mpmath.workdps(60):
        for row in zip(*columns, strict=True):
            try:
                value = mpmath.re(function.reference(*map(mpmath.mpf, row)))
                values.append(value if mpmath.isfinite(value) else None)
            except (ZeroDivisionError, ValueError):
                values.append(None)
    return values


def error(got, exact):
    """In units of the last place of the exact result as a float32; denormal numbers share the unit of the least normal ones' binade below."""
    if math.isnan(got) or exact != exact:
        return 0.0 if math.isnan(got) and exact != exact else INF
    if abs(exact) >= MAX * (1 + 2.0**-25):
        return 0.0 if abs(got) == INF and (got > 0) == (exact > 0) else 1.0 if abs(got) == MAX and abs(exact) < MAX * (1 + 2.0**-24) else INF
    if math.isinf(got):
        return 1.0 if abs(exact) > MAX * (1 - 2.0**-24) else INF
    unit = 2.0 ** (max(math.frexp(float(exact))[1], -125) - 24)
    return float(abs(got - exact) / unit)


def find(module, name):
    for part in name.split("."):
        module = getattr(module, part)
    return module


def errors(module, name, function, columns, exact):
    return [0.0 if e is None else error(g, e) for g, e in zip(function.on(module, name, columns), exact, strict=True)]


def bound_of(name):
    return BOUND_OF_PRODUCTS if name.startswith("nn.functional.") else BOUND


def allowed(name, theirs):
    return max(bound_of(name), ALIKE * theirs)


def peer():
    try:
        return importlib.import_module("torch")
    except ImportError:
        return None


def corners(function, theirs, name):
    """Columns of the corners' combinations, and PyTorch's values there."""
    rows = [(x,) for x in CORNERS] if len(function.arguments) == 1 else [(x, y) for x in CORNERS for y in CORNERS]
    columns = [list(c) for c in zip(*rows, strict=True)]
    return columns, function.on(theirs, name, columns)


def read_golden(path=GOLDEN):
    """name: (bound, [(arguments, value, whether mpmath's)])."""
    found, name = {}, ""
    for line in Path(path).read_text().splitlines():
        if line.startswith("#"):
            continue
        if not line.startswith(" "):
            name, bound = line.rsplit(" ", 1)
            found[name] = (float(bound), [])
            continue
        *arguments, value = (float(x) for x in line.removeprefix(" =").split())
        found[name][1].append((arguments, value, not line.startswith(" =")))
    return found


def hardest(columns, exact, *measured, count=24):
    """Points with the largest errors of each library, and some others."""
    chosen, known = [], [i for i, e in enumerate(exact) if e is not None]
    for found in measured:
        chosen += sorted(known, key=found.__getitem__, reverse=True)[: count // 3]
    chosen += known[:: max(1, len(known) // (count // 3))]
    return [([c[i] for c in columns], exact[i]) for i in dict.fromkeys(chosen)][:count]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=400, help="for each function (400)")
    parser.add_argument("--only", default="", metavar="REGEX", help="functions whose name it finds")
    parser.add_argument("--module", default="cresset", help="what is measured (cresset)")
    parser.add_argument("--table", type=Path, metavar="FILE", help="write the page of documentation")
    parser.add_argument("--golden", type=Path, metavar="FILE", help="write the hard points")
    options = parser.parse_args()
    if mpmath is None:
        sys.exit("ulp.py: mpmath is not installed; pip install mpmath")
    ours, theirs = importlib.import_module(options.module), peer()
    if options.golden and not theirs:
        sys.exit("ulp.py: --golden needs PyTorch, for what it says of zeros, infinities and NaN")
    print(f"{'function':<44}{'ours':>10}{'PyTorch':>12}   at")
    failed, table, golden, limits = 0, [], [], []
    for name, function in functions().items():
        if not re.search(options.only, name):
            continue
        columns = points(name, function.arguments, options.points)
        exact = exact_values(function, columns)
        mine = errors(ours, name, function, columns, exact)
        other = errors(theirs, name, function, columns, exact) if theirs else [0.0]
        at = max(range(len(mine)), key=mine.__getitem__)
        good = mine[at] <= allowed(name, max(other))
        failed += not good
        where = ", ".join(f"{c[at]:.9g}" for c in columns)
        print(f"{name:<44}{mine[at]:>10.2f}{max(other):>12.2f}   {where}{'' if good else '   WORSE'}", flush=True)
        table.append(f"| `{name}` | {mine[at]:.2f} | {shown(max(other))} | {where} |")
        if theirs:
            corner, said = corners(function, theirs, name)
            known = [function.on(ours, name, [[c[i]] for c in corner])[0] for i in range(len(said))]
            apart = [i for i in range(len(said)) if error(known[i], said[i]) == INF]
            limits += [f"| `{name}` | {', '.join(f'{c[i]:g}' for c in corner)} | {known[i]:.7g} | {said[i]:.7g} |" for i in apart]
        if options.golden:
            usual = mine[at] <= bound_of(name) or max(other) == INF
            bound = bound_of(name) if usual else math.ceil(100 * allowed(name, max(other))) / 100
            held = [e if m <= bound else None for e, m in zip(exact, mine, strict=True)]
            golden.append(f"{name} {bound:g}")
            golden += [f" {' '.join(f'{x:.9g}' for x in row)} {mpmath.nstr(value, 13)}" for row, value in hardest(columns, held, mine, other)]
            alike = [i for i in range(len(said)) if error(known[i], said[i]) < bound - 0.1]
            golden += [f" = {' '.join(f'{c[i]:.9g}' for c in corner)} {said[i]:.9g}" for i in alike]
    if options.table:
        options.table.write_text(PAGE.format(points=options.points, rows="\n".join(table), limits="\n".join(limits)))
    if options.golden:
        head = "# Made by tools/ulp.py --golden: a function and its bound in ulp, then its arguments and mpmath's value, or (=) PyTorch's at corners."
        options.golden.write_text("\n".join([head, *golden]) + "\n")
    print(f"{failed} worse than the bound and than PyTorch")
    return 1 if failed else 0


def shown(x):
    return f"{x:.2f}" if x < 1e4 else f"{x:.1e}" if x < INF else "infinite"


PAGE = """# Accuracy of functions

The largest error in float32 in units in the last place, against [mpmath](https://mpmath.org) with 60 digits: ours, PyTorch 2.13's beside it,
and where ours is largest. {points} points for each function: evenly and by their logarithms from the range where it does its work, by their bits
from its whole domain, and beside its zeros, poles and seams. Made by

    python tools/ulp.py --points {points} --table docs/accuracy.md --golden tests/python/ops/ulp_golden.txt

A function holds within 2 units, or within PyTorch's own error where that is more (activations, which are products of such functions: 4).
`tests/python/ops/ulp_test.py` holds the hardest points of each to that, without mpmath. "Infinite" is a finite number where infinity is right, or the reverse.

| function | ours | PyTorch | ours is largest at |
|---|---:|---:|---|
{rows}

## Zeros, infinities and NaN

Of 0, -0, 1, -1, the infinities and NaN, and pairs of them, these values alone differ from PyTorch's:

| function | at | ours | PyTorch |
|---|---|---:|---:|
{limits}
"""


if __name__ == "__main__":
    sys.exit(main())
