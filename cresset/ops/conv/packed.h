#pragma once
// Layers that run many times with one weight: it is kept in the order in which the kernels read it, beside the weight itself.

#include <mutex>

#include "cresset/base/function_ref.h"
#include "cresset/core/tensor.h"

namespace cresset::ops {

// Made at the first call that reads it.
class CRESSET_API PackedWeight {
 public:
  explicit PackedWeight(const Tensor& weight, const std::optional<Tensor>& bias);
  PackedWeight(const PackedWeight&) = delete;
  PackedWeight& operator=(const PackedWeight&) = delete;

  // Whether the packed form is there, which the first call that has a use for it makes.
  bool is_packed() const { return packed_.defined(); }

 protected:
  const float* packed(int64_t count, FunctionRef<void(float*)> pack) const;
  const float* bias() const { return bias_ ? static_cast<const float*>(bias_->data_ptr()) : nullptr; }
  // Whether weight and bias are what kernels of float32 on the CPU read.
  bool is_plain() const { return is_plain_; }
  static bool is_plain(const Tensor& t) { return t.scalar_type() == kFloat && t.is_contiguous() && t.device().type() == kCPU && !t.is_neg(); }

  Tensor weight_;
  std::optional<Tensor> bias_;

 private:
  bool is_plain_;
  mutable std::once_flag once_;
  mutable Tensor packed_;
};

// Both give the result for an input that is plain float32 on the CPU, and an undefined tensor where its sizes have a path that reads the weight as it
// is: then the operator itself is as fast. Gradients are not recorded. Errors: those of the operator. Safe from many threads at once.
class CRESSET_API PackedConv : public PackedWeight {
 public:
  PackedConv(const Tensor& weight, const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups);
  Tensor operator()(const Tensor& input) const;

 private:
  DimVector stride_, padding_, dilation_;
  int64_t groups_;
  // The weight in an order for the sizes of one input, those of the first.
  mutable std::once_flag sized_once_;
  mutable Tensor sized_;
  mutable DimVector sized_for_;
};
class CRESSET_API PackedLinear : public PackedWeight {
 public:
  // With `relu` the result is max(result, 0).
  explicit PackedLinear(const Tensor& weight, const std::optional<Tensor>& bias, bool relu = false) : PackedWeight(weight, bias), relu_(relu) {}
  Tensor operator()(const Tensor& input) const;

 private:
  bool relu_;
};

}  // namespace cresset::ops
