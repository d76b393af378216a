// Laws with names that are transformed others.

#include "cresset/distributions/transformed.h"

namespace cresset::distributions {

namespace {

constexpr Argument kLocScale[] = {{"loc", 0, constraints::real}, {"scale", 1, constraints::positive}};
constexpr Argument kBaseLocScale[] = {{"loc", -1, constraints::real}, {"scale", -2, constraints::positive}};
constexpr Argument kBaseScale[] = {{"scale", -1, constraints::positive}};

// Arguments that are slots of the base: -1 for slot 0, -2 for slot 1.
struct OfBase : TransformedImpl {
  using TransformedImpl::TransformedImpl;
  Tensor derived(const Argument& a) const override { return base().impl().slot(-1 - a.slot); }
  Tensor parameter_of_base(int i) const { return base().impl().slot(i); }
};

// With slots of its own, of one number for each place of the batch.
struct WithSlots : TransformedImpl {
  WithSlots(const std::vector<Tensor>& slots, Distribution base, std::vector<Transform> steps)
      : TransformedImpl(std::move(base), std::move(steps)) {
    slots_ = slots;
  }
  ArrayRef<int8_t> slot_dims() const override { return {kScalars, slots_.size()}; }
};

struct LogNormalLaw final : LawOf<LogNormalLaw, LogNormal, OfBase> {
  LogNormalLaw(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate v)
      : LawOf(Normal(loc, scale, v), std::vector<Transform>{ExpTransform()}) {}
  Tensor loc() const { return parameter_of_base(0); }
  Tensor scale() const { return parameter_of_base(1); }
  ArrayRef<Argument> arguments() const override { return kBaseLocScale; }
  Constraint support() const override { return constraints::positive(); }
  Tensor mean() const override { return (loc() + scale().pow(2) / 2).exp(); }
  Tensor mode() const override { return (loc() - scale().square()).exp(); }
  Tensor variance() const override {
    const Tensor square = scale().pow(2);
    return square.expm1() * (2 * loc() + square).exp();
  }
  Tensor entropy() const override { return base().entropy() + loc(); }
};

// The law of |X| for an X that is symmetric around 0, of a scale, slot 1 of the base.
struct HalfImpl : OfBase {
  explicit HalfImpl(const Distribution& whole) : OfBase(whole, {AbsTransform()}) {}
  Tensor scale() const { return parameter_of_base(1); }
  ArrayRef<Argument> arguments() const override { return kBaseScale; }
  Tensor derived(const Argument&) const override { return scale(); }
  Constraint support() const override { return constraints::nonnegative(); }
  Tensor mode() const override { return zeros_like(scale()); }
  Tensor log_prob(const Tensor& given) const override {
    check(given);
    const Tensor value = given.to(scale().options());
    return where(value >= 0, base().log_prob(value) + std::log(2.0), -kInfinity);
  }
  Tensor cdf(const Tensor& value) const override {
    check(value);
    return 2 * base().cdf(value) - 1;
  }
  Tensor icdf(const Tensor& prob) const override { return base().icdf((prob + 1) / 2); }
  Tensor entropy() const override { return base().entropy() - std::log(2.0); }
};

struct HalfNormalLaw final : LawOf<HalfNormalLaw, HalfNormal, HalfImpl> {
  using LawOf::LawOf;
  Tensor mean() const override { return scale() * std::sqrt(2 / kPi); }
  Tensor variance() const override { return scale().pow(2) * (1 - 2 / kPi); }
};

struct HalfCauchyLaw final : LawOf<HalfCauchyLaw, HalfCauchy, HalfImpl> {
  using LawOf::LawOf;
  Tensor mean() const override { return full(extended({}), kInfinity, scale().options()); }
  Tensor variance() const override { return base().variance(); }
};

Distribution at_least_one_place(const Normal& law) { return law.batch_shape().empty() ? law.expand({1}) : Distribution(law); }

struct LogisticNormalLaw final : LawOf<LogisticNormalLaw, LogisticNormal, OfBase> {
  LogisticNormalLaw(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate v)
      : LawOf(at_least_one_place(Normal(loc, scale, v)), std::vector<Transform>{StickBreakingTransform()}) {}
  ArrayRef<Argument> arguments() const override { return kBaseLocScale; }
  Tensor derived(const Argument& a) const override {
    return (base().is<Independent>() ? base().impl().part(0) : base()).impl().slot(-1 - a.slot);
  }
  Constraint support() const override { return constraints::simplex(); }
};

struct GumbelLaw final : LawOf<GumbelLaw, Gumbel, WithSlots> {
  static Distribution base_of(const Tensor& loc, Validate v) {
    const Finfo info = finfo(loc.scalar_type());
    return Uniform(full_like(loc, info.tiny), full_like(loc, 1 - info.eps), v);
  }
  static std::vector<Transform> steps(const std::vector<Tensor>& p) {
    return {ExpTransform().inv(), AffineTransform(0, -ones_like(p[1])), ExpTransform().inv(), AffineTransform(p[0], -p[1])};
  }
  GumbelLaw(const std::vector<Tensor>& p, Validate v) : LawOf(p, base_of(p[0], v), steps(p)) {}
  const Tensor& loc() const { return kept(0); }
  const Tensor& scale() const { return kept(1); }
  ArrayRef<Argument> arguments() const override { return kLocScale; }
  Constraint support() const override { return constraints::real(); }
  Tensor mean() const override { return loc() + scale() * kEuler; }
  Tensor mode() const override { return loc(); }
  Tensor stddev() const override { return (kPi / std::sqrt(6.0)) * scale(); }
  Tensor variance() const override { return stddev().pow(2); }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    const Tensor y = (loc() - value) / scale();
    return (y - y.exp()) - scale().log();
  }
  Tensor entropy() const override { return scale().log() + (1 + kEuler); }
};

constexpr Argument kInverseGamma[] = {{"concentration", -1, constraints::positive}, {"rate", -2, constraints::positive}};

struct InverseGammaLaw final : LawOf<InverseGammaLaw, InverseGamma, OfBase> {
  explicit InverseGammaLaw(const Gamma& gamma)
      : LawOf(gamma, std::vector<Transform>{PowerTransform(-ones({}, gamma.rate().options()))}) {}
  Tensor concentration() const { return parameter_of_base(0); }
  Tensor rate() const { return parameter_of_base(1); }
  ArrayRef<Argument> arguments() const override { return kInverseGamma; }
  Constraint support() const override { return constraints::positive(); }
  Tensor mean() const override { return where(concentration() > 1, rate() / (concentration() - 1), kInfinity); }
  Tensor mode() const override { return rate() / (concentration() + 1); }
  Tensor variance() const override {
    const Tensor c = concentration();
    return where(c > 2, rate().square() / ((c - 1).square() * (c - 2)), kInfinity);
  }
  Tensor entropy() const override {
    const Tensor c = concentration();
    const Tensor start = c + rate().log(), norm = start + c.lgamma(), more = 1 + c;
    return norm - more * c.digamma();
  }
};

constexpr Argument kKumaraswamy[] = {{"concentration1", 0, constraints::positive}, {"concentration0", 1, constraints::positive}};

struct KumaraswamyLaw final : LawOf<KumaraswamyLaw, Kumaraswamy, WithSlots> {
  static std::vector<Transform> steps(const std::vector<Tensor>& p) {
    return {PowerTransform(p[1].reciprocal()), AffineTransform(1.0, -1.0), PowerTransform(p[0].reciprocal())};
  }
  KumaraswamyLaw(const std::vector<Tensor>& p, Validate v)
      : LawOf(p, Uniform(full_like(p[1], 0), full_like(p[1], 1), v), steps(p)) {}
  void remake_transforms() override { transforms = steps(slots_); }
  const Tensor& a() const { return kept(0); }
  const Tensor& b() const { return kept(1); }
  // The expectation of X^n.
  Tensor moment(int64_t n) const {
    const Tensor argument = 1 + n / a();
    return exp(lgamma(argument) + lgamma(b()) - lgamma(argument + b())) * b();
  }
  ArrayRef<Argument> arguments() const override { return kKumaraswamy; }
  Constraint support() const override { return constraints::unit_interval(); }
  Tensor mean() const override { return moment(1); }
  Tensor mode() const override {
    // PyTorch's numbers, which are NaN: the mode is ((a - 1) / (a b - 1))^(1 / a).
    const Tensor log_mode = a().reciprocal() * (-b()).log1p() - (-a() * b()).log1p();
    return log_mode.exp().masked_fill((a() < 1) | (b() < 1), kNan);
  }
  Tensor variance() const override { return moment(2) - mean().pow(2); }
  Tensor entropy() const override {
    const Tensor harmonic = digamma(b() + 1) + kEuler;
    return (1 - b().reciprocal()) + (1 - a().reciprocal()) * harmonic - log(a()) - log(b());
  }
};

constexpr Argument kPareto[] = {{"alpha", 1, constraints::positive}, {"scale", 0, constraints::positive}};

struct ParetoLaw final : LawOf<ParetoLaw, Pareto, WithSlots> {
  static std::vector<Transform> steps(const Tensor& scale) { return {ExpTransform(), AffineTransform(0, scale)}; }
  ParetoLaw(const std::vector<Tensor>& p, Validate v) : LawOf(p, Exponential(p[1], v), steps(p[0])) {}
  void remake_transforms() override { transforms = steps(scale()); }
  const Tensor& scale() const { return kept(0); }
  const Tensor& alpha() const { return kept(1); }
  ArrayRef<Argument> arguments() const override { return kPareto; }
  Constraint support() const override { return constraints::greater_than_eq(scale()); }
  Tensor mean() const override {
    const Tensor a = alpha().clamp(Scalar(1));  // no mean up to 1
    return a * scale() / (a - 1);
  }
  Tensor mode() const override { return scale(); }
  Tensor variance() const override {
    const Tensor a = alpha().clamp(Scalar(2));  // no variance up to 2
    return scale().pow(2) * a / ((a - 1).pow(2) * (a - 2));
  }
  Tensor entropy() const override { return (scale() / alpha()).log() + (1 + alpha().reciprocal()); }
};

constexpr Argument kWeibull[] = {{"scale", 0, constraints::positive}, {"concentration", 1, constraints::positive}};

struct WeibullLaw final : LawOf<WeibullLaw, Weibull, WithSlots> {
  static std::vector<Transform> steps(const std::vector<Tensor>& p) { return {PowerTransform(p[2]), AffineTransform(0, p[0])}; }
  WeibullLaw(const std::vector<Tensor>& p, Validate v) : LawOf(p, Exponential(ones_like(p[0]), v), steps(p)) {}
  void remake_transforms() override { transforms = steps(slots_); }
  const Tensor& scale() const { return kept(0); }
  const Tensor& concentration() const { return kept(1); }
  const Tensor& r() const { return kept(2); }
  ArrayRef<Argument> arguments() const override { return kWeibull; }
  Constraint support() const override { return constraints::positive(); }
  Tensor mean() const override { return scale() * exp(lgamma(1 + r())); }
  Tensor mode() const override { return scale() * ((concentration() - 1) / concentration()).pow(r()); }
  Tensor variance() const override { return scale().pow(2) * (exp(lgamma(1 + 2 * r())) - exp(2 * lgamma(1 + r()))); }
  Tensor entropy() const override { return kEuler * (1 - r()) + log(scale() * r()) + 1; }
};

constexpr Argument kProbsLogits[] = {{"probs", 0, constraints::unit_interval}, {"logits", 1, constraints::real}};
constexpr Argument kBaseProbsLogits[] = {{"probs", -1, constraints::unit_interval}, {"logits", -2, constraints::real}};
constexpr int8_t kRelaxedDims[] = {0, 0, DistributionImpl::kKeep};

struct LogitRelaxedLaw final : LawOf<LogitRelaxedLaw, LogitRelaxedBernoulli, BinaryImpl<DistributionImpl>> {
  LogitRelaxedLaw(const Tensor& t, const TensorOrNumber& probs, const TensorOrNumber& logits) : LawOf(probs, logits) {
    slots_.push_back(t);
  }
  const Tensor& temperature() const { return kept(2); }
  ArrayRef<int8_t> slot_dims() const override { return kRelaxedDims; }
  ArrayRef<Argument> arguments() const override { return kProbsLogits; }
  Constraint support() const override { return constraints::real(); }
  Tensor rsample(IntArrayRef sample_shape) const override {
    const Shape shape = extended(sample_shape);
    const Tensor probs = clamp_probs(this->probs().expand(shape));
    const Tensor u = clamp_probs(rand(shape, probs.options()));
    return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / temperature();
  }
  Tensor log_prob(const Tensor& given) const override {
    check(given);
    const std::vector<Tensor> both = broadcast_all({logits(), given});
    const Tensor difference = both[0] - both[1].mul(temperature());
    return temperature().log() + difference - 2 * difference.exp().log1p();
  }
};

struct RelaxedBernoulliLaw final : LawOf<RelaxedBernoulliLaw, RelaxedBernoulli, OfBase> {
  explicit RelaxedBernoulliLaw(const Distribution& law) : LawOf(law, std::vector<Transform>{SigmoidTransform()}) {}
  bool has_rsample() const override { return true; }
  ArrayRef<Argument> arguments() const override { return kBaseProbsLogits; }
  Constraint support() const override { return constraints::unit_interval(); }
};

constexpr Argument kOneHot[] = {{"probs", -1, constraints::simplex}, {"logits", -2, constraints::real_vector}};

struct RelaxedOneHotLaw final : LawOf<RelaxedOneHotLaw, RelaxedOneHotCategorical, OfBase> {
  explicit RelaxedOneHotLaw(const Distribution& law) : LawOf(law, std::vector<Transform>{ExpTransform()}) {}
  ArrayRef<Argument> arguments() const override { return kOneHot; }
  Tensor derived(const Argument& a) const override { return base().impl().part(0).impl().slot(-1 - a.slot); }
  Constraint support() const override { return constraints::simplex(); }
};

std::vector<Tensor> with_reciprocal(std::vector<Tensor> p) {
  p.push_back(p[1].reciprocal());
  return p;
}

}  // namespace

const Kind LogNormal::kKind{"LogNormal", &TransformedDistribution::kKind, true};
const Kind HalfNormal::kKind{"HalfNormal", &TransformedDistribution::kKind, true};
const Kind HalfCauchy::kKind{"HalfCauchy", &TransformedDistribution::kKind, true};
const Kind LogisticNormal::kKind{"LogisticNormal", &TransformedDistribution::kKind, true};
const Kind Gumbel::kKind{"Gumbel", &TransformedDistribution::kKind, true};
const Kind InverseGamma::kKind{"InverseGamma", &TransformedDistribution::kKind, true};
const Kind Kumaraswamy::kKind{"Kumaraswamy", &TransformedDistribution::kKind, true};
const Kind Pareto::kKind{"Pareto", &TransformedDistribution::kKind, true};
const Kind Weibull::kKind{"Weibull", &TransformedDistribution::kKind, true};
const Kind LogitRelaxedBernoulli::kKind{"LogitRelaxedBernoulli", &Distribution::kKind};
const Kind RelaxedBernoulli::kKind{"RelaxedBernoulli", &TransformedDistribution::kKind, true};
const Kind RelaxedOneHotCategorical::kKind{"RelaxedOneHotCategorical", &TransformedDistribution::kKind, true};

LogNormal::LogNormal(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args)
    : TransformedDistribution(new LogNormalLaw(loc, scale, validate_args), validate_args) {}
HalfNormal::HalfNormal(const TensorOrNumber& scale, Validate validate_args)
    : TransformedDistribution(new HalfNormalLaw(Normal(0, scale, false)), validate_args) {}
HalfCauchy::HalfCauchy(const TensorOrNumber& scale, Validate validate_args)
    : TransformedDistribution(new HalfCauchyLaw(Cauchy(0, scale, false)), validate_args) {}
LogisticNormal::LogisticNormal(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args)
    : TransformedDistribution(new LogisticNormalLaw(loc, scale, validate_args), validate_args) {}
Gumbel::Gumbel(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args)
    : TransformedDistribution(new GumbelLaw(broadcast_all({loc, scale}), validate_args), validate_args) {}
InverseGamma::InverseGamma(const TensorOrNumber& concentration, const TensorOrNumber& rate, Validate validate_args)
    : TransformedDistribution(new InverseGammaLaw(Gamma(concentration, rate, validate_args)), validate_args) {}
Kumaraswamy::Kumaraswamy(const TensorOrNumber& concentration1, const TensorOrNumber& concentration0, Validate validate_args)
    : TransformedDistribution(new KumaraswamyLaw(broadcast_all({concentration1, concentration0}), validate_args), validate_args) {}
Pareto::Pareto(const TensorOrNumber& scale, const TensorOrNumber& alpha, Validate validate_args)
    : TransformedDistribution(new ParetoLaw(broadcast_all({scale, alpha}), validate_args), validate_args) {}
Weibull::Weibull(const TensorOrNumber& scale, const TensorOrNumber& concentration, Validate validate_args)
    : TransformedDistribution(new WeibullLaw(with_reciprocal(broadcast_all({scale, concentration})), validate_args),
                              validate_args) {}
LogitRelaxedBernoulli::LogitRelaxedBernoulli(const Tensor& temperature, const TensorOrNumber& probs, const TensorOrNumber& logits,
                                             Validate validate_args)
    : Distribution(new LogitRelaxedLaw(temperature, probs, logits), validate_args) {}
RelaxedBernoulli::RelaxedBernoulli(const Tensor& temperature, const TensorOrNumber& probs, const TensorOrNumber& logits,
                                   Validate validate_args)
    : TransformedDistribution(new RelaxedBernoulliLaw(LogitRelaxedBernoulli(temperature, probs, logits)), validate_args) {}
RelaxedOneHotCategorical::RelaxedOneHotCategorical(const Tensor& temperature, const Tensor& probs, const Tensor& logits,
                                                   Validate validate_args)
    : TransformedDistribution(new RelaxedOneHotLaw(ExpRelaxedCategorical(temperature, probs, logits, validate_args)),
                              validate_args) {}

}  // namespace cresset::distributions
