#pragma once
// The elementwise half of tiled attention; the products are kernels/gemm/gemm.h's. Tiles are row-major, rows `stride` elements apart.

#include <cstdint>

#include "cresset/base/dtype.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {

// Scores of `rows` queries against `columns` keys, in float or double.
struct AttentionTile {
  ScalarType dtype;
  void* scores;
  int64_t rows, columns, stride;
  // Key j of row i takes part if j <= causal_end + i; a large number: every key.
  int64_t causal_end;
  // Optional mask of the tile's first element, with byte strides of row and column; Bool, or a floating dtype that is added.
  const char* mask;
  ScalarType mask_dtype;
  int64_t mask_row, mask_column;
};

// Running softmax of the rows over the tiles seen so far: the largest score, the sum of exponentials, and the weighted values.
struct AttentionState {
  void *max, *sum;
  void* values;
  int64_t width;
};

}  // namespace cresset::kernels

// Masks the scores, replaces them with exp(score - new maximum), and rescales the state to the new maximum.
CRESSET_DECLARE_KERNEL(void, attention_softmax, (const AttentionTile& tile, const AttentionState& state))
// Masks the scores and replaces them with exp(score - lse[row]).
CRESSET_DECLARE_KERNEL(void, attention_weights, (const AttentionTile& tile, const void* lse))
// weights[i][j] *= (gradients[i][j] - delta[i]) * scale.
CRESSET_DECLARE_KERNEL(void, attention_score_gradients, (const AttentionTile& weights, const void* gradients, const void* delta, double scale))
// delta[i] = the dot product of rows i of a and b, `width` long.
CRESSET_DECLARE_KERNEL(void, attention_delta,
                       (ScalarType dtype, const void* a, int64_t a_stride, const void* b, int64_t b_stride, int64_t rows, int64_t width, void* delta))
// values[i][d] /= sum[i], zero where the sum is zero, and lse[i] = max[i] + log(sum[i]).
CRESSET_DECLARE_KERNEL(void, attention_finish, (ScalarType dtype, int64_t rows, const AttentionState& state, void* lse))
