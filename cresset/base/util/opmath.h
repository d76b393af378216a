#pragma once
// The type in which a kernel computes: single precision for the reduced types, else the type itself.

#include "cresset/base/dtype.h"
#include "cresset/base/numbers/complex.h"
#include "cresset/base/numbers/float8.h"
#include "cresset/base/numbers/half.h"

namespace cresset {

template <class T> struct OpMathType { using type = T; };
template <> struct OpMathType<Half> { using type = float; };
template <> struct OpMathType<BFloat16> { using type = float; };
template <> struct OpMathType<Float8_e4m3fn> { using type = float; };
template <> struct OpMathType<Float8_e4m3fnuz> { using type = float; };
template <> struct OpMathType<Float8_e5m2> { using type = float; };
template <> struct OpMathType<Float8_e5m2fnuz> { using type = float; };
template <> struct OpMathType<complex<Half>> { using type = complex<float>; };
template <class T> using opmath_type = typename OpMathType<T>::type;

inline ScalarType toOpMathType(ScalarType t) {
  switch (t) {
    case ScalarType::Half:
    case ScalarType::BFloat16:
    case ScalarType::Float8_e4m3fn:
    case ScalarType::Float8_e4m3fnuz:
    case ScalarType::Float8_e5m2:
    case ScalarType::Float8_e5m2fnuz: return ScalarType::Float;
    case ScalarType::ComplexHalf: return ScalarType::ComplexFloat;
    default: return t;
  }
}

}  // namespace cresset
