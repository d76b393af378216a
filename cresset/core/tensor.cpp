#include "cresset/core/tensor.h"

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
  CRESSET_CHECK(scalar_type() == wanted, "data_ptr: expected a tensor of dtype ", wanted, ", got ", scalar_type());
}

void Tensor::check_accessor(ScalarType wanted, size_t dims) const {
  check_dtype(wanted);
  CRESSET_CHECK(dim() == static_cast<int64_t>(dims), "accessor: expected ", dims, " dimensions, got a tensor of shape ", sizes());
  CRESSET_CHECK(is_cpu(), "accessor: expected a tensor on the cpu, got ", device());
}

MemoryFormat Tensor::suggest_memory_format() const {
  if (dim() == 4 && !is_contiguous() && is_contiguous(MemoryFormat::ChannelsLast)) return MemoryFormat::ChannelsLast;
  if (dim() == 5 && !is_contiguous() && is_contiguous(MemoryFormat::ChannelsLast3d)) return MemoryFormat::ChannelsLast3d;
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
