#pragma once
// The first step of every indexing kernel: check all indices, before anything is written.

#include <vector>

#include "cresset/kernels/common/strided.h"

namespace cresset::kernels {

// The first index outside [low, high), or null.
const void* find_outside(const Strided& index, int64_t low, int64_t high);
int64_t read_index(const Strided& index, const void* element);

// Raises `E` unless all indices lie in [0, size), or in [-size, size) if they wrap.
template <class E> inline void check_index(const char* op, const Strided& index, int64_t size, int64_t dim, bool wraps) {
  const void* bad = find_outside(index, wraps ? -size : 0, size);
  CRESSET_CHECK_AS(E, !bad, op, ": index ", read_index(index, bad), " is out of bounds for dimension ", dim, " with size ", size);
}

// An index as contiguous or strided int64, converted if it is int32.
class WideIndex {
 public:
  WideIndex(const Strided& index, const char* op);
  const Strided& get() const { return view_; }

 private:
  std::vector<int64_t> copy_;
  DimVector strides_;
  Strided view_;
};

// A 0-d array as a 1-d one of a single element.
class AtLeast1d {
 public:
  explicit AtLeast1d(const Strided& a) : view_(a) {
    if (a.dim() == 0) view_.sizes = IntArrayRef(kOne), view_.strides = IntArrayRef(kOne);
  }
  const Strided& get() const { return view_; }

 private:
  static constexpr int64_t kOne[1] = {1};
  Strided view_;
};

}  // namespace cresset::kernels
