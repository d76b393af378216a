"""Behaviour common to distributions: shapes, checks, expanding, text, copies."""

import copy
import pickle
import unittest
import warnings

import cresset as torch
from cresset import distributions as D
from cresset.distributions import constraints


def t(*values):
    return torch.tensor(values)


class Shapes(unittest.TestCase):
    def test_parameters_broadcast(self):
        distribution = D.Normal(torch.zeros(3, 1), torch.ones(2))
        self.assertEqual((distribution.batch_shape, distribution.event_shape), ((3, 2), ()))
        self.assertEqual(distribution.sample((4,)).shape, (4, 3, 2))
        self.assertEqual(distribution.log_prob(torch.zeros(())).shape, (3, 2))

    def test_numbers_take_the_dtype_of_tensors(self):
        self.assertEqual(D.Normal(0, torch.ones(2, dtype=torch.float64)).loc.dtype, torch.float64)
        self.assertEqual(D.Normal(0, 1).loc.dtype, torch.float32)

    def test_expanding(self):
        distributions = [D.Normal(t(0.0, 1.0), 1.0), D.Bernoulli(logits=t(0.0, 1.0)), D.Beta(t(1.0, 2.0), 1.0), D.Categorical(torch.ones(2, 3)),
                D.Chi2(t(1.0, 2.0)), D.Dirichlet(torch.ones(2, 3)), D.Gumbel(t(1.0, 2.0), 1.0), D.Independent(D.Normal(torch.zeros(2, 3), 1.0), 1),
                D.Kumaraswamy(t(1.0, 2.0), 1.0), D.LKJCholesky(3, t(1.0, 2.0)), D.LogNormal(t(1.0, 2.0), 1.0), D.LogisticNormal(torch.zeros(2, 2), 1.0),
                D.LowRankMultivariateNormal(torch.zeros(2, 3), torch.ones(2, 3, 1), torch.ones(2, 3)), D.Multinomial(3, torch.ones(2, 3)),
                D.MixtureSameFamily(D.Categorical(torch.ones(2, 3)), D.Normal(torch.zeros(2, 3), 1.0)), D.MultivariateNormal(torch.zeros(2, 3), torch.eye(3)),
                D.NegativeBinomial(t(1.0, 2.0), t(0.5)), D.OneHotCategorical(torch.ones(2, 3)), D.Pareto(t(1.0, 2.0), 1.0), D.RelaxedBernoulli(t(1.0), t(0.5, 0.2)),
                D.RelaxedOneHotCategorical(torch.tensor(1.0), torch.ones(2, 3)), D.StudentT(t(1.0, 2.0)), D.VonMises(t(1.0, 2.0), 1.0), D.Weibull(t(1.0, 2.0), 1.0),
                D.TransformedDistribution(D.Normal(t(0.0, 1.0), 1.0), D.ExpTransform()), D.Wishart(t(4.0, 5.0), torch.eye(3))]  # fmt: skip
        for distribution in distributions:
            with self.subTest(distribution=distribution):
                wide = distribution.expand((4, 2))
                self.assertIs(type(wide), type(distribution))
                self.assertEqual((wide.batch_shape, wide.event_shape), ((4, 2), distribution.event_shape))
                self.assertEqual(distribution.batch_shape, (2,))
                for name in distribution.arg_constraints:
                    if name in distribution.__dict__ and name != "temperature":
                        self.assertEqual(getattr(wide, name).shape[:2], (4, 2), name)

    def test_an_own_init_needs_an_own_expand(self):
        class Standard(D.Normal):
            def __init__(self, n):
                super().__init__(torch.zeros(n), torch.ones(n))

        with self.assertRaisesRegex(NotImplementedError, "needs its own expand"):
            Standard(3).expand((2, 3))

        class Plain(D.Normal):
            pass

        self.assertIs(type(Plain(0.0, 1.0).expand((2,))), Plain)

    def test_distributions_of_ones_own(self):
        class Point(D.Distribution):
            arg_constraints = {}

            def rsample(self, sample_shape=torch.Size()):
                return torch.zeros(self._extended_shape(sample_shape))

        self.assertEqual(Point(torch.Size((2,))).sample((3,)).shape, (3, 2))
        for ask in ("mean", "variance", "support", "stddev"):
            self.assertRaises(NotImplementedError, getattr, Point(), ask)
        for call in ("entropy", "perplexity", "enumerate_support"):
            self.assertRaises(NotImplementedError, getattr(Point(), call))
        self.assertRaises(NotImplementedError, Point().expand, (2,))


class Checks(unittest.TestCase):
    def refuses(self, words, make, *args, **kwargs):
        with self.assertRaises(ValueError) as caught:
            make(*args, **kwargs)
        self.assertIn(words, str(caught.exception))

    def test_parameters(self):
        self.refuses(
            "Normal: parameter scale, a Tensor of shape (2,), is outside its constraint, expected GreaterThan(lower_bound=0.0), got\n"
            "tensor([-1.,  1.])",
            D.Normal, t(0.0, 0.0), t(-1.0, 1.0),
        )  # fmt: skip
        self.refuses("expected exactly one of probs and logits, got none", D.Bernoulli)
        self.refuses("expected exactly one of probs and logits, got several", D.Categorical, t(1.0), t(1.0))
        self.refuses("LessThan(upper_bound=", D.Uniform, t(1.0), t(1.0))
        self.refuses("at least one dimension", D.Dirichlet, torch.tensor(1.0))
        self.refuses("exactly one of covariance_matrix, precision_matrix and scale_tril, got none", D.MultivariateNormal, torch.zeros(2))
        self.refuses("PositiveDefinite()", D.MultivariateNormal, torch.zeros(2), t([1.0, 2.0], [2.0, 1.0]))
        self.refuses("Simplex()", D.Categorical, t(-1.0, 3.0))
        self.refuses("expected tensors and numbers, got str, float", D.Normal, "a", 1.0)
        self.refuses("expected df above 2", D.Wishart, torch.tensor(1.0), torch.eye(3))
        self.refuses("positive", D.Geometric, t(0.0))
        self.refuses("expected dim of at least 2, got 1", D.LKJCholesky, 1)
        self.assertRaises(NotImplementedError, D.Multinomial, t(2, 3), torch.ones(3))
        self.assertRaises(AssertionError, D.Wishart, torch.tensor(3.0))

    def test_values(self):
        self.refuses("expected a tensor as value, got float", D.Normal(0.0, 1.0).log_prob, 1.0)
        self.refuses("expected Real(), got", D.Normal(0.0, 1.0).log_prob, t(float("nan")))
        self.refuses("expected Boolean(), got", D.Bernoulli(0.5).log_prob, t(0.5))
        self.refuses("does not broadcast against the batch", D.Normal(torch.zeros(3), 1.0).log_prob, torch.zeros(2))
        self.refuses("does not end in an event", D.Dirichlet(torch.ones(3)).log_prob, torch.ones(2) / 2)
        self.refuses("IntegerInterval", D.Binomial(2, t(0.5)).log_prob, t(3.0))

    def test_checks_can_be_turned_off(self):
        distribution = D.Normal(0.0, -1.0, validate_args=False)
        self.assertTrue(distribution.log_prob(t(1.0)).isnan())
        self.addCleanup(D.Distribution.set_default_validate_args, True)
        D.Distribution.set_default_validate_args(False)
        self.assertEqual(D.Exponential(t(-1.0)).rate.item(), -1)
        self.assertRaises(ValueError, D.Distribution.set_default_validate_args, 3)

    def test_distributions_without_constraints_warn(self):
        class Bare(D.Distribution):
            pass

        with self.assertWarnsRegex(UserWarning, "define arg_constraints"):
            Bare()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Bare(validate_args=False)

    def test_mixtures_and_independents(self):
        self.refuses("expected a Categorical as mixture_distribution, got Normal", D.MixtureSameFamily, D.Normal(0.0, 1.0), D.Normal(0.0, 1.0))
        self.refuses(
            "expected a component batch of torch.Size([]) and then 3, got torch.Size([2])",
            D.MixtureSameFamily,
            D.Categorical(torch.ones(3)),
            D.Normal(torch.zeros(2), 1.0),
        )
        self.refuses("expected reinterpreted_batch_ndims of at most 0, got 1", D.Independent, D.Normal(0.0, 1.0), 1)
        self.refuses("expected a transform or a list of them as transforms, got 3", D.TransformedDistribution, D.Normal(0.0, 1.0), 3)
        self.refuses("take events of 1 dimensions", D.TransformedDistribution, D.Normal(0.0, 1.0), D.StickBreakingTransform())

    def test_missing_methods(self):
        for call in (D.Bernoulli(0.5).rsample, D.Poisson(1.0).entropy, D.Normal(0.0, 1.0).enumerate_support):
            self.assertRaises(NotImplementedError, call)
        self.assertRaises(NotImplementedError, D.Binomial(t(1.0, 2.0), t(0.5)).enumerate_support)
        self.assertRaises(NotImplementedError, D.Independent(D.Bernoulli(torch.ones(2)), 1).enumerate_support)


class Texts(unittest.TestCase):
    def test_distributions(self):
        for distribution, text in {
            D.Normal(0.0, 1.0): "Normal(loc: 0.0, scale: 1.0)",
            D.Normal(torch.zeros(2), 1.0): "Normal(loc: torch.Size([2]), scale: torch.Size([2]))",
            D.LogNormal(0.0, 1.0): "LogNormal()",
            D.Binomial(2, torch.tensor(0.5)): "Binomial(total_count: 2.0, probs: 0.5)",
            D.Independent(D.Normal(torch.zeros(2), 1.0), 1): "Independent(Normal(loc: torch.Size([2]), scale: torch.Size([2])), 1)",
            D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.zeros(2), 1.0)):
                "MixtureSameFamily(\n  Categorical(probs: torch.Size([2]), logits: torch.Size([2])),\n  Normal(loc: torch.Size([2]), scale: torch.Size([2])))",
            D.Wishart(3, torch.eye(2)): "Wishart(covariance_matrix: torch.Size([2, 2]), df: 3.0)",
            D.MultivariateNormal(torch.zeros(2), scale_tril=torch.eye(2)): "MultivariateNormal(loc: torch.Size([2]), scale_tril: torch.Size([2, 2]))",
        }.items():  # fmt: skip
            self.assertEqual(repr(distribution), text)

    def test_constraints(self):
        c = constraints
        for constraint, text in {
            c.positive: "GreaterThan(lower_bound=0.0)", c.unit_interval: "Interval(lower_bound=0.0, upper_bound=1.0)", c.real_vector: "IndependentConstraint(Real(), 1)",
            c.nonnegative_integer: "IntegerGreaterThan(lower_bound=0)", c.dependent: "Dependent()", c.cat([c.real]): "Cat()", D.Uniform.support: "DependentProperty()",
            c.MixtureSameFamilyConstraint(c.real): "MixtureSameFamilyConstraint(Real())", c.half_open_interval(0, 1): "HalfOpenInterval(lower_bound=0, upper_bound=1)",
        }.items():  # fmt: skip
            self.assertEqual(repr(constraint), text)


class Copies(unittest.TestCase):
    def test_pickle_and_deepcopy(self):
        distributions = [D.Normal(t(0.0, 1.0), 1.0), D.LogNormal(0.0, 1.0), D.Categorical(torch.ones(3)), D.MultivariateNormal(torch.zeros(2), torch.eye(2)),
                D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.zeros(2), 1.0)), D.Gumbel(0.0, 1.0), D.VonMises(t(0.0), t(1.0))]  # fmt: skip
        for distribution in distributions:
            value, text = distribution.sample(), repr(distribution)
            for other in (pickle.loads(pickle.dumps(distribution)), copy.deepcopy(distribution)):
                with self.subTest(text):
                    self.assertEqual(repr(other), text)
                    self.assertTrue(torch.equal(other.log_prob(value), distribution.log_prob(value)))


class Registry(unittest.TestCase):
    def test_rules_of_ones_own(self):
        class Mine(D.Normal):
            pass

        D.register_kl(Mine, D.Normal)(lambda p, q: p.loc * 0 + 42)
        self.assertEqual(D.kl_divergence(Mine(0.0, 1.0), D.Normal(0.0, 1.0)).item(), 42)
        self.assertEqual(D.kl_divergence(D.Normal(0.0, 1.0), Mine(0.0, 1.0)).item(), 0)
        with self.assertRaisesRegex(NotImplementedError, "no rule for VonMises and Wishart"):
            D.kl_divergence(D.VonMises(t(0.0), t(1.0)), D.Wishart(3, torch.eye(2)))

    def test_ambiguous_rules_warn(self):
        class A(D.Distribution):
            arg_constraints = {}

        class B(A):
            pass

        D.register_kl(A, B)(lambda p, q: torch.tensor(1.0))
        D.register_kl(B, A)(lambda p, q: torch.tensor(2.0))
        with self.assertWarnsRegex(RuntimeWarning, "several rules fit"):
            self.assertEqual(D.kl_divergence(B(), B()).item(), 2)

    def test_rules_for_classes_of_others(self):
        class Theirs:  # as Pyro's, which have the methods and another base
            pass

        D.register_kl(Theirs, Theirs)(lambda p, q: 5)
        self.assertEqual(D.kl_divergence(Theirs(), Theirs()), 5)
        self.assertRaises(TypeError, D.register_kl, Theirs(), Theirs)


if __name__ == "__main__":
    unittest.main()
