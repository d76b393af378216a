#include "cresset/optim/fused.h"

namespace cresset::optim::detail {

bool can_fuse(const Tensor& param, std::initializer_list<const Tensor*> others) {
  const ScalarType dtype = param.scalar_type();
  if (!param.is_cpu() || param.layout() != Layout::Strided || (dtype != kFloat && dtype != kDouble) || !param.is_non_overlapping_and_dense()) return false;
  for (const Tensor* t : others) {
    if (!t->defined()) continue;
    if (!t->is_cpu() || t->layout() != Layout::Strided || t->scalar_type() != dtype || t->sizes() != param.sizes() || t->strides() != param.strides()) return false;
  }
  return true;
}

}  // namespace cresset::optim::detail
