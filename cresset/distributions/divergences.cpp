// Kullback-Leibler divergences that take more than a line, and those of distributions that are made of others.

#include "cresset/distributions/kl.h"
#include "cresset/distributions/multivariate.h"
#include "cresset/distributions/rows.h"

namespace cresset::distributions {

Tensor cross_normal(const Tensor& mean, const Tensor& variance, const Tensor& loc, const Tensor& scale) {
  return 0.5 * (scale.square() * 2 * kPi).log() + (variance + (mean - loc).square()) / (2 * scale.square());
}

}  // namespace cresset::distributions

namespace cresset::ops::composite {

using namespace distributions;

namespace {

Tensor x_log_x(const Tensor& x) { return special_xlogy(x, x); }

// Minus the log normalizer of a gamma distribution.
Tensor norm_of_gamma(const Tensor& concentration, const Tensor& rate) { return concentration.lgamma() - concentration * rate.log(); }

// The mean of log x on [low, high].
Tensor mean_log(const Tensor& low, const Tensor& high, const Tensor& width) { return (x_log_x(high) - x_log_x(low) - width) / width; }

// Terms of discrete divergences: infinite where q excludes what p allows, none where p excludes it.
Tensor discrete(const Tensor& term, const Tensor& q_excludes, const Tensor& p_excludes) { return where(p_excludes, 0.0, where(q_excludes, kInfinity, term)); }

// tr(x x').
Tensor trace_of_square(const Tensor& x) { return x.pow(2).sum({-2, -1}); }

Tensor broadcast_solve(const Tensor& factor, const Tensor& matrix) {
  const Shape batch = broadcast_shapes({but_last(factor.sizes(), 2), but_last(matrix.sizes(), 2)});
  return linalg_solve_triangular(factor.expand(join(batch, last(factor.sizes(), 2))), matrix.expand(join(batch, last(matrix.sizes(), 2))), false);
}

// The length of the vectors of both.
int64_t common_size(const Tensor& p_loc, const Tensor& q_loc) {
  CRESSET_CHECK_VALUE(p_loc.size(-1) == q_loc.size(-1), "kl_divergence: expected vectors of one length, got ", p_loc.size(-1), " and ", q_loc.size(-1));
  return p_loc.size(-1);
}

}  // namespace

Tensor _kl_any_continuousbernoulli(const Tensor& p_entropy, const Tensor& p_mean, const Tensor& q_probs, const Tensor& q_logits, double q_low, double q_high) {
  const Tensor start = -p_entropy - p_mean * q_logits - log1p(-q_probs);
  return start - composite::_continuousbernoulli_cont_bern_log_norm(q_probs, q_low, q_high);
}

Tensor _kl_bernoulli_bernoulli(const Tensor& p_probs, const Tensor& p_logits, const Tensor& q_probs, const Tensor& q_logits) {
  const Tensor one = p_probs * (softplus(-q_logits) - softplus(-p_logits));
  const Tensor none = (1 - p_probs) * (softplus(q_logits) - softplus(p_logits));
  return discrete(one, q_probs == 0, p_probs == 0) + discrete(none, q_probs == 1, p_probs == 1);
}

Tensor _kl_beta_beta(const Tensor& p1, const Tensor& p0, const Tensor& q1, const Tensor& q0) {
  const Tensor sum_p = p1 + p0, sum_q = q1 + q0;
  const Tensor norm_q = q1.lgamma() + q0.lgamma() + sum_p.lgamma(), norm_p = p1.lgamma() + p0.lgamma() + sum_q.lgamma();
  return norm_q - norm_p + (p1 - q1) * digamma(p1) + (p0 - q0) * digamma(p0) + (sum_q - sum_p) * digamma(sum_p);
}

Tensor _kl_beta_gamma(const Tensor& p_entropy, const Tensor& p_mean, const Tensor& p1, const Tensor& p0, const Tensor& q_concentration, const Tensor& q_rate) {
  const Tensor log_x = p1.digamma() - (p1 + p0).digamma();
  return -p_entropy + norm_of_gamma(q_concentration, q_rate) - (q_concentration - 1) * log_x + q_rate * p_mean;
}

Tensor _kl_binomial_binomial(const Tensor& p_total_count, const Tensor& p_probs, const Tensor& p_logits, const Tensor& q_total_count, const Tensor& q_probs,
                             const Tensor& q_logits) {
  CRESSET_CHECK_NOT_IMPLEMENTED(!(p_total_count < q_total_count).any().item<bool>(),
                                "kl_divergence: Binomial: expected p.total_count of at least q.total_count, got less");
  const Tensor kl = p_total_count * (p_probs * (p_logits - q_logits) + (-p_probs).log1p() - (-q_probs).log1p());
  return where(p_total_count > q_total_count, kInfinity, kl);
}

Tensor _kl_categorical_categorical(const Tensor& p_probs, const Tensor& p_logits, const Tensor& q_probs, const Tensor& q_logits) {
  return discrete(p_probs * (p_logits - q_logits), q_probs == 0, p_probs == 0).sum(-1);
}

Tensor _kl_continuousbernoulli_continuousbernoulli(const Tensor& p_mean, const Tensor& p_probs, const Tensor& p_logits, double p_low, double p_high,
                                                   const Tensor& q_probs, const Tensor& q_logits, double q_low, double q_high) {
  const Tensor norm_p = composite::_continuousbernoulli_cont_bern_log_norm(p_probs, p_low, p_high);
  const Tensor norm_q = composite::_continuousbernoulli_cont_bern_log_norm(q_probs, q_low, q_high);
  return p_mean * (p_logits - q_logits) + (norm_p + log1p(-p_probs) - norm_q - log1p(-q_probs));
}

Tensor _kl_dirichlet_dirichlet(const Tensor& a, const Tensor& b) {
  const Tensor sum_p = a.sum(-1), sum_q = b.sum(-1);
  const Tensor norms = sum_p.lgamma() - sum_q.lgamma() - (a.lgamma() - b.lgamma()).sum(-1);
  const Tensor means = a.digamma() - sum_p.digamma().unsqueeze(-1);
  return norms + ((a - b) * means).sum(-1);
}

Tensor _kl_exponential_gamma(const Tensor& p_rate, const Tensor& q_concentration, const Tensor& q_rate) {
  const Tensor ratio = q_rate / p_rate;
  return -q_concentration * log(ratio) + ratio + q_concentration.lgamma() + q_concentration * kEuler - (1 + kEuler);
}

Tensor _kl_exponential_gumbel(const Tensor& p_rate, const Tensor& q_loc, const Tensor& q_scale) {
  const Tensor product = p_rate * q_scale, shift = q_loc / q_scale;
  return product.log() - 1 + product.reciprocal() - shift + exp(shift) * (product / (product + 1));
}

Tensor _kl_gamma_gamma(const Tensor& p_concentration, const Tensor& p_rate, const Tensor& q_concentration, const Tensor& q_rate) {
  const Tensor rates = q_concentration * (p_rate / q_rate).log();
  const Tensor norms = lgamma(q_concentration) - lgamma(p_concentration);
  return rates + norms + (p_concentration - q_concentration) * digamma(p_concentration) + (q_rate - p_rate) * (p_concentration / p_rate);
}

Tensor _kl_gamma_gumbel(const Tensor& c, const Tensor& p_rate, const Tensor& q_loc, const Tensor& q_scale) {
  const Tensor product = p_rate * q_scale, shift = q_loc / q_scale;
  const Tensor first = (c - 1) * c.digamma() - c.lgamma() - c;
  return first + product.log() + c / product - shift + exp(shift) * (1 + product.reciprocal()).pow(-c);
}

Tensor _kl_gumbel_gumbel(const Tensor& p_loc, const Tensor& p_scale, const Tensor& q_loc, const Tensor& q_scale) {
  const Tensor ratio = p_scale / q_scale, start = q_loc / q_scale, end = p_loc / q_scale;
  return -ratio.log() - start + end + ratio * kEuler + exp(start + (1 + ratio).lgamma() - end) - (1 + kEuler);
}

Tensor _kl_laplace_laplace(const Tensor& p_loc, const Tensor& p_scale, const Tensor& q_loc, const Tensor& q_scale) {
  const Tensor ratio = p_scale / q_scale, away = (p_loc - q_loc).abs();
  return -ratio.log() + away / q_scale + ratio * exp(-away / p_scale) - 1;
}

Tensor _kl_lowrank_lowrank(const Tensor& p_loc, const Tensor& Wp, const Tensor& Dp, const Tensor& p_capacitance, const Tensor& q_loc, const Tensor& Wq,
                           const Tensor& Dq, const Tensor& q_capacitance) {
  const int64_t n = common_size(p_loc, q_loc);
  const Tensor log_dets = lowrank_logdet(Dq, q_capacitance) - lowrank_logdet(Dp, p_capacitance);
  const Tensor distance = lowrank_mahalanobis(Wq, Dq, q_loc - p_loc, q_capacitance);
  // tr((Wq Wq' + Dq)^-1 (Wp Wp' + Dp)), the inverse by Woodbury: four traces.
  const Tensor A = broadcast_solve(q_capacitance, Wq.mT() / Dq.unsqueeze(-2));
  Tensor trace = (Dp / Dq).sum(-1) + trace_of_square(Wp * Dq.rsqrt().unsqueeze(-1));
  trace = trace - trace_of_square(A * Dp.sqrt().unsqueeze(-2)) - trace_of_square(matmul(A, Wp));
  return 0.5 * (log_dets + trace + distance - n);
}

Tensor _kl_multivariate_lowrank(const Tensor& p_loc, const Tensor& L, const Tensor& q_loc, const Tensor& Wq, const Tensor& Dq, const Tensor& q_capacitance) {
  const int64_t n = common_size(p_loc, q_loc);
  const Tensor log_dets = lowrank_logdet(Dq, q_capacitance) - 2 * half_log_det(L);
  const Tensor distance = lowrank_mahalanobis(Wq, Dq, q_loc - p_loc, q_capacitance);
  const Tensor A = broadcast_solve(q_capacitance, Wq.mT() / Dq.unsqueeze(-2));
  const Tensor trace = trace_of_square(L * Dq.rsqrt().unsqueeze(-1)) - trace_of_square(matmul(A, L));
  return 0.5 * (log_dets + trace + distance - n);
}

Tensor _kl_lowrank_multivariate(const Tensor& p_loc, const Tensor& Wp, const Tensor& Dp, const Tensor& p_capacitance, const Tensor& q_loc, const Tensor& L) {
  const int64_t n = common_size(p_loc, q_loc);
  const Tensor log_dets = 2 * half_log_det(L) - lowrank_logdet(Dp, p_capacitance);
  const Tensor trace = trace_of_square(broadcast_solve(L, Wp)) + trace_of_square(broadcast_solve(L, diag_embed(Dp.sqrt())));
  return 0.5 * (log_dets + trace + batch_mahalanobis(L, q_loc - p_loc) - n);
}

Tensor _kl_multivariate_multivariate(const Tensor& p_loc, const Tensor& p_tril, const Tensor& q_loc, const Tensor& q_tril) {
  const int64_t n = common_size(p_loc, q_loc);
  const Tensor trace = trace_of_square(broadcast_solve(q_tril, p_tril));
  const Tensor distance = batch_mahalanobis(q_tril, q_loc - p_loc);
  return half_log_det(q_tril) - half_log_det(p_tril) + 0.5 * (trace + distance - n);
}

Tensor _kl_normal_gumbel(const Tensor& p_loc, const Tensor& p_scale, const Tensor& q_loc, const Tensor& q_scale) {
  const Tensor mean = p_loc / q_scale, ratio = (p_scale / q_scale).square(), shift = q_loc / q_scale;
  return -ratio.log() * 0.5 + mean - shift + exp(-mean + 0.5 * ratio + shift) - 0.5 * (1 + std::log(2 * kPi));
}

Tensor _kl_normal_laplace(const Tensor& p_loc, const Tensor& p_scale, const Tensor& q_loc, const Tensor& q_scale) {
  const Tensor away = p_loc - q_loc, ratio = p_scale / q_scale, standard = away / p_scale;
  const Tensor mean = std::sqrt(2 / kPi) * p_scale * exp(-0.5 * standard.square()) + away * erf(std::sqrt(0.5) * standard);
  return -ratio.log() + mean / q_scale - (0.5 + 0.5 * std::log(0.5 * kPi));
}

Tensor _kl_normal_normal(const Tensor& p_loc, const Tensor& p_scale, const Tensor& q_loc, const Tensor& q_scale) {
  const Tensor ratio = (p_scale / q_scale).pow(2);
  return 0.5 * (ratio + ((p_loc - q_loc) / q_scale).pow(2) - 1 - ratio.log());
}

Tensor _kl_pareto_exponential(const Tensor& p_scale, const Tensor& a, const Tensor& q_rate) {
  const Tensor rate = p_scale * q_rate;
  return where(a <= 1, kInfinity, (a / rate).log() - a.reciprocal() + a * rate / (a - 1) - 1);
}

Tensor _kl_pareto_gamma(const Tensor& p_scale, const Tensor& a, const Tensor& q_concentration, const Tensor& q_rate) {
  const Tensor log_mean = p_scale.log() + a.reciprocal(), rate = q_rate * a * p_scale / (a - 1);
  const Tensor norm = norm_of_gamma(q_concentration, q_rate);
  const Tensor result = a.log() - p_scale.log() - a.reciprocal() - 1 + norm + (1 - q_concentration) * log_mean + rate;
  return where(a <= 1, kInfinity, result);
}

Tensor _kl_pareto_normal(const Tensor& p_scale, const Tensor& a, const Tensor& p_mean, const Tensor& p_variance, const Tensor& q_loc, const Tensor& q_scale) {
  const Tensor cross = cross_normal(p_mean, p_variance, q_loc, q_scale);
  return where(a <= 2, kInfinity, a.log() - p_scale.log() - a.reciprocal() - 1 + cross);
}

Tensor _kl_pareto_pareto(const Tensor& p_scale, const Tensor& p_alpha, const Tensor& q_scale, const Tensor& q_alpha) {
  const Tensor scales = p_scale / q_scale, alphas = q_alpha / p_alpha;
  return where(p_scale < q_scale, kInfinity, q_alpha * scales.log() - alphas.log() + alphas - 1);
}

Tensor _kl_uniform_beta(const Tensor& low, const Tensor& high, const Tensor& q1, const Tensor& q0) {
  const Tensor width = high - low;
  const Tensor log_x = mean_log(low, high, width);
  const Tensor log_rest = (x_log_x(1 - low) - x_log_x(1 - high) - width) / width;
  const Tensor norm = q1.lgamma() + q0.lgamma() - (q1 + q0).lgamma();
  const Tensor result = norm - width.log() - (q1 - 1) * log_x - (q0 - 1) * log_rest;
  return where((high > 1.0) | (low < 0.0), kInfinity, result);
}

Tensor _kl_uniform_continuousbernoulli(const Tensor& low, const Tensor& high, const Tensor& p_entropy, const Tensor& p_mean, const Tensor& q_probs,
                                       const Tensor& q_logits, double q_low, double q_high) {
  const Tensor inside = composite::_kl_any_continuousbernoulli(p_entropy, p_mean, q_probs, q_logits, q_low, q_high);
  return where(cresset::max(high.ge(1.0), low.le(0.0)), kInfinity, inside);
}

Tensor _kl_uniform_exponential(const Tensor& low, const Tensor& high, const Tensor& q_rate) {
  return where(low < 0.0, kInfinity, q_rate * (high + low) / 2 - ((high - low) * q_rate).log());
}

Tensor _kl_uniform_gamma(const Tensor& low, const Tensor& high, const Tensor& q_concentration, const Tensor& q_rate) {
  const Tensor width = high - low;
  const Tensor log_x = mean_log(low, high, width), norm = norm_of_gamma(q_concentration, q_rate);
  const Tensor result = -width.log() + norm + (1 - q_concentration) * log_x + q_rate * (high + low) / 2;
  return where(low < 0.0, kInfinity, result);
}

Tensor _kl_uniform_gumbel(const Tensor& p_low, const Tensor& p_high, const Tensor& q_loc, const Tensor& q_scale) {
  const Tensor width = q_scale / (p_high - p_low);
  const Tensor high = (p_high - q_loc) / q_scale, low = (p_low - q_loc) / q_scale;
  return width.log() + 0.5 * (high + low) - width * (exp(-high) - exp(-low));
}

Tensor _kl_uniform_pareto(const Tensor& low, const Tensor& high, const Tensor& q_scale, const Tensor& q_alpha) {
  const Tensor width = high - low;
  const Tensor log_x = mean_log(low, high, width);
  const Tensor result = log_x * (q_alpha + 1) - width.log() - q_alpha.log() - q_alpha * q_scale.log();
  return where(low < q_scale, kInfinity, result);
}

}  // namespace cresset::ops::composite
