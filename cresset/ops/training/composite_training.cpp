// Computations that layers, initialisers, parametrizations and optimizers of both front ends share (ops/training.toml).

#include <cmath>

#include "cresset/ops/bodies_training.h"
#include "cresset/ops/build_info.h"
#include "cresset/ops/functions.h"

namespace cresset::ops::composite {

namespace {

// The sums over the channels from `before` earlier to `after` later.
Tensor window(const Tensor& x, int64_t before, int64_t after) {
  return cresset::constant_pad_nd(x.unsqueeze(1), {0, 0, 0, 0, before, after}).squeeze(1).unfold(1, before + after + 1, 1).sum(-1);
}

Tensor diagonal_of(const Tensor& t) { return t.diagonal(0, -2, -1); }

}  // namespace

// As PyTorch computes it: forward, a running sum over channels never lets go of the first; backward, sums lie one channel lower.
std::tuple<Tensor, Tensor> _cross_map_lrn(const Tensor& self, int64_t size, double alpha, double beta, double k) {
  const int64_t before = (size - 1) / 2, channels = self.size(1);
  const Tensor squares = self.square();
  const Tensor total = window(squares, before, before);
  if (channels > before + 1) total.narrow(1, before + 1, channels - before - 1).add_(squares.narrow(1, 0, 1));
  const Tensor scale = total * (alpha / static_cast<double>(size)) + k;
  return {self * scale.pow(-beta), scale};
}
Tensor _cross_map_lrn_backward(const Tensor& grad, const Tensor& self, const Tensor& output, const Tensor& scale, int64_t size, double alpha, double beta) {
  const int64_t before = (size - 1) / 2;
  CRESSET_CHECK(before > 0, "CrossMapLRN2d: no derivative for windows of fewer than three channels");
  const double factor = 2 * alpha * beta / static_cast<double>(size);
  return grad * scale.pow(-beta) - self * factor * window(grad * output / scale, before + 1, before - 1);
}

std::tuple<Tensor, Tensor> _fuse_batch_norm(const Tensor& weight, const std::optional<Tensor>& bias, const Tensor& mean, const Tensor& var, double eps,
                                            const std::optional<Tensor>& gamma, const std::optional<Tensor>& beta, int64_t channel_dim) {
  const Tensor own = bias ? *bias : cresset::zeros_like(mean);
  Tensor scale = (var + eps).rsqrt();
  if (gamma) scale = *gamma * scale;
  DimVector shape(static_cast<size_t>(weight.dim()), 1);
  shape[static_cast<size_t>(channel_dim)] = -1;
  Tensor offset = (own - mean) * scale;
  if (beta) offset = offset + *beta;
  return {(weight * scale.reshape(shape)).to(weight.scalar_type()), offset.to(own.scalar_type())};
}

Tensor _norm_except(const Tensor& v, int64_t dim) {
  if (dim == -1) return cresset::linalg_vector_norm(v, 2);
  if (v.dim() <= 1) return v.abs();
  DimVector others;
  for (int64_t d = 0; d < v.dim(); d++)
    if (d != dim) others.push_back(d);
  return cresset::linalg_vector_norm(v, 2, others, true);
}
Tensor _scaled_direction(const Tensor& length, const Tensor& direction, int64_t dim) { return direction * (length / composite::_norm_except(direction, dim)); }

Tensor _over_spectral_norm(const Tensor& weight, const Tensor& matrix, const Tensor& u, const Tensor& v) { return weight / u.vdot(matrix.mv(v)); }
Tensor& _power_iteration_(Tensor& self, Tensor& other, const Tensor& matrix, int64_t times, double eps) {
  const auto normalized = [&](const Tensor& v) { return v / cresset::linalg_vector_norm(v, 2, {0}, true).clamp_min(eps).expand_as(v); };
  for (int64_t i = 0; i < times; i++) {
    self.copy_(normalized(matrix.mv(other)));
    other.copy_(normalized(cresset::adjoint(matrix).mv(self)));
  }
  return self;
}

// The exponential of the skew-Hermitian matrix with this lower triangle, or its Cayley transform; as many columns as there are.
Tensor _orthogonal_of_skew(const Tensor& lower, bool exponential) {
  const int64_t n = lower.size(-2), k = lower.size(-1);
  Tensor a = lower.tril();
  if (n != k) {
    DimVector rest(a.sizes());
    rest.back() = n - k;
    a = cresset::cat({a, cresset::zeros(rest, a.options().requires_grad(false))}, -1);
  }
  a = a - cresset::adjoint(a);
  Tensor q;
  if (exponential) {
    q = cresset::matrix_exp(a);
  } else {
    const Tensor identity = cresset::eye(n, a.options().requires_grad(false));
    q = cresset::linalg_solve(cresset::add(identity, a, -0.5), cresset::add(identity, a, 0.5));
  }
  return n != k ? q.narrow(-1, 0, k) : q;
}
// A product of Householder reflections, their signs on the diagonal.
Tensor _orthogonal_of_reflections(const Tensor& lower) {
  const Tensor a = lower.tril(-1), tau = 2.0 / (a.square().sum(-2) + 1.0);
  return cresset::linalg_householder_product(a, tau) * diagonal_of(lower).to(kInt).unsqueeze(-2);
}
// The reflections that make a matrix; the signs of R go on the diagonal, which they leave free.
Tensor _reflections_of(const Tensor& orthogonal) {
  auto [a, tau] = cresset::geqrf(orthogonal);
  const Tensor diagonal = diagonal_of(a);
  diagonal.copy_(diagonal.sign() * cresset::where(tau.eq(0), -1.0, 1.0));
  return a;
}
// The Q of a QR decomposition whose R has a positive diagonal.
Tensor _orthogonalised(const Tensor& matrix) {
  const auto [x, tau] = cresset::geqrf(matrix);
  return cresset::linalg_householder_product(x, tau) * diagonal_of(x).sgn().unsqueeze(-2);
}

// The same of a matrix with as many rows as columns or more, by the numbers that initialisers draw.
Tensor _orthogonal_factor(const Tensor& matrix) {
  if (lapack_found() || matrix.lacks_data()) {
    const auto [q, r] = cresset::linalg_qr(matrix);
    return q * diagonal_of(r).sign();
  }
  // Without LAPACK: modified Gram-Schmidt, of which two passes are enough; the diagonal of R is positive.
  Tensor q = matrix.to(kDouble).contiguous().clone();
  for (int64_t j = 0; j < 2 * q.size(1); j++) {
    Tensor column = q.select(1, j % q.size(1));
    const Tensor before = q.narrow(1, 0, j % q.size(1));
    column.sub_(before.mv(before.t().mv(column)));
    column.div_(column.square().sum().sqrt());
  }
  return q.to(matrix.scalar_type());
}

// Numbers of the normal distribution that lie in [a, b].
Tensor& _trunc_normal_(Tensor& self, double mean, double std, double a, double b, const std::optional<Generator>& generator) {
  const auto cumulative = [](double x) { return (1 + std::erf(x / std::sqrt(2.0))) / 2; };
  const double low = cumulative((a - mean) / std), high = cumulative((b - mean) / std);
  if (high - low <= 0.3) {
    self.uniform_(2 * low - 1, 2 * high - 1, generator).erfinv_();
    self.mul_(std * std::sqrt(2.0)).add_(mean).clamp_(a, b);
    return self;
  }
  // Drawing again what falls outside is cheap.
  self.normal_(mean, std, generator);
  for (;;) {
    const Tensor outside = self.lt(a).logical_or(self.gt(b));
    if (!outside.any().item<bool>()) return self;
    self.copy_(cresset::where(outside, cresset::empty_like(self).normal_(mean, std, generator), self));
  }
}

Tensor _clip_factor(const Tensor& norm, double max_norm) { return (max_norm / (norm + 1e-6)).clamp_max(1.0); }

// -H grad by the two-loop recursion over the remembered pairs (Nocedal and Wright, "Numerical Optimization", algorithm 7.4), and its coefficients.
std::vector<Tensor> _lbfgs_direction(const Tensor& grad, TensorList dirs, TensorList steps, TensorList ro, const Scalar& h_diag) {
  std::vector<Tensor> alpha(dirs.size());
  Tensor q = grad.neg();
  for (size_t i = dirs.size(); i-- > 0;) {
    alpha[i] = steps[i].dot(q) * ro[i];
    q.add_(dirs[i], -alpha[i].item<double>());
  }
  const Tensor r = q.mul(h_diag);
  for (size_t i = 0; i < dirs.size(); i++) r.add_(steps[i], (alpha[i] - dirs[i].dot(r) * ro[i]).item<double>());
  std::vector<Tensor> found{r};
  found.insert(found.end(), alpha.begin(), alpha.end());
  return found;
}

}  // namespace cresset::ops::composite
