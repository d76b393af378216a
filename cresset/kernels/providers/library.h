#pragma once
// Where providers, the shared libraries that are opened at first use, are found.

#include "cresset/base/macros.h"

namespace cresset::kernels {

// The handle of the library of this name: beside the object that holds this function, else wherever the loader finds it; null where it is not.
CRESSET_API void* open_provider(const char* name);

}  // namespace cresset::kernels
