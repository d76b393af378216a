#include "cresset/core/tensor.h"

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

namespace {

// Whether the strides rise from the channels over the last dimension to the first, gaps allowed. Dimensions of size 1 count: a tensor
// whose strides are those of a contiguous one is not channels last.
bool rise_from_channels(IntArrayRef sizes, IntArrayRef strides) {
  if (strides[1] == 0) return false;
  int64_t least = 0;
  for (size_t i = 0, n = sizes.size(); i < n; i++) {
    const size_t d = i == 0 ? 1 : i == n - 1 ? 0 : n - i;
    if (sizes[d] == 0 || strides[d] < least || (d == 0 && least == strides[1])) return false;
    least = strides[d] * std::max<int64_t>(sizes[d], 1);
  }
  return true;
}

}  // namespace

MemoryFormat Tensor::suggest_memory_format() const {
  if ((dim() == 4 || dim() == 5) && rise_from_channels(sizes(), strides())) return dim() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
  return MemoryFormat::Contiguous;
}

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
