#include "cresset/kernels/iter/nd_iter.h"

#include <algorithm>

#include "cresset/base/error.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/iter/blocks.h"

namespace cresset::kernels {

namespace {

// A run with its dimensions coalesced, innermost first.
struct Walk {
  int dims = 0, operands = 0;
  int64_t total = 1;
  int64_t sizes[kMaxDims];
  int64_t strides[kMaxDims][kMaxOperands];
  char* data[kMaxOperands];
  Loop loop;
  const Scalar* params;
  const BlockPlan* plan;  // null: no operand needs conversion

  void inner(char** at, int64_t n) const {
    if (plan) run_blocks(*plan, loop, at, strides[0], n, params);
    else loop(at, strides[0], n, params);
  }

  // Elements [begin, end) of the flattened walk.
  void range(int64_t begin, int64_t end) const {
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
      for (int i = 0; i < operands; i++) at[i] -= index[0] * strides[0][i];
      index[0] = 0;
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
};

// Whether dimension b should lie inside dimension a: the first operand that tells them apart decides, outputs before inputs.
bool belongs_inside(const Walk& w, int a, int b) {
  for (int i = 0; i < w.operands; i++) {
    const int64_t sa = w.strides[a][i], sb = w.strides[b][i];
    if (sa == 0 || sb == 0 || sa == sb) continue;
    return sb < sa;
  }
  return false;
}

void swap_dims(Walk& w, int a, int b) {
  std::swap(w.sizes[a], w.sizes[b]);
  for (int i = 0; i < w.operands; i++) std::swap(w.strides[a][i], w.strides[b][i]);
}

void order(Walk& w) {
  for (int d = 1; d < w.dims; d++)
    for (int k = d; k > 0 && belongs_inside(w, k - 1, k); k--) swap_dims(w, k - 1, k);
}

bool can_merge(const Walk& w, int inner, int outer) {
  for (int i = 0; i < w.operands; i++)
    if (w.strides[outer][i] != w.strides[inner][i] * w.sizes[inner]) return false;
  return true;
}

void coalesce(Walk& w) {
  int last = 0;
  for (int d = 1; d < w.dims; d++) {
    if (can_merge(w, last, d)) {
      w.sizes[last] *= w.sizes[d];
    } else if (++last != d) {
      w.sizes[last] = w.sizes[d];
      for (int i = 0; i < w.operands; i++) w.strides[last][i] = w.strides[d][i];
    }
  }
  w.dims = last + 1;
}

}  // namespace

void run_nd(IntArrayRef shape, ArrayRef<Operand> operands, int num_outputs, ArrayRef<ScalarType> loop_dtypes, Loop loop,
            const Scalar* params, int64_t grain) {
  CRESSET_CHECK(operands.size() <= kMaxOperands && shape.size() <= kMaxDims, "run_nd: too many operands or dimensions, got ",
                operands.size(), " and ", shape.size(), ", expected at most ", kMaxOperands, " and ", kMaxDims);
  Walk w;
  w.operands = static_cast<int>(operands.size());
  w.loop = loop;
  w.params = params;
  bool converts = false;
  for (int i = 0; i < w.operands; i++) {
    w.data[i] = operands[i].data;
    converts |= operands[i].dtype != loop_dtypes[i];
  }
  for (size_t d = shape.size(); d-- > 0;) {
    const int64_t size = shape[d];
    if (size == 1) continue;
    if (size == 0) return;
    w.total *= size;
    w.sizes[w.dims] = size;
    for (int i = 0; i < w.operands; i++) w.strides[w.dims][i] = operands[i].strides[d];
    w.dims++;
  }
  if (w.dims == 0) {
    w.dims = 1;
    w.sizes[0] = 1;
    for (int i = 0; i < w.operands; i++) w.strides[0][i] = static_cast<int64_t>(element_size(operands[i].dtype));
  } else if (w.dims > 1) {
    order(w);
    coalesce(w);
  }
  BlockPlan plan;
  w.plan = nullptr;
  if (converts) {
    plan.operands = w.operands;
    plan.outputs = num_outputs;
    for (int i = 0; i < w.operands; i++) {
      plan.outer[i] = operands[i].dtype;
      plan.inner[i] = loop_dtypes[i];
    }
    w.plan = &plan;
  }
  parallel_for(0, w.total, grain, [&](int64_t begin, int64_t end) { w.range(begin, end); });
}

}  // namespace cresset::kernels
