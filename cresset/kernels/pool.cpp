#include "cresset/kernels/pool.h"

#include "cresset/kernels/cpu/pool_kernels.h"
#include "cresset/kernels/reduce.h"

namespace cresset::kernels {

namespace {

// Windows of equal size side by side are ordinary pooling.
bool as_plain(PoolShape& s) {
  for (int d = 0; d < 3; d++) {
    if (s.out[d] == 0 || s.in[d] % s.out[d]) return false;
    s.kernel[d] = s.stride[d] = s.in[d] / s.out[d];
    s.padding[d] = 0;
    s.dilation[d] = 1;
  }
  return true;
}

}  // namespace

void max_pool(const char* x, char* y, int64_t* indices, ScalarType dtype, const PoolShape& shape) {
  call(max_pool_planes_stub)(x, y, indices, dtype, shape);
}

void adaptive_max_pool(const char* x, char* y, int64_t* indices, ScalarType dtype, const PoolShape& shape) {
  PoolShape plain = shape;
  if (as_plain(plain)) return max_pool(x, y, indices, dtype, plain);
  call(adaptive_max_pool_planes_stub)(x, y, indices, dtype, shape);
}

void max_pool_backward(const char* dy, const int64_t* indices, char* dx, ScalarType dtype, int64_t planes, int64_t in_size, int64_t out_size) {
  call(max_pool_backward_planes_stub)(dy, indices, dx, dtype, planes, in_size, out_size);
}

void avg_pool(const char* x, char* y, ScalarType dtype, const PoolShape& shape, bool count_include_pad, int64_t divisor_override) {
  call(avg_pool_planes_stub)(x, y, dtype, shape, count_include_pad, divisor_override);
}

void avg_pool_backward(const char* dy, char* dx, ScalarType dtype, const PoolShape& shape, bool count_include_pad, int64_t divisor_override) {
  call(avg_pool_backward_planes_stub)(dy, dx, dtype, shape, count_include_pad, divisor_override);
}

void adaptive_avg_pool(const char* x, char* y, ScalarType dtype, const PoolShape& shape) {
  PoolShape plain = shape;
  if (shape.out_size() == 1 && shape.in_size() > 0) {
    const int64_t size = static_cast<int64_t>(element_size(dtype)), dims[] = {shape.planes, shape.in_size()}, in_strides[] = {shape.in_size() * size, size},
                  out_strides[] = {size, 0};
    return reduce(ReduceOp::mean, {x, y, dtype, dtype, dims, in_strides, 2, out_strides, {}});
  }
  if (as_plain(plain)) return avg_pool(x, y, dtype, plain, true, 0);
  call(adaptive_avg_pool_planes_stub)(x, y, dtype, shape);
}

void adaptive_avg_pool_backward(const char* dy, char* dx, ScalarType dtype, const PoolShape& shape) {
  PoolShape plain = shape;
  if (as_plain(plain)) return avg_pool_backward(dy, dx, dtype, plain, true, 0);
  call(adaptive_avg_pool_backward_planes_stub)(dy, dx, dtype, shape);
}

}  // namespace cresset::kernels
