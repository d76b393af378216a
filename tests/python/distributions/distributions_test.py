"""Distributions against their definitions: densities are integrated on a grid, probabilities are summed."""

import itertools
import math
import unittest

import cresset as torch
from cresset import distributions as D


def N(value):
    """A number in float64."""
    return torch.tensor(float(value), dtype=torch.float64)


#: Distribution of one number -> an interval that holds all but 1e-9 of its weight.
CONTINUOUS = {
    "Beta": (D.Beta(N(2.5), N(3.5)), 0, 1),
    "Cauchy": (D.Cauchy(N(0.3), N(0.5)), None, None),
    "Chi2": (D.Chi2(N(5)), 0, 90),
    "ContinuousBernoulli": (D.ContinuousBernoulli(N(0.3)), 0, 1),
    "ContinuousBernoulli close to half": (D.ContinuousBernoulli(N(0.4995)), 0, 1),
    "Exponential": (D.Exponential(N(1.5)), 0, 20),
    "FisherSnedecor": (D.FisherSnedecor(N(6), N(40)), 0, 60),
    "Gamma": (D.Gamma(N(3.5), N(2)), 0, 30),
    "GeneralizedPareto": (D.GeneralizedPareto(N(0.5), N(2), N(-0.3)), 0.5, 0.5 + 2 / 0.3),
    "Gumbel": (D.Gumbel(N(0.5), N(0.7)), -4, 25),
    "HalfNormal": (D.HalfNormal(N(1.5)), 0, 15),
    "InverseGamma": (D.InverseGamma(N(12), N(9)), 0.01, 60),
    "Kumaraswamy": (D.Kumaraswamy(N(3), N(4)), 0, 1),
    "Laplace": (D.Laplace(N(0.25), N(0.7)), 0.25 - 25, 0.25 + 25),
    "LogNormal": (D.LogNormal(N(0.2), N(0.3)), 0.001, 12),
    "Normal": (D.Normal(N(0.4), N(1.2)), -12, 12),
    "Pareto": (D.Pareto(N(1.5), N(9)), 1.5, 40),
    "StudentT": (D.StudentT(N(30), N(0.5), N(0.8)), -20, 20),
    "Uniform": (D.Uniform(N(-1), N(2.5)), -1, 2.5),
    "VonMises": (D.VonMises(N(0.5), N(2)), -math.pi, math.pi),
    "Weibull": (D.Weibull(N(1.5), N(3)), 0, 8),
    "RelaxedBernoulli": (D.RelaxedBernoulli(N(2), N(0.4)), 0, 1),
    "MixtureSameFamily": (D.MixtureSameFamily(D.Categorical(torch.tensor([0.3, 0.7]).double()), D.Normal(torch.tensor([-1.0, 2.0]).double(), 1.0)), -12, 14),
    "TransformedDistribution": (D.TransformedDistribution(D.Normal(N(0), N(0.5)), [D.AffineTransform(1.0, -2.0), D.ExpTransform()]), 1e-4, 4000),
}  # fmt: skip


def integral(values, x):
    return torch.trapezoid(values, x)


def grid(low, high, count=120_001):
    """Points inside an interval, denser at its ends, where densities may be steep."""
    t = torch.linspace(0, math.pi, count, dtype=torch.float64)[1:-1]
    return low + (high - low) * (1 - t.cos()) / 2


class Continuous(unittest.TestCase):
    def distributions(self):
        for name, (distribution, low, high) in CONTINUOUS.items():
            if low is not None:
                x = grid(low, high)
                yield name, distribution, x, distribution.log_prob(x).exp()

    def close(self, a, b, tolerance=2e-6, name=None):
        self.assertLess(abs(float(a) - float(b)), tolerance * max(1, abs(float(b))), name)

    def test_densities_integrate_to_one(self):
        for name, _, x, density in self.distributions():
            self.close(integral(density, x), 1, name=name)

    def test_mean_and_variance(self):
        count = 0
        for name, distribution, x, density in self.distributions():
            if name in ("MixtureSameFamily", "VonMises") or "mean" not in dir(type(distribution)) or type(distribution).mean is D.Distribution.mean:
                continue
            mean = integral(density * x, x)
            self.close(distribution.mean, mean, name=name)
            self.close(distribution.variance, integral(density * (x - mean) ** 2, x), name=name)
            self.close(distribution.stddev, distribution.variance.sqrt())
            count += 1
        self.assertGreater(count, 15)

    def test_mixtures_have_the_moments_of_the_whole(self):
        distribution, low, high = CONTINUOUS["MixtureSameFamily"]
        x = grid(low, high)
        density = distribution.log_prob(x).exp()
        self.close(distribution.mean, integral(density * x, x))
        self.close(distribution.variance, integral(density * (x - distribution.mean) ** 2, x))
        self.close(distribution.cdf(N(1.0)), integral(density * (x <= 1), x), 1e-4)

    def test_circular_variance(self):
        distribution, low, high = CONTINUOUS["VonMises"]
        x = grid(low, high)
        self.close(distribution.variance, 1 - integral(distribution.log_prob(x).exp() * (x - distribution.loc).cos(), x))

    def test_mode_is_where_the_density_is_greatest(self):
        for name, distribution, x, density in self.distributions():
            if name in ("Kumaraswamy", "Uniform") or type(distribution).mode is D.Distribution.mode:  # PyTorch's are NaN
                continue
            best = x[density.argmax()]
            self.assertLess(abs(float(best - distribution.mode)), 2e-3 * float(x[-1] - x[0]), name)

    def test_entropy(self):
        count = 0
        for name, distribution, x, density in self.distributions():
            try:
                entropy = distribution.entropy()
            except NotImplementedError:
                continue
            log = density.log()
            self.close(entropy, -integral(torch.where(density > 0, density * log, 0.0), x), name=name)
            self.close(distribution.perplexity(), entropy.exp())
            count += 1
        self.assertGreater(count, 15)

    def test_cdf_is_the_integral_and_icdf_its_inverse(self):
        inverted = 0
        for name, distribution, x, density in self.distributions():
            try:
                cdf = distribution.cdf(x)
            except NotImplementedError:
                continue
            running = torch.cumulative_trapezoid(density, x)
            allowed = 3e-4 if name == "ContinuousBernoulli close to half" else 2e-6  # there the distribution is taken as uniform
            self.assertLess(float((cdf[1:] - cdf[0] - running).abs().max()), allowed, name)
            p = torch.linspace(0.01, 0.99, 9, dtype=torch.float64)
            try:
                quantiles = distribution.icdf(p)
            except NotImplementedError:
                continue
            self.assertLess(float((distribution.cdf(quantiles) - p).abs().max()), 1e-7, name)
            inverted += 1
        self.assertGreater(inverted, 10)

    def test_cauchy_distributions_without_moments(self):
        distribution = D.Cauchy(N(1), N(2))
        self.assertTrue(distribution.mean.isnan() and distribution.variance.isinf())
        self.close(distribution.cdf(N(3)), 0.75)
        self.close(distribution.log_prob(N(1)).exp(), 1 / (2 * math.pi))
        half = D.HalfCauchy(N(2))
        self.close(half.log_prob(N(1)), D.Cauchy(N(0), N(2)).log_prob(N(1)) + math.log(2))
        self.close(half.icdf(half.cdf(N(3))), 3)
        self.close(half.entropy(), D.Cauchy(N(0), N(2)).entropy() - math.log(2))
        self.close(distribution.entropy(), math.log(8 * math.pi))


DISCRETE = {
    "Bernoulli": (D.Bernoulli(N(0.3)), 1),
    "Bernoulli of logits": (D.Bernoulli(logits=N(-0.7)), 1),
    "Binomial": (D.Binomial(7, N(0.3)), 7),
    "Geometric": (D.Geometric(N(0.3)), 200),
    "NegativeBinomial": (D.NegativeBinomial(N(4.5), N(0.4)), 200),
    "Poisson": (D.Poisson(N(3.4)), 100),
}


class Discrete(unittest.TestCase):
    def test_probabilities_moments_and_entropy(self):
        for name, (distribution, last) in DISCRETE.items():
            with self.subTest(name):
                x = torch.arange(last + 1.0, dtype=torch.float64)
                p = distribution.log_prob(x).exp()
                self.assertAlmostEqual(float(p.sum()), 1, 10)
                mean = (p * x).sum()
                self.assertAlmostEqual(float(distribution.mean), float(mean), 9)
                self.assertAlmostEqual(float(distribution.variance), float((p * (x - mean) ** 2).sum()), 8)
                self.assertEqual(float(distribution.mode), float(p.argmax()))
                if name.partition(" ")[0] in ("Bernoulli", "Binomial", "Geometric"):
                    self.assertAlmostEqual(float(distribution.entropy()), float(-torch.special.xlogy(p, p).sum()), 9)
                else:
                    self.assertRaises(NotImplementedError, distribution.entropy)

    def test_categorical(self):
        weights = torch.tensor([[1.0, 2.0, 5.0], [0.0, 1.0, 1.0]], dtype=torch.float64)
        distribution = D.Categorical(weights)
        self.assertTrue(torch.allclose(distribution.log_prob(torch.tensor([2, 1])).exp(), torch.tensor([5 / 8, 1 / 2], dtype=torch.float64)))
        self.assertEqual(distribution.mode.tolist(), [2, 1])
        expected = [-sum(p * math.log(p) for p in row if p) for row in ([1 / 8, 2 / 8, 5 / 8], [0.5, 0.5])]
        self.assertTrue(torch.allclose(distribution.entropy(), torch.tensor(expected, dtype=torch.float64)))
        same = D.Categorical(logits=weights.log() + 3)
        self.assertTrue(torch.allclose(same.probs, distribution.probs))
        self.assertEqual(distribution.enumerate_support().tolist(), [[0, 0], [1, 1], [2, 2]])
        self.assertEqual(distribution.enumerate_support(expand=False).tolist(), [[0], [1], [2]])

    def test_one_hot(self):
        distribution = D.OneHotCategorical(torch.tensor([0.25, 0.75]))
        self.assertEqual(distribution.enumerate_support().tolist(), [[1, 0], [0, 1]])
        self.assertAlmostEqual(distribution.log_prob(torch.tensor([0.0, 1.0])).exp().item(), 0.75, 6)
        self.assertEqual(distribution.variance.tolist(), [0.1875, 0.1875])

    def test_multinomial_sums_to_one_over_all_counts(self):
        distribution = D.Multinomial(4, torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64))
        counts = [c for c in itertools.product(range(5), repeat=3) if sum(c) == 4]
        log = distribution.log_prob(torch.tensor(counts, dtype=torch.float64))
        self.assertAlmostEqual(float(log.exp().sum()), 1, 12)
        self.assertAlmostEqual(float(distribution.entropy()), float(-(log.exp() * log).sum()), 6)
        self.assertEqual(distribution.mean.tolist(), [0.8, 1.2, 2.0])
        zero = D.Multinomial(2, torch.tensor([0.0, 1.0]))
        self.assertAlmostEqual(zero.log_prob(torch.tensor([0.0, 2.0])).item(), 0, 5)


class Multivariate(unittest.TestCase):
    def setUp(self):
        factor = torch.tensor([[1.5, 0, 0], [0.5, 1.0, 0], [-0.3, 0.2, 0.8]], dtype=torch.float64)
        self.loc, self.factor, self.covariance = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64), factor, factor @ factor.mT
        self.x = torch.tensor([[0.0, 0.0, 0.0], [1.0, -2.0, 0.5]], dtype=torch.float64)

    def expected(self):
        away = self.x - self.loc
        quadratic = (away @ torch.linalg.inv(self.covariance) * away).sum(-1)
        return -0.5 * (quadratic + 3 * math.log(2 * math.pi) + torch.logdet(self.covariance))

    def test_three_ways_to_give_the_covariance(self):
        for given in ({"covariance_matrix": self.covariance}, {"precision_matrix": torch.linalg.inv(self.covariance)}, {"scale_tril": self.factor}):
            distribution = D.MultivariateNormal(self.loc, **given)
            with self.subTest(next(iter(given))):
                self.assertTrue(torch.allclose(distribution.log_prob(self.x), self.expected()))
                self.assertTrue(torch.allclose(distribution.covariance_matrix, self.covariance))
                self.assertTrue(torch.allclose(distribution.precision_matrix, torch.linalg.inv(self.covariance)))
                self.assertTrue(torch.allclose(distribution.scale_tril, self.factor))
                self.assertTrue(torch.allclose(distribution.variance, self.covariance.diagonal()))
                self.assertAlmostEqual(float(distribution.entropy()), 0.5 * float(torch.logdet(self.covariance)) + 1.5 * (1 + math.log(2 * math.pi)), 10)

    def test_low_rank(self):
        W, d = self.factor[:, :2], torch.tensor([0.5, 0.6, 0.7], dtype=torch.float64)
        self.covariance = W @ W.mT + d.diag()
        distribution = D.LowRankMultivariateNormal(self.loc, W, d)
        full = D.MultivariateNormal(self.loc, self.covariance)
        self.assertTrue(torch.allclose(distribution.log_prob(self.x), self.expected()))
        for name in ("covariance_matrix", "precision_matrix", "scale_tril", "variance"):
            self.assertTrue(torch.allclose(getattr(distribution, name), getattr(full, name)), name)
        self.assertAlmostEqual(float(distribution.entropy()), float(full.entropy()), 10)
        other = D.MultivariateNormal(self.loc * 0, torch.eye(3, dtype=torch.float64) * 2)
        for p, q in ((distribution, other), (other, distribution), (distribution, distribution)):
            as_full = [full if v is distribution else v for v in (p, q)]
            self.assertAlmostEqual(float(D.kl_divergence(p, q)), float(D.kl_divergence(*as_full)), 9)

    def test_batches_broadcast(self):
        distribution = D.MultivariateNormal(self.loc.expand(4, 1, 3), torch.stack([self.covariance, 2 * self.covariance]))
        self.assertEqual((distribution.batch_shape, distribution.event_shape), ((4, 2), (3,)))
        self.assertEqual(distribution.log_prob(self.x).shape, (4, 2))
        self.assertEqual(distribution.rsample((5,)).shape, (5, 4, 2, 3))

    def test_dirichlet_integrates_to_one(self):
        distribution = D.Dirichlet(torch.tensor([2.0, 3.0, 1.5], dtype=torch.float64))
        steps = (torch.arange(1200, dtype=torch.float64) + 0.5) / 1200
        a, b = torch.meshgrid(steps, steps, indexing="ij")
        inside = a + b < 1 - 1e-6
        points = torch.stack([a[inside], b[inside], 1 - a[inside] - b[inside]], -1)
        p = distribution.log_prob(points).exp() / 1200**2
        self.assertAlmostEqual(float(p.sum()), 1, 3)
        self.assertTrue(torch.allclose((p.unsqueeze(-1) * points).sum(0), distribution.mean, atol=1e-3))
        self.assertAlmostEqual(float(-(p * distribution.log_prob(points)).sum()), float(distribution.entropy()), 2)
        self.assertTrue(torch.allclose(distribution.mode, torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64) / 3.5))

    def test_lkj_integrates_to_one(self):
        # Of 2 x 2 matrices the one free number is the correlation, of density (1 - r^2)^(eta - 1) / B.
        distribution = D.LKJCholesky(2, N(2.5))
        r = grid(-1 + 1e-9, 1 - 1e-9)
        L = torch.stack([torch.ones_like(r), torch.zeros_like(r), r, (1 - r * r).sqrt()], -1).view(-1, 2, 2)
        self.assertAlmostEqual(float(integral(distribution.log_prob(L).exp(), r)), 1, 5)

    def test_wishart_in_one_dimension_is_gamma(self):
        distribution = D.Wishart(N(3.5), scale_tril=N(1.5).view(1, 1))
        gamma = D.Gamma(N(3.5) / 2, 1 / (2 * N(2.25)))
        x = N(2.2)
        self.assertAlmostEqual(float(distribution.log_prob(x.view(1, 1))), float(gamma.log_prob(x)), 10)
        self.assertAlmostEqual(float(distribution.entropy()), float(gamma.entropy()), 10)
        self.assertAlmostEqual(float(distribution.mean), float(gamma.mean), 10)
        self.assertAlmostEqual(float(distribution.variance), float(gamma.variance), 10)
        self.assertAlmostEqual(float(distribution.mode), float(gamma.mode), 10)

    def test_independent_sums_over_what_became_an_event(self):
        base = D.Normal(torch.zeros(2, 3), torch.ones(2, 3))
        distribution = D.Independent(base, 1)
        x = torch.arange(6.0).view(2, 3)
        self.assertTrue(torch.allclose(distribution.log_prob(x), base.log_prob(x).sum(-1)))
        self.assertTrue(torch.allclose(distribution.entropy(), base.entropy().sum(-1)))
        self.assertEqual((distribution.batch_shape, distribution.event_shape), ((2,), (3,)))

    def test_logistic_normal_integrates_to_one(self):
        distribution = D.LogisticNormal(torch.tensor([0.2], dtype=torch.float64), torch.tensor([0.7], dtype=torch.float64))
        x = grid(1e-9, 1 - 1e-9)
        self.assertAlmostEqual(float(integral(distribution.log_prob(torch.stack([x, 1 - x], -1)).exp(), x)), 1, 6)


class Divergences(unittest.TestCase):
    def numeric(self, p, q, x):
        log_p, log_q = p.log_prob(x), q.log_prob(x)
        return float(integral(torch.where(log_p > -700, log_p.exp() * (log_p - log_q), 0.0), x))

    def test_against_integrals(self):
        on_unit = [D.Beta(N(2.5), N(1.5)), D.ContinuousBernoulli(N(0.3)), D.Uniform(N(0.2), N(0.7))]
        on_half = [D.Exponential(N(1.5)), D.Gamma(N(2.5), N(1.2)), D.Pareto(N(0.5), N(7))]
        on_line = [D.Normal(N(0.3), N(1.2)), D.Laplace(N(0.1), N(0.9)), D.Gumbel(N(-0.2), N(1.1)), D.Normal(N(1), N(2)), D.Cauchy(N(0.2), N(1.1))]
        ranges = {"Beta": (0, 1), "ContinuousBernoulli": (0, 1), "Uniform": (0.2, 0.7), "Exponential": (0, 25), "Gamma": (0, 35), "Pareto": (0.5, 60),
                  "Normal": (-16, 18), "Laplace": (-22, 22), "Gumbel": (-5, 30)}  # fmt: skip
        count = 0
        for p, q in itertools.product([*on_unit, *on_half, *on_line[:-1]], [*on_unit, *on_half, *on_line[:-1]]):
            try:
                kl = float(D.kl_divergence(p, q))
            except NotImplementedError:
                continue
            if math.isfinite(kl):
                low, high = ranges[type(p).__name__]
                for distribution in (p, q):
                    distribution._validate_args = False
                with self.subTest(p=p, q=q):
                    self.assertLess(abs(kl - self.numeric(p, q, grid(low, high))), 2e-5 * max(1, abs(kl)))
                count += 1
        self.assertGreater(count, 25)

    def test_outside_the_support_is_infinite(self):
        wide, narrow = D.Normal(N(0), N(1)), D.Uniform(N(0), N(1))
        self.assertEqual(float(D.kl_divergence(wide, narrow)), math.inf)
        self.assertEqual(float(D.kl_divergence(D.Uniform(N(0), N(2)), narrow)), math.inf)
        self.assertEqual(float(D.kl_divergence(D.Poisson(N(2)), D.Bernoulli(N(0.5)))), math.inf)

    def test_cauchy(self):
        p, q = D.Cauchy(N(0.2), N(1.1)), D.Cauchy(N(-1), N(0.6))
        u = torch.linspace(-math.pi / 2, math.pi / 2, 100_001, dtype=torch.float64)[1:-1]
        x = u.tan()
        value = integral(p.log_prob(x).exp() * (p.log_prob(x) - q.log_prob(x)) / u.cos() ** 2, u)
        self.assertAlmostEqual(float(D.kl_divergence(p, q)), float(value), 3)

    def test_discrete_against_sums(self):
        x = torch.arange(200.0, dtype=torch.float64)
        pairs = [(D.Poisson(N(2)), D.Poisson(N(3.5)), 100), (D.Geometric(N(0.3)), D.Geometric(N(0.5)), 150), (D.Bernoulli(N(0.3)), D.Bernoulli(N(0.6)), 2),
                 (D.Bernoulli(N(0.3)), D.Poisson(N(0.6)), 2), (D.Binomial(5, N(0.3)), D.Binomial(5, N(0.6)), 6)]  # fmt: skip
        for p, q, n in pairs:
            with self.subTest(p=p, q=q):
                expected = (p.log_prob(x[:n]).exp() * (p.log_prob(x[:n]) - q.log_prob(x[:n]))).sum()
                self.assertAlmostEqual(float(D.kl_divergence(p, q)), float(expected), 8)
        a, b = (torch.tensor(v, dtype=torch.float64) for v in ([0.2, 0.3, 0.5], [0.6, 0.3, 0.1]))
        for distribution in (D.Categorical, D.OneHotCategorical):
            self.assertAlmostEqual(float(D.kl_divergence(distribution(a), distribution(b))), float((a * (a / b).log()).sum()), 9)

    def test_bregman_divergences_equal_closed_forms(self):
        from cresset.distributions.kl import _bregman

        pairs = [(D.Normal(N(0), N(1)), D.Normal(N(1), N(2))), (D.Gamma(N(2), N(3)), D.Gamma(N(1), N(2))), (D.Beta(N(2), N(3)), D.Beta(N(1), N(2))),
                 (D.Exponential(N(2)), D.Exponential(N(3))), (D.Poisson(N(2)), D.Poisson(N(3))), (D.Bernoulli(N(0.2)), D.Bernoulli(N(0.3))),
                 (D.Dirichlet(torch.tensor([1.0, 2.0]).double()), D.Dirichlet(torch.tensor([2.0, 3.0]).double())),
                 (D.ContinuousBernoulli(N(0.2)), D.ContinuousBernoulli(N(0.3)))]  # fmt: skip
        for p, q in pairs:
            with self.subTest(p=p):
                self.assertAlmostEqual(float(_bregman(p, q)), float(D.kl_divergence(p, q)), 9)
        self.assertRaises(NotImplementedError, _bregman, pairs[0][0], pairs[1][0])

    def test_entropies_by_the_log_normalizer(self):
        for distribution in (D.Normal(N(0), N(2)), D.Gamma(N(2), N(3)), D.Exponential(N(2)), D.Bernoulli(N(0.2)), D.ContinuousBernoulli(N(0.2))):
            with self.subTest(distribution=distribution):
                expected = float(distribution.entropy())
                self.assertAlmostEqual(float(D.ExponentialFamily.entropy(distribution)), expected, 9)


class Faults(unittest.TestCase):
    def test_the_halves_expand(self):
        for kind in (torch.distributions.HalfNormal, torch.distributions.HalfCauchy):
            distribution = kind(torch.tensor([0.5, 2.0])).expand((3, 2))
            self.assertIs(type(distribution), kind)
            self.assertEqual(distribution.scale.shape, (3, 2))
            self.assertEqual(distribution.sample((4,)).shape, (4, 3, 2))

    def test_gradient_of_a_binomial_at_one_half(self):
        p = torch.tensor([0.4, 0.5, 0.6], dtype=torch.float64, requires_grad=True)
        value = torch.tensor(2.0, dtype=torch.float64)
        torch.distributions.Binomial(5, p).log_prob(value).sum().backward()
        torch.testing.assert_close(p.grad, 2 / p.detach() - 3 / (1 - p.detach()))  # of x log p + (n - x) log(1 - p)


if __name__ == "__main__":
    unittest.main()
