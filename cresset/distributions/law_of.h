#pragma once
// What the laws' implementations share; not for users.

#include <cmath>

#include "cresset/distributions/laws.h"
#include "cresset/distributions/support.h"

namespace cresset::distributions {

template <class Self, class Handle, class Base = DistributionImpl>
struct LawOf : Base {
  using Base::Base;
  const Kind& kind() const override { return Handle::kKind; }
  DistributionImpl* copy() const override { return new Self(static_cast<const Self&>(*this)); }
};

constexpr int8_t kScalars[4] = {0, 0, 0, 0};

// A law whose parameters are numbers for each place of the batch: slots of one shape.
struct PlainImpl : DistributionImpl {
  PlainImpl(std::initializer_list<TensorOrNumber> parameters) {
    slots_ = broadcast_all(parameters);
    batch_shape_ = slots_[0].sizes().vec();
  }
  ArrayRef<int8_t> slot_dims() const override { return {kScalars, slots_.size()}; }
};

struct PlainFamilyImpl : ExponentialFamilyImpl {
  PlainFamilyImpl(std::initializer_list<TensorOrNumber> parameters) {
    slots_ = broadcast_all(parameters);
    batch_shape_ = slots_[0].sizes().vec();
  }
  ArrayRef<int8_t> slot_dims() const override { return {kScalars, slots_.size()}; }
};

// Slots 0 and 1 are chances `probs` and log odds `logits`, one given, the other computed at its first use; then come `others`.
std::vector<Tensor> probs_and_logits(const TensorOrNumber& probs, const TensorOrNumber& logits, const TensorOrNumber& other = {});

template <class Base>
struct BinaryImpl : Base {
  BinaryImpl(const TensorOrNumber& probs, const TensorOrNumber& logits, const TensorOrNumber& other = {}) {
    this->slots_ = probs_and_logits(probs, logits, other);
    this->batch_shape_ = param().sizes().vec();
  }
  ArrayRef<int8_t> slot_dims() const override { return {kScalars, this->slots_.size()}; }
  Tensor lazy(int slot) const override {
    return slot == 0 ? logits_to_probs(this->slot(1), true) : probs_to_logits(this->slot(0), true);
  }
  Tensor param() const { return this->has_slot(0) ? this->slot(0) : this->slot(1); }
  Tensor probs() const { return this->slot(0); }
  Tensor logits() const { return this->slot(1); }
};

}  // namespace cresset::distributions
