#pragma once
// Cross entropy in double, one element at a time: what the kernels are compared with.

#include <cmath>
#include <limits>

#include "cresset/kernels/common/element.h"
#include "cresset/kernels/training/loss.h"

namespace cresset::kernels::reference {

using In = AnyInput<double>;
using Out = AnyOutput<double>;

inline ScalarType lse_dtype(ScalarType t) { return t == ScalarType::Double ? ScalarType::Double : ScalarType::Float; }

inline void cross_entropy(const CrossEntropyArgs& a) {
  const In x(a.x, a.dtype), w(a.weight, a.dtype, 1);
  const Out out(a.out, a.dtype), total(a.total_weight, a.dtype), lse(a.lse, lse_dtype(a.dtype));
  double sum = 0, weights = 0;
  const double smooth = a.label_smoothing / static_cast<double>(a.classes);
  for (int64_t i = 0; i < a.n; i++) {
    const int64_t t = a.target[i], base = i * a.classes;
    double max = -std::numeric_limits<double>::infinity(), e = 0, loss = 0;
    for (int64_t c = 0; c < a.classes; c++) max = std::fmax(max, x[base + c]);
    for (int64_t c = 0; c < a.classes; c++) e += std::exp(x[base + c] - max);
    const double l = max + std::log(e);
    lse.set(i, l);
    if (t != a.ignore_index) {
      loss = (1 - a.label_smoothing) * w[t] * (l - x[base + t]);
      if (smooth != 0)
        for (int64_t c = 0; c < a.classes; c++) loss += smooth * w[c] * (l - x[base + c]);
      weights += w[t];
    }
    if (a.reduction == Reduction::none) out.set(i, loss);
    sum += loss;
  }
  if (a.reduction != Reduction::none) out.set(0, a.reduction == Reduction::mean ? sum / weights : sum);
  total.set(0, a.reduction == Reduction::none ? 0 : weights);
}

inline void cross_entropy_backward(const CrossEntropyBackwardArgs& a) {
  const In dy(a.dy, a.dtype), x(a.x, a.dtype), w(a.weight, a.dtype, 1), total(a.total_weight, a.dtype), lse(a.lse, lse_dtype(a.dtype));
  const Out dx(a.dx, a.dtype);
  const double smooth = a.label_smoothing / static_cast<double>(a.classes);
  double all = 0;
  for (int64_t c = 0; c < a.classes; c++) all += w[c];
  for (int64_t i = 0; i < a.n; i++) {
    const int64_t t = a.target[i], base = i * a.classes;
    const double g = t == a.ignore_index ? 0 : a.reduction == Reduction::none ? dy[i] : a.reduction == Reduction::mean ? dy[0] / total[0] : dy[0];
    for (int64_t c = 0; c < a.classes; c++) {
      const int64_t j = base + c;
      const double p = std::exp(x[j] - lse[i]);
      double d = t == a.ignore_index ? 0 : (1 - a.label_smoothing) * w[t] * (p - (c == t)) + smooth * (all * p - w[c]);
      dx.set(j, g * d);
    }
  }
}

}  // namespace cresset::kernels::reference
