#pragma once
// The dtype of new floating-point tensors.

#include "cresset/base/dtype.h"

namespace cresset {

CRESSET_API ScalarType get_default_dtype();
// Errors: a dtype that is not floating point.
CRESSET_API void set_default_dtype(ScalarType t);

}  // namespace cresset
