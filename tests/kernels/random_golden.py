"""Writes random_golden.inc from an installed PyTorch: python tests/kernels/random_golden.py > tests/kernels/random_golden.inc

A row is {op, dtype, a, b, {one hash per size}}; a and b are the op's parameters. A hash (FNV-1a in steps of 8 bytes)
runs over the outputs for all seeds, padded with zeros, and after each output over the next 31 bits of the generator.
"""

import torch
from torch.nn import functional

SEEDS = [0, 42, 2**63 + 17, 123456789012345]
SIZES = [0, 1, 5, 15, 16, 17, 31, 100, 1000, 2500, 40017, 100003]
FLOATS = ["Half", "BFloat16", "Float", "Double"]
SIGNED = ["Byte", "Char", "Short", "Int", "Long"]
UNSIGNED = ["UInt16", "UInt32", "UInt64"]
DTYPES = {
    "Half": torch.half,
    "BFloat16": torch.bfloat16,
    "Float": torch.float,
    "Double": torch.double,
    "Bool": torch.bool,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Short": torch.int16,
    "Int": torch.int32,
    "Long": torch.int64,
    "UInt16": torch.uint16,
    "UInt32": torch.uint32,
    "UInt64": torch.uint64,
}
MIN64, MAX64 = -(2**63), 2**63 - 1


def to_bytes(t):
    return t.clone(memory_format=torch.contiguous_format).view(torch.uint8).numpy().tobytes() if t.numel() else b""


def fnv(data, h=0xCBF29CE484222325):
    data = data + bytes(-len(data) % 8)
    for i in range(0, len(data), 8):
        h = ((h ^ int.from_bytes(data[i : i + 8], "little")) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def step(n):
    """Whole numbers 0 ... 100 in a pattern, exact in every floating dtype once divided by a power of two."""
    return torch.arange(n) * 37 % 101


def strided(n, dtype):
    return torch.zeros(2 * n, dtype=dtype)[::2]


def multinomial(n, dtype, rows, samples, replacement):
    weights = ((step(rows * n) + 1).double() / 128).to(dtype).view(rows, n)
    return torch.multinomial(weights, samples, replacement)


def transposed_multinomial(n, dtype, samples):
    weights = ((step(3 * n) + 1).double() / 128).to(dtype).view(n, 3).t()
    return torch.multinomial(weights, samples)


def rrelu(n, dtype, a, b):
    x = ((step(n).double() - 50) / 8).to(dtype)
    return torch._C._nn.rrelu_with_noise(x, torch.zeros_like(x), a, b, True)


OPS = {
    "uniform": lambda n, t, a, b: torch.empty(n, dtype=t).uniform_(a, b),
    "normal": lambda n, t, a, b: torch.empty(n, dtype=t).normal_(a, b),
    "normal_strided": lambda n, t, a, b: strided(n, t).normal_(a, b),
    "log_normal": lambda n, t, a, b: torch.empty(n, dtype=t).log_normal_(a, b),
    "exponential": lambda n, t, a, b: torch.empty(n, dtype=t).exponential_(a),
    "cauchy": lambda n, t, a, b: torch.empty(n, dtype=t).cauchy_(a, b),
    "geometric": lambda n, t, a, b: torch.empty(n, dtype=t).geometric_(a),
    "bernoulli": lambda n, t, a, b: torch.empty(n, dtype=t).bernoulli_(a),
    # b: the probabilities' dtype, by index into FLOATS
    "bernoulli_tensor": lambda n, t, a, b: torch.empty(n, dtype=t).bernoulli_((step(n).double() / 128).to(DTYPES[FLOATS[int(b)]])),
    "dropout_noise": lambda n, t, a, b: torch.empty(n, dtype=t).bernoulli_(1 - a).div_(1 - a),
    "dropout": lambda n, t, a, b: functional.dropout(((step(n).double() - 50) / 8).to(t), a),
    "random_full": lambda n, t, a, b: torch.empty(n, dtype=t).random_(),
    "random_from_to": lambda n, t, a, b: torch.empty(n, dtype=t).random_(a, b),
    "random_from": lambda n, t, a, b: torch.empty(n, dtype=t).random_(a, None),
    "randperm": lambda n, t, a, b: torch.randperm(n, dtype=t),
    # a: the largest parameter, about
    "poisson": lambda n, t, a, b: torch.poisson((step(n).double() / (100 / a)).to(t)),
    "binomial": lambda n, t, a, b: torch.binomial((step(n) * a).to(t), ((101 - step(n)).double() / 128).to(t)),
    "standard_gamma": lambda n, t, a, b: torch._standard_gamma(((step(n) + 1).double() / (100 / a)).to(t)),
    "rrelu": rrelu,
    # a: samples, b: with replacement
    "multinomial": lambda n, t, a, b: multinomial(n, t, 3, a, bool(b)),
    "transposed_multinomial": lambda n, t, a, b: transposed_multinomial(n, t, a),
}

ROWS = []
for t in FLOATS:
    ROWS += [("uniform", t, a, b) for a, b in [(0, 1), (-3, 7), (0.1, 0.7), (-1, 0), (5, 5.01)]]
    ROWS += [("normal", t, a, b) for a, b in [(0, 1), (0.3, 1.7), (-100, 0.01)]]
    ROWS += [("normal_strided", t, 0, 1), ("normal_strided", t, 0.3, 1.7), ("log_normal", t, 0.4, 1.3), ("log_normal", t, 1, 2)]
    ROWS += [("exponential", t, a, 0) for a in (1, 0.3, 7.7)] + [("cauchy", t, 0, 1), ("cauchy", t, 0.4, 1.3)]
    ROWS += [("dropout_noise", t, p, 0) for p in (0.1, 0.5)] + [("dropout", t, p, 0) for p in (0.1, 0.3, 0.5)]
    ROWS += [("multinomial", t, 1, 0), ("multinomial", t, 1, 1), ("multinomial", t, 7, 0), ("multinomial", t, 50, 1)]
    ROWS += [("transposed_multinomial", t, 1, 0), ("transposed_multinomial", t, 5, 0)]
    ROWS += [("random_from_to", t, 0, 10), ("random_from_to", t, -30001, 30000), ("random_from_to", t, -29999, 5), ("random_from", t, -5, 0)]
    ROWS += [("poisson", t, a, 0) for a in (25, 800)]
for t in ["Float", "Double"]:
    ROWS += [("binomial", t, a, 0) for a in (1, 7, 1000)] + [("standard_gamma", t, a, 0) for a in (100, 6.25, 0.390625)]
    ROWS += [("rrelu", t, 0.1, 0.4), ("rrelu", t, 1 / 8, 1 / 3)]
for t in FLOATS + SIGNED:
    ROWS += [("geometric", t, p, 0) for p in (0.3, 0.9)]
for t in FLOATS + SIGNED + ["Bool"]:
    ROWS += [("bernoulli", t, p, 0) for p in (0.5, 0.3, 0, 1)] + [("bernoulli_tensor", t, 0, i) for i in range(4)]
    ROWS += [("random_full", t, 0, 0)]
for t in SIGNED + UNSIGNED:
    ROWS += [("random_from_to", t, 0, 1), ("random_from_to", t, 0, 64), ("random_from_to", t, 3, 100)]
for t in ["Byte", "Char", "Short", "Int", "Long", "UInt16", "UInt32", "Bool"]:
    ROWS += [("random_from", t, 0, 0), ("random_from", t, 1, 0)]
for t in ["Int", "Long", "UInt32", "UInt64", "BFloat16", "Float", "Double"]:
    ROWS += [("random_from_to", t, 0, 2**k + d) for k, d in [(20, 3), (24, 1), (28, -1), (28, 0), (28, 1), (31, -1)]]
for t in ["Long", "BFloat16", "Float", "Double"]:
    ROWS += [("random_from_to", t, a, b) for a, b in [(-(2**26) - 5, -(2**25) - 1), (-(2**31) - 7, 5), (2**40, 2**41 + 1), (2**24 + 1, 2**25 + 3)]]
    ROWS += [
        ("random_from_to", t, a, b) for a, b in [(2**53 + 1, 2**54 + 7), (0, MAX64), (MIN64, MAX64), (MIN64 + 1, 5), (-(2**62), MAX64), (0, 2**63 - 2**20 - 1)]
    ]
    ROWS += [("random_from", t, MIN64, 0), ("random_from", t, -(2**26) - 7, 0)]
for t in ["Short", "Int", "Long", "Half", "BFloat16", "Float", "Double", "Byte", "Char"]:
    ROWS += [("randperm", t, 0, 0)]

# Calls on one generator, without seeding in between.
SEQUENCE = [
    ("normal", "Float", 3, 0, 1), ("uniform", "Float", 5, 0, 1), ("normal", "Float", 20, 0, 1), ("normal", "Double", 4, 1, 2),
    ("random_full", "Int", 7, 0, 0), ("normal", "Half", 15, 0, 1), ("normal", "Half", 33, 0, 1), ("log_normal", "Float", 5, 0, 1),
    ("randperm", "Long", 10, 0, 0), ("bernoulli", "Bool", 9, 0.4, 0), ("normal_strided", "Float", 21, 0, 1), ("uniform", "Double", 621, 0, 1),
    ("uniform", "BFloat16", 3, 0, 1), ("random_from_to", "Long", 11, 0, 2**40), ("exponential", "Double", 311, 1, 0),
    ("normal", "BFloat16", 1, 0, 1), ("dropout", "Float", 50, 0.2, 0), ("normal", "Double", 18, 0, 1), ("normal", "Float", 1, 0, 1),
    ("standard_gamma", "Double", 9, 25, 0), ("normal", "Float", 2, 0, 1), ("poisson", "Float", 40, 25, 0), ("normal", "Half", 1, 0, 1),
]  # fmt: skip


def after(h):
    return fnv(int(torch.empty((), dtype=torch.int32).random_()).to_bytes(8, "little"), h)


def possible(op, dtype, n, a):
    if op == "randperm":
        return n <= {"Byte": 256, "Char": 128, "Short": 32768, "Half": 2049}.get(dtype, n)
    if "multinomial" in op:
        return n >= a and n <= 5000
    return True


def hashes(op, dtype, a, b):
    for n in SIZES:
        h = 0xCBF29CE484222325
        if possible(op, dtype, n, a):
            for seed in SEEDS:
                torch.manual_seed(seed)
                h = after(fnv(to_bytes(OPS[op](n, DTYPES[dtype], a, b)), h))
        yield f"0x{h:016x}"


def literal(v):
    return "INT64_MIN" if v == MIN64 else repr(v)


def number(v):
    """A parameter as the pair (double, int64)."""
    return f"{{{float(v)!r}, {literal(int(v))}}}"


def main():
    print(f"// Written by random_golden.py with PyTorch {torch.__version__}.")
    print(f"constexpr uint64_t kSeeds[] = {{{', '.join(str(s) + 'u' for s in SEEDS)}}};")
    print(f"constexpr int64_t kSizes[] = {{{', '.join(map(str, SIZES))}}};")
    print("constexpr GoldenRow kRows[] = {")
    for op, dtype, a, b in ROWS:
        print(f'    {{"{op}", ScalarType::{dtype}, {number(a)}, {number(b)}, {{{", ".join(hashes(op, dtype, a, b))}}}}},')
    print("};")
    print("constexpr GoldenCall kCalls[] = {")
    torch.manual_seed(SEEDS[1])
    for op, dtype, n, a, b in SEQUENCE:
        h = fnv(to_bytes(OPS[op](n, DTYPES[dtype], a, b)))
        state = fnv(torch.get_rng_state().numpy().tobytes())
        print(f'    {{"{op}", ScalarType::{dtype}, {n}, {number(a)}, {number(b)}, 0x{h:016x}, 0x{state:016x}}},')
    print("};")


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main()
