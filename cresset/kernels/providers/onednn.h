#pragma once
// The oneDNN provider: a shared library of its own (libcresset_onednn.so), opened at first use. Absent, or with CRESSET_ONEDNN=0 in
// the environment, everything runs on our own kernels.
//
// A plan is one convolution's primitive with its reorders, for a fixed number of images, cached by the provider. Everything runs on
// the calling thread: oneDNN's OpenMP never starts one.

#include <cstddef>

#include "cresset/base/dtype.h"
#include "cresset/kernels/conv/conv.h"

namespace cresset::kernels {

enum class ConvKind : int { forward, backward_input, backward_weight };

struct OnednnTable {
  int abi;
  // A plan for float32 or bfloat16, or null where oneDNN has none. Every plan is given back with release().
  const void* (*plan)(ConvKind kind, ScalarType dtype, const ConvParams* params, bool bias);
  void (*release)(const void* plan);
  // Bytes of the weights in the plan's own order, and their copy into it (forward and backward_input). `channels`: input channels of a row
  // of the given weights, of which the plan's are the first.
  size_t (*weights_size)(const void* plan);
  void (*pack_weights)(const void* plan, const void* weights, int64_t channels, void* packed);
  // Bytes of the first operand of run() in the plan's own order, 0 where that is the caller's, and its copy into it.
  size_t (*first_size)(const void* plan);
  void (*pack_first)(const void* plan, const void* first, void* packed);
  // forward: (input, packed weights, bias, output); backward_input: (grad_output, packed weights, null, grad_input);
  // backward_weight: (input, grad_output, grad_bias or null, grad_weight), the gradients in float32. `packed`: the first operand lies in
  // the plan's own order.
  void (*run)(const void* plan, bool packed, const void* first, const void* second, void* bias, void* result);
};
constexpr int kOnednnAbi = 2;

// The provider's table, or null.
CRESSET_API const OnednnTable* onednn();
// Turns the use of an available provider off and on: for tests and measurements. Returns whether it is in use afterwards.
CRESSET_API bool set_onednn_enabled(bool enabled);
CRESSET_API bool onednn_enabled();

}  // namespace cresset::kernels
