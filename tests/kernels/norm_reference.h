#pragma once
// Normalisation in double, one element at a time: what the kernels are compared with.

#include <cmath>
#include <vector>

#include "cresset/kernels/common/element.h"
#include "cresset/kernels/norm/norm.h"

namespace cresset::kernels::reference {

using In = AnyInput<double>;
using Out = AnyOutput<double>;

inline void layer_norm(const LayerNormArgs& a) {
  const In x(a.x, a.dtypes.x), w(a.weight, a.dtypes.param, 1), b(a.bias, a.dtypes.param, 0);
  const Out y(a.y, a.dtypes.x), mean(a.mean, a.dtypes.stat), rstd(a.rstd, a.dtypes.stat);
  const long double n = static_cast<double>(a.cols);
  for (int64_t r = 0; r < a.rows; r++) {
    long double m = 0, v = 0;
    for (int64_t c = 0; c < a.cols; c++) m += x[r * a.cols + c] / n;
    for (int64_t c = 0; c < a.cols; c++) v += (x[r * a.cols + c] - m) * (x[r * a.cols + c] - m) / n;
    const long double s = 1 / std::sqrt(v + a.eps);
    for (int64_t c = 0; c < a.cols; c++) y.set(r * a.cols + c, (x[r * a.cols + c] - m) * s * w[c] + b[c]);
    mean.set(r, m);
    rstd.set(r, s);
  }
}

inline void layer_norm_backward(const LayerNormBackwardArgs& a) {
  const In dy(a.dy, a.dtypes.x), x(a.x, a.dtypes.x), w(a.weight, a.dtypes.param, 1), mean(a.mean, a.dtypes.stat), rstd(a.rstd, a.dtypes.stat);
  const Out dx(a.dx, a.dtypes.x), dw(a.dweight, a.dtypes.param), db(a.dbias, a.dtypes.param);
  const long double n = static_cast<double>(a.cols);
  std::vector<long double> gw(a.cols, 0.0L), gb(a.cols, 0.0L);
  for (int64_t r = 0; r < a.rows; r++) {
    const long double m = mean[r], s = rstd[r];
    long double sum = 0, dot = 0;
    for (int64_t c = 0; c < a.cols; c++) {
      const int64_t i = r * a.cols + c;
      const long double h = (x[i] - m) * s;
      sum += dy[i] * w[c];
      dot += dy[i] * w[c] * h;
      gw[c] += dy[i] * h;
      gb[c] += dy[i];
    }
    for (int64_t c = 0; c < a.cols; c++) {
      const int64_t i = r * a.cols + c;
      dx.set(i, s * (dy[i] * w[c] - sum / n - (x[i] - m) * s * dot / n));
    }
  }
  for (int64_t c = 0; c < a.cols; c++) {
    dw.set(c, gw[c]);
    db.set(c, gb[c]);
  }
}

inline void rms_norm(const RmsNormArgs& a) {
  const In x(a.x, a.dtypes.x), w(a.weight, a.dtypes.param, 1);
  const Out y(a.y, a.dtypes.x), rstd(a.rstd, a.dtypes.stat);
  for (int64_t r = 0; r < a.rows; r++) {
    long double v = 0;
    for (int64_t c = 0; c < a.cols; c++) v += x[r * a.cols + c] * x[r * a.cols + c];
    const long double s = 1 / std::sqrt(v / static_cast<double>(a.cols) + a.eps);
    for (int64_t c = 0; c < a.cols; c++) y.set(r * a.cols + c, x[r * a.cols + c] * s * w[c]);
    rstd.set(r, s);
  }
}

inline void rms_norm_backward(const RmsNormBackwardArgs& a) {
  const In dy(a.dy, a.dtypes.x), x(a.x, a.dtypes.x), w(a.weight, a.dtypes.param, 1), rstd(a.rstd, a.dtypes.stat);
  const Out dx(a.dx, a.dtypes.x), dw(a.dweight, a.dtypes.param);
  std::vector<long double> gw(a.cols, 0.0L);
  for (int64_t r = 0; r < a.rows; r++) {
    const long double s = rstd[r];
    long double dot = 0;
    for (int64_t c = 0; c < a.cols; c++) {
      const int64_t i = r * a.cols + c;
      dot += dy[i] * w[c] * x[i] * s;
      gw[c] += dy[i] * x[i] * s;
    }
    for (int64_t c = 0; c < a.cols; c++) {
      const int64_t i = r * a.cols + c;
      dx.set(i, s * (dy[i] * w[c] - x[i] * s * dot / static_cast<double>(a.cols)));
    }
  }
  for (int64_t c = 0; c < a.cols; c++) dw.set(c, gw[c]);
}

inline void group_norm(const GroupNormArgs& a) {
  const In x(a.x, a.dtypes.x), w(a.weight, a.dtypes.param, 1), b(a.bias, a.dtypes.param, 0);
  const Out y(a.y, a.dtypes.x), mean(a.mean, a.dtypes.stat), rstd(a.rstd, a.dtypes.stat);
  const int64_t per = a.channels / a.groups, size = per * a.spatial;
  for (int64_t r = 0; r < a.n * a.groups; r++) {
    long double m = 0, v = 0;
    for (int64_t c = 0; c < size; c++) m += x[r * size + c] / static_cast<double>(size);
    for (int64_t c = 0; c < size; c++) v += (x[r * size + c] - m) * (x[r * size + c] - m) / static_cast<double>(size);
    const long double s = 1 / std::sqrt(v + a.eps);
    for (int64_t c = 0; c < size; c++) {
      const int64_t channel = r % a.groups * per + c / a.spatial;
      y.set(r * size + c, (x[r * size + c] - m) * s * w[channel] + b[channel]);
    }
    mean.set(r, m);
    rstd.set(r, s);
  }
}

inline void group_norm_backward(const GroupNormBackwardArgs& a) {
  const In dy(a.dy, a.dtypes.x), x(a.x, a.dtypes.x), w(a.weight, a.dtypes.param, 1), mean(a.mean, a.dtypes.stat), rstd(a.rstd, a.dtypes.stat);
  const Out dx(a.dx, a.dtypes.x), dw(a.dweight, a.dtypes.param), db(a.dbias, a.dtypes.param);
  const int64_t per = a.channels / a.groups, size = per * a.spatial;
  std::vector<long double> gw(a.channels, 0.0), gb(a.channels, 0.0);
  for (int64_t r = 0; r < a.n * a.groups; r++) {
    const long double m = mean[r], s = rstd[r];
    long double sum = 0, dot = 0;
    for (int64_t c = 0; c < size; c++) {
      const int64_t i = r * size + c, channel = r % a.groups * per + c / a.spatial;
      const long double h = (x[i] - m) * s;
      sum += dy[i] * w[channel];
      dot += dy[i] * w[channel] * h;
      gw[channel] += dy[i] * h;
      gb[channel] += dy[i];
    }
    for (int64_t c = 0; c < size; c++) {
      const int64_t i = r * size + c, channel = r % a.groups * per + c / a.spatial;
      dx.set(i, s * (dy[i] * w[channel] - (sum + (x[i] - m) * s * dot) / static_cast<double>(size)));
    }
  }
  for (int64_t c = 0; c < a.channels; c++) {
    dw.set(c, gw[c]);
    db.set(c, gb[c]);
  }
}

inline void batch_norm_train(const BatchNormArgs& a) {
  const In x(a.x, a.dtypes.x), w(a.weight, a.dtypes.param, 1), b(a.bias, a.dtypes.param, 0);
  const In old_mean(a.running_mean, a.dtypes.stat), old_var(a.running_var, a.dtypes.stat);
  const Out y(a.y, a.dtypes.x), mean(a.mean, a.dtypes.stat), rstd(a.rstd, a.dtypes.stat);
  const Out running_mean(a.running_mean, a.dtypes.stat), running_var(a.running_var, a.dtypes.stat);
  const long double count = static_cast<double>(a.n * a.spatial);
  for (int64_t c = 0; c < a.channels; c++) {
    const auto each = [&](auto f) {
      for (int64_t i = 0; i < a.n; i++)
        for (int64_t s = 0; s < a.spatial; s++) f((i * a.channels + c) * a.spatial + s);
    };
    long double m = 0, v = 0;
    each([&](int64_t i) { m += x[i] / count; });
    each([&](int64_t i) { v += (x[i] - m) * (x[i] - m); });
    const long double s = 1 / std::sqrt(v / count + a.eps);
    each([&](int64_t i) { y.set(i, (x[i] - m) * s * w[c] + b[c]); });
    mean.set(c, m);
    rstd.set(c, s);
    running_mean.set(c, old_mean[c] + a.momentum * (m - old_mean[c]));
    running_var.set(c, old_var[c] + a.momentum * (v / (count - 1) - old_var[c]));
  }
}

inline void batch_norm_eval(const BatchNormEvalArgs& a) {
  const In x(a.x, a.dtypes.x), w(a.weight, a.dtypes.param, 1), b(a.bias, a.dtypes.param, 0), mean(a.mean, a.dtypes.stat), var(a.var, a.dtypes.stat);
  const Out y(a.y, a.dtypes.x);
  for (int64_t i = 0; i < a.n * a.channels * a.spatial; i++) {
    const int64_t c = i / a.spatial % a.channels;
    y.set(i, (x[i] - mean[c]) / std::sqrt(var[c] + a.eps) * w[c] + b[c]);
  }
}

inline void batch_norm_backward(const BatchNormBackwardArgs& a) {
  const In dy(a.dy, a.dtypes.x), x(a.x, a.dtypes.x), w(a.weight, a.dtypes.param, 1), mean(a.mean, a.dtypes.stat), rstd(a.rstd, a.dtypes.stat);
  const Out dx(a.dx, a.dtypes.x), dw(a.dweight, a.dtypes.param), db(a.dbias, a.dtypes.param);
  const long double count = static_cast<double>(a.n * a.spatial);
  for (int64_t c = 0; c < a.channels; c++) {
    const auto each = [&](auto f) {
      for (int64_t i = 0; i < a.n; i++)
        for (int64_t s = 0; s < a.spatial; s++) f((i * a.channels + c) * a.spatial + s);
    };
    const long double m = mean[c], s = rstd[c];
    long double sum = 0, dot = 0;
    each([&](int64_t i) {
      sum += dy[i];
      dot += dy[i] * (x[i] - m) * s;
    });
    each([&](int64_t i) { dx.set(i, a.train ? w[c] * s * (dy[i] - (sum + (x[i] - m) * s * dot) / count) : w[c] * s * dy[i]); });
    dw.set(c, dot);
    db.set(c, sum);
  }
}

}  // namespace cresset::kernels::reference
