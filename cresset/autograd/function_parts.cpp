#include "cresset/autograd/function_parts.h"

namespace cresset::autograd {

void check_variable_result(const Tensor& original, const Tensor& result, const std::string& hook_name) {
  CRESSET_CHECK(original.scalar_type() == result.scalar_type(), "hook '", hook_name, "' has changed the dtype, got ", result.scalar_type(), ", expected ",
                original.scalar_type());
  CRESSET_CHECK(original.device() == result.device(), "hook '", hook_name, "' has changed the device, got ", result.device(), ", expected ",
                original.device());
  CRESSET_CHECK(original.sizes() == result.sizes(), "hook '", hook_name, "' has changed the shape, got ", result.sizes(), ", expected ",
                original.sizes());
}

}  // namespace cresset::autograd
