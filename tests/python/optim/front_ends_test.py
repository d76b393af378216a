"""C++ and Python take the same steps: every optimizer over 200 steps and every schedule, bit for bit."""

import os
import subprocess
import tempfile
import unittest

import _cresset
from cresset.optim.swa_utils import SWALR

import cresset as torch
from cresset import optim
from cresset.optim import lr_scheduler as schedules

PROGRAM = os.path.join(os.path.dirname(_cresset.__file__), "..", "tests", "optim_test")  # of the same build

OPTIMIZERS = {
    "SGDNesterov": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
    "AdamAmsgrad": lambda p: optim.Adam(p, lr=0.2, amsgrad=True),
    "AdamW": lambda p: optim.AdamW(p, lr=0.1),
    "RMSpropCentered": lambda p: optim.RMSprop(p, lr=0.02, alpha=0.9, momentum=0.5, centered=True, weight_decay=0.05),
    "Adagrad": lambda p: optim.Adagrad(p, lr=0.3),
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
}

SCHEDULES = {
    "LambdaLR": lambda o: schedules.LambdaLR(o, lambda epoch: 1.0 / (1.0 + 0.1 * epoch)),
    "MultiplicativeLR": lambda o: schedules.MultiplicativeLR(o, lambda epoch: 1.0 / (1.0 + 0.1 * epoch)),
    "StepLR": lambda o: schedules.StepLR(o, 3, 0.7),
    "MultiStepLR": lambda o: schedules.MultiStepLR(o, [2, 5, 5, 9], 0.5),
    "ConstantLR": lambda o: schedules.ConstantLR(o, 0.3, 4),
    "LinearLR": lambda o: schedules.LinearLR(o, 0.2, 0.9, 7),
    "ExponentialLR": lambda o: schedules.ExponentialLR(o, 0.93),
    "PolynomialLR": lambda o: schedules.PolynomialLR(o, 12, 1.7),
    "CosineAnnealingLR": lambda o: schedules.CosineAnnealingLR(o, 6, 0.01),
    "CosineAnnealingWarmRestarts": lambda o: schedules.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "CyclicLR": lambda o: schedules.CyclicLR(o, 0.01, 0.2, 3, 5, mode="triangular2"),
    "CyclicExp": lambda o: schedules.CyclicLR(o, [0.01, 0.02], [0.2, 0.3], 4, mode="exp_range", gamma=0.97, cycle_momentum=False),
    "OneCycleLR": lambda o: schedules.OneCycleLR(o, 0.5, 30),
    "OneCycleThree": lambda o: schedules.OneCycleLR(o, [0.5, 0.3], 30, three_phase=True, anneal_strategy="linear", pct_start=0.4),
    "SWALR": lambda o: SWALR(o, 0.02, 8),
    "SWALinear": lambda o: SWALR(o, [0.02, 0.3], 8, "linear"),
    "SequentialLR": lambda o: schedules.SequentialLR(
        o, [schedules.ConstantLR(o, 0.1, 3), schedules.ExponentialLR(o, 0.9), schedules.CosineAnnealingLR(o, 5)], [4, 11]
    ),
    "ChainedScheduler": lambda o: schedules.ChainedScheduler([schedules.ConstantLR(o, 0.1, 3), schedules.ExponentialLR(o, 0.9)]),
    "ReduceLROnPlateau": lambda o: schedules.ReduceLROnPlateau(o, "min", 0.5, 2, 0.01, "rel", 1, 0.01),
}


def steps_of(make, dtype):
    a = torch.tensor([[0.5, -0.3], [1.2, 0.1], [-0.7, 0.4]], dtype=dtype, requires_grad=True)
    b = torch.tensor([0.9, -1.1, 0.2, 0.6], dtype=dtype, requires_grad=True)
    optimizer = make([a, b])

    def closure():
        optimizer.zero_grad()
        x = torch.cat([a.reshape(-1), b])
        loss = (torch.linspace(0.2, 2, 10, dtype=dtype) * (x - torch.linspace(-1, 1, 10, dtype=dtype)).square()).sum()
        loss.backward()
        return loss

    seen = []
    for _ in range(200):
        if isinstance(optimizer, optim.LBFGS):
            optimizer.step(closure)
        else:
            closure()
            optimizer.step()
        seen += torch.cat([a.detach().reshape(-1), b.detach()]).tolist()
    return seen


def rates_of(make, steps):
    a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    optimizer = optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.4, "momentum": 0.5}], lr=0.1, momentum=0.9)
    schedule = make(optimizer)
    optimizer.step()
    seen = []
    for i in range(steps):
        for group in optimizer.param_groups:
            seen += [group["lr"], group["momentum"]]
        schedule.step(*([1.0 / (1 + i % 7)] if isinstance(schedule, schedules.ReduceLROnPlateau) else []))
    return seen


@unittest.skipUnless(os.path.exists(PROGRAM), "the C++ tests are not built")
class FrontEnds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "steps")
            done = subprocess.run([PROGRAM, "--gtest_filter=Steps.*"], capture_output=True, text=True, env={**os.environ, "CRESSET_STEPS": path})
            if done.returncode:
                raise AssertionError(done.stdout + done.stderr)
            with open(path) as file:
                rows = [line.split() for line in file]
        cls.rows = {(name, kind): [float.fromhex(x) for x in numbers] for name, kind, *numbers in rows}

    def test_there_is_a_row_for_each(self):
        names = {(name, kind) for name in OPTIMIZERS for kind in ("float", "double")} | {(name, "rates") for name in SCHEDULES}
        self.assertEqual(set(self.rows), names)

    def test_optimizers(self):
        for name, make in OPTIMIZERS.items():
            for kind, dtype in (("float", torch.float32), ("double", torch.float64)):
                with self.subTest(f"{name} {kind}"):
                    self.assert_same(self.rows[name, kind], steps_of(make, dtype), 10)

    def test_schedules(self):
        for name, make in SCHEDULES.items():
            with self.subTest(name):
                theirs = self.rows[name, "rates"]
                self.assert_same(theirs, rates_of(make, len(theirs) // 4), 4)

    def assert_same(self, theirs, ours, width):
        self.assertEqual(len(theirs), len(ours))
        for i, (a, b) in enumerate(zip(theirs, ours)):
            self.assertEqual(a, b, f"step {i // width}, number {i % width}")


if __name__ == "__main__":
    unittest.main()
