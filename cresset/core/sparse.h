#pragma once
// Sparse tensors: the parts that stand for a storage. A tensor's parts are never changed, only replaced, so that aliases may share them.

#include "cresset/core/tensor.h"

namespace cresset {

struct CRESSET_API SparseParts : RefCounted {
  // COO: (sparse_dim, nnz) positions. CSR and BSR: row pointers; CSC and BSC: column pointers, of shape (batch..., n + 1).
  Tensor indices;
  // The compressed layouts: the other positions, of shape (batch..., nnz).
  Tensor plain;
  // (nnz, dense sizes...), or (batch..., nnz, block..., dense sizes...); never with a history.
  Tensor values;
  int64_t sparse_dim = 0, dense_dim = 0;
  // COO: the positions are sorted and differ.
  bool coalesced = false;
  // The versions, added, of pointers and positions that were last seen to lie in range; -1: not looked at.
  mutable int64_t checked_version = -1;

  int64_t nnz() const { return plain.defined() ? plain.size(-1) : indices.size(1); }
  int64_t batch_dim() const { return plain.defined() ? plain.dim() - 1 : 0; }

 protected:
  void release_resources() override;
};

inline bool is_compressed(Layout l) { return l >= Layout::SparseCsr && l <= Layout::SparseBsc; }
inline bool is_blocked(Layout l) { return l == Layout::SparseBsr || l == Layout::SparseBsc; }
inline bool is_by_rows(Layout l) { return l == Layout::SparseCsr || l == Layout::SparseBsr; }
inline bool is_sparse(Layout l) { return l >= Layout::Sparse && l <= Layout::SparseBsc; }

// Errors: the tensor has no parts.
CRESSET_API const SparseParts& sparse_parts(const Tensor& t);
// Unchecked. `values` gives dtype and device; both lose their history.
CRESSET_API Tensor make_coo(IntArrayRef sizes, const Tensor& indices, const Tensor& values, bool coalesced);
CRESSET_API Tensor make_compressed(Layout layout, IntArrayRef sizes, const Tensor& compressed, const Tensor& plain, const Tensor& values);
// The same positions, shared, with other values.
CRESSET_API Tensor with_values(const Tensor& pattern, const Tensor& values);
// Gives `t` what `source` holds: parts, sizes, dtype and layout. The caller counts the change.
CRESSET_API void take_parts(const Tensor& t, const Tensor& source);

}  // namespace cresset
