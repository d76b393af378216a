"""Texts of distributions, constraints and transforms, errors among them: as tests/distributions/texts.h."""

import warnings

import cresset as torch
from cresset import distributions as D
from cresset.distributions import constraints as C

from . import every_distribution

nan, inf = torch.nan, torch.inf


def hexadecimal(x):
    """As C's %a has it: without zeros at the end."""
    mantissa, p, exponent = x.hex().partition("p")
    return mantissa.rstrip("0").rstrip(".") + p + exponent if p and "." in mantissa else x.hex()


def numbers_text(t):
    sizes = "".join(f" {n}" for n in t.shape)
    return str(t.dtype).removeprefix("torch.") + sizes + ":" + "".join(" " + hexadecimal(x) for x in t.detach().double().flatten().tolist())


def t(numbers, shape=None):
    value = torch.tensor(numbers, dtype=torch.float32)
    return value if shape is None else value.reshape(shape)


def text_of(function):
    """The text of what `function` gives, or of its error."""
    try:
        return function()
    except NotImplementedError:
        return "not implemented"
    except (ValueError, RuntimeError, IndexError, AssertionError, TypeError) as error:
        return str(error)


def mistakes():
    n, z, o, eye2 = torch.tensor, torch.zeros, torch.ones, torch.eye(2)
    bad = t([[1, 2], [2, 1]])
    T = D
    all_mistakes = {
        "Normal scale": lambda: D.Normal(t([0, 0]), t([1, -1])),
        "Normal numbers": lambda: D.Normal(0.0, -1.0),
        "Normal small number": lambda: D.Normal(0.0, -0.1),
        "Normal nan": lambda: D.Normal(t([nan, 0.5]), 1.0),
        "Normal double": lambda: D.Normal(n([0.0, 0.0]).double(), n([1, -1.25]).double()),
        "Normal matrix": lambda: D.Normal(0.0, t([[1, -1, 2], [-2.5, 1e-5, 3]])),
        "Normal wide numbers": lambda: D.Normal(0.0, t([1, -1e9, 2.5])),
        "Normal three dims": lambda: D.Normal(0.0, t([1, -1, 2, -2, 1, 3, 7, 8], (2, 2, 2))),
        "Normal long": lambda: D.Normal(0.0, z(1001) - 0.5),
        "Normal line": lambda: D.Normal(0.0, torch.arange(30).float()),
        "Normal leaf": lambda: D.Normal(0.0, t([1, -1]).requires_grad_()),
        "Normal recorded": lambda: D.Normal(0.0, t([1, -1]).requires_grad_() * 2),
        "Normal inf": lambda: D.Normal(0.0, t([inf, -inf, 0.25])),
        "Bernoulli probs": lambda: D.Bernoulli(1.5),
        "Bernoulli both": lambda: D.Bernoulli(0.5, 0.5),
        "Bernoulli none": lambda: D.Bernoulli(),
        "Bernoulli logits": lambda: D.Bernoulli(logits=t([nan])),
        "ContinuousBernoulli probs": lambda: D.ContinuousBernoulli(t([0.5, 2]), validate_args=True),
        "Categorical number": lambda: D.Categorical(n(0.5)),
        "Categorical logits number": lambda: D.Categorical(logits=n(0.5)),
        "Categorical negative": lambda: D.Categorical(t([-0.5, 1.5])),
        "Categorical none": lambda: D.Categorical(),
        "Multinomial probs": lambda: D.Multinomial(3, t([-0.5, 1.5])),
        "OneHotCategorical probs": lambda: D.OneHotCategorical(t([-0.5, 1.5])),
        "Uniform": lambda: D.Uniform(t([0, 2]), t([1, 1])),
        "Uniform numbers": lambda: D.Uniform(1.0, 0.0),
        "Dirichlet": lambda: D.Dirichlet(t([1, 0])),
        "Dirichlet number": lambda: D.Dirichlet(n(1.0)),
        "Beta": lambda: D.Beta(t([1, 2]), t([1, 0])),
        "Gamma": lambda: D.Gamma(t([1, 0]), 1.0),
        "Chi2": lambda: D.Chi2(t([1, -2])),
        "Exponential": lambda: D.Exponential(0.0),
        "FisherSnedecor": lambda: D.FisherSnedecor(t([1, 0]), 1.0),
        "StudentT": lambda: D.StudentT(t([1, 2]), 0.0, t([1, -1])),
        "Poisson": lambda: D.Poisson(t([1, -1])),
        "Binomial": lambda: D.Binomial(-1, t([0.5, 0.25])),
        "Binomial fraction": lambda: D.Binomial(t([1.5, 2]), t([0.5, 0.25])),
        "NegativeBinomial": lambda: D.NegativeBinomial(3, t([0.5, 1.0])),
        "Geometric": lambda: D.Geometric(t([0.5, 0.0])),
        "Geometric number": lambda: D.Geometric(1.5),
        "Gumbel": lambda: D.Gumbel(0.0, 0.0),
        "HalfNormal": lambda: D.HalfNormal(t([1, -1])),
        "HalfCauchy": lambda: D.HalfCauchy(-1.0),
        "LogNormal": lambda: D.LogNormal(0.0, -1.0),
        "InverseGamma": lambda: D.InverseGamma(1.0, -1.0),
        "Kumaraswamy": lambda: D.Kumaraswamy(1.0, -1.0),
        "Pareto": lambda: D.Pareto(1.0, -1.0),
        "Pareto scale": lambda: D.Pareto(t([1.0, -1.0]), 2.0),
        "Weibull": lambda: D.Weibull(1.0, t([1.0, -1.0])),
        "VonMises": lambda: D.VonMises(1.0, t([1.0, -1.0])),
        "GeneralizedPareto": lambda: D.GeneralizedPareto(1.0, t([1.0, -1.0]), 0.5),
        "RelaxedBernoulli": lambda: D.RelaxedBernoulli(n(1.0), t([0.5, 1.5])),
        "RelaxedOneHotCategorical": lambda: D.RelaxedOneHotCategorical(n(1.0), t([-0.5, 1.5])),
        "MultivariateNormal number": lambda: D.MultivariateNormal(n(0.0), eye2),
        "MultivariateNormal none": lambda: D.MultivariateNormal(z(2)),
        "MultivariateNormal two": lambda: D.MultivariateNormal(z(2), eye2, scale_tril=eye2),
        "MultivariateNormal vector": lambda: D.MultivariateNormal(z(2), scale_tril=o(2)),
        "MultivariateNormal covariance vector": lambda: D.MultivariateNormal(z(2), o(2)),
        "MultivariateNormal indefinite": lambda: D.MultivariateNormal(z(2), bad),
        "MultivariateNormal precision": lambda: D.MultivariateNormal(z(2), precision_matrix=bad),
        "MultivariateNormal tril": lambda: D.MultivariateNormal(z(2), scale_tril=bad),
        "LowRank number": lambda: D.LowRankMultivariateNormal(n(0.0), o(2, 1), o(2)),
        "LowRank vector": lambda: D.LowRankMultivariateNormal(z(2), o(2), o(2)),
        "LowRank rows": lambda: D.LowRankMultivariateNormal(z(2), o(3, 1), o(2)),
        "LowRank diag": lambda: D.LowRankMultivariateNormal(z(2), o(2, 1), o(3)),
        "LowRank batch": lambda: D.LowRankMultivariateNormal(z(3, 2), o(2, 2, 1), o(2)),
        "LowRank negative": lambda: D.LowRankMultivariateNormal(z(2), o(2, 1), t([1, -1])),
        "Wishart none": lambda: D.Wishart(3.0),
        "Wishart vector": lambda: D.Wishart(3.0, o(2)),
        "Wishart df": lambda: D.Wishart(1.0, eye2),
        "Wishart df vector": lambda: D.Wishart(t([3, 1]), eye2),
        "Wishart indefinite": lambda: D.Wishart(3.0, bad),
        "LKJCholesky dim": lambda: D.LKJCholesky(1),
        "LKJCholesky": lambda: D.LKJCholesky(2, -1.0),
        "Independent": lambda: D.Independent(D.Normal(0.0, 1.0), 1),
        "Mixture": lambda: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(z(2), 1.0)),
        "Mixture batch": lambda: D.MixtureSameFamily(D.Categorical(o(3, 2)), D.Normal(z(2, 2), 1.0)),
        "Mixture count": lambda: D.MixtureSameFamily(D.Categorical(o(3)), D.Normal(z(2), 1.0)),
        "Transformed": lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform()),
        "value Bernoulli": lambda: D.Bernoulli(t([0.5, 0.25])).log_prob(t([0.5, 1])),
        "value Categorical": lambda: D.Categorical(o(3)).log_prob(torch.arange(4)),
        "value Uniform": lambda: D.Uniform(0.0, t([1, 2])).log_prob(n(1.5)),
        "value Uniform cdf": lambda: D.Uniform(0.0, 1.0).cdf(t([1.5])),
        "value Dirichlet": lambda: D.Dirichlet(o(3)).log_prob(o(3)),
        "value Multinomial": lambda: D.Multinomial(3, o(2)).log_prob(t([2, 2])),
        "value OneHot": lambda: D.OneHotCategorical(o(2)).log_prob(t([1, 1])),
        "value Normal": lambda: D.Normal(0.0, 1.0).log_prob(n(nan)),
        "value LogNormal": lambda: D.LogNormal(0.0, 1.0).log_prob(n(-1.0)),
        "value Poisson": lambda: D.Poisson(t([1, 2])).log_prob(n(1.5)),
        "value Pareto": lambda: D.Pareto(t([1, 2]), 1.0).log_prob(t([1.5, 1.5])),
        "value size": lambda: D.MultivariateNormal(z(2), eye2).log_prob(z(3)),
        "value number": lambda: D.MultivariateNormal(z(2), eye2).log_prob(n(0.0)),
        "value batch": lambda: D.Normal(z(2), 1.0).log_prob(z(3)),
        "value LKJ": lambda: D.LKJCholesky(2).log_prob(bad),
        "value Wishart": lambda: D.Wishart(3.0, eye2).log_prob(bad),
        "value Mixture": lambda: D.MixtureSameFamily(D.Categorical(o(2)), D.Exponential(o(2))).log_prob(t([-1])),
        "value Independent": lambda: D.Independent(D.Exponential(o(2)), 1).log_prob(t([1, -1])),
        "value Exponential cdf": lambda: D.Exponential(1.0).cdf(n(-1.0)),
        "value HalfNormal": lambda: D.HalfNormal(1.0).log_prob(n(-1.0)),
        "KL": lambda: D.kl_divergence(D.Normal(0.0, 1.0), D.Bernoulli(0.5)),
        "KL sizes": lambda: D.kl_divergence(D.MultivariateNormal(z(2), eye2), D.MultivariateNormal(z(3), torch.eye(3))),
        "KL counts": lambda: D.kl_divergence(D.Binomial(2, t([0.5])), D.Binomial(3, t([0.5]))),
        "enumerate": lambda: D.Independent(D.Bernoulli(t([0.5])), 1).enumerate_support(),
        "count": lambda: D.Binomial(t([1, 2]), t([0.5, 0.5])).enumerate_support(),
        "dependent": lambda: C.dependent.check(t([1])),
        "dependent dim": lambda: C.dependent.event_dim,
        "independent dims": lambda: C.independent(C.real, 2).check(t([1])),
        "independent negative": lambda: C.independent(C.real, -1),
        "cat lengths": lambda: C.cat([C.real], 0, [1, 2]),
        "cat dim": lambda: C.cat([C.real], 3).check(t([1])),
        "biject_to": lambda: T.biject_to(C.boolean),
        "transform_to": lambda: T.transform_to(C.MixtureSameFamilyConstraint(C.real)),
        "cache size": lambda: T.ExpTransform(2),
        "reshape": lambda: T.ReshapeTransform((2,), (3,)),
        "reshape shape": lambda: T.ReshapeTransform((2, 3), (6,)).forward_shape(torch.Size([4, 2, 2])),
        "reshape dims": lambda: T.ReshapeTransform((2, 3), (6,)).forward_shape(torch.Size([3])),
        "reshape event_dim": lambda: T.ReshapeTransform((2, 3), (6,)).event_dim,
        "stick dims": lambda: T.StickBreakingTransform().forward_shape(torch.Size([])),
        "corr count": lambda: T.CorrCholeskyTransform().forward_shape(torch.Size([4])),
        "corr square": lambda: T.CorrCholeskyTransform().inverse_shape(torch.Size([2, 3])),
        "corr vector": lambda: T.CorrCholeskyTransform()(t([1, 2])),
        "independent transform": lambda: T.IndependentTransform(T.ExpTransform(), 1)(n(1.0)),
        "cat transform lengths": lambda: T.CatTransform([T.ExpTransform()], 0, [1, 2]),
        "cat transform size": lambda: T.CatTransform([T.ExpTransform(), T.ExpTransform()], 0)(t([1, 2, 3])),
        "stack transform dim": lambda: T.StackTransform([T.ExpTransform()], 2)(t([1])),
        "tril": lambda: D.utils.tril_matrix_to_vec(eye2, 2),
    }
    found = {}
    for name, function in all_mistakes.items():
        try:
            function()
            found[f"mistake {name}"] = "no error"
        except Exception as error:
            found[f"mistake {name}"] = str(error)
    return found


def selves():
    found = {}
    for name, make in every_distribution.distributions(torch).items():
        distribution, _ = every_distribution.made(torch, make, torch.float32)
        found[f"distribution {name}"] = repr(distribution)
        found[f"support {name}"] = text_of(lambda distribution=distribution: repr(distribution.support))
        found[f"arguments {name}"] = "".join(f"{argument}: {constraint!r} " for argument, constraint in distribution.arg_constraints.items())
        text_of(lambda distribution=distribution: str(distribution.entropy()))
        text_of(lambda distribution=distribution: str(distribution.mean))
        found[f"distribution used {name}"] = repr(distribution)
        found[f"able {name}"] = f"{int(distribution.has_rsample)}{int(distribution.has_enumerate_support)}"
        found[f"expanded {name}"] = repr(distribution.expand((2,) * (1 + len(distribution.batch_shape))))
    return found


def regions():
    return {
        "boolean": C.boolean, "one_hot": C.one_hot, "integer_interval": C.integer_interval(-1, 2),
        "integer_interval tensor": C.integer_interval(0, t([1, 2, 3, 0.5])), "nonnegative_integer": C.nonnegative_integer,
        "positive_integer": C.positive_integer, "real": C.real, "real_vector": C.real_vector, "positive": C.positive,
        "nonnegative": C.nonnegative, "greater_than": C.greater_than(0.1), "greater_than tensor": C.greater_than(t([0, 1, 2, 0.5])),
        "greater_than_eq": C.greater_than_eq(1), "less_than": C.less_than(1e20), "less_than tensor": C.less_than(torch.tensor(0.5)),
        "unit_interval": C.unit_interval, "interval": C.interval(-2.5, 1e-7), "half_open_interval": C.half_open_interval(0.0, 1.0),
        "half_open wide": C.half_open_interval(t([0, 0, 1, 1]), 2.0), "simplex": C.simplex, "multinomial": C.multinomial(3),
        "lower_triangular": C.lower_triangular, "lower_cholesky": C.lower_cholesky, "corr_cholesky": C.corr_cholesky,
        "square": C.square, "symmetric": C.symmetric, "positive_semidefinite": C.positive_semidefinite,
        "positive_definite": C.positive_definite, "independent": C.independent(C.positive, 2),
        "mixture": C.MixtureSameFamilyConstraint(C.positive), "mixture of vectors": C.MixtureSameFamilyConstraint(C.simplex),
        "cat": C.cat([C.positive, C.real], -1, [1, 3]), "cat first": C.cat([C.positive, C.real], 0),
        "stack": C.stack([C.positive, C.real, C.boolean, C.real], -1),
    }  # fmt: skip


def values():
    return {
        "vector": t([0, 1, 2, 0.5]), "shares": t([0.25, 0.25, 0.5, 0]), "negative": t([-1, -2.5, nan, 0]), "matrix": t([[1, 0.5], [0.5, 2]]),
        "lower": t([[1, 0], [0.6, 0.8]]), "indefinite": t([[1, 2], [2, 1]]), "stacked": t([1, 0, 0.6, 0.8, 1, 0, 0, 1], (2, 2, 2)),
        "wide": t([1, 0, 0, 0, 1, 0, 0, 2], (2, 4)),
    }  # fmt: skip


def checks():
    found = {}
    for name, region in regions().items():
        found[f"region {name}"] = f"{region!r}{int(region.is_discrete)}{region.event_dim}"
        for of, value in values().items():
            found[f"check {name} {of}"] = text_of(lambda region=region, value=value: numbers_text(region.check(value)))
        found[f"biject_to {name}"] = text_of(lambda region=region: repr(D.biject_to(region)))
        found[f"transform_to {name}"] = text_of(lambda region=region: repr(D.transform_to(region)))
    return found


def transforms():
    v, p = t([0.5, -1.25, 2, 0.125, -0.75, 0.25]), t([0.5, 1.25, 2, 0.125, 0.75, 0.25])
    m, s = v.reshape(2, 3), t([[0.5, -1.25], [2, 0.125]])
    exp, two = D.ExpTransform(), D.AffineTransform(0.5, 2.0)
    compose, independent = D.ComposeTransform([two, exp]), D.IndependentTransform(exp, 1)
    return [
        ("exp", exp, v),
        ("exp inverse", exp.inv, p),
        ("power", D.PowerTransform(2.0), p),
        ("power tensor", D.PowerTransform(t([1, -2, 3])), p.reshape(2, 3)),
        ("sigmoid", D.SigmoidTransform(), v),
        ("softplus", D.SoftplusTransform(), v * 20),
        ("tanh", D.TanhTransform(), v),
        ("abs", D.AbsTransform(), v),
        ("affine", two, v),
        ("affine integers", D.AffineTransform(1, -3), v),
        ("affine event", D.AffineTransform(t([1, 2, 3]), t([-1, 2, 3]), 1), m),
        ("affine number event", D.AffineTransform(0.5, 2.0, 1), m),
        ("softmax", D.SoftmaxTransform(), m),
        ("stick", D.StickBreakingTransform(), m),
        ("corr", D.CorrCholeskyTransform(), v),
        ("corr batch", D.CorrCholeskyTransform(), m),
        ("lower cholesky", D.LowerCholeskyTransform(), s),
        ("positive definite", D.PositiveDefiniteTransform(), s),
        ("cumulative", D.CumulativeDistributionTransform(D.Normal(0.5, 2.0)), v),
        ("reshape", D.ReshapeTransform((2, 3), (6,)), m),
        ("compose", D.ComposeTransform([two, exp, D.StickBreakingTransform()]), m),
        ("compose inverse", compose.inv, p),
        ("compose nothing", D.identity_transform, v),
        ("independent", independent, m),
        ("independent inverse", independent.inv, p.reshape(2, 3)),
        ("cat", D.CatTransform([exp, two, D.SigmoidTransform()], 0, [1, 3, 2]), v),
        ("cat ones", D.CatTransform([exp, two], 0), m),
        ("cat columns", D.CatTransform([exp, D.StickBreakingTransform()], -1, [3, 3]), v.reshape(1, 6)),
        ("stack", D.StackTransform([exp, two, D.SigmoidTransform()], 1), m),
    ]


def shape_text(shape):
    return "".join(f"{n} " for n in shape)


def transformed():
    found = {}
    for name, f, x in transforms():
        y = f(x)
        sign = text_of(lambda f=f: f.sign)
        inverse = f.inv
        found[f"transform {name}"] = repr(f)
        found[f"forward {name}"] = numbers_text(y)
        found[f"back {name}"] = text_of(lambda inverse=inverse, y=y: numbers_text(inverse(y)))
        found[f"jacobian {name}"] = text_of(lambda f=f, x=x, y=y: numbers_text(f.log_abs_det_jacobian(x, y)))
        found[f"inverse jacobian {name}"] = text_of(lambda inverse=inverse, x=x, y=y: numbers_text(inverse.log_abs_det_jacobian(y, x)))
        found[f"sides {name}"] = text_of(lambda f=f: f"{f.domain!r}{f.codomain!r}{int(f.bijective)}")
        found[f"event {name}"] = text_of(lambda f=f: str(f.event_dim))
        found[f"sign {name}"] = numbers_text(sign) if isinstance(sign, torch.Tensor) else str(sign)
        found[f"shapes {name}"] = text_of(lambda f=f, x=x, y=y: shape_text(f.forward_shape(x.shape)) + shape_text(f.inverse_shape(y.shape)))
        found[f"inverse {name}"] = repr(inverse)
        for other, g, _ in transforms():
            found[f"equal {name}, {other}"] = str(int(f == g))
    return found


def texts():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {**mistakes(), **selves(), **checks(), **transformed()}
