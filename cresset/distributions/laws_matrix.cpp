// Laws of vectors with a covariance, and of matrices.

#include "cresset/distributions/law_of.h"
#include "cresset/distributions/multivariate.h"

namespace cresset::distributions {

Tensor batch_mv(const Tensor& matrix, const Tensor& vector) { return matmul(matrix, vector.unsqueeze(-1)).squeeze(-1); }

Tensor batch_mahalanobis(const Tensor& factor, const Tensor& x) {
  if (factor.dim() == 2) {  // one factor: all vectors are its right-hand sides
    const Tensor solved = linalg_solve_triangular(factor, x.reshape({-1, x.size(-1)}).mT(), false);
    return solved.square().sum(0).reshape(but_last(x.sizes(), 1));
  }
  return linalg_solve_triangular(factor, x.unsqueeze(-1), false).square().sum({-2, -1});
}

Tensor half_log_det(const Tensor& factor) { return factor.diagonal(0, -2, -1).log().sum(-1); }

namespace {

// The factor of the inverse: the inverse of the factor of P turned around both ways, turned back.
Tensor precision_to_scale_tril(const Tensor& p) {
  const Tensor turned = linalg_cholesky(flip(p, {-2, -1}));
  const Tensor inverse = flip(turned, {-2, -1}).mT();
  return linalg_solve_triangular(inverse, eye(p.size(-1), p.options()), false);
}

Tensor scale_tril_of(const Tensor& given, int slot) {
  return slot == 3 ? given : slot == 1 ? linalg_cholesky(given) : precision_to_scale_tril(given);
}

// Slots 1, 2 and 3 are a covariance, its inverse and its Cholesky factor, one given; slot 4 is the factor before it was broadcast.
constexpr int kFactor = 4;
constexpr int8_t kCovariance[] = {1, 2, 2, 2, DistributionImpl::kKeep};

template <class Base>
struct CovarianceImpl : Base {
  // The one that is given, and its slot; 0 where none or several are.
  static std::pair<Tensor, int> given_one(const Tensor& covariance, const Tensor& precision, const Tensor& tril) {
    const Tensor* all[] = {&covariance, &precision, &tril};
    std::pair<Tensor, int> found{Tensor(), 0};
    int count = 0;
    for (int i = 0; i < 3; i++)
      if (all[i]->defined()) {
        found = {*all[i], i + 1};
        count++;
      }
    return count == 1 ? found : std::pair<Tensor, int>{Tensor(), 0};
  }
  void keep_given(const Tensor& given, int place) {
    this->slots_[kFactor] = given;
    place_ = place;
  }
  void finish() override { this->slots_[kFactor] = scale_tril_of(this->slots_[kFactor], place_); }
  const Tensor& factor() const { return this->kept(kFactor); }
  ArrayRef<int8_t> slot_dims() const override { return kCovariance; }
  Tensor lazy(int slot) const override {
    const int64_t n = factor().size(-1);
    const Tensor m = slot == 3 ? factor() : slot == 1 ? matmul(factor(), factor().mT()) : cholesky_inverse(factor());
    return m.expand(join(this->batch_shape_, {n, n}));
  }

 private:
  int place_ = 0;
};

constexpr Argument kMultivariateNormal[] = {{"loc", 0, constraints::real_vector},
                                            {"covariance_matrix", 1, constraints::positive_definite},
                                            {"precision_matrix", 2, constraints::positive_definite},
                                            {"scale_tril", 3, constraints::lower_cholesky}};

struct MultivariateNormalLaw final : LawOf<MultivariateNormalLaw, MultivariateNormal, CovarianceImpl<DistributionImpl>> {
  MultivariateNormalLaw(const Tensor& loc, const Tensor& covariance, const Tensor& precision, const Tensor& tril) {
    CRESSET_CHECK_VALUE(loc.dim() >= 1, "loc must be at least one-dimensional.");
    const auto [given, place] = given_one(covariance, precision, tril);
    CRESSET_CHECK_VALUE(place, "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.");
    CRESSET_CHECK_VALUE(given.dim() >= 2, place == 3 ? "scale_tril matrix" : kMultivariateNormal[place].name,
                        " must be at least two-dimensional, with optional leading batch dimensions");
    batch_shape_ = broadcast_shapes({but_last(given.sizes(), 2), but_last(loc.sizes(), 1)});
    slots_.resize(5);
    slots_[static_cast<size_t>(place)] = given.expand(join(batch_shape_, {-1, -1}));
    slots_[0] = loc.expand(join(batch_shape_, {-1}));
    event_shape_ = last(slots_[0].sizes(), 1).vec();
    keep_given(given, place);
  }
  const Tensor& loc() const { return kept(0); }
  ArrayRef<Argument> arguments() const override { return kMultivariateNormal; }
  Constraint support() const override { return constraints::real_vector(); }
  Tensor mean() const override { return loc(); }
  Tensor mode() const override { return loc(); }
  Tensor variance() const override { return factor().pow(2).sum(-1).expand(extended({})); }
  Tensor rsample(IntArrayRef sample_shape) const override {
    return loc() + batch_mv(factor(), standard_normal(extended(sample_shape), loc().options()));
  }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    const Tensor distance = batch_mahalanobis(factor(), value - loc());
    return -0.5 * (static_cast<double>(event_shape_[0]) * std::log(2 * kPi) + distance) - half_log_det(factor());
  }
  Tensor entropy() const override {
    const Tensor entropy = 0.5 * static_cast<double>(event_shape_[0]) * (1.0 + std::log(2 * kPi)) + half_log_det(factor());
    return batch_shape_.empty() ? entropy : entropy.expand(batch_shape_);
  }
};

constexpr Argument kLowRank[] = {
    {"loc", 0, constraints::real_vector},
    {"cov_factor", 1, [] { return constraints::independent(constraints::real(), 2); }},
    {"cov_diag", 2, [] { return constraints::independent(constraints::positive(), 1); }},
};
// Then the factor and the diagonal before they were broadcast, and the Cholesky factor of I + W' D^-1 W.
constexpr int8_t kLowRankDims[] = {1, 2, 1, DistributionImpl::kKeep, DistributionImpl::kKeep, DistributionImpl::kKeep};

struct LowRankLaw final : LawOf<LowRankLaw, LowRankMultivariateNormal> {
  LowRankLaw(const Tensor& loc, const Tensor& factor, const Tensor& diag) {
    CRESSET_CHECK_VALUE(loc.dim() >= 1, "loc must be at least one-dimensional.");
    CRESSET_CHECK_VALUE(factor.dim() >= 2, "cov_factor must be at least two-dimensional, with optional leading batch dimensions");
    const int64_t n = loc.size(-1);
    CRESSET_CHECK_VALUE(factor.size(-2) == n, "cov_factor must be a batch of matrices with shape ", n, " x m");
    CRESSET_CHECK_VALUE(diag.dim() >= 1 && diag.size(-1) == n, "cov_diag must be a batch of vectors with shape ", size_text({n}));
    try {
      batch_shape_ = broadcast_shapes({but_last(loc.sizes(), 1), but_last(factor.sizes(), 2), but_last(diag.sizes(), 1)});
    } catch (const Error&) {
      throw ValueError("Incompatible batch shapes: loc " + size_text(loc.sizes()) + ", cov_factor " + size_text(factor.sizes()) +
                       ", cov_diag " + size_text(diag.sizes()));
    }
    event_shape_ = {n};
    slots_ = {loc.expand(extended({})),
              factor.expand(join(batch_shape_, last(factor.sizes(), 2))),
              diag.expand(extended({})),
              factor,
              diag,
              Tensor()};
  }
  void finish() override {
    const Tensor weighted = W().mT() / D().unsqueeze(-2);
    slots_[5] = linalg_cholesky(matmul(weighted, W()) + eye(W().size(-1), W().options()));
  }
  const Tensor& loc() const { return kept(0); }
  const Tensor& W() const { return kept(3); }
  const Tensor& D() const { return kept(4); }
  const Tensor& capacitance_tril() const { return kept(5); }
  Tensor square(const Tensor& m) const { return m.expand(join(join(batch_shape_, event_shape_), event_shape_)); }
  ArrayRef<int8_t> slot_dims() const override { return kLowRankDims; }
  ArrayRef<Argument> arguments() const override { return kLowRank; }
  Constraint support() const override { return constraints::real_vector(); }
  Tensor mean() const override { return loc(); }
  Tensor mode() const override { return loc(); }
  Tensor variance() const override { return (W().pow(2).sum(-1) + D()).expand(extended({})); }
  Tensor scale_tril() const {
    // W W' + D = D^1/2 (I + D^-1/2 W W' D^-1/2) D^1/2: the middle is never singular.
    const Tensor root = D().sqrt().unsqueeze(-1);
    const Tensor scaled = W() / root;
    const Tensor middle = matmul(scaled, scaled.mT());
    return square(root * linalg_cholesky(middle + eye(event_shape_[0], middle.options())));
  }
  Tensor covariance_matrix() const { return square(matmul(W(), W().mT()) + diag_embed(D())); }
  Tensor precision_matrix() const {
    const Tensor A = linalg_solve_triangular(capacitance_tril(), W().mT() / D().unsqueeze(-2), false);
    return square(diag_embed(D().reciprocal()) - matmul(A.mT(), A));
  }
  Tensor rsample(IntArrayRef sample_shape) const override {
    const Shape shape = extended(sample_shape);
    const Tensor for_factor = standard_normal(join(but_last(shape, 1), {kept(1).size(-1)}), loc().options());
    const Tensor for_diag = standard_normal(shape, loc().options());
    return loc() + batch_mv(W(), for_factor) + D().sqrt() * for_diag;
  }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    const Tensor distance = lowrank_mahalanobis(W(), D(), value - loc(), capacitance_tril());
    const Tensor log_det = lowrank_logdet(D(), capacitance_tril());
    return -0.5 * (static_cast<double>(event_shape_[0]) * std::log(2 * kPi) + log_det + distance);
  }
  Tensor entropy() const override {
    const Tensor log_det = lowrank_logdet(D(), capacitance_tril());
    const Tensor entropy = 0.5 * (static_cast<double>(event_shape_[0]) * (1.0 + std::log(2 * kPi)) + log_det);
    return batch_shape_.empty() ? entropy : entropy.expand(batch_shape_);
  }
};

constexpr Argument kWishart[] = {{"covariance_matrix", 1, constraints::positive_definite},
                                 {"precision_matrix", 2, constraints::positive_definite},
                                 {"scale_tril", 3, constraints::lower_cholesky},
                                 {"df", 0, nullptr}};
constexpr int8_t kWishartDims[] = {0, 2, 2, 2, DistributionImpl::kKeep};

// The derivative of the logarithm of the multivariate gamma function.
Tensor mvdigamma(const Tensor& x, int64_t p) { return digamma(x.unsqueeze(-1) - arange(p, x.options()).div(2)).sum(-1); }

struct WishartLaw final : LawOf<WishartLaw, Wishart, CovarianceImpl<ExponentialFamilyImpl>> {
  WishartLaw(const TensorOrNumber& df, const Tensor& covariance, const Tensor& precision, const Tensor& tril) {
    const auto [given, place] = given_one(covariance, precision, tril);
    CRESSET_CHECK(place, "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.");
    CRESSET_CHECK_VALUE(given.dim() >= 2, "scale_tril must be at least two-dimensional, with optional leading batch dimensions");
    slots_.resize(5);
    batch_shape_ = but_last(given.sizes(), 2).vec();
    if (df.is_tensor()) batch_shape_ = broadcast_shapes({batch_shape_, df.tensor().sizes()});
    slots_[0] = number_tensor(df, given.options()).expand(batch_shape_);
    event_shape_ = last(given.sizes(), 2).vec();
    CRESSET_CHECK_VALUE(!kept(0).le(p() - 1).any().item<bool>(), "Value of df=", format_text(df),
                        " expected to be greater than ndim - 1 = ", p() - 1, ".");
    slots_[static_cast<size_t>(place)] = given.expand(join(batch_shape_, {-1, -1}));
    keep_given(given, place);
  }
  void finish() override {
    if (kept(0).lt(p()).any().item<bool>())
      warn("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.");
    CovarianceImpl::finish();
    parts_ = {chi2(batch_shape_)};
  }
  void expand_to(IntArrayRef batch_shape) override {
    parts_.clear();
    DistributionImpl::expand_to(batch_shape);
    parts_ = {chi2(batch_shape)};
  }
  Distribution chi2(IntArrayRef batch_shape) const {
    const Tensor rows = arange(p(), factor().options());
    return Chi2(df().unsqueeze(-1) - rows.expand(join(batch_shape, {-1})));
  }
  const Tensor& df() const { return kept(0); }
  int64_t p() const { return event_shape_.back(); }
  ArrayRef<int8_t> slot_dims() const override { return kWishartDims; }
  ArrayRef<Argument> arguments() const override { return kWishart; }
  Constraint constraint_of(const Argument& a) const override {
    return a.slot == 0 ? constraints::greater_than(p() - 1) : a.constraint();
  }
  Constraint support() const override { return constraints::positive_definite(); }
  Tensor as_matrices(const Tensor& numbers) const { return numbers.view(join(batch_shape_, {1, 1})); }
  Tensor mean() const override { return as_matrices(df()) * slot(1); }
  Tensor mode() const override {
    const Tensor factor = df() - p() - 1;
    return as_matrices(factor.masked_fill(factor <= 0, kNan)) * slot(1);
  }
  Tensor variance() const override {
    const Tensor V = slot(1), diagonal = V.diagonal(0, -2, -1);
    return as_matrices(df()) * (V.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2));
  }
  // A lower triangle of roots of chi-square variables over normal ones (Odell and Feiveson, 1966).
  Tensor bartlett(IntArrayRef sample_shape) const {
    Tensor noise = parts_[0].rsample(sample_shape).sqrt().diag_embed();
    const std::vector<Tensor> places = tril_indices(p(), p(), -1).unbind();
    const Tensor below = randn(join(join(sample_shape, batch_shape_), {p() * (p() - 1) / 2}), noise.options());
    noise.index_put_({indexing::Ellipsis, places[0], places[1]}, below);
    const Tensor product = matmul(factor(), noise);
    return matmul(product, product.mT());
  }
  // Of each draw: whether a matrix of its batch is singular.
  Tensor is_singular(const Tensor& sample, int64_t sample_dims) const {
    const Tensor inside = support().check(sample);
    return ~(batch_shape_.empty() ? inside : inside.flatten(sample_dims).all(-1));
  }
  Tensor rsample(IntArrayRef sample_shape) const override { return rsample(sample_shape, 10); }
  Tensor rsample(IntArrayRef sample_shape, int64_t tries) const {
    bartlett(sample_shape);  // PyTorch takes regular matrices for singular ones at first, and draws them again
    Tensor sample = bartlett(sample_shape);
    Tensor singular = is_singular(sample, static_cast<int64_t>(sample_shape.size()));
    if (!singular.any().item<bool>()) return sample;
    warn("Singular sample detected.");
    for (int64_t i = 0; i < tries && singular.any().item<bool>(); i++) {
      const Tensor fresh = bartlett({singular.sum().item<int64_t>()});
      sample.index_put_({singular}, fresh);
      singular.index_put_({singular.clone()}, is_singular(fresh, 1));
    }
    return sample;
  }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    const Tensor &nu = df(), log_det = half_log_det(factor());
    const Tensor trace = cholesky_solve(value, factor()).diagonal(0, -2, -1).sum(-1);
    Tensor norm = nu * (static_cast<double>(p()) * std::log(2.0) / 2 + log_det);
    norm = norm + mvlgamma(nu / 2, p());
    const Tensor power = (nu - p() - 1) / 2;
    return power * std::get<1>(linalg_slogdet(value)) - trace / 2 - norm;
  }
  Tensor entropy() const override {
    const Tensor &nu = df(), log_det = half_log_det(factor());
    const Tensor half = (nu - p() - 1) / 2;
    const Tensor digammas = half * mvdigamma(nu / 2, p());
    Tensor entropy = (p() + 1) * (static_cast<double>(p()) * std::log(2.0) / 2 + log_det);
    entropy = entropy + mvlgamma(nu / 2, p());
    return entropy - digammas + nu * p() / 2;
  }
  double mean_carrier_measure() const override { return 0; }
  std::vector<Tensor> natural_params() const override { return {-slot(2) / 2, (df() - p() - 1) / 2}; }
  Tensor log_normalizer(const std::vector<Tensor>& n) const override {
    const Tensor half = n[1] + static_cast<double>(p() + 1) / 2;
    const Tensor first = half * (-std::get<1>(linalg_slogdet(-2 * n[0])) + std::log(2.0) * static_cast<double>(p()));
    return first + mvlgamma(half, p());
  }
};

constexpr Argument kLkj[] = {{"concentration", 0, constraints::positive}};

// Sampled by the onion method (Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and extended
// onion method", 2009, section 3).
struct LkjLaw final : LawOf<LkjLaw, LKJCholesky> {
  LkjLaw(int64_t n, const TensorOrNumber& concentration) : dim(n) {
    CRESSET_CHECK_VALUE(n >= 2, "Expected dim to be an integer greater than or equal to 2. Found dim=", n, ".");
    slots_ = broadcast_all({concentration});
    batch_shape_ = kept(0).sizes().vec();
    event_shape_ = {n, n};
    // The squared length of what row i has below the diagonal.
    const TensorOptions options = kept(0).options();
    const Tensor before = cresset::cat({zeros({1}, options), arange(n - 1, options)});
    const Tensor marginal = kept(0) + 0.5 * static_cast<double>(n - 2);
    parts_ = {Beta(before + 0.5, marginal.unsqueeze(-1) - 0.5 * before)};
  }
  void expand_to(IntArrayRef batch_shape) override {
    slots_[0] = slots_[0].expand(batch_shape);
    parts_[0] = parts_[0].expand(join(batch_shape, {dim}));
  }
  ArrayRef<Argument> arguments() const override { return kLkj; }
  Constraint support() const override { return constraints::corr_cholesky(); }
  Tensor sample(IntArrayRef sample_shape) const override {
    const Tensor y = parts_[0].sample(sample_shape).unsqueeze(-1);
    const Tensor normal = randn(extended(sample_shape), y.options()).tril(-1);
    const Tensor sphere = normal / normal.norm(Scalar(2), {-1}, true);
    sphere.select(-2, 0).fill_(0.0);  // the first row has nothing below the diagonal
    const Tensor w = sqrt(y) * sphere;
    const Tensor rest = (1 - w.pow(2).sum(-1)).clamp(Scalar(finfo(w.scalar_type()).tiny)).sqrt();
    return w + diag_embed(rest);
  }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    const Tensor& c = kept(0);
    const Tensor diagonal = value.diagonal(0, -1, -2).narrow(-1, 1, dim - 1);
    const Tensor order = 2 * (c - 1).unsqueeze(-1) + dim - arange(2, dim + 1, TensorOptions(ScalarType::Long).device(c.device()));
    const int64_t rows = dim - 1;
    const Tensor alpha = c + 0.5 * static_cast<double>(rows);
    const Tensor norm = 0.5 * static_cast<double>(rows) * std::log(kPi) + mvlgamma(alpha - 0.5, rows) - lgamma(alpha) * rows;
    return (order * diagonal.log()).sum(-1) - norm;
  }
  int64_t dim;
};

const LowRankLaw& lowrank(const Distribution& law) { return static_cast<const LowRankLaw&>(law.impl()); }

}  // namespace

Tensor lowrank_logdet(const Tensor& D, const Tensor& capacitance_tril) {
  return 2 * half_log_det(capacitance_tril) + D.log().sum(-1);
}

Tensor lowrank_mahalanobis(const Tensor& W, const Tensor& D, const Tensor& x, const Tensor& capacitance_tril) {
  const Tensor weighted = W.mT() / D.unsqueeze(-2);
  return (x.pow(2) / D).sum(-1) - batch_mahalanobis(capacitance_tril, batch_mv(weighted, x));
}

const Kind MultivariateNormal::kKind{"MultivariateNormal", &Distribution::kKind, true};
const Kind LowRankMultivariateNormal::kKind{"LowRankMultivariateNormal", &Distribution::kKind, true};
const Kind Wishart::kKind{"Wishart", &ExponentialFamily::kKind, true};
const Kind LKJCholesky::kKind{"LKJCholesky", &Distribution::kKind};

MultivariateNormal::MultivariateNormal(const Tensor& loc, const Tensor& covariance_matrix, const Tensor& precision_matrix,
                                       const Tensor& scale_tril, Validate validate_args)
    : Distribution(new MultivariateNormalLaw(loc, covariance_matrix, precision_matrix, scale_tril), validate_args) {}
LowRankMultivariateNormal::LowRankMultivariateNormal(const Tensor& loc, const Tensor& cov_factor, const Tensor& cov_diag,
                                                     Validate validate_args)
    : Distribution(new LowRankLaw(loc, cov_factor, cov_diag), validate_args) {}
Tensor LowRankMultivariateNormal::covariance_matrix() const { return lowrank(*this).covariance_matrix(); }
Tensor LowRankMultivariateNormal::precision_matrix() const { return lowrank(*this).precision_matrix(); }
Tensor LowRankMultivariateNormal::scale_tril() const { return lowrank(*this).scale_tril(); }
Wishart::Wishart(const TensorOrNumber& df, const Tensor& covariance_matrix, const Tensor& precision_matrix,
                 const Tensor& scale_tril, Validate validate_args)
    : ExponentialFamily(new WishartLaw(df, covariance_matrix, precision_matrix, scale_tril), validate_args) {}
Tensor Wishart::rsample(IntArrayRef sample_shape, std::optional<int64_t> max_try_correction) const {
  return static_cast<const WishartLaw&>(impl()).rsample(sample_shape, max_try_correction.value_or(10));
}
LKJCholesky::LKJCholesky(int64_t dim, const TensorOrNumber& concentration, Validate validate_args)
    : Distribution(new LkjLaw(dim, concentration), validate_args) {}

}  // namespace cresset::distributions
