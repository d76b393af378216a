"""One distribution of each kind, and what all their methods give: as tests/distributions/every_distribution.h, over any module with `torch`'s names."""


def distributions(torch):
    D = torch.distributions
    RB, RC = D.relaxed_bernoulli, D.relaxed_categorical
    return {
        "Bernoulli": lambda t: D.Bernoulli(t([0.2, 0.7])),
        "BernoulliLogits": lambda t: D.Bernoulli(logits=t([-1.5, 0.25])),
        "Beta": lambda t: D.Beta(t([0.5, 2.0]), t([1.5, 3.0])),
        "Binomial": lambda t: D.Binomial(7, t([0.2, 0.7])),
        "BinomialLogits": lambda t: D.Binomial(4, logits=t([-1.5, 0.25])),
        "Categorical": lambda t: D.Categorical(t([0.2, 0.3, 0.5, 1.0, 2.0, 1.5], (2, 3))),
        "CategoricalLogits": lambda t: D.Categorical(logits=t([0.2, -0.3, 1.5])),
        "Cauchy": lambda t: D.Cauchy(t([0.0, 1.0]), t([1.0, 2.0])),
        "Chi2": lambda t: D.Chi2(t([1.5, 4.0])),
        "ContinuousBernoulli": lambda t: D.ContinuousBernoulli(t([0.2, 0.5])),
        "ContinuousBernoulliLogits": lambda t: D.ContinuousBernoulli(logits=t([-1.5, 0.25])),
        "Dirichlet": lambda t: D.Dirichlet(t([0.5, 2.0, 3.0])),
        "DirichletCorner": lambda t: D.Dirichlet(t([0.5, 0.25, 0.75, 2.0, 1.5, 4.0], (2, 3))),
        "Exponential": lambda t: D.Exponential(t([0.5, 2.0])),
        "FisherSnedecor": lambda t: D.FisherSnedecor(t([3.0, 5.0]), t([6.0, 9.0])),
        "Gamma": lambda t: D.Gamma(t([0.5, 2.0]), t([1.5, 3.0])),
        "GeneralizedPareto": lambda t: D.GeneralizedPareto(t([0.0, 1.0]), t([1.0, 2.0]), t([0.2, -0.3])),
        "GeneralizedParetoFlat": lambda t: D.GeneralizedPareto(t([0.0, 1.0]), t([1.0, 2.0]), t([0.0, 0.7])),
        "Geometric": lambda t: D.Geometric(t([0.2, 0.7])),
        "GeometricLogits": lambda t: D.Geometric(logits=t([-1.5, 0.25])),
        "Gumbel": lambda t: D.Gumbel(t([0.0, 1.0]), t([1.0, 2.0])),
        "HalfCauchy": lambda t: D.HalfCauchy(t([0.5, 2.0])),
        "HalfNormal": lambda t: D.HalfNormal(t([0.5, 2.0])),
        "Independent": lambda t: D.Independent(D.Normal(t([0.0, 1.0]), t([1.0, 2.0])), 1),
        "IndependentBernoulli": lambda t: D.Independent(D.Bernoulli(t([0.2, 0.7])), 0),
        "InverseGamma": lambda t: D.InverseGamma(t([2.5, 3.0]), t([1.5, 3.0])),
        "Kumaraswamy": lambda t: D.Kumaraswamy(t([0.5, 2.0]), t([1.5, 3.0])),
        "LKJCholesky": lambda t: D.LKJCholesky(3, t(1.5)),
        "LKJCholeskyBatch": lambda t: D.LKJCholesky(3, t([1.5, 0.75])),
        "Laplace": lambda t: D.Laplace(t([0.0, 1.0]), t([1.0, 2.0])),
        "LogNormal": lambda t: D.LogNormal(t([0.0, 1.0]), t([1.0, 0.5])),
        "LogisticNormal": lambda t: D.LogisticNormal(t([0.0, 1.0]), t([1.0, 0.5])),
        "LowRankMultivariateNormal": lambda t: D.LowRankMultivariateNormal(t([0.0, 1.0]), t([1.0, 0.5], (2, 1)), t([1.0, 0.5])),
        "MixtureSameFamily": lambda t: D.MixtureSameFamily(D.Categorical(t([0.2, 0.8])), D.Normal(t([0.0, 1.0]), t([1.0, 2.0]))),
        "MixtureOfVectors": lambda t: D.MixtureSameFamily(D.Categorical(t([0.2, 0.8])), D.Independent(D.Normal(t([0.0, 1.0, -1.0, 2.0], (2, 2)), 1.5), 1)),
        "Multinomial": lambda t: D.Multinomial(5, t([0.2, 0.3, 0.5])),
        "MultivariateNormal": lambda t: D.MultivariateNormal(t([0.0, 1.0]), t([2.0, 0.5, 0.5, 1.0], (2, 2))),
        "MultivariateNormalPrecision": lambda t: D.MultivariateNormal(t([0.0, 1.0, 2.0, 0.5], (2, 2)), precision_matrix=t([2.0, 0.5, 0.5, 1.0], (2, 2))),
        "MultivariateNormalTril": lambda t: D.MultivariateNormal(t([0.0, 1.0]), scale_tril=t([1.5, 0.0, 0.5, 1.0], (2, 2))),
        "NegativeBinomial": lambda t: D.NegativeBinomial(t([2.0, 3.5]), t([0.2, 0.7])),
        "NegativeBinomialLogits": lambda t: D.NegativeBinomial(t([2.0, 3.5]), logits=t([-1.5, 0.25])),
        "Normal": lambda t: D.Normal(t([0.0, 1.0]), t([1.0, 2.0])),
        "OneHotCategorical": lambda t: D.OneHotCategorical(t([0.2, 0.3, 0.5])),
        "OneHotCategoricalBatch": lambda t: D.OneHotCategorical(logits=t([0.2, 0.3, 0.5, 1.0, 2.0, 1.5], (2, 3))),
        "OneHotCategoricalStraightThrough": lambda t: D.OneHotCategoricalStraightThrough(t([0.2, 0.3, 0.5])),
        "Pareto": lambda t: D.Pareto(t([0.5, 2.0]), t([3.5, 3.0])),
        "Poisson": lambda t: D.Poisson(t([0.5, 12.0])),
        "RelaxedBernoulli": lambda t: D.RelaxedBernoulli(t(0.7), t([0.2, 0.7])),
        "LogitRelaxedBernoulli": lambda t: RB.LogitRelaxedBernoulli(t(0.7), logits=t([-1.5, 0.25])),
        "RelaxedOneHotCategorical": lambda t: D.RelaxedOneHotCategorical(t(0.7), t([0.2, 0.3, 0.5])),
        "ExpRelaxedCategorical": lambda t: RC.ExpRelaxedCategorical(t(0.7), logits=t([0.2, 0.3, 0.5])),
        "StudentT": lambda t: D.StudentT(t([3.0, 5.0]), t([0.0, 1.0]), t([1.0, 2.0])),
        "TransformedDistribution": lambda t: D.TransformedDistribution(
            D.Normal(t([0.0, 1.0]), t([1.0, 2.0])), [D.AffineTransform(0.5, -2.0), D.SigmoidTransform(), D.AffineTransform(1.0, 3.0)]
        ),
        "Uniform": lambda t: D.Uniform(t([0.0, 1.0]), t([1.0, 3.0])),
        "VonMises": lambda t: D.VonMises(t([0.0, 1.0]), t([1.0, 2.0])),
        "VonMisesWide": lambda t: D.VonMises(t([0.0, 1.0]), t([1e-7, 5.0])),
        "Weibull": lambda t: D.Weibull(t([0.5, 2.0]), t([3.5, 3.0])),
        "Wishart": lambda t: D.Wishart(t(3.5), t([2.0, 0.5, 0.5, 1.0], (2, 2))),
        "WishartTril": lambda t: D.Wishart(t([3.5, 2.5]), scale_tril=t([1.5, 0.0, 0.5, 1.0], (2, 2))),
    }


def made(torch, make, dtype):
    """The distribution and the leaves that it is made of."""
    leaves = []

    def leaf(numbers, shape=None):
        value = torch.tensor(numbers, dtype=torch.float64).to(dtype)
        leaves.append((value if shape is None else value.reshape(shape)).detach().requires_grad_())
        return leaves[-1]

    return make(leaf), leaves


def numbers_of(torch, make, dtype):
    """Results of a distribution's methods, by name; methods that it does not have are left out."""
    low = dtype in (torch.float16, torch.bfloat16)
    unable = (NotImplementedError, RuntimeError, ValueError) if low else NotImplementedError  # some ops lack a dtype
    found = {}
    try:
        distribution, leaves = made(torch, make, dtype)
    except unable:
        return found

    def add(name, function):
        torch.manual_seed(11)
        try:
            found[name] = function()
        except unable:
            pass

    def add_gradients(name):
        if name not in found or not found[name].requires_grad:
            return
        weights = torch.linspace(0.5, 1.5, found[name].numel(), dtype=dtype).reshape(found[name].shape)
        try:
            grads = torch.autograd.grad((found[name] * weights).sum(), leaves, retain_graph=True, allow_unused=True)
        except RuntimeError:  # PyTorch changes in place what the gradient of a Wishart sample needs
            if torch.__name__ == "torch" and "Wishart" in str(distribution):
                return
            raise
        found.update({f"{name}.grad{i}": g for i, g in enumerate(grads) if g is not None})

    add("sample", lambda: distribution.sample((3,)))
    if "sample" not in found:
        return found
    value = found["sample"]
    add("rsample", lambda: distribution.rsample((3,)))
    add_gradients("rsample")
    add("log_prob", lambda: distribution.log_prob(value))
    add_gradients("log_prob")
    add("cdf", lambda: distribution.cdf(value))
    dims = len(distribution.batch_shape) + len(distribution.event_shape)
    add("icdf", lambda: distribution.icdf(torch.linspace(0.1, 0.9, 3, dtype=dtype).reshape((3,) + (1,) * dims)))
    add("entropy", distribution.entropy)
    add_gradients("entropy")
    add("perplexity", distribution.perplexity)
    for name in ("mean", "mode", "variance", "stddev"):
        add(name, lambda name=name: getattr(distribution, name))
    add("enumerate", distribution.enumerate_support)
    add("enumerate_narrow", lambda: distribution.enumerate_support(False))
    expanded = distribution.expand((4, *distribution.batch_shape))
    add("expanded", lambda: expanded.sample((2,)))
    if "expanded" not in found:
        return found
    wide = found["expanded"]
    add("expanded_log_prob", lambda: expanded.log_prob(wide))
    return found


def divergences(torch, dtype):
    """KL(p || q) of all pairs of distributions that have a rule and fit each other."""
    low = dtype in (torch.float16, torch.bfloat16)
    sides = []
    for _ in range(2):
        sides.append({})
        for name, make in distributions(torch).items():
            try:
                sides[-1][name] = made(torch, make, dtype)[0]
            except (NotImplementedError, RuntimeError, ValueError):
                if not low:
                    raise
    found = {}
    for p, distribution_p in sides[0].items():
        for q, distribution_q in sides[1].items():
            try:
                found[f"{p} {q}"] = torch.distributions.kl_divergence(distribution_p, distribution_q)
            except (NotImplementedError, RuntimeError, ValueError):
                pass
    return found
