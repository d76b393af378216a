// Numbers that take a varying count of draws each.

#include <cmath>
#include <limits>
#include <utility>

#include "cresset/base/error.h"
#include "cresset/kernels/common/element.h"
#include "cresset/kernels/random/random.h"

namespace cresset::kernels {

namespace {

double u53(RandomState& state) { return static_cast<double>(state.engine.random64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53; }

double standard_normal(RandomState& state) {
  if (state.has_next_normal) {
    state.has_next_normal = false;
    return std::exchange(state.next_normal, 0.0);
  }
  const double angle = 2.0 * M_PI * u53(state), radius = std::sqrt(-2.0 * std::log1p(-u53(state)));
  state.next_normal = radius * std::sin(angle);
  state.has_next_normal = true;
  return radius * std::cos(angle);
}

// W. Hoermann, "The transformed rejection method for generating Poisson random variables", 1993.
double poisson_ptrs(RandomState& state, double rate) {
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = u53(state) - 0.5, v = u53(state), us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= v_r) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b) <= -rate + k * log_rate - std::lgamma(k + 1)) return k;
  }
}

double poisson_product(RandomState& state, double rate) {
  const double limit = std::exp(-rate);
  double k = 0;
  for (double product = u53(state); product > limit; product *= u53(state)) k++;
  return k;
}

// Remainder of Stirling's series for log(k!).
double stirling_tail(double k) {
  constexpr double kTable[] = {0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
                               0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287};
  if (k <= 9) return kTable[static_cast<size_t>(k)];
  const double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// W. Hoermann, "The generation of binomial random variates", 1993. p <= 1/2. Products of n and p
// have T's precision.
template <class T> T binomial_btrs(RandomState& state, T n, T p) {
  const double deviation = std::sqrt(n * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p, c = n * p + 0.5;
  const double v_r = 0.92 - 4.2 / b, r = p / (1 - p), alpha = (2.83 + 5.1 / b) * deviation;
  const double m = std::floor((n + 1) * p);
  for (;;) {
    const double u = u53(state) - 0.5, v = u53(state), us = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= v_r) return static_cast<T>(k);
    if (k < 0 || k > n) continue;
    const double bound = (m + 0.5) * std::log((m + 1) / (r * (n - m + 1))) + (n + 1) * std::log((n - m + 1) / (n - k + 1)) +
                         (k + 0.5) * std::log(r * (n - k + 1) / (k + 1)) + stirling_tail(m) + stirling_tail(n - m) - stirling_tail(k) - stirling_tail(n - k);
    if (std::log(v * alpha / (a / (us * us) + b)) <= bound) return static_cast<T>(k);
  }
}

template <class T> T binomial_by_waiting(RandomState& state, T n, T p) {
  const double log_q = std::log1p(-p);
  T hits = 0;
  for (double trials = 0;; hits++) {
    trials += std::ceil(std::log(u53(state)) / log_q);
    if (trials > n) return hits;
  }
}

template <class T> T binomial_number(RandomState& state, T n, T p) {
  if (n <= 0 || p <= 0) return 0;
  if (p >= 1) return n;
  if (!(p <= T(0.5) || p > T(0.5))) return std::numeric_limits<T>::quiet_NaN();
  const T q = p <= T(0.5) ? p : 1 - p;
  const T k = n * q >= 10 ? binomial_btrs(state, n, q) : binomial_by_waiting(state, n, q);
  return p <= T(0.5) ? k : n - k;
}

// G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", 2000. The shape's own arithmetic is T's, and its
// third is a float's even in double.
template <class T> T gamma_number(RandomState& state, T shape) {
  double scale = 1;
  if (shape < T(1)) {
    if (shape == T(0)) return std::numeric_limits<T>::min();
    scale = std::pow(1.0 - u53(state), static_cast<double>(T(1) / shape));
    shape += T(1);
  }
  const double d = static_cast<double>(static_cast<T>(shape - static_cast<T>(1.0f / 3.0f))), c = 1.0 / std::sqrt(9 * d);
  for (;;) {
    double x, y;
    do {
      x = standard_normal(state);
      y = 1.0 + c * x;
    } while (y <= 0);
    const double v = y * y * y, u = 1 - u53(state), xx = x * x;
    if (u < 1.0 - 0.0331 * xx * xx || std::log(u) < 0.5 * xx + d * (1.0 - v + std::log(v)))
      return std::max(static_cast<T>(scale * d * v), std::numeric_limits<T>::min());
  }
}

// Calls f with a null pointer to the dtype's C++ type.
template <class F> void visit_single_or_double(const char* op, ScalarType dtype, F&& f) {
  CRESSET_CHECK_NOT_IMPLEMENTED(dtype == ScalarType::Float || dtype == ScalarType::Double, op, ": not implemented for ", dtype);
  if (dtype == ScalarType::Float) f(static_cast<float*>(nullptr));
  else f(static_cast<double*>(nullptr));
}

}  // namespace

void poisson(RandomState& state, void* out, const void* rate, ScalarType dtype, int64_t n) {
  CRESSET_CHECK_NOT_IMPLEMENTED(is_floating_type(dtype), "poisson: not implemented for ", dtype, ", expected a floating dtype");
  const int64_t item = static_cast<int64_t>(element_size(dtype));
  const LoadFn<double> load = load_fn<double>(dtype);
  const StoreFn<double> store = store_fn<double>(dtype);
  for (int64_t i = 0; i < n; i++) {
    const double lambda = load(static_cast<const char*>(rate) + i * item);
    CRESSET_CHECK(lambda >= 0, "poisson: invalid Poisson rate, expected rate to be non-negative, got ", lambda);
    const double k = lambda >= 10 ? poisson_ptrs(state, lambda) : lambda == 0 ? 0 : poisson_product(state, lambda);
    store(static_cast<char*>(out) + i * item, k);
  }
}

void binomial(RandomState& state, void* out, const void* count, const void* p, ScalarType dtype, int64_t n) {
  visit_single_or_double("binomial", dtype, [&]<class T>(T*) {
    for (int64_t i = 0; i < n; i++) static_cast<T*>(out)[i] = binomial_number(state, static_cast<const T*>(count)[i], static_cast<const T*>(p)[i]);
  });
}

void standard_gamma(RandomState& state, void* out, const void* shape, ScalarType dtype, int64_t n) {
  visit_single_or_double("_standard_gamma", dtype, [&]<class T>(T*) {
    for (int64_t i = 0; i < n; i++) static_cast<T*>(out)[i] = gamma_number(state, static_cast<const T*>(shape)[i]);
  });
}

void rrelu(RandomState& state, void* out, void* noise, const void* x, ScalarType dtype, int64_t n, double lower, double upper) {
  visit_single_or_double("rrelu_with_noise", dtype, [&]<class T>(T*) {
    const double from = static_cast<double>(static_cast<T>(lower)), range = static_cast<double>(static_cast<T>(upper)) - from;
    for (int64_t i = 0; i < n; i++) {
      const T value = static_cast<const T*>(x)[i];
      const T factor = value <= T(0) ? static_cast<T>(u53(state) * range + from) : T(1);
      static_cast<T*>(noise)[i] = factor;
      static_cast<T*>(out)[i] = value * factor;
    }
  });
}

}  // namespace cresset::kernels
