#pragma once
// How much groups look at what their ranks do: TORCH_DISTRIBUTED_DEBUG.

#include "cresset/base/macros.h"

namespace cresset::distributed {

enum class DebugLevel { Off = 0, Info = 1, Detail = 2 };
// From the environment at first; groups made later obey.
CRESSET_API DebugLevel debug_level();
CRESSET_API void set_debug_level(DebugLevel level);
// Errors: ValueError for a text other than OFF, INFO and DETAIL.
CRESSET_API void set_debug_level_from_environment();

}  // namespace cresset::distributed
