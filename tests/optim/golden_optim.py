"""Writes golden_optim.inc: parameters after steps of PyTorch's optimizers, for optim_test.cpp.

Two parameters start at fixed values; each step takes the gradient of the same smooth loss: 8 steps, or 200 ("long"). Run with an interpreter that has torch 2.13.
"""

import pathlib

import torch
from torch import optim

CASES = {
    "SGD": lambda p: optim.SGD(p, lr=0.1),
    "SGDMomentum": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, dampening=0.1, weight_decay=0.01),
    "SGDNesterov": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
    "Adam": lambda p: optim.Adam(p, lr=0.1),
    "AdamDecay": lambda p: optim.Adam(p, lr=0.05, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1),
    "AdamAmsgrad": lambda p: optim.Adam(p, lr=0.2, amsgrad=True),
    "AdamW": lambda p: optim.AdamW(p, lr=0.1),
    "AdamWAmsgrad": lambda p: optim.AdamW(p, lr=0.2, betas=(0.7, 0.9), weight_decay=0.2, amsgrad=True),
    "RMSprop": lambda p: optim.RMSprop(p, lr=0.02),
    "RMSpropCentered": lambda p: optim.RMSprop(p, lr=0.02, alpha=0.9, momentum=0.5, centered=True, weight_decay=0.05),
    "Adagrad": lambda p: optim.Adagrad(p, lr=0.3),
    "AdagradDecay": lambda p: optim.Adagrad(p, lr=0.3, lr_decay=0.1, weight_decay=0.05, initial_accumulator_value=0.2, eps=1e-6),
    "Groups": lambda p: optim.SGD([{"params": [p[0]]}, {"params": [p[1]], "lr": 0.05}], lr=0.02, momentum=0.5),
    "Adamax": lambda p: optim.Adamax(p, lr=0.05),
    "AdamaxDecay": lambda p: optim.Adamax(p, lr=0.05, betas=(0.8, 0.998), eps=1e-6, weight_decay=0.1),
    "NAdam": lambda p: optim.NAdam(p, lr=0.05),
    "NAdamDecoupled": lambda p: optim.NAdam(p, lr=0.05, weight_decay=0.1, momentum_decay=0.01, decoupled_weight_decay=True),
    "RAdam": lambda p: optim.RAdam(p, lr=0.05),
    "RAdamDecay": lambda p: optim.RAdam(p, lr=0.05, betas=(0.7, 0.9), weight_decay=0.1),
    "Adadelta": lambda p: optim.Adadelta(p, lr=1.0),
    "AdadeltaDecay": lambda p: optim.Adadelta(p, lr=2.0, rho=0.8, eps=1e-4, weight_decay=0.05),
    "Rprop": lambda p: optim.Rprop(p, lr=0.02),
    "RpropBounds": lambda p: optim.Rprop(p, lr=0.02, etas=(0.4, 1.3), step_sizes=(1e-3, 0.05)),
    "ASGD": lambda p: optim.ASGD(p, lr=0.05),
    "ASGDAverage": lambda p: optim.ASGD(p, lr=0.05, lambd=0.01, alpha=0.6, t0=3, weight_decay=0.05),
    "Adafactor": lambda p: optim.Adafactor(p, lr=0.1),
    "AdafactorClip": lambda p: optim.Adafactor(p, lr=0.2, beta2_decay=-0.5, eps=(1e-6, 1e-2), d=1.5, weight_decay=0.1),
    "Muon": lambda p: optim.Muon([p[0]], lr=0.05),
    "LBFGS": lambda p: optim.LBFGS(p, lr=0.3, max_iter=4, history_size=3),
    "LBFGSStrongWolfe": lambda p: optim.LBFGS(p, max_iter=7, line_search_fn="strong_wolfe"),
}


def loss_of(a, b):
    x = torch.cat([a.reshape(-1), b])
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum() / 50


def bowl(a, b):
    """Without a valley in which last digits grow: for many steps."""
    x = torch.cat([a.reshape(-1), b])
    return (torch.linspace(0.2, 2, 10, dtype=x.dtype) * (x - torch.linspace(-1, 1, 10, dtype=x.dtype)).square()).sum()


def run(make, dtype, steps=8, loss_of=loss_of):
    a = torch.tensor([[0.5, -0.3], [1.2, 0.1], [-0.7, 0.4]], dtype=dtype, requires_grad=True)
    b = torch.tensor([0.9, -1.1, 0.2, 0.6], dtype=dtype, requires_grad=True)
    optimizer = make([a, b])

    def closure():
        optimizer.zero_grad()
        loss = loss_of(a, b)
        loss.backward()
        return loss

    for _ in range(steps):
        if isinstance(optimizer, optim.LBFGS):
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()
    return torch.cat([a.detach().reshape(-1), b.detach()]).tolist()


def main():
    lines = [f"// From PyTorch {torch.__version__.split('+')[0]} by golden_optim.py."]
    for name, make in CASES.items():
        lines.append(f'{{"{name} double", {{{", ".join(f"{v:.17g}" for v in run(make, torch.float64))}}}}},')
        lines.append(f'{{"{name} float", {{{", ".join(f"{v:.9g}" for v in run(make, torch.float32))}}}}},')
        if not name.startswith(("LBFGS", "Muon")):
            lines.append(f'{{"{name} long", {{{", ".join(f"{v:.17g}" for v in run(make, torch.float64, 200, bowl))}}}}},')
    pathlib.Path(__file__).with_name("golden_optim.inc").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
