#pragma once
// Invertible functions of tensors with the determinants of their derivatives, and the ways from unconstrained numbers into a
// constraint.

#include <functional>

#include "cresset/distributions/distribution.h"

namespace cresset::distributions {

class Transform;

// The object behind a Transform. One's own derives from it and defines `name`, `domain`, `codomain`, `copy`, and of `call`,
// `inverse` and `log_abs_det_jacobian` what there is.
class CRESSET_API TransformImpl {
 public:
  virtual ~TransformImpl();
  virtual const char* name() const = 0;
  virtual Constraint domain() const = 0;
  virtual Constraint codomain() const = 0;
  // A copy with another cache; parts get it too.
  virtual TransformImpl* copy(int64_t cache_size) const = 0;
  virtual bool bijective() const { return true; }
  // +1 or -1 as the function of one number increases or decreases.
  virtual TensorOrNumber sign() const;
  virtual Tensor call(const Tensor& x) const;
  virtual Tensor inverse(const Tensor& y) const;
  virtual Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const;
  virtual int64_t event_dim() const;
  virtual Shape forward_shape(IntArrayRef shape) const { return shape.vec(); }
  virtual Shape inverse_shape(IntArrayRef shape) const { return shape.vec(); }
  // Whether `other`, of the same name, is the same function.
  virtual bool equals(const TransformImpl& other) const;
  virtual std::string str() const;
  // Whether results are remembered here; otherwise parts do that for themselves.
  virtual bool caches() const { return cache_size_ != 0; }

  int64_t cache_size() const { return cache_size_; }
  Tensor cached_call(const Tensor& x, bool inverse) const;

 protected:
  TransformImpl() = default;
  TransformImpl(const TransformImpl& other) : cache_size_(other.cache_size_) {}
  // Errors: ValueError for a size other than 0 and 1.
  void set_cache_size(int64_t cache_size);
  [[noreturn]] void missing(const char* what) const;

 private:
  friend class Transform;
  int64_t cache_size_ = 0;
  mutable Tensor x_, y_;
};

// A function from `domain` to `codomain`, and its inverse `inv`: a value that shares what stands behind it. With a cache of 1 the
// last pair of argument and result is remembered, so that the inverse of a result is the very argument.
class CRESSET_API Transform {
 public:
  explicit Transform(std::shared_ptr<const TransformImpl> impl, bool inverted = false) : impl_(std::move(impl)), inverted_(inverted) {}

  Tensor operator()(const Tensor& x) const { return impl_->cached_call(x, inverted_); }
  Transform inv() const;
  // log |det dy/dx| of each event.
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const;
  Constraint domain() const { return inverted_ ? impl_->codomain() : impl_->domain(); }
  Constraint codomain() const { return inverted_ ? impl_->domain() : impl_->codomain(); }
  bool bijective() const { return impl_->bijective(); }
  TensorOrNumber sign() const { return impl_->sign(); }
  // The dimensions of an event. Errors: ValueError where the two sides do not agree about it.
  int64_t event_dim() const { return impl_->event_dim(); }
  Shape forward_shape(IntArrayRef shape) const { return inverted_ ? impl_->inverse_shape(shape) : impl_->forward_shape(shape); }
  Shape inverse_shape(IntArrayRef shape) const { return inverted_ ? impl_->forward_shape(shape) : impl_->inverse_shape(shape); }
  // The same transform with another cache.
  Transform with_cache(int64_t cache_size = 1) const;
  bool operator==(const Transform& other) const;
  bool operator!=(const Transform& other) const { return !(*this == other); }
  std::string str() const;
  const TransformImpl& impl() const { return *impl_; }

 protected:
  Transform(TransformImpl* fresh, int64_t cache_size);

 private:
  std::shared_ptr<const TransformImpl> impl_;
  bool inverted_ = false;
};

// y = exp(x).
class CRESSET_API ExpTransform : public Transform {
 public:
  explicit ExpTransform(int64_t cache_size = 0);
};
// y = x to the power `exponent`.
class CRESSET_API PowerTransform : public Transform {
 public:
  explicit PowerTransform(const TensorOrNumber& exponent, int64_t cache_size = 0);
  Tensor exponent() const;
};
// y = 1 / (1 + exp(-x)).
class CRESSET_API SigmoidTransform : public Transform {
 public:
  explicit SigmoidTransform(int64_t cache_size = 0);
};
// y = log(1 + exp(x)); x itself above 20.
class CRESSET_API SoftplusTransform : public Transform {
 public:
  explicit SoftplusTransform(int64_t cache_size = 0);
};
// y = tanh(x). Give it a cache where results close to 1 or -1 are taken back.
class CRESSET_API TanhTransform : public Transform {
 public:
  explicit TanhTransform(int64_t cache_size = 0);
};
// y = |x|; not bijective: the inverse is the identity.
class CRESSET_API AbsTransform : public Transform {
 public:
  explicit AbsTransform(int64_t cache_size = 0);
};
// y = `loc` + `scale` x; with `event_dim` more than 0 the last dimensions make up one event.
class CRESSET_API AffineTransform : public Transform {
 public:
  AffineTransform(const TensorOrNumber& loc, const TensorOrNumber& scale, int64_t event_dim = 0, int64_t cache_size = 0);
  TensorOrNumber loc() const;
  TensorOrNumber scale() const;
};
// From real vectors to the simplex by exponents and division; the inverse is the logarithm. Not bijective.
class CRESSET_API SoftmaxTransform : public Transform {
 public:
  explicit SoftmaxTransform(int64_t cache_size = 0);
};
// From real vectors to a simplex of one dimension more: each number breaks off its share of what is left of a stick.
class CRESSET_API StickBreakingTransform : public Transform {
 public:
  explicit StickBreakingTransform(int64_t cache_size = 0);
};
// From D (D - 1) / 2 real numbers to the Cholesky factor of a D x D correlation matrix.
class CRESSET_API CorrCholeskyTransform : public Transform {
 public:
  explicit CorrCholeskyTransform(int64_t cache_size = 0);
};
// From square matrices to lower triangular ones with a positive diagonal, the exponential of the argument's.
class CRESSET_API LowerCholeskyTransform : public Transform {
 public:
  explicit LowerCholeskyTransform(int64_t cache_size = 0);
};
// From square matrices to positive definite ones: the product of a Cholesky factor with its transpose.
class CRESSET_API PositiveDefiniteTransform : public Transform {
 public:
  explicit PositiveDefiniteTransform(int64_t cache_size = 0);
};
// y = the probability of values up to x under a distribution.
class CRESSET_API CumulativeDistributionTransform : public Transform {
 public:
  explicit CumulativeDistributionTransform(const Distribution& distribution, int64_t cache_size = 0);
  Distribution distribution() const;
};
// Events of shape `in_shape` as events of shape `out_shape`. Errors: ValueError where they differ in number of elements.
class CRESSET_API ReshapeTransform : public Transform {
 public:
  ReshapeTransform(IntArrayRef in_shape, IntArrayRef out_shape, int64_t cache_size = 0);
  Shape in_shape() const;
  Shape out_shape() const;
};
// Transforms one after the other; each remembers for itself.
class CRESSET_API ComposeTransform : public Transform {
 public:
  explicit ComposeTransform(std::vector<Transform> parts, int64_t cache_size = 0);
  std::vector<Transform> parts() const;
};
// A transform whose last `reinterpreted_batch_ndims` dimensions of places make up one event: their log determinants are summed.
class CRESSET_API IndependentTransform : public Transform {
 public:
  IndependentTransform(const Transform& base_transform, int64_t reinterpreted_batch_ndims, int64_t cache_size = 0);
  Transform base_transform() const;
  int64_t reinterpreted_batch_ndims() const;
};
// Transforms of pieces of the lengths `lengths`, 1 each where left out, along `dim`.
class CRESSET_API CatTransform : public Transform {
 public:
  explicit CatTransform(std::vector<Transform> tseq, int64_t dim = 0, std::vector<int64_t> lengths = {}, int64_t cache_size = 0);
  std::vector<Transform> transforms() const;
  std::vector<int64_t> lengths() const;
  int64_t dim() const;
};
// Transforms of the slices along `dim`.
class CRESSET_API StackTransform : public Transform {
 public:
  explicit StackTransform(std::vector<Transform> tseq, int64_t dim = 0, int64_t cache_size = 0);
  std::vector<Transform> transforms() const;
  int64_t dim() const;
};
CRESSET_API std::ostream& operator<<(std::ostream& out, const Transform& transform);
// The composition of no transforms.
CRESSET_API Transform identity_transform();

// Rules from constraints to transforms. Errors of a call: NotImplementedError where there is no rule for the constraint's region.
class CRESSET_API ConstraintRegistry {
 public:
  using Factory = std::function<Transform(const Constraint&)>;
  constexpr explicit ConstraintRegistry(bool bijective) : bijective_(bijective) {}
  Transform operator()(const Constraint& constraint) const;
  // Adds a rule, or replaces one, for the region of a constraint; for regions of one's own it is found by their text up to "(".
  void register_rule(const Constraint& constraint, Factory factory) const;

 private:
  bool bijective_;
};
// A bijective transform with a log determinant from unconstrained numbers into a constraint; one that need not be bijective.
extern CRESSET_API const ConstraintRegistry biject_to, transform_to;

}  // namespace cresset::distributions
