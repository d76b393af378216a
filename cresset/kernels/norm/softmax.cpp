#include "cresset/kernels/norm/softmax.h"

#include "cresset/kernels/norm/cpu/softmax_kernels.h"

namespace cresset::kernels {

void softmax(const char* x, char* y, ScalarType dtype, int64_t outer, int64_t dim, int64_t inner) {
  if (outer * dim * inner > 0) call(softmax_forward_stub)(false, x, y, dtype, outer, dim, inner);
}
void log_softmax(const char* x, char* y, ScalarType dtype, int64_t outer, int64_t dim, int64_t inner) {
  if (outer * dim * inner > 0) call(softmax_forward_stub)(true, x, y, dtype, outer, dim, inner);
}
void softmax_backward(const char* dy, const char* y, char* dx, ScalarType dtype, int64_t outer, int64_t dim, int64_t inner) {
  if (outer * dim * inner > 0) call(softmax_backward_kernel_stub)(false, dy, y, dx, dtype, outer, dim, inner);
}
void log_softmax_backward(const char* dy, const char* y, char* dx, ScalarType dtype, int64_t outer, int64_t dim, int64_t inner) {
  if (outer * dim * inner > 0) call(softmax_backward_kernel_stub)(true, dy, y, dx, dtype, outer, dim, inner);
}

}  // namespace cresset::kernels
