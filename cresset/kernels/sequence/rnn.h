#pragma once
// One layer of a recurrent network in one direction, over sequences packed as nn.utils.rnn packs them: step t has the rows of the
// first batch_sizes[t] sequences, batch_sizes does not grow, and all rows of all steps follow one another. float32 and float64.

#include "cresset/base/array_ref.h"
#include "cresset/base/dtype.h"

namespace cresset::kernels {

enum class RnnKind : uint8_t { tanh, relu, lstm, gru };
constexpr int64_t rnn_gates(RnnKind kind) { return kind == RnnKind::lstm ? 4 : kind == RnnKind::gru ? 3 : 1; }

// All matrices dense. N rows in all steps, B sequences, H hidden size, G = rnn_gates(kind) * H.
struct RnnShape {
  RnnKind kind;
  ScalarType dtype;
  bool reverse;  // steps from the last to the first
  IntArrayRef batch_sizes;
  int64_t hidden;
};

struct RnnLayer {
  const void *gates, *weight, *bias;  // N x G, the input's part; G x H; G or null
  const void *hx, *cx;                // B x H; cx of an LSTM only
  void *out, *hn, *cn;                // N x H; B x H; cn of an LSTM only
  void *saved, *cells;                // N x 4H of an LSTM or GRU; N x H of an LSTM
};
void rnn_layer(const RnnShape& shape, const RnnLayer& layer);

struct RnnLayerBackward {
  const void *d_out, *d_hn, *d_cn;  // gradients; null where there is none
  const void *weight, *hx, *cx, *out, *saved, *cells;
  void *d_gates, *d_weight, *d_bias, *d_hx, *d_cx;  // d_cx of an LSTM only
};
void rnn_layer_backward(const RnnShape& shape, const RnnLayerBackward& layer);

}  // namespace cresset::kernels
