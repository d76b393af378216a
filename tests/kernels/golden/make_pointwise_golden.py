"""Writes pointwise_golden.inc: PyTorch's results for special values. Run with the PyTorch to compare with:

    python tests/kernels/golden/make_pointwise_golden.py > tests/kernels/golden/pointwise_golden.inc

A row is {kernel, dtype, output dtype, {params}, count, {inputs one after the other}, {outputs}}; numbers are the bits of the elements,
complex numbers two.
"""

import itertools
import sys

import torch

F = torch.nn.functional
A = torch.ops.aten
inf, nan = float("inf"), float("nan")
torch.set_num_threads(1)

NAMES = {
    torch.uint8: "Byte",
    torch.int8: "Char",
    torch.int16: "Short",
    torch.int32: "Int",
    torch.int64: "Long",
    torch.float16: "Half",
    torch.float32: "Float",
    torch.float64: "Double",
    torch.complex64: "ComplexFloat",
    torch.bool: "Bool",
    torch.bfloat16: "BFloat16",
}
SAME_WIDTH = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
FLOATS = [torch.float32, torch.bfloat16, torch.float64]
INTS = [torch.int8, torch.uint8, torch.int64]

UNARY = [0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -3, 0.3, 7.25, -20.0, 100.0, 1e-3, inf, -inf, nan]
BINARY = [0.0, -0.0, 1, -1.5, 2.5, -3, 7.25, inf, -inf, nan]
INTEGERS = [0, 1, -1, 2, -3, 7, 8, 64, 127, -128]
COMPLEX = [complex(a, b) for a in (0.0, 1.0, -2.5, 0.5) for b in (0.0, -1.0, 3.0)]

# kernel: (function, params)
OPS = {}


def op(names, function=None, params=()):
    for name in names.split():
        OPS[name] = (function or getattr(torch, name), params)


op("mul eq ne lt le gt ge logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not")
op("bitwise_left_shift bitwise_right_shift maximum minimum fmax fmin abs neg sign sgn square reciprocal sqrt rsqrt remainder fmod pow atan2")
op("exp expm1 exp2 log log1p log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid erf erfc erfinv lgamma")
op("round floor ceil trunc frac isnan isinf isfinite isposinf isneginf signbit hypot copysign xlogy logaddexp heaviside nextafter")
op("gcd lcm angle relu")
op("add", lambda a, b: torch.add(a, b, alpha=2), (2,))
op("sub", lambda a, b: torch.sub(a, b, alpha=2), (2,))
op("div", torch.true_divide)
op("div_floor", torch.floor_divide)
op("div_trunc", lambda a, b: torch.div(a, b, rounding_mode="trunc"))
op("conj", torch.conj_physical)
op("round_decimals", lambda a: torch.round(a, decimals=1), (10.0, 0.0))
op("nan_to_num", lambda a: torch.nan_to_num(a, 1.0, 2.0, 3.0), (1.0, 2.0, 3.0))
op("clamp", lambda a: torch.clamp(a, -1, 2), (-1, 2))
op("clamp_min", lambda a: torch.clamp_min(a, 1), (1,))
op("clamp_max", lambda a: torch.clamp_max(a, 1), (1,))
op("leaky_relu", lambda a: F.leaky_relu(a, 0.25), (0.25,))
op("threshold", lambda a: F.threshold(a, 1, 5), (1, 5))
op("elu", lambda a: A.elu(a, 1.5, 1.25, 0.5), (1.5, 1.25, 0.5))
op("gelu", F.gelu)
op("gelu_tanh", lambda a: F.gelu(a, approximate="tanh"))
op("silu", F.silu)
op("mish", F.mish)
op("hardsigmoid", F.hardsigmoid)
op("hardswish", F.hardswish)
op("hardshrink", F.hardshrink, (0.5,))
op("softshrink", F.softshrink, (0.5,))
op("softplus", lambda a: F.softplus(a, 1.5, 10), (1.5, 10.0))
op("log_sigmoid", F.logsigmoid)
op("tanh_backward", A.tanh_backward)
op("sigmoid_backward", A.sigmoid_backward)
op("threshold_backward", lambda g, x: A.threshold_backward(g, x, 1), (1,))
op("leaky_relu_backward", lambda g, x: A.leaky_relu_backward(g, x, 0.25, False), (0.25,))
op("elu_backward", lambda g, x: A.elu_backward(g, 1.5, 1.25, 0.5, False, x), (1.5, 1.25, 0.5))
op("elu_backward_from_result", lambda g, x: A.elu_backward(g, 1.5, 1.25, 0.5, True, x), (1.5, 1.25, 0.5))
op("silu_backward", A.silu_backward)
op("mish_backward", A.mish_backward)
op("hardsigmoid_backward", A.hardsigmoid_backward)
op("hardswish_backward", A.hardswish_backward)
op("shrink_backward", lambda g, x: A.hardshrink_backward(g, x, 0.5), (0.5,))
op("hardtanh_backward", lambda g, x: A.hardtanh_backward(g, x, -1, 1), (-1.0, 1.0))
op("softplus_backward", lambda g, x: A.softplus_backward(g, x, 1.5, 10), (1.5, 10.0))
op("mse_loss", lambda x, y: F.mse_loss(x, y, reduction="none"))
op("smooth_l1_loss", lambda x, y: F.smooth_l1_loss(x, y, reduction="none", beta=0.75), (0.75,))
op("huber_loss", lambda x, y: F.huber_loss(x, y, reduction="none", delta=0.75), (0.75,))

# Where a result is PyTorch's accident rather than its semantics.
LEFT_OUT = {
    "gelu": lambda x: abs(x) == inf or x < -1,
    "gelu_tanh": lambda x: x < -1,
    "mish": lambda x: x == -inf,
    "silu_backward": lambda g, x: abs(x) == inf,
    "mish_backward": lambda g, x: abs(x) == inf or x == -20,
    "lcm": lambda a, b: True,
    "gcd": lambda a, b: -128 in (a, b),
    "maximum": lambda a, b: a == 0 == b,
    "minimum": lambda a, b: a == 0 == b,
    "fmax": lambda a, b: a == 0 == b,
    "fmin": lambda a, b: a == 0 == b,
}
# Its double constant is a float's 1/6; its complex gradient lacks the conjugate.
LEFT_OUT_DTYPES = [("hardsigmoid_backward", torch.float64), ("silu_backward", torch.complex64)]


def bits(t):
    if t.is_complex():
        t = torch.view_as_real(t).reshape(-1)
    t = t.contiguous()
    if t.dtype == torch.bool:
        return [int(v) for v in t]
    width = t.element_size()
    return [int(v) % (1 << 8 * width) for v in t.view(SAME_WIDTH[width])]


def samples(name, function, dtype):
    if dtype.is_complex:
        one = two = COMPLEX
    elif dtype.is_floating_point:
        one, two = UNARY, BINARY
    elif dtype == torch.bool:
        one = two = [False, True]
    else:
        limits = torch.iinfo(dtype)
        one = two = [v for v in INTEGERS if limits.min <= v <= limits.max]
    for arity, values in ((1, [(v,) for v in one]), (2, list(itertools.product(two, two)))):
        if arity == 2 and dtype.is_complex:
            values = values[::5]
        keep = LEFT_OUT.get(name, lambda *_: False)
        try:
            values = [v for v in values if not keep(*v)]
        except TypeError:
            continue
        if name in ("div_floor", "div_trunc", "remainder", "fmod") and dtype in INTS:
            values = [v for v in values if len(v) == 2 and v[1] != 0 and not (v[1] == -1 and v[0] == torch.iinfo(dtype).min)]
        if name == "pow" and dtype in INTS:
            values = [v for v in values if len(v) == 2 and v[1] >= 0]
        if not values:
            continue
        inputs = [torch.tensor(column, dtype=dtype) for column in zip(*values)]
        # One element at a time: vectorised loops treat some special values differently from the documented ones.
        try:
            return inputs, torch.stack([function(*(x[i].clone() for x in inputs)) for i in range(len(values))])
        except Exception:
            continue
    return None, None


print("// Made by make_pointwise_golden.py with PyTorch", torch.__version__.split("+")[0])
for name, (function, params) in OPS.items():
    for dtype in [torch.bool, *INTS, *FLOATS, torch.complex64]:
        if (dtype in INTS and any(isinstance(p, float) for p in params)) or (name, dtype) in LEFT_OUT_DTYPES:
            continue
        inputs, out = samples(name, function, dtype)
        real = {torch.complex64: torch.float32}
        if out is None or out.dtype not in (dtype, torch.bool, real.get(dtype)) or out.dim() != 1:
            continue
        tags = ", ".join(repr(p) if isinstance(p, float) else f"int64_t{{{p}}}" for p in params)
        numbers = lambda v: ",".join(hex(x) if x > 9 else str(x) for x in v)
        given = [x for t in inputs for x in bits(t)]
        print(f'{{"{name}", S::{NAMES[dtype]}, S::{NAMES[out.dtype]}, {{{tags}}}, {len(inputs[0])}, {{{numbers(given)}}},')
        print(f" {{{numbers(bits(out))}}}}},")
        sys.stdout.flush()
