// Tensor::set_: the tensor keeps its identity, its graph and its version counter, and looks at other memory.

#include "cresset/autograd/autograd.h"
#include "cresset/autograd/generated_support.h"
#include "cresset/autograd/variable.h"
#include "cresset/base/util/reach.h"
#include "cresset/core/raw_bool.h"
#include "cresset/ops/functions.h"

namespace cresset {

namespace {

class Setting {
 public:
  Setting(const Tensor& t, const Tensor& from) : t_(t) {
    const bool recorded = autograd::any_requires_grad(t, from);
    autograd::check_inplace(t, recorded, "set_");
    if (!recorded) return;
    node_ = autograd::make_node<autograd::NotImplementedBackward>("set_");
    autograd::set_next_edges(*node_, t, from);
  }
  void look_at(const intrusive_ptr<StorageImpl>& storage, IntArrayRef sizes, IntArrayRef strides, int64_t first) {
    t_.impl()->bump_version();
    const auto target = make_intrusive<TensorImpl>(storage, t_.scalar_type(), t_.device());
    target->set_geometry(sizes, strides, first);
    mark_if_raw_bool(*target);
    t_.impl()->shallow_copy_from(*target);
    if (node_) autograd::rebase_history(t_, node_);
    // The accumulator describes, and is an edge to, what the tensor was.
    else if (autograd::AutogradMeta* meta = autograd::impl::get_autograd_meta(t_)) meta->grad_accumulator_ = weak_intrusive_ptr<autograd::Node>();
  }

 private:
  const Tensor& t_;
  intrusive_ptr<autograd::Node> node_;
};

// Of tensors whose class computes, which hold others and have no memory.
bool lacks_memory(const StorageImpl& s) { return !s.data() && s.nbytes() && s.device().is_cpu() && !s.is_fake(); }

void set_part(const Tensor& t, const intrusive_ptr<StorageImpl>& storage, int64_t first, IntArrayRef sizes, IntArrayRef strides, const Tensor& from) {
  CRESSET_CHECK(storage.defined(), "set_: the source has no storage");
  CRESSET_CHECK(!lacks_memory(*storage) || (t.has_storage() && lacks_memory(*t.impl()->storage())),
                "set_: the storage is that of a wrapper tensor and has no memory");
  const DimVector dense = strides.empty() ? contiguous_strides(sizes) : DimVector(strides);
  CRESSET_CHECK(sizes.size() == dense.size(), "set_: ", sizes.size(), " sizes but ", dense.size(), " strides");
  CRESSET_CHECK(first >= 0, "set_: negative storage offset ", first);
  const int64_t needed = checked_reach("set_", sizes, dense, first, t.element_size());
  Setting setting(t, from);
  const int64_t elements = static_cast<int64_t>(storage->nbytes() / t.element_size());
  if (needed > elements) storage->resize(static_cast<size_t>(needed) * t.element_size());
  setting.look_at(storage, sizes, dense, first);
}

void check_same_kind(const Tensor& t, const Tensor& from) {
  CRESSET_CHECK(from.scalar_type() == t.scalar_type(), "set_: expected a tensor of dtype ", t.scalar_type(), ", got ", from.scalar_type());
  CRESSET_CHECK(from.device() == t.device(), "set_: expected a tensor on ", t.device(), ", got one on ", from.device());
  CRESSET_CHECK(from.has_storage(), "set_: the source has no storage");
}

}  // namespace

Tensor& Tensor::set_() {
  Setting setting(*this, Tensor());
  setting.look_at(cresset::empty({0}, options()).impl()->storage(), {0}, {1}, 0);
  return *this;
}

Tensor& Tensor::set_(const Storage& source) {
  CRESSET_CHECK(source, "set_: the source has no storage");
  return set_(source, 0, {static_cast<int64_t>(source.nbytes() / element_size())});
}

Tensor& Tensor::set_(const Storage& source, int64_t offset, IntArrayRef size, IntArrayRef stride) {
  set_part(*this, source.impl(), offset, size, stride, Tensor());
  return *this;
}

Tensor& Tensor::set_(const Tensor& source) {
  check_same_kind(*this, source);
  Setting setting(*this, source);
  setting.look_at(source.impl()->storage(), source.sizes(), source.strides(), source.storage_offset());
  return *this;
}

Tensor& Tensor::set_(const Tensor& source, int64_t offset, IntArrayRef size, IntArrayRef stride) {
  check_same_kind(*this, source);
  set_part(*this, source.impl()->storage(), offset, size, stride, source);
  return *this;
}

}  // namespace cresset
