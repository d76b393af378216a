#pragma once
// The state of an n-d walk over byte-strided operands: dimensions ordered for memory and coalesced, innermost first.

#include <algorithm>

#include "cresset/base/error.h"
#include "cresset/kernels/iter/nd_iter.h"

namespace cresset::kernels {

struct Walk {
  int dims = 0, operands = 0;
  int64_t total = 1;
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims][kMaxOperands];
  char* data[kMaxOperands];

  // An empty shape gives total 0; a shape of ones gives one dimension of size 1 with dense strides.
  void prepare(IntArrayRef shape, ArrayRef<Operand> ops) {
    CRESSET_CHECK(ops.size() <= kMaxOperands && shape.size() <= kMaxDims, "run_nd: too many operands or dimensions, got ", ops.size(), " and ", shape.size(),
                  ", expected at most ", kMaxOperands, " and ", kMaxDims);
    operands = static_cast<int>(ops.size());
    for (int i = 0; i < operands; i++) data[i] = ops[i].data;
    for (size_t d = shape.size(); d-- > 0;) {
      const int64_t size = shape[d];
      if (size == 1) continue;
      total *= size;
      if (size == 0) return;
      // Most operands are dense: merging at once saves the ordering below.
      if (dims > 0 && continues(ops, d)) {
        sizes[dims - 1] *= size;
        continue;
      }
      sizes[dims] = size;
      for (int i = 0; i < operands; i++) strides[dims][i] = ops[i].strides[d];
      dims++;
    }
    if (dims == 0) {
      dims = 1;
      sizes[0] = 1;
      for (int i = 0; i < operands; i++) strides[0][i] = static_cast<int64_t>(element_size(ops[i].dtype));
    } else if (dims > 1) {
      order();
      coalesce();
    }
  }

  // Makes a longer dimension the inner loop where the innermost is so short that a call per row would cost more than strides do.
  void avoid_short_rows() {
    if (dims > 1 && sizes[0] < 12 && sizes[1] >= 4 * sizes[0]) swap_dims(0, 1);
  }

  // Calls inner(pointers, n) for runs of innermost elements that cover [begin, end) of the flattened walk.
  // `inner` may change the pointers.
  template <class Inner> void range(int64_t begin, int64_t end, Inner&& inner) const {
    char* at[kMaxOperands];
    for (int i = 0; i < operands; i++) at[i] = data[i];
    if (dims == 1) {
      for (int i = 0; i < operands; i++) at[i] += begin * strides[0][i];
      return inner(at, end - begin);
    }
    int64_t index[kMaxDims];
    int64_t rest = begin;
    for (int d = 0; d < dims; d++) {
      index[d] = rest % sizes[d];
      rest /= sizes[d];
      for (int i = 0; i < operands; i++) at[i] += index[d] * strides[d][i];
    }
    char* row[kMaxOperands];
    for (int64_t done = begin;;) {
      const int64_t n = std::min(sizes[0] - index[0], end - done);
      for (int i = 0; i < operands; i++) row[i] = at[i];
      inner(row, n);
      done += n;
      if (done >= end) return;
      if (index[0] != 0) {
        for (int i = 0; i < operands; i++) at[i] -= index[0] * strides[0][i];
        index[0] = 0;
      }
      for (int d = 1; d < dims; d++) {
        if (++index[d] < sizes[d]) {
          for (int i = 0; i < operands; i++) at[i] += strides[d][i];
          break;
        }
        index[d] = 0;
        for (int i = 0; i < operands; i++) at[i] -= (sizes[d] - 1) * strides[d][i];
      }
    }
  }

  void swap_dims(int a, int b) {
    std::swap(sizes[a], sizes[b]);
    for (int i = 0; i < operands; i++) std::swap(strides[a][i], strides[b][i]);
  }

 private:
  bool continues(ArrayRef<Operand> ops, size_t d) const {
    for (int i = 0; i < operands; i++)
      if (ops[i].strides[d] != strides[dims - 1][i] * sizes[dims - 1]) return false;
    return true;
  }

  // Whether dimension b should lie inside dimension a: the first operand that tells them apart decides, outputs before inputs.
  bool belongs_inside(int a, int b) const {
    for (int i = 0; i < operands; i++) {
      const int64_t sa = strides[a][i], sb = strides[b][i];
      if (sa == 0 || sb == 0 || sa == sb) continue;
      return sb < sa;
    }
    return false;
  }

  void order() {
    for (int d = 1; d < dims; d++)
      for (int k = d; k > 0 && belongs_inside(k - 1, k); k--) swap_dims(k - 1, k);
  }

  bool can_merge(int inner, int outer) const {
    for (int i = 0; i < operands; i++)
      if (strides[outer][i] != strides[inner][i] * sizes[inner]) return false;
    return true;
  }

  void coalesce() {
    int last = 0;
    for (int d = 1; d < dims; d++) {
      if (can_merge(last, d)) {
        sizes[last] *= sizes[d];
      } else if (++last != d) {
        sizes[last] = sizes[d];
        for (int i = 0; i < operands; i++) strides[last][i] = strides[d][i];
      }
    }
    dims = last + 1;
  }
};

}  // namespace cresset::kernels
