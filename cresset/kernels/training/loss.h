#pragma once
// Negative log likelihood and cross entropy against class indices, of half, bfloat16 (computed in float), float or double.
// nll_loss takes a contiguous (n, classes, spatial) x and int64 (n, spatial) targets; cross_entropy (n, classes) and (n).

#include <cstdint>

#include "cresset/base/dtype.h"

namespace cresset::kernels {

enum class Reduction : uint8_t { none, mean, sum };  // PyTorch's numbering

struct NllLossArgs {
  const char* x = nullptr;  // log probabilities
  const int64_t* target = nullptr;
  const char* weight = nullptr;  // (classes), dtype of x; may be null
  char* out = nullptr;           // (n, spatial) for Reduction::none, else one element
  char* total_weight = nullptr;  // one element: the sum of the weights of the targets that count (0 for Reduction::none)
  ScalarType dtype = ScalarType::Float;
  int64_t n = 0, classes = 0, spatial = 1, ignore_index = -100;
  Reduction reduction = Reduction::mean;
};
// Errors: IndexError for a target outside [0, classes) that is not ignore_index.
void nll_loss(const NllLossArgs& args);

struct NllLossBackwardArgs {
  const char* dy = nullptr;  // (n, spatial) for Reduction::none, else one element
  const int64_t* target = nullptr;
  const char *weight = nullptr, *total_weight = nullptr;
  char* dx = nullptr;  // all of it is written
  ScalarType dtype = ScalarType::Float;
  int64_t n = 0, classes = 0, spatial = 1, ignore_index = -100;
  Reduction reduction = Reduction::mean;
};
void nll_loss_backward(const NllLossBackwardArgs& args);

// nll_loss(log_softmax(x)) with optional label smoothing. A row that fits the caches is read from memory once.
struct CrossEntropyArgs {
  const char* x = nullptr;  // logits
  const int64_t* target = nullptr;
  const char* weight = nullptr;  // (classes), dtype of x; may be null
  char* out = nullptr;           // as NllLossArgs::out
  char* total_weight = nullptr;  // one element, as NllLossArgs::total_weight
  char* lse = nullptr;           // (n) log-sum-exp for the backward; float, or double for double x
  ScalarType dtype = ScalarType::Float;
  int64_t n = 0, classes = 0, ignore_index = -100;
  double label_smoothing = 0;
  Reduction reduction = Reduction::mean;
};
// Errors: IndexError for a target outside [0, classes) that is not ignore_index.
void cross_entropy(const CrossEntropyArgs& args);

struct CrossEntropyBackwardArgs {
  const char *dy = nullptr, *x = nullptr, *lse = nullptr;
  const int64_t* target = nullptr;
  const char *weight = nullptr, *total_weight = nullptr;
  char* dx = nullptr;  // may be x
  ScalarType dtype = ScalarType::Float;
  int64_t n = 0, classes = 0, ignore_index = -100;
  double label_smoothing = 0;
  Reduction reduction = Reduction::mean;
};
void cross_entropy_backward(const CrossEntropyBackwardArgs& args);

}  // namespace cresset::kernels
