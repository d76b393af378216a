#pragma once
// One pass over a parameter per optimizer step. The roundings are those of PyTorch's default, unfused update, so that a run
// reproduces its numbers. All arrays are dense and of one dtype, float32 or float64; a null pointer leaves a term out.

#include <cstdint>

#include "cresset/base/dtype.h"
#include "cresset/base/macros.h"

namespace cresset::kernels {

struct AdamStep {
  double lr, beta1, beta2, eps, weight_decay;
  int64_t step;    // counted from 1
  bool decoupled;  // AdamW: decays the parameter itself instead of adding to the gradient
  bool maximize;
};
// param -= lr / (1 - beta1^step) * exp_avg / (sqrt(v / (1 - beta2^step)) + eps), with v = exp_avg_sq, or its running maximum.
CRESSET_API void adam_step(ScalarType dtype, int64_t n, void* param, const void* grad, void* exp_avg, void* exp_avg_sq, void* max_exp_avg_sq,
                           const AdamStep& options);

struct SgdStep {
  double lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
  bool first;  // the momentum buffer holds nothing yet: it becomes the gradient
};
// `buffer` is null exactly if momentum is 0.
CRESSET_API void sgd_step(ScalarType dtype, int64_t n, void* param, const void* grad, void* buffer, const SgdStep& options);

struct RmspropStep {
  double lr, alpha, eps, weight_decay, momentum;
};
// grad_avg is null unless centered, buffer unless there is momentum.
CRESSET_API void rmsprop_step(ScalarType dtype, int64_t n, void* param, const void* grad, void* square_avg, void* buffer, void* grad_avg,
                              const RmspropStep& options);

struct AdagradStep {
  double rate, eps, weight_decay;  // rate: the learning rate after decay
};
CRESSET_API void adagrad_step(ScalarType dtype, int64_t n, void* param, const void* grad, void* sum, const AdagradStep& options);

}  // namespace cresset::kernels
