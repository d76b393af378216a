#include "cresset/kernels/training/cpu/optim.h"

#include <cmath>

#include "cresset/kernels/expr/arithmetic.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

using expr::fma;

// The scalars of a step, computed in double and rounded once, as an optimizer written with tensor operations has them.
template <class T, bool has_max, bool couples_decay> void adam(int64_t n, OptimArrays<T> a, const AdamStep& o) {
  const double correction1 = 1 - std::pow(o.beta1, static_cast<double>(o.step)), correction2 = 1 - std::pow(o.beta2, static_cast<double>(o.step));
  const T sign = o.maximize ? T(-1) : T(1), decay = static_cast<T>(o.weight_decay), keep = static_cast<T>(1 - o.lr * o.weight_decay);
  const T weight1 = static_cast<T>(1 - o.beta1), beta2 = static_cast<T>(o.beta2), weight2 = static_cast<T>(1 - o.beta2);
  const T root_correction = static_cast<T>(std::sqrt(correction2)), eps = static_cast<T>(o.eps), rate = static_cast<T>(-(o.lr / correction1));
  const bool near_start = o.beta1 > 0.5;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    T p = a.param[i], g = sign * a.grad[i];
    if constexpr (couples_decay) g = fma(p, decay, g);
    else p = p * keep;
    const T difference = g - a.first[i];
    const T mean = near_start ? fma(weight1, difference, a.first[i]) : fma(-(T(1) - weight1), difference, g);
    T square = expr::addcmul(a.second[i] * beta2, g, g, weight2);
    a.first[i] = mean;
    a.second[i] = square;
    if constexpr (has_max) {
      square = a.third[i] > square ? a.third[i] : square;
      a.third[i] = square;
    }
    a.param[i] = expr::addcdiv(p, mean, std::sqrt(square) / root_correction + eps, rate);
  }
}

template <class T> void adam_any(int64_t n, OptimArrays<T> a, const AdamStep& o) {
  const bool couples = !o.decoupled && o.weight_decay != 0;
  if (a.third) return couples ? adam<T, true, true>(n, a, o) : adam<T, true, false>(n, a, o);
  return couples ? adam<T, false, true>(n, a, o) : adam<T, false, false>(n, a, o);
}

template <class T, bool has_buffer> void sgd(int64_t n, OptimArrays<T> a, const SgdStep& o) {
  const T sign = o.maximize ? T(-1) : T(1), decay = static_cast<T>(o.weight_decay), rate = static_cast<T>(-o.lr);
  const T momentum = static_cast<T>(o.momentum), weight = static_cast<T>(1 - o.dampening);
  const bool first = o.first, nesterov = o.nesterov, decays = o.weight_decay != 0;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    T g = sign * a.grad[i];
    g = decays ? fma(a.param[i], decay, g) : g;
    if constexpr (has_buffer) {
      const T buffer = first ? g : fma(g, weight, a.first[i] * momentum);
      a.first[i] = buffer;
      g = nesterov ? fma(buffer, momentum, g) : buffer;
    }
    a.param[i] = fma(g, rate, a.param[i]);
  }
}

template <class T, bool has_buffer, bool is_centered> void rmsprop(int64_t n, OptimArrays<T> a, const RmspropStep& o) {
  const T decay = static_cast<T>(o.weight_decay), alpha = static_cast<T>(o.alpha), weight = static_cast<T>(1 - o.alpha);
  const T eps = static_cast<T>(o.eps), rate = static_cast<T>(-o.lr), momentum = static_cast<T>(o.momentum);
  const bool decays = o.weight_decay != 0, near_start = 1 - o.alpha < 0.5;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    T g = a.grad[i];
    g = decays ? fma(a.param[i], decay, g) : g;
    const T square = expr::addcmul(a.first[i] * alpha, g, g, weight);
    a.first[i] = square;
    T average = square;
    if constexpr (is_centered) {
      const T difference = g - a.third[i];
      const T mean = near_start ? fma(weight, difference, a.third[i]) : fma(-(T(1) - weight), difference, g);
      a.third[i] = mean;
      average = expr::addcmul(square, mean, mean, T(-1));
    }
    average = std::sqrt(average) + eps;
    if constexpr (has_buffer) {
      const T buffer = expr::addcdiv(a.second[i] * momentum, g, average, T(1));
      a.second[i] = buffer;
      a.param[i] = fma(buffer, rate, a.param[i]);
    } else {
      a.param[i] = expr::addcdiv(a.param[i], g, average, rate);
    }
  }
}

template <class T> void rmsprop_any(int64_t n, OptimArrays<T> a, const RmspropStep& o) {
  if (a.second) return a.third ? rmsprop<T, true, true>(n, a, o) : rmsprop<T, true, false>(n, a, o);
  return a.third ? rmsprop<T, false, true>(n, a, o) : rmsprop<T, false, false>(n, a, o);
}

template <class T> void adagrad(int64_t n, OptimArrays<T> a, const AdagradStep& o) {
  const T decay = static_cast<T>(o.weight_decay), eps = static_cast<T>(o.eps), rate = static_cast<T>(-o.rate);
  const bool decays = o.weight_decay != 0;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) {
    T g = a.grad[i];
    g = decays ? fma(a.param[i], decay, g) : g;
    const T sum = expr::addcmul(a.first[i], g, g, T(1));
    a.first[i] = sum;
    a.param[i] = expr::addcdiv(a.param[i], g, std::sqrt(sum) + eps, rate);
  }
}

}  // namespace

void adam_float(int64_t n, OptimArrays<float> a, const AdamStep& o) { adam_any(n, a, o); }
void adam_double(int64_t n, OptimArrays<double> a, const AdamStep& o) { adam_any(n, a, o); }
void sgd_float(int64_t n, OptimArrays<float> a, const SgdStep& o) { a.first ? sgd<float, true>(n, a, o) : sgd<float, false>(n, a, o); }
void sgd_double(int64_t n, OptimArrays<double> a, const SgdStep& o) { a.first ? sgd<double, true>(n, a, o) : sgd<double, false>(n, a, o); }

void rmsprop_float(int64_t n, OptimArrays<float> a, const RmspropStep& o) { rmsprop_any(n, a, o); }
void rmsprop_double(int64_t n, OptimArrays<double> a, const RmspropStep& o) { rmsprop_any(n, a, o); }
void adagrad_float(int64_t n, OptimArrays<float> a, const AdagradStep& o) { adagrad(n, a, o); }
void adagrad_double(int64_t n, OptimArrays<double> a, const AdagradStep& o) { adagrad(n, a, o); }

}  // namespace cresset::kernels::CRESSET_ISA
