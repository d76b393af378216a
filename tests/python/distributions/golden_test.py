"""Samples and their log probabilities under a seed: PyTorch 2.13's numbers, in float64."""

import unittest
import warnings

import cresset as torch
from cresset import distributions as D

#: Distribution -> two samples after `manual_seed(11)`, their log probabilities.
GOLDEN = {
    "D.Bernoulli(t([0.2, 0.7]))": ([1.0, 0.0, 0.0, 1.0], [-1.6094379, -1.2039728, -0.2231436, -0.3566749]),
    "D.Beta(t([0.5, 2.0]), t([1.5, 3.0]))": ([0.8250568, 0.3753912, 0.5815076, 0.3977155], [-1.2270782, 0.5638606, -0.6160654, 0.5488376]),
    "D.Binomial(7, t([0.2, 0.7]))": ([0.0, 3.0, 0.0, 5.0], [-1.5620049, -2.330568, -1.5620049, -1.1467979]),
    "D.Categorical(t([0.2, 0.3, 0.5]))": ([0, 2], [-1.6094379, -0.6931472]),
    "D.Cauchy(t([0.0, 1.0]), t([1.0, 2.0]))": ([-1.4484966, 6.3075849, 0.5979793, 2.1381124], [-2.2755326, -3.9226313, -1.4504331, -2.1184023]),
    "D.Chi2(t([1.5, 4.0]))": ([4.8347724, 1.3823926, 2.7659476, 4.745448], [-3.534486, -1.7536749, -2.3604609, -2.2018325]),
    "D.ContinuousBernoulli(t([0.2, 0.7]))": ([0.1123696, 0.9199878, 0.5053006, 0.7489516], [0.458539, 0.3261186, -0.086179, 0.1812]),
    "D.Dirichlet(t([0.5, 2.0, 3.0]))": ([0.3185145, 0.1186294, 0.5628561, 0.0087646, 0.6647835, 0.3264518], [-0.0168682, 2.4135779]),
    "D.Exponential(t([0.5, 2.0]))": ([0.4272127, 1.0826844, 2.2267261, 0.5463342], [-0.9067535, -1.4722216, -1.8065102, -0.3995213]),
    "D.FisherSnedecor(t([3.0, 5.0]), t([6.0, 9.0]))": ([1.2434281, 4.6593459, 0.6041966, 1.3795696], [-1.2250895, -4.264512, -0.5981736, -1.1286918]),
    "D.Gamma(t([0.5, 2.0]), t([1.5, 3.0]))": ([1.2372205, 0.2303988, 0.692278, 0.790908], [-2.3318968, 0.0380846, -1.2241655, -0.410073]),
    "D.GeneralizedPareto(t([0.0, 1.0]), t([1.0, 2.0]), t([0.2, -0.3]))": (
        [0.2182348, 4.1850061, 1.2470573, 2.8632885],
        [-0.2563276, -2.2089053, -1.3360357, -1.4580151],
    ),
    "D.Geometric(t([0.2, 0.7]))": ([7.0, 0.0, 1.0, 0.0], [-3.1714428, -0.3566749, -1.8325815, -0.3566749]),
    "D.Gumbel(t([0.0, 1.0]), t([1.0, 2.0]))": ([-0.4998799, 5.210137, 0.9208749, 2.79077], [-1.1486434, -2.920053, -1.3190454, -1.9969825]),
    "D.HalfCauchy(t([0.5, 2.0]))": ([0.7242483, 5.3075849, 0.2989897, 1.1381124], [-0.8892383, -3.2294841, -0.0641387, -1.4252551]),
    "D.HalfNormal(t([0.5, 2.0]))": ([0.3688147, 3.8918583, 0.3497708, 2.6045948], [0.1953072, -2.8122587, 0.2226766, -1.7669278]),
    "D.InverseGamma(t([2.5, 3.0]), t([1.5, 3.0]))": ([0.4355537, 0.4124454, 1.0029583, 1.3332345], [0.1940678, -1.1283949, -0.7769345, -0.7979089]),
    "D.Kumaraswamy(t([0.5, 2.0]), t([1.5, 3.0]))": ([0.4446236, 0.1994964, 0.0543528, 0.356775], [-0.4319262, 0.0985754, 1.0357238, 0.4888092]),
    "D.LKJCholesky(3, t(1.5))": (
        [
            1.0,
            0.0,
            0.0,
            -0.551742,
            0.8340148,
            0.0,
            -0.5066523,
            0.7435705,
            0.4363558,
            1.0,
            0.0,
            0.0,
            -0.3239612,
            0.9460704,
            0.0,
            -0.0973557,
            0.0627034,
            0.9932725,
        ],
        [-2.2192524, -1.1445738],
    ),
    "D.Laplace(t([0.0, 1.0]), t([1.0, 2.0]))": ([-0.9553761, 3.9444431, 0.4202159, 1.7990426], [-1.6485232, -2.8585159, -1.1133631, -1.7858156]),
    "D.LogNormal(t([0.0, 1.0]), t([1.0, 0.5]))": ([2.0909729, 7.191966, 0.496813, 1.4174384], [-1.9286166, -4.0920761, -0.4640762, -1.4226319]),
    "D.LogisticNormal(t([0.0, 1.0]), t([1.0, 0.5]))": ([0.5111187, 0.4292031, 0.0596781, 0.1989789, 0.4696699, 0.3313512], [1.0256693, 1.2374599]),
    "D.LowRankMultivariateNormal(t([0.0, 1.0]), t([[1.0], [0.5]]), t([1.0, 0.5]))": (
        [0.0380878, 0.4479514, 1.432667, 1.7823148],
        [-2.2021007, -2.6065037],
    ),
    "D.MixtureSameFamily(D.Categorical(t([0.2, 0.8])), D.Normal(t([0.0, 1.0]), t([1.0, 2.0])))": ([-0.6995416, 0.4607609], [-1.7505037, -1.488842]),
    "D.Multinomial(5, t([0.2, 0.3, 0.5]))": ([2.0, 0.0, 3.0, 2.0, 1.0, 2.0], [-2.9957323, -2.4079456]),
    "D.MultivariateNormal(t([0.0, 1.0]), t([[2.0, 0.5], [0.5, 1.0]]))": ([1.0431656, 3.0810414, -0.9893012, -0.465513], [-4.2830537, -3.2103534]),
    "D.NegativeBinomial(t([2.0, 3.5]), t([0.2, 0.7]))": ([1.0, 22.0, 0.0, 2.0], [-1.3625778, -5.3437409, -0.4462871, -2.8635615]),
    "D.Normal(t([0.0, 1.0]), t([1.0, 2.0]))": ([0.7376295, 4.8918583, -0.6995416, -1.6045948], [-1.1909871, -3.5054058, -1.1636178, -2.4600749]),
    "D.OneHotCategorical(t([0.2, 0.3, 0.5]))": ([1.0, 0.0, 0.0, 0.0, 0.0, 1.0], [-1.6094379, -0.6931472]),
    "D.OneHotCategoricalStraightThrough(t([0.2, 0.3, 0.5]))": ([1.0, 0.0, 0.0, 0.0, 0.0, 1.0], [-1.6094379, -0.6931472]),
    "D.Pareto(t([0.5, 2.0]), t([3.5, 3.0]))": ([0.5314656, 4.1162261, 0.6872594, 2.8787898], [1.6712734, -2.4816932, 0.5144434, -1.0514262]),
    "D.Poisson(t([0.5, 12.0]))": ([0.0, 17.0, 1.0, 8.0], [-0.5, -3.2616604, -1.1931472, -2.7253497]),
    "D.RelaxedBernoulli(t(0.7), t([0.2, 0.7]))": ([0.0174587, 0.9841679, 0.2771352, 0.8991558], [1.8467232, 1.5177927, -0.2604256, 0.5426841]),
    "D.RelaxedOneHotCategorical(t(0.7), t([0.2, 0.3, 0.5]))": (
        [0.0097159, 0.7164833, 0.2738008, 0.386191, 0.4506272, 0.1631819],
        [1.3943296, -0.4433146],
    ),
    "D.StudentT(t([3.0, 5.0]), t([0.0, 1.0]))": ([1.0833004, 3.2974285, -0.6525279, -1.0177873], [-1.6611934, -3.1303748, -1.26633, -2.7557074]),
    "D.Uniform(t([0.0, 1.0]), t([1.0, 3.0]))": ([0.1923337, 2.7705847, 0.6715475, 2.329359], [0.0, -0.6931472, 0.0, -0.6931472]),
    "D.VonMises(t([0.0, 1.0]), t([1.0, 2.0]))": ([0.3005656, -1.1838622, 1.4166837, 2.0857687], [-1.1186222, -3.812626, -1.9202881, -1.7294051]),
    "D.Weibull(t([0.5, 2.0]), t([3.5, 3.0]))": ([0.3216853, 2.5874618, 0.5155785, 2.0599632], [0.6297177, -1.2448432, 0.9092508, -0.6281215]),
    "D.Wishart(t(4.0), t([[2.0, 0.5], [0.5, 1.0]]))": (
        [17.81174, 7.9778693, 7.9778693, 5.0777364, 7.5544071, 0.6312325, 0.6312325, 2.3209187],
        [-8.4105005, -6.227139],
    ),
}


def t(values):
    return torch.tensor(values, dtype=torch.float64)


class Golden(unittest.TestCase):
    def test_samples_and_log_probabilities(self):
        torch.set_default_dtype(torch.float64)
        self.addCleanup(torch.set_default_dtype, torch.float32)
        self.assertEqual(len(GOLDEN), 39)
        for text, (samples, log_probs) in GOLDEN.items():
            with self.subTest(text):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    distribution = eval(text, {"D": D, "t": t})
                torch.manual_seed(11)
                drawn = distribution.sample((2,))
                self.assertFalse(drawn.requires_grad)
                for got, expected in ((drawn, samples), (distribution.log_prob(drawn), log_probs)):
                    self.assertEqual(got.numel(), len(expected))
                    for a, b in zip(got.flatten().tolist(), expected, strict=True):
                        self.assertAlmostEqual(a, b, 6)


class Gradients(unittest.TestCase):
    def test_rsample_follows_its_parameters(self):
        # The derivative of a sample is a difference quotient of samples under one seed.
        makers = {
            "Normal": (D.Normal, [0.3, 1.2]), "Uniform": (D.Uniform, [0.3, 1.2]), "Laplace": (D.Laplace, [0.3, 1.2]), "Cauchy": (D.Cauchy, [0.3, 1.2]),
            "Exponential": (D.Exponential, [1.2]), "Gumbel": (D.Gumbel, [0.3, 1.2]), "LogNormal": (D.LogNormal, [0.3, 0.5]), "Pareto": (D.Pareto, [0.3, 3.0]),
            "Weibull": (D.Weibull, [1.3, 2.0]), "Kumaraswamy": (D.Kumaraswamy, [1.3, 2.0]), "HalfNormal": (D.HalfNormal, [1.3]),
            "ContinuousBernoulli": (D.ContinuousBernoulli, [0.3]), "GeneralizedPareto": (D.GeneralizedPareto, [0.3, 1.1, 0.2]),
            "RelaxedBernoulli": (D.RelaxedBernoulli, [0.7, 0.4]), "Gamma": (D.Gamma, [2.3, 1.2]), "StudentT": (D.StudentT, [5.0, 0.2, 1.3]),
            "InverseGamma": (D.InverseGamma, [3.5, 1.2]),
        }  # fmt: skip
        loose = {"Gamma", "StudentT", "InverseGamma"}  # rejection: another try at a nearby parameter is unlikely, and the derivative is implicit
        checked = 0
        for name, (distribution, values) in makers.items():
            parameters = [t(v).requires_grad_() for v in values]

            def draw(*given, distribution=distribution):
                torch.manual_seed(5)
                return distribution(*given).rsample((3,)).sum()

            grads = torch.autograd.grad(draw(*parameters), parameters)
            if name not in loose:
                for i, grad in enumerate(grads):
                    high, low = ([t(v + (step if i == j else 0)) for j, v in enumerate(values)] for step in (1e-6, -1e-6))
                    quotient = (draw(*high) - draw(*low)) / 2e-6
                    self.assertLess(abs(float(grad - quotient)), 1e-5 * max(1, abs(float(quotient))), (name, i))
            checked += 1
        self.assertEqual(checked, len(makers))

    def test_implicit_derivatives_move_samples_along_quantiles(self):
        # dx/da = -(dF/da)/(dF/dx) where F is the distribution function.
        a = t([0.7, 2.3, 15.0]).requires_grad_()
        torch.manual_seed(2)
        x = D.Gamma(a, t(1.0)).rsample()
        (slope,) = torch.autograd.grad(x.sum(), a)
        step = 1e-5
        with torch.no_grad():
            df = (torch.special.gammainc(a + step, x) - torch.special.gammainc(a - step, x)) / (2 * step)
            expected = -df / D.Gamma(a, t(1.0)).log_prob(x).exp()
        self.assertTrue(torch.allclose(slope, expected, rtol=1e-3))

    def test_log_prob_has_gradients(self):
        scale = t([0.5, 2.0]).requires_grad_()
        D.Normal(t([0.0, 0.0]), scale).log_prob(t([1.0, 1.0])).sum().backward()
        self.assertTrue(torch.allclose(scale.grad, t([1 / 0.125 - 2, 1 / 8 - 0.5])))

    def test_straight_through(self):
        p = t([0.2, 0.8]).requires_grad_()
        torch.manual_seed(0)
        drawn = D.OneHotCategoricalStraightThrough(p).rsample()
        self.assertEqual(sorted(drawn.tolist()), [0, 1])
        (grad,) = torch.autograd.grad(drawn[0], p)
        self.assertTrue(torch.allclose(grad, t([0.8, -0.2])))


if __name__ == "__main__":
    unittest.main()
