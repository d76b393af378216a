#pragma once
// softmax and log_softmax over the middle of a contiguous (outer, dim, inner) array: half, bfloat16 (computed in float), float, double.

#include <cstdint>

#include "cresset/base/dtype.h"

namespace cresset::kernels {

// y = exp(x - max) / sum, or x - max - log(sum), along `dim`. y may be x.
void softmax(const char* x, char* y, ScalarType dtype, int64_t outer, int64_t dim, int64_t inner);
void log_softmax(const char* x, char* y, ScalarType dtype, int64_t outer, int64_t dim, int64_t inner);

// dx = y * (dy - sum(dy * y)), with y the output of softmax. dx may be dy.
void softmax_backward(const char* dy, const char* y, char* dx, ScalarType dtype, int64_t outer, int64_t dim, int64_t inner);
// dx = dy - exp(y) * sum(dy), with y the output of log_softmax. dx may be dy.
void log_softmax_backward(const char* dy, const char* y, char* dx, ScalarType dtype, int64_t outer, int64_t dim, int64_t inner);

}  // namespace cresset::kernels
