#pragma once
// Tensors without a shape: parameters of lazy modules before their first call. Every op refuses them.

#include "cresset/core/tensor.h"

namespace cresset {

constexpr uint8_t kUninitializedBackend = 253;

inline bool is_uninitialized(const Tensor& t) { return t.defined() && t.impl()->backend() == kUninitializedBackend; }
// `set_data` with what has a shape makes it an ordinary tensor.
inline Tensor make_uninitialized(ScalarType dtype, Device device) {
  Tensor t(make_dense({0}, dtype, device));
  t.impl()->set_backend(kUninitializedBackend);
  return t;
}

}  // namespace cresset
