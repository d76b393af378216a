#pragma once
// uint16, uint32 and uint64 are stored and converted more than computed with: the baseline's loops serve them on every instruction set,
// except where signed integers share them.

#include <cstdint>
#include <type_traits>

#include "cresset/base/dtype.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {

namespace isa_baseline {
inline constexpr bool kIsBaseline = true;
}
namespace isa_avx2 {
inline constexpr bool kIsBaseline = false;
}
namespace isa_avx512 {
inline constexpr bool kIsBaseline = false;
}

template <class T> constexpr bool is_wide_unsigned = std::is_same_v<T, uint16_t> || std::is_same_v<T, uint32_t> || std::is_same_v<T, uint64_t>;
constexpr bool is_wide_unsigned_type(ScalarType t) { return t >= ScalarType::UInt16 && t <= ScalarType::UInt64; }

}  // namespace cresset::kernels

#ifdef CRESSET_ISA
namespace cresset::kernels::CRESSET_ISA {
template <class T> constexpr bool left_to_baseline = !kIsBaseline && is_wide_unsigned<T>;
}
#endif
