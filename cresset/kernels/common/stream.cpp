#include <unistd.h>

#include <algorithm>
#include <initializer_list>

#include "cresset/kernels/layout/cpu/stream.h"

namespace cresset::kernels {

namespace {

int64_t last_level_cache() {
  for (const int level : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE})
    if (const long bytes = sysconf(level); bytes > 0) return bytes;
  return int64_t{32} << 20;
}

}  // namespace

int64_t stream_threshold() {
  // Virtual machines report the whole socket's cache, of which a process gets a share.
  static const int64_t threshold = std::min(last_level_cache() / 2, int64_t{16} << 20);
  return threshold;
}

void stream_fence() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

}  // namespace cresset::kernels
