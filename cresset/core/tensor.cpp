#include "cresset/core/tensor.h"

#include "cresset/core/memory_format.h"

#include <algorithm>

#include "cresset/core/fake_mode.h"

namespace cresset {

void Tensor::throw_undefined() const {
  CRESSET_CHECK(false, "undefined tensor: the tensor was default-constructed or reset; assign a value to it first");
  __builtin_unreachable();
}

void Tensor::throw_dim(int64_t d) const {
  const int64_t n = dim();
  CRESSET_CHECK_INDEX(n > 0, "dimension ", d, " specified for a tensor that has no dimensions");
  CRESSET_CHECK_INDEX(false, "dimension out of range, got ", d, ", expected a value in [", -n, ", ", n - 1, "]");
  __builtin_unreachable();
}

void Tensor::check_dtype(ScalarType wanted) const {
  CRESSET_CHECK(layout() == Layout::Strided, "data_ptr: a tensor of layout ", layout(), " has no memory of its own; see its values");
  CRESSET_CHECK_AS(MixedFakeError, !is_fake(*impl_) || numel() == 0, "data_ptr: a fake tensor has no memory");
  CRESSET_CHECK(scalar_type() == wanted, "data_ptr: expected a tensor of dtype ", wanted, ", got ", scalar_type());
}

void Tensor::check_accessor(ScalarType wanted, size_t dims) const {
  check_dtype(wanted);
  CRESSET_CHECK(dim() == static_cast<int64_t>(dims), "accessor: expected ", dims, " dimensions, got a tensor of shape ", sizes());
  CRESSET_CHECK(is_cpu(), "accessor: expected a tensor on the cpu, got ", device());
}

MemoryFormat suggested_format(IntArrayRef sizes, IntArrayRef strides) {
  const size_t n = sizes.size();
  if ((n != 4 && n != 5) || strides[1] == 0) return MemoryFormat::Contiguous;
  int64_t least = 0;
  for (size_t i = 0; i < n; i++) {
    const size_t d = i == 0 ? 1 : i == n - 1 ? 0 : n - i;
    if (sizes[d] == 0 || strides[d] < least || (d == 0 && least == strides[1])) return MemoryFormat::Contiguous;
    least = strides[d] * std::max<int64_t>(sizes[d], 1);
  }
  return n == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
}

MemoryFormat Tensor::suggest_memory_format() const { return suggested_format(sizes(), strides()); }

void append_part(std::string& s, const Tensor& t) {
  if (!t.defined()) {
    s += "an undefined tensor";
    return;
  }
  s += "a tensor of shape ";
  detail::append_part(s, t.sizes());
  s += " and dtype ";
  detail::append_part(s, t.scalar_type());
  if (!t.device().is_cpu()) {
    s += " on ";
    append_part(s, t.device());
  }
}

}  // namespace cresset
