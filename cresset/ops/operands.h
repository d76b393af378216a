#pragma once
// Operands of a body: optional tensors, descriptions for kernels, outputs that begin as a copy.

#include "cresset/kernels/common/strided.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

inline bool given(const std::optional<Tensor>& t) { return t && t->defined(); }
inline kernels::Strided view_of(const Tensor& t) { return {t.data_ptr(), t.scalar_type(), t.sizes(), t.strides()}; }
inline OutSpec like(const Tensor& t) { return {DimVector(t.sizes()), t.scalar_type(), t.device()}; }

// out starts as self, unless it is self.
inline void start_from(const Tensor& self, const Tensor& out) {
  if (!out.is_same(self)) overwrite(out, self);
}

}  // namespace cresset::ops
