"""Writes golden_dtype.inc: type promotion and rounding as PyTorch does them. Usage: python golden_dtype.py > golden_dtype.inc"""

import random

import torch

# In the order of the enumerators.
DTYPES = [
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "bool",
    "bfloat16",
    "uint16",
    "uint32",
    "uint64",
]
NUMBERS = [True, 1, 1.5, 1j]


def name(f):
    try:
        return str(f()).removeprefix("torch.")
    except RuntimeError:
        return "error"


def table(title, rows):
    print(f"const char* const {title}[][{len(rows[0])}] = {{")
    for row in rows:
        print("    {" + ", ".join(f'"{cell}"' for cell in row) + "},")
    print("};")


def tensor(dtype, dims):
    return torch.ones([2] * dims, dtype=getattr(torch, dtype))


print("// Written by golden_dtype.py with PyTorch " + torch.__version__.split("+")[0] + ".")
print("const char* const kNames[] = {" + ", ".join(f'"{d}"' for d in DTYPES) + "};")
table("kPromoteTypes", [[name(lambda: torch.promote_types(getattr(torch, a), getattr(torch, b))) for b in DTYPES] for a in DTYPES])
table("kTensorWithZeroDim", [[name(lambda: torch.result_type(tensor(a, 1), tensor(b, 0))) for b in DTYPES] for a in DTYPES])
table("kTensorWithNumber", [[name(lambda: torch.result_type(tensor(a, 1), n)) for n in NUMBERS] for a in DTYPES])
table("kZeroDimWithNumber", [[name(lambda: torch.result_type(tensor(a, 0), n)) for n in NUMBERS] for a in DTYPES])
table("kCanCast", [["yes" if torch.can_cast(getattr(torch, a), getattr(torch, b)) else "no" for b in DTYPES] for a in DTYPES])
# Results of dividing, with the default dtype float32.
print("const char* const kTrueDivide[] = {" + ", ".join(f'"{name(lambda: (tensor(a, 1) / tensor(a, 1)).dtype)}"' for a in DTYPES) + "};")

random.seed(1)
bits = [0, 0x80000000, 0x3F800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x477FEFFF, 0x477FF000, 0x33000000, 0x33000001, 0x33800000, 0x387FC000, 0x387FE000,
        0x38800000, 0x3F801000, 0x3F803000, 0x3F801001, 0x00000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x7F7F7FFF, 0x7F7F8000, 0x3F808000, 0x3F818000,
        0x3F808001]  # fmt: skip
bits += [random.getrandbits(32) for _ in range(200)] + [0x38000000 + random.getrandbits(27) for _ in range(200)]
floats = torch.tensor([b - (1 << 32) if b >> 31 else b for b in bits], dtype=torch.int32).view(torch.float32)
half = (floats.to(torch.float16).view(torch.int16).to(torch.int32) & 0xFFFF).tolist()
bfloat = (floats.to(torch.bfloat16).view(torch.int16).to(torch.int32) & 0xFFFF).tolist()
print("// float32 bits, and those of the nearest float16 and bfloat16.")
print("const uint32_t kRounding[][3] = {")
for row in zip(bits, half, bfloat):
    print("    {" + ", ".join(hex(x) for x in row) + "},")
print("};")
