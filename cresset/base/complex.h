#pragma once
// A complex number laid out as {real, imag}; `<complex>` stays out of the public headers for their cost.

#include <type_traits>

namespace cresset {

template <class T>
struct alignas(2 * sizeof(T)) complex {
  using value_type = T;
  T real_ = 0, imag_ = 0;

  constexpr complex() = default;
  constexpr complex(T real, T imag = T(0)) : real_(real), imag_(imag) {}
  template <class U>
  constexpr explicit complex(const complex<U>& other) : real_(static_cast<T>(other.real())), imag_(static_cast<T>(other.imag())) {}
  constexpr T real() const { return real_; }
  constexpr T imag() const { return imag_; }
  // The real part: what a cast to a real dtype keeps.
  template <class U, class = std::enable_if_t<std::is_arithmetic<U>::value>>
  constexpr explicit operator U() const { return static_cast<U>(real_); }

  constexpr complex& operator+=(const complex& o) { real_ += o.real_; imag_ += o.imag_; return *this; }
  constexpr complex& operator-=(const complex& o) { real_ -= o.real_; imag_ -= o.imag_; return *this; }
  constexpr complex& operator*=(const complex& o) { return *this = *this * o; }
  constexpr complex& operator/=(const complex& o) { return *this = *this / o; }

  friend constexpr complex operator+(const complex& a, const complex& b) { return {a.real_ + b.real_, a.imag_ + b.imag_}; }
  friend constexpr complex operator-(const complex& a, const complex& b) { return {a.real_ - b.real_, a.imag_ - b.imag_}; }
  friend constexpr complex operator-(const complex& a) { return {-a.real_, -a.imag_}; }
  friend constexpr complex operator*(const complex& a, const complex& b) {
    return {a.real_ * b.real_ - a.imag_ * b.imag_, a.real_ * b.imag_ + a.imag_ * b.real_};
  }
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
  friend constexpr bool operator==(const complex& a, const complex& b) { return a.real_ == b.real_ && a.imag_ == b.imag_; }
  friend constexpr bool operator!=(const complex& a, const complex& b) { return !(a == b); }
};

template <class T> struct is_complex : std::false_type {};
template <class T> struct is_complex<complex<T>> : std::true_type {};

}  // namespace cresset
