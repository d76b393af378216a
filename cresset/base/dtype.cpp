#include "cresset/base/dtype.h"

#include "cresset/base/error.h"

namespace cresset {

namespace {

constexpr const char* kNames[kNumDTypes + 1] = {
    "uint8", "int8",     "int16",  "int32",  "int64",  "float16",     "float32",       "float64",         "complex32",       "complex64",      "complex128",
    "bool",  "bfloat16", "uint16", "uint32", "uint64", "float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz", "float8_e8m0fnu", "undefined"};
constexpr const char* kTorchNames[kNumDTypes + 1] = {
    "Byte", "Char",     "Short",  "Int",    "Long",   "Half",        "Float",         "Double",          "ComplexHalf",     "ComplexFloat",   "ComplexDouble",
    "Bool", "BFloat16", "UInt16", "UInt32", "UInt64", "Float8_e5m2", "Float8_e4m3fn", "Float8_e5m2fnuz", "Float8_e4m3fnuz", "Float8_e8m0fnu", "Undefined"};

constexpr bool is_wide_unsigned(ScalarType t) { return t >= ScalarType::UInt16 && t <= ScalarType::UInt64; }

}  // namespace

const char* dtype_name(ScalarType t) { return kNames[static_cast<int>(t)]; }
const char* toString(ScalarType t) { return kTorchNames[static_cast<int>(t)]; }

ScalarType promote_types(ScalarType a, ScalarType b) {
  using S = ScalarType;
  if (a == b) return a;
  if (a == S::Undefined || b == S::Undefined) return S::Undefined;
  CRESSET_CHECK(!is_float8_type(a) && !is_float8_type(b), "float8 dtypes have no promotion, got ", toString(a), " and ", toString(b));
  if (is_wide_unsigned(a) || is_wide_unsigned(b)) {
    const S other = is_wide_unsigned(a) ? b : a;
    CRESSET_CHECK(is_floating_type(other), "promotion for ", a, " and ", b, " is not defined: uint16, uint32 and uint64 only promote with ",
                  "floating dtypes; cast one of them first");
    return other;
  }
  if (a == S::Bool) return b;
  if (b == S::Bool) return a;
  if (is_complex_type(a) || is_complex_type(b)) {
    if (!is_complex_type(a)) {
      const S t = a;
      a = b;
      b = t;
    }
    if (is_complex_type(b)) return a > b ? a : b;
    if (is_integral_type(b, false)) return a;
    const S as_complex = b == S::BFloat16 || b == S::Float ? S::ComplexFloat : to_complex_type(b);
    return a > as_complex ? a : as_complex;
  }
  if (is_floating_type(a) || is_floating_type(b)) {
    if (!is_floating_type(a)) return b;
    if (!is_floating_type(b)) return a;
    if (a == S::Double || b == S::Double) return S::Double;
    return S::Float;  // float with anything, and half with bfloat16
  }
  // Signed integers and uint8.
  if (a == S::Byte || b == S::Byte) {
    const S other = a == S::Byte ? b : a;
    return other == S::Char ? S::Short : other;
  }
  return a > b ? a : b;
}

bool can_cast(ScalarType from, ScalarType to) {
  if (is_complex_type(from) && !is_complex_type(to)) return false;
  if (is_floating_type(from) && is_integral_type(to, false)) return false;
  if (from != ScalarType::Bool && to == ScalarType::Bool) return false;
  return true;
}

}  // namespace cresset
