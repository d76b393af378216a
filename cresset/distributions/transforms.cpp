// Transforms of numbers, one by one.

#include "cresset/distributions/transforms.h"

#include <cmath>
#include <cstring>
#include <mutex>

#include "cresset/distributions/rows.h"
#include "cresset/distributions/transform_of.h"

namespace cresset::distributions {

namespace {

// Guards remembered pairs: transforms may be shared by threads.
std::mutex cache_mutex;

}  // namespace

TransformImpl::~TransformImpl() = default;

void TransformImpl::missing(const char* what) const { throw NotImplementedError(std::string(name()) + " does not implement " + what); }

TensorOrNumber TransformImpl::sign() const { missing("sign"); }
Tensor TransformImpl::call(const Tensor&) const { missing("call"); }
Tensor TransformImpl::inverse(const Tensor&) const { missing("inverse"); }
Tensor TransformImpl::log_abs_det_jacobian(const Tensor&, const Tensor&) const { missing("log_abs_det_jacobian"); }
bool TransformImpl::equals(const TransformImpl& other) const { return this == &other; }
std::string TransformImpl::str() const { return std::string(name()) + "()"; }

int64_t TransformImpl::event_dim() const {
  const int64_t dim = domain().event_dim();
  CRESSET_CHECK_VALUE(dim == codomain().event_dim(), "Transform: domain and codomain have events of different dimensions, got ", dim, " and ",
                      codomain().event_dim(), "; ask one of them");
  return dim;
}

void TransformImpl::set_cache_size(int64_t cache_size) {
  CRESSET_CHECK_VALUE(cache_size == 0 || cache_size == 1, "Transform: expected a cache_size of 0 or 1, got ", cache_size);
  cache_size_ = cache_size;
}

Tensor TransformImpl::cached_call(const Tensor& given, bool backwards) const {
  if (!caches()) return backwards ? inverse(given) : call(given);
  {
    const std::lock_guard<std::mutex> lock(cache_mutex);
    const Tensor& known = backwards ? y_ : x_;
    if (known.defined() && known.is_same(given)) return backwards ? x_ : y_;
  }
  Tensor result = backwards ? inverse(given) : call(given);
  const std::lock_guard<std::mutex> lock(cache_mutex);
  x_ = backwards ? result : given;
  y_ = backwards ? given : result;
  return result;
}

Transform::Transform(TransformImpl* fresh, int64_t cache_size) : impl_(fresh) { fresh->set_cache_size(cache_size); }

Tensor Transform::log_abs_det_jacobian(const Tensor& x, const Tensor& y) const {
  return inverted_ ? -impl_->log_abs_det_jacobian(y, x) : impl_->log_abs_det_jacobian(x, y);
}

Transform Transform::inv() const {
  const std::vector<Transform>* parts = parts_of_composition(*impl_);
  if (!parts) return Transform(impl_, !inverted_);
  std::vector<Transform> inverses;
  for (size_t i = parts->size(); i-- > 0;) inverses.push_back((*parts)[i].inv());
  return ComposeTransform(std::move(inverses));
}

Transform Transform::with_cache(int64_t cache_size) const {
  if (impl_->cache_size() == cache_size) return *this;
  std::shared_ptr<TransformImpl> fresh(impl_->copy(cache_size));
  fresh->set_cache_size(cache_size);
  return Transform(std::move(fresh), inverted_);
}

bool Transform::operator==(const Transform& other) const {
  return inverted_ == other.inverted_ && (impl_ == other.impl_ || (std::strcmp(impl_->name(), other.impl_->name()) == 0 && impl_->equals(*other.impl_)));
}

std::string Transform::str() const { return inverted_ ? "_InverseTransform(" + impl_->str() + ")" : impl_->str(); }

namespace {

Constraint real_events(int64_t dims) { return dims == 0 ? constraints::real() : constraints::independent(constraints::real(), dims); }

Constraint minus_one_to_one() { return constraints::interval(-1.0, 1.0); }

constexpr PlainSpec kExp{
    "ExpTransform", constraints::real, constraints::positive, true, 1, _exptransform_call, _exptransform_inverse, of_x<_exptransform_log_abs_det_jacobian>};
constexpr PlainSpec kSigmoid{"SigmoidTransform",
                             constraints::real,
                             constraints::unit_interval,
                             true,
                             1,
                             _sigmoidtransform_call,
                             _sigmoidtransform_inverse,
                             of_x<_sigmoidtransform_log_abs_det_jacobian>};
constexpr PlainSpec kSoftplus{"SoftplusTransform",
                              constraints::real,
                              constraints::positive,
                              true,
                              1,
                              _softplustransform_call,
                              _softplustransform_inverse,
                              of_x<_softplustransform_log_abs_det_jacobian>};
constexpr PlainSpec kTanh{
    "TanhTransform", constraints::real, minus_one_to_one, true, 1, _tanhtransform_call, _tanhtransform_inverse, of_x<_tanhtransform_log_abs_det_jacobian>};
constexpr PlainSpec kAbs{"AbsTransform", constraints::real, constraints::positive, false, 0, _abstransform_call, _abstransform_inverse, nullptr};

struct Power final : TransformOf<Power> {
  explicit Power(Tensor e) : exponent(std::move(e)) {}
  const char* name() const override { return "PowerTransform"; }
  Constraint domain() const override { return constraints::positive(); }
  Constraint codomain() const override { return constraints::positive(); }
  TensorOrNumber sign() const override { return exponent.sign(); }
  bool equals(const TransformImpl& other) const override { return all_true(exponent.eq(static_cast<const Power&>(other).exponent)); }
  Tensor call(const Tensor& x) const override { return _powertransform_call(x, exponent); }
  Tensor inverse(const Tensor& y) const override { return _powertransform_inverse(y, exponent); }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override { return _powertransform_log_abs_det_jacobian(x, y, exponent); }
  Shape forward_shape(IntArrayRef shape) const override { return broadcast_shapes({shape, exponent.sizes()}); }
  Shape inverse_shape(IntArrayRef shape) const override { return forward_shape(shape); }
  Tensor exponent;
};

bool same(const TensorOrNumber& a, const TensorOrNumber& b) {
  if (a.is_number() && b.is_number()) return a.number().as<double>() == b.number().as<double>();
  const Tensor& t = a.is_tensor() ? a.tensor() : b.tensor();
  const TensorOrNumber& other = a.is_tensor() ? b : a;
  return all_true(other.is_number() ? t == other.number() : t == other.tensor());
}

IntArrayRef shape_of(const TensorOrNumber& v) { return v.is_tensor() ? v.tensor().sizes() : IntArrayRef(); }

struct Affine final : TransformOf<Affine> {
  Affine(TensorOrNumber l, TensorOrNumber s, int64_t dims) : loc(std::move(l)), scale(std::move(s)), dims(dims) {}
  const char* name() const override { return "AffineTransform"; }
  Constraint domain() const override { return real_events(dims); }
  Constraint codomain() const override { return real_events(dims); }
  int64_t event_dim() const override { return dims; }
  TensorOrNumber sign() const override {
    if (scale.is_tensor()) return scale.tensor().sign();
    const double s = scale.number().as<double>();
    return (s > 0) - (s < 0);
  }
  bool equals(const TransformImpl& o) const override {
    const Affine& other = static_cast<const Affine&>(o);
    return same(loc, other.loc) && same(scale, other.scale);
  }
  static Tensor wrapped(const TensorOrNumber& v) { return v.is_tensor() ? v.tensor() : wrapped_scalar_tensor(v.number()); }
  Tensor call(const Tensor& x) const override { return _affinetransform_call(x, wrapped(loc), wrapped(scale)); }
  Tensor inverse(const Tensor& y) const override { return _affinetransform_inverse(y, wrapped(loc), wrapped(scale)); }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor&) const override {
    Tensor result = scale.is_tensor() ? _affinetransform_log_slope(scale.tensor()) : full_like(x, std::log(std::fabs(scale.number().as<double>())));
    IntArrayRef shape = x.sizes();
    if (dims) {
      result = result.view(join(but_last(result.sizes(), static_cast<size_t>(dims)), {-1})).sum(-1);
      shape = but_last(shape, static_cast<size_t>(dims));
    }
    return result.expand(shape);
  }
  Shape forward_shape(IntArrayRef shape) const override { return broadcast_shapes({shape, shape_of(loc), shape_of(scale)}); }
  Shape inverse_shape(IntArrayRef shape) const override { return forward_shape(shape); }
  TensorOrNumber loc, scale;
  int64_t dims;
};

struct Cumulative final : TransformOf<Cumulative> {
  explicit Cumulative(const Distribution& d) : distribution(d) {}
  const char* name() const override { return "CumulativeDistributionTransform"; }
  Constraint domain() const override { return distribution.support(); }
  Constraint codomain() const override { return constraints::unit_interval(); }
  TensorOrNumber sign() const override { return 1; }
  Tensor call(const Tensor& x) const override { return distribution.cdf(x); }
  Tensor inverse(const Tensor& y) const override { return distribution.icdf(y); }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor&) const override { return distribution.log_prob(x); }
  Distribution distribution;
};

}  // namespace

ExpTransform::ExpTransform(int64_t cache_size) : Transform(new PlainTransform<kExp>, cache_size) {}
PowerTransform::PowerTransform(const TensorOrNumber& exponent, int64_t cache_size) : Transform(new Power(broadcast_all({exponent})[0]), cache_size) {}
SigmoidTransform::SigmoidTransform(int64_t cache_size) : Transform(new PlainTransform<kSigmoid>, cache_size) {}
SoftplusTransform::SoftplusTransform(int64_t cache_size) : Transform(new PlainTransform<kSoftplus>, cache_size) {}
TanhTransform::TanhTransform(int64_t cache_size) : Transform(new PlainTransform<kTanh>, cache_size) {}
AbsTransform::AbsTransform(int64_t cache_size) : Transform(new PlainTransform<kAbs>, cache_size) {}
Tensor PowerTransform::exponent() const { return static_cast<const Power&>(impl()).exponent; }
TensorOrNumber AffineTransform::loc() const { return static_cast<const Affine&>(impl()).loc; }
TensorOrNumber AffineTransform::scale() const { return static_cast<const Affine&>(impl()).scale; }
Distribution CumulativeDistributionTransform::distribution() const { return static_cast<const Cumulative&>(impl()).distribution; }
AffineTransform::AffineTransform(const TensorOrNumber& loc, const TensorOrNumber& scale, int64_t event_dim, int64_t cache_size)
    : Transform(new Affine(loc, scale, event_dim), cache_size) {}
CumulativeDistributionTransform::CumulativeDistributionTransform(const Distribution& distribution, int64_t cache_size)
    : Transform(new Cumulative(distribution), cache_size) {}

}  // namespace cresset::distributions
