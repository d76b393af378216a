#pragma once
// One source, three builds: each file of kernels/*/cpu is compiled once per instruction set with CRESSET_ISA naming the
// namespace it defines its kernels in. The set to use is chosen once at start; CRESSET_ISA=baseline|avx2|avx512 in the
// environment forces a lower one.
//
//   header (kernels/foo/cpu/foo.h):   CRESSET_DECLARE_KERNEL(void, foo, (const float* x, float* y, int64_t n))
//   source (kernels/foo/cpu/foo.cpp): namespace cresset::kernels::CRESSET_ISA { void foo(const float* x, float* y, int64_t n) {...} }
//   caller:                       kernels::call(kernels::foo_stub)(x, y, n)   or   kernels::foo_stub[active_isa()](x, y, n)

#include "cresset/base/macros.h"

namespace cresset::kernels {

enum class Isa : int { baseline, avx2, avx512 };

namespace detail {
extern int g_isa;
}

// Index into a kernel stub: what the CPU offers, or what the environment forces.
inline int active_isa() { return detail::g_isa; }
const char* isa_name();

}  // namespace cresset::kernels

// A build without the extra instruction sets (ARM, say) defines CRESSET_SINGLE_ISA and every slot holds the baseline.
#ifdef CRESSET_SINGLE_ISA
#define CRESSET_DECLARE_KERNEL(R, name, args)                                                              \
  namespace cresset::kernels {                                                                             \
  namespace isa_baseline {                                                                                 \
  R name args;                                                                                             \
  }                                                                                                        \
  inline constexpr R(*name##_stub[3]) args = {isa_baseline::name, isa_baseline::name, isa_baseline::name}; \
  }
#define CRESSET_DECLARE_AVX2_KERNEL(R, name, args) CRESSET_DECLARE_KERNEL(R, name, args)
#else
#define CRESSET_DECLARE_KERNEL(R, name, args)                                                        \
  namespace cresset::kernels {                                                                       \
  namespace isa_baseline {                                                                           \
  R name args;                                                                                       \
  }                                                                                                  \
  namespace isa_avx2 {                                                                               \
  R name args;                                                                                       \
  }                                                                                                  \
  namespace isa_avx512 {                                                                             \
  R name args;                                                                                       \
  }                                                                                                  \
  inline constexpr R(*name##_stub[3]) args = {isa_baseline::name, isa_avx2::name, isa_avx512::name}; \
  }
// Of a source that wider vectors do not help and that is not compiled for AVX-512 (cmake/Kernels.cmake).
#define CRESSET_DECLARE_AVX2_KERNEL(R, name, args)                                                 \
  namespace cresset::kernels {                                                                     \
  namespace isa_baseline {                                                                         \
  R name args;                                                                                     \
  }                                                                                                \
  namespace isa_avx2 {                                                                             \
  R name args;                                                                                     \
  }                                                                                                \
  inline constexpr R(*name##_stub[3]) args = {isa_baseline::name, isa_avx2::name, isa_avx2::name}; \
  }
#endif

namespace cresset::kernels {
// The build of a kernel that fits this CPU.
template <class Fn> CRESSET_ALWAYS_INLINE Fn call(Fn const (&stub)[3]) { return stub[active_isa()]; }
}  // namespace cresset::kernels
