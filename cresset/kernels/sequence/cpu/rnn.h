#pragma once
// The pointwise part of one step of recurrent networks, per instruction set. Matrices are dense, `rows` x `hidden` (times the gates).

#include <cstdint>

#include "cresset/kernels/isa.h"

// x: the input's part of the gates; `bias` is added to the hidden state's part. d_out: what reaches the state after from the output, may be null.
#define CRESSET_DECLARE_RNN(name, T)                                                                                                                       \
  /* gates: the hidden state's part of i f g o; on return all four. c: the state before; on return the state after, which also goes to cells. */           \
  CRESSET_DECLARE_KERNEL(void, lstm_step_##name, (int64_t rows, int64_t hidden, const T* x, const T* bias, T* gates, T* c, T* cells, T* out, T* h))        \
  /* dc: the gradient of the state after, of the state before on return. */                                                                                \
  CRESSET_DECLARE_KERNEL(void, lstm_step_backward_##name,                                                                                                  \
                         (int64_t rows, int64_t hidden, const T* gates, const T* cells, const T* c_before, const T* dh, const T* d_out, T* dc, T* dgates)) \
  /* hg: the hidden state's part of r z n. saved: r z n and the hidden part of n. */                                                                       \
  CRESSET_DECLARE_KERNEL(void, gru_step_##name, (int64_t rows, int64_t hidden, const T* x, const T* bias, const T* hg, T* h, T* out, T* saved))            \
  /* dh: the gradient of the state after; on return what reaches the state before without the gates. */                                                    \
  CRESSET_DECLARE_KERNEL(void, gru_step_backward_##name,                                                                                                   \
                         (int64_t rows, int64_t hidden, const T* saved, const T* h_before, const T* d_out, T* dh, T* dx, T* dhg))                          \
  /* out: the hidden state's part of the sum before tanh or relu; on return the state. */                                                                  \
  CRESSET_DECLARE_KERNEL(void, rnn_step_##name, (int64_t rows, int64_t hidden, bool relu, const T* x, const T* bias, T* out, T* h))                        \
  CRESSET_DECLARE_KERNEL(void, rnn_step_backward_##name, (int64_t n, bool relu, const T* out, const T* dh, const T* d_out, T* dx))                         \
  /* sum[j] = the sum of column j of a dense matrix, rows in order. */                                                                                     \
  CRESSET_DECLARE_KERNEL(void, rnn_column_sums_##name, (int64_t rows, int64_t columns, const T* x, T* sum))

CRESSET_DECLARE_RNN(float, float)
CRESSET_DECLARE_RNN(double, double)
#undef CRESSET_DECLARE_RNN
