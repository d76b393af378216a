"""Kullback-Leibler divergences: the rules by pairs of classes, and the registry they stand in."""

import math
import warnings
from functools import total_ordering

import cresset as torch

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import _EULER, Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _batch_lowrank_logdet, _batch_lowrank_mahalanobis
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost

__all__ = ["register_kl", "kl_divergence"]

_KL_REGISTRY = {}  # (class of p, class of q) -> rule
_KL_MEMOIZE = {}  # the rule found for a pair of classes, until the next registration


def register_kl(type_p, type_q):
    """A decorator that makes a function the rule for divergences of laws of class `type_p` from laws of class `type_q` or their subclasses.

    The rule of the most derived classes is taken. Where that is not one rule, `kl_divergence` warns and goes by the first class: register the
    pair itself to choose. Raises TypeError for what is not a class of distributions.

    >>> class Mine(torch.distributions.Normal):
    ...     pass
    >>> @torch.distributions.register_kl(Mine, torch.distributions.Normal)
    ... def kl_of_mine(p, q):
    ...     return torch.tensor(42.0)
    >>> torch.distributions.kl_divergence(Mine(0.0, 1.0), torch.distributions.Normal(0.0, 1.0))
    tensor(42.)
    """
    if not isinstance(type_p, type) and issubclass(type_p, Distribution):
        raise TypeError(f"Expected type_p to be a Distribution subclass but got {type_p}")
    if not isinstance(type_q, type) and issubclass(type_q, Distribution):
        raise TypeError(f"Expected type_q to be a Distribution subclass but got {type_q}")

    def decorator(fun):
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun

    return decorator


@total_ordering
class _Match:
    """Classes, ordered by how derived they are: the first differing one decides."""

    def __init__(self, *types):
        self.types = types

    def __eq__(self, other):
        return self.types == other.types

    def __le__(self, other):
        for mine, theirs in zip(self.types, other.types, strict=True):
            if not issubclass(mine, theirs):
                return False
            if mine is not theirs:
                break
        return True


def _dispatch_kl(type_p, type_q):
    """The most derived rule, or NotImplemented."""
    matches = [(a, b) for a, b in _KL_REGISTRY if issubclass(type_p, a) and issubclass(type_q, b)]
    if not matches:
        return NotImplemented
    left = min(_Match(*m) for m in matches).types  # by the first class, then the second
    right = min(_Match(*reversed(m)) for m in matches).types
    rule, other = _KL_REGISTRY[left], _KL_REGISTRY[right[::-1]]
    if rule is not other:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl({left[0].__name__}, {right[0].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return rule


def kl_divergence(p, q):
    r"""KL(p || q), the expectation of log p(x) - log q(x) under p, of each law of the batch.

    Raises NotImplementedError where there is no rule for the two classes; `register_kl` adds one.

    >>> T = torch.distributions
    >>> T.kl_divergence(T.Normal(0.0, 1.0), T.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    rule = _KL_MEMOIZE[pair]
    if rule is NotImplemented:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type {q.__class__.__name__}")
    return rule(p, q)


def _infinite_like(tensor):
    return torch.full_like(tensor, torch.inf)


def _x_log_x(x):
    return torch.special.xlogy(x, x)


# Laws of one kind.


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p, q):
    softplus = torch.nn.functional.softplus
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one = torch.where(q.probs == 0, torch.inf, one)
    one = torch.where(p.probs == 0, 0.0, one)
    none = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    none = torch.where(q.probs == 1, torch.inf, none)
    none = torch.where(p.probs == 1, 0.0, none)
    return one + none


@register_kl(Beta, Beta)
def _kl_beta_beta(p, q):
    sum_p, sum_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    norm_q = q.concentration1.lgamma() + q.concentration0.lgamma() + sum_p.lgamma()
    norm_p = p.concentration1.lgamma() + p.concentration0.lgamma() + sum_q.lgamma()
    first = (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1)
    second = (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0)
    return norm_q - norm_p + first + second + (sum_q - sum_p) * torch.digamma(sum_p)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return torch.where(p.total_count > q.total_count, torch.inf, kl)


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p, q):
    t = p.probs * (p.logits - q.logits)
    t = torch.where(q.probs == 0, torch.inf, t)
    t = torch.where(p.probs == 0, 0.0, t)
    return t.sum(-1)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p, q):
    # Chyzak and Nielsen, "A closed-form formula for the Kullback-Leibler divergence between Cauchy distributions", 2019.
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p, q):
    constants = p._cont_bern_log_norm() + torch.log1p(-p.probs) - q._cont_bern_log_norm() - torch.log1p(-q.probs)
    return p.mean * (p.logits - q.logits) + constants


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p, q):
    sum_p, sum_q = p.concentration.sum(-1), q.concentration.sum(-1)
    norms = sum_p.lgamma() - sum_q.lgamma() - (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    means = p.concentration.digamma() - sum_p.digamma().unsqueeze(-1)
    return norms + ((p.concentration - q.concentration) * means).sum(-1)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p, q):
    """The Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences"
        )
    parameters = [v.detach().requires_grad_() for v in p._natural_params]
    others = q._natural_params
    with torch.enable_grad():
        normalizer = p._log_normalizer(*parameters)
        gradients = torch.autograd.grad(normalizer.sum(), parameters, create_graph=True)
    result = q._log_normalizer(*others) - normalizer
    for mine, theirs, gradient in zip(parameters, others, gradients, strict=True):
        result = result - _sum_rightmost((theirs - mine) * gradient, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p, q):
    rates = q.concentration * (p.rate / q.rate).log()
    norms = torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
    return rates + norms + (p.concentration - q.concentration) * torch.digamma(p.concentration) + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p, q):
    ratio = p.scale / q.scale
    start, end = q.loc / q.scale, p.loc / q.scale
    return -ratio.log() - start + end + ratio * _EULER + torch.exp(start + (1 + ratio).lgamma() - end) - (1 + _EULER)


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p, q):
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p, q):
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p, q):
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * torch.exp(-away / p.scale) - 1


def _trace_of_square(x):
    """tr(x x')."""
    return x.pow(2).sum((-2, -1))


def _broadcast_solve(factor, matrix):
    batch = torch.broadcast_shapes(factor.shape[:-2], matrix.shape[:-2])
    return torch.linalg.solve_triangular(factor.expand(batch + factor.shape[-2:]), matrix.expand(batch + matrix.shape[-2:]), upper=False)


def _same_size(p, q, what):
    if p.event_shape != q.event_shape:
        raise ValueError(f"KL-divergence between two {what} with different event shapes cannot be computed")


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _kl_lowrankmultivariatenormal_lowrankmultivariatenormal(p, q):
    _same_size(p, q, "Low Rank Multivariate Normals")
    Wp, Dp, Wq, Dq = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag, q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    log_dets = _batch_lowrank_logdet(Wq, Dq, q._capacitance_tril) - _batch_lowrank_logdet(Wp, Dp, p._capacitance_tril)
    distance = _batch_lowrank_mahalanobis(Wq, Dq, q.loc - p.loc, q._capacitance_tril)
    # tr((Wq Wq' + Dq)^-1 (Wp Wp' + Dp)), the inverse by Woodbury: four traces.
    A = _broadcast_solve(q._capacitance_tril, Wq.mT / Dq.unsqueeze(-2))
    trace = (Dp / Dq).sum(-1) + _trace_of_square(Wp * Dq.rsqrt().unsqueeze(-1))
    trace = trace - _trace_of_square(A * Dp.sqrt().unsqueeze(-2)) - _trace_of_square(A.matmul(Wp))
    return 0.5 * (log_dets + trace + distance - p.event_shape[0])


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _kl_multivariatenormal_lowrankmultivariatenormal(p, q):
    _same_size(p, q, "(Low Rank) Multivariate Normals")
    Wq, Dq = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    log_dets = _batch_lowrank_logdet(Wq, Dq, q._capacitance_tril) - 2 * p._half_log_det()
    distance = _batch_lowrank_mahalanobis(Wq, Dq, q.loc - p.loc, q._capacitance_tril)
    A = _broadcast_solve(q._capacitance_tril, Wq.mT / Dq.unsqueeze(-2))
    L = p._unbroadcasted_scale_tril
    trace = _trace_of_square(L * Dq.rsqrt().unsqueeze(-1)) - _trace_of_square(A.matmul(L))
    return 0.5 * (log_dets + trace + distance - p.event_shape[0])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _kl_lowrankmultivariatenormal_multivariatenormal(p, q):
    _same_size(p, q, "(Low Rank) Multivariate Normals")
    Wp, Dp, L = p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag, q._unbroadcasted_scale_tril
    log_dets = 2 * q._half_log_det() - _batch_lowrank_logdet(Wp, Dp, p._capacitance_tril)
    trace = _trace_of_square(_broadcast_solve(L, Wp)) + _trace_of_square(_broadcast_solve(L, torch.diag_embed(Dp.sqrt())))
    return 0.5 * (log_dets + trace + _batch_mahalanobis(L, q.loc - p.loc) - p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_multivariatenormal_multivariatenormal(p, q):
    _same_size(p, q, "Multivariate Normals")
    trace = _trace_of_square(_broadcast_solve(q._unbroadcasted_scale_tril, p._unbroadcasted_scale_tril))
    distance = _batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    return q._half_log_det() - p._half_log_det() + 0.5 * (trace + distance - p.event_shape[0])


@register_kl(Normal, Normal)
def _kl_normal_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p, q):
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p, q):
    scales, alphas = p.scale / q.scale, q.alpha / p.alpha
    return torch.where(p.support.lower_bound < q.support.lower_bound, torch.inf, q.alpha * scales.log() - alphas.log() + alphas - 1)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p, q):
    return torch.where((q.low > p.low) | (q.high < p.high), torch.inf, ((q.high - q.low) / (p.high - p.low)).log())


@register_kl(Independent, Independent)
def _kl_independent_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# Laws of two kinds. Where p puts weight outside q's support the divergence is infinite.


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p, q):
    return -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()


@register_kl(Beta, Pareto)
def _kl_beta_infinity(p, q):
    return _infinite_like(p.concentration1)


@register_kl(Beta, Exponential)
def _kl_beta_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * (p.concentration1 / (p.concentration1 + p.concentration0))


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p, q):
    log_x = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    norm = q.concentration.lgamma() - q.concentration * q.rate.log()
    return -p.entropy() + norm - (q.concentration - 1) * log_x + q.rate * p.mean


def _cross_normal(p, q):
    """-E[log q(X)] of a normal law q, by p's moments."""
    return 0.5 * (q.scale.square() * 2 * math.pi).log() + (p.variance + (p.mean - q.loc).square()) / (2 * q.scale.square())


@register_kl(Beta, Normal)
def _kl_beta_normal(p, q):
    return -p.entropy() + _cross_normal(p, q)


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p, q):
    result = -p.entropy() + (q.high - q.low).log()
    return torch.where((q.low > p.support.lower_bound) | (q.high < p.support.upper_bound), torch.inf, result)


@register_kl(ContinuousBernoulli, Pareto)
def _kl_continuous_bernoulli_infinity(p, q):
    return _infinite_like(p.probs)


@register_kl(ContinuousBernoulli, Exponential)
def _kl_continuous_bernoulli_exponential(p, q):
    return -p.entropy() - torch.log(q.rate) + q.rate * p.mean


@register_kl(ContinuousBernoulli, Normal)
def _kl_continuous_bernoulli_normal(p, q):
    return -p.entropy() + _cross_normal(p, q)


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p, q):
    result = -p.entropy() + (q.high - q.low).log()
    return torch.where((q.low > p.support.lower_bound) | (q.high < p.support.upper_bound), torch.inf, result)


@register_kl(Exponential, Beta)
@register_kl(Exponential, ContinuousBernoulli)
@register_kl(Exponential, Pareto)
@register_kl(Exponential, Uniform)
def _kl_exponential_infinity(p, q):
    return _infinite_like(p.rate)


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p, q):
    ratio = q.rate / p.rate
    return -q.concentration * torch.log(ratio) + ratio + q.concentration.lgamma() + q.concentration * _EULER - (1 + _EULER)


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p, q):
    product, shift = p.rate * q.scale, q.loc / q.scale
    return product.log() - 1 + product.reciprocal() - shift + torch.exp(shift) * (product / (product + 1))


@register_kl(Exponential, Normal)
def _kl_exponential_normal(p, q):
    return p.rate.log() - 1 + _cross_normal(p, q)


@register_kl(Gamma, Beta)
@register_kl(Gamma, ContinuousBernoulli)
@register_kl(Gamma, Pareto)
@register_kl(Gamma, Uniform)
def _kl_gamma_infinity(p, q):
    return _infinite_like(p.concentration)


@register_kl(Gamma, Exponential)
def _kl_gamma_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p, q):
    product, shift = p.rate * q.scale, q.loc / q.scale
    first = (p.concentration - 1) * p.concentration.digamma() - p.concentration.lgamma() - p.concentration
    return first + product.log() + p.concentration / product - shift + torch.exp(shift) * (1 + product.reciprocal()).pow(-p.concentration)


@register_kl(Gamma, Normal)
def _kl_gamma_normal(p, q):
    return -p.entropy() + _cross_normal(p, q)


@register_kl(Gumbel, Beta)
@register_kl(Gumbel, ContinuousBernoulli)
@register_kl(Gumbel, Exponential)
@register_kl(Gumbel, Gamma)
@register_kl(Gumbel, Pareto)
@register_kl(Gumbel, Uniform)
def _kl_gumbel_infinity(p, q):
    return _infinite_like(p.loc)


@register_kl(Gumbel, Normal)
def _kl_gumbel_normal(p, q):
    return -p.entropy() + _cross_normal(p, q)


@register_kl(Laplace, Beta)
@register_kl(Laplace, ContinuousBernoulli)
@register_kl(Laplace, Exponential)
@register_kl(Laplace, Gamma)
@register_kl(Laplace, Pareto)
@register_kl(Laplace, Uniform)
def _kl_laplace_infinity(p, q):
    return _infinite_like(p.loc)


@register_kl(Laplace, Normal)
def _kl_laplace_normal(p, q):
    return -p.entropy() + _cross_normal(p, q)


@register_kl(Normal, Beta)
@register_kl(Normal, ContinuousBernoulli)
@register_kl(Normal, Exponential)
@register_kl(Normal, Gamma)
@register_kl(Normal, Pareto)
@register_kl(Normal, Uniform)
def _kl_normal_infinity(p, q):
    return _infinite_like(p.loc)


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p, q):
    mean, ratio = p.loc / q.scale, (p.scale / q.scale).square()
    shift = q.loc / q.scale
    return -ratio.log() * 0.5 + mean - shift + torch.exp(-mean + 0.5 * ratio + shift) - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p, q):
    away, ratio = p.loc - q.loc, p.scale / q.scale
    standard = away / p.scale
    mean = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * standard.square()) + away * torch.erf(math.sqrt(0.5) * standard)
    return -ratio.log() + mean / q.scale - (0.5 + 0.5 * math.log(0.5 * math.pi))


@register_kl(Pareto, Beta)
@register_kl(Pareto, ContinuousBernoulli)
@register_kl(Pareto, Uniform)
def _kl_pareto_infinity(p, q):
    return _infinite_like(p.scale)


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p, q):
    rate = p.scale * q.rate
    result = (p.alpha / rate).log() - p.alpha.reciprocal() + p.alpha * rate / (p.alpha - 1) - 1
    return torch.where(p.alpha <= 1, torch.inf, result)


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p, q):
    log_mean = p.scale.log() + p.alpha.reciprocal()
    norm = q.concentration.lgamma() - q.concentration * q.rate.log()
    rate = q.rate * p.alpha * p.scale / (p.alpha - 1)
    result = p.alpha.log() - p.scale.log() - p.alpha.reciprocal() - 1 + norm + (1 - q.concentration) * log_mean + rate
    return torch.where(p.alpha <= 1, torch.inf, result)


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p, q):
    result = p.alpha.log() - p.scale.log() - p.alpha.reciprocal() - 1 + _cross_normal(p, q)
    return torch.where(p.alpha <= 2, torch.inf, result)


@register_kl(Poisson, Bernoulli)
@register_kl(Poisson, Binomial)
def _kl_poisson_infinity(p, q):
    return _infinite_like(p.rate)


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p, q):
    width = p.high - p.low
    log_x = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    log_rest = (_x_log_x(1 - p.low) - _x_log_x(1 - p.high) - width) / width
    norm = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    result = norm - width.log() - (q.concentration1 - 1) * log_x - (q.concentration0 - 1) * log_rest
    return torch.where((p.high > q.support.upper_bound) | (p.low < q.support.lower_bound), torch.inf, result)


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p, q):
    result = -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()
    outside = torch.max(torch.ge(p.high, q.support.upper_bound), torch.le(p.low, q.support.lower_bound))
    return torch.where(outside, torch.inf, result)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponetial(p, q):
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return torch.where(p.low < q.support.lower_bound, torch.inf, result)


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p, q):
    width = p.high - p.low
    log_x = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    norm = q.concentration.lgamma() - q.concentration * q.rate.log()
    result = -width.log() + norm + (1 - q.concentration) * log_x + q.rate * (p.high + p.low) / 2
    return torch.where(p.low < q.support.lower_bound, torch.inf, result)


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p, q):
    width = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return width.log() + 0.5 * (high + low) - width * (torch.exp(-high) - torch.exp(-low))


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p, q):
    return -p.entropy() + _cross_normal(p, q)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p, q):
    width = p.high - p.low
    log_x = (_x_log_x(p.high) - _x_log_x(p.low) - width) / width
    result = log_x * (q.alpha + 1) - width.log() - q.alpha.log() - q.alpha * q.scale.log()
    return torch.where(p.low < q.support.lower_bound, torch.inf, result)
