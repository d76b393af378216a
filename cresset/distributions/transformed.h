#pragma once
// The distribution of transformed values, which others derive from; not for users.

#include <algorithm>

#include "cresset/distributions/implementation.h"

namespace cresset::distributions {

// Its first part is the base.
struct TransformedImpl : DistributionImpl {
  TransformedImpl(Distribution base, std::vector<Transform> transforms);
  bool has_rsample() const override { return parts_[0].has_rsample(); }
  Constraint support() const override;
  Tensor sample(IntArrayRef sample_shape) const override;
  Tensor rsample(IntArrayRef sample_shape) const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  void expand_to(IntArrayRef batch_shape) override;
  // Makes transforms of parameters that were expanded.
  virtual void remake_transforms() {}

  const Distribution& base() const { return parts_[0]; }
  std::vector<Transform> transforms;

 private:
  Tensor forward(Tensor x) const;
  Tensor monotonize(const Tensor& value) const;
};

}  // namespace cresset::distributions
