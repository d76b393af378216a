#pragma once
// Cross entropy over contiguous rows of logits.

#include "cresset/kernels/isa.h"
#include "cresset/kernels/training/loss.h"

namespace cresset::kernels {

// `rows` rows of `classes` logits. The contribution of a row is up to the caller, who knows targets and weights.
struct CrossEntropyRows {
  ScalarType dtype;
  const char* x;
  const char* weight;  // (classes), dtype of x; null without smoothing
  int64_t rows, classes;
  double *lse, *smooth;  // (rows): log(sum(exp(x))), and sum(weight * x) where smooth is not null
};
// dx = scale * softmax(x) - offset * weight, per row; the target's own term is the caller's.
struct CrossEntropyRowsBackward {
  ScalarType dtype;
  const char *x, *weight;
  char* dx;
  int64_t rows, classes;
  const double *lse, *scale, *offset;  // offset may be null
};

}  // namespace cresset::kernels

CRESSET_DECLARE_KERNEL(void, cross_entropy_rows, (const CrossEntropyRows& a))
CRESSET_DECLARE_KERNEL(void, cross_entropy_rows_backward, (const CrossEntropyRowsBackward& a))
