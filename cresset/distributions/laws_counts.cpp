// Laws of yes and no, of counts, and the continuous relative of the first.

#include "cresset/distributions/law_of.h"

namespace cresset::distributions {

std::vector<Tensor> probs_and_logits(const TensorOrNumber& probs, const TensorOrNumber& logits, const TensorOrNumber& other) {
  CRESSET_CHECK_VALUE(probs.is_given() != logits.is_given(), "Either `probs` or `logits` must be specified, but not both.");
  const TensorOrNumber& given = probs.is_given() ? probs : logits;
  std::vector<Tensor> all = other.is_given() ? broadcast_all({other, given}) : broadcast_all({given});
  std::vector<Tensor> slots{Tensor(), Tensor()};
  slots[probs.is_given() ? 0 : 1] = all.back();
  if (other.is_given()) slots.push_back(all[0]);
  return slots;
}

namespace {

constexpr Argument kProbsLogits[] = {{"probs", 0, constraints::unit_interval}, {"logits", 1, constraints::real}};

struct BernoulliLaw final : LawOf<BernoulliLaw, Bernoulli, BinaryImpl<ExponentialFamilyImpl>> {
  using LawOf::LawOf;
  ArrayRef<Argument> arguments() const override { return kProbsLogits; }
  Constraint support() const override { return constraints::boolean(); }
  Tensor mean() const override { return probs(); }
  Tensor mode() const override { return (probs() >= 0.5).to(probs()).masked_fill(probs() == 0.5, kNan); }
  Tensor variance() const override { return probs() * (1 - probs()); }
  Tensor sample(IntArrayRef sample_shape) const override { return bernoulli(probs().expand(extended(sample_shape))); }
  Tensor log_prob(const Tensor& given) const override {
    check(given);
    const std::vector<Tensor> both = broadcast_all({logits(), given});
    return -binary_entropy(both[0], both[1]);
  }
  Tensor entropy() const override { return binary_entropy(logits(), probs()); }
  Tensor enumerate_support(bool expand) const override { return along_batch(arange(2, param().options()), batch_shape_, expand); }
  double mean_carrier_measure() const override { return 0; }
  std::vector<Tensor> natural_params() const override { return {logit(probs())}; }
  Tensor log_normalizer(const std::vector<Tensor>& n) const override { return log1p(exp(n[0])); }
};

struct ContinuousBernoulliLaw final : LawOf<ContinuousBernoulliLaw, ContinuousBernoulli, BinaryImpl<ExponentialFamilyImpl>> {
  ContinuousBernoulliLaw(const TensorOrNumber& probs, const TensorOrNumber& logits, std::pair<double, double> lims,
                         bool check_probs)
      : LawOf(probs, logits), low(lims.first), high(lims.second) {
    if (!probs.is_given()) return;
    CRESSET_CHECK_VALUE(!check_probs || all_true(constraints::unit_interval().check(kept(0))),
                        "The parameter probs has invalid values");
    slots_[0] = clamp_probs(slots_[0]);
  }
  Tensor lazy(int slot) const override { return slot == 0 ? clamp_probs(BinaryImpl::lazy(0)) : BinaryImpl::lazy(slot); }
  ArrayRef<Argument> arguments() const override { return kProbsLogits; }
  Constraint support() const override { return constraints::unit_interval(); }

  Tensor stable() const { return (probs() <= low) | (probs() > high); }
  // The probabilities, those in the unstable region moved to its border.
  Tensor cut_probs() const { return where(stable(), probs(), low * ones_like(probs())); }
  // log C: the density is C probs^x (1 - probs)^(1 - x).
  Tensor log_norm() const {
    const Tensor cut = cut_probs();
    const Tensor below = where(cut <= 0.5, cut, zeros_like(cut)), above = where(cut >= 0.5, cut, ones_like(cut));
    const Tensor log0 = log1p(-cut), width = log(abs(log0 - log(cut))), lower = log1p(-2.0 * below);
    const Tensor exact = width - where(cut <= 0.5, lower, log(2.0 * above - 1.0));
    const Tensor x = (probs() - 0.5).square();
    return where(stable(), exact, std::log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x);
  }
  Tensor mean() const override {
    const Tensor cut = cut_probs();
    const Tensor ratio = cut / (2.0 * cut - 1.0), log0 = log1p(-cut);
    const Tensor exact = ratio + 1.0 / (log0 - log(cut));
    const Tensor x = probs() - 0.5;
    return where(stable(), exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.square()) * x);
  }
  Tensor variance() const override {
    const Tensor cut = cut_probs();
    const Tensor exact = cut * (cut - 1.0) / (1.0 - 2.0 * cut).square() + 1.0 / (log1p(-cut) - log(cut)).square();
    const Tensor x = (probs() - 0.5).square();
    return where(stable(), exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x);
  }
  Tensor rsample(IntArrayRef sample_shape) const override { return icdf(rand(extended(sample_shape), probs().options())); }
  Tensor log_prob(const Tensor& given) const override {
    check(given);
    const std::vector<Tensor> both = broadcast_all({logits(), given});
    return -binary_entropy(both[0], both[1]) + log_norm();
  }
  Tensor cdf(const Tensor& value) const override {
    check(value);
    const Tensor cut = cut_probs();
    const Tensor exact = (pow(cut, value) * pow(1.0 - cut, 1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0);
    const Tensor inside = where(stable(), exact, value);
    return where(value <= 0.0, zeros_like(value), where(value >= 1.0, ones_like(value), inside));
  }
  Tensor icdf(const Tensor& value) const override {
    const Tensor cut = cut_probs(), minus = -cut;
    Tensor above = log1p(minus + value * (2.0 * cut - 1.0));
    above = above - log1p(-cut);
    const Tensor logit = log(cut);
    const Tensor exact = above / (logit - log1p(-cut));
    return where(stable(), exact, value);
  }
  Tensor entropy() const override {
    const Tensor log0 = log1p(-probs()), log1 = log(probs()), mean = this->mean();
    const Tensor first = mean * (log0 - log1);
    return first - log_norm() - log0;
  }
  double mean_carrier_measure() const override { return 0; }
  std::vector<Tensor> natural_params() const override { return {logits()}; }
  Tensor log_normalizer(const std::vector<Tensor>& n) const override {
    const Tensor& x = n[0];
    const Tensor outside = (x <= low - 0.5) | (x > high - 0.5);
    const Tensor cut = where(outside, x, (low - 0.5) * ones_like(x));
    const Tensor exact = log(abs(expm1(cut))) - log(abs(cut));
    return where(outside, exact, 0.5 * x + x.square() / 24.0 - x.pow(4) / 2880.0);
  }

  double low, high;
};

constexpr Argument kBinomial[] = {{"total_count", 2, constraints::nonnegative_integer},
                                  {"probs", 0, constraints::unit_interval},
                                  {"logits", 1, constraints::real}};

struct BinomialLaw final : LawOf<BinomialLaw, Binomial, BinaryImpl<DistributionImpl>> {
  BinomialLaw(const TensorOrNumber& count, const TensorOrNumber& probs, const TensorOrNumber& logits)
      : LawOf(probs, logits, count) {
    slots_[2] = slots_[2].type_as(param());
  }
  const Tensor& total_count() const { return kept(2); }
  ArrayRef<Argument> arguments() const override { return kBinomial; }
  Constraint support() const override { return constraints::integer_interval(0, total_count()); }
  Tensor mean() const override { return total_count() * probs(); }
  Tensor mode() const override { return ((total_count() + 1) * probs()).floor().clamp({}, total_count()); }
  Tensor variance() const override { return total_count() * probs() * (1 - probs()); }
  Tensor sample(IntArrayRef sample_shape) const override {
    const Shape shape = extended(sample_shape);
    return binomial(total_count().expand(shape), probs().expand(shape));
  }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    const Tensor& n = total_count();
    const Tensor choices = lgamma(n + 1) - lgamma(value + 1) - lgamma(n - value + 1);
    const Tensor x = logits();
    Tensor above = x.clamp(Scalar(0)) + x;
    above = (above - x.clamp({}, Scalar(0))) / 2;  // max(x, 0), with a slope of 1/2 at 0
    const Tensor softplus = above + log1p(exp(-x.abs())), powers = value * x;
    return powers - n * softplus + choices;
  }
  // The number of trials, one for the whole batch.
  int64_t count(const char* asked_by) const {
    const int64_t most = total_count().max().item().as<int64_t>();
    CRESSET_CHECK_NOT_IMPLEMENTED(total_count().min().item().as<double>() == static_cast<double>(most),
                                  "Inhomogeneous total count not supported by `", asked_by, "`.");
    return most;
  }
  Tensor entropy() const override {
    count("entropy");
    const Tensor log_prob = this->log_prob(enumerate_support(false));
    return -(exp(log_prob) * log_prob).sum(0);
  }
  Tensor enumerate_support(bool expand) const override {
    return along_batch(arange(1 + count("enumerate_support"), param().options()), batch_shape_, expand);
  }
};

struct GeometricLaw final : LawOf<GeometricLaw, Geometric, BinaryImpl<DistributionImpl>> {
  using LawOf::LawOf;
  ArrayRef<Argument> arguments() const override { return kProbsLogits; }
  Constraint support() const override { return constraints::nonnegative_integer(); }
  void check_arguments() const override {
    const bool given = has_slot(0);
    DistributionImpl::check_arguments();
    if (!given) return;
    const Tensor positive = kept(0) > 0;
    if (all_true(positive)) return;
    throw ValueError(str_of_parameter(*this, "probs", kept(0)) + "to be positive but found invalid values:\n" +
                     format_text(kept(0).detach().index({~positive})));
  }
  Tensor mean() const override { return 1.0 / probs() - 1.0; }
  Tensor mode() const override { return zeros_like(probs()); }
  Tensor variance() const override { return (1.0 / probs() - 1.0) / probs(); }
  Tensor sample(IntArrayRef sample_shape) const override {
    const Tensor u = uniform_tensor(extended(sample_shape), probs().options(), finfo(probs().scalar_type()).tiny, 1);
    return (u.log() / (-probs()).log1p()).floor();
  }
  Tensor log_prob(const Tensor& given) const override {
    check(given);
    const std::vector<Tensor> both = broadcast_all({given, probs()});
    const Tensor &value = both[0], &probs = both[1];
    const Tensor less = probs.masked_fill((probs == 1) & (value == 0), 0);  // 0 log 0 is 0
    return value * (-less).log1p() + this->probs().log();
  }
  Tensor entropy() const override { return binary_entropy(logits(), probs()) / probs(); }
};

Constraint from_zero() { return constraints::greater_than_eq(0); }
Constraint below_one() { return constraints::half_open_interval(0.0, 1.0); }
constexpr Argument kNegativeBinomial[] = {{"total_count", 2, from_zero}, {"probs", 0, below_one}, {"logits", 1, constraints::real}};

struct NegativeBinomialLaw final : LawOf<NegativeBinomialLaw, NegativeBinomial, BinaryImpl<DistributionImpl>> {
  NegativeBinomialLaw(const TensorOrNumber& count, const TensorOrNumber& probs, const TensorOrNumber& logits)
      : LawOf(probs, logits, count) {
    slots_[2] = slots_[2].type_as(param());
  }
  const Tensor& total_count() const { return kept(2); }
  ArrayRef<Argument> arguments() const override { return kNegativeBinomial; }
  Constraint support() const override { return constraints::nonnegative_integer(); }
  Tensor mean() const override { return total_count() * exp(logits()); }
  Tensor mode() const override { return ((total_count() - 1) * logits().exp()).floor().clamp(Scalar(0.0)); }
  Tensor variance() const override { return mean() / sigmoid(-logits()); }
  Tensor sample(IntArrayRef sample_shape) const override {
    // The rate of a Poisson variable, if that is gamma distributed: then the count is negative binomial.
    return poisson(Gamma(total_count(), exp(-logits()), false).sample(sample_shape));
  }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    const Tensor& n = total_count();
    const Tensor powers = n * log_sigmoid(-logits()) + value * log_sigmoid(logits());
    const Tensor choices = lgamma(n + value) - lgamma(1.0 + value) - lgamma(n);
    return powers + choices.masked_fill(n + value == 0.0, 0.0);
  }
};

constexpr Argument kPoisson[] = {{"rate", 0, constraints::nonnegative}};

struct PoissonLaw final : LawOf<PoissonLaw, Poisson, PlainFamilyImpl> {
  using LawOf::LawOf;
  const Tensor& rate() const { return kept(0); }
  ArrayRef<Argument> arguments() const override { return kPoisson; }
  Constraint support() const override { return constraints::nonnegative_integer(); }
  Tensor mean() const override { return rate(); }
  Tensor mode() const override { return rate().floor(); }
  Tensor variance() const override { return rate(); }
  Tensor sample(IntArrayRef sample_shape) const override { return poisson(rate().expand(extended(sample_shape))); }
  Tensor log_prob(const Tensor& given) const override {
    check(given);
    const std::vector<Tensor> both = broadcast_all({rate(), given});
    return both[1].xlogy(both[0]) - both[0] - (both[1] + 1).lgamma();
  }
  std::vector<Tensor> natural_params() const override { return {log(rate())}; }
  Tensor log_normalizer(const std::vector<Tensor>& n) const override { return exp(n[0]); }
};

}  // namespace

const Kind Bernoulli::kKind{"Bernoulli", &ExponentialFamily::kKind, false, true};
const Kind ContinuousBernoulli::kKind{"ContinuousBernoulli", &ExponentialFamily::kKind, true};
const Kind Binomial::kKind{"Binomial", &Distribution::kKind, false, true};
const Kind Geometric::kKind{"Geometric", &Distribution::kKind};
const Kind NegativeBinomial::kKind{"NegativeBinomial", &Distribution::kKind};
const Kind Poisson::kKind{"Poisson", &ExponentialFamily::kKind};

Bernoulli::Bernoulli(const TensorOrNumber& probs, const TensorOrNumber& logits, Validate validate_args)
    : ExponentialFamily(new BernoulliLaw(probs, logits), validate_args) {}
ContinuousBernoulli::ContinuousBernoulli(const TensorOrNumber& probs, const TensorOrNumber& logits, std::pair<double, double> lims,
                                         Validate validate_args)
    : ExponentialFamily(new ContinuousBernoulliLaw(probs, logits, lims, validate_args.has_value()), validate_args) {}
Tensor continuous_bernoulli_log_norm(const Distribution& law) {
  return static_cast<const ContinuousBernoulliLaw&>(law.impl()).log_norm();
}
Binomial::Binomial(const TensorOrNumber& total_count, const TensorOrNumber& probs, const TensorOrNumber& logits,
                   Validate validate_args)
    : Distribution(new BinomialLaw(total_count, probs, logits), validate_args) {}
Geometric::Geometric(const TensorOrNumber& probs, const TensorOrNumber& logits, Validate validate_args)
    : Distribution(new GeometricLaw(probs, logits), validate_args) {}
NegativeBinomial::NegativeBinomial(const TensorOrNumber& total_count, const TensorOrNumber& probs, const TensorOrNumber& logits,
                                   Validate validate_args)
    : Distribution(new NegativeBinomialLaw(total_count, probs, logits), validate_args) {}
Poisson::Poisson(const TensorOrNumber& rate, Validate validate_args) : ExponentialFamily(new PoissonLaw{rate}, validate_args) {}

}  // namespace cresset::distributions
