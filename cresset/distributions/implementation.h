#pragma once
// Shared by the distributions' implementations; not for users.

#include <cmath>

#include "cresset/distributions/families.h"
#include "cresset/distributions/support.h"

namespace cresset::distributions {

template <class Self, class Handle, class Base = DistributionImpl> struct ImplOf : Base {
  using Base::Base;
  const Kind& kind() const override { return Handle::kKind; }
  DistributionImpl* copy() const override { return new Self(static_cast<const Self&>(*this)); }
};

constexpr int8_t kScalars[4] = {0, 0, 0, 0};
inline constexpr Argument kLocScale[] = {{"loc", 0, constraints::real}, {"scale", 1, constraints::positive}};

// A family with k = 0.
struct FamilyImpl : ExponentialFamilyImpl {
  double mean_carrier_measure() const override { return 0; }
};

// Parameters are numbers for each place of the batch, in slots of one shape; all methods are rows.
template <class Handle, const auto& kArguments, Constraint (*kSupport)(), class Base = DistributionImpl> struct Plain
    : ImplOf<Plain<Handle, kArguments, kSupport, Base>, Handle, Base> {
  Plain(std::initializer_list<TensorOrNumber> parameters) {
    this->slots_ = broadcast_all(parameters);
    this->batch_shape_ = this->slots_[0].sizes().vec();
  }
  ArrayRef<int8_t> slot_dims() const override { return {kScalars, this->slots_.size()}; }
  ArrayRef<Argument> arguments() const override { return kArguments; }
  Constraint support() const override { return kSupport(); }
};

// Errors: ValueError unless one of probs and logits is given.
inline void check_one(bool probs, bool logits) {
  CRESSET_CHECK_VALUE(probs != logits, "distributions: expected exactly one of probs and logits, got ", probs ? "several" : "none");
}

// Slots 0 and 1 are chances `probs` and log odds `logits`, one given, the other computed at its first use; then come `others`.
std::vector<Tensor> probs_and_logits(const TensorOrNumber& probs, const TensorOrNumber& logits, const TensorOrNumber& other = {});

template <class Base> struct BinaryImpl : Base {
  BinaryImpl(const TensorOrNumber& probs, const TensorOrNumber& logits, const TensorOrNumber& other = {}) {
    this->slots_ = probs_and_logits(probs, logits, other);
    this->batch_shape_ = param().sizes().vec();
  }
  ArrayRef<int8_t> slot_dims() const override { return {kScalars, this->slots_.size()}; }
  Tensor lazy(int slot) const override { return slot == 0 ? logits_to_probs(this->slot(1), true) : probs_to_logits(this->slot(0), true); }
  Tensor param() const { return this->has_slot(0) ? this->slot(0) : this->slot(1); }
  Tensor probs() const { return this->slot(0); }
  Tensor logits() const { return this->slot(1); }
};

}  // namespace cresset::distributions
