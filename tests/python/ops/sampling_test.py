"""Samples: how they move with the parameters of their distributions, and into what memory they go. (Numbers: rows_test.py; distributions: tests/kernels/random_distribution_test.cpp.)"""

import math
import unittest

import numpy as np

import cresset as torch


def gamma_cdf(a, x):
    """The regularised lower incomplete gamma function by its series."""
    term = total = 1.0
    n = 0
    while term > total * 1e-18:
        n += 1
        term *= x / (a + n)
        total += term
    return total * math.exp(a * math.log(x) - x - math.lgamma(a + 1))


class Slopes(unittest.TestCase):
    def test_gamma_samples_move_so_that_their_quantile_stays(self):
        for a, x in [(0.4, 0.05), (0.3, 0.5), (1, 1), (2, 0.1), (7, 3), (15, 20), (30, 20)]:
            slope = float(torch._standard_gamma_grad(torch.tensor(a, dtype=torch.float64), torch.tensor(x, dtype=torch.float64)))
            h = 1e-4
            self.assertAlmostEqual(gamma_cdf(a + h, x + slope * h), gamma_cdf(a - h, x - slope * h), delta=1e-9, msg=(a, x))

    def test_gamma_samples_are_differentiable(self):
        a = torch.tensor([0.5, 2.0, 9.0], dtype=torch.float64, requires_grad=True)
        x = torch._standard_gamma(a)
        (slope,) = torch.autograd.grad(x.sum(), a)
        self.assertEqual(x.grad_fn.name(), "StandardGammaBackward0")
        self.assertTrue(torch.equal(slope, torch._standard_gamma_grad(a.detach(), x.detach())))

    def test_the_mean_of_gamma_samples_moves_as_much_as_the_shape(self):
        torch.manual_seed(1)
        a = torch.full((20000,), 1.5, requires_grad=True)
        (slope,) = torch.autograd.grad(torch._standard_gamma(a).mean(), a)
        self.assertAlmostEqual(float(slope.sum()), 1.0, delta=0.02)

    def test_dirichlet_slopes_against_powers(self):
        # With a second parameter of 1 the distribution function is x^a.
        x, a = torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64), torch.tensor([0.3, 2.0, 7.0], dtype=torch.float64)
        expected = -x * x.log() / a / (1 - x)
        self.assertTrue(torch.allclose(torch._dirichlet_grad(x, a, a + 1), expected, rtol=1e-9, atol=0))

    def test_parameters_broadcast_and_keep_one_dtype(self):
        self.assertEqual(torch._standard_gamma_grad(torch.ones(3, 1), torch.ones(2)).shape, (3, 2))
        with self.assertRaises(RuntimeError):
            torch._standard_gamma_grad(torch.ones(2), torch.ones(2, dtype=torch.float64))
        with self.assertRaises(NotImplementedError):
            torch._dirichlet_grad(*[torch.ones(2, dtype=torch.float16)] * 3)

    def test_poisson_numbers_do_not_move_and_binomial_ones_have_no_derivative(self):
        rate = torch.full((4,), 3.0, requires_grad=True)
        (slope,) = torch.autograd.grad(torch.poisson(rate).sum(), rate)
        self.assertEqual(slope.tolist(), [0.0] * 4)
        with self.assertRaises(RuntimeError):
            torch.autograd.grad(torch.binomial(rate, torch.full((4,), 0.5)).sum(), rate)
        chance = torch.full((4,), 0.5, requires_grad=True)
        with self.assertRaises(RuntimeError):
            torch.autograd.grad(torch.binomial(torch.full((4,), 3.0), chance).sum(), chance)
        (slope,) = torch.autograd.grad(torch._standard_gamma(rate).sum(), rate, create_graph=True)
        with self.assertRaises(RuntimeError):
            torch.autograd.grad(slope.sum(), rate)


class Refusals(unittest.TestCase):
    def test_seeds(self):
        for seed in (2**64, -(2**63) - 1):
            for take in (torch.manual_seed, torch.Generator().manual_seed):
                with self.assertRaisesRegex(ValueError, "seed"):
                    take(seed)
        with self.assertRaisesRegex(RuntimeError, "bool"):
            torch.Generator().manual_seed(True)
        self.assertEqual(torch.Generator().manual_seed(-1).initial_seed(), 2**64 - 1)

    def test_wrong_parameters(self):
        for error, call in [
            (RuntimeError, lambda: torch.poisson(torch.tensor([1.0, -1.0]))),
            (NotImplementedError, lambda: torch.poisson(torch.tensor([1]))),
            (ValueError, lambda: torch.binomial(torch.tensor([3]), torch.tensor([0.5]))),
            (RuntimeError, lambda: torch.binomial(torch.tensor([3.0]), torch.tensor([0.5], dtype=torch.float64))),
            (NotImplementedError, lambda: torch._standard_gamma(torch.ones(2, dtype=torch.bfloat16))),
            (RuntimeError, lambda: torch.randint_like(torch.zeros(2), torch.ones(2))),
        ]:
            with self.assertRaises(error):
                call()

    def test_meta_tensors_take_no_numbers(self):
        state = torch.get_rng_state()
        self.assertEqual(torch.poisson(torch.ones(2, 3, device="meta")).shape, (2, 3))
        self.assertEqual(torch._sample_dirichlet(torch.ones(2, 3, device="meta")).shape, (2, 3))
        self.assertTrue(torch.equal(state, torch.get_rng_state()))


class Places(unittest.TestCase):
    def test_out_of_a_factory_is_filled_in_the_order_of_its_memory(self):
        calls = {
            "rand": lambda out: torch.rand(3, 4, out=out),
            "randn": lambda out: torch.randn(3, 4, out=out),
            "randint": lambda out: torch.randint(50, (3, 4), out=out),
            "randint from": lambda out: torch.randint(5, 50, (3, 4), generator=torch.default_generator, out=out),
            "normal": lambda out: torch.normal(1.0, 2.0, (3, 4), out=out),
            "normal of means": lambda out: torch.normal(torch.ones(3, 4), 2.0, out=out),
            "normal of deviations": lambda out: torch.normal(1.0, torch.ones(3, 4), out=out),
            "bernoulli": lambda out: torch.bernoulli(torch.full((3, 4), 0.5), out=out),
        }
        for name, call in calls.items():
            with self.subTest(name):
                torch.manual_seed(5)
                packed = call(torch.zeros(3, 4))
                torch.manual_seed(5)
                turned = call(torch.zeros(4, 3).t())
                self.assertEqual(turned.stride(), (1, 3))
                self.assertEqual(turned.t().flatten().tolist(), packed.flatten().tolist())
                torch.manual_seed(5)
                self.assertTrue(torch.equal(call(torch.zeros(0)), packed))

    def test_chances_are_taken_in_the_order_of_memory(self):
        p = torch.arange(12.0).view(3, 4) / 12
        torch.manual_seed(3)
        turned = torch.zeros(4, 3).t().bernoulli_(p)
        torch.manual_seed(3)
        packed = torch.zeros(4, 3).bernoulli_(p.t())
        self.assertTrue(torch.equal(turned, packed.t()))
        # PyTorch 2.13's numbers.
        self.assertEqual(turned.tolist(), [[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1.0]])

    def test_samples_by_parameters_are_contiguous(self):
        x = torch.full((4, 3), 0.5).t()
        for sample in (torch.bernoulli(x), x.bernoulli(0.5), torch.normal(x, 1.0), torch.normal(1.0, x), torch.poisson(x), torch.rrelu(-x, training=True)):
            self.assertEqual(sample.stride(), (4, 1))

    def test_an_empty_range_is_refused_of_no_elements_too(self):
        for call in (lambda: torch.zeros(0, dtype=torch.uint8).random_(-1, 0), lambda: torch.randint(0, 3, (0,), dtype=torch.bool)):
            with self.assertRaises(RuntimeError):
                call()

    def test_out_that_records_gradients_or_overlaps_is_refused(self):
        with self.assertRaises(RuntimeError):
            torch.rand(3, out=torch.zeros(3, requires_grad=True))
        with self.assertRaises(RuntimeError):
            torch.rand(3, out=torch.zeros(1).expand(3))

    def test_no_samples_are_drawn_into_dtypes_of_8_bits(self):
        for kind in (torch.float8_e4m3fn, torch.float8_e5m2):
            for fill in ("normal_", "uniform_"):
                x = torch.ones(64).to(kind)
                with self.assertRaises(NotImplementedError):
                    getattr(x, fill)()
                self.assertTrue((x.float() == 1).all())
        self.assertEqual(torch.empty(8, dtype=torch.complex32).uniform_().dtype, torch.complex32)

    def test_bounds_are_numbers_of_the_dtype_and_so_is_their_distance(self):
        largest = torch.finfo(torch.float32).max
        for low, high in ((-largest, largest), (0.0, 1e300), (0.0, float("inf")), (float("nan"), 1.0)):
            with self.assertRaises(RuntimeError):
                torch.empty(2).uniform_(low, high)
        with self.assertRaises(RuntimeError):
            torch.empty(2, dtype=torch.float16).uniform_(0, 70000)
        self.assertTrue(torch.empty(2).uniform_(0, largest).isfinite().all())
        self.assertTrue(torch.empty(2, dtype=torch.float64).uniform_(0, 1e300).isfinite().all())

    def test_like_takes_a_generator_and_a_tensor_as_bound(self):
        x = torch.zeros(4, 5)
        one = [torch.Generator().manual_seed(3) for _ in range(2)]
        self.assertTrue(torch.equal(torch.randint_like(x, torch.tensor(9), generator=one[0]), torch.randint_like(x, 9, generator=one[1])))


@unittest.skipIf(torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "NO AVX"), "the last bits need fused multiply-adds")
class Softmax(unittest.TestCase):
    """Rows end samplers such as gumbel_softmax, and are sums in a fixed order."""

    def test_a_short_row_is_summed_in_order(self):
        x = torch.tensor([[0.0, -1.0, -2.0, -3.5, -0.25]])
        e = np.exp(x.numpy().astype(np.float64)).astype(np.float32)
        total = np.float32(0)
        for v in e[0]:
            total = np.float32(total + v)
        expected = e * np.float32(np.float32(1) / total)
        self.assertEqual(torch.softmax(x, 1).tolist(), expected.tolist())

    def test_gumbel_softmax_has_pytorchs_numbers(self):
        torch.manual_seed(0)
        got = torch.nn.functional.gumbel_softmax(torch.ones(2, 4))
        expected = [
            [0.09141199290752411, 0.26065269112586975, 0.5214310884475708, 0.12650418281555176],
            [0.10729528963565826, 0.0709560438990593, 0.564802348613739, 0.2569463551044464],
        ]
        self.assertEqual(got.tolist(), expected)


if __name__ == "__main__":
    unittest.main()
