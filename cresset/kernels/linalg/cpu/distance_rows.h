#pragma once
// One row against many; see kernels/linalg/distance.h.

#include <cstdint>

#include "cresset/base/dtype.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {

// Rows that are compared at a time, at most.
constexpr int64_t kDistanceColumns = 64;

struct DistanceBlock {
  ScalarType dtype;
  const void *rows, *others;  // count1 rows, count2 <= kDistanceColumns others, `columns` numbers each
  int64_t count1, count2, columns;
  double p;
  void* packed;  // room for columns * kDistanceColumns elements, filled here
  void* out;     // out[i * out_step + j]
  int64_t out_step;
};

struct DistanceGradRow {
  ScalarType dtype;
  const void *row, *others;  // `rows` (1 or 2) rows and `count` others, `columns` numbers each
  int64_t rows, count, columns;
  double p;
  void* weights;  // the gradients with respect to every distance, row by row; overwritten
  const void* distance;
  void* out;  // like `row`
};

}  // namespace cresset::kernels

CRESSET_DECLARE_KERNEL(void, distance_block, (const DistanceBlock& block))
CRESSET_DECLARE_KERNEL(void, distance_grad_row, (const DistanceGradRow& row))
