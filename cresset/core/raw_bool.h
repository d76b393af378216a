#pragma once
// Bools whose memory was written as another dtype: any byte but 0 is true. Kernels read 0 and 1 alone, so that such tensors are lazy, and the
// layer that computes conjugates and negatives computes their truth values. The bit of negatives, which bools have none of, marks them.

#include <algorithm>

#include "cresset/core/tensor_impl.h"

namespace cresset {

inline bool is_raw_bool(const TensorImpl& t) { return CRESSET_UNLIKELY(t.is_neg()) && t.dtype() == ScalarType::Bool; }
inline void mark_raw_bool(TensorImpl& t) { t.set_neg(true); }
// Marks a tensor of bools over memory from elsewhere (a file, a storage) that holds other bytes than 0 and 1.
inline void mark_if_raw_bool(TensorImpl& t) {
  if (t.dtype() != ScalarType::Bool || !t.has_storage() || !t.storage()->data() || !t.device().is_cpu()) return;
  const auto* bytes = static_cast<const unsigned char*>(t.storage()->data());
  if (std::any_of(bytes, bytes + t.storage()->nbytes(), [](unsigned char b) { return b > 1; })) mark_raw_bool(t);
}
// Whether the elements are the negatives of what the memory holds.
inline bool is_negative_view(const TensorImpl& t) { return t.is_neg() && t.dtype() != ScalarType::Bool; }

}  // namespace cresset
