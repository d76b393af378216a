"""The base of optimizers: groups, state dictionaries, hooks, mistakes, differentiable steps."""

import copy
import math
import pickle
import unittest

import numpy as np
from cresset.optim.optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook

import cresset as torch

ALL = ["SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Adagrad", "Adadelta", "Rprop", "ASGD", "Adafactor"]
STATE = {
    "SGD": {"momentum_buffer"}, "Adam": {"step", "exp_avg", "exp_avg_sq"}, "AdamW": {"step", "exp_avg", "exp_avg_sq"},
    "Adamax": {"step", "exp_avg", "exp_inf"}, "NAdam": {"step", "mu_product", "exp_avg", "exp_avg_sq"},
    "RAdam": {"step", "exp_avg", "exp_avg_sq"}, "RMSprop": {"step", "square_avg"}, "Adagrad": {"step", "sum"},
    "Adadelta": {"step", "square_avg", "acc_delta"}, "Rprop": {"step", "prev", "step_size"}, "ASGD": {"step", "eta", "mu", "ax"},
    "Adafactor": {"step", "row_var", "col_var"},
}  # fmt: skip


def leaf(*shape, seed=0, dtype=None):
    values = np.random.default_rng(seed).normal(size=shape)
    return torch.tensor(values, dtype=dtype or torch.float64, requires_grad=True)


def make(name, params, **options):
    return getattr(torch.optim, name)(params, lr=0.01, **({"momentum": 0.9} if name == "SGD" else {}), **options)


def run(optimizer, params, steps, first=0):
    for step in range(first, first + steps):
        for i, p in enumerate(params):
            p.grad = leaf(*p.shape, seed=100 * step + i).detach().to(p.dtype)
        optimizer.step()


class State(unittest.TestCase):
    def test_layout(self):
        for name in ALL:
            with self.subTest(optimizer=name):
                params = [leaf(3, 2), leaf(2, 2, seed=1)]
                optimizer = make(name, params)
                run(optimizer, params, 2)
                state = optimizer.state_dict()
                self.assertEqual(list(state["state"]), [0, 1])
                self.assertEqual(set(state["state"][1]), STATE[name])
                self.assertEqual(state["param_groups"][0]["params"], [0, 1])
                self.assertEqual(set(state["param_groups"][0]), set(optimizer.defaults) | {"params"})

    def test_resuming_goes_on_as_if_nothing_had_happened(self):
        for name in ALL:
            with self.subTest(optimizer=name):
                params = [leaf(3, 2), leaf(2, 2, seed=1)]
                optimizer = make(name, params)
                run(optimizer, params, 4)
                state = copy.deepcopy(optimizer.state_dict())
                others = [p.detach().clone().requires_grad_(True) for p in params]
                resumed = make(name, others)
                resumed.load_state_dict(state)
                run(optimizer, params, 4, first=4)
                run(resumed, others, 4, first=4)
                for p, q in zip(params, others):
                    np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-7 if name in ("ASGD", "NAdam") else 0)

    def test_loading_converts_to_the_parameter_but_not_the_counter(self):
        p, q = leaf(2, dtype=torch.float32), leaf(2)
        first, second = make("Adam", [p]), make("Adam", [q])
        run(first, [p], 1)
        second.load_state_dict(first.state_dict())
        self.assertEqual({k: v.dtype for k, v in second.state[q].items()}, {"step": torch.float32, "exp_avg": torch.float64, "exp_avg_sq": torch.float64})
        self.assertEqual(first.state[p]["exp_avg"].dtype, torch.float32)

    def test_loading_another_shape_of_groups_fails(self):
        state = make("SGD", [leaf(2)]).state_dict()
        with self.assertRaisesRegex(ValueError, "another number of parameters"):
            make("SGD", [leaf(2), leaf(2)]).load_state_dict(state)
        with self.assertRaisesRegex(ValueError, "another number of groups"):
            make("SGD", [{"params": leaf(2)}, {"params": leaf(2)}]).load_state_dict(state)

    def test_options_that_an_old_state_lacks_are_the_defaults(self):
        p = leaf(2)
        optimizer = make("Adam", [p])
        run(optimizer, [p], 1)
        state = copy.deepcopy(optimizer.state_dict())
        del state["param_groups"][0]["maximize"]
        state["state"][0]["step"] = 1
        optimizer.load_state_dict(state)
        self.assertFalse(optimizer.param_groups[0]["maximize"])
        run(optimizer, [p], 1)
        self.assertEqual(optimizer.state[p]["step"].item(), 2)

    def test_copies(self):
        p = leaf(2)
        optimizer = make("Adam", [p])
        run(optimizer, [p], 1)
        for other in (copy.deepcopy(optimizer), pickle.loads(pickle.dumps(optimizer))):
            q = other.param_groups[0]["params"][0]
            self.assertIsNot(q, p)
            self.assertEqual(other.state[q]["exp_avg"].tolist(), optimizer.state[p]["exp_avg"].tolist())
            run(other, [q], 1)


class Groups(unittest.TestCase):
    def test_options_of_groups(self):
        p, q, r = leaf(1), leaf(1), leaf(1)
        optimizer = torch.optim.SGD([{"params": p}, {"params": [q], "lr": 2.0}], lr=1.0)
        optimizer.add_param_group({"params": [r], "lr": 4.0})
        before = [x.item() for x in (p, q, r)]
        for x in (p, q, r):
            x.grad = torch.ones(1, dtype=torch.float64)
        optimizer.step()
        moved = [b - x.item() for b, x in zip(before, (p, q, r))]
        np.testing.assert_allclose(moved, [1, 2, 4], rtol=1e-12)

    def test_names(self):
        optimizer = torch.optim.SGD([("w", leaf(1)), ("b", leaf(1))])
        self.assertEqual(optimizer.param_groups[0]["param_names"], ["w", "b"])
        self.assertEqual(optimizer.state_dict()["param_groups"][0]["param_names"], ["w", "b"])
        with self.assertRaises(ValueError):
            optimizer.add_param_group({"params": [leaf(1)]})
        with self.assertRaises(ValueError):
            torch.optim.SGD([("w", leaf(1)), leaf(1)])

    def test_mistakes(self):
        p = leaf(2)
        for error, params in (
            (TypeError, p), (ValueError, []), (TypeError, [1]), (ValueError, [p * 2]), (TypeError, {p}),
            (ValueError, [{"params": [p]}, {"params": [p]}]), (KeyError, [{"lr": 1.0}]),
        ):  # fmt: skip
            with self.subTest(params=params), self.assertRaises(error):
                torch.optim.SGD(params)
        with self.assertWarnsRegex(UserWarning, "a parameter more than once"):
            torch.optim.SGD([p, p])
        for name, options in (
            ("SGD", {"lr": -1}), ("SGD", {"nesterov": True}), ("SGD", {"fused": True, "foreach": True}), ("Adam", {"betas": (1.0, 0.5)}),
            ("Adam", {"lr": torch.ones(2)}), ("RMSprop", {"alpha": -1}), ("Rprop", {"etas": (2, 3)}), ("Adadelta", {"rho": 2}),
            ("Adafactor", {"d": 0.5}), ("LBFGS", {"lr": -1}), ("Muon", {"adjust_lr_fn": "x"}),
        ):  # fmt: skip
            with self.subTest(optimizer=name, options=options), self.assertRaises((ValueError, RuntimeError)):
                getattr(torch.optim, name)([p], **options)

    def test_gradients_are_dropped_or_zeroed(self):
        p = leaf(2)
        optimizer = torch.optim.SGD([p])
        (p * p).sum().backward()
        optimizer.zero_grad(set_to_none=False)
        self.assertEqual(p.grad.tolist(), [0, 0])
        optimizer.zero_grad()
        self.assertIsNone(p.grad)

    def test_a_parameter_without_gradient_stays(self):
        p = leaf(2)
        before = p.tolist()
        for name in ALL:
            optimizer = make(name, [p])
            optimizer.step()
            self.assertEqual(p.tolist(), before)
            if name != "Adagrad":  # whose sums exist from the start
                self.assertEqual(optimizer.state_dict()["state"], {})


class Hooks(unittest.TestCase):
    def test_order_and_removal(self):
        events, p = [], leaf(1)
        optimizer = torch.optim.SGD([p])
        handles = [
            register_optimizer_step_pre_hook(lambda o, a, k: events.append("global pre")),
            register_optimizer_step_post_hook(lambda o, a, k: events.append("global post")),
            optimizer.register_step_pre_hook(lambda o, a, k: events.append(("pre", a[0] is optimizer))),
            optimizer.register_step_post_hook(lambda o, a, k: events.append("post")),
        ]
        optimizer.step()
        self.assertEqual(events, ["global pre", ("pre", True), "post", "global post"])
        for handle in handles:
            handle.remove()
        optimizer.step()
        self.assertEqual(len(events), 4)

    def test_a_step_within_a_step_has_no_hooks_of_its_own(self):
        class Twice(torch.optim.SGD):
            def step(self, closure=None):
                super().step()
                return super().step(closure)

        events = []
        optimizer = Twice([leaf(1)])
        optimizer.register_step_post_hook(lambda o, a, k: events.append(1))
        optimizer.step()
        self.assertEqual(events, [1])

    def test_new_arguments_and_wrong_results(self):
        optimizer = torch.optim.SGD([leaf(1)])
        handle = optimizer.register_step_pre_hook(lambda o, a, k: (a, {"closure": lambda: 7}))
        self.assertEqual(optimizer.step(), 7)
        handle.remove()
        optimizer.register_step_pre_hook(lambda o, a, k: 3)
        with self.assertRaisesRegex(RuntimeError, "returns None or"):
            optimizer.step()

    def test_around_state_dicts(self):
        events, optimizer = [], torch.optim.SGD([leaf(1)])
        optimizer.register_state_dict_pre_hook(lambda o: events.append("before"))
        optimizer.register_state_dict_post_hook(lambda o, state: {**state, "extra": 1})
        optimizer.register_load_state_dict_pre_hook(lambda o, state: events.append(state["extra"]))
        optimizer.register_load_state_dict_post_hook(lambda o: events.append("after"))
        optimizer.load_state_dict(optimizer.state_dict())
        self.assertEqual(events, ["before", 1, "after"])


class Steps(unittest.TestCase):
    def test_the_closure_sees_gradients_and_its_loss_is_returned(self):
        p = leaf(3)
        for name in [*ALL, "LBFGS"]:
            optimizer = getattr(torch.optim, name)([p])

            def closure(optimizer=optimizer):
                optimizer.zero_grad()
                loss = (p * p).sum()
                loss.backward()
                return loss

            with torch.no_grad():
                expected = (p * p).sum().item()
                self.assertAlmostEqual(optimizer.step(closure).item(), expected, places=12)

    def test_rates_as_tensors_give_the_same_numbers(self):
        for name in ("SGD", "Adam", "RMSprop", "Adadelta", "NAdam"):
            p, q = leaf(3), leaf(3)
            one = getattr(torch.optim, name)([p], lr=0.25)
            other = getattr(torch.optim, name)([q], lr=torch.tensor(0.25))
            run(one, [p], 3)
            run(other, [q], 3)
            self.assertEqual(p.tolist(), q.tolist(), name)

    def test_a_line_search_heeds_the_number_of_evaluations(self):
        """Numbers of PyTorch 2.13: evaluations, and a millionth of the length."""
        for options, expected in (
            ({"max_eval": 1}, (2, 7.1245)), ({"max_eval": 2}, (3, 39.2206)), ({}, (3, 39.2206)), ({"max_eval": 3}, (4, 215.8736)),
            ({"max_eval": 5}, (5, 1188.1883)), ({"max_eval": 100}, (9, 166774.1126)),
        ):  # fmt: skip
            p = torch.tensor([1.5, -0.3, -2.2], dtype=torch.double, requires_grad=True)
            optimizer = torch.optim.LBFGS([p], lr=0.001, max_iter=2, line_search_fn="strong_wolfe", **options)

            def closure(p=p, optimizer=optimizer):
                optimizer.zero_grad()
                loss = ((p - 1) ** 4).sum()
                loss.backward()
                return loss

            optimizer.step(closure)
            state = optimizer.state[p]
            self.assertEqual((state["func_evals"], round(float(state["t"]) * 1e6, 4)), expected)

    def test_a_differentiable_step_has_the_derivative_of_its_formula(self):
        w, g, lr = leaf(3), leaf(3, seed=1), torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
        p = w.clone()
        optimizer = torch.optim.SGD([p], lr=lr, momentum=0.9, differentiable=True)
        for _ in range(2):
            p.grad = g * 1.0
            optimizer.step()
        p.sum().backward()
        np.testing.assert_allclose(w.grad.numpy(), 1)
        np.testing.assert_allclose(lr.grad.item(), -(1 + 1.9) * g.sum().item(), rtol=1e-12)

    def test_the_length_of_a_step_of_lbfgs_is_the_rate_or_a_tensor(self):
        first = torch.tensor([1.0, 2.0, 3.0])
        for options, wanted in (
            ({"max_iter": 1}, [torch.Tensor, int, int]), ({"lr": 0.01, "max_iter": 1}, [torch.Tensor, float, float]), ({}, [int, int, int]),
            ({"max_iter": 1, "line_search_fn": "strong_wolfe"}, [torch.Tensor, int, int]), ({"lr": torch.tensor(0.1), "max_iter": 1}, [torch.Tensor] * 3),
        ):  # fmt: skip
            p = torch.nn.Parameter(first.clone())
            optimizer, kinds = torch.optim.LBFGS([p], **options), []

            def closure(p=p, optimizer=optimizer):
                optimizer.zero_grad()
                loss = ((p - torch.tensor([0.3, 0.1, 0.2])) ** 4).sum()
                loss.backward()
                return loss

            for _ in range(3):
                optimizer.step(closure)
                kinds.append(type(optimizer.state[p]["t"]))
            self.assertEqual(kinds, wanted, options)
        self.assertEqual(optimizer.state[p]["t"].dtype, torch.float32)

    def test_corrections_of_a_differentiable_adam_are_of_the_counters_precision(self):
        """As PyTorch's, which takes the counter, a tensor of single precision, in place of a number."""
        moved = []
        for differentiable in (False, True):
            p = torch.tensor([1.0, -2.0], dtype=torch.float64)
            optimizer = torch.optim.Adam([p], lr=0.1, differentiable=differentiable)
            p.grad = torch.tensor([0.3, -0.2], dtype=torch.float64)
            optimizer.step()
            moved.append(1 - p[0].item())
        rate = torch.tensor(0.1) / (1 - torch.tensor(0.9) ** 1)
        below = (1 - torch.tensor(0.999) ** 1).sqrt()
        exact, single = moved
        self.assertAlmostEqual(exact, 0.1, delta=1e-8)
        self.assertAlmostEqual(single, float(rate.double() * 0.03 / (math.sqrt(0.001 * 0.09) / below.double()) + 1e-8 * rate.double()), delta=2e-8)
        self.assertGreater(abs(single - exact), 1e-9)

    def test_capturable_is_for_accelerators(self):
        p = leaf(2)
        optimizer = torch.optim.Adam([p], capturable=True)
        p.grad = torch.ones(2, dtype=torch.float64)
        with self.assertRaisesRegex(AssertionError, "have to be on one of"):
            optimizer.step()

    def test_a_step_counts_as_a_change(self):
        p = leaf(2)
        y = p * p
        optimizer = torch.optim.SGD([p])
        p.grad = torch.ones(2, dtype=torch.float64)
        optimizer.step()
        with self.assertRaises(RuntimeError):
            y.sum().backward()

    def test_the_base_has_no_step(self):
        with self.assertRaises(NotImplementedError):
            Optimizer([leaf(1)], {}).step()

    def test_text(self):
        self.assertEqual(
            repr(torch.optim.Adadelta([{"params": leaf(1)}, {"params": leaf(1), "lr": 2}])).splitlines()[:3],
            ["Adadelta (", "Parameter Group 0", "    capturable: False"],
        )


class Wrapping(unittest.TestCase):
    def test_an_optimizer_around_another_needs_no_state_of_its_own(self):
        class Around(Optimizer):
            def __init__(self, inner):  # calls no __init__ of Optimizer, as accelerate's
                self.inner = inner

            def step(self, closure=None):
                return self.inner.step(closure)

        x = torch.ones(1, requires_grad=True)
        x.sum().backward()
        inner, seen = torch.optim.SGD([x], lr=0.5), []
        inner.register_step_post_hook(lambda *_: seen.append(1))
        Around(inner).step()
        self.assertEqual((x.item(), seen), (0.5, [1]))

    def test_an_optimizer_around_another_may_have_hooks(self):
        class Around(Optimizer):
            def __init__(self, inner):
                self._patch_step_function()
                self.param_groups = inner.param_groups

            def step(self, closure=None):
                seen.append("step")

        seen, outer = [], Around(torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.5))
        outer.register_step_pre_hook(lambda *_: seen.append("before"))
        outer.step()
        self.assertEqual(seen, ["before", "step"])


if __name__ == "__main__":
    unittest.main()
