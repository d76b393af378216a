#pragma once
// The dtype of new floating-point tensors.

#include "cresset/base/dtype.h"

namespace cresset {

CRESSET_API ScalarType get_default_dtype();
// Errors: ScalarType::Undefined. Where the default is no floating dtype, floating numbers are converted to it.
CRESSET_API void set_default_dtype(ScalarType t);

}  // namespace cresset
