"""Fifty steps of every optimizer against the published formulas in NumPy, in double precision."""

import math
import unittest

import numpy as np

import cresset as torch

optim = torch.optim
STEPS = 50


def values(shape, seed):
    return np.random.default_rng(seed).normal(size=shape)


class Rule:
    """One parameter's published update; `s` keeps its state."""

    def __init__(self, p, o):
        self.p, self.o, self.t, self.s = p.copy(), o, 0, {}

    def keep(self, name, start=0.0):
        return self.s.setdefault(name, np.full_like(self.p, start))

    def step(self, g):
        self.t += 1
        g = -g if self.o.get("maximize") else g
        decay = self.o.get("weight_decay", 0)
        if decay and self.o.get("decoupled"):
            self.p = self.p * (1 - self.o["lr"] * decay)
        elif decay:
            g = g + decay * self.p
        self.update(g)

    def moments(self, g):
        b1, b2 = self.o.get("betas", (0.9, 0.999))
        m = self.s["m"] = b1 * self.keep("m") + (1 - b1) * g
        v = self.s["v"] = b2 * self.keep("v") + (1 - b2) * g * g
        return m, v, 1 - b1**self.t, 1 - b2**self.t


class Sgd(Rule):
    def update(self, g):
        momentum = self.o.get("momentum", 0)
        if momentum:
            self.s["b"] = g if self.t == 1 else momentum * self.s["b"] + (1 - self.o.get("dampening", 0)) * g
            g = g + momentum * self.s["b"] if self.o.get("nesterov") else self.s["b"]
        self.p = self.p - self.o["lr"] * g


class AdamRule(Rule):
    def update(self, g):
        m, v, c1, c2 = self.moments(g)
        if self.o.get("amsgrad"):
            v = self.s["largest"] = np.maximum(self.keep("largest"), v)
        self.p = self.p - self.o["lr"] * (m / c1) / (np.sqrt(v / c2) + 1e-8)


class AdamaxRule(Rule):
    def update(self, g):
        m, _, c1, _ = self.moments(g)
        u = self.s["u"] = np.maximum(0.999 * self.keep("u"), np.abs(g) + 1e-8)
        self.p = self.p - self.o["lr"] / c1 * m / u


class NadamRule(Rule):
    def update(self, g):
        m, v, _, c2 = self.moments(g)
        mu, following = (0.9 * (1 - 0.5 * 0.96 ** (t * self.o.get("momentum_decay", 0.004))) for t in (self.t, self.t + 1))
        product = self.s["product"] = self.s.get("product", 1.0) * mu
        scale = np.sqrt(v / c2) + 1e-8
        self.p = self.p - self.o["lr"] * ((1 - mu) / (1 - product) * g + following / (1 - product * following) * m) / scale


class RadamRule(Rule):
    def update(self, g):
        m, v, c1, c2 = self.moments(g)
        limit = 2 / (1 - 0.999) - 1
        length = limit - 2 * self.t * 0.999**self.t / c2
        change = m / c1
        if length > 5:
            r = math.sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length))
            change = change * r * math.sqrt(c2) / (np.sqrt(v) + 1e-8)
        self.p = self.p - self.o["lr"] * change


class RmspropRule(Rule):
    def update(self, g):
        v = self.s["v"] = 0.99 * self.keep("v") + 0.01 * g * g
        if self.o.get("centered"):
            mean = self.s["mean"] = 0.99 * self.keep("mean") + 0.01 * g
            v = v - mean * mean
        change = g / (np.sqrt(v) + 1e-8)
        if self.o.get("momentum"):
            change = self.s["b"] = self.o["momentum"] * self.keep("b") + change
        self.p = self.p - self.o["lr"] * change


class AdagradRule(Rule):
    def update(self, g):
        s = self.s["s"] = self.keep("s", self.o.get("initial_accumulator_value", 0)) + g * g
        self.p = self.p - self.o["lr"] / (1 + (self.t - 1) * self.o.get("lr_decay", 0)) * g / (np.sqrt(s) + 1e-10)


class AdadeltaRule(Rule):
    def update(self, g):
        v = self.s["v"] = 0.9 * self.keep("v") + 0.1 * g * g
        d = np.sqrt(self.keep("u") + 1e-6) / np.sqrt(v + 1e-6) * g
        self.s["u"] = 0.9 * self.s["u"] + 0.1 * d * d
        self.p = self.p - self.o["lr"] * d


class RpropRule(Rule):
    def update(self, g):
        sizes, before = self.keep("sizes", self.o["lr"]), self.keep("before")
        agreement = np.sign(g * before)
        self.s["sizes"] = sizes = np.clip(sizes * np.where(agreement > 0, 1.2, np.where(agreement < 0, 0.5, 1)), 1e-6, 50)
        self.s["before"] = g = np.where(agreement < 0, 0, g)
        self.p = self.p - np.sign(g) * sizes


class AsgdRule(Rule):
    def update(self, g):
        lr, lambd, t0 = self.o["lr"], 1e-4, self.o.get("t0", 1e6)
        eta = lr / (1 + lambd * lr * (self.t - 1)) ** 0.75
        self.p = self.p * (1 - lambd * eta) - eta * g
        mu = 1 / max(1, self.t - 1 - t0)
        self.s["ax"] = self.keep("ax") + mu * (self.p - self.keep("ax"))


class AdafactorRule(Rule):
    def update(self, g):
        eps, keep = np.finfo(np.float64).eps, 1 - self.t**-0.8
        rate = max(1e-3, np.sqrt(np.mean(self.p**2))) * min(self.o["lr"], self.t**-0.5)
        if g.ndim > 1:
            r = self.s["r"] = keep * self.s.get("r", 0) + (1 - keep) * np.mean(g * g, -1, keepdims=True)
            c = self.s["c"] = keep * self.s.get("c", 0) + (1 - keep) * np.mean(g * g, -2, keepdims=True)
            v = r * c / np.maximum(np.mean(r, -2, keepdims=True), eps)
        else:
            v = self.s["v"] = keep * self.keep("v") + (1 - keep) * g * g
        u = g / np.sqrt(np.maximum(v, eps * eps))
        self.p = self.p - rate * u / max(1, np.sqrt(np.mean(u * u)))


CASES = [
    ("SGD", Sgd, [{}, {"momentum": 0.9}, {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}, {"weight_decay": 0.1, "maximize": True},
                  {"momentum": 0.8, "nesterov": True}]),
    ("Adam", AdamRule, [{}, {"weight_decay": 0.1}, {"amsgrad": True, "maximize": True}, {"betas": (0.3, 0.8)}]),
    ("AdamW", AdamRule, [{"weight_decay": 0.1, "decoupled": True}, {"amsgrad": True, "weight_decay": 0.2, "decoupled": True}]),
    ("Adamax", AdamaxRule, [{}, {"weight_decay": 0.1, "maximize": True}]),
    ("NAdam", NadamRule, [{}, {"weight_decay": 0.1, "momentum_decay": 0.8}]),
    ("RAdam", RadamRule, [{}, {"weight_decay": 0.1}]),
    ("RMSprop", RmspropRule, [{}, {"centered": True}, {"momentum": 0.5, "weight_decay": 0.1}, {"maximize": True, "momentum": 0.5, "centered": True}]),
    ("Adagrad", AdagradRule, [{}, {"lr_decay": 0.1, "initial_accumulator_value": 0.2}, {"weight_decay": 0.1, "maximize": True}]),
    ("Adadelta", AdadeltaRule, [{}, {"weight_decay": 0.1}]),
    ("Rprop", RpropRule, [{}, {"maximize": True}]),
    ("ASGD", AsgdRule, [{}, {"t0": 10, "weight_decay": 0.1}]),
    ("Adafactor", AdafactorRule, [{}, {"maximize": True}]),
]  # fmt: skip


class Formulas(unittest.TestCase):
    # NAdam's product of momenta and ASGD's rates are kept in float32 counters, in PyTorch too.
    tolerance = {"NAdam": 1e-5, "ASGD": 1e-6}

    def test_fifty_steps(self):
        for name, rule, options in CASES:
            for option in options:
                for shape in ((3, 4), (5,), ()):
                    with self.subTest(optimizer=name, options=option, shape=shape):
                        self.compare(name, rule, option, shape)

    def compare(self, name, rule, option, shape):
        reference = rule(values(shape, 1), {"lr": 0.01, **option})
        p = torch.tensor(values(shape, 1), dtype=torch.float64, requires_grad=True)
        optimizer = getattr(optim, name)([p], lr=0.01, **{k: v for k, v in option.items() if k != "decoupled"})
        for step in range(STEPS):
            g = values(shape, 100 + step)
            reference.step(g)
            p.grad = torch.tensor(g, dtype=torch.float64)
            optimizer.step()
        bound = self.tolerance.get(name, 1e-12)
        np.testing.assert_allclose(p.detach().numpy(), reference.p, rtol=bound, atol=bound)
        if name == "ASGD":
            np.testing.assert_allclose(optimizer.state[p]["ax"].numpy(), reference.s["ax"], rtol=bound, atol=bound)

    def test_strided_parameters_take_the_general_rule_with_the_same_numbers(self):
        for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad"):
            option = {"lr": 0.01, "weight_decay": 0.1, **({"momentum": 0.9} if name in ("SGD", "RMSprop") else {})}
            with self.subTest(optimizer=name):
                dense = torch.tensor(values((4, 6), 3), dtype=torch.float64, requires_grad=True)
                gapped = torch.tensor(np.repeat(values((4, 6), 3), 2, 1), dtype=torch.float64)[:, ::2].requires_grad_(True)
                made = [getattr(optim, name)([p], **option) for p in (dense, gapped)]
                for step in range(5):
                    for p, optimizer in zip((dense, gapped), made):
                        p.grad = torch.tensor(values((4, 6), step), dtype=torch.float64)
                        optimizer.step()
                np.testing.assert_allclose(gapped.detach().numpy(), dense.detach().numpy(), rtol=1e-14, atol=1e-15)

    def test_complex_parameters_move_as_two_real_ones(self):
        for name in ("SGD", "Adam", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam", "Rprop", "ASGD"):
            with self.subTest(optimizer=name):
                p = torch.tensor([1 + 2j, -0.5j], dtype=torch.complex128, requires_grad=True)
                pair = torch.tensor([[1.0, 2.0], [0.0, -0.5]], dtype=torch.float64, requires_grad=True)
                made = [getattr(optim, name)([x], lr=0.1) for x in (p, pair)]
                for step in range(4):
                    g = values((2, 2), step)
                    p.grad = torch.tensor(g[:, 0] + 1j * g[:, 1], dtype=torch.complex128)
                    pair.grad = torch.tensor(g, dtype=torch.float64)
                    for optimizer in made:
                        optimizer.step()
                moved = p.detach().numpy()
                np.testing.assert_allclose(np.stack([moved.real, moved.imag], 1), pair.detach().numpy(), rtol=1e-12)

    def test_half_precision_parameters_are_updated(self):
        for name in ("SGD", "Adam", "RMSprop"):
            p = torch.ones(4, dtype=torch.bfloat16, requires_grad=True)
            optimizer = getattr(optim, name)([p], lr=0.5)
            p.grad = torch.ones(4, dtype=torch.bfloat16)
            optimizer.step()
            self.assertTrue(bool((p < 0.6).all()), name)


class Quasi(unittest.TestCase):
    def test_lbfgs_finds_the_minimum_of_rosenbrock(self):
        x = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
        optimizer = optim.LBFGS([x], line_search_fn="strong_wolfe", max_iter=60, max_eval=200, tolerance_change=1e-15)
        calls = []

        def closure():
            calls.append(1)
            optimizer.zero_grad()
            loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
            loss.backward()
            return loss

        self.assertAlmostEqual(optimizer.step(closure).item(), 24.2, places=10)
        np.testing.assert_allclose(x.detach().numpy(), [1, 1], atol=1e-6)
        self.assertEqual(optimizer.state[x]["func_evals"], len(calls))

    def test_lbfgs_solves_a_quadratic_in_as_many_steps_as_dimensions(self):
        a = np.diag([1.0, 4.0, 9.0]) + 0.1
        x = torch.tensor([1.0, 1.0, 1.0], dtype=torch.float64, requires_grad=True)
        matrix = torch.tensor(a, dtype=torch.float64)
        optimizer = optim.LBFGS([x], line_search_fn="strong_wolfe", max_iter=25, tolerance_change=1e-15)

        def closure():
            optimizer.zero_grad()
            loss = x @ (matrix @ x) / 2 - x.sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        np.testing.assert_allclose(x.detach().numpy(), np.linalg.solve(a, np.ones(3)), rtol=1e-5)

    def test_lbfgs_follows_the_path_of_pytorch(self):
        for options, path in (
            ({}, [(-0.9902131666976305, 0.9903584902558009, 0.47718432369790525), (-0.24860928270038293, 0.040118919425576105, -1.1375487764384955)]),
            ({"line_search_fn": "strong_wolfe"}, [(-0.978324042807288, 0.9062481049974193, 0.2810706126565836),
                                                  (-0.2953677360548635, 0.05831012279330922, -1.6624089517641676)]),
        ):  # fmt: skip
            x = torch.tensor([-1.2, 1.0, 0.5], dtype=torch.float64, requires_grad=True)
            optimizer = optim.LBFGS([x], max_iter=7, history_size=5, **options)

            def closure(x=x, optimizer=optimizer):
                optimizer.zero_grad()
                loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2 + (x[2] * x[0] - 1) ** 2
                loss.backward()
                return loss

            for place in path:
                optimizer.step(closure)
                np.testing.assert_allclose(x.detach().numpy(), place, rtol=1e-8)

    def test_muon_moves_along_an_orthogonal_matrix(self):
        p = torch.zeros(6, 4, requires_grad=True)
        optimizer = optim.Muon([p], lr=1.0, weight_decay=0.0)
        p.grad = torch.tensor(values((6, 4), 5), dtype=torch.float32)
        optimizer.step()
        singular = np.linalg.svd(p.detach().numpy() / math.sqrt(6 / 4), compute_uv=False)
        self.assertTrue(np.all((singular > 0.6) & (singular < 1.3)), singular)


if __name__ == "__main__":
    unittest.main()
