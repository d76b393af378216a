#pragma once
// A tensor that stands for one of many: the element of a batch that a function under vmap sees. docs/records/0006-vmap.md.

#include "cresset/core/tensor.h"

namespace cresset {

// Geometry, dtype and device are those of one element; the values are in `value`, all elements along `batch_dim`. It has no
// storage. Wrappers of several levels nest, the largest level outermost.
class CRESSET_API BatchedImpl final : public TensorImpl {
 public:
  BatchedImpl(Tensor value, int64_t batch_dim, uint64_t level);
  const Tensor& value() const { return value_; }
  int64_t batch_dim() const { return batch_dim_; }
  int64_t batch_size() const { return value_.sizes()[static_cast<size_t>(batch_dim_)]; }
  uint64_t level() const { return level_; }
  // Stands for another value from now on: changes of geometry in place.
  void adopt(Tensor value, int64_t batch_dim);

 protected:
  void release_resources() override;

 private:
  Tensor value_;
  int64_t batch_dim_;
  uint64_t level_;
};

CRESSET_API BatchedImpl* as_batched_slow(const TensorImpl& t);
// The wrapper that `t` is, or null.
inline BatchedImpl* as_batched(const Tensor& t) {
  return CRESSET_UNLIKELY(t.defined() && (t.impl()->layers() & layer_bit(Layer::Vmap))) ? as_batched_slow(*t.impl()) : nullptr;
}
// The value below all wrappers.
CRESSET_API const Tensor& physical(const Tensor& t);
// Errors: a level that is not above those of `value`.
CRESSET_API Tensor make_batched(Tensor value, int64_t batch_dim, uint64_t level);
// Errors: `t` is one of a batch, or under functionalize, and has no memory of its own.
CRESSET_API void check_has_memory(const Tensor& t);

}  // namespace cresset
