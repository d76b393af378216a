// Copies, casts, fills and resizing: ops/memory.toml.

#include <algorithm>
#include <cstdio>

#include "cresset/base/util/reach.h"
#include "cresset/base/warning.h"
#include "cresset/core/fake_mode.h"
#include "cresset/kernels/common/strided.h"
#include "cresset/kernels/layout/copy.h"
#include "cresset/ops/bodies_memory.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/layout/uninitialized.h"
#include "cresset/ops/operands.h"
#include "cresset/ops/pointwise/pointwise.h"

namespace cresset::ops {

namespace {

// Strides in bytes of `t` over the shape it is broadcast to.
DimVector byte_strides(const Tensor& t, IntArrayRef sizes) {
  const size_t lead = sizes.size() - static_cast<size_t>(t.dim());
  DimVector strides(sizes.size(), 0);
  for (size_t d = lead; d < sizes.size(); d++)
    strides[d] = t.sizes()[d - lead] == 1 && sizes[d] != 1 ? 0 : t.strides()[d - lead] * static_cast<int64_t>(t.element_size());
  return strides;
}

kernels::Operand operand(const Tensor& t, const DimVector& strides) { return {static_cast<char*>(t.data_ptr()), t.scalar_type(), strides.data()}; }

bool share_memory(const Tensor& a, const Tensor& b) { return a.has_storage() && b.has_storage() && a.storage().is_alias_of(b.storage()); }

// Whether `src`, broadcast to `self`, is the very memory of `self`.
bool is_copy_of_itself(const Tensor& self, const Tensor& src) {
  if (self.is_same(src)) return true;
  return share_memory(self, src) && self.storage_offset() == src.storage_offset() && self.scalar_type() == src.scalar_type() &&
         byte_strides(self, self.sizes()) == byte_strides(src, self.sizes());
}

// Whether several elements may lie at one address.
bool writes_twice(const Tensor& t) {
  SmallVector<std::pair<int64_t, int64_t>, 5> dims;  // stride, last index
  for (int64_t d = 0; d < t.dim(); d++)
    if (t.sizes()[d] > 1) dims.emplace_back(t.strides()[d], t.sizes()[d] - 1);
  std::sort(dims.begin(), dims.end());
  int64_t reach = 0;
  for (const auto& [stride, last] : dims) {
    if (stride <= reach) return true;
    reach += stride * last;
  }
  return false;
}

// Element by element in row-major order: where places are written twice and read again, the order is the result.
void warn_of_lost_parts(const Tensor& from, ScalarType to) {
  if (from.is_complex() && !is_complex_type(to) && to != kBool)
    CRESSET_WARN_ONCE(str("copy: numbers of dtype ", from.scalar_type(), " lose their imaginary parts in dtype ", to, "; take .real to say so"));
}

void copy_in_order(const Tensor& self, const Tensor& src) {
  const DimVector to = byte_strides(self, self.sizes()), from = byte_strides(src, self.sizes());
  DimVector at(self.sizes().size(), 0);
  kernels::Operand target = operand(self, to), source = operand(src, from);
  for (int64_t n = self.numel(); n > 0; n--) {
    kernels::copy_strided({}, target, source);
    for (size_t d = at.size(); d-- > 0;) {
      target.data += to[d];
      source.data += from[d];
      if (++at[d] < self.sizes()[d]) break;
      target.data -= to[d] * at[d];
      source.data -= from[d] * at[d];
      at[d] = 0;
    }
  }
}

Tensor copy_of(const Tensor& self, const TensorOptions& options, MemoryFormat format) {
  Tensor out = cresset::empty_like(self, options, format);
  out.copy_(self);
  return fresh(std::move(out));
}

// Whether a tensor on `have` already is where `wanted` says: no index means any.
bool is_on(const Device& have, const Device& wanted) {
  return have.type() == wanted.type() && (!wanted.has_index() || wanted.index() == have.index() || !have.has_index());
}

void check_number_fits(const Tensor& self, const Scalar& value) {
  const ScalarType t = self.scalar_type();
  CRESSET_CHECK(is_complex_type(t) || !value.isComplex() || t == kBool || value.toComplexDouble().imag() == 0, "fill_: value ", value,
                " cannot be converted to dtype ", t, " without overflow");
  // One element of low precision, or a truth value, takes any number.
  if (self.numel() == 1 && (t == kHalf || t == kBFloat16 || t == kBool)) return;
  kernels::visit_dtype(compute_type(t), "fill_", [&](auto zero) { static_cast<void>(value.to<decltype(zero)>()); });
}

}  // namespace

namespace meta {

void copy_(Tensor& self, const Tensor& src, bool) {
  CRESSET_CHECK(src.defined(), "copy_: the source is an undefined tensor");
  const bool fits = src.dim() <= self.dim() && broadcast_shapes(self.sizes(), src.sizes()) == DimVector(self.sizes());
  CRESSET_CHECK(fits, "copy_: the shape ", src.sizes(), " of the source cannot be broadcast to ", self.sizes());
  if (is_copy_of_itself(self, src)) return;
  check_no_internal_overlap("copy_", self);
  check_no_partial_overlap("copy_", self, src);
  CRESSET_CHECK_NOT_IMPLEMENTED(self.lacks_data() || !src.lacks_data(), "copy_: cannot copy out of a meta tensor, it holds no data");
}

void fill_(Tensor&, const Tensor& value) {
  CRESSET_CHECK(value.dim() == 0, "fill_: only supports 0-dimension value tensors, got a tensor with ", value.dim(), " dimensions");
}

}  // namespace meta

namespace cpu {

void copy_(Tensor& self, const Tensor& src, bool) {
  if (self.numel() == 0 || is_copy_of_itself(self, src)) return;
  warn_of_lost_parts(src, self.scalar_type());
  if (share_memory(self, src)) return writes_twice(self) ? copy_in_order(self, src) : cpu::copy_(self, src.clone(), false);
  const DimVector to = byte_strides(self, self.sizes()), from = byte_strides(src, self.sizes());
  kernels::copy_strided(self.sizes(), operand(self, to), operand(src, from));
}

void fill_(Tensor& self, const Scalar& value) {
  check_number_fits(self, value);
  if (self.numel() > 0) kernels::fill_strided(view_of(self), value);
}
// A tensor's number is cast as copy_ casts it, whether it fits or not.
void fill_(Tensor& self, const Tensor& value) { cpu::copy_(self, value, false); }
void zero_(Tensor& self) {
  if (self.numel() > 0) kernels::fill_strided(view_of(self), 0);
}

Tensor clone(const Tensor& self, std::optional<MemoryFormat> memory_format) { return copy_of(self, {}, memory_format.value_or(MemoryFormat::Preserve)); }

Tensor _to_copy(const Tensor& self, const TensorOptions& options, bool, std::optional<MemoryFormat> memory_format) {
  const bool leaves = self.is_meta() && options.has_device() && !options.device().is_meta() && !is_fake(*self.impl());
  CRESSET_CHECK_NOT_IMPLEMENTED(!leaves, "copy_: cannot copy out of a meta tensor, it holds no data");
  return copy_of(self, options, memory_format.value_or(MemoryFormat::Preserve));
}

Tensor& resize_(Tensor& self, IntArrayRef size, std::optional<MemoryFormat> memory_format) {
  const MemoryFormat format = memory_format.value_or(MemoryFormat::Contiguous);
  CRESSET_CHECK(!layer_state().grad_mode || !self.requires_grad(), "resize_: a tensor that requires grad cannot be resized, got shape ", self.sizes());
  CRESSET_CHECK(format != MemoryFormat::Preserve, "resize_: unsupported memory format ", format);
  if (self.sizes() == size && !memory_format) return self;
  self.impl()->check_writable();
  for (const int64_t s : size) CRESSET_CHECK(s >= 0, "resize_: sizes must not be negative, got ", size);
  const DimVector strides = strides_for(size, format);
  const size_t needed = static_cast<size_t>(checked_reach("resize_", size, strides, self.storage_offset(), self.element_size())) * self.element_size();
  StorageImpl& storage = *self.impl()->storage();
  // Only memory that was not there before is uninitialised.
  const int64_t before = static_cast<int64_t>(storage.nbytes() / self.element_size()) - self.storage_offset();
  if (storage.nbytes() < needed) {
    CRESSET_CHECK(storage.resizable(), "resize_: Trying to resize storage that is not resizable (memory of others, or lent to a NumPy array for instance) to ",
                  size, "; clone the tensor first");
    storage.resize(needed);
  }
  self.impl()->set_geometry(size, strides, self.storage_offset());
  self.impl()->bump_version();
  as_uninitialized(self, std::max<int64_t>(before, 0));
  return self;
}

}  // namespace cpu

void overwrite(const Tensor& out, const Tensor& source) {
  Tensor target = out;
  cpu::copy_(target, source, false);
}

namespace composite {

Tensor contiguous(const Tensor& self, MemoryFormat memory_format) {
  CRESSET_CHECK(memory_format != MemoryFormat::Preserve, "contiguous: the preserve memory format is unsupported");
  return self.is_contiguous(memory_format) ? self : self.clone(memory_format);
}

Tensor to(const Tensor& self, const TensorOptions& options, bool non_blocking, bool copy, std::optional<MemoryFormat> memory_format) {
  CRESSET_CHECK(!options.requires_grad(), "to: got options with requires_grad, which no copy changes; use requires_grad_()");
  CRESSET_CHECK(!options.has_memory_format() || !memory_format, "to: memory_format is given twice, in the options and as an argument");
  if (options.has_memory_format()) memory_format = options.memory_format_opt();
  const bool same =
      (!options.has_layout() || options.layout() == self.layout()) && (!options.has_dtype() || options.dtype() == self.scalar_type()) &&
      (!options.has_device() || is_on(self.device(), options.device())) &&
      (!memory_format || *memory_format == MemoryFormat::Preserve || self.layout() != Layout::Strided || self.suggest_memory_format() == *memory_format);
  if (same && !copy) return self;
  return cresset::_to_copy(self, options.memory_format(std::nullopt), non_blocking, memory_format);
}
Tensor to(const Tensor& self, Device device, ScalarType dtype, bool non_blocking, bool copy, std::optional<MemoryFormat> memory_format) {
  return self.to(TensorOptions(dtype).device(device), non_blocking, copy, memory_format);
}
Tensor to(const Tensor& self, ScalarType dtype, bool non_blocking, bool copy, std::optional<MemoryFormat> memory_format) {
  return self.to(TensorOptions(dtype), non_blocking, copy, memory_format);
}
Tensor to(const Tensor& self, const Tensor& other, bool non_blocking, bool copy, std::optional<MemoryFormat> memory_format) {
  return self.to(other.options(), non_blocking, copy, memory_format);
}
Tensor type_as(const Tensor& self, const Tensor& other) { return self.to(other.options()); }

Tensor& resize_as_(Tensor& self, const Tensor& the_template, std::optional<MemoryFormat> memory_format) {
  if (self.is_sparse() && the_template.is_sparse() && !memory_format) {
    const bool same = self.sizes() == the_template.sizes() && self.sparse_dim() == the_template.sparse_dim();
    return same ? self : self.sparse_resize_(the_template.sizes(), the_template.sparse_dim(), the_template.dense_dim());
  }
  return self.resize_(the_template.sizes(), memory_format == MemoryFormat::Preserve ? the_template.suggest_memory_format() : memory_format);
}

bool is_nonzero(const Tensor& self) {
  CRESSET_CHECK(self.numel() != 0, "is_nonzero: the boolean value of a tensor with no values is ambiguous");
  CRESSET_CHECK(self.numel() == 1, "is_nonzero: the boolean value of a tensor with more than one value is ambiguous, got shape ", self.sizes());
  return self.item().toBool();
}

Tensor _pin_memory(const Tensor& self, std::optional<Device>) { return self.clone(); }

Tensor _shape_as_tensor(const Tensor& self) {
  const Tensor out = cresset::empty({self.dim()}, TensorOptions(kLong));
  std::copy(self.sizes().begin(), self.sizes().end(), out.data_ptr<int64_t>());
  return out;
}

void _assert_async(const Tensor& self, std::string_view assert_msg) {
  CRESSET_CHECK(self.numel() == 1, "_assert_async: expected one element, got shape ", self.sizes());
  if (!self.lacks_data()) CRESSET_CHECK(self.item().toBool(), std::string(assert_msg));
}

void _assert_async(const Tensor& self) { composite::_assert_async(self, std::string_view("_assert_async: expected the tensor to be nonzero")); }

void _print(std::string_view s) {
  if (layer_state().fake_mode) return;  // a program is looked at, and not run
  std::fwrite(s.data(), 1, s.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

Tensor _cast_Byte(const Tensor& self, bool non_blocking) { return self.to(kByte, non_blocking); }
Tensor _cast_Char(const Tensor& self, bool non_blocking) { return self.to(kChar, non_blocking); }
Tensor _cast_Double(const Tensor& self, bool non_blocking) { return self.to(kDouble, non_blocking); }
Tensor _cast_Float(const Tensor& self, bool non_blocking) { return self.to(kFloat, non_blocking); }
Tensor _cast_Half(const Tensor& self, bool non_blocking) { return self.to(kHalf, non_blocking); }
Tensor _cast_Int(const Tensor& self, bool non_blocking) { return self.to(kInt, non_blocking); }
Tensor _cast_Long(const Tensor& self, bool non_blocking) { return self.to(kLong, non_blocking); }
Tensor _cast_Short(const Tensor& self, bool non_blocking) { return self.to(kShort, non_blocking); }
Tensor chalf(const Tensor& self, std::optional<MemoryFormat> memory_format) { return self.to(kComplexHalf, false, false, memory_format); }

}  // namespace composite

}  // namespace cresset::ops
