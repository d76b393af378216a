#pragma once
// The standard library's functions of complex numbers, for cresset::complex, its hash, and literals.

#include <string_view>  // std::hash

#include "cresset/base/numbers/complex.h"

// X(name) for each function that std::complex has, with its special values (C99 Annex G), and for those that it lacks.
// clang-format off
#define CRESSET_STD_COMPLEX_FUNCTIONS(X) \
  X(proj) X(exp) X(log) X(log10) X(sqrt) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh)
// clang-format on
#define CRESSET_OWN_COMPLEX_FUNCTIONS(X) X(log2) X(log1p) X(expm1)

namespace cresset {

template <class T> CRESSET_API complex<T> polar(const T& modulus, const T& angle = T());

namespace complex_literals {
constexpr complex<float> operator""_if(long double v) { return {0, static_cast<float>(v)}; }
constexpr complex<float> operator""_if(unsigned long long v) { return {0, static_cast<float>(v)}; }
constexpr complex<double> operator""_id(long double v) { return {0, static_cast<double>(v)}; }
constexpr complex<double> operator""_id(unsigned long long v) { return {0, static_cast<double>(v)}; }
}  // namespace complex_literals

}  // namespace cresset

namespace std {

template <class T> constexpr T real(const cresset::complex<T>& z) { return z.real(); }
template <class T> constexpr T imag(const cresset::complex<T>& z) { return z.imag(); }
template <class T> constexpr cresset::complex<T> conj(const cresset::complex<T>& z) { return {z.real(), -z.imag()}; }
template <class T> constexpr T norm(const cresset::complex<T>& z) { return z.real() * z.real() + z.imag() * z.imag(); }
template <class T> CRESSET_API T abs(const cresset::complex<T>& z);
template <class T> CRESSET_API T arg(const cresset::complex<T>& z);
template <class T> CRESSET_API bool isnan(const cresset::complex<T>& z);
template <class T> CRESSET_API bool isinf(const cresset::complex<T>& z);
template <class T> CRESSET_API bool isfinite(const cresset::complex<T>& z);
#define CRESSET_DECLARE(name) template <class T> CRESSET_API cresset::complex<T> name(const cresset::complex<T>& z);
CRESSET_STD_COMPLEX_FUNCTIONS(CRESSET_DECLARE)
CRESSET_OWN_COMPLEX_FUNCTIONS(CRESSET_DECLARE)
#undef CRESSET_DECLARE
template <class T> CRESSET_API cresset::complex<T> pow(const cresset::complex<T>& base, const cresset::complex<T>& exponent);
template <class T> CRESSET_API cresset::complex<T> pow(const cresset::complex<T>& base, const T& exponent);
template <class T> CRESSET_API cresset::complex<T> pow(const T& base, const cresset::complex<T>& exponent);
template <class T, class U> auto pow(const cresset::complex<T>& a, const cresset::complex<U>& b)
    -> std::enable_if_t<!std::is_same<T, U>::value, cresset::complex<decltype(T() + U())>> {
  using C = cresset::complex<decltype(T() + U())>;
  return std::pow(C(a), C(b));
}
template <class T, class U> auto pow(const cresset::complex<T>& a, const U& b)
    -> std::enable_if_t<!std::is_same<T, U>::value && std::is_arithmetic<U>::value, cresset::complex<decltype(T() + U())>> {
  using V = decltype(T() + U());
  return std::pow(cresset::complex<V>(a), V(b));
}
template <class T, class U> auto pow(const T& a, const cresset::complex<U>& b)
    -> std::enable_if_t<!std::is_same<T, U>::value && std::is_arithmetic<T>::value, cresset::complex<decltype(T() + U())>> {
  using V = decltype(T() + U());
  return std::pow(V(a), cresset::complex<V>(b));
}

template <class T> struct hash<cresset::complex<T>> {
  size_t operator()(const cresset::complex<T>& z) const noexcept {
    const size_t a = hash<T>()(z.real()), b = hash<T>()(z.imag());
    return a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2));
  }
};

}  // namespace std
