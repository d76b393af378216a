#pragma once

#include "cresset/tensor.h"

namespace cresset::ops {

// Refusals of ops that PyTorch has no kernel for in uint16, uint32 and uint64: negation, and where the elements are that are not zero.
inline void refuse_wide_unsigned(const char* kernel, const Tensor& self) {
  const ScalarType t = self.scalar_type();
  const bool wide = t == kUInt16 || t == kUInt32 || t == kUInt64;
  CRESSET_CHECK_NOT_IMPLEMENTED(!wide || self.lacks_data(), '"', kernel, "\" not implemented for '", toString(t), "'");
}

// Refusals of ops that PyTorch has kernels for in floating dtypes and, where `also` says so, one more kind; meta tensors need no kernel.
enum class ButAlso : uint8_t { none, bytes, bools };
inline void refuse_integers(const char* kernel, const Tensor& self, ButAlso also = ButAlso::none) {
  const ScalarType t = self.scalar_type();
  const bool has = !is_integral_type(t, true) || (also == ButAlso::bytes && t == kByte) || (also == ButAlso::bools && t == kBool);
  CRESSET_CHECK_NOT_IMPLEMENTED(has || self.lacks_data(), kernel, ": not implemented for dtype ", t, ", expected a floating dtype");
}

// Refusals of ops that compare elements, where PyTorch refuses them before a kernel is looked for, and where it has no kernel.
inline void check_sortable(const char* op, const Tensor& self) {
  CRESSET_CHECK(!self.is_complex(), op, ": complex numbers have no order, got dtype ", self.scalar_type());
}
inline void check_ordered(const char* op, const Tensor& self) {
  CRESSET_CHECK_NOT_IMPLEMENTED(!self.is_complex(), op, ": complex numbers have no order, got dtype ", self.scalar_type());
}

}  // namespace cresset::ops
