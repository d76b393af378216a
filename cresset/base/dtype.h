#pragma once
// Element types, their names and categories, and PyTorch's promotion lattice.

#include <cstddef>
#include <cstdint>

#include "cresset/base/macros.h"
#include "cresset/base/numbers/complex.h"
#include "cresset/base/numbers/half.h"

namespace cresset {

enum class ScalarType : int8_t {
  Byte,
  Char,
  Short,
  Int,
  Long,
  Half,
  Float,
  Double,
  ComplexHalf,
  ComplexFloat,
  ComplexDouble,
  Bool,
  BFloat16,
  UInt16,
  UInt32,
  UInt64,
  Float8_e5m2,
  Float8_e4m3fn,
  Float8_e5m2fnuz,
  Float8_e4m3fnuz,
  Float8_e8m0fnu,
  Undefined,
  NumOptions,
};
using DType = ScalarType;
constexpr int kNumDTypes = static_cast<int>(ScalarType::Undefined);
// Kernels know the dtypes below this number, except complex32.
constexpr int kNumKernelDTypes = static_cast<int>(ScalarType::UInt64) + 1;

constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte, kChar = ScalarType::Char, kInt8 = ScalarType::Char, kShort = ScalarType::Short,
                     kInt16 = ScalarType::Short, kInt = ScalarType::Int, kInt32 = ScalarType::Int, kLong = ScalarType::Long, kInt64 = ScalarType::Long,
                     kHalf = ScalarType::Half, kFloat16 = ScalarType::Half, kFloat = ScalarType::Float, kFloat32 = ScalarType::Float,
                     kDouble = ScalarType::Double, kFloat64 = ScalarType::Double, kComplexHalf = ScalarType::ComplexHalf,
                     kComplexFloat = ScalarType::ComplexFloat, kComplex64 = ScalarType::ComplexFloat, kComplexDouble = ScalarType::ComplexDouble,
                     kComplex128 = ScalarType::ComplexDouble, kBool = ScalarType::Bool, kBFloat16 = ScalarType::BFloat16, kUInt16 = ScalarType::UInt16,
                     kUInt32 = ScalarType::UInt32, kUInt64 = ScalarType::UInt64, kFloat8_e5m2 = ScalarType::Float8_e5m2,
                     kFloat8_e4m3fn = ScalarType::Float8_e4m3fn, kFloat8_e5m2fnuz = ScalarType::Float8_e5m2fnuz, kFloat8_e4m3fnuz = ScalarType::Float8_e4m3fnuz,
                     kFloat8_e8m0fnu = ScalarType::Float8_e8m0fnu;

// X(C++ type, enumerator) for every dtype with kernels, in enumerator order.
// clang-format off
#define CRESSET_FOR_EACH_DTYPE(X)                                                                                                  \
  X(uint8_t, Byte) X(int8_t, Char) X(int16_t, Short) X(int32_t, Int) X(int64_t, Long) X(::cresset::Half, Half) X(float, Float)     \
  X(double, Double) X(::cresset::complex<float>, ComplexFloat) X(::cresset::complex<double>, ComplexDouble) X(bool, Bool)          \
  X(::cresset::BFloat16, BFloat16) X(uint16_t, UInt16) X(uint32_t, UInt32) X(uint64_t, UInt64)
// clang-format on

template <class T> struct CppTypeToScalarType;
template <ScalarType S> struct ScalarTypeToCpp;
#define CRESSET_MAP_DTYPE(T, Name)                                                                     \
  template <> struct CppTypeToScalarType<T> { static constexpr ScalarType value = ScalarType::Name; }; \
  template <> struct ScalarTypeToCpp<ScalarType::Name> { using type = T; };
CRESSET_FOR_EACH_DTYPE(CRESSET_MAP_DTYPE)
CRESSET_MAP_DTYPE(::cresset::complex<::cresset::Half>, ComplexHalf)
template <class T> constexpr ScalarType dtype_of = CppTypeToScalarType<T>::value;

namespace detail {
constexpr uint8_t kElementSizes[kNumDTypes + 1] = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 2, 2, 4, 8, 1, 1, 1, 1, 1, 0};
}

constexpr size_t element_size(ScalarType t) { return detail::kElementSizes[static_cast<int>(t)]; }
constexpr size_t elementSize(ScalarType t) { return element_size(t); }
constexpr bool is_complex_type(ScalarType t) { return t >= ScalarType::ComplexHalf && t <= ScalarType::ComplexDouble; }
constexpr bool is_float8_type(ScalarType t) { return t >= ScalarType::Float8_e5m2 && t < ScalarType::Undefined; }
constexpr bool is_floating_type(ScalarType t) { return (t >= ScalarType::Half && t <= ScalarType::Double) || t == ScalarType::BFloat16 || is_float8_type(t); }
// Dtypes that tensors store and kernels do not compute on: operators convert to the dtype of `compute_type` and back.
constexpr bool is_storage_type(ScalarType t) { return t == ScalarType::ComplexHalf || is_float8_type(t); }
constexpr ScalarType compute_type(ScalarType t) { return t == ScalarType::ComplexHalf ? ScalarType::ComplexFloat : is_float8_type(t) ? ScalarType::Float : t; }
constexpr bool is_integral_type(ScalarType t, bool include_bool) {
  return t <= ScalarType::Long || (t >= ScalarType::UInt16 && t <= ScalarType::UInt64) || (include_bool && t == ScalarType::Bool);
}
constexpr bool isComplexType(ScalarType t) { return is_complex_type(t); }
constexpr bool isFloatingType(ScalarType t) { return is_floating_type(t); }
constexpr bool isIntegralType(ScalarType t, bool include_bool) { return is_integral_type(t, include_bool); }
constexpr bool is_signed_type(ScalarType t) {
  return t != ScalarType::Byte && t != ScalarType::Bool && !(t >= ScalarType::UInt16 && t <= ScalarType::UInt64) && t != ScalarType::Float8_e8m0fnu;
}
// Whether a tensor of this dtype can require gradients.
constexpr bool is_differentiable_type(ScalarType t) { return is_floating_type(t) || is_complex_type(t); }

// "float32", "int64", ...: the name used in messages and in Python.
CRESSET_API const char* dtype_name(ScalarType t);
// LibTorch's spelling: "Float", "Long", ...
CRESSET_API const char* toString(ScalarType t);

// The dtype that both promote to; NumPy-like lattice as documented in PyTorch's "tensor attributes" page.
CRESSET_API ScalarType promote_types(ScalarType a, ScalarType b);
inline ScalarType promoteTypes(ScalarType a, ScalarType b) { return promote_types(a, b); }
// Whether `from` may be cast to `to` in place: complex->real, float->integer and anything->bool may not.
CRESSET_API bool can_cast(ScalarType from, ScalarType to);
// float32 for complex64, float64 for complex128; other dtypes unchanged.
constexpr ScalarType to_real_type(ScalarType t) {
  return t == ScalarType::ComplexFloat    ? ScalarType::Float
         : t == ScalarType::ComplexDouble ? ScalarType::Double
         : t == ScalarType::ComplexHalf   ? ScalarType::Half
                                          : t;
}
constexpr ScalarType toRealValueType(ScalarType t) { return to_real_type(t); }
constexpr ScalarType to_complex_type(ScalarType t) {
  return t == ScalarType::Double ? ScalarType::ComplexDouble
         : t == ScalarType::Half ? ScalarType::ComplexHalf
         : is_complex_type(t)    ? t
                                 : ScalarType::ComplexFloat;
}

}  // namespace cresset
