#include "cresset/kernels/training/loss.h"

#include <cmath>
#include <vector>

#include "cresset/base/error.h"
#include "cresset/base/parallel.h"
#include "cresset/kernels/common/element.h"
#include "cresset/kernels/training/cpu/loss_kernels.h"

namespace cresset::kernels {

namespace {

using In = AnyInput<double>;
using Out = AnyOutput<double>;

ScalarType lse_dtype(ScalarType t) { return t == ScalarType::Double ? ScalarType::Double : ScalarType::Float; }

void check_target(const char* op, int64_t t, int64_t classes) {
  CRESSET_CHECK_INDEX(t >= 0 && t < classes, op, ": target out of range, got ", t, ", expected 0 <= target < ", classes);
}

// The factor of the i-th loss in what was differentiated.
double upstream(const In& dy, const In& total, Reduction reduction, int64_t i) {
  if (reduction == Reduction::none) return dy[i];
  return reduction == Reduction::mean ? dy[0] / total[0] : dy[0];
}

// Collects losses as the reduction asks for.
class Losses {
 public:
  Losses(char* out, char* total_weight, ScalarType t, Reduction reduction) : out_(out, t), total_(total_weight, t), reduction_(reduction) {}
  void add(int64_t i, double loss, double weight) {
    if (reduction_ == Reduction::none) return out_.set(i, loss);
    sum_ += loss;
    weights_ += weight;
  }
  void finish() {
    if (reduction_ != Reduction::none) out_.set(0, reduction_ == Reduction::mean ? sum_ / weights_ : sum_);
    total_.set(0, weights_);
  }

 private:
  Out out_, total_;
  Reduction reduction_;
  double sum_ = 0, weights_ = 0;
};

double sum_of(const In& v, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += v[i];
  return sum;
}

}  // namespace

void nll_loss(const NllLossArgs& a) {
  const In x(a.x, a.dtype), w(a.weight, a.dtype, 1);
  Losses losses(a.out, a.total_weight, a.dtype, a.reduction);
  for (int64_t i = 0; i < a.n * a.spatial; i++) {
    const int64_t t = a.target[i];
    if (t == a.ignore_index) {
      losses.add(i, 0, 0);
      continue;
    }
    check_target("nll_loss", t, a.classes);
    losses.add(i, -w[t] * x[(i / a.spatial * a.classes + t) * a.spatial + i % a.spatial], w[t]);
  }
  losses.finish();
}

void nll_loss_backward(const NllLossBackwardArgs& a) {
  const In dy(a.dy, a.dtype), w(a.weight, a.dtype, 1), total(a.total_weight, a.dtype);
  const Out dx(a.dx, a.dtype);
  const int64_t bytes = a.n * a.classes * a.spatial * static_cast<int64_t>(element_size(a.dtype));
  parallel_for(0, bytes, int64_t{1} << 20, [&](int64_t begin, int64_t end) { __builtin_memset(a.dx + begin, 0, static_cast<size_t>(end - begin)); });
  for (int64_t i = 0; i < a.n * a.spatial; i++) {
    const int64_t t = a.target[i];
    if (t == a.ignore_index) continue;
    check_target("nll_loss", t, a.classes);
    dx.set((i / a.spatial * a.classes + t) * a.spatial + i % a.spatial, -w[t] * upstream(dy, total, a.reduction, i));
  }
}

void cross_entropy(const CrossEntropyArgs& a) {
  const In x(a.x, a.dtype), w(a.weight, a.dtype, 1);
  const Out lse_out(a.lse, lse_dtype(a.dtype));
  Losses losses(a.out, a.total_weight, a.dtype, a.reduction);
  for (int64_t i = 0; i < a.n; i++)
    if (a.target[i] != a.ignore_index) check_target("cross_entropy", a.target[i], a.classes);
  const bool smooths = a.label_smoothing != 0;
  std::vector<double> lse(static_cast<size_t>(a.n)), smooth(smooths ? lse.size() : 0);
  if (a.n * a.classes > 0)
    call(cross_entropy_rows_stub)({a.dtype, a.x, smooths ? a.weight : nullptr, a.n, a.classes, lse.data(), smooths ? smooth.data() : nullptr});
  const double share = a.label_smoothing / static_cast<double>(a.classes),
               all = smooths ? (a.weight ? sum_of(w, a.classes) : static_cast<double>(a.classes)) : 0;
  for (int64_t i = 0; i < a.n; i++) {
    const int64_t t = a.target[i];
    const double l = lse[static_cast<size_t>(i)];
    lse_out.set(i, l);
    if (t == a.ignore_index) {
      losses.add(i, 0, 0);
      continue;
    }
    const double smoothed = smooths ? share * (all * l - smooth[static_cast<size_t>(i)]) : 0;
    losses.add(i, (1 - a.label_smoothing) * w[t] * (l - x[i * a.classes + t]) + smoothed, w[t]);
  }
  losses.finish();
}

void cross_entropy_backward(const CrossEntropyBackwardArgs& a) {
  if (a.n * a.classes == 0) return;
  const In dy(a.dy, a.dtype), x(a.x, a.dtype), w(a.weight, a.dtype, 1), total(a.total_weight, a.dtype), saved(a.lse, lse_dtype(a.dtype));
  const Out dx(a.dx, a.dtype);
  const bool smooths = a.label_smoothing != 0;
  const double share = a.label_smoothing / static_cast<double>(a.classes),
               all = smooths ? (a.weight ? sum_of(w, a.classes) : static_cast<double>(a.classes)) : 0;
  const auto n = static_cast<size_t>(a.n);
  std::vector<double> lse(n), scale(n), offset(smooths ? n : 0), at_target(n);
  for (size_t i = 0; i < n; i++) {
    const auto row = static_cast<int64_t>(i);
    const int64_t t = a.target[i];
    lse[i] = saved[row];
    if (t == a.ignore_index) continue;
    check_target("cross_entropy", t, a.classes);
    const double g = upstream(dy, total, a.reduction, row), own = (1 - a.label_smoothing) * w[t];
    scale[i] = g * (own + share * all);
    if (smooths) offset[i] = g * share;
    at_target[i] = scale[i] * std::exp(x[row * a.classes + t] - lse[i]) - g * (own + share * w[t]);
  }
  call(cross_entropy_rows_backward_stub)(
      {a.dtype, a.x, smooths ? a.weight : nullptr, a.dx, a.n, a.classes, lse.data(), scale.data(), smooths ? offset.data() : nullptr});
  for (size_t i = 0; i < n; i++)
    if (a.target[i] != a.ignore_index) dx.set(static_cast<int64_t>(i) * a.classes + a.target[i], at_target[i]);
}

}  // namespace cresset::kernels
