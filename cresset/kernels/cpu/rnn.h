#pragma once
// The pointwise part of one step of recurrent networks, per instruction set. Matrices are dense, `rows` x `hidden` (times the gates).

#include <cstdint>

#include "cresset/kernels/isa.h"

#define CRESSET_DECLARE_RNN(name, T)                                                                                                                      \
  /* gates: i f g o before their functions, after them on return. c: the state before, the state after on return, which also goes to cells. */           \
  CRESSET_DECLARE_KERNEL(void, lstm_step_##name, (int64_t rows, int64_t hidden, T* gates, T* c, T* cells, T* out, T* h))                                  \
  /* dc: the gradient of the state after, of the state before on return. */                                                                              \
  CRESSET_DECLARE_KERNEL(void, lstm_step_backward_##name,                                                                                                 \
                         (int64_t rows, int64_t hidden, const T* gates, const T* cells, const T* c_before, const T* dh, T* dc, T* dgates))                \
  /* x, hg: r z n of the input and of the hidden state. saved: r z n and the hidden part of n. */                                                        \
  CRESSET_DECLARE_KERNEL(void, gru_step_##name, (int64_t rows, int64_t hidden, const T* x, const T* hg, T* h, T* out, T* saved))                          \
  /* dh: the gradient of the state after; on return what reaches the state before without the gates. */                                                  \
  CRESSET_DECLARE_KERNEL(void, gru_step_backward_##name,                                                                                                  \
                         (int64_t rows, int64_t hidden, const T* saved, const T* h_before, T* dh, T* dx, T* dhg))                                         \
  /* out: the sum before tanh or relu, the state on return. */                                                                                           \
  CRESSET_DECLARE_KERNEL(void, rnn_step_##name, (int64_t n, bool relu, T* out, T* h))                                                                     \
  CRESSET_DECLARE_KERNEL(void, rnn_step_backward_##name, (int64_t n, bool relu, const T* out, const T* dh, T* dx))

CRESSET_DECLARE_RNN(float, float)
CRESSET_DECLARE_RNN(double, double)
#undef CRESSET_DECLARE_RNN
