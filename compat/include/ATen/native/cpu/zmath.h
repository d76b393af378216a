#pragma once
// Functions of single elements, real and complex.
#include <cmath>
#include "cresset/base/numbers/complex.h"
#include "cresset/kernels/expr/complex_math.h"
namespace at::native {
template <class T> T conj_impl(T x) {
  if constexpr (cresset::is_complex<T>::value) return std::conj(x);
  else return x;
}
template <class T> T round_impl(T x) {
  if constexpr (cresset::is_complex<T>::value) return T(std::nearbyint(x.real()), std::nearbyint(x.imag()));
  else return std::nearbyint(x);
}
template <class T> T trunc_impl(T x) {
  if constexpr (cresset::is_complex<T>::value) return T(std::trunc(x.real()), std::trunc(x.imag()));
  else return std::trunc(x);
}
template <class T> T ceil_impl(T x) {
  if constexpr (cresset::is_complex<T>::value) return T(std::ceil(x.real()), std::ceil(x.imag()));
  else return std::ceil(x);
}
template <class T> T floor_impl(T x) {
  if constexpr (cresset::is_complex<T>::value) return T(std::floor(x.real()), std::floor(x.imag()));
  else return std::floor(x);
}
}  // namespace at::native
