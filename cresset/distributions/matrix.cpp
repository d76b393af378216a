// Distributions of vectors with a covariance, and of matrices.

#include "cresset/distributions/implementation.h"
#include "cresset/distributions/rows.h"

namespace cresset::distributions {

Tensor batch_mv(const Tensor& matrix, const Tensor& vector) { return matmul(matrix, vector.unsqueeze(-1)).squeeze(-1); }

Tensor batch_mahalanobis(const Tensor& factor, const Tensor& x) {
  if (factor.dim() == 2) {  // one factor: all vectors are its right-hand sides
    const Tensor solved = linalg_solve_triangular(factor, x.reshape({-1, x.size(-1)}).mT(), false);
    return solved.square().sum(0).reshape(but_last(x.sizes(), 1));
  }
  return linalg_solve_triangular(factor, x.unsqueeze(-1), false).square().sum({-2, -1});
}

Tensor as_matrices(const Tensor& numbers) { return numbers.unsqueeze(-1).unsqueeze(-1); }

Tensor half_log_det(const Tensor& factor) { return factor.diagonal(0, -2, -1).log().sum(-1); }

Tensor lowrank_logdet(const Tensor& D, const Tensor& core) { return 2 * half_log_det(core) + D.log().sum(-1); }

Tensor lowrank_mahalanobis(const Tensor& W, const Tensor& D, const Tensor& x, const Tensor& core) {
  const Tensor weighted = W.mT() / D.unsqueeze(-2);
  return (x.pow(2) / D).sum(-1) - batch_mahalanobis(core, batch_mv(weighted, x));
}

}  // namespace cresset::distributions

namespace cresset::ops::composite {

using namespace distributions;

// The factor of the inverse: the inverse of the factor of P turned around both ways, turned back.
Tensor _factor_of_precision(const Tensor& matrix) {
  const Tensor turned = linalg_cholesky(flip(matrix, {-2, -1}));
  const Tensor inverse = flip(turned, {-2, -1}).mT();
  return linalg_solve_triangular(inverse, eye(matrix.size(-1), matrix.options()), false);
}

Tensor _multivariatenormal_log_prob(const Tensor& value, const Tensor& loc, const Tensor& factor) {
  const Tensor distance = batch_mahalanobis(factor, value - loc);
  return -0.5 * (static_cast<double>(loc.size(-1)) * std::log(2 * kPi) + distance) - half_log_det(factor);
}

Tensor _multivariatenormal_entropy(const Tensor& loc, const Tensor& factor) {
  const Tensor entropy = 0.5 * static_cast<double>(loc.size(-1)) * (1.0 + std::log(2 * kPi)) + half_log_det(factor);
  return entropy.expand(but_last(loc.sizes(), 1));
}

Tensor _lowrankmultivariatenormal_rsample(IntArrayRef shape, const Tensor& loc, const Tensor& W, const Tensor& D) {
  const Tensor for_factor = standard_normal(join(but_last(shape, 1), {W.size(-1)}), loc.options());
  const Tensor for_diag = standard_normal(shape, loc.options());
  return loc + batch_mv(W, for_factor) + D.sqrt() * for_diag;
}

Tensor _lowrankmultivariatenormal_log_prob(const Tensor& value, const Tensor& loc, const Tensor& W, const Tensor& D, const Tensor& core) {
  const Tensor distance = lowrank_mahalanobis(W, D, value - loc, core);
  const Tensor log_det = lowrank_logdet(D, core);
  return -0.5 * (static_cast<double>(loc.size(-1)) * std::log(2 * kPi) + log_det + distance);
}

Tensor _lowrankmultivariatenormal_entropy(const Tensor& loc, const Tensor& D, const Tensor& core) {
  const Tensor entropy = 0.5 * (static_cast<double>(loc.size(-1)) * (1.0 + std::log(2 * kPi)) + lowrank_logdet(D, core));
  return entropy.expand(but_last(loc.sizes(), 1));
}

// W W' + D = D^1/2 (I + D^-1/2 W W' D^-1/2) D^1/2: the middle is never singular.
Tensor _lowrankmultivariatenormal_to_scale_tril(const Tensor& W, const Tensor& D) {
  const Tensor root = D.sqrt().unsqueeze(-1);
  const Tensor scaled = W / root;
  const Tensor middle = matmul(scaled, scaled.mT());
  return root * linalg_cholesky(middle + eye(W.size(-2), middle.options()));
}

Tensor _lowrankmultivariatenormal_to_precision_matrix(const Tensor& W, const Tensor& D, const Tensor& core) {
  const Tensor A = linalg_solve_triangular(core, W.mT() / D.unsqueeze(-2), false);
  return diag_embed(D.reciprocal()) - matmul(A.mT(), A);
}

Tensor _wishart_mode(const Tensor& df, const Tensor& covariance) {
  const Tensor factor = df - covariance.size(-1) - 1;
  return as_matrices(factor.masked_fill(factor <= 0, kNan)) * covariance;
}

Tensor _wishart_variance(const Tensor& df, const Tensor& V) {
  const Tensor diagonal = V.diagonal(0, -2, -1);
  return as_matrices(df) * (V.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2));
}

namespace {
// The derivative of the logarithm of the multivariate gamma function.
Tensor mvdigamma(const Tensor& x, int64_t p) { return digamma(x.unsqueeze(-1) - arange(p, x.options()).div(2)).sum(-1); }
}  // namespace

// A lower triangle of roots of chi-square variables over normal ones (Odell and Feiveson, 1966).
Tensor _wishart_draw(IntArrayRef sample_shape, const Tensor& df, const Tensor& factor) {
  const int64_t p = factor.size(-1);
  const Tensor rows = arange(p, factor.options());
  const Tensor half = 0.5 * (df.unsqueeze(-1) - rows.expand(join(df.sizes(), {-1})));
  const Tensor chi2 = composite::_gamma_rsample(join(sample_shape, half.sizes()), half, full_like(half, 0.5));
  Tensor noise = chi2.sqrt().diag_embed();
  const std::vector<Tensor> places = tril_indices(p, p, -1).unbind();
  const Tensor below = randn(join(join(sample_shape, df.sizes()), {p * (p - 1) / 2}), noise.options());
  noise.index_put_({indexing::Ellipsis, places[0], places[1]}, below);
  const Tensor product = matmul(factor, noise);
  return matmul(product, product.mT());
}

Tensor _wishart_log_prob(const Tensor& value, const Tensor& nu, const Tensor& factor) {
  const int64_t p = factor.size(-1);
  const Tensor log_det = half_log_det(factor);
  const Tensor trace = cholesky_solve(value, factor).diagonal(0, -2, -1).sum(-1);
  Tensor norm = nu * (static_cast<double>(p) * std::log(2.0) / 2 + log_det);
  norm = norm + mvlgamma(nu / 2, p);
  const Tensor power = (nu - p - 1) / 2;
  return power * std::get<1>(linalg_slogdet(value)) - trace / 2 - norm;
}

Tensor _wishart_entropy(const Tensor& nu, const Tensor& factor) {
  const int64_t p = factor.size(-1);
  const Tensor log_det = half_log_det(factor);
  const Tensor half = (nu - p - 1) / 2;
  const Tensor digammas = half * mvdigamma(nu / 2, p);
  Tensor entropy = (p + 1) * (static_cast<double>(p) * std::log(2.0) / 2 + log_det);
  entropy = entropy + mvlgamma(nu / 2, p);
  return entropy - digammas + nu * p / 2;
}

Tensor _wishart_log_normalizer(const Tensor& x, const Tensor& y) {
  const int64_t p = x.size(-1);
  const Tensor half = y + static_cast<double>(p + 1) / 2;
  const Tensor first = half * (-std::get<1>(linalg_slogdet(-2 * x)) + std::log(2.0) * static_cast<double>(p));
  return first + mvlgamma(half, p);
}

// The onion method (Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and extended onion method",
// 2009, section 3): row i below the diagonal is a point on a sphere of a length whose square is beta distributed.
Tensor _lkjcholesky_sample(IntArrayRef shape, const Tensor& concentration) {
  const int64_t n = shape.back();
  const TensorOptions options = concentration.options();
  const Tensor before = cresset::cat({zeros({1}, options), arange(n - 1, options)});
  const Tensor marginal = (concentration + 0.5 * static_cast<double>(n - 2)).unsqueeze(-1) - 0.5 * before;
  const Tensor both = stack(broadcast_all({before + 0.5, marginal}), -1);
  const Tensor y = composite::_beta_rsample(but_last(shape, 1).vec(), both).unsqueeze(-1);
  const Tensor normal = randn(shape, y.options()).tril(-1);
  const Tensor sphere = normal / normal.norm(Scalar(2), {-1}, true);
  sphere.select(-2, 0).fill_(0.0);  // the first row has nothing below the diagonal
  const Tensor w = sqrt(y) * sphere;
  const Tensor rest = (1 - w.pow(2).sum(-1)).clamp(Scalar(finfo(w.scalar_type()).tiny)).sqrt();
  return w + diag_embed(rest);
}

Tensor _lkjcholesky_log_prob(const Tensor& value, const Tensor& c) {
  const int64_t n = value.size(-1), rows = n - 1;
  const Tensor diagonal = value.diagonal(0, -1, -2).narrow(-1, 1, rows);
  const Tensor order = 2 * (c - 1).unsqueeze(-1) + n - arange(2, n + 1, TensorOptions(ScalarType::Long).device(c.device()));
  const Tensor alpha = c + 0.5 * static_cast<double>(rows);
  const Tensor norm = 0.5 * static_cast<double>(rows) * std::log(kPi) + mvlgamma(alpha - 0.5, rows) - lgamma(alpha) * rows;
  return (order * diagonal.log()).sum(-1) - norm;
}

}  // namespace cresset::ops::composite

namespace cresset::distributions {

namespace {

Tensor factor_of(const Tensor& given, int slot) { return slot == 3 ? given : slot == 1 ? linalg_cholesky(given) : _factor_of_precision(given); }

// Slots 1, 2 and 3 are a covariance, its inverse and its Cholesky factor, one given; slot 4 is the factor before it was broadcast.
constexpr int kFactor = 4;
constexpr int8_t kCovariance[] = {1, 2, 2, 2, DistributionImpl::kKeep};
constexpr const char* kOneOf = ": expected exactly one of covariance_matrix, precision_matrix and scale_tril, got ";
constexpr const char* kSlotNames[] = {"loc", "covariance_matrix", "precision_matrix", "scale_tril"};

template <class Base> struct CovarianceImpl : Base {
  // The one that is given, and its slot; 0 where none is, -1 where several are.
  static std::pair<Tensor, int> given_one(const Tensor& covariance, const Tensor& precision, const Tensor& tril) {
    const Tensor* all[] = {&covariance, &precision, &tril};
    std::pair<Tensor, int> found{Tensor(), 0};
    int count = 0;
    for (int i = 0; i < 3; i++)
      if (all[i]->defined()) {
        found = {*all[i], i + 1};
        count++;
      }
    return count <= 1 ? found : std::pair<Tensor, int>{Tensor(), -1};
  }
  void keep_given(const Tensor& given, int place) {
    this->slots_[kFactor] = given;
    place_ = place;
  }
  void finish() override { this->slots_[kFactor] = factor_of(this->slots_[kFactor], place_); }
  const Tensor& factor() const { return this->kept(kFactor); }
  Tensor named(std::string_view name) const override { return name == "unbroadcasted_scale_tril" ? factor() : Base::named(name); }
  ArrayRef<int8_t> slot_dims() const override { return kCovariance; }
  Tensor lazy(int slot) const override {
    const int64_t n = factor().size(-1);
    const Tensor m = slot == 3 ? factor() : slot == 1 ? _factor_to_covariance(factor()) : _factor_to_precision(factor());
    return m.expand(join(this->batch_shape_, {n, n}));
  }

 private:
  int place_ = 0;
};

constexpr Argument kMultivariateNormal[] = {{"loc", 0, constraints::real_vector},
                                            {"covariance_matrix", 1, constraints::positive_definite},
                                            {"precision_matrix", 2, constraints::positive_definite},
                                            {"scale_tril", 3, constraints::lower_cholesky}};

struct MultivariateNormalImpl final : ImplOf<MultivariateNormalImpl, MultivariateNormal, CovarianceImpl<DistributionImpl>> {
  MultivariateNormalImpl(const Tensor& loc, const Tensor& covariance, const Tensor& precision, const Tensor& tril) {
    CRESSET_CHECK_VALUE(loc.dim() >= 1, "MultivariateNormal: expected loc with at least one dimension, got a number");
    const auto [given, place] = given_one(covariance, precision, tril);
    CRESSET_CHECK_VALUE(place > 0, "MultivariateNormal", kOneOf, place ? "several" : "none");
    CRESSET_CHECK_VALUE(given.dim() >= 2, "MultivariateNormal: expected ", kSlotNames[place], " with at least two dimensions, got ", given.dim());
    batch_shape_ = broadcast_shapes({but_last(given.sizes(), 2), but_last(loc.sizes(), 1)});
    slots_.resize(5);
    slots_[static_cast<size_t>(place)] = given.expand(join(batch_shape_, {-1, -1}));
    slots_[0] = loc.expand(join(batch_shape_, {-1}));
    event_shape_ = last(slots_[0].sizes(), 1).vec();
    keep_given(given, place);
  }
  ArrayRef<Argument> arguments() const override { return kMultivariateNormal; }
  Constraint support() const override { return constraints::real_vector(); }
};

constexpr Argument kLowRank[] = {
    {"loc", 0, constraints::real_vector},
    {"cov_factor", 1, [] { return constraints::independent(constraints::real(), 2); }},
    {"cov_diag", 2, [] { return constraints::independent(constraints::positive(), 1); }},
};
// Then the factor and the diagonal before they were broadcast, and the core.
constexpr int8_t kLowRankDims[] = {1, 2, 1, DistributionImpl::kKeep, DistributionImpl::kKeep, DistributionImpl::kKeep};

struct LowRankImpl final : ImplOf<LowRankImpl, LowRankMultivariateNormal> {
  LowRankImpl(const Tensor& loc, const Tensor& factor, const Tensor& diag) {
    const bool vectors = loc.dim() >= 1 && diag.dim() >= 1 && factor.dim() >= 2;
    CRESSET_CHECK_VALUE(vectors && factor.size(-2) == loc.size(-1) && diag.size(-1) == loc.size(-1),
                        "LowRankMultivariateNormal: expected loc and cov_diag of one length n and a cov_factor of n rows, got shapes ", size_text(loc.sizes()),
                        ", ", size_text(diag.sizes()), " and ", size_text(factor.sizes()));
    try {
      batch_shape_ = broadcast_shapes({but_last(loc.sizes(), 1), but_last(factor.sizes(), 2), but_last(diag.sizes(), 1)});
    } catch (const Error&) {
      throw ValueError("LowRankMultivariateNormal: the batches do not broadcast, got loc " + size_text(loc.sizes()) + ", cov_factor " +
                       size_text(factor.sizes()) + ", cov_diag " + size_text(diag.sizes()));
    }
    event_shape_ = {loc.size(-1)};
    slots_ = {loc.expand(extended({})), factor.expand(join(batch_shape_, last(factor.sizes(), 2))), diag.expand(extended({})), factor, diag, Tensor()};
  }
  void finish() override { slots_[5] = _lowrankmultivariatenormal_core(kept(3), kept(4)); }
  Tensor named(std::string_view name) const override {
    if (name == "W" || name == "unbroadcasted_cov_factor") return kept(3);
    if (name == "D" || name == "unbroadcasted_cov_diag") return kept(4);
    if (name == "core" || name == "capacitance_tril") return kept(5);
    return DistributionImpl::named(name);
  }
  Tensor square(const Tensor& m) const { return m.expand(join(join(batch_shape_, event_shape_), event_shape_)); }
  ArrayRef<int8_t> slot_dims() const override { return kLowRankDims; }
  ArrayRef<Argument> arguments() const override { return kLowRank; }
  Constraint support() const override { return constraints::real_vector(); }
};

constexpr Argument kWishart[] = {{"covariance_matrix", 1, constraints::positive_definite},
                                 {"precision_matrix", 2, constraints::positive_definite},
                                 {"scale_tril", 3, constraints::lower_cholesky},
                                 {"df", 0, nullptr}};
constexpr int8_t kWishartDims[] = {0, 2, 2, 2, DistributionImpl::kKeep};

struct WishartImpl final : ImplOf<WishartImpl, Wishart, CovarianceImpl<FamilyImpl>> {
  WishartImpl(const TensorOrNumber& df, const Tensor& covariance, const Tensor& precision, const Tensor& tril) {
    const auto [given, place] = given_one(covariance, precision, tril);
    CRESSET_CHECK(place > 0, "Wishart", kOneOf, place ? "several" : "none");
    CRESSET_CHECK_VALUE(given.dim() >= 2, "Wishart: expected ", kSlotNames[place], " with at least two dimensions, got ", given.dim());
    slots_.resize(5);
    batch_shape_ = but_last(given.sizes(), 2).vec();
    if (df.is_tensor()) batch_shape_ = broadcast_shapes({batch_shape_, df.tensor().sizes()});
    slots_[0] = number_tensor(df, given.options()).expand(batch_shape_);
    event_shape_ = last(given.sizes(), 2).vec();
    CRESSET_CHECK_VALUE(!kept(0).le(p() - 1).any().item<bool>(), "Wishart: expected df above ", p() - 1, ", got ", format_text(df));
    slots_[static_cast<size_t>(place)] = given.expand(join(batch_shape_, {-1, -1}));
    keep_given(given, place);
  }
  void finish() override {
    if (kept(0).lt(p()).any().item<bool>()) warn("Wishart: samples are likely to be singular, since df is below the number of rows");
    CovarianceImpl::finish();
  }
  int64_t p() const { return event_shape_.back(); }
  ArrayRef<int8_t> slot_dims() const override { return kWishartDims; }
  ArrayRef<Argument> arguments() const override { return kWishart; }
  Constraint constraint_of(const Argument& a) const override { return a.slot == 0 ? constraints::greater_than(p() - 1) : a.constraint(); }
  Constraint support() const override { return constraints::positive_definite(); }
  // Of each draw: whether a matrix of its batch is singular.
  Tensor is_singular(const Tensor& sample, int64_t sample_dims) const {
    const Tensor inside = support().check(sample);
    return ~(batch_shape_.empty() ? inside : inside.flatten(sample_dims).all(-1));
  }
  Tensor rsample(IntArrayRef sample_shape) const override { return rsample(sample_shape, 10); }
  Tensor rsample(IntArrayRef sample_shape, int64_t tries) const {
    const auto draw = [&](IntArrayRef shape) { return _wishart_draw(shape, kept(0), factor()); };
    draw(sample_shape);  // PyTorch takes regular matrices for singular ones at first, and draws them again
    Tensor sample = draw(sample_shape);
    Tensor singular = is_singular(sample, static_cast<int64_t>(sample_shape.size()));
    if (!singular.any().item<bool>()) return sample;
    warn("Wishart: some samples are singular and are drawn again");
    for (int64_t i = 0; i < tries && singular.any().item<bool>(); i++) {
      const Tensor fresh = draw({singular.sum().item<int64_t>()});
      sample.index_put_({singular}, fresh);
      singular.index_put_({singular.clone()}, is_singular(fresh, 1));
    }
    return sample;
  }
};

constexpr Argument kLkj[] = {{"concentration", 0, constraints::positive}};
constexpr int8_t kLkjDims[] = {0};

struct LkjImpl final : ImplOf<LkjImpl, LKJCholesky> {
  LkjImpl(int64_t n, const TensorOrNumber& concentration) {
    CRESSET_CHECK_VALUE(n >= 2, "LKJCholesky: expected dim of at least 2, got ", n);
    slots_ = broadcast_all({concentration});
    batch_shape_ = kept(0).sizes().vec();
    event_shape_ = {n, n};
  }
  ArrayRef<int8_t> slot_dims() const override { return kLkjDims; }
  ArrayRef<Argument> arguments() const override { return kLkj; }
  Constraint support() const override { return constraints::corr_cholesky(); }
};

const LowRankImpl& lowrank(const Distribution& distribution) { return static_cast<const LowRankImpl&>(distribution.impl()); }

}  // namespace

const Kind MultivariateNormal::kKind{"MultivariateNormal", &Distribution::kKind, true, false, &multivariatenormal_formulas};
const Kind LowRankMultivariateNormal::kKind{"LowRankMultivariateNormal", &Distribution::kKind, true, false, &lowrankmultivariatenormal_formulas};
const Kind Wishart::kKind{"Wishart", &ExponentialFamily::kKind, true, false, &wishart_formulas};
const Kind LKJCholesky::kKind{"LKJCholesky", &Distribution::kKind, false, false, &lkjcholesky_formulas};

MultivariateNormal::MultivariateNormal(const Tensor& loc, const Tensor& covariance_matrix, const Tensor& precision_matrix, const Tensor& scale_tril,
                                       Validate validate_args)
    : Distribution(new MultivariateNormalImpl(loc, covariance_matrix, precision_matrix, scale_tril), validate_args) {}
LowRankMultivariateNormal::LowRankMultivariateNormal(const Tensor& loc, const Tensor& cov_factor, const Tensor& cov_diag, Validate validate_args)
    : Distribution(new LowRankImpl(loc, cov_factor, cov_diag), validate_args) {}
Tensor LowRankMultivariateNormal::covariance_matrix() const {
  const LowRankImpl& d = lowrank(*this);
  return d.square(_lowrankmultivariatenormal_to_covariance_matrix(d.kept(3), d.kept(4)));
}
Tensor LowRankMultivariateNormal::precision_matrix() const {
  const LowRankImpl& d = lowrank(*this);
  return d.square(_lowrankmultivariatenormal_to_precision_matrix(d.kept(3), d.kept(4), d.kept(5)));
}
Tensor LowRankMultivariateNormal::scale_tril() const {
  const LowRankImpl& d = lowrank(*this);
  return d.square(_lowrankmultivariatenormal_to_scale_tril(d.kept(3), d.kept(4)));
}
Wishart::Wishart(const TensorOrNumber& df, const Tensor& covariance_matrix, const Tensor& precision_matrix, const Tensor& scale_tril, Validate validate_args)
    : ExponentialFamily(new WishartImpl(df, covariance_matrix, precision_matrix, scale_tril), validate_args) {}
Tensor Wishart::rsample(IntArrayRef sample_shape, std::optional<int64_t> max_try_correction) const {
  return static_cast<const WishartImpl&>(impl()).rsample(sample_shape, max_try_correction.value_or(10));
}
LKJCholesky::LKJCholesky(int64_t dim, const TensorOrNumber& concentration, Validate validate_args)
    : Distribution(new LkjImpl(dim, concentration), validate_args) {}

}  // namespace cresset::distributions
