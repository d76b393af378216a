#pragma once
// Mixed precision: while it is on for a device, operators that are fast and safe in a lower precision take their floating arguments
// in it, those that need range take them in float32, and those that mix take the widest of their dtypes (autocast_table.cpp).

#include "cresset/core/tensor.h"

namespace cresset {

// Under PyTorch's names, which are LibTorch's at::autocast. The state belongs to the thread, the devices have one each.
namespace amp {

CRESSET_API bool is_autocast_available(DeviceType device);
CRESSET_API bool is_autocast_enabled(DeviceType device = kCPU);
CRESSET_API void set_autocast_enabled(DeviceType device, bool enabled);
// bfloat16 on the CPU and float16 elsewhere unless set.
CRESSET_API ScalarType get_autocast_dtype(DeviceType device);
CRESSET_API void set_autocast_dtype(DeviceType device, ScalarType dtype);

// Casts of leaves that require grad are kept, so that a weight is cast once however often it is used, until the outermost region ends.
CRESSET_API bool is_autocast_cache_enabled();
CRESSET_API void set_autocast_cache_enabled(bool enabled);
CRESSET_API void clear_cache();
// The number of regions that this thread is in, after the change.
CRESSET_API int increment_nesting();
CRESSET_API int decrement_nesting();

// `t` in another dtype if it is a floating tensor of the device other than float64, else as it is.
CRESSET_API Tensor cached_cast(ScalarType to, const Tensor& t, DeviceType device = kCPU);
CRESSET_API std::vector<Tensor> cached_cast(ScalarType to, TensorList list, DeviceType device = kCPU);
CRESSET_API std::optional<Tensor> cached_cast(ScalarType to, const std::optional<Tensor>& t, DeviceType device = kCPU);
// The wider of `current` and the dtype of a floating tensor of the device.
CRESSET_API ScalarType prioritize(ScalarType current, const Tensor& t, DeviceType device = kCPU);

}  // namespace amp

// A region of mixed precision, or with enabled = false one without it inside such a region:
//
//   { autocast region(kCPU, kBFloat16);  loss = loss_of(net->forward(x), y); }
//   loss.backward();
class CRESSET_API autocast {
 public:
  // Errors: a device without mixed precision; a dtype that is neither bfloat16 nor float16.
  explicit autocast(DeviceType device, std::optional<ScalarType> dtype = std::nullopt, bool enabled = true, std::optional<bool> cache_enabled = std::nullopt);
  ~autocast();
  autocast(const autocast&) = delete;
  autocast& operator=(const autocast&) = delete;

 private:
  DeviceType device_;
  ScalarType dtype_before_;
  bool enabled_before_, cache_before_;
};

}  // namespace cresset
