#pragma once
#include "cresset/core/memory/shared_memory.h"
#include "torch/detail/tensor.h"
namespace at {
// Moves the tensor's memory to where other processes may see it.
inline void share_memory_(TensorBase& t) { cresset::share_memory(*t.storage().unsafeGetStorageImpl()); }
}  // namespace at
