// Distributions made of distributions: transformed values, dimensions of the batch as parts of an event, mixtures.

#include "cresset/distributions/transformed.h"

#include "cresset/distributions/rows.h"

namespace cresset::distributions {

TransformedImpl::TransformedImpl(Distribution base, std::vector<Transform> given) : transforms(std::move(given)) {
  const ComposeTransform transform(transforms);
  const Shape shape = join(base.batch_shape(), base.event_shape());
  const int64_t base_dim = static_cast<int64_t>(base.event_shape().size()), in = transform.domain().event_dim(), out = transform.codomain().event_dim();
  CRESSET_CHECK_VALUE(static_cast<int64_t>(shape.size()) >= in, "TransformedDistribution: the transforms take events of ", in,
                      " dimensions, got a base of shape ", size_text(shape));
  const Shape forward = transform.forward_shape(shape), wide = transform.inverse_shape(forward);
  if (shape != wide) base = base.expand(but_last(wide, static_cast<size_t>(base_dim)));
  if (in > base_dim) base = Independent(base, in - base_dim);
  parts_ = {base};
  const size_t event_dim = static_cast<size_t>(out + std::max<int64_t>(base_dim - in, 0));
  CRESSET_CHECK(forward.size() >= event_dim, "TransformedDistribution: forward_shape gives ", forward.size(), " dimensions, expected ", event_dim, " or more");
  batch_shape_ = but_last(forward, event_dim).vec();
  event_shape_ = last(forward, event_dim).vec();
}

void TransformedImpl::expand_to(IntArrayRef batch_shape) {
  const Distribution base = std::move(parts_[0]);
  parts_.clear();
  DistributionImpl::expand_to(batch_shape);
  const Shape shape = ComposeTransform(transforms).inverse_shape(join(batch_shape, event_shape_));
  parts_ = {base.expand(but_last(shape, base.event_shape().size()))};
  remake_transforms();
}

Constraint TransformedImpl::support() const {
  if (transforms.empty()) return parts_[0].support();
  const Constraint support = transforms.back().codomain();
  const int64_t more = static_cast<int64_t>(event_shape_.size()) - support.event_dim();
  return more > 0 ? constraints::independent(support, more) : support;
}

Tensor TransformedImpl::forward(Tensor x) const {
  for (const Transform& t : transforms) x = t(x);
  return x;
}

Tensor TransformedImpl::sample(IntArrayRef sample_shape) const { return forward(base().sample(sample_shape)); }
Tensor TransformedImpl::rsample(IntArrayRef sample_shape) const { return forward(base().rsample(sample_shape)); }

Tensor TransformedImpl::log_prob(const Tensor& value) const {
  if (formula_of(kind(), &Formulas::log_prob)) return DistributionImpl::log_prob(value);
  check(value);
  int64_t dim = static_cast<int64_t>(event_shape_.size());
  Tensor result, y = value;
  for (size_t i = transforms.size(); i-- > 0;) {
    const Transform& t = transforms[i];
    const Tensor x = t.inv()(y);
    dim += t.domain().event_dim() - t.codomain().event_dim();
    const Tensor term = sum_rightmost(t.log_abs_det_jacobian(x, y), dim - t.domain().event_dim());
    result = result.defined() ? result - term : 0.0 - term;
    y = x;
  }
  const Tensor last = sum_rightmost(base().log_prob(y), dim - static_cast<int64_t>(base().event_shape().size()));
  return result.defined() ? result + last : 0.0 + last;
}

// Probabilities turned around where the transforms decrease.
Tensor TransformedImpl::monotonize(const Tensor& value) const {
  double sign = 1;
  Tensor signs;
  for (const Transform& t : transforms) {
    const TensorOrNumber s = t.sign();
    if (s.is_number() && !signs.defined()) sign *= s.number().as<double>();
    else if (!signs.defined()) signs = sign * s.tensor();
    else signs = s.is_number() ? signs * s.number() : signs * s.tensor();
  }
  if (!signs.defined()) return sign == 1 ? value : sign * (value - 0.5) + 0.5;
  return signs * (value - 0.5) + 0.5;
}

Tensor TransformedImpl::cdf(const Tensor& given) const {
  if (formula_of(kind(), &Formulas::cdf)) return DistributionImpl::cdf(given);
  Tensor value = given;
  for (size_t i = transforms.size(); i-- > 0;) value = transforms[i].inv()(value);
  if (validate_) base().impl().check_value(value);
  return monotonize(base().cdf(value));
}

Tensor TransformedImpl::icdf(const Tensor& value) const {
  if (formula_of(kind(), &Formulas::icdf)) return DistributionImpl::icdf(value);
  return forward(base().icdf(monotonize(value)));
}

namespace {

struct PlainTransformed final : ImplOf<PlainTransformed, TransformedDistribution, TransformedImpl> {
  using ImplOf::ImplOf;
};

struct IndependentImpl final : ImplOf<IndependentImpl, Independent> {
  IndependentImpl(const Distribution& base, int64_t n) : ndims(n) {
    const size_t dims = base.batch_shape().size();
    CRESSET_CHECK_VALUE(n <= static_cast<int64_t>(dims), "Independent: expected reinterpreted_batch_ndims of at most ", dims, ", got ", n);
    const Shape shape = join(base.batch_shape(), base.event_shape());
    const IntArrayRef all(shape);
    batch_shape_ = all.slice(0, dims - static_cast<size_t>(n)).vec();
    event_shape_ = all.slice(dims - static_cast<size_t>(n)).vec();
    parts_ = {base};
  }
  void expand_to(IntArrayRef batch_shape) override { parts_[0] = parts_[0].expand(join(batch_shape, event_shape().slice(0, static_cast<size_t>(ndims)))); }
  bool has_rsample() const override { return parts_[0].has_rsample(); }
  bool has_enumerate_support() const override { return ndims > 0 ? false : parts_[0].has_enumerate_support(); }
  Constraint support() const override { return ndims ? constraints::independent(parts_[0].support(), ndims) : parts_[0].support(); }
  Tensor mean() const override { return parts_[0].mean(); }
  Tensor mode() const override { return parts_[0].mode(); }
  Tensor variance() const override { return parts_[0].variance(); }
  Tensor sample(IntArrayRef sample_shape) const override { return parts_[0].sample(sample_shape); }
  Tensor rsample(IntArrayRef sample_shape) const override { return parts_[0].rsample(sample_shape); }
  Tensor log_prob(const Tensor& value) const override { return sum_rightmost(parts_[0].log_prob(value), ndims); }
  Tensor entropy() const override { return sum_rightmost(parts_[0].entropy(), ndims); }
  Tensor enumerate_support(bool expand) const override {
    CRESSET_CHECK_NOT_IMPLEMENTED(ndims <= 0, "Independent does not enumerate the values of several dimensions together");
    return parts_[0].enumerate_support(expand);
  }
  std::string str() const override { return "Independent(" + parts_[0].str() + ", " + std::to_string(ndims) + ")"; }
  int64_t ndims;
};

struct MixtureImpl final : ImplOf<MixtureImpl, MixtureSameFamily> {
  MixtureImpl(const Distribution& mixture, const Distribution& components) {
    CRESSET_CHECK_VALUE(mixture.defined() && mixture.is<Categorical>(), "MixtureSameFamily: expected a Categorical as mixture_distribution, got ",
                        mixture.defined() ? mixture.kind().name : "none");
    CRESSET_CHECK_VALUE(components.defined(), "MixtureSameFamily: expected a distribution as component_distribution, got none");
    const IntArrayRef batch = mixture.batch_shape(), all = components.batch_shape();
    const IntArrayRef wanted = all.slice(0, all.empty() ? 0 : all.size() - 1);
    CRESSET_CHECK_VALUE(!all.empty(), "MixtureSameFamily: expected a component_distribution with a batch, got one without");
    count = mixture.as<Categorical>().logits().size(-1);
    CRESSET_CHECK_VALUE(fit(batch, wanted) && count == all.back(), "MixtureSameFamily: expected a component batch of ", size_text(batch), " and then ", count,
                        ", got ", size_text(all));
    parts_ = {mixture, components};
    batch_shape_ = wanted.vec();
    event_shape_ = components.event_shape().vec();
  }
  void expand_to(IntArrayRef batch_shape) override { parts_ = {parts_[0].expand(batch_shape), components().expand(join(batch_shape, {count}))}; }
  Categorical mixture() const { return parts_[0].as<Categorical>(); }
  const Distribution& components() const { return parts_[1]; }
  int64_t event_dims() const { return static_cast<int64_t>(event_shape_.size()); }
  Tensor pad(const Tensor& x) const { return x.unsqueeze(-1 - event_dims()); }
  // The chances with dimensions of the batch in front and of the event behind, for products with components' moments.
  Tensor padded_probs() const {
    const Tensor x = mixture().probs();
    const size_t more = parts_[0].batch_shape().empty() ? batch_shape_.size() : 0;
    const Shape front = join(but_last(x.sizes(), 1), Shape(more, 1)), back = join(last(x.sizes(), 1), Shape(event_shape_.size(), 1));
    return x.reshape(join(front, back));
  }
  Constraint support() const override { return constraints::MixtureSameFamilyConstraint(components().support()); }
  Tensor mean() const override { return _mixturesamefamily_mean(components().mean(), padded_probs(), -1 - event_dims()); }
  Tensor variance() const override {
    const Tensor probs = padded_probs();
    return _mixturesamefamily_variance(components().mean(), components().variance(), probs, -1 - event_dims());
  }
  Tensor cdf(const Tensor& x) const override { return _mixturesamefamily_cdf(components().cdf(pad(x)), mixture().probs()); }
  Tensor log_prob(const Tensor& x) const override {
    check(x);
    return _mixturesamefamily_log_prob(components().log_prob(pad(x)), mixture().logits());
  }
  Tensor sample(IntArrayRef sample_shape) const override {
    const int64_t dim = static_cast<int64_t>(sample_shape.size() + batch_shape_.size());
    Tensor chosen = parts_[0].sample(sample_shape);
    const Tensor values = components().sample(sample_shape);
    const Shape shape = chosen.sizes().vec();
    chosen = chosen.reshape(join(shape, Shape(event_shape_.size() + 1, 1))).expand(join(join(shape, {1}), event_shape_));
    return values.gather(dim, chosen).squeeze(dim);
  }
  std::string str() const override { return "MixtureSameFamily(\n  " + parts_[0].str() + ",\n  " + components().str() + ")"; }
  int64_t count = 0;
};

}  // namespace

const Kind TransformedDistribution::kKind{"TransformedDistribution", &Distribution::kKind};
const Kind Independent::kKind{"Independent", &Distribution::kKind};
const Kind MixtureSameFamily::kKind{"MixtureSameFamily", &Distribution::kKind};

TransformedDistribution::TransformedDistribution(const Distribution& base_distribution, const Transform& transform, Validate validate_args)
    : Distribution(new PlainTransformed(base_distribution, {transform}), validate_args) {}
TransformedDistribution::TransformedDistribution(const Distribution& base_distribution, const std::vector<Transform>& transforms, Validate validate_args)
    : Distribution(new PlainTransformed(base_distribution, transforms), validate_args) {}
std::vector<Transform> TransformedDistribution::transforms() const { return static_cast<const TransformedImpl&>(impl()).transforms; }
Independent::Independent(const Distribution& base_distribution, int64_t reinterpreted_batch_ndims, Validate validate_args)
    : Distribution(new IndependentImpl(base_distribution, reinterpreted_batch_ndims), validate_args) {}
int64_t Independent::reinterpreted_batch_ndims() const { return static_cast<const IndependentImpl&>(impl()).ndims; }
MixtureSameFamily::MixtureSameFamily(const Distribution& mixture_distribution, const Distribution& component_distribution, Validate validate_args)
    : Distribution(new MixtureImpl(mixture_distribution, component_distribution), validate_args) {}
Categorical MixtureSameFamily::mixture_distribution() const { return impl().part(0).as<Categorical>(); }

}  // namespace cresset::distributions
