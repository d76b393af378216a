// How samples move with a parameter of their distribution at a fixed quantile: dx/da = -(dF(x; a)/da) / f(x; a), as an integral over the side of
// x on which nothing cancels (M. Figurnov, S. Mohamed, A. Mnih, "Implicit reparameterization gradients", 2018).

#include <algorithm>
#include <cmath>
#include <limits>

#include "cresset/kernels/expr/math.h"
#include "cresset/kernels/random/random.h"

namespace cresset::kernels {

namespace {

constexpr int kHalf = 10;
// Gauss and Legendre's rule of 20 points on [-1, 1]: Abramowitz & Stegun 25.4.30.
constexpr double kNodes[kHalf] = {0.076526521133497333755, 0.227785851141645078080, 0.373706088715419560673, 0.510867001950827098004, 0.636053680726515025453,
                                  0.746331906460150792614, 0.839116971822218823395, 0.912234428251325905868, 0.963971927277913791268, 0.993128599185094924786};
constexpr double kWeights[kHalf] = {0.152753387130725850698, 0.149172986472603746788, 0.142096109318382051329, 0.131688638449176626898,
                                    0.118194531961518417312, 0.101930119817240435037, 0.083276741576704748725, 0.062672048334109063570,
                                    0.040601429800386941331, 0.017614007139152118312};

// The integral of f(y) from `from` on, in the direction of `step`, until f has died away: over panels that double, but are no wider than 1
// where they meet [low, high], where f bends.
template <class F> double integral(double from, double step, double low, double high, F f) {
  double sum = 0, at = from, width = std::fabs(step);
  const double sign = std::copysign(1.0, step);
  for (int panel = 0; panel < 2000; panel++) {
    const bool bends = std::min(at, at + sign * width) < high && std::max(at, at + sign * width) > low;
    if (bends) width = std::min(width, 1.0);
    const double to = at + sign * width, middle = (at + to) / 2, half = width / 2;
    double part = 0;
    for (int i = 0; i < kHalf; i++) part += kWeights[i] * (f(middle - half * kNodes[i]) + f(middle + half * kNodes[i]));
    part *= half;
    sum += part;
    if (part <= 1e-17 * sum && f(to) * width <= 1e-17 * sum) break;
    at = to;
    width *= 2;
  }
  return sum;
}

}  // namespace

// In y = log t, the density's part is exp(a y - e^y); c is the mean of y.
double gamma_slope(double x, double a) {
  if (!(x > 0) || !(a > 0) || std::isinf(x) || std::isinf(a)) return x == 0 && a > 0 ? 0 : std::numeric_limits<double>::quiet_NaN();
  const double c = expr::math::digamma(a), start = std::log(x);
  const double step = (start < c ? -1 : 1) / (1 + std::sqrt(x) + std::fabs(a - x));
  const auto f = [&](double y) { return std::fabs(y - c) * std::exp(a * (y - start) - x * std::expm1(y - start)); };
  return x * integral(start, step, -5, std::numeric_limits<double>::infinity(), f);
}

// In y = log(t / (1 - t)), the density's part is t^a (1 - t)^b; c is the mean of log t.
double beta_slope(double x, double a, double b) {
  if (!(x > 0) || !(x < 1) || !(a > 0) || !(b > 0) || std::isinf(a) || std::isinf(b))
    return x >= 0 && x <= 1 && a > 0 && b > 0 ? 0 : std::numeric_limits<double>::quiet_NaN();
  const double c = expr::math::digamma(a) - expr::math::digamma(a + b), log_x = std::log(x), log_rest = std::log1p(-x), start = log_x - log_rest;
  const auto log_of = [](double y) { return y < 0 ? y - std::log1p(std::exp(y)) : -std::log1p(std::exp(-y)); };  // log t; log(1 - t) is that of -y
  const double step = (log_x < c ? -1 : 1) / (1 + std::sqrt((a + b) * x * (1 - x)) + std::fabs(a * (1 - x) - b * x));
  const auto f = [&](double y) {
    const double log_t = log_of(y);
    return std::fabs(log_t - c) * std::exp(a * (log_t - log_x) + b * (log_of(-y) - log_rest));
  };
  return x * (1 - x) * integral(start, step, -5, 5, f);
}

}  // namespace cresset::kernels
