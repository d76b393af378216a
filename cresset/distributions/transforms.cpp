// Transforms of numbers, one by one.

#include "cresset/distributions/transforms.h"

#include <cmath>
#include <cstring>
#include <mutex>

#include "cresset/distributions/transform_of.h"

namespace cresset::distributions {

namespace {

// Guards remembered pairs: transforms may be shared by threads.
std::mutex cache_mutex;

}  // namespace

TransformImpl::~TransformImpl() = default;

void TransformImpl::missing(const char* what) const {
  throw NotImplementedError(std::string(name()) + " does not implement " + what);
}

TensorOrNumber TransformImpl::sign() const { missing("sign"); }
Tensor TransformImpl::call(const Tensor&) const { missing("call"); }
Tensor TransformImpl::inverse(const Tensor&) const { missing("inverse"); }
Tensor TransformImpl::log_abs_det_jacobian(const Tensor&, const Tensor&) const { missing("log_abs_det_jacobian"); }
bool TransformImpl::equals(const TransformImpl& other) const { return this == &other; }
std::string TransformImpl::str() const { return std::string(name()) + "()"; }

int64_t TransformImpl::event_dim() const {
  const int64_t dim = domain().event_dim();
  CRESSET_CHECK_VALUE(dim == codomain().event_dim(), "Please use either .domain.event_dim or .codomain.event_dim");
  return dim;
}

void TransformImpl::set_cache_size(int64_t cache_size) {
  CRESSET_CHECK_VALUE(cache_size == 0 || cache_size == 1, "cache_size must be 0 or 1");
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
  return inverted_ == other.inverted_ &&
         (impl_ == other.impl_ || (std::strcmp(impl_->name(), other.impl_->name()) == 0 && impl_->equals(*other.impl_)));
}

std::string Transform::str() const { return inverted_ ? "_InverseTransform(" + impl_->str() + ")" : impl_->str(); }

namespace {

Constraint real_events(int64_t dims) {
  return dims == 0 ? constraints::real() : constraints::independent(constraints::real(), dims);
}

struct Exp final : TransformOf<Exp> {
  const char* name() const override { return "ExpTransform"; }
  Constraint domain() const override { return constraints::real(); }
  Constraint codomain() const override { return constraints::positive(); }
  TensorOrNumber sign() const override { return 1; }
  bool equals(const TransformImpl&) const override { return true; }
  Tensor call(const Tensor& x) const override { return x.exp(); }
  Tensor inverse(const Tensor& y) const override { return y.log(); }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor&) const override { return x; }
};

struct Power final : TransformOf<Power> {
  explicit Power(Tensor e) : exponent(std::move(e)) {}
  const char* name() const override { return "PowerTransform"; }
  Constraint domain() const override { return constraints::positive(); }
  Constraint codomain() const override { return constraints::positive(); }
  TensorOrNumber sign() const override { return exponent.sign(); }
  bool equals(const TransformImpl& other) const override {
    return all_true(exponent.eq(static_cast<const Power&>(other).exponent));
  }
  Tensor call(const Tensor& x) const override { return x.pow(exponent); }
  Tensor inverse(const Tensor& y) const override { return y.pow(1 / exponent); }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override { return (exponent * y / x).abs().log(); }
  Shape forward_shape(IntArrayRef shape) const override { return broadcast_shapes({shape, exponent.sizes()}); }
  Shape inverse_shape(IntArrayRef shape) const override { return forward_shape(shape); }
  Tensor exponent;
};

struct Sigmoid final : TransformOf<Sigmoid> {
  const char* name() const override { return "SigmoidTransform"; }
  Constraint domain() const override { return constraints::real(); }
  Constraint codomain() const override { return constraints::unit_interval(); }
  TensorOrNumber sign() const override { return 1; }
  bool equals(const TransformImpl&) const override { return true; }
  static Tensor held(const Tensor& y) {
    const Finfo info = finfo(y.scalar_type());
    return y.clamp(Scalar(info.tiny), Scalar(1.0 - info.eps));
  }
  Tensor call(const Tensor& x) const override { return held(sigmoid(x)); }
  Tensor inverse(const Tensor& given) const override {
    const Tensor y = held(given);
    return y.log() - (-y).log1p();
  }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor&) const override { return -softplus(-x) - softplus(x); }
};

struct Softplus final : TransformOf<Softplus> {
  const char* name() const override { return "SoftplusTransform"; }
  Constraint domain() const override { return constraints::real(); }
  Constraint codomain() const override { return constraints::positive(); }
  TensorOrNumber sign() const override { return 1; }
  bool equals(const TransformImpl&) const override { return true; }
  Tensor call(const Tensor& x) const override { return softplus(x); }
  Tensor inverse(const Tensor& y) const override { return (-y).expm1().neg().log() + y; }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor&) const override { return -softplus(-x); }
};

struct Tanh final : TransformOf<Tanh> {
  const char* name() const override { return "TanhTransform"; }
  Constraint domain() const override { return constraints::real(); }
  Constraint codomain() const override { return constraints::interval(-1.0, 1.0); }
  TensorOrNumber sign() const override { return 1; }
  bool equals(const TransformImpl&) const override { return true; }
  Tensor call(const Tensor& x) const override { return x.tanh(); }
  Tensor inverse(const Tensor& y) const override { return atanh(y); }
  // 1 - tanh(x)^2 without cancellation.
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor&) const override {
    return 2.0 * (std::log(2.0) - x - softplus(-2.0 * x));
  }
};

struct Abs final : TransformOf<Abs> {
  const char* name() const override { return "AbsTransform"; }
  Constraint domain() const override { return constraints::real(); }
  Constraint codomain() const override { return constraints::positive(); }
  bool bijective() const override { return false; }
  bool equals(const TransformImpl&) const override { return true; }
  Tensor call(const Tensor& x) const override { return x.abs(); }
  Tensor inverse(const Tensor& y) const override { return y; }
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
  Tensor call(const Tensor& x) const override {
    const Tensor scaled = scale.is_tensor() ? scale.tensor() * x : scale.number() * x;
    return loc.is_tensor() ? loc.tensor() + scaled : loc.number() + scaled;
  }
  Tensor inverse(const Tensor& y) const override {
    const Tensor moved = loc.is_tensor() ? y - loc.tensor() : y - loc.number();
    return scale.is_tensor() ? moved / scale.tensor() : moved / scale.number();
  }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor&) const override {
    Tensor result = scale.is_tensor() ? scale.tensor().abs().log() : full_like(x, std::log(std::fabs(scale.number().as<double>())));
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
  explicit Cumulative(const Distribution& d) : law(d) {}
  const char* name() const override { return "CumulativeDistributionTransform"; }
  Constraint domain() const override { return law.support(); }
  Constraint codomain() const override { return constraints::unit_interval(); }
  TensorOrNumber sign() const override { return 1; }
  Tensor call(const Tensor& x) const override { return law.cdf(x); }
  Tensor inverse(const Tensor& y) const override { return law.icdf(y); }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor&) const override { return law.log_prob(x); }
  Distribution law;
};

}  // namespace

ExpTransform::ExpTransform(int64_t cache_size) : Transform(new Exp, cache_size) {}
PowerTransform::PowerTransform(const TensorOrNumber& exponent, int64_t cache_size)
    : Transform(new Power(broadcast_all({exponent})[0]), cache_size) {}
SigmoidTransform::SigmoidTransform(int64_t cache_size) : Transform(new Sigmoid, cache_size) {}
SoftplusTransform::SoftplusTransform(int64_t cache_size) : Transform(new Softplus, cache_size) {}
TanhTransform::TanhTransform(int64_t cache_size) : Transform(new Tanh, cache_size) {}
AbsTransform::AbsTransform(int64_t cache_size) : Transform(new Abs, cache_size) {}
Tensor PowerTransform::exponent() const { return static_cast<const Power&>(impl()).exponent; }
TensorOrNumber AffineTransform::loc() const { return static_cast<const Affine&>(impl()).loc; }
TensorOrNumber AffineTransform::scale() const { return static_cast<const Affine&>(impl()).scale; }
Distribution CumulativeDistributionTransform::distribution() const { return static_cast<const Cumulative&>(impl()).law; }
AffineTransform::AffineTransform(const TensorOrNumber& loc, const TensorOrNumber& scale, int64_t event_dim, int64_t cache_size)
    : Transform(new Affine(loc, scale, event_dim), cache_size) {}
CumulativeDistributionTransform::CumulativeDistributionTransform(const Distribution& distribution, int64_t cache_size)
    : Transform(new Cumulative(distribution), cache_size) {}

}  // namespace cresset::distributions
