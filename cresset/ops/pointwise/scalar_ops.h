#pragma once
// Numbers as tensors of their own dtypes.

#include "cresset/core/tensor.h"

namespace cresset {

// A tensor without dimensions: int64, double, bool or complex128, as the number is.
CRESSET_API Tensor scalar_to_tensor(const Scalar& s, Device device = Device(DeviceType::CPU));

}  // namespace cresset
