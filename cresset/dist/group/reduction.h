#pragma once
// Inside the room: reductions of tensors as functions of bytes.

#include "cresset/dist/group/types.h"
#include "cresset/dist/transport/engine.h"

namespace cresset::distributed {

// Errors: RuntimeError where the operation is not made for the dtype.
Reduction make_reduction(const char* name, ReduceOp op, ScalarType dtype);

}  // namespace cresset::distributed
