#include "cresset/nn/utils/parametrizations.h"

#include <limits>

#include "cresset/nn/module/tables.h"
#include "cresset/nn/utils/reparametrize.h"
#include "cresset/ops/list_functions.h"

namespace cresset::nn::utils::parametrizations::detail {

namespace {

Tensor transposed(const Tensor& t) { return t.transpose(-2, -1); }
Tensor diagonal_of(const Tensor& t) { return t.diagonal(0, -2, -1); }

double epsilon_of(ScalarType t) {
  switch (t) {
    case kDouble:
    case kComplexDouble: return std::numeric_limits<double>::epsilon();
    case kHalf: return 0x1p-10;
    case kBFloat16: return 0x1p-7;
    default: return std::numeric_limits<float>::epsilon();
  }
}

// Whether the columns of a square matrix are orthonormal, but for rounding.
bool is_orthogonal(const Tensor& q) {
  const int64_t n = q.size(-2);
  return allclose(adjoint(q).matmul(q), eye(n, q.options().requires_grad(false)), 1e-5, 10.0 * static_cast<double>(n) * epsilon_of(q.scalar_type()));
}

}  // namespace

OrthogonalImpl::OrthogonalImpl(const Tensor& weight, Map map, bool use_trivialization)
    : shape_(weight.sizes().vec()), map_(map), trivialized_(use_trivialization) {
  CRESSET_CHECK_VALUE(map != Map::householder || !weight.is_complex(), "orthogonal: householder does not support complex tensors");
  OrthogonalImpl::reset();
}
void OrthogonalImpl::reset() {
  // A copy comes with the base of its source.
  if (trivialized_) base = register_buffer("base", base.defined() ? base.clone() : Tensor());
}

Tensor OrthogonalImpl::forward(const Tensor& input) {
  const bool wide = input.size(-2) < input.size(-1);
  const Tensor x = wide ? transposed(input) : input;
  Tensor q = map_ == Map::householder ? _orthogonal_of_reflections(x) : _orthogonal_of_skew(x, map_ == Map::matrix_exp);
  if (base.defined()) q = base.matmul(q);
  return wide ? transposed(q) : q;
}

Tensor OrthogonalImpl::right_inverse(const Tensor& value) {
  NoGradGuard guard;
  CRESSET_CHECK_VALUE(value.sizes() == IntArrayRef(shape_), "orthogonal: expected a matrix or batch of matrices of shape ", IntArrayRef(shape_), ", got shape ",
                      value.sizes());
  const bool wide = value.size(-2) < value.size(-1);
  Tensor q = wide ? transposed(value) : value;
  const int64_t n = q.size(-2), k = q.size(-1);
  if (!trivialized_) {
    CRESSET_CHECK_NOT_IMPLEMENTED(map_ == Map::householder,
                                  "orthogonal: the matrix exponential and the Cayley map cannot be assigned to without use_trivialization");
    // The reflections that make q; the signs of R go on the diagonal, which they leave free.
    const Tensor a = _reflections_of(q);
    return wide ? transposed(a) : a;
  }
  if (n == k) {
    q = is_orthogonal(q) ? q.clone() : _orthogonalised(q);
  } else {
    // The rest of a basis is orthogonal to the columns with probability 1.
    std::vector<int64_t> rest = q.sizes().vec();
    rest.back() = n - k;
    q = _orthogonalised(cat({q, randn(rest, q.options().requires_grad(false))}, -1));
  }
  base = nn::detail::Tables::buffers(*this)["base"] = q;
  // The lower triangle of -I makes the skew matrix 0, and no reflections of sign -1.
  Tensor start = zeros_like(q.narrow(-1, 0, k));
  diagonal_of(start).fill_(-1.0);
  return wide ? transposed(start) : start;
}

Tensor WeightNormImpl::forward(const Tensor& length, const Tensor& direction) { return _scaled_direction(length, direction, dim_); }
std::vector<Tensor> WeightNormImpl::right_inverse(const Tensor& weight) { return {_norm_except(weight, dim_), weight}; }

SpectralNormImpl::SpectralNormImpl(const Tensor& weight, int64_t n_power_iterations, int64_t dim, double eps)
    : options_(weight.options().requires_grad(false)), n_power_iterations_(n_power_iterations), dim_(dim), eps_(eps) {
  CRESSET_CHECK_INDEX(dim >= -weight.dim() && dim < weight.dim(), "spectral_norm: dimension ", dim, " is out of range for shape ", weight.sizes());
  CRESSET_CHECK_VALUE(n_power_iterations > 0, "spectral_norm: n_power_iterations must be positive, got ", n_power_iterations);
  if (dim_ < 0) dim_ += weight.dim();
  if (weight.dim() == 1) return;
  NoGradGuard guard;
  const Tensor matrix = as_matrix(weight);
  rows_ = matrix.size(0);
  columns_ = matrix.size(1);
  SpectralNormImpl::reset();
  iterate(matrix, 15);
}
void SpectralNormImpl::reset() {
  if (!rows_) return;
  u = register_buffer("_u", utils::detail::normalized(empty({rows_}, options_).normal_(), eps_));
  v = register_buffer("_v", utils::detail::normalized(empty({columns_}, options_).normal_(), eps_));
}
Tensor SpectralNormImpl::as_matrix(const Tensor& weight) const { return (dim_ ? weight.transpose(0, dim_) : weight).flatten(1); }
void SpectralNormImpl::iterate(const Tensor& matrix, int64_t times) {
  NoGradGuard guard;
  _power_iteration_(u, v, matrix, times, eps_);
}
Tensor SpectralNormImpl::forward(const Tensor& weight) {
  if (!u.defined()) return utils::detail::normalized(weight, eps_);
  const Tensor matrix = as_matrix(weight);
  if (is_training()) iterate(matrix.detach(), n_power_iterations_);
  return _over_spectral_norm(weight, matrix, u.clone(), v.clone());
}

const Tensor& weight_of(const char* op, Module& module, const std::string& name) {
  const Tensor* weight = nn::detail::Tables::find(module, name);
  CRESSET_CHECK_VALUE(weight && weight->defined(), op, ": module ", module.name(), " has no parameter or buffer '", name, "'");
  return *weight;
}

std::shared_ptr<OrthogonalImpl> make_orthogonal(const Tensor& weight, const std::string& orthogonal_map, bool use_trivialization) {
  CRESSET_CHECK_VALUE(weight.dim() >= 2, "orthogonal: expected matrices, got a tensor of ", weight.dim(), " dimensions");
  using Map = OrthogonalImpl::Map;
  Map map = weight.size(-2) == weight.size(-1) || weight.is_complex() ? Map::matrix_exp : Map::householder;
  if (orthogonal_map == "matrix_exp") map = Map::matrix_exp;
  else if (orthogonal_map == "cayley") map = Map::cayley;
  else if (orthogonal_map == "householder") map = Map::householder;
  else CRESSET_CHECK_VALUE(orthogonal_map.empty(), "orthogonal: the map has to be matrix_exp, cayley or householder, got ", orthogonal_map);
  return std::make_shared<OrthogonalImpl>(weight, map, use_trivialization);
}

bool is_transposed_convolution(const Module& module) {
  return module.as<ConvTranspose1dImpl>() || module.as<ConvTranspose2dImpl>() || module.as<ConvTranspose3dImpl>();
}

}  // namespace cresset::nn::utils::parametrizations::detail
