#pragma once
// at::native: the ops by their own names, without a layer between. Views made here are views in the memory of any device, so that a
// device's own kernels of `view` and `as_strided` can be made of them.
#include "torch/detail/tensor.h"
namespace at::native {
namespace rows {
#include "cresset/ops/method_names.inc"
#include "cresset/ops/names.inc"
using cresset::compat::arange;
using cresset::compat::complex;
using cresset::compat::complex_out;
}  // namespace rows
using namespace rows;
inline bool cpu_equal(const Tensor& a, const Tensor& b) { return a.equal(b); }

// Errors: the view leaves the memory of the tensor.
inline Tensor as_strided_tensorimpl(const Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset = std::nullopt) {
  const int64_t offset = storage_offset.value_or(self.storage_offset()), item = self.element_size();
  const size_t needed = at::empty_strided(size, stride, self.options().device(kMeta)).storage().nbytes();
  CRESSET_CHECK(offset >= 0 && (needed == 0 || needed + static_cast<size_t>(offset * item) <= self.storage().nbytes()), "as_strided: sizes ", size,
                ", strides ", stride, " and offset ", offset, " need ", needed / static_cast<size_t>(item) + static_cast<size_t>(offset < 0 ? 0 : offset),
                " elements, the storage has ", self.storage().nbytes() / static_cast<size_t>(item));
  auto impl = c10::make_intrusive<c10::TensorImpl>(self.unsafeGetTensorImpl()->storage(), self.scalar_type(), self.device());
  impl->set_geometry(size, stride, offset);
  impl->set_view_of(*self.unsafeGetTensorImpl());
  return Tensor(std::move(impl));
}
// Errors: the size has another number of elements, or would need a copy.
inline Tensor view(const Tensor& self, IntArrayRef size) {
  const Tensor shape = at::empty_strided(self.sizes(), self.strides(), self.options().device(kMeta)).view(size);
  return as_strided_tensorimpl(self, shape.sizes(), shape.strides(), self.storage_offset());
}
}  // namespace at::native
