// Distributions of successes and failures and of counts, and the continuous relative of the first.

#include "cresset/distributions/implementation.h"
#include "cresset/distributions/rows.h"

namespace cresset::ops::composite {

using namespace distributions;

namespace {

// Where formulas of a ContinuousBernoulli hold, and probs with those of the unstable region moved to its border.
struct Cut {
  Cut(const Tensor& probs, double low, double high) : stable((probs <= low) | (probs > high)), probs(where(stable, probs, low * ones_like(probs))) {}
  Tensor stable, probs;
};

}  // namespace

Tensor _continuousbernoulli_cont_bern_log_norm(const Tensor& probs, double low, double high) {
  const Cut c(probs, low, high);
  const Tensor& cut = c.probs;
  const Tensor below = where(cut <= 0.5, cut, zeros_like(cut)), above = where(cut >= 0.5, cut, ones_like(cut));
  const Tensor log0 = log1p(-cut), width = log(abs(log0 - log(cut))), lower = log1p(-2.0 * below);
  const Tensor exact = width - where(cut <= 0.5, lower, log(2.0 * above - 1.0));
  const Tensor x = (probs - 0.5).square();
  return where(c.stable, exact, std::log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x);
}

Tensor _continuousbernoulli_mean(const Tensor& probs, double low, double high) {
  const Cut c(probs, low, high);
  const Tensor& cut = c.probs;
  const Tensor ratio = cut / (2.0 * cut - 1.0), log0 = log1p(-cut);
  const Tensor exact = ratio + 1.0 / (log0 - log(cut));
  const Tensor x = probs - 0.5;
  return where(c.stable, exact, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.square()) * x);
}

Tensor _continuousbernoulli_variance(const Tensor& probs, double low, double high) {
  const Cut c(probs, low, high);
  const Tensor& cut = c.probs;
  const Tensor exact = cut * (cut - 1.0) / (1.0 - 2.0 * cut).square() + 1.0 / (log1p(-cut) - log(cut)).square();
  const Tensor x = (probs - 0.5).square();
  return where(c.stable, exact, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x);
}

Tensor _continuousbernoulli_log_prob(const Tensor& value, const Tensor& probs, const Tensor& logits, double low, double high) {
  const std::vector<Tensor> both = broadcast_all({logits, value});
  return -binary_entropy(both[0], both[1]) + composite::_continuousbernoulli_cont_bern_log_norm(probs, low, high);
}

Tensor _continuousbernoulli_cdf(const Tensor& value, const Tensor& probs, double low, double high) {
  const Cut c(probs, low, high);
  const Tensor& cut = c.probs;
  const Tensor exact = (pow(cut, value) * pow(1.0 - cut, 1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0);
  const Tensor inside = where(c.stable, exact, value);
  return where(value <= 0.0, zeros_like(value), where(value >= 1.0, ones_like(value), inside));
}

Tensor _continuousbernoulli_icdf(const Tensor& value, const Tensor& probs, double low, double high) {
  const Cut c(probs, low, high);
  const Tensor &cut = c.probs, minus = -cut;
  Tensor above = log1p(minus + value * (2.0 * cut - 1.0));
  above = above - log1p(-cut);
  const Tensor log1 = log(cut);
  const Tensor exact = above / (log1 - log1p(-cut));
  return where(c.stable, exact, value);
}

Tensor _continuousbernoulli_entropy(const Tensor& probs, double low, double high) {
  const Tensor log0 = log1p(-probs), log1 = log(probs), mean = composite::_continuousbernoulli_mean(probs, low, high);
  const Tensor first = mean * (log0 - log1);
  return first - composite::_continuousbernoulli_cont_bern_log_norm(probs, low, high) - log0;
}

Tensor _continuousbernoulli_log_normalizer(const Tensor& x, double low, double high) {
  const Tensor outside = (x <= low - 0.5) | (x > high - 0.5);
  const Tensor cut = where(outside, x, (low - 0.5) * ones_like(x));
  const Tensor exact = log(abs(expm1(cut))) - log(abs(cut));
  return where(outside, exact, 0.5 * x + x.square() / 24.0 - x.pow(4) / 2880.0);
}

Tensor _binomial_log_prob(const Tensor& value, const Tensor& total_count, const Tensor& logits) {
  const Tensor &n = total_count, &x = logits;
  const Tensor choices = lgamma(n + 1) - lgamma(value + 1) - lgamma(n - value + 1);
  Tensor above = x.clamp(Scalar(0)) + x;
  above = (above - x.clamp({}, Scalar(0))) / 2;  // max(x, 0), with a slope of 1/2 at 0
  const Tensor softplus = above + log1p(exp(-x.abs())), powers = value * x;
  return powers - n * softplus + choices;
}

Tensor _geometric_sample(IntArrayRef shape, const Tensor& probs) {
  const Tensor u = uniform_tensor(shape, probs.options(), finfo(probs.scalar_type()).tiny, 1);
  return (u.log() / (-probs).log1p()).floor();
}

Tensor _geometric_log_prob(const Tensor& given, const Tensor& given_probs) {
  const std::vector<Tensor> both = broadcast_all({given, given_probs});
  const Tensor &value = both[0], &probs = both[1];
  const Tensor less = probs.masked_fill((probs == 1) & (value == 0), 0);  // 0 log 0 is 0
  return value * (-less).log1p() + given_probs.log();
}

Tensor _negativebinomial_log_prob(const Tensor& value, const Tensor& total_count, const Tensor& logits) {
  const Tensor& n = total_count;
  const Tensor powers = n * log_sigmoid(-logits) + value * log_sigmoid(logits);
  const Tensor choices = lgamma(n + value) - lgamma(1.0 + value) - lgamma(n);
  return powers + choices.masked_fill(n + value == 0.0, 0.0);
}

Tensor _poisson_log_prob(const Tensor& value, const Tensor& rate) {
  const std::vector<Tensor> both = broadcast_all({rate, value});
  return both[1].xlogy(both[0]) - both[0] - (both[1] + 1).lgamma();
}

}  // namespace cresset::ops::composite

namespace cresset::distributions {

std::vector<Tensor> probs_and_logits(const TensorOrNumber& probs, const TensorOrNumber& logits, const TensorOrNumber& other) {
  check_one(probs.is_given(), logits.is_given());
  const TensorOrNumber& given = probs.is_given() ? probs : logits;
  std::vector<Tensor> all = other.is_given() ? broadcast_all({other, given}) : broadcast_all({given});
  std::vector<Tensor> slots{Tensor(), Tensor()};
  slots[probs.is_given() ? 0 : 1] = all.back();
  if (other.is_given()) slots.push_back(all[0]);
  return slots;
}

namespace {

constexpr Argument kProbsLogits[] = {{"probs", 0, constraints::unit_interval}, {"logits", 1, constraints::real}};

struct BernoulliImpl final : ImplOf<BernoulliImpl, Bernoulli, BinaryImpl<FamilyImpl>> {
  using ImplOf::ImplOf;
  ArrayRef<Argument> arguments() const override { return kProbsLogits; }
  Constraint support() const override { return constraints::boolean(); }
  Tensor enumerate_support(bool expand) const override { return along_batch(arange(2, param().options()), batch_shape_, expand); }
};

struct ContinuousBernoulliImpl final : ImplOf<ContinuousBernoulliImpl, ContinuousBernoulli, BinaryImpl<FamilyImpl>> {
  ContinuousBernoulliImpl(const TensorOrNumber& probs, const TensorOrNumber& logits, std::pair<double, double> lims, bool check_probs)
      : ImplOf(probs, logits), low(lims.first), high(lims.second) {
    if (!probs.is_given()) return;
    CRESSET_CHECK_VALUE(!check_probs || all_true(constraints::unit_interval().check(kept(0))),
                        "ContinuousBernoulli: expected probs between 0 and 1, got other values");
    slots_[0] = clamp_probs(slots_[0]);
  }
  Tensor lazy(int slot) const override { return slot == 0 ? clamp_probs(BinaryImpl::lazy(0)) : BinaryImpl::lazy(slot); }
  ArrayRef<Argument> arguments() const override { return kProbsLogits; }
  Constraint support() const override { return constraints::unit_interval(); }
  Tensor named(std::string_view name) const override {
    if (name == "low" || name == "high") return scalar_tensor(name == "low" ? low : high, ScalarType::Double);
    return BinaryImpl::named(name);
  }

  double low, high;
};

constexpr Argument kBinomial[] = {
    {"total_count", 2, constraints::nonnegative_integer}, {"probs", 0, constraints::unit_interval}, {"logits", 1, constraints::real}};

struct BinomialImpl final : ImplOf<BinomialImpl, Binomial, BinaryImpl<DistributionImpl>> {
  BinomialImpl(const TensorOrNumber& count, const TensorOrNumber& probs, const TensorOrNumber& logits) : ImplOf(probs, logits, count) {
    slots_[2] = slots_[2].type_as(param());
  }
  const Tensor& total_count() const { return kept(2); }
  ArrayRef<Argument> arguments() const override { return kBinomial; }
  Constraint support() const override { return constraints::integer_interval(0, total_count()); }
  // The number of trials, one for the whole batch.
  int64_t count(const char* asked_by) const {
    const int64_t most = total_count().max().item().as<int64_t>();
    CRESSET_CHECK_NOT_IMPLEMENTED(total_count().min().item().as<double>() == static_cast<double>(most), "Binomial.", asked_by,
                                  ": expected one total_count for the whole batch, got several");
    return most;
  }
  Tensor entropy() const override {
    count("entropy");
    const Tensor log_prob = this->log_prob(enumerate_support(false));
    return -(exp(log_prob) * log_prob).sum(0);
  }
  Tensor enumerate_support(bool expand) const override { return along_batch(arange(1 + count("enumerate_support"), param().options()), batch_shape_, expand); }
};

struct GeometricImpl final : ImplOf<GeometricImpl, Geometric, BinaryImpl<DistributionImpl>> {
  using ImplOf::ImplOf;
  ArrayRef<Argument> arguments() const override { return kProbsLogits; }
  Constraint support() const override { return constraints::nonnegative_integer(); }
  void check_arguments() const override {
    const bool given = has_slot(0);
    DistributionImpl::check_arguments();
    if (!given) return;
    const Tensor positive = kept(0) > 0;
    if (all_true(positive)) return;
    throw ValueError(outside_text(*this, "parameter probs", kept(0)) + "expected positive numbers, got\n" + format_text(kept(0).detach().index({~positive})));
  }
};

Constraint from_zero() { return constraints::greater_than_eq(0); }
Constraint below_one() { return constraints::half_open_interval(0.0, 1.0); }
constexpr Argument kNegativeBinomial[] = {{"total_count", 2, from_zero}, {"probs", 0, below_one}, {"logits", 1, constraints::real}};

struct NegativeBinomialImpl final : ImplOf<NegativeBinomialImpl, NegativeBinomial, BinaryImpl<DistributionImpl>> {
  NegativeBinomialImpl(const TensorOrNumber& count, const TensorOrNumber& probs, const TensorOrNumber& logits) : ImplOf(probs, logits, count) {
    slots_[2] = slots_[2].type_as(param());
  }
  ArrayRef<Argument> arguments() const override { return kNegativeBinomial; }
  Constraint support() const override { return constraints::nonnegative_integer(); }
};

constexpr Argument kPoisson[] = {{"rate", 0, constraints::nonnegative}};
using PoissonImpl = Plain<Poisson, kPoisson, constraints::nonnegative_integer, ExponentialFamilyImpl>;

}  // namespace

const Kind Bernoulli::kKind{"Bernoulli", &ExponentialFamily::kKind, false, true, &bernoulli_formulas};
const Kind ContinuousBernoulli::kKind{"ContinuousBernoulli", &ExponentialFamily::kKind, true, false, &continuousbernoulli_formulas};
const Kind Binomial::kKind{"Binomial", &Distribution::kKind, false, true, &binomial_formulas};
const Kind Geometric::kKind{"Geometric", &Distribution::kKind, false, false, &geometric_formulas};
const Kind NegativeBinomial::kKind{"NegativeBinomial", &Distribution::kKind, false, false, &negativebinomial_formulas};
const Kind Poisson::kKind{"Poisson", &ExponentialFamily::kKind, false, false, &poisson_formulas};

Bernoulli::Bernoulli(const TensorOrNumber& probs, const TensorOrNumber& logits, Validate validate_args)
    : ExponentialFamily(new BernoulliImpl(probs, logits), validate_args) {}
ContinuousBernoulli::ContinuousBernoulli(const TensorOrNumber& probs, const TensorOrNumber& logits, std::pair<double, double> lims, Validate validate_args)
    : ExponentialFamily(new ContinuousBernoulliImpl(probs, logits, lims, validate_args.has_value()), validate_args) {}
Tensor continuous_bernoulli_log_norm(const Distribution& distribution) {
  const auto& impl = static_cast<const ContinuousBernoulliImpl&>(distribution.impl());
  return _continuousbernoulli_cont_bern_log_norm(impl.probs(), impl.low, impl.high);
}
Binomial::Binomial(const TensorOrNumber& total_count, const TensorOrNumber& probs, const TensorOrNumber& logits, Validate validate_args)
    : Distribution(new BinomialImpl(total_count, probs, logits), validate_args) {}
Geometric::Geometric(const TensorOrNumber& probs, const TensorOrNumber& logits, Validate validate_args)
    : Distribution(new GeometricImpl(probs, logits), validate_args) {}
NegativeBinomial::NegativeBinomial(const TensorOrNumber& total_count, const TensorOrNumber& probs, const TensorOrNumber& logits, Validate validate_args)
    : Distribution(new NegativeBinomialImpl(total_count, probs, logits), validate_args) {}
Poisson::Poisson(const TensorOrNumber& rate, Validate validate_args) : ExponentialFamily(new PoissonImpl{rate}, validate_args) {}

}  // namespace cresset::distributions
