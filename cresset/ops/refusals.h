#pragma once

#include "cresset/tensor.h"

namespace cresset::ops {

// Refusals of ops that PyTorch has no kernel for in uint16, uint32 and uint64: negation, and where the elements are that are not zero.
inline void refuse_wide_unsigned(const char* kernel, const Tensor& self) {
  const ScalarType t = self.scalar_type();
  const bool wide = t == kUInt16 || t == kUInt32 || t == kUInt64;
  CRESSET_CHECK_NOT_IMPLEMENTED(!wide || self.lacks_data(), '"', kernel, "\" not implemented for '", toString(t), "'");
}

}  // namespace cresset::ops
