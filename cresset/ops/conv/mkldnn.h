#pragma once
// Tensors in the opaque layout Mkldnn, as PyTorch has it: no strides, no storage to look at, and a kernel only for what an
// inference needs. The values lie contiguously inside, and the kernels are those of dense tensors.

#include <optional>

#include "cresset/core/tensor.h"

namespace cresset {

// A copy in that layout; to_dense() gives it back. Gradients are recorded, of ops on such tensors as of those on dense copies.
// Errors: a dtype other than float32, bfloat16, float16, uint8 and int8; a tensor that is not dense on the CPU, or without dimensions.
CRESSET_API Tensor to_mkldnn(const Tensor& self, std::optional<ScalarType> dtype = std::nullopt);
inline bool is_mkldnn(const Tensor& t) { return t.layout() == Layout::Mkldnn; }

// Stand-in for a storage.
struct OpaqueParts : RefCounted {
  Tensor values;

 protected:
  void release_resources() override { values.reset(); }
};

// The dense values of a tensor in that layout, whose memory it shares with its aliases.
inline const Tensor& opaque_values(const Tensor& t) { return static_cast<const OpaqueParts&>(*t.impl()->parts()).values; }

}  // namespace cresset
