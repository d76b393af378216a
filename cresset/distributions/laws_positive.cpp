// Laws of positive numbers and of shares.

#include "cresset/autograd/function.h"
#include "cresset/distributions/law_of.h"

namespace cresset::distributions {

namespace {

constexpr Argument kRate[] = {{"rate", 0, constraints::positive}};

struct ExponentialLaw final : LawOf<ExponentialLaw, Exponential, PlainFamilyImpl> {
  using LawOf::LawOf;
  const Tensor& rate() const { return kept(0); }
  ArrayRef<Argument> arguments() const override { return kRate; }
  Constraint support() const override { return constraints::nonnegative(); }
  Tensor mean() const override { return rate().reciprocal(); }
  Tensor mode() const override { return zeros_like(rate()); }
  Tensor stddev() const override { return rate().reciprocal(); }
  Tensor variance() const override { return rate().pow(-2); }
  Tensor rsample(IntArrayRef sample_shape) const override {
    return empty(extended(sample_shape), rate().options()).exponential_() / rate();
  }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    return rate().log() - rate() * value;
  }
  Tensor cdf(const Tensor& value) const override {
    check(value);
    return 1 - exp(-rate() * value);
  }
  Tensor icdf(const Tensor& value) const override { return -log1p(-value) / rate(); }
  Tensor entropy() const override { return 1.0 - log(rate()); }
  double mean_carrier_measure() const override { return 0; }
  std::vector<Tensor> natural_params() const override { return {-rate()}; }
  Tensor log_normalizer(const std::vector<Tensor>& n) const override { return -log(-n[0]); }
};

constexpr Argument kGamma[] = {{"concentration", 0, constraints::positive}, {"rate", 1, constraints::positive}};

struct GammaLaw : LawOf<GammaLaw, Gamma, PlainFamilyImpl> {
  using LawOf::LawOf;
  const Tensor& concentration() const { return kept(0); }
  const Tensor& rate() const { return kept(1); }
  ArrayRef<Argument> arguments() const override { return kGamma; }
  Constraint support() const override { return constraints::nonnegative(); }
  Tensor mean() const override { return concentration() / rate(); }
  Tensor mode() const override { return ((concentration() - 1) / rate()).clamp(Scalar(0)); }
  Tensor variance() const override { return concentration() / rate().pow(2); }
  Tensor rsample(IntArrayRef sample_shape) const override {
    const Shape shape = extended(sample_shape);
    const Tensor value = _standard_gamma(concentration().expand(shape)) / rate().expand(shape);
    value.detach().clamp_(Scalar(finfo(value.scalar_type()).tiny));  // changes the values, not their derivatives
    return value;
  }
  Tensor log_prob(const Tensor& given) const override {
    const Tensor value = given.to(rate().options());
    check(value);
    const Tensor& c = concentration();
    const Tensor first = xlogy(c, rate()), second = xlogy(c - 1, value), third = rate() * value;
    return first + second - third - lgamma(c);
  }
  Tensor cdf(const Tensor& value) const override {
    check(value);
    return special_gammainc(concentration(), rate() * value);
  }
  Tensor entropy() const override {
    const Tensor& c = concentration();
    const Tensor start = c - log(rate()), more = start + lgamma(c), rest = 1.0 - c;
    return more + rest * digamma(c);
  }
  double mean_carrier_measure() const override { return 0; }
  std::vector<Tensor> natural_params() const override { return {concentration() - 1, -rate()}; }
  Tensor log_normalizer(const std::vector<Tensor>& n) const override {
    return lgamma(n[0] + 1) + (n[0] + 1) * log(-n[1].reciprocal());
  }
};

constexpr Argument kDf[] = {{"df", -1, constraints::positive}};

struct Chi2Law final : LawOf<Chi2Law, Chi2, GammaLaw> {
  using LawOf::LawOf;
  ArrayRef<Argument> arguments() const override { return kDf; }
  Tensor derived(const Argument&) const override { return concentration() * 2; }
};

TensorOrNumber half(const TensorOrNumber& v) {
  if (v.is_number()) return 0.5 * v.number().as<double>();
  CRESSET_CHECK_TYPE(v.is_given(), "Chi2: expected a number or a tensor for df");
  return 0.5 * v.tensor();
}

constexpr Argument kFisherSnedecor[] = {{"df1", 0, constraints::positive}, {"df2", 1, constraints::positive}};

struct FisherSnedecorLaw final : LawOf<FisherSnedecorLaw, FisherSnedecor, PlainImpl> {
  FisherSnedecorLaw(const TensorOrNumber& first, const TensorOrNumber& second) : LawOf{first, second} {
    parts_ = {Gamma(df1() * 0.5, df1()), Gamma(df2() * 0.5, df2())};
  }
  const Tensor& df1() const { return kept(0); }
  const Tensor& df2() const { return kept(1); }
  ArrayRef<Argument> arguments() const override { return kFisherSnedecor; }
  Constraint support() const override { return constraints::positive(); }
  Tensor mean() const override {
    const Tensor d = df2().masked_fill(df2() <= 2, kNan);
    return d / (d - 2);
  }
  Tensor mode() const override {
    const Tensor mode = (df1() - 2) / df1() * df2() / (df2() + 2);
    return mode.masked_fill(df1() <= 2, kNan);
  }
  Tensor variance() const override {
    const Tensor d = df2().masked_fill(df2() <= 4, kNan);
    return 2 * d.pow(2) * (df1() + d - 2) / (df1() * (d - 2).pow(2) * (d - 4));
  }
  Tensor rsample(IntArrayRef sample_shape) const override {
    const Shape shape = extended(sample_shape);
    const Tensor first = parts_[0].rsample(sample_shape).view(shape);
    const Tensor second = parts_[1].rsample(sample_shape).view(shape);
    const Scalar tiny = finfo(second.scalar_type()).tiny;
    second.clamp_(tiny);
    const Tensor ratio = first / second;
    ratio.clamp_(tiny);
    return ratio;
  }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    const Tensor h1 = df1() * 0.5, h2 = df2() * 0.5, ratio = df1() / df2();
    Tensor norm = (h1 + h2).lgamma();
    norm = norm - h1.lgamma();
    norm = norm - h2.lgamma();
    norm = norm + h1 * ratio.log();
    norm = norm + (h1 - 1) * log(value);
    const Tensor both = h1 + h2;
    return norm - both * log1p(ratio * value);
  }
};

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

Constraint positive_vector() { return constraints::independent(constraints::positive(), 1); }
constexpr Argument kDirichlet[] = {{"concentration", 0, positive_vector}};
constexpr int8_t kVector[] = {1};

struct DirichletLaw final : LawOf<DirichletLaw, Dirichlet, ExponentialFamilyImpl> {
  explicit DirichletLaw(const Tensor& given) {
    CRESSET_CHECK_VALUE(given.dim() >= 1, "`concentration` parameter must be at least one-dimensional.");
    slots_ = {given};
    batch_shape_ = but_last(given.sizes(), 1).vec();
    event_shape_ = last(given.sizes(), 1).vec();
  }
  const Tensor& concentration() const { return kept(0); }
  ArrayRef<int8_t> slot_dims() const override { return kVector; }
  ArrayRef<Argument> arguments() const override { return kDirichlet; }
  Constraint support() const override { return constraints::simplex(); }
  Tensor mean() const override { return concentration() / concentration().sum(-1, true); }
  Tensor mode() const override {
    // With all concentrations below 1 the density is unbounded at corners: one of those.
    const Tensor less = (concentration() - 1).clamp(Scalar(0.0));
    Tensor mode = less / less.sum(-1, true);
    const Tensor corner = (concentration() < 1).all(-1);
    const Tensor best = one_hot(mode.index({corner}).argmax(-1), less.size(-1));
    mode.index_put_({corner}, best.to(mode));
    return mode;
  }
  Tensor variance() const override {
    const Tensor &c = concentration(), total = c.sum(-1, true);
    return c * (total - c) / (total.pow(2) * (total + 1));
  }
  Tensor rsample(IntArrayRef sample_shape) const override {
    return SampleDirichlet::apply(concentration().expand(extended(sample_shape)));
  }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    const Tensor& c = concentration();
    const Tensor powers = xlogy(c - 1.0, value).sum(-1), norm = lgamma(c.sum(-1));
    return powers + norm - lgamma(c).sum(-1);
  }
  Tensor entropy() const override {
    const Tensor &c = concentration(), total = c.sum(-1);
    const Tensor norm = lgamma(c).sum(-1) - lgamma(total), rest = c.size(-1) - total, start = norm - rest * digamma(total);
    const Tensor less = c - 1.0;
    return start - (less * digamma(c)).sum(-1);
  }
  std::vector<Tensor> natural_params() const override { return {concentration()}; }
  Tensor log_normalizer(const std::vector<Tensor>& n) const override { return n[0].lgamma().sum(-1) - lgamma(n[0].sum(-1)); }
};

constexpr Argument kBeta[] = {{"concentration1", -1, constraints::positive}, {"concentration0", -2, constraints::positive}};

struct BetaLaw final : LawOf<BetaLaw, Beta, ExponentialFamilyImpl> {
  BetaLaw(const TensorOrNumber& one, const TensorOrNumber& zero, Validate validate_args) {
    parts_ = {Dirichlet(cresset::stack(broadcast_all({one, zero}), -1), validate_args)};
    batch_shape_ = parts_[0].batch_shape().vec();
  }
  const Tensor& both() const { return parts_[0].impl().kept(0); }
  Tensor one() const { return both().select(-1, 0); }
  Tensor zero() const { return both().select(-1, 1); }
  ArrayRef<Argument> arguments() const override { return kBeta; }
  Tensor derived(const Argument& a) const override { return a.slot == -1 ? one() : zero(); }
  Constraint support() const override { return constraints::unit_interval(); }
  Tensor mean() const override { return one() / (one() + zero()); }
  Tensor mode() const override { return parts_[0].mode().select(-1, 0); }
  Tensor variance() const override {
    const Tensor total = one() + zero();
    return one() * zero() / (total.pow(2) * (total + 1));
  }
  Tensor rsample(IntArrayRef sample_shape) const override { return parts_[0].rsample(sample_shape).select(-1, 0); }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    return parts_[0].log_prob(cresset::stack({value, 1.0 - value}, -1));
  }
  Tensor entropy() const override { return parts_[0].entropy(); }
  std::vector<Tensor> natural_params() const override { return {one(), zero()}; }
  Tensor log_normalizer(const std::vector<Tensor>& n) const override { return lgamma(n[0]) + lgamma(n[1]) - lgamma(n[0] + n[1]); }
};

}  // namespace

const Kind Exponential::kKind{"Exponential", &ExponentialFamily::kKind, true};
const Kind Gamma::kKind{"Gamma", &ExponentialFamily::kKind, true};
const Kind Chi2::kKind{"Chi2", &Gamma::kKind, true};
const Kind FisherSnedecor::kKind{"FisherSnedecor", &Distribution::kKind, true};
const Kind Dirichlet::kKind{"Dirichlet", &ExponentialFamily::kKind, true};
const Kind Beta::kKind{"Beta", &ExponentialFamily::kKind, true};

Exponential::Exponential(const TensorOrNumber& rate, Validate validate_args)
    : ExponentialFamily(new ExponentialLaw{rate}, validate_args) {}
Gamma::Gamma(const TensorOrNumber& concentration, const TensorOrNumber& rate, Validate validate_args)
    : ExponentialFamily(new GammaLaw{concentration, rate}, validate_args) {}
Chi2::Chi2(const TensorOrNumber& df, Validate validate_args) : Gamma(new Chi2Law{half(df), 0.5}, validate_args) {}
FisherSnedecor::FisherSnedecor(const TensorOrNumber& df1, const TensorOrNumber& df2, Validate validate_args)
    : Distribution(new FisherSnedecorLaw(df1, df2), validate_args) {}
Dirichlet::Dirichlet(const Tensor& concentration, Validate validate_args)
    : ExponentialFamily(new DirichletLaw(concentration), validate_args) {}
Beta::Beta(const TensorOrNumber& concentration1, const TensorOrNumber& concentration0, Validate validate_args)
    : ExponentialFamily(new BetaLaw(concentration1, concentration0, validate_args), validate_args) {}

}  // namespace cresset::distributions
