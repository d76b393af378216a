#pragma once
// An accessor that holds the sizes and strides itself, in 64 or 32 bits, so that it may outlive the tensor's own.

#include "cresset/core/tensor.h"

namespace cresset {

template <class T> struct DefaultPtrTraits { using PtrType = T*; };
template <class T> struct RestrictPtrTraits { using PtrType = T* CRESSET_RESTRICT; };

template <class T, size_t N, class Index> class PackedTensorAccessor {
 public:
  PackedTensorAccessor(T* data, const int64_t* sizes, const int64_t* strides) : data_(data) {
    for (size_t i = 0; i < N; i++) {
      sizes_[i] = static_cast<Index>(sizes[i]);
      strides_[i] = static_cast<Index>(strides[i]);
    }
  }
  template <class From> PackedTensorAccessor(T* data, const From* sizes, const From* strides, int) : data_(data) {
    for (size_t i = 0; i < N; i++) {
      sizes_[i] = static_cast<Index>(sizes[i]);
      strides_[i] = static_cast<Index>(strides[i]);
    }
  }
  decltype(auto) operator[](Index i) const {
    if constexpr (N == 1) return (data_[i * strides_[0]]);
    else return PackedTensorAccessor<T, N - 1, Index>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1, 0);
  }
  Index size(Index d) const { return sizes_[d]; }
  Index stride(Index d) const { return strides_[d]; }
  T* data() const { return data_; }
  // With dimensions a and b exchanged. Errors: no such dimension.
  PackedTensorAccessor transpose(Index a, Index b) const {
    const auto n = static_cast<Index>(N);
    CRESSET_CHECK_INDEX(a >= 0 && a < n && b >= 0 && b < n, "transpose: expected dimensions below ", N, ", got ", a, " and ", b);
    PackedTensorAccessor out = *this;
    std::swap(out.sizes_[a], out.sizes_[b]);
    std::swap(out.strides_[a], out.strides_[b]);
    return out;
  }

 private:
  T* data_;
  Index sizes_[N], strides_[N];
};
template <class T, size_t N, template <class> class Pointer = DefaultPtrTraits> using PackedTensorAccessor64 = PackedTensorAccessor<T, N, int64_t>;
template <class T, size_t N, template <class> class Pointer = DefaultPtrTraits> using PackedTensorAccessor32 = PackedTensorAccessor<T, N, int32_t>;

template <class T, size_t N> PackedTensorAccessor<T, N, int64_t> Tensor::packed_accessor64() const {
  check_accessor(dtype_of<T>, N);
  return {data_ptr<T>(), sizes().data(), strides().data()};
}
// Errors: more elements than 32 bits count.
template <class T, size_t N> PackedTensorAccessor<T, N, int32_t> Tensor::packed_accessor32() const {
  check_accessor(dtype_of<T>, N);
  CRESSET_CHECK(numel() <= INT32_MAX, "packed_accessor32: expected at most 2147483647 elements, got ", numel());
  return {data_ptr<T>(), sizes().data(), strides().data()};
}
template <class T, size_t N, template <class> class Pointer> PackedTensorAccessor<T, N, int64_t> Tensor::packed_accessor64() const {
  return packed_accessor64<T, N>();
}
template <class T, size_t N, template <class> class Pointer> PackedTensorAccessor<T, N, int32_t> Tensor::packed_accessor32() const {
  return packed_accessor32<T, N>();
}

}  // namespace cresset
