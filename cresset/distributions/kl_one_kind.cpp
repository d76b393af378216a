// Divergences between laws of one kind.

#include "cresset/distributions/kl_rules.h"
#include "cresset/distributions/multivariate.h"

namespace cresset::distributions {

namespace {

Tensor bernoulli_bernoulli(const Bernoulli& p, const Bernoulli& q) {
  Tensor one = p.probs() * (softplus(-q.logits()) - softplus(-p.logits()));
  one = where(q.probs() == 0, kInfinity, one);
  one = where(p.probs() == 0, 0.0, one);
  Tensor none = (1 - p.probs()) * (softplus(q.logits()) - softplus(p.logits()));
  none = where(q.probs() == 1, kInfinity, none);
  none = where(p.probs() == 1, 0.0, none);
  return one + none;
}

Tensor beta_beta(const Beta& p, const Beta& q) {
  const Tensor p1 = p.concentration1(), p0 = p.concentration0(), q1 = q.concentration1(), q0 = q.concentration0();
  const Tensor sum_p = p1 + p0, sum_q = q1 + q0;
  const Tensor norm_q = q1.lgamma() + q0.lgamma() + sum_p.lgamma(), norm_p = p1.lgamma() + p0.lgamma() + sum_q.lgamma();
  return norm_q - norm_p + (p1 - q1) * digamma(p1) + (p0 - q0) * digamma(p0) + (sum_q - sum_p) * digamma(sum_p);
}

Tensor binomial_binomial(const Binomial& p, const Binomial& q) {
  CRESSET_CHECK_NOT_IMPLEMENTED(!(p.total_count() < q.total_count()).any().item<bool>(),
                                "KL between Binomials where q.total_count > p.total_count is not implemented");
  const Tensor kl = p.total_count() * (p.probs() * (p.logits() - q.logits()) + (-p.probs()).log1p() - (-q.probs()).log1p());
  return where(p.total_count() > q.total_count(), kInfinity, kl);
}

Tensor categorical_categorical(const Categorical& p, const Categorical& q) {
  Tensor t = p.probs() * (p.logits() - q.logits());
  t = where(q.probs() == 0, kInfinity, t);
  t = where(p.probs() == 0, 0.0, t);
  return t.sum(-1);
}

// Chyzak and Nielsen, "A closed-form formula for the Kullback-Leibler divergence between Cauchy distributions", 2019.
Tensor cauchy_cauchy(const Cauchy& p, const Cauchy& q) {
  return ((p.scale() + q.scale()).pow(2) + (p.loc() - q.loc()).pow(2)).log() - (4 * p.scale() * q.scale()).log();
}

Tensor continuous_continuous(const ContinuousBernoulli& p, const ContinuousBernoulli& q) {
  const Tensor constants =
      continuous_bernoulli_log_norm(p) + log1p(-p.probs()) - continuous_bernoulli_log_norm(q) - log1p(-q.probs());
  return p.mean() * (p.logits() - q.logits()) + constants;
}

Tensor dirichlet_dirichlet(const Dirichlet& p, const Dirichlet& q) {
  const Tensor a = p.concentration(), b = q.concentration();
  const Tensor sum_p = a.sum(-1), sum_q = b.sum(-1);
  const Tensor norms = sum_p.lgamma() - sum_q.lgamma() - (a.lgamma() - b.lgamma()).sum(-1);
  const Tensor means = a.digamma() - sum_p.digamma().unsqueeze(-1);
  return norms + ((a - b) * means).sum(-1);
}

Tensor exponential_exponential(const Exponential& p, const Exponential& q) {
  const Tensor ratio = q.rate() / p.rate();
  return -ratio.log() + ratio - 1;
}

// The Bregman divergence of the log normalizer.
Tensor family_family(const ExponentialFamily& p, const ExponentialFamily& q) {
  CRESSET_CHECK_NOT_IMPLEMENTED(
      &p.kind() == &q.kind(),
      "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences");
  const auto &law_p = static_cast<const ExponentialFamilyImpl&>(p.impl()),
             &law_q = static_cast<const ExponentialFamilyImpl&>(q.impl());
  std::vector<Tensor> mine, gradients;
  const Tensor normalizer = law_p.normalizer_with_gradients(mine, gradients);
  const std::vector<Tensor> theirs = law_q.natural_params();
  Tensor result = law_q.log_normalizer(theirs) - normalizer;
  for (size_t i = 0; i < mine.size(); i++)
    result = result - sum_rightmost((theirs[i] - mine[i]) * gradients[i], static_cast<int64_t>(q.event_shape().size()));
  return result;
}

Tensor gamma_gamma(const Gamma& p, const Gamma& q) {
  const Tensor rates = q.concentration() * (p.rate() / q.rate()).log();
  const Tensor norms = lgamma(q.concentration()) - lgamma(p.concentration());
  return rates + norms + (p.concentration() - q.concentration()) * digamma(p.concentration()) +
         (q.rate() - p.rate()) * (p.concentration() / p.rate());
}

Tensor gumbel_gumbel(const Gumbel& p, const Gumbel& q) {
  const Tensor ratio = p.scale() / q.scale(), start = q.loc() / q.scale(), end = p.loc() / q.scale();
  return -ratio.log() - start + end + ratio * kEuler + exp(start + (1 + ratio).lgamma() - end) - (1 + kEuler);
}

Tensor geometric_geometric(const Geometric& p, const Geometric& q) {
  return -p.entropy() - log1p(-q.probs()) / p.probs() - q.logits();
}

Tensor laplace_laplace(const Laplace& p, const Laplace& q) {
  const Tensor ratio = p.scale() / q.scale(), away = (p.loc() - q.loc()).abs();
  return -ratio.log() + away / q.scale() + ratio * exp(-away / p.scale()) - 1;
}

Tensor normal_normal(const Normal& p, const Normal& q) {
  const Tensor ratio = (p.scale() / q.scale()).pow(2);
  return 0.5 * (ratio + ((p.loc() - q.loc()) / q.scale()).pow(2) - 1 - ratio.log());
}

Tensor half_half(const HalfNormal& p, const HalfNormal& q) {
  return normal_normal(p.base_dist().as<Normal>(), q.base_dist().as<Normal>());
}

// tr(x x').
Tensor trace_of_square(const Tensor& x) { return x.pow(2).sum({-2, -1}); }

Tensor broadcast_solve(const Tensor& factor, const Tensor& matrix) {
  const Shape batch = broadcast_shapes({but_last(factor.sizes(), 2), but_last(matrix.sizes(), 2)});
  return linalg_solve_triangular(factor.expand(join(batch, last(factor.sizes(), 2))),
                                 matrix.expand(join(batch, last(matrix.sizes(), 2))), false);
}

void same_size(const Distribution& p, const Distribution& q, const char* what) {
  CRESSET_CHECK_VALUE(p.event_shape() == q.event_shape(), "KL-divergence between two ", what,
                      " with different event shapes cannot be computed");
}

// The factor and the diagonal before they were broadcast, and the Cholesky factor of the capacitance.
Tensor W(const Distribution& law) { return law.impl().kept(3); }
Tensor D(const Distribution& law) { return law.impl().kept(4); }
Tensor capacitance(const Distribution& law) { return law.impl().kept(5); }
Tensor tril(const MultivariateNormal& law) { return law.impl().kept(4); }

Tensor lowrank_lowrank(const LowRankMultivariateNormal& p, const LowRankMultivariateNormal& q) {
  same_size(p, q, "Low Rank Multivariate Normals");
  const Tensor Wp = W(p), Dp = D(p), Wq = W(q), Dq = D(q);
  const Tensor log_dets = lowrank_logdet(Dq, capacitance(q)) - lowrank_logdet(Dp, capacitance(p));
  const Tensor distance = lowrank_mahalanobis(Wq, Dq, q.loc() - p.loc(), capacitance(q));
  // tr((Wq Wq' + Dq)^-1 (Wp Wp' + Dp)), the inverse by Woodbury: four traces.
  const Tensor A = broadcast_solve(capacitance(q), Wq.mT() / Dq.unsqueeze(-2));
  Tensor trace = (Dp / Dq).sum(-1) + trace_of_square(Wp * Dq.rsqrt().unsqueeze(-1));
  trace = trace - trace_of_square(A * Dp.sqrt().unsqueeze(-2)) - trace_of_square(matmul(A, Wp));
  return 0.5 * (log_dets + trace + distance - p.event_shape()[0]);
}

Tensor multivariate_lowrank(const MultivariateNormal& p, const LowRankMultivariateNormal& q) {
  same_size(p, q, "(Low Rank) Multivariate Normals");
  const Tensor Wq = W(q), Dq = D(q), L = tril(p);
  const Tensor log_dets = lowrank_logdet(Dq, capacitance(q)) - 2 * half_log_det(L);
  const Tensor distance = lowrank_mahalanobis(Wq, Dq, q.loc() - p.loc(), capacitance(q));
  const Tensor A = broadcast_solve(capacitance(q), Wq.mT() / Dq.unsqueeze(-2));
  const Tensor trace = trace_of_square(L * Dq.rsqrt().unsqueeze(-1)) - trace_of_square(matmul(A, L));
  return 0.5 * (log_dets + trace + distance - p.event_shape()[0]);
}

Tensor lowrank_multivariate(const LowRankMultivariateNormal& p, const MultivariateNormal& q) {
  same_size(p, q, "(Low Rank) Multivariate Normals");
  const Tensor Dp = D(p), L = tril(q);
  const Tensor log_dets = 2 * half_log_det(L) - lowrank_logdet(Dp, capacitance(p));
  const Tensor trace = trace_of_square(broadcast_solve(L, W(p))) + trace_of_square(broadcast_solve(L, diag_embed(Dp.sqrt())));
  return 0.5 * (log_dets + trace + batch_mahalanobis(L, q.loc() - p.loc()) - p.event_shape()[0]);
}

Tensor multivariate_multivariate(const MultivariateNormal& p, const MultivariateNormal& q) {
  same_size(p, q, "Multivariate Normals");
  const Tensor trace = trace_of_square(broadcast_solve(tril(q), tril(p)));
  const Tensor distance = batch_mahalanobis(tril(q), q.loc() - p.loc());
  return half_log_det(tril(q)) - half_log_det(tril(p)) + 0.5 * (trace + distance - p.event_shape()[0]);
}

Tensor onehot_onehot(const OneHotCategorical& p, const OneHotCategorical& q) {
  return categorical_categorical(p.impl().part(0).as<Categorical>(), q.impl().part(0).as<Categorical>());
}

Tensor pareto_pareto(const Pareto& p, const Pareto& q) {
  const Tensor scales = p.scale() / q.scale(), alphas = q.alpha() / p.alpha();
  return where(p.scale() < q.scale(), kInfinity, q.alpha() * scales.log() - alphas.log() + alphas - 1);
}

Tensor poisson_poisson(const Poisson& p, const Poisson& q) {
  return p.rate() * (p.rate().log() - q.rate().log()) - (p.rate() - q.rate());
}

Tensor transformed_transformed(const TransformedDistribution& p, const TransformedDistribution& q) {
  CRESSET_CHECK_NOT_IMPLEMENTED(p.transforms() == q.transforms() && p.event_shape() == q.event_shape(),
                                "No KL(p || q) is implemented for p type ", p.kind().name, " and q type ", q.kind().name,
                                " of different transforms or event shapes");
  return kl_divergence(p.base_dist(), q.base_dist());
}

Tensor uniform_uniform(const Uniform& p, const Uniform& q) {
  return where((q.low() > p.low()) | (q.high() < p.high()), kInfinity, ((q.high() - q.low()) / (p.high() - p.low())).log());
}

Tensor independent_independent(const Independent& p, const Independent& q) {
  CRESSET_CHECK_NOT_IMPLEMENTED(p.reinterpreted_batch_ndims() == q.reinterpreted_batch_ndims(),
                                "No KL(p || q) is implemented for Independent laws of different reinterpreted_batch_ndims");
  return sum_rightmost(kl_divergence(p.base_dist(), q.base_dist()), p.reinterpreted_batch_ndims());
}

constexpr KlEntry kRules[] = {
    entry<Bernoulli, Bernoulli, bernoulli_bernoulli>(),
    entry<Beta, Beta, beta_beta>(),
    entry<Binomial, Binomial, binomial_binomial>(),
    entry<Categorical, Categorical, categorical_categorical>(),
    entry<Cauchy, Cauchy, cauchy_cauchy>(),
    entry<ContinuousBernoulli, ContinuousBernoulli, continuous_continuous>(),
    entry<Dirichlet, Dirichlet, dirichlet_dirichlet>(),
    entry<Exponential, Exponential, exponential_exponential>(),
    entry<ExponentialFamily, ExponentialFamily, family_family>(),
    entry<Gamma, Gamma, gamma_gamma>(),
    entry<Gumbel, Gumbel, gumbel_gumbel>(),
    entry<Geometric, Geometric, geometric_geometric>(),
    entry<HalfNormal, HalfNormal, half_half>(),
    entry<Laplace, Laplace, laplace_laplace>(),
    entry<LowRankMultivariateNormal, LowRankMultivariateNormal, lowrank_lowrank>(),
    entry<MultivariateNormal, LowRankMultivariateNormal, multivariate_lowrank>(),
    entry<LowRankMultivariateNormal, MultivariateNormal, lowrank_multivariate>(),
    entry<MultivariateNormal, MultivariateNormal, multivariate_multivariate>(),
    entry<Normal, Normal, normal_normal>(),
    entry<OneHotCategorical, OneHotCategorical, onehot_onehot>(),
    entry<Pareto, Pareto, pareto_pareto>(),
    entry<Poisson, Poisson, poisson_poisson>(),
    entry<TransformedDistribution, TransformedDistribution, transformed_transformed>(),
    entry<Uniform, Uniform, uniform_uniform>(),
    entry<Independent, Independent, independent_independent>(),
};

}  // namespace

ArrayRef<KlEntry> kl_rules_of_one_kind() { return kRules; }

}  // namespace cresset::distributions
