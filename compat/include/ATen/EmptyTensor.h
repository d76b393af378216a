#pragma once
#include "torch/detail/tensor.h"

namespace at::detail {
// A tensor in memory of the allocator.
inline Tensor empty_strided_generic(IntArrayRef size, IntArrayRef stride, c10::Allocator* allocator, c10::DispatchKeySet, ScalarType dtype) {
  const size_t nbytes = at::empty_strided(size, stride, TensorOptions(dtype).device(kMeta)).storage().nbytes();
  auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), nbytes, allocator->allocate(nbytes), allocator, true);
  const Device device = storage->device();
  auto impl = c10::make_intrusive<c10::TensorImpl>(std::move(storage), dtype, device);
  impl->set_geometry(size, stride, 0);
  return Tensor(std::move(impl));
}
inline Tensor empty_generic(IntArrayRef size, c10::Allocator* allocator, c10::DispatchKeySet keys, ScalarType dtype,
                            std::optional<MemoryFormat> format = std::nullopt) {
  const Tensor shape = at::empty(size, TensorOptions(dtype).device(kMeta), format);
  return empty_strided_generic(size, shape.strides(), allocator, keys, dtype);
}
}  // namespace at::detail
