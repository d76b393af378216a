#pragma once
// Shared by the transforms; not for users.

#include "cresset/distributions/support.h"
#include "cresset/distributions/transforms.h"

namespace cresset::distributions {

template <class Self> struct TransformOf : TransformImpl {
  TransformImpl* copy(int64_t) const override { return new Self(static_cast<const Self&>(*this)); }
};

// A transform without parameters, whose functions are rows; all of one are equal.
struct PlainSpec {
  const char* name;
  Constraint (*domain)();
  Constraint (*codomain)();
  bool bijective;
  int sign;  // 0: it is no function of one number, or not monotonous
  Tensor (*call)(const Tensor&);
  Tensor (*inverse)(const Tensor&);
  Tensor (*log_abs_det_jacobian)(const Tensor& x, const Tensor& y);  // of bijective ones
};

template <const PlainSpec& spec> struct PlainTransform : TransformOf<PlainTransform<spec>> {
  const char* name() const override { return spec.name; }
  Constraint domain() const override { return spec.domain(); }
  Constraint codomain() const override { return spec.codomain(); }
  bool bijective() const override { return spec.bijective; }
  TensorOrNumber sign() const override { return spec.sign ? spec.sign : TransformImpl::sign(); }
  bool equals(const TransformImpl&) const override { return true; }
  Tensor call(const Tensor& x) const override { return spec.call(x); }
  Tensor inverse(const Tensor& y) const override { return spec.inverse(y); }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override {
    return spec.bijective ? spec.log_abs_det_jacobian(x, y) : TransformImpl::log_abs_det_jacobian(x, y);
  }
};

// One row of x as a function of both sides.
template <Tensor (*row)(const Tensor&)> Tensor of_x(const Tensor& x, const Tensor&) { return row(x); }

// The parts of a composition; null for other transforms.
const std::vector<Transform>* parts_of_composition(const TransformImpl& impl);

}  // namespace cresset::distributions
