#include <complex>
#include <istream>
#include <ostream>

#include "cresset/base/numbers/complex_math.h"
#include "cresset/base/numbers/half.h"

namespace cresset {

namespace {

template <class T> std::complex<T> to_std(const complex<T>& z) { return {z.real(), z.imag()}; }
template <class T> complex<T> from_std(const std::complex<T>& z) { return {z.real(), z.imag()}; }

}  // namespace

template <class T> std::ostream& operator<<(std::ostream& out, const complex<T>& z) { return out << to_std(z); }
template <class T> std::istream& operator>>(std::istream& in, complex<T>& z) {
  std::complex<T> read;
  in >> read;
  z = from_std(read);
  return in;
}
template <class T> complex<T> polar(const T& modulus, const T& angle) { return from_std(std::polar(modulus, angle)); }

// As float computes them.
template <> std::ostream& operator<<(std::ostream& out, const complex<Half>& z) { return out << std::complex<float>(z.real(), z.imag()); }

#define CRESSET_INSTANTIATE(T)                                                           \
  template CRESSET_API std::ostream& operator<<(std::ostream& out, const complex<T>& z); \
  template CRESSET_API std::istream& operator>>(std::istream& in, complex<T>& z);        \
  template CRESSET_API complex<T> polar(const T& modulus, const T& angle);
CRESSET_INSTANTIATE(float)
CRESSET_INSTANTIATE(double)
#undef CRESSET_INSTANTIATE

}  // namespace cresset

namespace std {

using cresset::from_std;
using cresset::to_std;

template <class T> T abs(const cresset::complex<T>& z) { return std::abs(to_std(z)); }
template <class T> T arg(const cresset::complex<T>& z) { return std::arg(to_std(z)); }
template <class T> bool isnan(const cresset::complex<T>& z) { return std::isnan(z.real()) || std::isnan(z.imag()); }
template <class T> bool isinf(const cresset::complex<T>& z) { return std::isinf(z.real()) || std::isinf(z.imag()); }
template <class T> bool isfinite(const cresset::complex<T>& z) { return std::isfinite(z.real()) && std::isfinite(z.imag()); }
#define CRESSET_DEFINE(name) \
  template <class T> cresset::complex<T> name(const cresset::complex<T>& z) { return from_std(std::name(to_std(z))); }
CRESSET_STD_COMPLEX_FUNCTIONS(CRESSET_DEFINE)
#undef CRESSET_DEFINE

template <class T> cresset::complex<T> log2(const cresset::complex<T>& z) {
  const std::complex<T> l = std::log(to_std(z));
  constexpr T kLog2 = static_cast<T>(0.693147180559945309417232121458176568L);
  return {l.real() / kLog2, l.imag() / kLog2};
}

// log |1 + z|^2 = log1p(x (2 + x) + y^2), without the cancellation of 1 + z for a small z.
template <class T> cresset::complex<T> log1p(const cresset::complex<T>& z) {
  const T x = z.real(), y = z.imag();
  if (!(std::abs(x) < T(0.5) && std::abs(y) < T(0.5))) return from_std(std::log(to_std(z) + T(1)));
  return {T(0.5) * std::log1p(x * (T(2) + x) + y * y), std::atan2(y, T(1) + x)};
}

// e^x cos y - 1 = expm1(x) cos y - 2 sin^2(y / 2)
template <class T> cresset::complex<T> expm1(const cresset::complex<T>& z) {
  const T e = std::expm1(z.real()), half = std::sin(z.imag() / T(2));
  return {e * std::cos(z.imag()) - T(2) * half * half, (e + T(1)) * std::sin(z.imag())};
}

template <class T> cresset::complex<T> pow(const cresset::complex<T>& base, const cresset::complex<T>& exponent) {
  return from_std(std::pow(to_std(base), to_std(exponent)));
}
template <class T> cresset::complex<T> pow(const cresset::complex<T>& base, const T& exponent) { return from_std(std::pow(to_std(base), exponent)); }
template <class T> cresset::complex<T> pow(const T& base, const cresset::complex<T>& exponent) { return from_std(std::pow(base, to_std(exponent))); }

#define CRESSET_INSTANTIATE_FLOAT(name) template CRESSET_API cresset::complex<float> name(const cresset::complex<float>& z);
#define CRESSET_INSTANTIATE_DOUBLE(name) template CRESSET_API cresset::complex<double> name(const cresset::complex<double>& z);
CRESSET_STD_COMPLEX_FUNCTIONS(CRESSET_INSTANTIATE_FLOAT)
CRESSET_OWN_COMPLEX_FUNCTIONS(CRESSET_INSTANTIATE_FLOAT)
CRESSET_STD_COMPLEX_FUNCTIONS(CRESSET_INSTANTIATE_DOUBLE)
CRESSET_OWN_COMPLEX_FUNCTIONS(CRESSET_INSTANTIATE_DOUBLE)

#define CRESSET_INSTANTIATE(T)                                                                                        \
  template CRESSET_API T abs(const cresset::complex<T>& z);                                                           \
  template CRESSET_API T arg(const cresset::complex<T>& z);                                                           \
  template CRESSET_API bool isnan(const cresset::complex<T>& z);                                                      \
  template CRESSET_API bool isinf(const cresset::complex<T>& z);                                                      \
  template CRESSET_API bool isfinite(const cresset::complex<T>& z);                                                   \
  template CRESSET_API cresset::complex<T> pow(const cresset::complex<T>& base, const cresset::complex<T>& exponent); \
  template CRESSET_API cresset::complex<T> pow(const cresset::complex<T>& base, const T& exponent);                   \
  template CRESSET_API cresset::complex<T> pow(const T& base, const cresset::complex<T>& exponent);
CRESSET_INSTANTIATE(float)
CRESSET_INSTANTIATE(double)

}  // namespace std
