#include "cresset/kernels/norm.h"

#include <cmath>
#include <vector>

#include "cresset/kernels/common/element.h"

namespace cresset::kernels {

namespace {

using In = AnyInput<double>;
using Out = AnyOutput<double>;

}  // namespace

void layer_norm(const LayerNormArgs& a) {
  const In x(a.x, a.dtypes.x), w(a.weight, a.dtypes.param, 1), b(a.bias, a.dtypes.param, 0);
  const Out y(a.y, a.dtypes.x), mean(a.mean, a.dtypes.stat), rstd(a.rstd, a.dtypes.stat);
  const double n = static_cast<double>(a.cols);
  for (int64_t r = 0; r < a.rows; r++) {
    double m = 0, v = 0;
    for (int64_t c = 0; c < a.cols; c++) m += x[r * a.cols + c] / n;
    for (int64_t c = 0; c < a.cols; c++) v += (x[r * a.cols + c] - m) * (x[r * a.cols + c] - m) / n;
    const double s = 1 / std::sqrt(v + a.eps);
    for (int64_t c = 0; c < a.cols; c++) y.set(r * a.cols + c, (x[r * a.cols + c] - m) * s * w[c] + b[c]);
    mean.set(r, m);
    rstd.set(r, s);
  }
}

void layer_norm_backward(const LayerNormBackwardArgs& a) {
  const In dy(a.dy, a.dtypes.x), x(a.x, a.dtypes.x), w(a.weight, a.dtypes.param, 1), mean(a.mean, a.dtypes.stat), rstd(a.rstd, a.dtypes.stat);
  const Out dx(a.dx, a.dtypes.x), dw(a.dweight, a.dtypes.param), db(a.dbias, a.dtypes.param);
  const double n = static_cast<double>(a.cols);
  std::vector<double> gw(a.cols, 0.0), gb(a.cols, 0.0);
  for (int64_t r = 0; r < a.rows; r++) {
    const double m = mean[r], s = rstd[r];
    double sum = 0, dot = 0;
    for (int64_t c = 0; c < a.cols; c++) {
      const int64_t i = r * a.cols + c;
      const double h = (x[i] - m) * s;
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

void rms_norm(const RmsNormArgs& a) {
  const In x(a.x, a.dtypes.x), w(a.weight, a.dtypes.param, 1);
  const Out y(a.y, a.dtypes.x), rstd(a.rstd, a.dtypes.stat);
  for (int64_t r = 0; r < a.rows; r++) {
    double v = 0;
    for (int64_t c = 0; c < a.cols; c++) v += x[r * a.cols + c] * x[r * a.cols + c];
    const double s = 1 / std::sqrt(v / static_cast<double>(a.cols) + a.eps);
    for (int64_t c = 0; c < a.cols; c++) y.set(r * a.cols + c, x[r * a.cols + c] * s * w[c]);
    rstd.set(r, s);
  }
}

void rms_norm_backward(const RmsNormBackwardArgs& a) {
  const In dy(a.dy, a.dtypes.x), x(a.x, a.dtypes.x), w(a.weight, a.dtypes.param, 1), rstd(a.rstd, a.dtypes.stat);
  const Out dx(a.dx, a.dtypes.x), dw(a.dweight, a.dtypes.param);
  std::vector<double> gw(a.cols, 0.0);
  for (int64_t r = 0; r < a.rows; r++) {
    const double s = rstd[r];
    double dot = 0;
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

void group_norm(const GroupNormArgs& a) {
  const In x(a.x, a.dtypes.x), w(a.weight, a.dtypes.param, 1), b(a.bias, a.dtypes.param, 0);
  const Out y(a.y, a.dtypes.x), mean(a.mean, a.dtypes.stat), rstd(a.rstd, a.dtypes.stat);
  const int64_t per = a.channels / a.groups, size = per * a.spatial;
  for (int64_t r = 0; r < a.n * a.groups; r++) {
    double m = 0, v = 0;
    for (int64_t c = 0; c < size; c++) m += x[r * size + c] / static_cast<double>(size);
    for (int64_t c = 0; c < size; c++) v += (x[r * size + c] - m) * (x[r * size + c] - m) / static_cast<double>(size);
    const double s = 1 / std::sqrt(v + a.eps);
    for (int64_t c = 0; c < size; c++) {
      const int64_t channel = r % a.groups * per + c / a.spatial;
      y.set(r * size + c, (x[r * size + c] - m) * s * w[channel] + b[channel]);
    }
    mean.set(r, m);
    rstd.set(r, s);
  }
}

void group_norm_backward(const GroupNormBackwardArgs& a) {
  const In dy(a.dy, a.dtypes.x), x(a.x, a.dtypes.x), w(a.weight, a.dtypes.param, 1), mean(a.mean, a.dtypes.stat), rstd(a.rstd, a.dtypes.stat);
  const Out dx(a.dx, a.dtypes.x), dw(a.dweight, a.dtypes.param), db(a.dbias, a.dtypes.param);
  const int64_t per = a.channels / a.groups, size = per * a.spatial;
  std::vector<double> gw(a.channels, 0.0), gb(a.channels, 0.0);
  for (int64_t r = 0; r < a.n * a.groups; r++) {
    const double m = mean[r], s = rstd[r];
    double sum = 0, dot = 0;
    for (int64_t c = 0; c < size; c++) {
      const int64_t i = r * size + c, channel = r % a.groups * per + c / a.spatial;
      const double h = (x[i] - m) * s;
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

void batch_norm_train(const BatchNormArgs& a) {
  const In x(a.x, a.dtypes.x), w(a.weight, a.dtypes.param, 1), b(a.bias, a.dtypes.param, 0);
  const In old_mean(a.running_mean, a.dtypes.stat), old_var(a.running_var, a.dtypes.stat);
  const Out y(a.y, a.dtypes.x), mean(a.mean, a.dtypes.stat), rstd(a.rstd, a.dtypes.stat);
  const Out running_mean(a.running_mean, a.dtypes.stat), running_var(a.running_var, a.dtypes.stat);
  const double count = static_cast<double>(a.n * a.spatial);
  for (int64_t c = 0; c < a.channels; c++) {
    const auto each = [&](auto f) {
      for (int64_t i = 0; i < a.n; i++)
        for (int64_t s = 0; s < a.spatial; s++) f((i * a.channels + c) * a.spatial + s);
    };
    double m = 0, v = 0;
    each([&](int64_t i) { m += x[i] / count; });
    each([&](int64_t i) { v += (x[i] - m) * (x[i] - m); });
    const double s = 1 / std::sqrt(v / count + a.eps);
    each([&](int64_t i) { y.set(i, (x[i] - m) * s * w[c] + b[c]); });
    mean.set(c, m);
    rstd.set(c, s);
    running_mean.set(c, old_mean[c] + a.momentum * (m - old_mean[c]));
    running_var.set(c, old_var[c] + a.momentum * (v / (count - 1) - old_var[c]));
  }
}

void batch_norm_eval(const BatchNormEvalArgs& a) {
  const In x(a.x, a.dtypes.x), w(a.weight, a.dtypes.param, 1), b(a.bias, a.dtypes.param, 0), mean(a.mean, a.dtypes.stat), var(a.var, a.dtypes.stat);
  const Out y(a.y, a.dtypes.x);
  for (int64_t i = 0; i < a.n * a.channels * a.spatial; i++) {
    const int64_t c = i / a.spatial % a.channels;
    y.set(i, (x[i] - mean[c]) / std::sqrt(var[c] + a.eps) * w[c] + b[c]);
  }
}

void batch_norm_backward(const BatchNormBackwardArgs& a) {
  const In dy(a.dy, a.dtypes.x), x(a.x, a.dtypes.x), w(a.weight, a.dtypes.param, 1), mean(a.mean, a.dtypes.stat), rstd(a.rstd, a.dtypes.stat);
  const Out dx(a.dx, a.dtypes.x), dw(a.dweight, a.dtypes.param), db(a.dbias, a.dtypes.param);
  const double count = static_cast<double>(a.n * a.spatial);
  for (int64_t c = 0; c < a.channels; c++) {
    const auto each = [&](auto f) {
      for (int64_t i = 0; i < a.n; i++)
        for (int64_t s = 0; s < a.spatial; s++) f((i * a.channels + c) * a.spatial + s);
    };
    const double m = mean[c], s = rstd[c];
    double sum = 0, dot = 0;
    each([&](int64_t i) {
      sum += dy[i];
      dot += dy[i] * (x[i] - m) * s;
    });
    each([&](int64_t i) { dx.set(i, a.train ? w[c] * s * (dy[i] - (sum + (x[i] - m) * s * dot) / count) : w[c] * s * dy[i]); });
    dw.set(c, dot);
    db.set(c, sum);
  }
}

}  // namespace cresset::kernels
