#pragma once
// When one pass of kernels/optim.h may do an update, and with which pointers.

#include <initializer_list>

#include "cresset/tensor.h"

namespace cresset::optim::detail {

// Plain float32 or float64 arrays on the CPU that lie alike in memory. Undefined tensors are left out.
CRESSET_API bool can_fuse(const Tensor& param, std::initializer_list<const Tensor*> others);
// What there is to compute: nothing for fake tensors, which take the same way to the same memory.
inline int64_t elements(const Tensor& t) { return t.lacks_data() ? 0 : t.numel(); }
inline void* pointer(const Tensor& t) { return t.defined() ? t.data_ptr() : nullptr; }

}  // namespace cresset::optim::detail
