#pragma once
// at::autocast: the state of mixed precision under LibTorch's names.

#include "cresset/transform/autocast.h"
#include "torch/detail/tensor.h"

namespace at {
namespace autocast {

using cresset::amp::cached_cast;
using cresset::amp::clear_cache;
using cresset::amp::decrement_nesting;
using cresset::amp::get_autocast_dtype;
using cresset::amp::increment_nesting;
using cresset::amp::is_autocast_available;
using cresset::amp::is_autocast_cache_enabled;
using cresset::amp::is_autocast_enabled;
using cresset::amp::prioritize;
using cresset::amp::set_autocast_cache_enabled;
using cresset::amp::set_autocast_dtype;
using cresset::amp::set_autocast_enabled;

// Older names, for one device each.
inline bool is_enabled() { return is_autocast_enabled(cresset::kCUDA); }
inline void set_enabled(bool enabled) { set_autocast_enabled(cresset::kCUDA, enabled); }
inline bool is_cpu_enabled() { return is_autocast_enabled(cresset::kCPU); }
inline void set_cpu_enabled(bool enabled) { set_autocast_enabled(cresset::kCPU, enabled); }
inline ScalarType get_autocast_cpu_dtype() { return get_autocast_dtype(cresset::kCPU); }
inline void set_autocast_cpu_dtype(ScalarType dtype) { set_autocast_dtype(cresset::kCPU, dtype); }
inline ScalarType get_autocast_gpu_dtype() { return get_autocast_dtype(cresset::kCUDA); }
inline void set_autocast_gpu_dtype(ScalarType dtype) { set_autocast_dtype(cresset::kCUDA, dtype); }

// The widest dtype among tensors and lists of them.
inline ScalarType promote_type(ScalarType current, cresset::DeviceType) { return current; }
template <class... Rest> ScalarType promote_type(ScalarType current, cresset::DeviceType device, const Tensor& t, const Rest&... rest) {
  return promote_type(prioritize(current, t, device), device, rest...);
}
template <class... Rest> ScalarType promote_type(ScalarType current, cresset::DeviceType device, TensorList list, const Rest&... rest) {
  for (const Tensor& t : list) current = prioritize(current, t, device);
  return promote_type(current, device, rest...);
}

}  // namespace autocast
}  // namespace at
