#include "cresset/core/sparse.h"

namespace cresset {

namespace {

Tensor without_history(const Tensor& t) { return Tensor(t.impl()->alias(true)); }

Tensor wrap(Layout layout, IntArrayRef sizes, const Tensor& values, intrusive_ptr<SparseParts> parts) {
  auto impl = make_intrusive<TensorImpl>(intrusive_ptr<StorageImpl>(), values.scalar_type(), values.device(), layout);
  impl->set_own_version();
  if (values.impl()->backend() == kFakeBackend) impl->set_backend(kFakeBackend);
  impl->set_geometry(sizes, DimVector(sizes.size(), 0), 0);
  impl->set_parts(std::move(parts));
  return Tensor(std::move(impl));
}

}  // namespace

void SparseParts::release_resources() {
  indices.reset();
  plain.reset();
  values.reset();
}

const SparseParts& sparse_parts(const Tensor& t) {
  CRESSET_CHECK(is_sparse(t.layout()) && t.impl()->parts(), "expected a sparse tensor, got layout ", t.layout());
  return static_cast<const SparseParts&>(*t.impl()->parts());
}

Tensor make_coo(IntArrayRef sizes, const Tensor& indices, const Tensor& values, bool coalesced) {
  auto parts = make_intrusive<SparseParts>();
  parts->indices = without_history(indices);
  parts->values = without_history(values);
  parts->sparse_dim = indices.size(0);
  parts->dense_dim = values.dim() - 1;
  parts->coalesced = coalesced;
  return wrap(Layout::Sparse, sizes, values, std::move(parts));
}

Tensor make_compressed(Layout layout, IntArrayRef sizes, const Tensor& compressed, const Tensor& plain, const Tensor& values) {
  auto parts = make_intrusive<SparseParts>();
  parts->indices = without_history(compressed);
  parts->plain = without_history(plain);
  parts->values = without_history(values);
  parts->sparse_dim = 2;
  parts->dense_dim = static_cast<int64_t>(sizes.size()) - 1 - plain.dim();
  return wrap(layout, sizes, values, std::move(parts));
}

Tensor with_values(const Tensor& pattern, const Tensor& values) {
  const SparseParts& p = sparse_parts(pattern);
  if (p.plain.defined()) return make_compressed(pattern.layout(), pattern.sizes(), p.indices, p.plain, values);
  return make_coo(pattern.sizes(), p.indices, values, p.coalesced);
}

void take_parts(const Tensor& t, const Tensor& source) {
  TensorImpl& to = *t.impl();
  const TensorImpl& from = *source.impl();
  to.set_parts(from.parts());
  to.set_geometry(from.sizes(), from.strides(), 0);
  to.set_dtype(from.dtype());
  to.set_layout(from.layout());
}

}  // namespace cresset
