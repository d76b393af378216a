#include "cresset/ops/pointwise/scalar_ops.h"

#include "cresset/ops/functions.h"

namespace cresset {

Tensor scalar_to_tensor(const Scalar& s, Device device) { return scalar_tensor(s, TensorOptions(device).dtype(s.type())); }

}  // namespace cresset
