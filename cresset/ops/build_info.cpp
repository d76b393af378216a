#include "cresset/ops/build_info.h"

#include "cresset/kernels/isa.h"
#include "cresset/kernels/providers/lapack.h"
#include "cresset/kernels/providers/onednn.h"

namespace cresset {

BuildInfo build_info() {
#ifdef __clang__
  const char* compiler = __VERSION__;
#else
  const char* compiler = "GCC " __VERSION__;
#endif
  return {CRESSET_VERSION, compiler, kernels::isa_name(), kernels::onednn() != nullptr};
}

bool onednn_enabled() { return kernels::onednn_enabled(); }

void set_onednn_enabled(bool enabled) { kernels::set_onednn_enabled(enabled); }

bool lapack_found() { return kernels::lapack() != nullptr; }

}  // namespace cresset
