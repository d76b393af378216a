#include "cresset/kernels/loss.h"

#include <cmath>
#include <limits>

#include "cresset/base/error.h"
#include "cresset/kernels/common/element.h"

namespace cresset::kernels {

namespace {

using In = AnyInput<double>;
using Out = AnyOutput<double>;

ScalarType lse_dtype(ScalarType t) { return t == ScalarType::Double ? ScalarType::Double : ScalarType::Float; }

void check_target(const char* op, int64_t t, int64_t classes) {
  CRESSET_CHECK_INDEX(t >= 0 && t < classes, op, ": target out of range, got ", t, ", expected 0 <= target < ", classes);
}

}  // namespace

void nll_loss(const NllLossArgs& a) {
  const In x(a.x, a.dtype), w(a.weight, a.dtype, 1);
  const Out out(a.out, a.dtype), total(a.total_weight, a.dtype);
  double sum = 0, weights = 0;
  for (int64_t i = 0; i < a.n * a.spatial; i++) {
    const int64_t t = a.target[i];
    double loss = 0;
    if (t != a.ignore_index) {
      check_target("nll_loss", t, a.classes);
      loss = -w[t] * x[(i / a.spatial * a.classes + t) * a.spatial + i % a.spatial];
      weights += w[t];
    }
    if (a.reduction == Reduction::none) out.set(i, loss);
    sum += loss;
  }
  if (a.reduction != Reduction::none) out.set(0, a.reduction == Reduction::mean ? sum / weights : sum);
  total.set(0, a.reduction == Reduction::none ? 0 : weights);
}

void nll_loss_backward(const NllLossBackwardArgs& a) {
  const In dy(a.dy, a.dtype), w(a.weight, a.dtype, 1), total(a.total_weight, a.dtype);
  const Out dx(a.dx, a.dtype);
  for (int64_t i = 0; i < a.n * a.classes * a.spatial; i++) dx.set(i, 0);
  for (int64_t i = 0; i < a.n * a.spatial; i++) {
    const int64_t t = a.target[i];
    if (t == a.ignore_index) continue;
    check_target("nll_loss", t, a.classes);
    const double g = a.reduction == Reduction::none ? dy[i] : a.reduction == Reduction::mean ? dy[0] / total[0] : dy[0];
    dx.set((i / a.spatial * a.classes + t) * a.spatial + i % a.spatial, -w[t] * g);
  }
}

void cross_entropy(const CrossEntropyArgs& a) {
  const In x(a.x, a.dtype), w(a.weight, a.dtype, 1);
  const Out out(a.out, a.dtype), total(a.total_weight, a.dtype), lse(a.lse, lse_dtype(a.dtype));
  double sum = 0, weights = 0;
  const double smooth = a.label_smoothing / static_cast<double>(a.classes);
  for (int64_t i = 0; i < a.n * a.spatial; i++) {
    const int64_t t = a.target[i], base = i / a.spatial * a.classes * a.spatial + i % a.spatial;
    double max = -std::numeric_limits<double>::infinity(), e = 0, loss = 0;
    for (int64_t c = 0; c < a.classes; c++) max = std::fmax(max, x[base + c * a.spatial]);
    for (int64_t c = 0; c < a.classes; c++) e += std::exp(x[base + c * a.spatial] - max);
    const double l = max + std::log(e);
    lse.set(i, l);
    if (t != a.ignore_index) {
      check_target("cross_entropy", t, a.classes);
      loss = (1 - a.label_smoothing) * w[t] * (l - x[base + t * a.spatial]);
      if (smooth != 0)
        for (int64_t c = 0; c < a.classes; c++) loss += smooth * w[c] * (l - x[base + c * a.spatial]);
      weights += w[t];
    }
    if (a.reduction == Reduction::none) out.set(i, loss);
    sum += loss;
  }
  if (a.reduction != Reduction::none) out.set(0, a.reduction == Reduction::mean ? sum / weights : sum);
  total.set(0, a.reduction == Reduction::none ? 0 : weights);
}

void cross_entropy_backward(const CrossEntropyBackwardArgs& a) {
  const In dy(a.dy, a.dtype), x(a.x, a.dtype), w(a.weight, a.dtype, 1), total(a.total_weight, a.dtype), lse(a.lse, lse_dtype(a.dtype));
  const Out dx(a.dx, a.dtype);
  const double smooth = a.label_smoothing / static_cast<double>(a.classes);
  double all = 0;
  for (int64_t c = 0; c < a.classes; c++) all += w[c];
  for (int64_t i = 0; i < a.n * a.spatial; i++) {
    const int64_t t = a.target[i], base = i / a.spatial * a.classes * a.spatial + i % a.spatial;
    if (t != a.ignore_index) check_target("cross_entropy", t, a.classes);
    const double g = t == a.ignore_index ? 0 : a.reduction == Reduction::none ? dy[i] : a.reduction == Reduction::mean ? dy[0] / total[0] : dy[0];
    for (int64_t c = 0; c < a.classes; c++) {
      const int64_t j = base + c * a.spatial;
      const double p = std::exp(x[j] - lse[i]);
      double d = t == a.ignore_index ? 0 : (1 - a.label_smoothing) * w[t] * (p - (c == t)) + smooth * (all * p - w[c]);
      dx.set(j, g * d);
    }
  }
}

}  // namespace cresset::kernels
