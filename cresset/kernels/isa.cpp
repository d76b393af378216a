#include "cresset/kernels/isa.h"

#include <cstdlib>
#include <cstring>

namespace cresset::kernels {

namespace {

constexpr const char* kNames[] = {"baseline", "avx2", "avx512"};

int best_isa() {
#if defined(__x86_64__) && !defined(CRESSET_SINGLE_ISA)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16");
  return avx2 && avx512 ? 2 : avx2 ? 1 : 0;
#else
  return 0;
#endif
}

int choose_isa() {
  const int best = best_isa();
  if (const char* wanted = std::getenv("CRESSET_ISA"))
    for (int i = 0; i <= best; i++)
      if (!std::strcmp(wanted, kNames[i])) return i;
  return best;
}

}  // namespace

namespace detail {
int g_isa = choose_isa();
}

const char* isa_name() { return kNames[active_isa()]; }

}  // namespace cresset::kernels
