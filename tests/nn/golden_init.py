"""Writes golden_init.inc: PyTorch's initialisers under seed 7, for init_test.cpp. Run with an interpreter that has torch 2.13."""

import pathlib

import torch
from torch.nn import init

CASES = {
    "uniform": ((3, 4), lambda t: init.uniform_(t, -0.3, 0.7)),
    "normal": ((3, 4), lambda t: init.normal_(t, 0.2, 1.5)),
    "xavier_uniform": ((4, 3), lambda t: init.xavier_uniform_(t, 1.3)),
    "xavier_normal": ((4, 3, 2), lambda t: init.xavier_normal_(t)),
    "kaiming_uniform": ((4, 3, 2), lambda t: init.kaiming_uniform_(t, 0.3)),
    "kaiming_uniform_relu": ((4, 3), lambda t: init.kaiming_uniform_(t, mode="fan_out", nonlinearity="relu")),
    "kaiming_normal": ((5, 3), lambda t: init.kaiming_normal_(t, 0.1, mode="fan_out")),
    "large_normal": ((9, 4), lambda t: init.normal_(t)),
    "dirac": ((4, 2, 3), lambda t: init.dirac_(t, 2)),
    "eye": ((2, 3), lambda t: init.eye_(t)),
    "sparse": ((5, 3), lambda t: init.sparse_(t, 0.4, 0.5)),
    "orthogonal": ((3, 5), lambda t: init.orthogonal_(t, 1.2)),
    "orthogonal_tall": ((4, 2), lambda t: init.orthogonal_(t)),
}


def main():
    lines = [f"// From PyTorch {torch.__version__.split('+')[0]} by golden_init.py."]
    for name, (shape, fill) in CASES.items():
        torch.manual_seed(7)
        t = fill(torch.zeros(shape))
        lines.append(f'{{"{name}", {{{", ".join(f"{v:.9g}" for v in t.reshape(-1).tolist())}}}}},')
    pathlib.Path(__file__).with_name("golden_init.inc").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
