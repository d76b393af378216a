#include "cresset/ops/support.h"

#include "cresset/ops/functions.h"

namespace cresset::ops {

Tensor fresh(Tensor t) {
  if (t.has_storage()) t.storage().impl()->version().store(0);
  return t;
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
  self.impl()->set_geometry(spec.sizes, spec.strides, spec.offset);
  self.impl()->bump_version();
}

void check_castable(const char* op, ScalarType from, ScalarType to) {
  CRESSET_CHECK(can_cast(from, to), op, ": result type ", from, " can't be cast to the desired output type ", to);
}

void resize_output(const Tensor& out, IntArrayRef sizes, IntArrayRef strides) {
  if (out.sizes() == sizes) return;
  out.resize_(sizes);
  if (!strides.empty()) out.impl()->set_geometry(sizes, strides, out.storage_offset());
}

void check_no_internal_overlap(const char* op, const Tensor& out) {
  bool overlap = false;
  for (int64_t d = 0; d < out.dim(); d++) overlap = overlap || (out.strides()[d] == 0 && out.sizes()[d] > 1);
  CRESSET_CHECK(!overlap || out.numel() == 0, op, ": more than one element of the written-to tensor refers to a single memory location, got shape ",
                out.sizes(), " and strides ", out.strides(), "; clone() the tensor before performing the operation");
}

Written written_out(const char* op, const Tensor& out, const OutSpec& spec, const Inputs& inputs, bool contiguous) {
  CRESSET_CHECK(out.device() == spec.device, op, ": expected out to be on ", spec.device, ", got ", out.device());
  check_castable(op, spec.dtype, out.scalar_type());
  resize_output(out, spec.sizes, spec.strides);
  check_no_internal_overlap(op, out);
  bool direct = out.scalar_type() == spec.dtype && (!contiguous || out.is_contiguous());
  for (const Tensor* t : inputs) direct = direct && !(t->has_storage() && t->impl()->storage() == out.impl()->storage());
  return Written(out, direct ? out : allocate(spec));
}

Written written_inplace(const char* op, const Tensor& self, const OutSpec& spec, bool safe) {
  CRESSET_CHECK(self.sizes() == IntArrayRef(spec.sizes), op, ": output with shape ", self.sizes(), " doesn't match the result's shape ", spec.sizes);
  check_castable(op, spec.dtype, self.scalar_type());
  check_no_internal_overlap(op, self);
  return Written(self, safe && self.scalar_type() == spec.dtype ? self : allocate(spec));
}

void Written::finish() {
  if (direct_.is_same(*target_)) target_->impl()->bump_version();
  else target_->copy_(direct_);
}

void store_out(const char* op, const Tensor& out, const Tensor& result) {
  CRESSET_CHECK(!(layer_state().grad_mode && (result.requires_grad() || out.requires_grad())), op,
                ": functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad");
  CRESSET_CHECK(out.device() == result.device(), op, ": expected out to be on ", result.device(), ", got ", out.device());
  check_castable(op, result.scalar_type(), out.scalar_type());
  check_no_internal_overlap(op, out);
  resize_output(out, result.sizes(), result.strides());
  out.copy_(result);
}

Tensor& store_inplace(const char* op, Tensor& self, const Tensor& result) {
  CRESSET_CHECK(self.sizes() == result.sizes(), op, ": output with shape ", self.sizes(), " doesn't match the result's shape ", result.sizes());
  check_castable(op, result.scalar_type(), self.scalar_type());
  self.copy_(result);
  return self;
}

}  // namespace cresset::ops
