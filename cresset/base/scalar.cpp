#include "cresset/base/scalar.h"

#include <cmath>
#include <stdexcept>

#include "cresset/base/numbers/complex_math.h"

namespace cresset {

namespace {

// Whether v, finite or not, is representable in the range of integer or float dtype t.
bool fits(double v, ScalarType t) {
  switch (t) {
    case ScalarType::Byte: return v > -256 && v < 256;
    case ScalarType::Char: return v > -129 && v < 128;
    case ScalarType::Short: return v > -32769 && v < 32768;
    case ScalarType::Int: return v > -2147483649.0 && v < 2147483648.0;
    case ScalarType::Long: return v >= -9223372036854775808.0 && v < 9223372036854775808.0;
    case ScalarType::UInt16: return v > -65536 && v < 65536;
    case ScalarType::UInt32: return v > -4294967296.0 && v < 4294967296.0;
    case ScalarType::UInt64: return v > -18446744073709551616.0 && v < 18446744073709551616.0;
    case ScalarType::Half: return !std::isfinite(v) || std::fabs(v) < 65520;
    case ScalarType::BFloat16:
    case ScalarType::Float:
    case ScalarType::ComplexFloat: return !std::isfinite(v) || std::fabs(v) <= 3.4028235677973366e38;
    default: return true;
  }
}

}  // namespace

void Scalar::check_fits(ScalarType t) const {
  if (t == ScalarType::Bool) return;
  bool ok = true;
  // Negative integers wrap in unsigned dtypes, negative fractions do not.
  const bool unsigned_type = is_integral_type(t, false) && !is_signed_type(t);
  if (tag_ == Tag::Double) ok = fits(value_.d[0], t) && !(unsigned_type && value_.d[0] < 0);
  else if (tag_ == Tag::Complex) ok = is_complex_type(t) ? fits(value_.d[0], t) && fits(value_.d[1], t) : value_.d[1] == 0 && fits(value_.d[0], t);
  else if (tag_ == Tag::UInt64) ok = is_integral_type(t, false) ? t == ScalarType::UInt64 : t != ScalarType::Half;
  else if (tag_ == Tag::Int && t != ScalarType::Long && (is_integral_type(t, false) || t == ScalarType::Half)) ok = fits(static_cast<double>(value_.i), t);
  // As LibTorch: not an Error.
  if (CRESSET_UNLIKELY(!ok)) throw std::runtime_error(str("value ", *this, " cannot be converted to type ", t, " without overflow"));
}

Scalar Scalar::log() const {
  if (isComplex()) return std::log(as<complex<double>>());
  return std::log(as<double>());
}

void append_part(std::string& s, const Scalar& v) {
  using detail::append_part;
  switch (v.tag()) {
    case Scalar::Tag::Double: append_part(s, v.as<double>()); break;
    case Scalar::Tag::Bool: append_part(s, v.as<bool>()); break;
    case Scalar::Tag::UInt64: append_part(s, static_cast<unsigned long long>(v.as<uint64_t>())); break;
    case Scalar::Tag::Int: append_part(s, static_cast<long long>(v.as<int64_t>())); break;
    case Scalar::Tag::Complex: {
      const auto c = v.as<complex<double>>();
      s += '(';
      append_part(s, c.real());
      if (!(c.imag() < 0)) s += '+';
      append_part(s, c.imag());
      s += "j)";
    }
  }
}

}  // namespace cresset
