// Divergences between laws of two kinds. Where p puts weight outside q's support the divergence is infinite.

#include <cmath>

#include "cresset/distributions/kl_rules.h"

namespace cresset::distributions {

namespace {

Tensor x_log_x(const Tensor& x) { return special_xlogy(x, x); }

// Of the shape of p's first parameter.
Tensor infinite(const Distribution& p, const Distribution&) {
  const DistributionImpl& law = p.impl();
  return infinite_like(law.parameter(law.arguments()[0]));
}

// -E[log q(X)] of a normal law q, by p's moments.
Tensor cross_normal(const Distribution& p, const Normal& q) {
  return 0.5 * (q.scale().square() * 2 * kPi).log() + (p.variance() + (p.mean() - q.loc()).square()) / (2 * q.scale().square());
}
Tensor entropy_normal(const Distribution& p, const Distribution& q) { return -p.entropy() + cross_normal(p, q.as<Normal>()); }

Tensor norm_of(const Gamma& q) { return q.concentration().lgamma() - q.concentration() * q.rate().log(); }

Tensor bernoulli_poisson(const Bernoulli& p, const Poisson& q) { return -p.entropy() - (p.probs() * q.rate().log() - q.rate()); }

Tensor with_continuous(const Distribution& p, const ContinuousBernoulli& q) {
  return -p.entropy() - p.mean() * q.logits() - log1p(-q.probs()) - continuous_bernoulli_log_norm(q);
}
Tensor beta_continuous(const Beta& p, const ContinuousBernoulli& q) { return with_continuous(p, q); }

Tensor beta_exponential(const Beta& p, const Exponential& q) {
  return -p.entropy() - q.rate().log() + q.rate() * (p.concentration1() / (p.concentration1() + p.concentration0()));
}

Tensor beta_gamma(const Beta& p, const Gamma& q) {
  const Tensor log_x = p.concentration1().digamma() - (p.concentration1() + p.concentration0()).digamma();
  return -p.entropy() + norm_of(q) - (q.concentration() - 1) * log_x + q.rate() * p.mean();
}

// Of a p on [0, 1].
Tensor unit_uniform(const Distribution& p, const Distribution& other) {
  const Uniform q = other.as<Uniform>();
  const Tensor result = -p.entropy() + (q.high() - q.low()).log();
  return where((q.low() > 0.0) | (q.high() < 1.0), kInfinity, result);
}

Tensor continuous_exponential(const ContinuousBernoulli& p, const Exponential& q) {
  return -p.entropy() - log(q.rate()) + q.rate() * p.mean();
}

Tensor exponential_gamma(const Exponential& p, const Gamma& q) {
  const Tensor ratio = q.rate() / p.rate();
  return -q.concentration() * log(ratio) + ratio + q.concentration().lgamma() + q.concentration() * kEuler - (1 + kEuler);
}

Tensor exponential_gumbel(const Exponential& p, const Gumbel& q) {
  const Tensor product = p.rate() * q.scale(), shift = q.loc() / q.scale();
  return product.log() - 1 + product.reciprocal() - shift + exp(shift) * (product / (product + 1));
}

Tensor exponential_normal(const Exponential& p, const Normal& q) { return p.rate().log() - 1 + cross_normal(p, q); }

Tensor gamma_exponential(const Gamma& p, const Exponential& q) {
  return -p.entropy() - q.rate().log() + q.rate() * p.concentration() / p.rate();
}

Tensor gamma_gumbel(const Gamma& p, const Gumbel& q) {
  const Tensor product = p.rate() * q.scale(), shift = q.loc() / q.scale(), c = p.concentration();
  const Tensor first = (c - 1) * c.digamma() - c.lgamma() - c;
  return first + product.log() + c / product - shift + exp(shift) * (1 + product.reciprocal()).pow(-c);
}

Tensor normal_gumbel(const Normal& p, const Gumbel& q) {
  const Tensor mean = p.loc() / q.scale(), ratio = (p.scale() / q.scale()).square(), shift = q.loc() / q.scale();
  return -ratio.log() * 0.5 + mean - shift + exp(-mean + 0.5 * ratio + shift) - 0.5 * (1 + std::log(2 * kPi));
}

Tensor normal_laplace(const Normal& p, const Laplace& q) {
  const Tensor away = p.loc() - q.loc(), ratio = p.scale() / q.scale(), standard = away / p.scale();
  const Tensor mean = std::sqrt(2 / kPi) * p.scale() * exp(-0.5 * standard.square()) + away * erf(std::sqrt(0.5) * standard);
  return -ratio.log() + mean / q.scale() - (0.5 + 0.5 * std::log(0.5 * kPi));
}

Tensor pareto_exponential(const Pareto& p, const Exponential& q) {
  const Tensor rate = p.scale() * q.rate(), a = p.alpha();
  return where(a <= 1, kInfinity, (a / rate).log() - a.reciprocal() + a * rate / (a - 1) - 1);
}

Tensor pareto_gamma(const Pareto& p, const Gamma& q) {
  const Tensor a = p.alpha();
  const Tensor log_mean = p.scale().log() + a.reciprocal(), rate = q.rate() * a * p.scale() / (a - 1);
  const Tensor result = a.log() - p.scale().log() - a.reciprocal() - 1 + norm_of(q) + (1 - q.concentration()) * log_mean + rate;
  return where(a <= 1, kInfinity, result);
}

Tensor pareto_normal(const Pareto& p, const Normal& q) {
  const Tensor a = p.alpha();
  return where(a <= 2, kInfinity, a.log() - p.scale().log() - a.reciprocal() - 1 + cross_normal(p, q));
}

Tensor uniform_beta(const Uniform& p, const Beta& q) {
  const Tensor low = p.low(), high = p.high(), width = high - low, q1 = q.concentration1(), q0 = q.concentration0();
  const Tensor log_x = (x_log_x(high) - x_log_x(low) - width) / width;
  const Tensor log_rest = (x_log_x(1 - low) - x_log_x(1 - high) - width) / width;
  const Tensor norm = q1.lgamma() + q0.lgamma() - (q1 + q0).lgamma();
  const Tensor result = norm - width.log() - (q1 - 1) * log_x - (q0 - 1) * log_rest;
  return where((high > 1.0) | (low < 0.0), kInfinity, result);
}

Tensor uniform_continuous(const Uniform& p, const ContinuousBernoulli& q) {
  return where(cresset::max(p.high().ge(1.0), p.low().le(0.0)), kInfinity, with_continuous(p, q));
}

Tensor uniform_exponential(const Uniform& p, const Exponential& q) {
  const Tensor result = q.rate() * (p.high() + p.low()) / 2 - ((p.high() - p.low()) * q.rate()).log();
  return where(p.low() < 0.0, kInfinity, result);
}

Tensor uniform_gamma(const Uniform& p, const Gamma& q) {
  const Tensor low = p.low(), high = p.high(), width = high - low;
  const Tensor log_x = (x_log_x(high) - x_log_x(low) - width) / width;
  const Tensor result = -width.log() + norm_of(q) + (1 - q.concentration()) * log_x + q.rate() * (high + low) / 2;
  return where(low < 0.0, kInfinity, result);
}

Tensor uniform_gumbel(const Uniform& p, const Gumbel& q) {
  const Tensor width = q.scale() / (p.high() - p.low());
  const Tensor high = (p.high() - q.loc()) / q.scale(), low = (p.low() - q.loc()) / q.scale();
  return width.log() + 0.5 * (high + low) - width * (exp(-high) - exp(-low));
}

Tensor uniform_pareto(const Uniform& p, const Pareto& q) {
  const Tensor low = p.low(), high = p.high(), width = high - low;
  const Tensor log_x = (x_log_x(high) - x_log_x(low) - width) / width;
  const Tensor result = log_x * (q.alpha() + 1) - width.log() - q.alpha().log() - q.alpha() * q.scale().log();
  return where(low < q.scale(), kInfinity, result);
}

template <class P, class Q>
constexpr KlEntry infinity() {
  return {&P::kKind, &Q::kKind, infinite};
}
template <class P>
constexpr KlEntry with_normal() {
  return {&P::kKind, &Normal::kKind, entropy_normal};
}

constexpr KlEntry kRules[] = {
    entry<Bernoulli, Poisson, bernoulli_poisson>(),
    entry<Beta, ContinuousBernoulli, beta_continuous>(),
    infinity<Beta, Pareto>(),
    entry<Beta, Exponential, beta_exponential>(),
    entry<Beta, Gamma, beta_gamma>(),
    with_normal<Beta>(),
    {&Beta::kKind, &Uniform::kKind, unit_uniform},
    infinity<ContinuousBernoulli, Pareto>(),
    entry<ContinuousBernoulli, Exponential, continuous_exponential>(),
    with_normal<ContinuousBernoulli>(),
    {&ContinuousBernoulli::kKind, &Uniform::kKind, unit_uniform},
    infinity<Exponential, Beta>(),
    infinity<Exponential, ContinuousBernoulli>(),
    infinity<Exponential, Pareto>(),
    infinity<Exponential, Uniform>(),
    entry<Exponential, Gamma, exponential_gamma>(),
    entry<Exponential, Gumbel, exponential_gumbel>(),
    entry<Exponential, Normal, exponential_normal>(),
    infinity<Gamma, Beta>(),
    infinity<Gamma, ContinuousBernoulli>(),
    infinity<Gamma, Pareto>(),
    infinity<Gamma, Uniform>(),
    entry<Gamma, Exponential, gamma_exponential>(),
    entry<Gamma, Gumbel, gamma_gumbel>(),
    with_normal<Gamma>(),
    infinity<Gumbel, Beta>(),
    infinity<Gumbel, ContinuousBernoulli>(),
    infinity<Gumbel, Exponential>(),
    infinity<Gumbel, Gamma>(),
    infinity<Gumbel, Pareto>(),
    infinity<Gumbel, Uniform>(),
    with_normal<Gumbel>(),
    infinity<Laplace, Beta>(),
    infinity<Laplace, ContinuousBernoulli>(),
    infinity<Laplace, Exponential>(),
    infinity<Laplace, Gamma>(),
    infinity<Laplace, Pareto>(),
    infinity<Laplace, Uniform>(),
    with_normal<Laplace>(),
    infinity<Normal, Beta>(),
    infinity<Normal, ContinuousBernoulli>(),
    infinity<Normal, Exponential>(),
    infinity<Normal, Gamma>(),
    infinity<Normal, Pareto>(),
    infinity<Normal, Uniform>(),
    entry<Normal, Gumbel, normal_gumbel>(),
    entry<Normal, Laplace, normal_laplace>(),
    infinity<Pareto, Beta>(),
    infinity<Pareto, ContinuousBernoulli>(),
    infinity<Pareto, Uniform>(),
    entry<Pareto, Exponential, pareto_exponential>(),
    entry<Pareto, Gamma, pareto_gamma>(),
    entry<Pareto, Normal, pareto_normal>(),
    infinity<Poisson, Bernoulli>(),
    infinity<Poisson, Binomial>(),
    entry<Uniform, Beta, uniform_beta>(),
    entry<Uniform, ContinuousBernoulli, uniform_continuous>(),
    entry<Uniform, Exponential, uniform_exponential>(),
    entry<Uniform, Gamma, uniform_gamma>(),
    entry<Uniform, Gumbel, uniform_gumbel>(),
    with_normal<Uniform>(),
    entry<Uniform, Pareto, uniform_pareto>(),
};

}  // namespace

ArrayRef<KlEntry> kl_rules_of_two_kinds() { return kRules; }

}  // namespace cresset::distributions
