#pragma once
// The five 8-bit floating dtypes and their conversion to and from float. They are stored, not computed on.

#include <cstdint>

#include "cresset/base/dtype.h"

namespace cresset {

// Round to nearest, ties to even. Beyond the largest number: itself for e4m3fn, infinity for e5m2, NaN for the others.
CRESSET_API uint8_t float_to_float8(float value, ScalarType format);
CRESSET_API float float8_to_float(uint8_t code, ScalarType format);

}  // namespace cresset
