// arange, linspace and logspace with PyTorch's arithmetic: which intermediate is rounded to which type decides the last bit.

#include <algorithm>
#include <cmath>
#include <complex>

#include "cresset/kernels/common/dense.h"
#include "cresset/kernels/layout/cpu/layout_rows.h"
#include "cresset/kernels/layout/layout.h"

namespace cresset::kernels {

namespace {

template <class T> constexpr bool is_low_precision = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// Calls write(i, value) through the output's stride.
template <class T, class F> void fill_with(const Strided& out, F value) {
  T* to = static_cast<T*>(out.data);
  const int64_t n = out.sizes[0], step = out.strides[0];
  for (int64_t i = 0; i < n; i++) to[i * step] = value(i);
}

template <class V> void linspace_complex(const Strided& out, complex<V> start, complex<V> end) {
  const int64_t n = out.sizes[0];
  if (n == 1) return fill_with<complex<V>>(out, [=](int64_t) { return start; });
  const complex<V> step((end.real() - start.real()) / static_cast<V>(n - 1), (end.imag() - start.imag()) / static_cast<V>(n - 1));
  fill_with<complex<V>>(out, [=](int64_t i) {
    const complex<V> from = i < n / 2 ? start : end;
    const V k = static_cast<V>(i < n / 2 ? i : i + 1 - n);
    return complex<V>(std::fma(step.real(), k, from.real()), std::fma(step.imag(), k, from.imag()));
  });
}

template <class T> void linspace_integral(const Strided& out, T start, T end) {
  const int64_t n = out.sizes[0];
  const double first = static_cast<double>(start), last = static_cast<double>(end), step = (last - first) / static_cast<double>(n - 1);
  fill_with<T>(out, [=](int64_t i) {
    return static_cast<T>(i < n / 2 ? std::fma(step, static_cast<double>(i), first) : std::fma(-step, static_cast<double>(n - 1 - i), last));
  });
}

template <class T> T power(double base, double exponent) {
  if constexpr (std::is_integral_v<T>) return Scalar(std::pow(base, exponent)).as<T>();
  else if constexpr (is_low_precision<T>) return T(static_cast<float>(std::pow(base, exponent)));
  else return static_cast<T>(std::pow(base, exponent));
}

template <class T> void logspace_real(const Strided& out, T start, T end, double base) {
  const int64_t n = out.sizes[0];
  // The difference is rounded to T before it is divided.
  double range;
  if constexpr (std::is_integral_v<T>) range = static_cast<double>(end) - static_cast<double>(start);
  else range = static_cast<double>(end - start);
  const double step = range / static_cast<double>(std::max<int64_t>(n - 1, 1)), first = static_cast<double>(start), last = static_cast<double>(end);
  fill_with<T>(out,
               [=](int64_t i) { return power<T>(base, i < n / 2 ? first + step * static_cast<double>(i) : last - step * static_cast<double>(n - 1 - i)); });
}

template <class V> void logspace_complex(const Strided& out, complex<V> start, complex<V> end, double base) {
  linspace_complex<V>(out, start, end);
  complex<V>* to = static_cast<complex<V>*>(out.data);
  for (int64_t i = 0; i < out.sizes[0]; i++) {
    complex<V>& z = to[i * out.strides[0]];
    const std::complex<V> power = std::pow(std::complex<V>(static_cast<V>(base)), std::complex<V>(z.real(), z.imag()));
    z = complex<V>(power.real(), power.imag());
  }
}

void check_vector(const char* op, const Strided& out) {
  CRESSET_CHECK(out.dim() == 1, op, ": expected a 1-d output, got shape ", out.sizes);
  CRESSET_CHECK_NOT_IMPLEMENTED(out.dtype != ScalarType::Bool, op, ": not implemented for bool");
}

}  // namespace

void arange(const Strided& out, const Scalar& start, const Scalar& step) {
  check_vector("arange", out);
  CRESSET_CHECK_NOT_IMPLEMENTED(!is_complex_type(out.dtype), "arange: not implemented for ", out.dtype);
  const DenseOutput to(out);
  if (is_floating_type(out.dtype)) call(arange_floating_stub)(out.dtype, to.as<void>(), out.sizes[0], start.as<double>(), step.as<double>());
  else
    call(arange_integral_stub)(out.dtype, to.as<void>(), out.sizes[0], static_cast<uint64_t>(start.as<int64_t>()), static_cast<uint64_t>(step.as<int64_t>()));
  to.finish();
}

void range(const Strided& out, double start, double step) {
  check_vector("range", out);
  visit_dtype(out.dtype, "range", [&](auto tag) {
    using T = decltype(tag);
    if constexpr (is_low_precision<T>) {
      const float first = static_cast<float>(start), by = static_cast<float>(step);
      fill_with<T>(out, [=](int64_t i) { return T(first + by * static_cast<float>(i)); });
    } else if constexpr (std::is_floating_point_v<T>) {
      fill_with<T>(out, [=](int64_t i) { return static_cast<T>(start + step * static_cast<double>(i)); });
    }
  });
}

void linspace(const Strided& out, const Scalar& start, const Scalar& end) {
  check_vector("linspace", out);
  if (out.sizes[0] == 1) return fill_strided(out, start);
  if (is_floating_type(out.dtype)) {
    const DenseOutput to(out);
    call(linspace_floating_stub)(out.dtype, to.as<void>(), out.sizes[0], start.as<double>(), end.as<double>());
    return to.finish();
  }
  visit_dtype(out.dtype, "linspace", [&](auto tag) {
    using T = decltype(tag);
    if constexpr (is_complex<T>::value) linspace_complex(out, start.as<T>(), end.as<T>());
    else if constexpr (std::is_integral_v<T>) linspace_integral(out, start.as<T>(), end.as<T>());
  });
}

void logspace(const Strided& out, const Scalar& start, const Scalar& end, double base) {
  check_vector("logspace", out);
  visit_dtype(out.dtype, "logspace", [&](auto tag) {
    using T = decltype(tag);
    const T first = start.as<T>(), last = out.sizes[0] == 1 ? first : end.as<T>();
    if constexpr (is_complex<T>::value) logspace_complex(out, first, last, base);
    else logspace_real(out, first, last, base);
  });
}

}  // namespace cresset::kernels
