// Distributions of categories.

#include "cresset/distributions/implementation.h"
#include "cresset/distributions/rows.h"

namespace cresset::ops::composite {

using namespace distributions;

Tensor _categorical_sample(IntArrayRef shape, const Tensor& probs) {
  const int64_t draws = product(but_last(shape, static_cast<size_t>(probs.dim() - 1)));
  return multinomial(probs.reshape({-1, probs.size(-1)}), draws, true).t().reshape(shape);
}

Tensor _categorical_log_prob(const Tensor& value, const Tensor& logits) {
  const std::vector<Tensor> both = cresset::broadcast_tensors({value.to(ScalarType::Long).unsqueeze(-1), logits});
  return both[1].gather(-1, both[0].narrow(-1, 0, 1)).squeeze(-1);
}

Tensor _multinomial_sample(IntArrayRef shape, const Tensor& probs, int64_t total_count) {
  const Tensor drawn = composite::_categorical_sample(join({total_count}, but_last(shape, 1)), probs).movedim(0, -1);  // the draws last
  Tensor counts = probs.new_zeros(shape);
  return counts.scatter_add_(-1, drawn, ones_like(drawn).type_as(counts));
}

Tensor _multinomial_log_prob(const Tensor& given, const Tensor& given_logits) {
  const std::vector<Tensor> both = broadcast_all({given_logits, given});
  const Tensor& value = both[1];
  const Tensor logits = both[0].masked_fill((value == 0) & (both[0] == -kInfinity), 0);
  return lgamma(value.sum(-1) + 1) - lgamma(value + 1).sum(-1) + (logits * value).sum(-1);
}

// A sum over what each category's count, which is binomial with log odds `logits`, may be.
Tensor _multinomial_log_choices(const Tensor& logits, int64_t total_count) {
  const Tensor counts = along_batch(arange(1, total_count + 1, logits.options()), logits.sizes(), false);
  const Tensor log_prob = composite::_binomial_log_prob(counts, full_like(logits, total_count), logits);
  return (exp(log_prob) * lgamma(counts + 1)).sum({0, -1});
}

Tensor _multinomial_entropy_of_draws(const Tensor& entropy_of_one, const Tensor& log_choices, int64_t total_count) {
  const Tensor n = scalar_tensor(total_count, ScalarType::Long);
  return n * entropy_of_one - lgamma(n + 1) + log_choices;
}

Tensor _exprelaxedcategorical_rsample(IntArrayRef shape, const Tensor& logits, const Tensor& temperature) {
  const Tensor u = clamp_probs(rand(shape, logits.options()));
  const Tensor scores = (logits - (-u.log()).log()) / temperature;
  return scores - scores.logsumexp({-1}, true);
}

Tensor _exprelaxedcategorical_log_prob(const Tensor& value, const Tensor& logits, const Tensor& temperature) {
  const int64_t k = logits.size(-1);
  const std::vector<Tensor> both = broadcast_all({logits, value});
  const Tensor norm = full_like(temperature, static_cast<double>(k)).lgamma() + temperature.log() * (k - 1);
  const Tensor score = both[0] - both[1].mul(temperature);
  return (score - score.logsumexp({-1}, true)).sum(-1) + norm;
}

// The law of total variance.
Tensor _mixturesamefamily_variance(const Tensor& component_mean, const Tensor& component_variance, const Tensor& probs, int64_t dim) {
  const Tensor within = (probs * component_variance).sum(dim);
  const Tensor mean = (probs * component_mean).sum(dim).unsqueeze(dim);
  return within + (probs * (component_mean - mean).pow(2.0)).sum(dim);
}

}  // namespace cresset::ops::composite

namespace cresset::distributions {

namespace {

constexpr Argument kCategorical[] = {{"probs", 0, constraints::simplex}, {"logits", 1, constraints::real_vector}};
constexpr Argument kOfCategorical[] = {{"probs", -1, constraints::simplex}, {"logits", -2, constraints::real_vector}};
constexpr int8_t kVectors[] = {1, 1};

struct CategoricalImpl final : ImplOf<CategoricalImpl, Categorical> {
  CategoricalImpl(const Tensor& probs, const Tensor& logits) {
    check_one(probs.defined(), logits.defined());
    const Tensor& given = probs.defined() ? probs : logits;
    CRESSET_CHECK_VALUE(given.dim() >= 1, "Categorical: expected ", probs.defined() ? "probs" : "logits", " with at least one dimension, got a number");
    slots_ = {Tensor(), Tensor()};
    if (probs.defined()) slots_[0] = _probabilities_normalized(probs);
    else slots_[1] = _logits_normalized(logits);
    batch_shape_ = but_last(given.sizes(), 1).vec();
    num_events = given.size(-1);
  }
  Tensor param() const { return has_slot(0) ? slot(0) : slot(1); }
  ArrayRef<int8_t> slot_dims() const override { return kVectors; }
  Tensor lazy(int slot) const override { return slot == 0 ? logits_to_probs(this->slot(1)) : probs_to_logits(this->slot(0)); }
  ArrayRef<Argument> arguments() const override { return kCategorical; }
  Constraint support() const override { return constraints::integer_interval(0, num_events - 1); }
  Tensor enumerate_support(bool expand) const override {
    return along_batch(arange(num_events, param().options().dtype(ScalarType::Long)), batch_shape_, expand);
  }
  int64_t num_events = 0;
};

// A distribution that stands on a Categorical, its first part.
struct OnCategorical : DistributionImpl {
  void stand_on(const Tensor& probs, const Tensor& logits) {
    parts_ = {Categorical(probs, logits)};
    batch_shape_ = parts_[0].batch_shape().vec();
    event_shape_ = {categorical().num_events};
  }
  const CategoricalImpl& categorical() const { return static_cast<const CategoricalImpl&>(parts_[0].impl()); }
  ArrayRef<Argument> arguments() const override { return kOfCategorical; }
  Tensor derived(const Argument& a) const override { return categorical().slot(-1 - a.slot); }
};

struct OneHotImpl : ImplOf<OneHotImpl, OneHotCategorical, OnCategorical> {
  OneHotImpl(const Tensor& probs, const Tensor& logits) { stand_on(probs, logits); }
  Constraint support() const override { return constraints::one_hot(); }
  Tensor enumerate_support(bool expand) const override {
    const int64_t n = event_shape_[0];
    const Tensor values = eye(n, categorical().param().options()).view(join(join({n}, Shape(batch_shape_.size(), 1)), {n}));
    return expand ? values.expand(join(join({n}, batch_shape_), {n})) : values;
  }
};

struct StraightThroughImpl final : ImplOf<StraightThroughImpl, OneHotCategoricalStraightThrough, OneHotImpl> {
  using ImplOf::ImplOf;
};

struct MultinomialImpl final : ImplOf<MultinomialImpl, Multinomial, OnCategorical> {
  MultinomialImpl(int64_t count, const Tensor& probs, const Tensor& logits) : total_count(count) {
    CRESSET_CHECK_VALUE(count >= 0, "Multinomial: expected total_count of at least 0, got ", count);
    stand_on(probs, logits);
    parts_.push_back(Binomial(total_count, categorical().slot(0)));
  }
  void expand_to(IntArrayRef batch_shape) override {
    parts_[0] = parts_[0].expand(batch_shape);
    parts_[1] = Binomial(total_count, categorical().slot(0), {}, false);
  }
  Constraint support() const override { return constraints::multinomial(total_count); }
  Tensor entropy() const override {
    const Tensor choices = _multinomial_log_choices(parts_[1].as<Binomial>().logits(), total_count);
    return _multinomial_entropy_of_draws(parts_[0].entropy(), choices, total_count);
  }
  Tensor named(std::string_view name) const override {
    return name == "total_count" ? scalar_tensor(total_count, ScalarType::Long) : OnCategorical::named(name);
  }
  int64_t total_count;
};

constexpr int8_t kTemperature[] = {DistributionImpl::kKeep};

struct ExpRelaxedImpl final : ImplOf<ExpRelaxedImpl, ExpRelaxedCategorical, OnCategorical> {
  ExpRelaxedImpl(const Tensor& t, const Tensor& probs, const Tensor& logits) {
    stand_on(probs, logits);
    slots_ = {t};
  }
  ArrayRef<int8_t> slot_dims() const override { return kTemperature; }
  Constraint support() const override { return constraints::real_vector(); }
  Tensor named(std::string_view name) const override { return name == "temperature" ? kept(0) : OnCategorical::named(name); }
};

}  // namespace

const Kind Categorical::kKind{"Categorical", &Distribution::kKind, false, true, &categorical_formulas};
const Kind OneHotCategorical::kKind{"OneHotCategorical", &Distribution::kKind, false, true, &onehotcategorical_formulas};
const Kind OneHotCategoricalStraightThrough::kKind{"OneHotCategoricalStraightThrough", &OneHotCategorical::kKind, true, true,
                                                   &onehotcategoricalstraightthrough_formulas};
const Kind Multinomial::kKind{"Multinomial", &Distribution::kKind, false, false, &multinomial_formulas};
const Kind ExpRelaxedCategorical::kKind{"ExpRelaxedCategorical", &Distribution::kKind, true, false, &exprelaxedcategorical_formulas};

Categorical::Categorical(const Tensor& probs, const Tensor& logits, Validate validate_args) : Distribution(new CategoricalImpl(probs, logits), validate_args) {}
OneHotCategorical::OneHotCategorical(const Tensor& probs, const Tensor& logits, Validate validate_args)
    : Distribution(new OneHotImpl(probs, logits), validate_args) {}
OneHotCategoricalStraightThrough::OneHotCategoricalStraightThrough(const Tensor& probs, const Tensor& logits, Validate validate_args)
    : OneHotCategorical(new StraightThroughImpl(probs, logits), validate_args) {}
Multinomial::Multinomial(int64_t total_count, const Tensor& probs, const Tensor& logits, Validate validate_args)
    : Distribution(new MultinomialImpl(total_count, probs, logits), validate_args) {}
int64_t Multinomial::total_count() const { return static_cast<const MultinomialImpl&>(impl()).total_count; }
ExpRelaxedCategorical::ExpRelaxedCategorical(const Tensor& temperature, const Tensor& probs, const Tensor& logits, Validate validate_args)
    : Distribution(new ExpRelaxedImpl(temperature, probs, logits), validate_args) {}

}  // namespace cresset::distributions
