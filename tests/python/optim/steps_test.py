"""Steps as operators on lists: one pass over memory gives the numbers of the operator's parts, and a step moves all parameters or none."""

import unittest

import numpy as np

import cresset as torch

optim = torch.optim
DENSE = ["Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Adadelta", "Rprop", "ASGD", "Adafactor"]


def values(shape, seed):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape))


def apart(t):
    """The same numbers with gaps between them, which no kernel takes."""
    wide = torch.zeros(*t.shape[:-1], 2 * t.shape[-1], dtype=t.dtype)
    wide[..., ::2] = t
    return wide[..., ::2]


def sparse(size):
    return torch.sparse_coo_tensor([[0]], [1.0], (size,))


ADAM = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1, "eps": 1e-8}
RULES = {
    "_fused_adam_": (3, True, [{**ADAM, "amsgrad": True, "maximize": False}, {**ADAM, "amsgrad": False, "maximize": True}]),
    "_fused_adamw_": (3, True, [{**ADAM, "amsgrad": True, "maximize": False}, {**ADAM, "amsgrad": False, "maximize": True}]),
    "_fused_sgd_": (1, False, [
        {"weight_decay": 0.1, "momentum": m, "lr": 0.1, "dampening": 0.0 if n else 0.2, "nesterov": n, "maximize": x, "is_first_step": first}
        for m, n, x, first in ((0.0, False, False, False), (0.9, False, True, True), (0.9, True, False, False))
    ]),
    "_fused_adagrad_": (1, True, [{"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "eps": 1e-10, "maximize": False}]),
    "_fused_rmsprop_": (3, False, [{"lr": 0.1, "alpha": 0.9, "eps": 1e-8, "weight_decay": 0.1, "momentum": 0.5, "maximize": False}]),
}  # fmt: skip


class Operators(unittest.TestCase):
    def test_one_pass_equals_the_decomposition(self):
        for name, (states, counts, options) in RULES.items():
            for numbers in options:
                for dtype in (torch.float32, torch.float64):
                    results = []
                    for lay_out in (lambda t: t, apart):
                        lists = [[lay_out((values((3, 5), 10 * k + i).abs()).to(dtype)) for i in range(2)] for k in range(2 + states)]
                        steps = [[torch.tensor(3.0), torch.tensor(8.0)]] if counts else []
                        returned = getattr(torch, name)(*lists, *steps, **numbers)
                        self.assertIs(returned, lists[0])
                        results.append([t for tensors in lists for t in tensors])
                    with self.subTest(name=name, numbers=numbers, dtype=dtype):
                        for one, other in zip(*results, strict=True):
                            torch.testing.assert_close(
                                one, other.contiguous(), rtol=4 * torch.finfo(dtype).eps, atol=4 * torch.finfo(dtype).eps, equal_nan=True
                            )

    def test_a_step_of_one_pass_counts_as_a_change(self):
        p = torch.ones(2)
        torch._fused_sgd_([p], [p.clone()], [], weight_decay=0, momentum=0, lr=1, dampening=0, nesterov=False, maximize=False, is_first_step=False)
        self.assertEqual((p.tolist(), p._version), ([0.0, 0.0], 1))

    def test_scaled_gradients_are_unscaled_or_the_step_is_left_out(self):
        numbers = {"weight_decay": 0, "momentum": 0, "lr": 1, "dampening": 0, "nesterov": False, "maximize": False, "is_first_step": False}
        p, grad = torch.zeros(2), torch.full((2,), 8.0)
        torch._fused_sgd_([p], [grad], [], grad_scale=torch.tensor(4.0), found_inf=torch.tensor(1.0), **numbers)
        self.assertEqual((p.tolist(), grad.tolist()), ([0, 0], [8, 8]))
        torch._fused_sgd_([p], [grad], [], grad_scale=torch.tensor(4.0), found_inf=torch.tensor(0.0), **numbers)
        self.assertEqual((p.tolist(), grad.tolist()), ([-2, -2], [2, 2]))

    def test_lists_that_do_not_fit_are_refused_before_anything_is_moved(self):
        p, q = torch.ones(2), torch.ones(3)
        state, steps = [torch.zeros(2), torch.zeros(3)], [torch.tensor(1.0)] * 2
        numbers = {**ADAM, "amsgrad": False, "maximize": False}
        for pattern, args in (
            ("expected a gradient for each of 2 parameters, got 1", ([p, q], [p], state, state, [], steps)),
            ("expected a state for each of 2 parameters, got 1", ([p, q], [p, q], state[:1], state, [], steps)),
            ("expected a count of steps for each of 2 parameters, got 1", ([p, q], [p, q], state, state, [], steps[:1])),
            (r"gradient 1 is \[2\], expected \[3\]", ([p, q], [p, p], state, state, [], steps)),
            (r"state 1 is \[2\], expected \[3\]", ([p, q], [p, q], state, [state[0]] * 2, [], steps)),
            ("does not support sparse gradients", ([p, q], [p, sparse(3)], state, state, [], steps)),
        ):
            with self.assertRaisesRegex(RuntimeError, pattern):
                torch._fused_adam_(*args, **numbers)
        self.assertEqual((p.tolist(), q.tolist()), ([1, 1], [1, 1, 1]))


class AllOrNone(unittest.TestCase):
    def refused(self, optimizer, params, error=RuntimeError):
        before = [p.tolist() for p in params]
        with self.assertRaises(error):
            optimizer.step()
        self.assertEqual([p.tolist() for p in params], before, type(optimizer).__name__)

    def pair(self):
        p, q = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
        p.grad, q.grad = torch.ones(2), sparse(3)
        return p, q

    def test_a_sparse_gradient_behind_a_dense_one(self):
        for name in DENSE:
            for grouped in (False, True):
                p, q = self.pair()
                self.refused(getattr(optim, name)([{"params": [p]}, {"params": [q]}] if grouped else [p, q]), (p, q))
        p, q = self.pair()
        self.refused(optim.Adagrad([p, q], weight_decay=0.1), (p, q))
        p, q = self.pair()
        self.refused(optim.SparseAdam([q, p]), (p, q))

    def test_a_complex_parameter_behind_a_real_one(self):
        for name in ("Adafactor", "Muon"):
            p, q = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, dtype=torch.complex64, requires_grad=True)
            p.grad, q.grad = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.complex64)
            self.refused(getattr(optim, name)([p, q]), (p, q))


class Differentiable(unittest.TestCase):
    def test_every_rate_has_the_derivative_of_the_formula(self):
        for name, rates in (
            ("SGD", {"lr": 0.1, "momentum": 0.9}), ("SGD", {"lr": 0.1, "weight_decay": 0.1}), ("Adam", {"lr": 0.1, "weight_decay": 0.1}), ("AdamW", {"lr": 0.1, "weight_decay": 0.1}),
            ("RMSprop", {"lr": 0.1, "weight_decay": 0.1}), ("Adagrad", {"lr": 0.1, "weight_decay": 0.1}), ("Adamax", {"lr": 0.1, "weight_decay": 0.1}),
            ("NAdam", {"lr": 0.1, "weight_decay": 0.1}), ("RAdam", {"lr": 0.1, "weight_decay": 0.1}), ("Adadelta", {"lr": 0.1, "weight_decay": 0.1}),
            ("ASGD", {"weight_decay": 0.1}),
        ):  # fmt: skip

            def moved(*given, name=name, rates=rates):
                p = values(3, 0) * 1.0
                optimizer = getattr(optim, name)([p], differentiable=True, **dict(zip(rates, given, strict=True)))
                for k in range(2):
                    p.grad = values(3, k + 1)
                    optimizer.step()
                return p

            given = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in rates.values()]
            with self.subTest(name=name):
                self.assertTrue(torch.autograd.gradcheck(moved, given, atol=1e-4))

    def test_gradients_flow_through_two_steps(self):
        for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adamax", "NAdam", "RAdam", "Adadelta", "ASGD", "Rprop"):
            w, g = values(3, 0).requires_grad_(), values(3, 1).requires_grad_()
            p = w.clone()
            optimizer = getattr(optim, name)([p], differentiable=True, **({"amsgrad": True} if name.startswith("Adam") and name != "Adamax" else {}))
            for k in range(2):
                p.grad = g * (k + 1.0)
                optimizer.step()
            p.sum().backward()
            with self.subTest(name=name):
                self.assertTrue(bool(w.grad.isfinite().all()))


if __name__ == "__main__":
    unittest.main()
