#pragma once
// Tensors in the opaque layout Mkldnn, as PyTorch has it for inference: no strides, no storage to look at, and a kernel only for what an
// inference needs. The values lie contiguously inside, and the kernels are those of dense tensors.

#include <optional>

#include "cresset/core/tensor.h"

namespace cresset {

// A copy in that layout; to_dense() gives it back. Errors: a dtype other than float32, bfloat16, float16, uint8 and int8; a tensor that is
// not dense on the CPU, or without dimensions; one whose gradient is recorded, for it would be lost.
CRESSET_API Tensor to_mkldnn(const Tensor& self, std::optional<ScalarType> dtype = std::nullopt);
inline bool is_mkldnn(const Tensor& t) { return t.layout() == Layout::Mkldnn; }

}  // namespace cresset
