#pragma once
// Contiguous stand-ins for arrays of any strides.

#include <vector>

#include "cresset/kernels/common/strided.h"

namespace cresset::kernels {

// A contiguous row-major copy, or the array itself if it is one already.
class DenseInput {
 public:
  explicit DenseInput(const Strided& a) : data_(a.data) {
    if (a.is_contiguous()) return;
    copy_.resize(static_cast<size_t>(a.numel() * a.item()) / 16 + 1);
    data_ = copy_.data();
    const DimVector strides = contiguous_strides(a.sizes);
    copy_strided(Strided(data_, a.dtype, a.sizes, strides), a);
  }
  template <class T> const T* as() const { return static_cast<const T*>(data_); }

 private:
  std::vector<Bytes16> copy_;
  const void* data_;
};

// A contiguous place to write; `finish` copies it to the array if that has other strides.
class DenseOutput {
 public:
  explicit DenseOutput(const Strided& a) : target_(a), data_(a.data) {
    if (a.is_contiguous()) return;
    copy_.resize(static_cast<size_t>(a.numel() * a.item()) / 16 + 1);
    data_ = copy_.data();
  }
  template <class T> T* as() const { return static_cast<T*>(data_); }
  void finish() const {
    if (data_ == target_.data) return;
    const DimVector strides = contiguous_strides(target_.sizes);
    copy_strided(target_, Strided(data_, target_.dtype, target_.sizes, strides));
  }

 private:
  Strided target_;
  std::vector<Bytes16> copy_;
  void* data_;
};

}  // namespace cresset::kernels
