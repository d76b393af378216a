#pragma once
// The parts that were built, and those that this machine uses.

#include "cresset/base/macros.h"

namespace cresset {

struct BuildInfo {
  const char* version;
  const char* compiler;
  const char* isa;  // the instruction set of the kernels in use: baseline, avx2 or avx512
  bool onednn;      // the provider was found and is in use
};

// Opens the providers to see whether they are there.
CRESSET_API BuildInfo build_info();

// Whether oneDNN may be used where it is there, for the whole process.
CRESSET_API bool onednn_enabled();
CRESSET_API void set_onednn_enabled(bool enabled);
// Whether it is there, used or not.
inline bool onednn_found() {
  const bool before = onednn_enabled();
  set_onednn_enabled(true);
  const bool found = build_info().onednn;
  set_onednn_enabled(before);
  return found;
}

// Whether LAPACK is there, which cresset::linalg needs. Opens it.
CRESSET_API bool lapack_found();

}  // namespace cresset
