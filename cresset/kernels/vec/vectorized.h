#pragma once
// Vectorized<T>: as many elements as a register of the CPU holds, with operators and functions of each, for loops of programs. The lanes are
// an array: loops over it have a fixed length, which compilers turn into vector instructions.

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <type_traits>
#include <utility>

#include "cresset/kernels/expr/bessel.h"
#include "cresset/kernels/expr/complex_math.h"
#include "cresset/kernels/expr/math.h"
#include "cresset/kernels/expr/special.h"
#include "cresset/kernels/expr/transcendental.h"

// Units that are compiled for different instruction sets do not share these functions.
#if defined(CPU_CAPABILITY_AVX512)
#define CRESSET_VEC_NAMESPACE vec_avx512
#elif defined(__AVX512F__)
#define CRESSET_VEC_NAMESPACE vec_avx512_halves
#elif defined(__AVX2__)
#define CRESSET_VEC_NAMESPACE vec_avx2
#else
#define CRESSET_VEC_NAMESPACE vec_baseline
#endif

namespace cresset::vec {
inline namespace CRESSET_VEC_NAMESPACE {

namespace expr = ::cresset::kernels::expr;

// 32 unless the program says that it is compiled for AVX-512, as in LibTorch.
#if defined(CPU_CAPABILITY_AVX512)
constexpr int kBytes = 64;
#else
constexpr int kBytes = 32;
#endif

namespace detail {

template <int bytes> struct IntOfSize;
template <> struct IntOfSize<1> { using type = int8_t; };
template <> struct IntOfSize<2> { using type = int16_t; };
template <> struct IntOfSize<4> { using type = int32_t; };
template <> struct IntOfSize<8> { using type = int64_t; };

template <class T> constexpr bool is_reduced = std::is_same<T, Half>::value || std::is_same<T, BFloat16>::value;
// The type that functions of an element are computed in.
template <class T> using Compute = std::conditional_t<is_reduced<T>, float, T>;
template <class T> Compute<T> widen(const T& x) { return static_cast<Compute<T>>(x); }

// f of numbers. Integers wrap around: they are computed without signs.
template <class X, class F> X wrapped(X x, F f) {
  if constexpr (std::is_integral<X>::value && !std::is_same<X, bool>::value) return static_cast<X>(f(static_cast<uint64_t>(x)));
  else return static_cast<X>(f(x));
}
template <class X, class F> X wrapped(X x, X y, F f) {
  if constexpr (std::is_integral<X>::value && !std::is_same<X, bool>::value) return static_cast<X>(f(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
  else return static_cast<X>(f(x, y));
}

// All bits of an element set, or none.
template <class T> T bits_if(bool set) {
  if constexpr (std::is_same<T, bool>::value) return set;
  else {
    T out;
    std::memset(static_cast<void*>(&out), set ? 0xff : 0, sizeof out);
    return out;
  }
}
// The element as integers of its bits: two for complex numbers.
template <class T> constexpr int word_bytes = sizeof(T) < 8 ? static_cast<int>(sizeof(T)) : 8;
template <class T> using Words = std::array<typename IntOfSize<word_bytes<T>>::type, sizeof(T) / word_bytes<T>>;
template <class T> Words<T> words_of(const T& x) {
  Words<T> out;
  std::memcpy(&out, &x, sizeof out);
  return out;
}
template <class T> T from_words(const Words<T>& words) {
  T out;
  std::memcpy(static_cast<void*>(&out), &words, sizeof out);
  return out;
}
template <class T, class F> T on_bits(const T& a, const T& b, F f) {
  const Words<T> x = words_of(a), y = words_of(b);
  Words<T> out;
  for (size_t i = 0; i < out.size(); i++) out[i] = static_cast<typename Words<T>::value_type>(f(x[i], y[i]));
  return from_words<T>(out);
}

template <class T> bool is_nan(const T& x) {
  if constexpr (is_complex<T>::value) return x.real() != x.real() || x.imag() != x.imag();
  else if constexpr (std::is_integral<T>::value) return false;
  else return widen(x) != widen(x);
}

}  // namespace detail

template <class T> using int_same_size_t = typename detail::IntOfSize<static_cast<int>(sizeof(T))>::type;

template <class T> class Vectorized {
  static_assert(kBytes % sizeof(T) == 0);

 public:
  using value_type = T;
  using size_type = int;
  static constexpr size_type size() { return kBytes / static_cast<int>(sizeof(T)); }

  Vectorized() : lanes_{} {}
  // The same element in every lane.
  Vectorized(T value) {
    for (T& x : lanes_) x = value;
  }
  // One element a lane.
  template <class... A, class = std::enable_if_t<(sizeof...(A) > 1) && sizeof...(A) == size()>> Vectorized(A... values) : lanes_{static_cast<T>(values)...} {}

  static Vectorized loadu(const void* source) {
    Vectorized out;
    copy_whole(out.lanes_, source);
    return out;
  }
  // The lanes behind the first `count` are 0.
  static Vectorized loadu(const void* source, int64_t count) {
    Vectorized out;
    std::memcpy(static_cast<void*>(out.lanes_), source, static_cast<size_t>(count) * sizeof(T));
    return out;
  }
  void store(void* target) const { copy_whole(target, lanes_); }
  void store(void* target, int64_t count) const { std::memcpy(target, lanes_, static_cast<size_t>(count) * sizeof(T)); }

  const T& operator[](int lane) const { return lanes_[lane]; }
  T& operator[](int lane) { return lanes_[lane]; }

  // base, base + step, base + 2 step, ...
  template <class Step = T> static Vectorized arange(T base = T(0), Step step = static_cast<Step>(1)) {
    Vectorized out;
    for (int i = 0; i < size(); i++) out.lanes_[i] = static_cast<T>(base + static_cast<T>(real_of<T>(i)) * step);
    return out;
  }
  // The lanes of b where the mask has a bit, or a set element; of a elsewhere.
  template <int64_t mask> static Vectorized blend(const Vectorized& a, const Vectorized& b) {
    Vectorized out;
    for (int i = 0; i < size(); i++) out.lanes_[i] = (i < 64 && (mask >> i) & 1) ? b.lanes_[i] : a.lanes_[i];
    return out;
  }
  static Vectorized blendv(const Vectorized& a, const Vectorized& b, const Vectorized& mask) {
    Vectorized out;
    for (int i = 0; i < size(); i++) out.lanes_[i] = (detail::words_of(mask.lanes_[i])[0] & 1) ? b.lanes_[i] : a.lanes_[i];
    return out;
  }
  // The first `count` lanes of b, then those of a.
  static Vectorized set(const Vectorized& a, const Vectorized& b, int64_t count = size()) {
    Vectorized out;
    for (int i = 0; i < size(); i++) out.lanes_[i] = i < count ? b.lanes_[i] : a.lanes_[i];
    return out;
  }

  // f of each element, computed in float for Half and BFloat16.
  template <class F> Vectorized map(F f) const {
    Vectorized out;
    for (int i = 0; i < size(); i++) out.lanes_[i] = static_cast<T>(f(detail::widen(lanes_[i])));
    return out;
  }
  template <class F> Vectorized map(const Vectorized& other, F f) const {
    Vectorized out;
    for (int i = 0; i < size(); i++) out.lanes_[i] = static_cast<T>(f(detail::widen(lanes_[i]), detail::widen(other.lanes_[i])));
    return out;
  }
  template <class F> T reduce(F f) const {
    T out = lanes_[0];
    for (int i = 1; i < size(); i++) out = f(out, lanes_[i]);
    return out;
  }

  // Bit i says whether lane i is 0.
  int64_t zero_mask() const {
    uint64_t mask = 0;
    for (int i = 0; i < size(); i++) mask |= uint64_t{lanes_[i] == static_cast<T>(0)} << i;
    return static_cast<int64_t>(mask);
  }
  Vectorized isnan() const {
    return mask_of([](const T& x, const T&) { return detail::is_nan(x); }, *this);
  }
  bool has_inf_nan() const {
    bool any = false;
    for (const T& x : lanes_) any |= !std::isfinite(detail::widen(x));
    return any;
  }

  // Comparisons: all bits of a lane set where they hold.
  Vectorized operator==(const Vectorized& o) const {
    return mask_of([](const T& a, const T& b) { return a == b; }, o);
  }
  Vectorized operator!=(const Vectorized& o) const {
    return mask_of([](const T& a, const T& b) { return a != b; }, o);
  }
  Vectorized operator<(const Vectorized& o) const {
    return mask_of([](const T& a, const T& b) { return a < b; }, o);
  }
  Vectorized operator<=(const Vectorized& o) const {
    return mask_of([](const T& a, const T& b) { return a <= b; }, o);
  }
  Vectorized operator>(const Vectorized& o) const {
    return mask_of([](const T& a, const T& b) { return a > b; }, o);
  }
  Vectorized operator>=(const Vectorized& o) const {
    return mask_of([](const T& a, const T& b) { return a >= b; }, o);
  }
  // The same as ones and zeros.
  Vectorized eq(const Vectorized& o) const {
    return ones_of([](const T& a, const T& b) { return a == b; }, o);
  }
  Vectorized ne(const Vectorized& o) const {
    return ones_of([](const T& a, const T& b) { return a != b; }, o);
  }
  Vectorized lt(const Vectorized& o) const {
    return ones_of([](const T& a, const T& b) { return a < b; }, o);
  }
  Vectorized le(const Vectorized& o) const {
    return ones_of([](const T& a, const T& b) { return a <= b; }, o);
  }
  Vectorized gt(const Vectorized& o) const {
    return ones_of([](const T& a, const T& b) { return a > b; }, o);
  }
  Vectorized ge(const Vectorized& o) const {
    return ones_of([](const T& a, const T& b) { return a >= b; }, o);
  }

  Vectorized abs() const {
    return map([](auto x) {
      if constexpr (is_complex<T>::value) return T(std::abs(x));
      else if constexpr (std::is_unsigned<T>::value) return x;
      else if constexpr (std::is_integral<T>::value) return x < 0 ? detail::wrapped(x, [](auto y) { return -y; }) : x;
      else return std::abs(x);
    });
  }
  Vectorized neg() const {
    return map([](auto x) { return detail::wrapped(x, [](auto y) { return -y; }); });
  }
  Vectorized sgn() const {
    return map([](auto x) {
      using X = decltype(x);
      if constexpr (is_complex<T>::value) return x == T(0) ? T(0) : x / std::abs(x);
      else return static_cast<X>((x > X(0)) - (x < X(0)));
    });
  }
  Vectorized angle() const {
    return map([](auto x) {
      using X = decltype(x);
      if constexpr (is_complex<T>::value) return T(std::arg(x));
      else return x != x ? x : static_cast<X>(x < X(0) ? 3.14159265358979323846 : 0.0);
    });
  }
  Vectorized real() const {
    return map([](auto x) {
      if constexpr (is_complex<T>::value) return T(x.real());
      else return x;
    });
  }
  Vectorized imag() const {
    return map([](auto x) {
      if constexpr (is_complex<T>::value) return T(x.imag());
      else return static_cast<decltype(x)>(0);
    });
  }
  Vectorized conj() const {
    return map([](auto x) {
      if constexpr (is_complex<T>::value) return std::conj(x);
      else return x;
    });
  }

  // Rounding; halves go to even numbers.
  Vectorized ceil() const {
    return map([](auto x) { return std::ceil(x); });
  }
  Vectorized floor() const {
    return map([](auto x) { return std::floor(x); });
  }
  Vectorized round() const {
    return map([](auto x) { return std::nearbyint(x); });
  }
  Vectorized trunc() const {
    return map([](auto x) { return std::trunc(x); });
  }
  Vectorized frac() const {
    return map([](auto x) { return x - std::trunc(x); });
  }
  Vectorized fmod(const Vectorized& o) const {
    return map(o, [](auto a, auto b) { return std::fmod(a, b); });
  }

  Vectorized exp() const { return apply<expr::Exp>(); }
  Vectorized exp2() const { return apply<expr::Exp2>(); }
  Vectorized expm1() const { return apply<expr::Expm1>(); }
  Vectorized log() const { return apply<expr::Log>(); }
  Vectorized log2() const { return apply<expr::Log2>(); }
  Vectorized log10() const { return apply<expr::Log10>(); }
  Vectorized log1p() const { return apply<expr::Log1p>(); }
  Vectorized sin() const { return apply<expr::Sin>(); }
  Vectorized cos() const { return apply<expr::Cos>(); }
  Vectorized tan() const { return apply<expr::Tan>(); }
  Vectorized asin() const { return apply<expr::Asin>(); }
  Vectorized acos() const { return apply<expr::Acos>(); }
  Vectorized atan() const { return apply<expr::Atan>(); }
  Vectorized sinh() const { return apply<expr::Sinh>(); }
  Vectorized cosh() const { return apply<expr::Cosh>(); }
  Vectorized tanh() const { return apply<expr::Tanh>(); }
  Vectorized asinh() const { return apply<expr::Asinh>(); }
  Vectorized acosh() const { return apply<expr::Acosh>(); }
  Vectorized atanh() const { return apply<expr::Atanh>(); }
  Vectorized erf() const { return apply<expr::Erf>(); }
  Vectorized erfc() const { return apply<expr::Erfc>(); }
  Vectorized erfinv() const { return apply<expr::Erfinv>(); }
  Vectorized lgamma() const { return apply<expr::Lgamma>(); }
  Vectorized digamma() const { return apply<expr::Digamma>(); }
  Vectorized i0() const { return apply<expr::I0>(); }
  Vectorized i0e() const { return apply<expr::I0e>(); }
  Vectorized sqrt() const {
    return map([](auto x) { return std::sqrt(x); });
  }
  Vectorized exp_u20() const { return exp(); }
  Vectorized reciprocal() const {
    return map([](auto x) { return decltype(x)(1) / x; });
  }
  Vectorized rsqrt() const {
    return map([](auto x) { return decltype(x)(1) / std::sqrt(x); });
  }
  Vectorized igamma(const Vectorized& x) const { return map(x, expr::Igamma()); }
  Vectorized igammac(const Vectorized& x) const { return map(x, expr::Igammac()); }
  Vectorized pow(const Vectorized& o) const {
    return map(o, [](auto a, auto b) { return std::pow(a, b); });
  }
  Vectorized atan2(const Vectorized& o) const { return map(o, expr::Atan2()); }
  Vectorized hypot(const Vectorized& o) const {
    return map(o, [](auto a, auto b) { return std::hypot(a, b); });
  }
  Vectorized nextafter(const Vectorized& o) const {
    return map(o, [](auto a, auto b) { return std::nextafter(a, b); });
  }
  Vectorized copysign(const Vectorized& o) const {
    return map(o, [](auto a, auto b) { return std::copysign(a, b); });
  }

  Vectorized& operator+=(const Vectorized& o) { return *this = *this + o; }
  Vectorized& operator-=(const Vectorized& o) { return *this = *this - o; }
  Vectorized& operator*=(const Vectorized& o) { return *this = *this * o; }
  Vectorized& operator/=(const Vectorized& o) { return *this = *this / o; }
  Vectorized& operator%=(const Vectorized& o) { return *this = *this % o; }
  Vectorized& operator&=(const Vectorized& o) { return *this = *this & o; }
  Vectorized& operator|=(const Vectorized& o) { return *this = *this | o; }
  Vectorized& operator^=(const Vectorized& o) { return *this = *this ^ o; }
  Vectorized& operator<<=(const Vectorized& o) { return *this = *this << o; }
  Vectorized& operator>>=(const Vectorized& o) { return *this = *this >> o; }

  friend Vectorized operator+(const Vectorized& a, const Vectorized& b) {
    return a.map(b, [](auto x, auto y) { return detail::wrapped(x, y, [](auto p, auto q) { return p + q; }); });
  }
  friend Vectorized operator-(const Vectorized& a, const Vectorized& b) {
    return a.map(b, [](auto x, auto y) { return detail::wrapped(x, y, [](auto p, auto q) { return p - q; }); });
  }
  friend Vectorized operator*(const Vectorized& a, const Vectorized& b) {
    return a.map(b, [](auto x, auto y) { return detail::wrapped(x, y, [](auto p, auto q) { return p * q; }); });
  }
  friend Vectorized operator/(const Vectorized& a, const Vectorized& b) {
    return a.map(b, [](auto x, auto y) { return x / y; });
  }
  friend Vectorized operator%(const Vectorized& a, const Vectorized& b) {
    return a.map(b, [](auto x, auto y) { return x % y; });
  }
  friend Vectorized operator-(const Vectorized& a) { return a.neg(); }

  // Of bits, whatever the elements are.
  friend Vectorized operator&(const Vectorized& a, const Vectorized& b) {
    return a.bitwise(b, [](auto x, auto y) { return x & y; });
  }
  friend Vectorized operator|(const Vectorized& a, const Vectorized& b) {
    return a.bitwise(b, [](auto x, auto y) { return x | y; });
  }
  friend Vectorized operator^(const Vectorized& a, const Vectorized& b) {
    return a.bitwise(b, [](auto x, auto y) { return x ^ y; });
  }
  friend Vectorized operator~(const Vectorized& a) {
    return a.bitwise(a, [](auto x, auto) { return ~x; });
  }
  // Of integers. Shifts by less than 0 or by the number of bits or more leave 0, or the sign.
  friend Vectorized operator<<(const Vectorized& a, const Vectorized& b) {
    return a.map(b, [](T x, T by) { return in_range(by) ? static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) << by) : T(0); });
  }
  friend Vectorized operator>>(const Vectorized& a, const Vectorized& b) {
    return a.map(b, [](T x, T by) { return static_cast<T>(in_range(by) ? x >> by : x < T(0) ? -1 : 0); });
  }
  // Of truth: ones and zeros.
  friend Vectorized operator&&(const Vectorized& a, const Vectorized& b) {
    return a.ones_of([](const T& x, const T& y) { return x != T(0) && y != T(0); }, b);
  }
  friend Vectorized operator||(const Vectorized& a, const Vectorized& b) {
    return a.ones_of([](const T& x, const T& y) { return x != T(0) || y != T(0); }, b);
  }
  friend Vectorized operator!(const Vectorized& a) { return a == Vectorized(T(0)); }

  friend std::ostream& operator<<(std::ostream& out, const Vectorized& v) {
    out << "vec[";
    for (int i = 0; i < size(); i++) out << (i == 0 ? "" : ", ") << +detail::widen(v.lanes_[i]);
    return out << "]";
  }

 private:
  // The expression of an operator, for each element.
  template <class Op> Vectorized apply() const {
    return map([](auto x) {
      if constexpr (Op::has_far) {
        if (Op::far(x)) return Op::at_far(x);
      }
      return Op()(x);
    });
  }
  // As one register, which compilers do not make of a copy of as many bytes.
  static void copy_whole(void* target, const void* source) {
    typedef char Register __attribute__((vector_size(kBytes)));
    Register all;
    std::memcpy(&all, source, kBytes);
    std::memcpy(target, &all, kBytes);
  }
  static bool in_range(T by) { return by >= T(0) && by < static_cast<T>(8 * sizeof(T)); }
  template <class U> static auto real_of(int i) {
    if constexpr (is_complex<U>::value) return static_cast<typename U::value_type>(i);
    else if constexpr (detail::is_reduced<U>) return static_cast<float>(i);
    else return static_cast<U>(i);
  }
  template <class F> Vectorized mask_of(F f, const Vectorized& o) const {
    Vectorized out;
    for (int i = 0; i < size(); i++) out.lanes_[i] = detail::bits_if<T>(f(lanes_[i], o.lanes_[i]));
    return out;
  }
  template <class F> Vectorized ones_of(F f, const Vectorized& o) const {
    Vectorized out;
    for (int i = 0; i < size(); i++) out.lanes_[i] = f(lanes_[i], o.lanes_[i]) ? static_cast<T>(1) : static_cast<T>(0);
    return out;
  }
  template <class F> Vectorized bitwise(const Vectorized& o, F f) const {
    Vectorized out;
    for (int i = 0; i < size(); i++) out.lanes_[i] = detail::on_bits(lanes_[i], o.lanes_[i], f);
    return out;
  }

  T lanes_[size()];
};

// NaN where either is. Complex numbers are compared by their absolute values.
template <class T> Vectorized<T> maximum(const Vectorized<T>& a, const Vectorized<T>& b) {
  return a.map(b, [](auto x, auto y) {
    if constexpr (is_complex<T>::value) return detail::is_nan(x) ? x : detail::is_nan(y) || std::abs(y) > std::abs(x) ? y : x;
    else return x != x || x > y ? x : y;
  });
}
template <class T> Vectorized<T> minimum(const Vectorized<T>& a, const Vectorized<T>& b) {
  return a.map(b, [](auto x, auto y) {
    if constexpr (is_complex<T>::value) return detail::is_nan(x) ? x : detail::is_nan(y) || std::abs(y) < std::abs(x) ? y : x;
    else return x != x || x < y ? x : y;
  });
}
// NaN stays.
template <class T> Vectorized<T> clamp_min(const Vectorized<T>& a, const Vectorized<T>& low) {
  return a.map(low, [](auto x, auto y) { return x < y ? y : x; });
}
template <class T> Vectorized<T> clamp_max(const Vectorized<T>& a, const Vectorized<T>& high) {
  return a.map(high, [](auto x, auto y) { return x > y ? y : x; });
}
template <class T> Vectorized<T> clamp(const Vectorized<T>& a, const Vectorized<T>& low, const Vectorized<T>& high) {
  return clamp_max(clamp_min(a, low), high);
}

// a * b + c, a * b - c and c - a * b, rounded once where the instruction set can.
template <class T> Vectorized<T> fmadd(const Vectorized<T>& a, const Vectorized<T>& b, const Vectorized<T>& c) {
#if defined(__FMA__)
  if constexpr (std::is_floating_point<T>::value) {
    Vectorized<T> out;
    for (int i = 0; i < Vectorized<T>::size(); i++) out[i] = std::fma(a[i], b[i], c[i]);
    return out;
  }
#endif
  return a * b + c;
}
template <class T> Vectorized<T> fmsub(const Vectorized<T>& a, const Vectorized<T>& b, const Vectorized<T>& c) { return fmadd(a, b, c.neg()); }
template <class T> Vectorized<T> fnmadd(const Vectorized<T>& a, const Vectorized<T>& b, const Vectorized<T>& c) { return fmadd(a.neg(), b, c); }

// Of pairs of vectors: {a0, b0, a1, b1, ...} in two halves, and back.
template <class T> std::pair<Vectorized<T>, Vectorized<T>> interleave2(const Vectorized<T>& a, const Vectorized<T>& b) {
  constexpr int n = Vectorized<T>::size();
  T lanes[2 * n];
  for (int i = 0; i < n; i++) {
    lanes[2 * i] = a[i];
    lanes[2 * i + 1] = b[i];
  }
  return {Vectorized<T>::loadu(lanes), Vectorized<T>::loadu(lanes + n)};
}
template <class T> std::pair<Vectorized<T>, Vectorized<T>> deinterleave2(const Vectorized<T>& a, const Vectorized<T>& b) {
  constexpr int n = Vectorized<T>::size();
  T lanes[2 * n];
  for (int i = 0; i < n; i++) {
    const int to = i / 2 + (i % 2 == 0 ? 0 : n);
    lanes[to] = a[i];
    lanes[to + n / 2] = b[i];
  }
  return {Vectorized<T>::loadu(lanes), Vectorized<T>::loadu(lanes + n)};
}
// The lanes from the last to the first.
template <class T> Vectorized<T> flip(const Vectorized<T>& v) {
  Vectorized<T> out;
  for (int i = 0; i < v.size(); i++) out[i] = v[v.size() - 1 - i];
  return out;
}

// Elements at base + scale * index bytes; where the mask is not set, those of `otherwise`.
template <int scale = 1, class T> Vectorized<T> gather(const T* base, const Vectorized<int_same_size_t<T>>& index) {
  Vectorized<T> out;
  for (int i = 0; i < out.size(); i++) out[i] = *reinterpret_cast<const T*>(reinterpret_cast<const char*>(base) + scale * index[i]);
  return out;
}
template <int scale = 1, class T>
Vectorized<T> mask_gather(const Vectorized<T>& otherwise, const T* base, const Vectorized<int_same_size_t<T>>& index, const Vectorized<T>& mask) {
  Vectorized<T> out = otherwise;
  for (int i = 0; i < out.size(); i++)
    if (detail::words_of(mask[i])[0] < 0) out[i] = *reinterpret_cast<const T*>(reinterpret_cast<const char*>(base) + scale * index[i]);
  return out;
}

// target[j][i] = source[i][j] for M rows of N elements.
template <class T, int M, int N> void transpose_mxn(const T* source, int64_t source_stride, T* target, int64_t target_stride) {
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) target[j * target_stride + i] = source[i * source_stride + j];
}
template <class T> void transpose_mxn(const T* source, int64_t source_stride, T* target, int64_t target_stride, int m, int n) {
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) target[j * target_stride + i] = source[i * source_stride + j];
}

}  // namespace CRESSET_VEC_NAMESPACE
}  // namespace cresset::vec
