#pragma once
#include "torch/detail/library.h"

namespace at::native {
// Runs the operator on copies of its arguments on the CPU. With `error_on_views`, operators that return views are refused.
inline void cpu_fallback(const c10::OperatorHandle& op, c10::Stack* stack, bool error_on_views = false, c10::DispatchKey = c10::DispatchKey::CPU) {
  if (error_on_views)
    for (const auto& r : op.schema().returns())
      CRESSET_CHECK(!r.alias_info() || r.alias_info()->isWrite(), op.schema().name(), ": a view of memory on the device cannot be made on the CPU");
  cresset::dispatch::cpu_fallback(cresset::dispatch::find_op(cresset::dispatch::toString(op.operator_name())).entry(), *stack);
}
}  // namespace at::native
