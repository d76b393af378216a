"""Schedules against their closed forms, resumed from their state, chained, and their mistakes."""

import copy
import math
import unittest
import warnings

import cresset as torch

s = torch.optim.lr_scheduler


def sgd(lr=0.1, **options):
    return torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=lr, momentum=0.9, **options)


def rates(scheduler, steps, metric=None):
    found = [scheduler.get_last_lr()[0]]
    for step in range(steps):
        scheduler.optimizer.step()
        scheduler.step() if metric is None else scheduler.step(metric(step))
        found.append(scheduler.get_last_lr()[0])
    return found


def anneal(start, end, share):
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2


FORMULAS = [
    ("LambdaLR", (lambda n: 1 / (1 + n),), lambda n: 0.1 / (1 + n)),
    ("MultiplicativeLR", (lambda n: 0.9,), lambda n: 0.1 * 0.9**n),
    ("StepLR", (4, 0.5), lambda n: 0.1 * 0.5 ** (n // 4)),
    ("MultiStepLR", ([3, 8, 8], 0.5), lambda n: 0.1 * 0.5 ** ((n >= 3) + 2 * (n >= 8))),
    ("ConstantLR", (0.25, 6), lambda n: 0.025 if n < 6 else 0.1),
    ("LinearLR", (0.2, 0.8, 10), lambda n: 0.1 * (0.2 + 0.6 * min(n, 10) / 10)),
    ("ExponentialLR", (0.8,), lambda n: 0.1 * 0.8**n),
    ("PolynomialLR", (12, 2.0), lambda n: 0.1 * max(0, 1 - n / 12) ** 2),
    ("CosineAnnealingLR", (7, 0.02), lambda n: anneal(0.1, 0.02, n / 7)),
    ("CosineAnnealingWarmRestarts", (5,), lambda n: anneal(0.1, 0, n % 5 / 5)),
    ("CosineAnnealingWarmRestarts", (3, 2), lambda n: anneal(0.1, 0, n / 3 if n < 3 else (n - 3) / 6 if n < 9 else (n - 9) / 12)),
    ("CyclicLR", (0.01, 0.3, 4), lambda n: 0.01 + 0.29 * (1 - abs(n / 4 % 2 - 1))),
    ("CyclicLR", (0.01, 0.3, 4, None, "triangular2"), lambda n: 0.01 + 0.29 * (1 - abs(n / 4 % 2 - 1)) / 2 ** (n // 8)),
    ("CyclicLR", (0.01, 0.3, 4, None, "exp_range", 0.9), lambda n: 0.01 + 0.29 * (1 - abs(n / 4 % 2 - 1)) * 0.9**n),
    ("OneCycleLR", (0.5, 21), lambda n: anneal(0.02, 0.5, n / 5.3) if n <= 5.3 else anneal(0.5, 0.02 / 1e4, (n - 5.3) / 14.7)),
]


class Formulas(unittest.TestCase):
    def test_closed_forms(self):
        for name, args, formula in FORMULAS:
            with self.subTest(schedule=name, args=args[1:]):
                for step, rate in enumerate(rates(getattr(s, name)(sgd(), *args), 20)):
                    self.assertAlmostEqual(rate, formula(step), delta=1e-12)

    def test_momentum_moves_against_the_rate(self):
        for make in (lambda o: s.CyclicLR(o, 0.1, 0.3, 4, base_momentum=0.7), lambda o: s.OneCycleLR(o, 0.5, 21, base_momentum=0.7)):
            for optimizer in (sgd(), torch.optim.Adam([torch.ones(1, requires_grad=True)])):
                scheduler, group = make(optimizer), optimizer.param_groups[0]
                seen = []
                for _ in range(20):
                    seen.append((scheduler.get_last_lr()[0], group["betas"][0] if "betas" in group else group["momentum"]))
                    optimizer.step()
                    scheduler.step()
                self.assertEqual(max(seen)[1], min(m for _, m in seen))
                self.assertLess(min(m for _, m in seen), 0.76)

    def test_plateau(self):
        scheduler = s.ReduceLROnPlateau(sgd(1.0), patience=2, factor=0.5, cooldown=2, min_lr=0.2)
        self.assertEqual(rates(scheduler, 12, lambda step: 1.0), [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25])
        scheduler = s.ReduceLROnPlateau(sgd(1.0), "max", patience=0, threshold=0.5, threshold_mode="abs")
        self.assertEqual(rates(scheduler, 3, lambda step: step * 0.6), [1, 1, 1, 1])

    def test_sequence_and_chain(self):
        optimizer = sgd()
        sequence = s.SequentialLR(optimizer, [s.LinearLR(optimizer, 0.5, 1, 4), s.ExponentialLR(optimizer, 0.5)], [4])
        for rate, expected in zip(rates(sequence, 6), [0.05, 0.0625, 0.075, 0.0875, 0.1, 0.05, 0.025]):
            self.assertAlmostEqual(rate, expected, delta=1e-12)
        optimizer = sgd()
        chain = s.ChainedScheduler([s.ConstantLR(optimizer, 0.5, 2), s.ExponentialLR(optimizer, 0.9)])
        for step, rate in enumerate(rates(chain, 5)):
            self.assertAlmostEqual(rate, 0.1 * 0.9**step * (0.5 if step < 2 else 1), delta=1e-12)

    def test_a_rate_that_is_a_tensor_stays_the_same_tensor(self):
        rate = torch.tensor(0.5)
        scheduler = s.StepLR(sgd(rate), 1, 0.5)
        rates(scheduler, 2)
        self.assertIs(scheduler.optimizer.param_groups[0]["lr"], rate)
        self.assertEqual(rate.item(), 0.125)


class Refusals(unittest.TestCase):
    def test_a_sequence_has_no_metric_for_plateaus(self):
        optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
        with self.assertRaisesRegex(ValueError, "metric"):
            torch.optim.lr_scheduler.SequentialLR(
                optimizer, [torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer), torch.optim.lr_scheduler.ConstantLR(optimizer)], [1]
            )


class State(unittest.TestCase):
    def test_resuming_gives_the_same_rates(self):
        for name, args, _ in FORMULAS:
            with self.subTest(schedule=name):
                whole = rates(getattr(s, name)(sgd(), *args), 20)
                first = getattr(s, name)(sgd(), *args)
                rates(first, 9)
                states = copy.deepcopy((first.optimizer.state_dict(), first.state_dict()))
                second = getattr(s, name)(sgd(), *args)
                second.optimizer.load_state_dict(states[0])
                second.load_state_dict(states[1])
                self.assertEqual(rates(second, 11), whole[9:])

    def test_last_epoch_needs_an_initial_rate(self):
        with self.assertRaises(KeyError):
            s.StepLR(sgd(), 3, last_epoch=5)
        optimizer = sgd()
        optimizer.param_groups[0]["initial_lr"] = 0.4
        self.assertEqual(s.LambdaLR(optimizer, lambda n: n, last_epoch=4).get_last_lr(), [2.0])

    def test_the_wrong_order_warns(self):
        scheduler = s.StepLR(sgd(), 3)
        with self.assertWarnsRegex(UserWarning, "before optimizer.step"):
            scheduler.step()
        scheduler = s.StepLR(sgd(), 3)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rates(scheduler, 3)

    def test_a_sequence_begins_with_all_of_a_chain(self):
        optimizer = sgd(1.0)
        chain = s.ChainedScheduler([s.LinearLR(optimizer, 0.5, total_iters=2), s.ConstantLR(optimizer, 0.1, total_iters=2)])
        scheduler = s.SequentialLR(optimizer, [chain, s.ConstantLR(optimizer, 0.25, total_iters=9)], milestones=[3])
        self.assertEqual([round(rate, 6) for rate in rates(scheduler, 3)], [0.05, 0.075, 1.0, 0.25])

    def test_a_replaced_step_of_the_optimizer_is_told(self):
        optimizer = sgd()
        scheduler = s.StepLR(optimizer, 3)
        optimizer.step = lambda: None
        optimizer.step()
        with self.assertWarnsRegex(UserWarning, "replaced"):
            scheduler.step()
        other = sgd()
        other.step = lambda: None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            later = s.StepLR(other, 3)
            other._opt_called = True
            later.step()

    def test_mistakes(self):
        for error, make in (
            (TypeError, lambda: s.StepLR(None, 3)), (ValueError, lambda: s.LambdaLR(sgd(), [max, max])),
            (ValueError, lambda: s.ConstantLR(sgd(), 1.5)), (ValueError, lambda: s.LinearLR(sgd(), 0.0)),
            (ValueError, lambda: s.CosineAnnealingWarmRestarts(sgd(), 0)), (ValueError, lambda: s.ReduceLROnPlateau(sgd(), factor=1.0)),
            (ValueError, lambda: s.ReduceLROnPlateau(sgd(), "middle")), (ValueError, lambda: s.OneCycleLR(sgd(), 0.1)),
            (ValueError, lambda: rates(s.OneCycleLR(sgd(), 0.1, 5), 6)), (ValueError, lambda: s.CyclicLR(sgd(), 0.1, 0.2, mode="square")),
            (ValueError, lambda: s.SequentialLR(sgd(), [], [])), (ValueError, lambda: s.ChainedScheduler([])),
            (ValueError, lambda: s.ChainedScheduler([s.StepLR(sgd(), 2), s.StepLR(sgd(), 2)])),
        ):  # fmt: skip
            with self.assertRaises(error):
                make()


class TensorOptions(unittest.TestCase):
    def test_what_the_caller_does_to_a_tensor_changes_nothing(self):
        momentum = torch.tensor(0.95)
        sgd = torch.optim.SGD([torch.zeros(1)], lr=1.0, momentum=0.9)
        torch.optim.lr_scheduler.OneCycleLR(sgd, 1.0, total_steps=10, max_momentum=momentum)
        momentum.mul_(0.5)
        self.assertAlmostEqual(float(sgd.param_groups[0]["max_momentum"]), 0.95, 6)


if __name__ == "__main__":
    unittest.main()
