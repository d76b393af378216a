#pragma once
// Sizes and strides in one object, inline up to 5 dimensions: c10::impl::SizesAndStrides, for programs that hold geometry themselves.

#include "cresset/base/small_vector.h"

namespace cresset {

class SizeStrideVector {
 public:
  // One dimension of size 0 and stride 1.
  SizeStrideVector() : sizes_(1, 0), strides_(1, 1) {}
  SizeStrideVector(const SizeStrideVector&) = default;
  // The moved-from object has no dimensions.
  SizeStrideVector(SizeStrideVector&& o) noexcept : sizes_(std::move(o.sizes_)), strides_(std::move(o.strides_)) { o.clear(); }
  SizeStrideVector& operator=(const SizeStrideVector& o) {
    if (this != &o) {
      sizes_.assign(o.sizes_.begin(), o.sizes_.end());
      strides_.assign(o.strides_.begin(), o.strides_.end());
    }
    return *this;
  }
  SizeStrideVector& operator=(SizeStrideVector&& o) noexcept {
    if (this != &o) {
      *this = static_cast<const SizeStrideVector&>(o);
      o.clear();
    }
    return *this;
  }

  size_t size() const noexcept { return sizes_.size(); }
  const int64_t* sizes_data() const noexcept { return sizes_.data(); }
  int64_t* sizes_data() noexcept { return sizes_.data(); }
  const int64_t* sizes_begin() const noexcept { return sizes_data(); }
  int64_t* sizes_begin() noexcept { return sizes_data(); }
  const int64_t* sizes_end() const noexcept { return sizes_begin() + size(); }
  int64_t* sizes_end() noexcept { return sizes_begin() + size(); }
  IntArrayRef sizes_arrayref() const noexcept { return sizes_; }
  const int64_t* strides_data() const noexcept { return strides_.data(); }
  int64_t* strides_data() noexcept { return strides_.data(); }
  const int64_t* strides_begin() const noexcept { return strides_data(); }
  int64_t* strides_begin() noexcept { return strides_data(); }
  const int64_t* strides_end() const noexcept { return strides_begin() + size(); }
  int64_t* strides_end() noexcept { return strides_begin() + size(); }
  IntArrayRef strides_arrayref() const noexcept { return strides_; }
  int64_t size_at(size_t i) const noexcept { return sizes_[i]; }
  int64_t& size_at(size_t i) noexcept { return sizes_[i]; }
  int64_t size_at_unchecked(size_t i) const noexcept { return sizes_[i]; }
  int64_t& size_at_unchecked(size_t i) noexcept { return sizes_[i]; }
  int64_t stride_at(size_t i) const noexcept { return strides_[i]; }
  int64_t& stride_at(size_t i) noexcept { return strides_[i]; }
  int64_t stride_at_unchecked(size_t i) const noexcept { return strides_[i]; }
  int64_t& stride_at_unchecked(size_t i) noexcept { return strides_[i]; }

  // New dimensions have size and stride 0.
  void resize(size_t dims) {
    sizes_.resize(dims, 0);
    strides_.resize(dims, 0);
  }
  void set_sizes(IntArrayRef sizes) {
    resize(sizes.size());
    std::copy(sizes.begin(), sizes.end(), sizes_begin());
  }
  void set_strides(IntArrayRef strides) { std::copy(strides.begin(), strides.end(), strides_begin()); }

 private:
  void clear() noexcept {
    sizes_.clear();
    strides_.clear();
  }
  DimVector sizes_, strides_;
};

}  // namespace cresset
