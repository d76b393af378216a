#include "cresset/kernels/pool/pool.h"

#include <memory>

#include "cresset/base/error.h"
#include "cresset/kernels/layout/cpu/convert.h"
#include "cresset/kernels/pool/cpu/pool_kernels.h"
#include "cresset/kernels/reduce/reduce.h"

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

using MaxKernel = void (*)(const char*, char*, int64_t*, ScalarType, const PoolShape&);

// The kernel itself, or for its missing dtypes a detour through a wider one.
void max_with(MaxKernel kernel, const char* x, char* y, int64_t* indices, ScalarType dtype, const PoolShape& shape) {
  CRESSET_CHECK_NOT_IMPLEMENTED(!is_complex_type(dtype), "max_pool: not implemented for ", dtype);
  const bool floating = is_floating_type(dtype), wide = element_size(dtype) == 8;
  if (wide || (floating && shape.in_size() <= INT32_MAX)) return kernel(x, y, indices, dtype, shape);
  const ScalarType to = floating ? ScalarType::Double : ScalarType::Long;
  const int64_t size = static_cast<int64_t>(element_size(dtype)), inputs = shape.planes * shape.in_size(), outputs = shape.planes * shape.out_size();
  const std::unique_ptr<int64_t[]> from(new int64_t[static_cast<size_t>(inputs)]), out(new int64_t[static_cast<size_t>(outputs)]);
  converter(dtype, to)(reinterpret_cast<char*>(from.get()), 8, x, size, inputs);
  kernel(reinterpret_cast<const char*>(from.get()), reinterpret_cast<char*>(out.get()), indices, to, shape);
  converter(to, dtype)(y, size, reinterpret_cast<const char*>(out.get()), 8, outputs);
}

}  // namespace

void max_pool(const char* x, char* y, int64_t* indices, ScalarType dtype, const PoolShape& shape) {
  max_with(call(max_pool_planes_stub), x, y, indices, dtype, shape);
}

void adaptive_max_pool(const char* x, char* y, int64_t* indices, ScalarType dtype, const PoolShape& shape) {
  PoolShape plain = shape;
  if (as_plain(plain)) return max_pool(x, y, indices, dtype, plain);
  max_with(call(adaptive_max_pool_planes_stub), x, y, indices, dtype, shape);
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
