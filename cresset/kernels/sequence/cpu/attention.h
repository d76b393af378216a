#pragma once
// The elementwise half of attention; the products are kernels/gemm/gemm.h's and kernels/gemm/cpu/gemm_strip.h's.

#include <cstdint>

#include "cresset/base/dtype.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {

// A mask's element of a tile's first query and key, or null, with byte strides of query and key; Bool, or a floating dtype that is added.
struct AttentionMask {
  const char* data = nullptr;
  ScalarType dtype = ScalarType::Bool;
  int64_t query = 0, key = 0;
};

// Scores of `rows` queries against `columns` keys, in float or double; rows are `stride` elements apart.
struct AttentionTile {
  ScalarType dtype;
  void* scores;
  int64_t rows, columns, stride;
  // Key j of row i takes part if j <= causal_end + i; a large number: every key.
  int64_t causal_end;
  AttentionMask mask;
};

// Running softmax of the rows over the tiles seen so far: the largest score, the sum of exponentials, and the weighted values.
struct AttentionState {
  void *max, *sum;
  void* values;
  int64_t width;
};

// The same turned round: a row of `width` elements for each key, the first `lanes` of them in use, a multiple of vectors, one for each query.
// A mask adds one number for each key, or such a strip.
struct AttentionStrip {
  ScalarType dtype;
  void* scores;
  int64_t keys, lanes, width;
  int64_t causal_end;
  AttentionMask key_mask;
  const void* added;
  bool added_hides;  // -inf hides a key whatever its score is
};

}  // namespace cresset::kernels

// Masks the scores, replaces them with exp(score - new maximum), and rescales the state to the new maximum.
CRESSET_DECLARE_KERNEL(void, attention_softmax, (const AttentionTile& tile, const AttentionState& state))
// Masks the scores and replaces them with exp(score - lse[row]).
CRESSET_DECLARE_KERNEL(void, attention_weights, (const AttentionTile& tile, const void* lse))
// weights[i][j] *= (gradients[i][j] - delta[i]) * scale.
CRESSET_DECLARE_KERNEL(void, attention_score_gradients, (const AttentionTile& weights, const void* gradients, const void* delta, double scale))
// values[i][d] /= sum[i], zero where the sum is zero, and lse[i] = max[i] + log(sum[i]).
CRESSET_DECLARE_KERNEL(void, attention_finish, (ScalarType dtype, int64_t rows, const AttentionState& state, void* lse))
// The same of a strip, whose values are a strip of state.width rows; those of the first strip have not been computed yet.
CRESSET_DECLARE_KERNEL(void, attention_strip_softmax, (const AttentionStrip& strip, const AttentionState& state, bool first))
CRESSET_DECLARE_KERNEL(void, attention_strip_finish, (const AttentionStrip& strip, int64_t queries, const AttentionState& state, void* lse))
// Masks the scores and replaces them with weights, exp(score - lse), and `gradients` with weight * (gradient - delta) * scale.
CRESSET_DECLARE_KERNEL(void, attention_strip_gradients, (const AttentionStrip& strip, void* gradients, const void* lse, const void* delta, double scale))
// The numbers that the mask adds to the scores of rows and columns, in float or double, rows `stride` elements apart.
CRESSET_DECLARE_KERNEL(void, attention_mask_rows, (ScalarType dtype, const AttentionMask& mask, int64_t rows, int64_t columns, void* added, int64_t stride))
// delta[i] = the dot product of rows i of a and b, `width` long.
CRESSET_DECLARE_KERNEL(void, attention_delta,
                       (ScalarType dtype, const void* a, int64_t a_stride, const void* b, int64_t b_stride, int64_t rows, int64_t width, void* delta))
