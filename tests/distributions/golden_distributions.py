"""Writes golden_distributions.inc: samples under a seed and the other numbers of PyTorch's distributions in float64, for distributions_test.cpp.

Run with an interpreter that has torch 2.13:  python golden_distributions.py
"""

import pathlib
import sys
import warnings

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "python" / "distributions"))
import every_distribution  # noqa: E402


def number(x):
    return f"{x:.9g}"


def row(name, value):
    numbers = " ".join(number(x) for x in value.detach().double().flatten().tolist())
    return f'{{"{name}", "{" ".join(map(str, value.shape))}", "{numbers}"}},\n'  # text, which compiles at once


warnings.simplefilter("ignore")
with open(pathlib.Path(__file__).with_name("golden_distributions.inc"), "w") as out:
    out.write(f"// From PyTorch {torch.__version__.split('+')[0]} by golden_distributions.py.\n")
    for distribution, make in every_distribution.distributions(torch).items():
        dtype = torch.float32 if distribution.startswith("GeneralizedPareto") else torch.float64  # PyTorch's one distribution that has no float64
        for method, value in every_distribution.numbers_of(torch, make, dtype).items():
            out.write(row(f"{distribution} {method}", value))
    for pair, value in every_distribution.divergences(torch, torch.float64).items():
        out.write(row(f"KL {pair}", value))
