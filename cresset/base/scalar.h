#pragma once
// A number of any category with its own tag: what `alpha` and `x * 2` carry.

#include "cresset/base/dtype.h"
#include "cresset/base/error.h"

namespace cresset {

class SymInt;

class Scalar {
 public:
  enum class Tag : uint8_t { Double, Int, Bool, Complex, UInt64 };

  Scalar() : Scalar(int64_t{0}) {}
  Scalar(bool v) : tag_(Tag::Bool) { value_.i = v; }
  Scalar(double v) : tag_(Tag::Double) {
    value_.d[0] = v;
    value_.d[1] = 0;
  }
  Scalar(float v) : Scalar(static_cast<double>(v)) {}
  Scalar(Half v) : Scalar(static_cast<float>(v)) {}
  Scalar(BFloat16 v) : Scalar(static_cast<float>(v)) {}
  Scalar(int64_t v) : tag_(Tag::Int) { value_.i = v; }
  Scalar(int v) : Scalar(static_cast<int64_t>(v)) {}
  Scalar(long long v) : Scalar(static_cast<int64_t>(v)) {}
  Scalar(int16_t v) : Scalar(static_cast<int64_t>(v)) {}
  Scalar(int8_t v) : Scalar(static_cast<int64_t>(v)) {}
  Scalar(uint8_t v) : Scalar(static_cast<int64_t>(v)) {}
  Scalar(uint16_t v) : Scalar(static_cast<int64_t>(v)) {}
  Scalar(uint32_t v) : Scalar(static_cast<int64_t>(v)) {}
  Scalar(uint64_t v) : tag_(v > static_cast<uint64_t>(INT64_MAX) ? Tag::UInt64 : Tag::Int) { value_.u = v; }
  Scalar(complex<double> v) : tag_(Tag::Complex) {
    value_.d[0] = v.real();
    value_.d[1] = v.imag();
  }
  Scalar(complex<float> v) : Scalar(complex<double>(v)) {}
  Scalar(complex<Half> v) : Scalar(complex<double>(static_cast<float>(v.real()), static_cast<float>(v.imag()))) {}
  template <class C, class V = typename detail::StdComplexValue<C>::type> Scalar(const C& v) : Scalar(complex<double>(v.real(), v.imag())) {}

  Tag tag() const { return tag_; }
  bool isFloatingPoint() const { return tag_ == Tag::Double; }
  bool isIntegral(bool include_bool) const { return tag_ == Tag::Int || tag_ == Tag::UInt64 || (include_bool && tag_ == Tag::Bool); }
  bool isBoolean() const { return tag_ == Tag::Bool; }
  bool isComplex() const { return tag_ == Tag::Complex; }
  bool isSymbolic() const { return false; }
  bool isSymInt() const { return false; }
  bool isSymFloat() const { return false; }
  bool isSymBool() const { return false; }
  // The dtype whose category this number has: bool, int64, uint64, float64 or complex128.
  ScalarType type() const {
    switch (tag_) {
      case Tag::Double: return ScalarType::Double;
      case Tag::Int: return ScalarType::Long;
      case Tag::Bool: return ScalarType::Bool;
      case Tag::UInt64: return ScalarType::UInt64;
      default: return ScalarType::ComplexDouble;
    }
  }

  // Plain conversion without a range check, as kernels need it: complex keeps its real part, bool is `!= 0`.
  template <class T> T as() const { return convert<T>(std::is_same<T, bool>{}, is_complex<T>{}); }
  // As `as`, but raises if the value overflows T.
  template <class T> T to() const {
    check_fits(dtype_of<T>);
    return as<T>();
  }
  float toFloat() const { return to<float>(); }
  double toDouble() const { return to<double>(); }
  int64_t toLong() const { return to<int64_t>(); }
  int toInt() const { return to<int>(); }
  bool toBool() const { return as<bool>(); }
  uint8_t toByte() const { return to<uint8_t>(); }
  int8_t toChar() const { return to<int8_t>(); }
  int16_t toShort() const { return to<int16_t>(); }
  uint16_t toUInt16() const { return to<uint16_t>(); }
  uint32_t toUInt32() const { return to<uint32_t>(); }
  uint64_t toUInt64() const { return to<uint64_t>(); }
  Half toHalf() const { return Half(to_reduced(ScalarType::Half)); }
  BFloat16 toBFloat16() const { return BFloat16(to_reduced(ScalarType::BFloat16)); }
  complex<Half> toComplexHalf() const {
    const auto z = toComplexFloat();
    return {Half(z.real()), Half(z.imag())};
  }
  complex<float> toComplexFloat() const { return to<complex<float>>(); }
  complex<double> toComplexDouble() const { return as<complex<double>>(); }
  SymInt toSymInt() const;  // cresset/base/sym_int.h

  Scalar operator-() const {
    switch (tag_) {
      case Tag::Double: return -value_.d[0];
      case Tag::Complex: return complex<double>(-value_.d[0], -value_.d[1]);
      default: return -value_.i;
    }
  }
  Scalar conj() const { return tag_ == Tag::Complex ? Scalar(complex<double>(value_.d[0], -value_.d[1])) : *this; }
  Scalar log() const;
  // Whether the number is v exactly; truth values are 1 and 0.
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>> bool is(T v) const {
    if (tag_ == Tag::Complex && value_.d[1] != 0) return false;
    if (tag_ == Tag::Complex || tag_ == Tag::Double) return value_.d[0] == static_cast<double>(v);
    if constexpr (std::is_floating_point<T>::value) return as<double>() == static_cast<double>(v);
    else if (v < T(0)) return tag_ != Tag::UInt64 && value_.i == static_cast<int64_t>(v);
    else return (tag_ == Tag::UInt64 || value_.i >= 0) && value_.u == static_cast<uint64_t>(v);
  }
  // The same, but that truth values equal truth values alone.
  template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>> bool equal(T v) const {
    return std::is_same<T, bool>::value == (tag_ == Tag::Bool) && is(v);
  }
  template <class T> bool equal(const complex<T>& v) const {
    if (tag_ == Tag::Bool) return false;
    const auto z = as<complex<double>>();
    return z.real() == static_cast<double>(v.real()) && z.imag() == static_cast<double>(v.imag());
  }

 private:
  template <class T> T convert(std::true_type, std::false_type) const {
    return tag_ == Tag::Double ? value_.d[0] != 0 : tag_ == Tag::Complex ? value_.d[0] != 0 || value_.d[1] != 0 : value_.i != 0;
  }
  template <class T> T convert(std::false_type, std::true_type) const {
    using V = typename T::value_type;
    return tag_ == Tag::Complex ? T(static_cast<V>(value_.d[0]), static_cast<V>(value_.d[1])) : T(as<V>(), V(0));
  }
  template <class T> T convert(std::false_type, std::false_type) const {
    switch (tag_) {
      case Tag::Double:
      case Tag::Complex: return cast<T>(value_.d[0]);
      case Tag::UInt64: return static_cast<T>(value_.u);
      default: return static_cast<T>(value_.i);
    }
  }
  // Float to integer goes through int64: narrower casts of out-of-range values would be undefined.
  template <class T> static T cast(double v) {
    if constexpr (std::is_integral<T>::value && !std::is_same<T, uint64_t>::value && !std::is_same<T, int64_t>::value)
      return static_cast<T>(static_cast<int64_t>(v));
    else return static_cast<T>(v);
  }
  CRESSET_API void check_fits(ScalarType t) const;
  float to_reduced(ScalarType t) const {
    check_fits(t);
    return as<float>();
  }

  union {
    double d[2];
    int64_t i;
    uint64_t u;
  } value_;
  Tag tag_;
};

CRESSET_API void append_part(std::string& s, const Scalar& v);

}  // namespace cresset
