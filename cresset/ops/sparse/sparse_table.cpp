#include "cresset/ops/sparse/sparse_table.h"

#include "cresset/dispatch/registry.h"
#include "cresset/ops/entries_arithmetic.h"

namespace cresset {

namespace ops::sparse {

namespace {

// A sum of entries would have to be made in the tensor itself.
void on_values_in_place(const dispatch::OpEntry& op, dispatch::Stack& stack) {
  const Tensor self = stack[stack.size() - op.function_schema().arguments.size()].to_tensor();
  CRESSET_CHECK(self.is_coalesced(), op.name, ": expected a coalesced tensor, got one whose indices may repeat; call coalesce() first");
  dispatch::derived_from_functional(op, stack);
}

}  // namespace

const dispatch::Kernel* Kernels::find(const dispatch::OpEntry& op, uint8_t backend) const {
  const ByOp& kernels = backend == kSparseBackend ? coo_ : compressed_;
  const auto at = kernels.find(&op);
  if (at != kernels.end()) return &at->second;
  const bool in_place = backend == kSparseBackend && (op.flags & dispatch::kInplaceOp) && of_each_value_.count(op.functional) != 0;
  return in_place ? &in_place_ : nullptr;
}

void Kernels::put(const dispatch::OpEntry& op, void (*kernel)(const dispatch::OpEntry&, dispatch::Stack&), bool compressed) {
  if (kernel == &on_values && &op != &entry::neg) of_each_value_.insert(&op);
  in_place_ = dispatch::detail::make_kernel(&on_values_in_place);
  add(op, dispatch::detail::make_kernel(kernel), compressed);
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
