#pragma once
// A complex number laid out as {real, imag}; `<complex>` stays out of the public headers for their cost. The functions that std has for
// std::complex (std::abs, std::exp, ...) are in cresset/base/numbers/complex_math.h.

#include <cstdint>
#include <iosfwd>
#include <type_traits>
#include <utility>

#include "cresset/base/macros.h"

namespace cresset {

template <class T> struct complex;
template <class T> struct is_complex : std::false_type {};
template <class T> struct is_complex<complex<T>> : std::true_type {};
template <class T> struct is_complex<const complex<T>> : std::true_type {};

namespace detail {
// std::complex, without its header: a number with a value type, of which a constructor takes two.
template <class C, class V, class = void> struct LooksLikeStdComplex : std::false_type {};
template <class C, class V> struct LooksLikeStdComplex<C, V,
                                                       std::enable_if_t<!is_complex<C>::value && std::is_same<typename C::value_type, V>::value &&
                                                                        std::is_same<decltype(std::declval<const C&>().imag()), V>::value>> : std::true_type {};
template <class C, class = void> struct StdComplexValue {};
template <class C> struct StdComplexValue<C, std::enable_if_t<LooksLikeStdComplex<C, float>::value>> { using type = float; };
template <class C> struct StdComplexValue<C, std::enable_if_t<LooksLikeStdComplex<C, double>::value>> { using type = double; };
}  // namespace detail

template <class T> struct alignas(2 * sizeof(T)) complex {
  using value_type = T;
  T real_ = T(0), imag_ = T(0);

  constexpr complex() = default;
  constexpr complex(T real, T imag = T(0)) : real_(real), imag_(imag) {}
  // To a wider type without being asked; to a narrower one explicitly.
  template <class U, std::enable_if_t<(sizeof(U) < sizeof(T)), int> = 0> constexpr complex(const complex<U>& o)
      : real_(static_cast<T>(o.real())), imag_(static_cast<T>(o.imag())) {}
  template <class U, std::enable_if_t<(sizeof(U) > sizeof(T)), int> = 0> constexpr explicit complex(const complex<U>& o)
      : real_(static_cast<T>(o.real())), imag_(static_cast<T>(o.imag())) {}
  template <class C, class V = typename detail::StdComplexValue<C>::type> constexpr explicit complex(const C& o)
      : real_(static_cast<T>(o.real())), imag_(static_cast<T>(o.imag())) {}

  constexpr T real() const { return real_; }
  constexpr T imag() const { return imag_; }
  constexpr void real(T value) { real_ = value; }
  constexpr void imag(T value) { imag_ = value; }
  // The real part: the rest of a cast to a real dtype.
  template <class U, class = std::enable_if_t<std::is_arithmetic<U>::value && !std::is_same<U, bool>::value>> constexpr explicit operator U() const {
    return static_cast<U>(real_);
  }
  constexpr explicit operator bool() const { return real_ != 0 || imag_ != 0; }
  template <class C, std::enable_if_t<detail::LooksLikeStdComplex<C, T>::value, int> = 0> constexpr operator C() const { return C(real_, imag_); }

  constexpr complex& operator=(T value) {
    real_ = value;
    imag_ = T(0);
    return *this;
  }
  template <class U> constexpr complex& operator=(const complex<U>& o) {
    real_ = static_cast<T>(o.real());
    imag_ = static_cast<T>(o.imag());
    return *this;
  }
  template <class C, class V = typename detail::StdComplexValue<C>::type, class = void> constexpr complex& operator=(const C& o) {
    real_ = static_cast<T>(o.real());
    imag_ = static_cast<T>(o.imag());
    return *this;
  }

  constexpr complex& operator+=(T b) {
    real_ += b;
    return *this;
  }
  constexpr complex& operator-=(T b) {
    real_ -= b;
    return *this;
  }
  constexpr complex& operator*=(T b) {
    real_ *= b;
    imag_ *= b;
    return *this;
  }
  constexpr complex& operator/=(T b) {
    real_ /= b;
    imag_ /= b;
    return *this;
  }
  template <class U> constexpr complex& operator+=(const complex<U>& o) {
    real_ += static_cast<T>(o.real());
    imag_ += static_cast<T>(o.imag());
    return *this;
  }
  template <class U> constexpr complex& operator-=(const complex<U>& o) {
    real_ -= static_cast<T>(o.real());
    imag_ -= static_cast<T>(o.imag());
    return *this;
  }
  template <class U> constexpr complex& operator*=(const complex<U>& o) { return *this = *this * complex(static_cast<T>(o.real()), static_cast<T>(o.imag())); }
  template <class U> constexpr complex& operator/=(const complex<U>& o) { return *this = *this / complex(static_cast<T>(o.real()), static_cast<T>(o.imag())); }

  friend constexpr complex operator+(const complex& a) { return a; }
  friend constexpr complex operator-(const complex& a) { return {-a.real_, -a.imag_}; }
  friend constexpr complex operator+(const complex& a, const complex& b) { return {a.real_ + b.real_, a.imag_ + b.imag_}; }
  friend constexpr complex operator+(const complex& a, T b) { return {a.real_ + b, a.imag_}; }
  friend constexpr complex operator+(T a, const complex& b) { return {a + b.real_, b.imag_}; }
  friend constexpr complex operator-(const complex& a, const complex& b) { return {a.real_ - b.real_, a.imag_ - b.imag_}; }
  friend constexpr complex operator-(const complex& a, T b) { return {a.real_ - b, a.imag_}; }
  friend constexpr complex operator-(T a, const complex& b) { return {a - b.real_, -b.imag_}; }
  friend constexpr complex operator*(const complex& a, const complex& b) {
    return {a.real_ * b.real_ - a.imag_ * b.imag_, a.real_ * b.imag_ + a.imag_ * b.real_};
  }
  friend constexpr complex operator*(const complex& a, T b) { return {a.real_ * b, a.imag_ * b}; }
  friend constexpr complex operator*(T a, const complex& b) { return {a * b.real_, a * b.imag_}; }
  // Smith's method (R. L. Smith, CACM 5(8), 1962): avoids overflow of |b|^2.
  friend constexpr complex operator/(const complex& a, const complex& b) {
    // Adding 0 makes -0 positive.
    const T abs_real = (b.real_ < 0 ? -b.real_ : b.real_) + T(0), abs_imag = (b.imag_ < 0 ? -b.imag_ : b.imag_) + T(0);
    if (abs_real >= abs_imag) {
      if (abs_real == 0 && abs_imag == 0) return {a.real_ / abs_real, a.imag_ / abs_imag};
      const T ratio = b.imag_ / b.real_, scale = T(1) / (b.real_ + b.imag_ * ratio);
      return {(a.real_ + a.imag_ * ratio) * scale, (a.imag_ - a.real_ * ratio) * scale};
    }
    const T ratio = b.real_ / b.imag_, scale = T(1) / (b.real_ * ratio + b.imag_);
    return {(a.real_ * ratio + a.imag_) * scale, (a.imag_ * ratio - a.real_) * scale};
  }
  friend constexpr complex operator/(const complex& a, T b) { return {a.real_ / b, a.imag_ / b}; }
  friend constexpr complex operator/(T a, const complex& b) { return complex(a) / b; }
  friend constexpr bool operator==(const complex& a, const complex& b) { return a.real_ == b.real_ && a.imag_ == b.imag_; }
  friend constexpr bool operator==(const complex& a, T b) { return a.real_ == b && a.imag_ == 0; }
  friend constexpr bool operator==(T a, const complex& b) { return b == a; }
  friend constexpr bool operator!=(const complex& a, const complex& b) { return !(a == b); }
  friend constexpr bool operator!=(const complex& a, T b) { return !(a == b); }
  friend constexpr bool operator!=(T a, const complex& b) { return !(b == a); }
};

// As std::complex prints: (1,2).
template <class T> CRESSET_API std::ostream& operator<<(std::ostream& out, const complex<T>& z);
template <class T> CRESSET_API std::istream& operator>>(std::istream& in, complex<T>& z);

}  // namespace cresset
