#pragma once
// Scaled dot-product attention, tiled: the score matrix is never materialised. half, bfloat16 (computed in float), float, double.

#include <cstdint>

#include "cresset/base/dtype.h"

namespace cresset::kernels {

// softmax(scale * q k^T + mask) v for q (batch, q_heads, q_len, head_dim), k (batch, kv_heads, kv_len, head_dim) and
// v (batch, kv_heads, kv_len, v_dim); query head h uses key head h / (q_heads / kv_heads).
struct AttentionShape {
  ScalarType dtype = ScalarType::Float;
  int64_t batch = 0, q_heads = 0, kv_heads = 0, q_len = 0, kv_len = 0, head_dim = 0, v_dim = 0;
  double scale = 1;
  bool causal = false;  // query i sees keys 0..i
  // Optional, broadcastable to (batch, q_heads, q_len, kv_len) by zero strides: bool (true: takes part) or dtype (added to the scores).
  const char* mask = nullptr;
  ScalarType mask_dtype = ScalarType::Bool;
  int64_t mask_strides[4] = {0, 0, 0, 0};  // bytes
};

// A matrix for every batch and head: byte strides of batch, head and row; the last dimension is contiguous.
struct AttentionInput {
  const char* data = nullptr;
  int64_t strides[3] = {0, 0, 0};
};
struct AttentionOutput {
  char* data = nullptr;
  int64_t strides[3] = {0, 0, 0};
};

// lse: contiguous (batch, q_heads, q_len) log-sum-exp of the scores, float, or double for double inputs; may be null.
// A query that sees no key yields zeros and lse = -inf.
void attention(const AttentionShape& shape, AttentionInput q, AttentionInput k, AttentionInput v, AttentionOutput out, char* lse);

// Gradients from the forward's `out` and `lse`; dk and dv are summed over the query heads that share a key head. Each of dq, dk, dv may be
// null. Results do not depend on the number of threads.
void attention_backward(const AttentionShape& shape, AttentionInput dout, AttentionInput q, AttentionInput k, AttentionInput v, AttentionInput out,
                        const char* lse, AttentionOutput dq, AttentionOutput dk, AttentionOutput dv);

}  // namespace cresset::kernels
