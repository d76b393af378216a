#pragma once
// Max and average pooling over 1 to 3 dimensions of contiguous (planes, depth, height, width) arrays; fewer dimensions have leading ones.

#include <cstdint>

#include "cresset/base/dtype.h"

namespace cresset::kernels {

// All triples are depth, height, width; unused leading dimensions keep the defaults.
struct PoolShape {
  int64_t planes = 0;  // batch * channels
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};
  int64_t kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};

  int64_t in_size() const { return in[0] * in[1] * in[2]; }
  int64_t out_size() const { return out[0] * out[1] * out[2]; }
};

// Any real dtype. indices (int64, may be null): the position of the maximum inside its plane; the first of equal ones, NaN wins (the last).
void max_pool(const char* x, char* y, int64_t* indices, ScalarType dtype, const PoolShape& shape);
// dx[indices[i]] += dy[i] plane by plane; dx is fully written. half, bfloat16, float, double.
void max_pool_backward(const char* dy, const int64_t* indices, char* dx, ScalarType dtype, int64_t planes, int64_t in_size, int64_t out_size);

// half, bfloat16, float, double, int64. Divisor: divisor_override if not 0, else the window's size with (count_include_pad) or without
// its padding. Dilation is not used.
void avg_pool(const char* x, char* y, ScalarType dtype, const PoolShape& shape, bool count_include_pad, int64_t divisor_override);
void avg_pool_backward(const char* dy, char* dx, ScalarType dtype, const PoolShape& shape, bool count_include_pad, int64_t divisor_override);

// Windows [floor(i * in / out), ceil((i + 1) * in / out)). Of the shape only planes, in and out are used.
void adaptive_avg_pool(const char* x, char* y, ScalarType dtype, const PoolShape& shape);
void adaptive_avg_pool_backward(const char* dy, char* dx, ScalarType dtype, const PoolShape& shape);
// Its backward is max_pool_backward.
void adaptive_max_pool(const char* x, char* y, int64_t* indices, ScalarType dtype, const PoolShape& shape);

}  // namespace cresset::kernels
