#pragma once
#include "cresset/core/packed_accessor.h"
#include "torch/detail/tensor.h"
namespace at {
using cresset::DefaultPtrTraits;
using cresset::PackedTensorAccessor;
using cresset::RestrictPtrTraits;
template <class T, size_t N, template <class> class = DefaultPtrTraits, class Index = int64_t> using GenericPackedTensorAccessor =
    PackedTensorAccessor<T, N, Index>;
template <class T, size_t N, template <class> class = DefaultPtrTraits> using PackedTensorAccessor32 = PackedTensorAccessor<T, N, int32_t>;
template <class T, size_t N, template <class> class = DefaultPtrTraits> using PackedTensorAccessor64 = PackedTensorAccessor<T, N, int64_t>;
}  // namespace at
namespace torch {
using at::DefaultPtrTraits;
using at::GenericPackedTensorAccessor;
using at::PackedTensorAccessor;
using at::PackedTensorAccessor32;
using at::PackedTensorAccessor64;
using at::RestrictPtrTraits;
}  // namespace torch
