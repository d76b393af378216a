// Laws of categories.

#include <numeric>

#include "cresset/distributions/law_of.h"

namespace cresset::distributions {

namespace {

constexpr Argument kCategorical[] = {{"probs", 0, constraints::simplex}, {"logits", 1, constraints::real_vector}};
constexpr Argument kOfCategorical[] = {{"probs", -1, constraints::simplex}, {"logits", -2, constraints::real_vector}};
constexpr int8_t kVectors[] = {1, 1};

struct CategoricalLaw final : LawOf<CategoricalLaw, Categorical> {
  CategoricalLaw(const Tensor& probs, const Tensor& logits) {
    CRESSET_CHECK_VALUE(probs.defined() != logits.defined(), "Either `probs` or `logits` must be specified, but not both.");
    const Tensor& given = probs.defined() ? probs : logits;
    CRESSET_CHECK_VALUE(given.dim() >= 1, "`", probs.defined() ? "probs" : "logits",
                        "` parameter must be at least one-dimensional.");
    slots_ = {Tensor(), Tensor()};
    if (probs.defined())
      slots_[0] = probs / probs.sum(-1, true);
    else
      slots_[1] = logits - logits.logsumexp({-1}, true);
    batch_shape_ = but_last(given.sizes(), 1).vec();
    num_events = given.size(-1);
  }
  Tensor probs() const { return slot(0); }
  Tensor logits() const { return slot(1); }
  Tensor param() const { return has_slot(0) ? slot(0) : slot(1); }
  ArrayRef<int8_t> slot_dims() const override { return kVectors; }
  Tensor lazy(int slot) const override { return slot == 0 ? logits_to_probs(this->slot(1)) : probs_to_logits(this->slot(0)); }
  ArrayRef<Argument> arguments() const override { return kCategorical; }
  Constraint support() const override { return constraints::integer_interval(0, num_events - 1); }
  Tensor mean() const override { return full(extended({}), kNan, probs().options()); }
  Tensor mode() const override { return probs().argmax(-1); }
  Tensor variance() const override { return mean(); }
  Tensor sample(IntArrayRef sample_shape) const override {
    const Tensor flat = multinomial(probs().reshape({-1, num_events}), product(sample_shape), true).t();
    return flat.reshape(extended(sample_shape));
  }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    const std::vector<Tensor> both = cresset::broadcast_tensors({value.to(ScalarType::Long).unsqueeze(-1), logits()});
    return both[1].gather(-1, both[0].narrow(-1, 0, 1)).squeeze(-1);
  }
  Tensor entropy() const override {
    const Tensor held = logits().clamp(Scalar(finfo(logits().scalar_type()).lowest));
    return -(held * probs()).sum(-1);
  }
  Tensor enumerate_support(bool expand) const override {
    return along_batch(arange(num_events, param().options().dtype(ScalarType::Long)), batch_shape_, expand);
  }
  int64_t num_events = 0;
};

// A law that stands on a Categorical, its first part.
struct OnCategorical : DistributionImpl {
  void stand_on(const Tensor& probs, const Tensor& logits) {
    parts_ = {Categorical(probs, logits)};
    batch_shape_ = parts_[0].batch_shape().vec();
    event_shape_ = {categorical().num_events};
  }
  const CategoricalLaw& categorical() const { return static_cast<const CategoricalLaw&>(parts_[0].impl()); }
  Tensor probs() const { return categorical().probs(); }
  Tensor logits() const { return categorical().logits(); }
  ArrayRef<Argument> arguments() const override { return kOfCategorical; }
  Tensor derived(const Argument& a) const override { return a.slot == -1 ? probs() : logits(); }
};

struct OneHotLaw : LawOf<OneHotLaw, OneHotCategorical, OnCategorical> {
  OneHotLaw(const Tensor& probs, const Tensor& logits) { stand_on(probs, logits); }
  Constraint support() const override { return constraints::one_hot(); }
  Tensor mean() const override { return probs(); }
  Tensor mode() const override { return one_hot(probs().argmax(-1), probs().size(-1)).to(probs()); }
  Tensor variance() const override { return probs() * (1 - probs()); }
  Tensor sample(IntArrayRef sample_shape) const override {
    return one_hot(categorical().sample(sample_shape), categorical().num_events).to(categorical().param());
  }
  Tensor log_prob(const Tensor& value) const override {
    check(value);
    return parts_[0].log_prob(std::get<1>(value.max(-1)));
  }
  Tensor entropy() const override { return parts_[0].entropy(); }
  Tensor enumerate_support(bool expand) const override {
    const int64_t n = event_shape_[0];
    const Tensor values = eye(n, categorical().param().options()).view(join(join({n}, Shape(batch_shape_.size(), 1)), {n}));
    return expand ? values.expand(join(join({n}, batch_shape_), {n})) : values;
  }
};

struct StraightThroughLaw final : LawOf<StraightThroughLaw, OneHotCategoricalStraightThrough, OneHotLaw> {
  using LawOf::LawOf;
  Tensor rsample(IntArrayRef sample_shape) const override {
    Tensor samples;
    {
      const NoGradGuard off;
      samples = sample(sample_shape);
    }
    return samples + (probs() - probs().detach());
  }
};

struct MultinomialLaw final : LawOf<MultinomialLaw, Multinomial, OnCategorical> {
  MultinomialLaw(int64_t count, const Tensor& probs, const Tensor& logits) : total_count(count) {
    stand_on(probs, logits);
    parts_.push_back(Binomial(total_count, this->probs()));
  }
  void expand_to(IntArrayRef batch_shape) override {
    parts_[0] = parts_[0].expand(batch_shape);
    parts_[1] = Binomial(total_count, probs(), {}, false);
  }
  Constraint support() const override { return constraints::multinomial(total_count); }
  Tensor mean() const override { return probs() * total_count; }
  Tensor variance() const override { return total_count * probs() * (1 - probs()); }
  Tensor sample(IntArrayRef sample_shape) const override {
    const Tensor drawn = categorical().sample(join({total_count}, sample_shape)).movedim(0, -1);  // the draws last
    Tensor counts = probs().new_zeros(extended(sample_shape));
    return counts.scatter_add_(-1, drawn, ones_like(drawn).type_as(counts));
  }
  Tensor entropy() const override {
    const Tensor n = scalar_tensor(total_count, ScalarType::Long);
    const Tensor all = parts_[1].enumerate_support(false);
    const Tensor some = all.narrow(0, 1, all.size(0) - 1);
    const Tensor term = (exp(parts_[1].log_prob(some)) * lgamma(some + 1)).sum({0, -1});
    return n * parts_[0].entropy() - lgamma(n + 1) + term;
  }
  Tensor log_prob(const Tensor& given) const override {
    check(given);
    const std::vector<Tensor> both = broadcast_all({logits(), given});
    const Tensor& value = both[1];
    const Tensor logits = both[0].masked_fill((value == 0) & (both[0] == -kInfinity), 0);
    return lgamma(value.sum(-1) + 1) - lgamma(value + 1).sum(-1) + (logits * value).sum(-1);
  }
  int64_t total_count;
};

constexpr int8_t kTemperature[] = {DistributionImpl::kKeep};

struct ExpRelaxedLaw final : LawOf<ExpRelaxedLaw, ExpRelaxedCategorical, OnCategorical> {
  ExpRelaxedLaw(const Tensor& t, const Tensor& probs, const Tensor& logits) {
    stand_on(probs, logits);
    slots_ = {t};
  }
  const Tensor& temperature() const { return kept(0); }
  ArrayRef<int8_t> slot_dims() const override { return kTemperature; }
  Constraint support() const override { return constraints::real_vector(); }
  Tensor rsample(IntArrayRef sample_shape) const override {
    const Tensor u = clamp_probs(rand(extended(sample_shape), logits().options()));
    const Tensor scores = (logits() - (-u.log()).log()) / temperature();
    return scores - scores.logsumexp({-1}, true);
  }
  Tensor log_prob(const Tensor& given) const override {
    check(given);
    const int64_t k = categorical().num_events;
    const std::vector<Tensor> both = broadcast_all({logits(), given});
    const Tensor norm = full_like(temperature(), static_cast<double>(k)).lgamma() + temperature().log() * (k - 1);
    const Tensor score = both[0] - both[1].mul(temperature());
    return (score - score.logsumexp({-1}, true)).sum(-1) + norm;
  }
};

}  // namespace

const Kind Categorical::kKind{"Categorical", &Distribution::kKind, false, true};
const Kind OneHotCategorical::kKind{"OneHotCategorical", &Distribution::kKind, false, true};
const Kind OneHotCategoricalStraightThrough::kKind{"OneHotCategoricalStraightThrough", &OneHotCategorical::kKind, true, true};
const Kind Multinomial::kKind{"Multinomial", &Distribution::kKind};
const Kind ExpRelaxedCategorical::kKind{"ExpRelaxedCategorical", &Distribution::kKind, true};

Categorical::Categorical(const Tensor& probs, const Tensor& logits, Validate validate_args)
    : Distribution(new CategoricalLaw(probs, logits), validate_args) {}
OneHotCategorical::OneHotCategorical(const Tensor& probs, const Tensor& logits, Validate validate_args)
    : Distribution(new OneHotLaw(probs, logits), validate_args) {}
OneHotCategoricalStraightThrough::OneHotCategoricalStraightThrough(const Tensor& probs, const Tensor& logits,
                                                                   Validate validate_args)
    : OneHotCategorical(new StraightThroughLaw(probs, logits), validate_args) {}
Multinomial::Multinomial(int64_t total_count, const Tensor& probs, const Tensor& logits, Validate validate_args)
    : Distribution(new MultinomialLaw(total_count, probs, logits), validate_args) {}
int64_t Multinomial::total_count() const { return static_cast<const MultinomialLaw&>(impl()).total_count; }
ExpRelaxedCategorical::ExpRelaxedCategorical(const Tensor& temperature, const Tensor& probs, const Tensor& logits,
                                             Validate validate_args)
    : Distribution(new ExpRelaxedLaw(temperature, probs, logits), validate_args) {}

}  // namespace cresset::distributions
