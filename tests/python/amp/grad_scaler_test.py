"""GradScaler: the scale's course, gradients that are not finite, several optimizers, state and mistakes."""

import copy
import pickle
import unittest

import cresset as torch
from cresset import nn

INF, NAN = float("inf"), float("nan")


def weight(*values):
    return torch.tensor(values, requires_grad=True)


def scaler(**options):
    return torch.amp.GradScaler("cpu", **{"init_scale": 4.0, **options})


def step(s, optimizer, w, factor=1.0):
    optimizer.zero_grad()
    s.scale((w * factor).sum()).backward()
    result = s.step(optimizer)
    s.update()
    return result


class Course(unittest.TestCase):
    def test_scaled_steps_are_those_without_scaling(self):
        torch.manual_seed(0)
        net = nn.Linear(3, 2)
        plain = copy.deepcopy(net)
        x = torch.randn(4, 3)
        s = torch.amp.GradScaler("cpu")
        for model, scaled in ((net, True), (plain, False)):
            optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
            for _ in range(5):
                optimizer.zero_grad()
                loss = model(x).square().sum()
                if scaled:
                    s.scale(loss).backward()
                    s.step(optimizer)
                    s.update()
                else:
                    loss.backward()
                    optimizer.step()
        # The scale is a power of two: not even the last bit differs.
        self.assertTrue(torch.equal(net.weight, plain.weight))

    def test_growth_and_backoff(self):
        w = weight(1.0)
        optimizer = torch.optim.SGD([w], lr=0.0)
        s = scaler(growth_factor=3.0, backoff_factor=0.25, growth_interval=2)
        seen = []
        for factor in (1, 1, 1, INF, 1, 1, NAN, 1):
            step(s, optimizer, w, factor)
            seen.append((s.get_scale(), s.state_dict()["_growth_tracker"]))
        self.assertEqual(seen, [(4, 1), (12, 0), (12, 1), (3, 0), (3, 1), (9, 0), (2.25, 0), (2.25, 1)])

    def test_the_scale_does_not_grow_to_infinity(self):
        w = weight(1.0)
        s = scaler(init_scale=2.0**127, growth_interval=1)
        step(s, torch.optim.SGD([w], lr=0.0), w, 0.0)
        self.assertEqual(s.get_scale(), 2.0**127)

    def test_steps_with_gradients_that_are_not_finite_are_left_out(self):
        for bad in (INF, -INF, NAN):
            w, other = weight(1.0, 2.0), weight(3.0)
            optimizer = torch.optim.Adam([w, other], lr=0.5)
            s = scaler()
            s.scale((w * torch.tensor([1.0, bad])).sum() + other.sum()).backward()
            self.assertIsNone(s.step(optimizer))
            s.update()
            self.assertEqual((w.tolist(), other.tolist(), len(optimizer.state)), ([1.0, 2.0], [3.0], 0))
            self.assertEqual(s.get_scale(), 2.0)

    def test_each_optimizer_is_judged_by_its_own_gradients(self):
        good, bad = weight(1.0), weight(1.0)
        first, second = torch.optim.SGD([good], lr=0.5), torch.optim.SGD([bad], lr=0.5)
        s = scaler()
        s.scale(good.sum() + (bad * INF).sum()).backward()
        s.step(first)
        s.step(second)
        s.update()
        self.assertEqual((good.item(), bad.item(), s.get_scale()), (0.5, 1.0, 2.0))

    def test_unscaled_gradients_can_be_clipped(self):
        w = weight(1.0, 1.0)
        optimizer = torch.optim.SGD([w], lr=1.0)
        s = scaler()
        s.scale((w * 3).sum()).backward()
        s.unscale_(optimizer)
        self.assertEqual(w.grad.tolist(), [3.0, 3.0])
        nn.utils.clip_grad_value_([w], 0.5)
        s.step(optimizer)
        s.update()
        self.assertEqual(w.tolist(), [0.5, 0.5])

    def test_dtypes_of_gradients_and_parameters_without(self):
        for dtype in (torch.bfloat16, torch.float64, torch.complex64):
            w, idle = torch.ones(3, dtype=dtype, requires_grad=True), weight(1.0)
            optimizer = torch.optim.SGD([w, idle], lr=0.5)
            s = scaler()
            s.scale((w * 2).real.sum() if dtype.is_complex else (w * 2).sum()).backward()
            s.unscale_(optimizer)
            self.assertEqual(w.grad.tolist(), [2, 2, 2])
            self.assertIs(w.grad.dtype, dtype)
        empty = torch.empty(0, requires_grad=True)
        w = weight(1.0)
        optimizer = torch.optim.SGD([empty, w], lr=0.5)
        s.scale(empty.sum() + w.sum()).backward()
        s.update(8.0)
        s.step(optimizer)

    def test_outputs_of_several_kinds(self):
        s = scaler()
        one = torch.ones(2)
        self.assertEqual(s.scale(one).tolist(), [4, 4])
        both = s.scale((one, [one * 2]))
        self.assertEqual((type(both), type(both[1]), both[1][0].tolist()), (tuple, list, [8, 8]))
        self.assertEqual([t.tolist() for t in s.scale(t for t in (one, one))], [[4, 4], [4, 4]])
        for wrong in (3, "ab", None, [3]):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, "scale: expected a tensor or an iterable of them"):
                s.scale(wrong)

    def test_an_optimizer_that_unscales_by_itself(self):
        class Own(torch.optim.SGD):
            _step_supports_amp_scaling = True

            def step(self, closure=None):
                self.seen = (self.grad_scale.item() if self.grad_scale is not None else None, self.found_inf.item())

        w = weight(1.0)
        optimizer = Own([w], lr=0.5)
        for factor, unscaled, seen in ((1.0, False, (4.0, 0.0)), (INF, False, (4.0, 1.0)), (1.0, True, (None, 0.0))):
            s = scaler()
            optimizer.zero_grad()
            s.scale((w * factor).sum()).backward()
            if unscaled:
                s.unscale_(optimizer)
            s.step(optimizer)
            s.update()
            self.assertEqual(optimizer.seen, seen)
            self.assertFalse(hasattr(optimizer, "found_inf"))


class State(unittest.TestCase):
    def test_saved_and_loaded(self):
        w = weight(1.0)
        s = scaler(growth_interval=5)
        step(s, torch.optim.SGD([w], lr=0.1), w)
        state = s.state_dict()
        self.assertEqual(state, {"scale": 4.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 5, "_growth_tracker": 1})
        fresh = torch.amp.GradScaler("cpu")
        fresh.load_state_dict(state)
        used = scaler(init_scale=32.0)
        step(used, torch.optim.SGD([w], lr=0.1), w)
        used.load_state_dict(state)
        for other in (fresh, used, pickle.loads(pickle.dumps(s))):
            self.assertEqual(other.state_dict(), state)
            self.assertEqual(other.scale(torch.ones(())).item(), 4.0)

    def test_states_that_do_not_fit_change_nothing(self):
        s = scaler()
        with self.assertRaisesRegex(RuntimeError, "got an empty dict"):
            s.load_state_dict({})
        with self.assertRaises(KeyError):
            s.load_state_dict({"scale": 1.0, "growth_factor": 9.0})
        self.assertEqual((s.get_scale(), s.get_growth_factor()), (4.0, 2.0))

    def test_not_pickled_within_a_step(self):
        w = weight(1.0)
        optimizer = torch.optim.SGD([w], lr=0.1)
        s = scaler()
        s.scale(w.sum()).backward()
        s.unscale_(optimizer)
        with self.assertRaisesRegex(AssertionError, "pickle it between iterations"):
            pickle.dumps(s)

    def test_off(self):
        self.assertIs(torch.GradScaler, torch.amp.GradScaler)
        w = weight(1.0)
        s = torch.amp.GradScaler("cpu", enabled=False)
        optimizer = torch.optim.SGD([w], lr=0.5)
        loss = w.sum()
        self.assertIs(s.scale(loss), loss)
        loss.backward()
        s.unscale_(optimizer)
        s.step(optimizer)
        s.update()
        self.assertEqual((w.item(), s.state_dict(), s.get_scale(), s.is_enabled()), (0.5, {}, 1.0, False))
        s.load_state_dict({})
        with self.assertWarnsRegex(UserWarning, "there is no CUDA device"):
            self.assertFalse(torch.amp.GradScaler().is_enabled())


class Mistakes(unittest.TestCase):
    def setUp(self):
        self.w = weight(1.0)
        self.optimizer = torch.optim.SGD([self.w], lr=0.5)
        self.s = scaler()

    def backward(self):
        self.s.scale(self.w.sum()).backward()

    def test_out_of_order(self):
        for call in (lambda: self.s.unscale_(self.optimizer), lambda: self.s.step(self.optimizer), lambda: self.s.update()):
            with self.assertRaisesRegex(AssertionError, "_scale is None"):
                call()
        self.backward()
        with self.assertRaisesRegex(AssertionError, "no gradients were checked for infinities"):
            self.s.update()
        self.s.unscale_(self.optimizer)
        with self.assertRaisesRegex(RuntimeError, r"unscale_: called twice"):
            self.s.unscale_(self.optimizer)
        self.s.step(self.optimizer)
        with self.assertRaisesRegex(RuntimeError, r"expected before step"):
            self.s.unscale_(self.optimizer)
        with self.assertRaisesRegex(RuntimeError, r"step: called twice"):
            self.s.step(self.optimizer)
        self.assertEqual(self.w.item(), 0.5)
        self.s.update()

    def test_without_gradients_and_with_closures(self):
        self.s.scale(self.w.sum())
        with self.assertRaisesRegex(AssertionError, "no gradients that were checked"):
            self.s.step(self.optimizer)
        with self.assertRaisesRegex(RuntimeError, "takes no closure"):
            self.s.step(self.optimizer, closure=lambda: None)

    def test_half_gradients_are_refused_before_any_is_changed(self):
        half = torch.ones(1, dtype=torch.float16, requires_grad=True)
        optimizer = torch.optim.SGD([self.w, half], lr=0.5)
        self.s.scale(self.w.sum() + half.sum()).backward()
        with self.assertRaisesRegex(ValueError, "higher precision than float16"):
            self.s.unscale_(optimizer)
        self.assertEqual(self.w.grad.item(), 4.0)

    def test_factors_and_scales(self):
        for options in ({"growth_factor": 1.0}, {"backoff_factor": 1.0}, {"growth_factor": NAN}):
            with self.subTest(options), self.assertRaises(AssertionError):
                scaler(**options)
        self.backward()
        for wrong in ("2", torch.ones(2), torch.ones((), dtype=torch.float64), torch.ones((), requires_grad=True), True):
            with self.subTest(wrong), self.assertRaises(AssertionError):
                self.s.update(wrong)
        self.s.update(torch.tensor([16.0]))
        self.assertEqual(self.s.get_scale(), 16.0)


if __name__ == "__main__":
    unittest.main()
