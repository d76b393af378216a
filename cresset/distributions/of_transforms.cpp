// Distributions with names that are transformed others.

#include "cresset/distributions/rows.h"
#include "cresset/distributions/transformed.h"

namespace cresset::distributions {

Tensor half_log_prob(const Tensor& value, const Tensor& scale, const Tensor& whole) {
  return where(value.to(scale.options()) >= 0, whole + std::log(2.0), -kInfinity);
}

Tensor kumaraswamy_moment(const Tensor& a, const Tensor& b, int64_t n) {
  const Tensor argument = 1 + n / a;
  return exp(lgamma(argument) + lgamma(b) - lgamma(argument + b)) * b;
}

}  // namespace cresset::distributions

namespace cresset::ops::composite {

using namespace distributions;

Tensor _inversegamma_variance(const Tensor& c, const Tensor& rate) { return where(c > 2, rate.square() / ((c - 1).square() * (c - 2)), kInfinity); }

Tensor _inversegamma_entropy(const Tensor& c, const Tensor& rate) {
  const Tensor start = c + rate.log(), norm = start + c.lgamma(), more = 1 + c;
  return norm - more * c.digamma();
}

Tensor _kumaraswamy_mode(const Tensor& a, const Tensor& b) {
  // PyTorch's numbers, which are NaN: the mode is ((a - 1) / (a b - 1))^(1 / a).
  const Tensor log_mode = a.reciprocal() * (-b).log1p() - (-a * b).log1p();
  return log_mode.exp().masked_fill((a < 1) | (b < 1), kNan);
}

Tensor _kumaraswamy_variance(const Tensor& a, const Tensor& b) { return kumaraswamy_moment(a, b, 2) - kumaraswamy_moment(a, b, 1).pow(2); }

Tensor _kumaraswamy_entropy(const Tensor& a, const Tensor& b) {
  const Tensor harmonic = digamma(b + 1) + kEuler;
  return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - log(a) - log(b);
}

Tensor _pareto_mean(const Tensor& scale, const Tensor& alpha) {
  const Tensor a = alpha.clamp(Scalar(1));  // no mean up to 1
  return a * scale / (a - 1);
}

Tensor _pareto_variance(const Tensor& scale, const Tensor& alpha) {
  const Tensor a = alpha.clamp(Scalar(2));  // no variance up to 2
  return scale.pow(2) * a / ((a - 1).pow(2) * (a - 2));
}

Tensor _weibull_variance(const Tensor& scale, const Tensor& r) { return scale.pow(2) * (exp(lgamma(1 + 2 * r)) - exp(2 * lgamma(1 + r))); }

Tensor _logitrelaxedbernoulli_rsample(IntArrayRef shape, const Tensor& given, const Tensor& temperature) {
  const Tensor probs = clamp_probs(given.expand(shape));
  const Tensor u = clamp_probs(rand(shape, probs.options()));
  return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / temperature;
}

Tensor _logitrelaxedbernoulli_log_prob(const Tensor& value, const Tensor& logits, const Tensor& temperature) {
  const std::vector<Tensor> both = broadcast_all({logits, value});
  const Tensor difference = both[0] - both[1].mul(temperature);
  return temperature.log() + difference - 2 * difference.exp().log1p();
}

}  // namespace cresset::ops::composite

namespace cresset::distributions {

namespace {

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
  WithSlots(const std::vector<Tensor>& slots, Distribution base, std::vector<Transform> steps) : TransformedImpl(std::move(base), std::move(steps)) {
    slots_ = slots;
  }
  ArrayRef<int8_t> slot_dims() const override { return {kScalars, slots_.size()}; }
};

struct LogNormalImpl final : ImplOf<LogNormalImpl, LogNormal, OfBase> {
  LogNormalImpl(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate v) : ImplOf(Normal(loc, scale, v), std::vector<Transform>{ExpTransform()}) {}
  ArrayRef<Argument> arguments() const override { return kBaseLocScale; }
  Constraint support() const override { return constraints::positive(); }
};

// The distribution of |X| for an X that is symmetric around 0, of a scale, slot 1 of the base.
struct HalfImpl : OfBase {
  explicit HalfImpl(const Distribution& whole) : OfBase(whole, {AbsTransform()}) {}
  ArrayRef<Argument> arguments() const override { return kBaseScale; }
  Tensor derived(const Argument&) const override { return parameter_of_base(1); }
  Constraint support() const override { return constraints::nonnegative(); }
};

struct HalfNormalImpl final : ImplOf<HalfNormalImpl, HalfNormal, HalfImpl> {
  using ImplOf::ImplOf;
};

struct HalfCauchyImpl final : ImplOf<HalfCauchyImpl, HalfCauchy, HalfImpl> {
  using ImplOf::ImplOf;
};

Distribution at_least_one_place(const Normal& distribution) {
  return distribution.batch_shape().empty() ? distribution.expand({1}) : Distribution(distribution);
}

struct LogisticNormalImpl final : ImplOf<LogisticNormalImpl, LogisticNormal, OfBase> {
  LogisticNormalImpl(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate v)
      : ImplOf(at_least_one_place(Normal(loc, scale, v)), std::vector<Transform>{StickBreakingTransform()}) {}
  ArrayRef<Argument> arguments() const override { return kBaseLocScale; }
  Tensor derived(const Argument& a) const override { return (base().is<Independent>() ? base().impl().part(0) : base()).impl().slot(-1 - a.slot); }
  Constraint support() const override { return constraints::simplex(); }
};

struct GumbelImpl final : ImplOf<GumbelImpl, Gumbel, WithSlots> {
  static Distribution base_of(const Tensor& loc, Validate v) {
    const Finfo info = finfo(loc.scalar_type());
    return Uniform(full_like(loc, info.tiny), full_like(loc, 1 - info.eps), v);
  }
  static std::vector<Transform> steps(const std::vector<Tensor>& p) {
    return {ExpTransform().inv(), AffineTransform(0, -ones_like(p[1])), ExpTransform().inv(), AffineTransform(p[0], -p[1])};
  }
  GumbelImpl(const std::vector<Tensor>& p, Validate v) : ImplOf(p, base_of(p[0], v), steps(p)) {}
  ArrayRef<Argument> arguments() const override { return kLocScale; }
  Constraint support() const override { return constraints::real(); }
};

constexpr Argument kInverseGamma[] = {{"concentration", -1, constraints::positive}, {"rate", -2, constraints::positive}};

struct InverseGammaImpl final : ImplOf<InverseGammaImpl, InverseGamma, OfBase> {
  explicit InverseGammaImpl(const Gamma& gamma) : ImplOf(gamma, std::vector<Transform>{PowerTransform(-ones({}, gamma.rate().options()))}) {}
  ArrayRef<Argument> arguments() const override { return kInverseGamma; }
  Constraint support() const override { return constraints::positive(); }
};

constexpr Argument kKumaraswamy[] = {{"concentration1", 0, constraints::positive}, {"concentration0", 1, constraints::positive}};

struct KumaraswamyImpl final : ImplOf<KumaraswamyImpl, Kumaraswamy, WithSlots> {
  static std::vector<Transform> steps(const std::vector<Tensor>& p) {
    return {PowerTransform(p[1].reciprocal()), AffineTransform(1.0, -1.0), PowerTransform(p[0].reciprocal())};
  }
  KumaraswamyImpl(const std::vector<Tensor>& p, Validate v) : ImplOf(p, Uniform(full_like(p[1], 0), full_like(p[1], 1), v), steps(p)) {}
  void remake_transforms() override { transforms = steps(slots_); }
  ArrayRef<Argument> arguments() const override { return kKumaraswamy; }
  Constraint support() const override { return constraints::unit_interval(); }
};

constexpr Argument kPareto[] = {{"alpha", 1, constraints::positive}, {"scale", 0, constraints::positive}};

struct ParetoImpl final : ImplOf<ParetoImpl, Pareto, WithSlots> {
  static std::vector<Transform> steps(const Tensor& scale) { return {ExpTransform(), AffineTransform(0, scale)}; }
  ParetoImpl(const std::vector<Tensor>& p, Validate v) : ImplOf(p, Exponential(p[1], v), steps(p[0])) {}
  void remake_transforms() override { transforms = steps(kept(0)); }
  ArrayRef<Argument> arguments() const override { return kPareto; }
  Constraint support() const override { return constraints::greater_than_eq(kept(0)); }
};

constexpr Argument kWeibull[] = {{"scale", 0, constraints::positive}, {"concentration", 1, constraints::positive}};

struct WeibullImpl final : ImplOf<WeibullImpl, Weibull, WithSlots> {
  static std::vector<Transform> steps(const std::vector<Tensor>& p) { return {PowerTransform(p[2]), AffineTransform(0, p[0])}; }
  WeibullImpl(const std::vector<Tensor>& p, Validate v) : ImplOf(p, Exponential(ones_like(p[0]), v), steps(p)) {}
  void remake_transforms() override { transforms = steps(slots_); }
  ArrayRef<Argument> arguments() const override { return kWeibull; }
  Constraint support() const override { return constraints::positive(); }
  Tensor named(std::string_view name) const override { return name == "concentration_reciprocal" ? kept(2) : WithSlots::named(name); }
};

constexpr Argument kProbsLogits[] = {{"probs", 0, constraints::unit_interval}, {"logits", 1, constraints::real}};
constexpr Argument kBaseProbsLogits[] = {{"probs", -1, constraints::unit_interval}, {"logits", -2, constraints::real}};
constexpr int8_t kRelaxedDims[] = {0, 0, DistributionImpl::kKeep};

struct LogitRelaxedImpl final : ImplOf<LogitRelaxedImpl, LogitRelaxedBernoulli, BinaryImpl<DistributionImpl>> {
  LogitRelaxedImpl(const Tensor& t, const TensorOrNumber& probs, const TensorOrNumber& logits) : ImplOf(probs, logits) { slots_.push_back(t); }
  ArrayRef<int8_t> slot_dims() const override { return kRelaxedDims; }
  ArrayRef<Argument> arguments() const override { return kProbsLogits; }
  Constraint support() const override { return constraints::real(); }
  Tensor named(std::string_view name) const override { return name == "temperature" ? kept(2) : BinaryImpl::named(name); }
};

struct RelaxedBernoulliImpl final : ImplOf<RelaxedBernoulliImpl, RelaxedBernoulli, OfBase> {
  explicit RelaxedBernoulliImpl(const Distribution& distribution) : ImplOf(distribution, std::vector<Transform>{SigmoidTransform()}) {}
  bool has_rsample() const override { return true; }
  ArrayRef<Argument> arguments() const override { return kBaseProbsLogits; }
  Constraint support() const override { return constraints::unit_interval(); }
};

constexpr Argument kOneHot[] = {{"probs", -1, constraints::simplex}, {"logits", -2, constraints::real_vector}};

struct RelaxedOneHotImpl final : ImplOf<RelaxedOneHotImpl, RelaxedOneHotCategorical, OfBase> {
  explicit RelaxedOneHotImpl(const Distribution& distribution) : ImplOf(distribution, std::vector<Transform>{ExpTransform()}) {}
  ArrayRef<Argument> arguments() const override { return kOneHot; }
  Tensor derived(const Argument& a) const override { return base().impl().part(0).impl().slot(-1 - a.slot); }
  Constraint support() const override { return constraints::simplex(); }
};

std::vector<Tensor> with_reciprocal(std::vector<Tensor> p) {
  p.push_back(p[1].reciprocal());
  return p;
}

}  // namespace

#define CRESSET_KIND(Class, formulas) \
  const Kind Class::kKind { #Class, &TransformedDistribution::kKind, true, false, formulas }
CRESSET_KIND(LogNormal, &lognormal_formulas);
CRESSET_KIND(HalfNormal, &halfnormal_formulas);
CRESSET_KIND(HalfCauchy, &halfcauchy_formulas);
CRESSET_KIND(LogisticNormal, nullptr);
CRESSET_KIND(Gumbel, &gumbel_formulas);
CRESSET_KIND(InverseGamma, &inversegamma_formulas);
CRESSET_KIND(Kumaraswamy, &kumaraswamy_formulas);
CRESSET_KIND(Pareto, &pareto_formulas);
CRESSET_KIND(Weibull, &weibull_formulas);
CRESSET_KIND(RelaxedBernoulli, nullptr);
CRESSET_KIND(RelaxedOneHotCategorical, nullptr);
#undef CRESSET_KIND
const Kind LogitRelaxedBernoulli::kKind{"LogitRelaxedBernoulli", &Distribution::kKind, false, false, &logitrelaxedbernoulli_formulas};

LogNormal::LogNormal(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args)
    : TransformedDistribution(new LogNormalImpl(loc, scale, validate_args), validate_args) {}
HalfNormal::HalfNormal(const TensorOrNumber& scale, Validate validate_args)
    : TransformedDistribution(new HalfNormalImpl(Normal(0, scale, false)), validate_args) {}
HalfCauchy::HalfCauchy(const TensorOrNumber& scale, Validate validate_args)
    : TransformedDistribution(new HalfCauchyImpl(Cauchy(0, scale, false)), validate_args) {}
LogisticNormal::LogisticNormal(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args)
    : TransformedDistribution(new LogisticNormalImpl(loc, scale, validate_args), validate_args) {}
Gumbel::Gumbel(const TensorOrNumber& loc, const TensorOrNumber& scale, Validate validate_args)
    : TransformedDistribution(new GumbelImpl(broadcast_all({loc, scale}), validate_args), validate_args) {}
InverseGamma::InverseGamma(const TensorOrNumber& concentration, const TensorOrNumber& rate, Validate validate_args)
    : TransformedDistribution(new InverseGammaImpl(Gamma(concentration, rate, validate_args)), validate_args) {}
Kumaraswamy::Kumaraswamy(const TensorOrNumber& concentration1, const TensorOrNumber& concentration0, Validate validate_args)
    : TransformedDistribution(new KumaraswamyImpl(broadcast_all({concentration1, concentration0}), validate_args), validate_args) {}
Pareto::Pareto(const TensorOrNumber& scale, const TensorOrNumber& alpha, Validate validate_args)
    : TransformedDistribution(new ParetoImpl(broadcast_all({scale, alpha}), validate_args), validate_args) {}
Weibull::Weibull(const TensorOrNumber& scale, const TensorOrNumber& concentration, Validate validate_args)
    : TransformedDistribution(new WeibullImpl(with_reciprocal(broadcast_all({scale, concentration})), validate_args), validate_args) {}
LogitRelaxedBernoulli::LogitRelaxedBernoulli(const Tensor& temperature, const TensorOrNumber& probs, const TensorOrNumber& logits, Validate validate_args)
    : Distribution(new LogitRelaxedImpl(temperature, probs, logits), validate_args) {}
RelaxedBernoulli::RelaxedBernoulli(const Tensor& temperature, const TensorOrNumber& probs, const TensorOrNumber& logits, Validate validate_args)
    : TransformedDistribution(new RelaxedBernoulliImpl(LogitRelaxedBernoulli(temperature, probs, logits)), validate_args) {}
RelaxedOneHotCategorical::RelaxedOneHotCategorical(const Tensor& temperature, const Tensor& probs, const Tensor& logits, Validate validate_args)
    : TransformedDistribution(new RelaxedOneHotImpl(ExpRelaxedCategorical(temperature, probs, logits, validate_args)), validate_args) {}

}  // namespace cresset::distributions
