#include "cresset/ops/sparse/sparse_table.h"

#include "cresset/dispatch/registry.h"

namespace cresset {

namespace ops::sparse {

const dispatch::Kernel* Kernels::find(const dispatch::OpEntry& op, uint8_t backend) const {
  const ByOp& kernels = backend == kSparseBackend ? coo_ : compressed_;
  const auto at = kernels.find(&op);
  return at == kernels.end() ? nullptr : &at->second;
}

void Kernels::add(const dispatch::OpEntry& op, const dispatch::Kernel& kernel, bool compressed) {
  coo_.emplace(&op, kernel);
  if (compressed) compressed_.emplace(&op, kernel);
}

}  // namespace ops::sparse

const dispatch::Kernel* dispatch::sparse_kernel(const OpEntry& op, uint8_t backend) {
  static const ops::sparse::Kernels& kernels = *new ops::sparse::Kernels;
  return kernels.find(op, backend);
}

}  // namespace cresset
