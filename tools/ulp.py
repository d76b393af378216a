#!/usr/bin/env python3
"""The error of elementary and special functions in float32, in units in the last place, against mpmath: one row for each function.

    PYTHONPATH=build/release/python python tools/ulp.py [--points N] [--only REGEX] [--module torch]

A function passes within 2 ulp, or within PyTorch's own error at the same points: measured where PyTorch is installed, else the figure below.
Activations, which are products of such functions, pass within 4.
"""

import argparse
import importlib
import math
import random
import re
import struct
import sys

try:
    import mpmath
except ImportError:
    mpmath = None

BOUND, BOUND_OF_PRODUCTS = 2.0, 4.0
# What PyTorch 2.13 shows on x86-64 (400 points), where it is more than the bound.
PYTORCH = {"special.logit": 42.61, "sinc": 29561.71, "special.sinc": 8377.69, "logaddexp": 3.65}
ALIKE = 1.05  # where both cancel they differ by a rounding

MAX = 3.4028234663852886e38


def spread(low, high):
    """Numbers of [low, high]: half of them evenly, half evenly by their logarithms, with both signs where the range has both."""

    def draw(rng):
        x = drawn(rng)
        return x if low <= x <= high else draw(rng)

    def drawn(rng):
        if rng.random() < 0.5:
            return rng.uniform(low, high)
        top = max(abs(low), abs(high))
        least = min(abs(low), abs(high)) if low * high > 0 else top * 1e-9
        size = math.exp(rng.uniform(math.log(least), math.log(top)))
        return size if low >= 0 else -size if high <= 0 else math.copysign(size, rng.random() - 0.5)

    return draw



def functions():
    """name: (reference, ranges of the arguments)."""
    m = mpmath
    one = {
        "exp": (m.exp, (-103, 88)), "exp2": (lambda x: m.mpf(2) ** x, (-149, 127)), "expm1": (m.expm1, (-20, 88)), "log": (m.log, (1e-37, 1e38)),
        "log2": (lambda x: m.log(x, 2), (1e-37, 1e38)), "log10": (m.log10, (1e-37, 1e38)), "log1p": (m.log1p, (-0.9999, 1e6)),
        "sin": (m.sin, (-1e5, 1e5)), "cos": (m.cos, (-1e5, 1e5)), "tan": (m.tan, (-1e5, 1e5)), "asin": (m.asin, (-1, 1)), "acos": (m.acos, (-1, 1)),
        "atan": (m.atan, (-1e6, 1e6)), "sinh": (m.sinh, (-88, 88)), "cosh": (m.cosh, (-88, 88)), "tanh": (m.tanh, (-20, 20)),
        "asinh": (m.asinh, (-1e10, 1e10)), "acosh": (m.acosh, (1, 1e10)), "atanh": (m.atanh, (-0.99999, 0.99999)),
        "sigmoid": (lambda x: 1 / (1 + m.exp(-x)), (-80, 80)), "sqrt": (m.sqrt, (0, MAX)), "rsqrt": (lambda x: 1 / m.sqrt(x), (1e-37, 1e38)),
        "erf": (m.erf, (-4, 4)), "erfc": (m.erfc, (-4, 9)), "erfinv": (m.erfinv, (-0.99999, 0.99999)), "lgamma": (lambda x: m.log(abs(m.gamma(x))), (-20, 1e3)),
        "digamma": (m.digamma, (-20, 1e3)), "special.expit": (lambda x: 1 / (1 + m.exp(-x)), (-80, 80)),
        "special.logit": (lambda x: m.log(x / (1 - x)), (1e-6, 0.999)), "special.entr": (lambda x: -x * m.log(x), (1e-30, 1e6)),
        "special.erfcx": (lambda x: m.exp(x * x) * m.erfc(x), (-9, 1e3)), "special.ndtr": (m.ncdf, (-13, 6)), "special.log_ndtr": (log_ndtr, (-1e3, 5)),
        "special.ndtri": (lambda p: m.sqrt(2) * m.erfinv(2 * p - 1), (1e-9, 0.999)), "special.i0": (lambda x: m.besseli(0, x), (-88, 88)),
        "special.i0e": (lambda x: m.exp(-abs(x)) * m.besseli(0, x), (-500, 500)), "special.i1": (lambda x: m.besseli(1, x), (-88, 88)),
        "special.i1e": (lambda x: m.exp(-abs(x)) * m.besseli(1, x), (-500, 500)), "special.airy_ai": (m.airyai, (-20, 10)),
        "special.bessel_j0": (lambda x: m.besselj(0, x), (-50, 50)), "special.bessel_j1": (lambda x: m.besselj(1, x), (-50, 50)),
        "special.bessel_y0": (lambda x: m.bessely(0, x), (1e-3, 50)), "special.bessel_y1": (lambda x: m.bessely(1, x), (1e-3, 50)),
        "special.modified_bessel_i0": (lambda x: m.besseli(0, x), (-80, 80)), "special.modified_bessel_i1": (lambda x: m.besseli(1, x), (-80, 80)),
        "special.modified_bessel_k0": (lambda x: m.besselk(0, x), (1e-3, 80)), "special.modified_bessel_k1": (lambda x: m.besselk(1, x), (1e-3, 80)),
        "special.scaled_modified_bessel_k0": (lambda x: m.exp(x) * m.besselk(0, x), (1e-3, 500)),
        "special.scaled_modified_bessel_k1": (lambda x: m.exp(x) * m.besselk(1, x), (1e-3, 500)),
        "special.spherical_bessel_j0": (lambda x: m.sin(x) / x if x else m.mpf(1), (-50, 50)), "sinc": (m.sincpi, (-50, 50)),
        "special.sinc": (m.sincpi, (-50, 50)),
        "nn.functional.gelu": (lambda x: x * m.ncdf(x), (-5, 10)), "nn.functional.silu": (lambda x: x / (1 + m.exp(-x)), (-80, 80)),
        "nn.functional.mish": (lambda x: x * m.tanh(m.log1p(m.exp(x))), (-80, 80)), "nn.functional.softplus": (lambda x: m.log1p(m.exp(x)), (-80, 19)),
        "nn.functional.logsigmoid": (lambda x: -m.log1p(m.exp(-x)), (-80, 80)),
    }  # fmt: skip
    several = {
        "atan2": (m.atan2, (-10, 10), (-10, 10)), "hypot": (m.hypot, (-1e6, 1e6), (-1e6, 1e6)), "pow": (m.power, (1e-3, 30), (-15, 15)),
        "logaddexp": (lambda x, y: m.log(m.exp(x) + m.exp(y)), (-80, 80), (-80, 80)),
        "logaddexp2": (lambda x, y: m.log(m.mpf(2) ** x + m.mpf(2) ** y, 2), (-80, 80), (-80, 80)),
        "xlogy": (lambda x, y: x * m.log(y), (-10, 10), (1e-6, 1e6)), "special.xlog1py": (lambda x, y: x * m.log1p(y), (-10, 10), (-0.999, 1e6)),
        "special.zeta": (m.zeta, (1.01, 40), (0.1, 40)), "special.gammainc": (lambda a, x: m.gammainc(a, 0, x, regularized=True), (0.01, 50), (0.01, 60)),
        "special.gammaincc": (lambda a, x: m.gammainc(a, x, m.inf, regularized=True), (0.01, 50), (0.01, 60)),
    }  # fmt: skip
    return {**one, **several}


def log_ndtr(x):
    return mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2)


def single(x):
    """The float32 next to `x`."""
    return struct.unpack("f", struct.pack("f", x))[0]


def error(got, exact):
    """In units of the last place of the exact result, a float32."""
    if not mpmath.isfinite(exact) or abs(exact) > MAX or abs(exact) < 1.2e-38:
        return 0.0  # overflow and denormal results are the business of other tests
    if not math.isfinite(got):
        return math.inf
    unit = mpmath.mpf(2) ** max(math.frexp(float(exact))[1] - 24, -149)
    return float(abs(mpmath.mpf(got) - exact) / unit)


def find(module, name):
    for part in name.split("."):
        module = getattr(module, part)
    return module


def points(name, ranges, count):
    """The same for every module: columns of arguments that are float32."""
    rng = random.Random(name)
    draws = [spread(*r) if isinstance(r, tuple) else r for r in ranges]
    return list(zip(*[[single(draw(rng)) for draw in draws] for _ in range(count)], strict=True))


def references(name, count):
    reference, *ranges = functions()[name]
    columns = points(name, ranges, count)
    with mpmath.workdps(40):
        return columns, [mpmath.re(reference(*map(mpmath.mpf, row))) for row in zip(*columns, strict=True)]


def worst(module, name, columns, exact):
    """(largest error, where)."""
    got = find(module, name)(*(module.tensor(c, dtype=module.float32) for c in columns)).tolist()
    errors = [error(g, e) for g, e in zip(got, exact, strict=True)]
    at = max(range(len(errors)), key=errors.__getitem__)
    return errors[at], tuple(c[at] for c in columns)


def allowed(name, theirs):
    bound = BOUND_OF_PRODUCTS if name.startswith("nn.functional.") else BOUND
    return max(bound, ALIKE * (PYTORCH.get(name, 0.0) if theirs is None else theirs))


def peer():
    try:
        return importlib.import_module("torch")
    except ImportError:
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=400, help="for each function (400)")
    parser.add_argument("--only", default="", metavar="REGEX", help="functions whose name it finds")
    parser.add_argument("--module", default="cresset", help="what is measured (cresset)")
    options = parser.parse_args()
    if mpmath is None:
        sys.exit("ulp.py: mpmath is not installed; pip install mpmath")
    ours, theirs = importlib.import_module(options.module), peer()
    print(f"{'function':<38}{'ours':>10}{'PyTorch':>10}   at")
    failed = 0
    for name in filter(re.compile(options.only).search, functions()):
        columns, exact = references(name, options.points)
        mine, at = worst(ours, name, columns, exact)
        other = worst(theirs, name, columns, exact)[0] if theirs else None
        good = mine <= allowed(name, other)
        failed += not good
        shown = "-" if other is None else f"{other:.2f}"
        print(f"{name:<38}{mine:>10.2f}{shown:>10}   {', '.join(f'{x:.9g}' for x in at)}{'' if good else '   WORSE'}", flush=True)
    print(f"{failed} worse than the bound and than PyTorch")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
