// Distributions of positive numbers and of shares.

#include "cresset/autograd/function.h"
#include "cresset/distributions/implementation.h"
#include "cresset/distributions/rows.h"

namespace cresset::ops::composite {

using namespace distributions;

Tensor _gamma_rsample(IntArrayRef shape, const Tensor& concentration, const Tensor& rate) {
  const Tensor value = _standard_gamma(concentration.expand(shape)) / rate.expand(shape);
  value.detach().clamp_(Scalar(finfo(value.scalar_type()).tiny));  // changes the values, not their derivatives
  return value;
}

Tensor _gamma_log_prob(const Tensor& given, const Tensor& concentration, const Tensor& rate) {
  const Tensor value = given.to(rate.options());
  const Tensor& c = concentration;
  const Tensor first = xlogy(c, rate), second = xlogy(c - 1, value), third = rate * value;
  return first + second - third - lgamma(c);
}

Tensor _gamma_entropy(const Tensor& concentration, const Tensor& rate) {
  const Tensor& c = concentration;
  const Tensor start = c - log(rate), more = start + lgamma(c), rest = 1.0 - c;
  return more + rest * digamma(c);
}

Tensor _fishersnedecor_variance(const Tensor& df1, const Tensor& df2) {
  const Tensor d = df2.masked_fill(df2 <= 4, kNan);
  return 2 * d.pow(2) * (df1 + d - 2) / (df1 * (d - 2).pow(2) * (d - 4));
}

Tensor _fishersnedecor_rsample(IntArrayRef shape, const Tensor& df1, const Tensor& df2) {
  const Tensor first = composite::_gamma_rsample(shape, df1 * 0.5, df1), second = composite::_gamma_rsample(shape, df2 * 0.5, df2);
  const Scalar tiny = finfo(second.scalar_type()).tiny;
  second.clamp_(tiny);
  const Tensor ratio = first / second;
  ratio.clamp_(tiny);
  return ratio;
}

Tensor _fishersnedecor_log_prob(const Tensor& value, const Tensor& df1, const Tensor& df2) {
  const Tensor h1 = df1 * 0.5, h2 = df2 * 0.5, ratio = df1 / df2;
  Tensor norm = (h1 + h2).lgamma();
  norm = norm - h1.lgamma();
  norm = norm - h2.lgamma();
  norm = norm + h1 * ratio.log();
  norm = norm + (h1 - 1) * log(value);
  const Tensor both = h1 + h2;
  return norm - both * log1p(ratio * value);
}

namespace {

// Samples with the derivative by the concentration (Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", 2018).
struct SampleDirichlet : autograd::Function<SampleDirichlet> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& concentration) {
    const Tensor x = _sample_dirichlet(concentration);
    ctx->save_for_backward({x, concentration});
    return x;
  }
  static autograd::variable_list backward(autograd::AutogradContext* ctx, autograd::variable_list grads) {
    CRESSET_CHECK(!GradMode::is_enabled(), "trying to differentiate twice a function that was marked with @once_differentiable");
    const autograd::variable_list saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &concentration = saved[1];
    const Tensor slope = _dirichlet_grad(x, concentration, concentration.sum(-1, true).expand_as(concentration));
    return {slope * (grads[0] - (x * grads[0]).sum(-1, true))};
  }
};

}  // namespace

Tensor _dirichlet_mode(const Tensor& concentration) {
  // With all concentrations below 1 the density is unbounded at corners: one of those.
  const Tensor less = (concentration - 1).clamp(Scalar(0.0));
  Tensor mode = less / less.sum(-1, true);
  const Tensor corner = (concentration < 1).all(-1);
  const Tensor best = one_hot(mode.index({corner}).argmax(-1), less.size(-1));
  mode.index_put_({corner}, best.to(mode));
  return mode;
}

Tensor _dirichlet_variance(const Tensor& concentration) {
  const Tensor &c = concentration, total = c.sum(-1, true);
  return c * (total - c) / (total.pow(2) * (total + 1));
}

Tensor _dirichlet_rsample(IntArrayRef shape, const Tensor& concentration) { return SampleDirichlet::apply(concentration.expand(shape)); }

Tensor _dirichlet_log_prob(const Tensor& value, const Tensor& concentration) {
  const Tensor& c = concentration;
  const Tensor powers = xlogy(c - 1.0, value).sum(-1), norm = lgamma(c.sum(-1));
  return powers + norm - lgamma(c).sum(-1);
}

Tensor _dirichlet_entropy(const Tensor& concentration) {
  const Tensor &c = concentration, total = c.sum(-1);
  const Tensor norm = lgamma(c).sum(-1) - lgamma(total), rest = c.size(-1) - total, start = norm - rest * digamma(total);
  const Tensor less = c - 1.0;
  return start - (less * digamma(c)).sum(-1);
}

Tensor _beta_variance(const Tensor& concentration1, const Tensor& concentration0) {
  const Tensor total = concentration1 + concentration0;
  return concentration1 * concentration0 / (total.pow(2) * (total + 1));
}

}  // namespace cresset::ops::composite

namespace cresset::distributions {

namespace {

constexpr Argument kRate[] = {{"rate", 0, constraints::positive}};
using ExponentialImpl = Plain<Exponential, kRate, constraints::nonnegative, FamilyImpl>;

constexpr Argument kGamma[] = {{"concentration", 0, constraints::positive}, {"rate", 1, constraints::positive}};
using GammaImpl = Plain<Gamma, kGamma, constraints::nonnegative, FamilyImpl>;

constexpr Argument kDf[] = {{"df", -1, constraints::positive}};

struct Chi2Impl final : ImplOf<Chi2Impl, Chi2, GammaImpl> {
  using ImplOf::ImplOf;
  ArrayRef<Argument> arguments() const override { return kDf; }
  Tensor derived(const Argument&) const override { return kept(0) * 2; }
  Tensor named(std::string_view name) const override { return name == "concentration" ? kept(0) : name == "rate" ? kept(1) : GammaImpl::named(name); }
};

TensorOrNumber half(const TensorOrNumber& v) {
  if (v.is_number()) return 0.5 * v.number().as<double>();
  CRESSET_CHECK_TYPE(v.is_given(), "Chi2: expected a number or a tensor for df");
  return 0.5 * v.tensor();
}

constexpr Argument kFisherSnedecor[] = {{"df1", 0, constraints::positive}, {"df2", 1, constraints::positive}};
using FisherSnedecorImpl = Plain<FisherSnedecor, kFisherSnedecor, constraints::positive>;

Constraint positive_vector() { return constraints::independent(constraints::positive(), 1); }
constexpr Argument kDirichlet[] = {{"concentration", 0, positive_vector}};
constexpr int8_t kVector[] = {1};

struct DirichletImpl final : ImplOf<DirichletImpl, Dirichlet, ExponentialFamilyImpl> {
  explicit DirichletImpl(const Tensor& given) {
    CRESSET_CHECK_VALUE(given.dim() >= 1, "Dirichlet: expected concentration with at least one dimension, got a number");
    slots_ = {given};
    batch_shape_ = but_last(given.sizes(), 1).vec();
    event_shape_ = last(given.sizes(), 1).vec();
  }
  ArrayRef<int8_t> slot_dims() const override { return kVector; }
  ArrayRef<Argument> arguments() const override { return kDirichlet; }
  Constraint support() const override { return constraints::simplex(); }
};

constexpr Argument kBeta[] = {{"concentration1", -1, constraints::positive}, {"concentration0", -2, constraints::positive}};

struct BetaImpl final : ImplOf<BetaImpl, Beta, ExponentialFamilyImpl> {
  BetaImpl(const TensorOrNumber& one, const TensorOrNumber& zero, Validate validate_args) {
    parts_ = {Dirichlet(cresset::stack(broadcast_all({one, zero}), -1), validate_args)};
    batch_shape_ = parts_[0].batch_shape().vec();
  }
  const Tensor& both() const { return parts_[0].impl().kept(0); }
  ArrayRef<Argument> arguments() const override { return kBeta; }
  Tensor derived(const Argument& a) const override { return both().select(-1, a.slot == -1 ? 0 : 1); }
  Tensor named(std::string_view name) const override { return name == "both" ? both() : ExponentialFamilyImpl::named(name); }
  Constraint support() const override { return constraints::unit_interval(); }
};

}  // namespace

const Kind Exponential::kKind{"Exponential", &ExponentialFamily::kKind, true, false, &exponential_formulas};
const Kind Gamma::kKind{"Gamma", &ExponentialFamily::kKind, true, false, &gamma_formulas};
const Kind Chi2::kKind{"Chi2", &Gamma::kKind, true};
const Kind FisherSnedecor::kKind{"FisherSnedecor", &Distribution::kKind, true, false, &fishersnedecor_formulas};
const Kind Dirichlet::kKind{"Dirichlet", &ExponentialFamily::kKind, true, false, &dirichlet_formulas};
const Kind Beta::kKind{"Beta", &ExponentialFamily::kKind, true, false, &beta_formulas};

Exponential::Exponential(const TensorOrNumber& rate, Validate validate_args) : ExponentialFamily(new ExponentialImpl{rate}, validate_args) {}
Gamma::Gamma(const TensorOrNumber& concentration, const TensorOrNumber& rate, Validate validate_args)
    : ExponentialFamily(new GammaImpl{concentration, rate}, validate_args) {}
Chi2::Chi2(const TensorOrNumber& df, Validate validate_args) : Gamma(new Chi2Impl{half(df), 0.5}, validate_args) {}
FisherSnedecor::FisherSnedecor(const TensorOrNumber& df1, const TensorOrNumber& df2, Validate validate_args)
    : Distribution(new FisherSnedecorImpl{df1, df2}, validate_args) {}
Dirichlet::Dirichlet(const Tensor& concentration, Validate validate_args) : ExponentialFamily(new DirichletImpl(concentration), validate_args) {}
Beta::Beta(const TensorOrNumber& concentration1, const TensorOrNumber& concentration0, Validate validate_args)
    : ExponentialFamily(new BetaImpl(concentration1, concentration0, validate_args), validate_args) {}

}  // namespace cresset::distributions
