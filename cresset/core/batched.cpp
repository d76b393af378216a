#include "cresset/core/batched.h"

#include <typeinfo>

#include "cresset/core/functional.h"

namespace cresset {

BatchedImpl::BatchedImpl(Tensor value, int64_t batch_dim, uint64_t level)
    : TensorImpl({}, value.scalar_type(), value.device(), value.layout()), batch_dim_(batch_dim), level_(level) {
  set_layer(Layer::Vmap, true);
  set_layer(Layer::Autograd, true);
  adopt(std::move(value), batch_dim);
}

void BatchedImpl::adopt(Tensor value, int64_t batch_dim) {
  const TensorImpl& t = *value.impl();
  CRESSET_INTERNAL_ASSERT(batch_dim >= 0 && batch_dim < t.dim());
  DimVector sizes, strides;
  for (int64_t d = 0; d < t.dim(); d++) {
    if (d == batch_dim) continue;
    sizes.push_back(t.sizes()[static_cast<size_t>(d)]);
    strides.push_back(t.strides()[static_cast<size_t>(d)]);
  }
  set_geometry(sizes, strides, t.storage_offset());
  set_dtype(t.dtype());
  set_conj(t.is_conj());
  set_neg(t.is_neg());
  set_inference(t.is_inference());
  set_backend(t.backend());
  share_version_of(t);
  value_ = std::move(value);
  batch_dim_ = batch_dim;
}

void BatchedImpl::release_resources() {
  TensorImpl::release_resources();
  value_.reset();
}

BatchedImpl* as_batched_slow(const TensorImpl& t) {
  return typeid(t) == typeid(BatchedImpl) ? static_cast<BatchedImpl*>(const_cast<TensorImpl*>(&t)) : nullptr;
}

const Tensor& physical(const Tensor& t) {
  const Tensor* at = &t;
  while (const BatchedImpl* b = as_batched(*at)) at = &b->value();
  return *at;
}

Tensor make_batched(Tensor value, int64_t batch_dim, uint64_t level) {
  const BatchedImpl* inner = as_batched(value);
  CRESSET_INTERNAL_ASSERT(!inner || inner->level() < level);
  return Tensor(make_intrusive<BatchedImpl>(std::move(value), batch_dim, level));
}

void check_has_memory(const Tensor& t) { CRESSET_CHECK(!as_batched(t) && !as_functional(t), "data_ptr: the tensor has no storage to point to"); }

}  // namespace cresset
