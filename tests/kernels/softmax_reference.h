#pragma once
// Softmax in double, one lane at a time: what the kernels are compared with.

#include <cmath>
#include <limits>

#include "cresset/kernels/common/element.h"
#include "cresset/kernels/norm/softmax.h"

namespace cresset::kernels::reference {

template <class F> void for_lanes(int64_t outer, int64_t dim, int64_t inner, F f) {
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < inner; i++) f([=](int64_t d) { return (o * dim + d) * inner + i; });
}

inline void forward(bool log, const char* px, char* py, ScalarType t, int64_t outer, int64_t dim, int64_t inner) {
  const AnyInput<double> x(px, t);
  const AnyOutput<double> y(py, t);
  for_lanes(outer, dim, inner, [&](auto at) {
    double max = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t d = 0; d < dim; d++) max = x[at(d)] > max || std::isnan(x[at(d)]) ? x[at(d)] : max;
    for (int64_t d = 0; d < dim; d++) sum += std::exp(x[at(d)] - max);
    for (int64_t d = 0; d < dim; d++) y.set(at(d), log ? x[at(d)] - max - std::log(sum) : std::exp(x[at(d)] - max) / sum);
  });
}

inline void backward(bool log, const char* pdy, const char* py, char* pdx, ScalarType t, int64_t outer, int64_t dim, int64_t inner) {
  const AnyInput<double> dy(pdy, t), y(py, t);
  const AnyOutput<double> dx(pdx, t);
  for_lanes(outer, dim, inner, [&](auto at) {
    double sum = 0;
    for (int64_t d = 0; d < dim; d++) sum += log ? dy[at(d)] : dy[at(d)] * y[at(d)];
    for (int64_t d = 0; d < dim; d++) dx.set(at(d), log ? dy[at(d)] - std::exp(y[at(d)]) * sum : y[at(d)] * (dy[at(d)] - sum));
  });
}

inline void softmax(const char* x, char* y, ScalarType dtype, int64_t outer, int64_t dim, int64_t inner) { forward(false, x, y, dtype, outer, dim, inner); }
inline void log_softmax(const char* x, char* y, ScalarType dtype, int64_t outer, int64_t dim, int64_t inner) { forward(true, x, y, dtype, outer, dim, inner); }
inline void softmax_backward(const char* dy, const char* y, char* dx, ScalarType dtype, int64_t outer, int64_t dim, int64_t inner) {
  backward(false, dy, y, dx, dtype, outer, dim, inner);
}
inline void log_softmax_backward(const char* dy, const char* y, char* dx, ScalarType dtype, int64_t outer, int64_t dim, int64_t inner) {
  backward(true, dy, y, dx, dtype, outer, dim, inner);
}

}  // namespace cresset::kernels::reference
