#include "cresset/ops/support.h"

#include <algorithm>

#include "cresset/base/warning.h"
#include "cresset/core/fake_mode.h"
#include "cresset/core/hooks.h"
#include "cresset/core/layout.h"
#include "cresset/core/sparse.h"
#include "cresset/ops/functions.h"
#include "cresset/ops/pointwise/pointwise.h"

namespace cresset::ops {

Tensor fresh(Tensor t) {
  if (t.has_storage()) t.storage().impl()->version().store(0);
  return t;
}

bool runs_without_data(const Tensor& out) {
  CRESSET_CHECK(out.lacks_data(), "expected tensors of one device, got ", Device(kMeta), " and ", out.device());
  return false;
}

void shape_depends_on_data(const std::string& op, const std::string& overload, const Tensor& t) {
  const std::string name = "aten." + op + "." + overload;
  if (is_fake(*t.impl())) throw DynamicOutputShapeError(name, name + ": the shape of the result depends on data, which fake tensors do not have");
  throw Error(op + ": the shape of the result depends on data, which meta tensors do not have");
}

Tensor allocate(const OutSpec& spec) {
  if (spec.strides.empty()) return Tensor(make_dense(spec.sizes, spec.dtype, spec.device));
  return Tensor(make_strided(spec.sizes, spec.strides, spec.dtype, spec.device));
}

namespace {

Tensor view_of(const Tensor& self, const ViewSpec& spec, bool multi_output) {
  CRESSET_CHECK(self.defined(), "view: the input is an undefined tensor");
  auto impl = self.impl()->view(spec.sizes, spec.strides, spec.offset);
  impl->set_view_of(*self.impl(), multi_output && layer_state().grad_mode && !layer_state().inference_mode);
  if (auto* const note = autograd::view_note().load(std::memory_order_relaxed); CRESSET_UNLIKELY(note != nullptr)) note(*impl);
  return Tensor(std::move(impl));
}

}  // namespace

Tensor make_view(const Tensor& self, const ViewSpec& spec) { return view_of(self, spec, false); }

std::vector<Tensor> make_views(const Tensor& self, const std::vector<ViewSpec>& specs) {
  std::vector<Tensor> views;
  views.reserve(specs.size());
  for (const ViewSpec& spec : specs) views.push_back(view_of(self, spec, true));
  return views;
}

void restride(const Tensor& self, const ViewSpec& spec) {
  self.impl()->check_writable();
  self.impl()->set_geometry(spec.sizes, spec.strides, spec.offset);
  self.impl()->bump_version();
}

void check_castable(const char* op, ScalarType from, ScalarType to) {
  CRESSET_CHECK(can_cast(from, to), op, ": result type ", from, " does not fit the output's dtype ", to);
}

void resize_output(const Tensor& out, IntArrayRef sizes, IntArrayRef strides) {
  if (out.sizes() == sizes) return;
  out.resize_(sizes);
  if (strides.empty()) return;
  // A result with gaps, or with several elements at one address, fits no memory of its size: then out stays contiguous.
  const DimVector plain(out.strides());
  out.impl()->set_geometry(sizes, strides, out.storage_offset());
  if (!out.is_non_overlapping_and_dense()) out.impl()->set_geometry(sizes, plain, out.storage_offset());
}

void warn_of_resize(const char* op, const Tensor& out, IntArrayRef sizes) {
  if (out.numel() == 0 || out.sizes() == sizes) return;
  warn(str(op, ": out had shape ", out.sizes(), " and elements, and was resized to the result's shape ", sizes,
           ", which is deprecated; pass a tensor of that shape, or out.resize_(0) to reuse its memory"));
}

bool is_expanded(const Tensor& t) {
  bool overlap = false;
  for (int64_t d = 0; d < t.dim(); d++) overlap = overlap || (t.strides()[d] == 0 && t.sizes()[d] > 1);
  return overlap && t.numel() > 0;
}

void check_no_internal_overlap(const char* op, const Tensor& out) {
  if (CRESSET_UNLIKELY(out.layout() != Layout::Strided)) return;
  CRESSET_CHECK(!is_expanded(out), op, ": expected an out whose elements have memory of their own, got shape ", out.sizes(), " and strides ", out.strides(),
                "; write to a clone() of it");
}

void warn_of_internal_overlap(const char* op, const Tensor& self) {
  if (CRESSET_UNLIKELY(is_expanded(self))) warn(str(op, ": writing to an expanded tensor is deprecated; clone() it first"));
}

void check_named_dtype(const char* op, std::optional<ScalarType> dtype, const Tensor& out) {
  CRESSET_CHECK(!dtype || *dtype == out.scalar_type(), op, ": expected an out of dtype ", *dtype, ", but got ", out.scalar_type(), " instead");
}

void check_out_dtype(const char* op, ScalarType result, const Tensor& out, OutDtype rule) {
  if (rule == OutDtype::any) return;
  if (rule == OutDtype::cast) return check_castable(op, result, out.scalar_type());
  if (rule == OutDtype::convert) {
    CRESSET_CHECK_TYPE(can_cast(result, out.scalar_type()), op, ": the inputs' dtype does not fit that of out, ", out.scalar_type(), ", got ", result);
    return;
  }
  // Truth values may be written as bytes too.
  const bool fits = out.scalar_type() == result || (result == kBool && out.scalar_type() == kByte);
  CRESSET_CHECK(fits, op, ": expected an out of dtype ", result, ", but got ", out.scalar_type(), " instead");
}

namespace {

constexpr const char* kSharesMemory = ": expected an out that shares no memory with an input; write to a clone() of it";

// Whether two tensors share memory; tensors with gaps count as apart.
enum class Overlap : uint8_t { none, partial, full };
Overlap overlap_of(const Tensor& out, const Tensor& input) {
  const TensorImpl &a = *out.impl(), &b = *input.impl();
  if (!a.has_storage() || !b.has_storage() || a.storage() != b.storage() || a.numel() == 0 || b.numel() == 0) return Overlap::none;
  if (!a.is_non_overlapping_and_dense() || !b.is_non_overlapping_and_dense()) return Overlap::none;
  const int64_t size = static_cast<int64_t>(element_size(a.dtype())), other = static_cast<int64_t>(element_size(b.dtype()));
  const int64_t a0 = a.storage_offset() * size, a1 = a0 + a.numel() * size, b0 = b.storage_offset() * other, b1 = b0 + b.numel() * other;
  if (a0 == b0 && a1 == b1 && a.sizes() == b.sizes() && a.strides() == b.strides()) return Overlap::full;
  return a1 <= b0 || b1 <= a0 ? Overlap::none : Overlap::partial;
}

}  // namespace

void check_no_partial_overlap(const char* op, const Tensor& out, const Tensor& input) {
  CRESSET_CHECK(out.impl() == input.impl() || overlap_of(out, input) != Overlap::partial, op, kSharesMemory);
}

void check_no_partial_overlap(const char* op, const Tensor& out, const Inputs& inputs) {
  for (const Tensor* t : inputs) check_no_partial_overlap(op, out, *t);
}

void check_apart(const char* op, const Tensor& out, const Inputs& inputs) {
  // In PyTorch a matrix that is to hold its product with a vector becomes a vector first, and then lacks a dimension.
  const bool product = std::string_view(op) == "matmul" && out.dim() == 2;
  bool vector = false, operand = false;
  for (const Tensor* t : inputs) {
    vector = vector || t->dim() == 1;
    operand = operand || t->impl() == out.impl();
  }
  CRESSET_CHECK_INDEX(!product || !vector || !operand, op, kSharesMemory);
  for (const Tensor* t : inputs) CRESSET_CHECK(out.impl() != t->impl() && overlap_of(out, *t) == Overlap::none, op, kSharesMemory);
}

DimVector format_strides(const Tensor& like, IntArrayRef sizes) {
  const MemoryFormat format = like.suggest_memory_format();
  return format == MemoryFormat::Contiguous ? DimVector() : strides_for(sizes, format);
}

DimVector preserved_strides(const Tensor& like) {
  if (like.is_contiguous()) return {};
  if (like.is_non_overlapping_and_dense()) return DimVector(like.strides());
  const DimVector strides(like.strides());
  return dense_strides(like.sizes(), ArrayRef<DimVector>(&strides, 1));
}

Written written_out(const char* op, const Tensor& out, const OutSpec& spec, const Inputs& inputs, OutRule rule) {
  CRESSET_CHECK(out.device() == spec.device, op, ": expected out to be on ", spec.device, ", got ", out.device());
  check_out_dtype(op, spec.dtype, out, rule.dtype);
  out.impl()->check_writable();
  if (rule.memory != OutMemory::any) { check_no_internal_overlap(op, out); }
  // A resized tensor is checked afterwards; it is never an input.
  const bool nothing = out.numel() == 0, resized = out.sizes() != IntArrayRef(spec.sizes);
  const bool apart = rule.memory == OutMemory::apart || rule.memory == OutMemory::apart_before, early = !resized || rule.memory == OutMemory::apart_before;
  const bool stays_empty = nothing && std::find(spec.sizes.begin(), spec.sizes.end(), 0) != spec.sizes.end();
  for (const Tensor* t : inputs) CRESSET_CHECK(!apart || !resized || stays_empty || out.impl() != t->impl(), op, kSharesMemory);
  if (apart && !nothing && early) check_apart(op, out, inputs);
  if (inputs.size() != 0) warn_of_resize(op, out, spec.sizes);
  resize_output(out, spec.sizes, spec.strides);
  if (rule.memory == OutMemory::same) check_no_partial_overlap(op, out, inputs);
  else if (rule.memory == OutMemory::apart && !early) check_apart(op, out, inputs);
  const ScalarType dtype = rule.dtype == OutDtype::any ? out.scalar_type() : spec.dtype;
  bool direct = out.scalar_type() == dtype && (!rule.contiguous || out.is_contiguous());
  for (const Tensor* t : inputs) direct = direct && !(t->has_storage() && t->impl()->storage() == out.impl()->storage());
  // Sums begin with zeros in what they write, as PyTorch's do, be it a part of what they add up.
  if (rule.memory == OutMemory::any && rule.dtype == OutDtype::any && !direct) out.zero_();
  return Written(out, direct ? out : allocate({spec.sizes, dtype, spec.device}));
}

Written written_inplace(const char* op, const Tensor& self, const OutSpec& spec, bool safe, bool overlapping) {
  CRESSET_CHECK(self.sizes() == IntArrayRef(spec.sizes), op, ": output with shape ", self.sizes(), " doesn't match the result's shape ", spec.sizes);
  check_castable(op, spec.dtype, self.scalar_type());
  self.impl()->check_writable();
  if (!overlapping) check_no_internal_overlap(op, self);
  else warn_of_internal_overlap(op, self);
  return Written(self, safe && self.scalar_type() == spec.dtype ? self : allocate(spec));
}

void Written::finish() {
  if (direct_.is_same(*target_)) target_->impl()->bump_version();
  else target_->copy_(direct_);
}

namespace {

void store(const char* op, const Tensor& out, const Tensor& result, OutDtype dtype, bool warns) {
  CRESSET_CHECK(!(layer_state().grad_mode && (result.requires_grad() || out.requires_grad())), op,
                ": out= is not recorded for gradients, got an argument that requires grad");
  CRESSET_CHECK(out.device() == result.device(), op, ": expected out to be on ", result.device(), ", got ", out.device());
  check_out_dtype(op, result.scalar_type(), out, dtype);
  check_no_internal_overlap(op, out);
  if (warns) warn_of_resize(op, out, result.sizes());
  // A copy of a sparse tensor brings its shape along.
  if (out.layout() == Layout::Strided) resize_output(out, result.sizes(), result.strides());
  out.copy_(result);
}

}  // namespace

void store_out(const char* op, const Tensor& out, const Tensor& result, OutDtype dtype) { store(op, out, result, dtype, true); }
void store_factory_out(const char* op, const Tensor& out, const Tensor& result, OutDtype dtype) {
  const bool sparse = CRESSET_UNLIKELY(is_sparse(out.layout()));
  store(op, out, sparse ? result.to_sparse(out.layout()) : result, dtype, false);
}

Tensor kept_input(const Tensor& self) { return layer_state().grad_mode && self.requires_grad() ? self.clone() : self; }

Tensor& store_inplace(const char* op, Tensor& self, const Tensor& result) {
  CRESSET_CHECK(self.sizes() == result.sizes(), op, ": output with shape ", self.sizes(), " doesn't match the result's shape ", result.sizes());
  check_castable(op, result.scalar_type(), self.scalar_type());
  self.copy_(result);
  return self;
}

}  // namespace cresset::ops
