#include "cresset/kernels/layout/cpu/convert.h"

#include <cstring>

#include "cresset/kernels/cpu/simd.h"
#include "cresset/kernels/pointwise/wide_unsigned.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class To, class From> CRESSET_ALWAYS_INLINE To cast(From v) {
  if constexpr (is_complex<From>::value && is_complex<To>::value) return To(v);
  else if constexpr (is_complex<From>::value && std::is_same_v<To, bool>) return v.real() != 0 || v.imag() != 0;
  else if constexpr (is_complex<From>::value) return cast<To>(v.real());
  else if constexpr (is_complex<To>::value) return To(static_cast<typename To::value_type>(v));
  else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) return cast<To>(static_cast<float>(v));
  else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) return To(static_cast<float>(v));
  else if constexpr (std::is_same_v<To, bool>) return v != 0;
  // Out-of-range floats: the low bits of what the hardware's conversion to int32 or int64 gives.
  else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && sizeof(To) < 4) return static_cast<To>(static_cast<int32_t>(v));
  else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, uint32_t>) return static_cast<To>(static_cast<int64_t>(v));
  else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, uint64_t>) {
    constexpr From half_range = 9223372036854775808.0;
    const bool high = v >= half_range;
    return static_cast<uint64_t>(static_cast<int64_t>(high ? v - half_range : v)) ^ (high ? uint64_t{1} << 63 : 0);
  } else return static_cast<To>(v);
}

template <class T> CRESSET_ALWAYS_INLINE void fill(char* dst, int64_t dst_stride, T value, int64_t n) {
  if (dst_stride == sizeof(T)) {
    T* d = reinterpret_cast<T*>(dst);
    for (int64_t i = 0; i < n; i++) d[i] = value;
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    *reinterpret_cast<T*>(dst) = value;
    dst += dst_stride;
    asm volatile("");
  }
}

template <class To, class From> void convert(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) {
  if (dst_stride == sizeof(To) && src_stride == sizeof(From) && n >= 8) {
    To* d = reinterpret_cast<To*>(dst);
    const From* s = reinterpret_cast<const From*>(src);
    int64_t i = 0;
#if defined(__AVX2__)
    // The compiler does not know the instructions that convert float16.
    if constexpr ((std::is_same_v<To, float> && std::is_same_v<From, Half>) || (std::is_same_v<To, Half> && std::is_same_v<From, float>))
      for (; i + kLanes<float> <= n; i += kLanes<float>) store(d + i, load<float>(s + i));
#endif
#pragma GCC ivdep
    for (; i < n; i++) d[i] = cast<To>(s[i]);
    return;
  }
  if (src_stride == 0 && n > 1) {
    const To value = cast<To>(*reinterpret_cast<const From*>(src));
    return fill(dst, dst_stride, value, n);
  }
  for (int64_t i = 0; i < n; i++) {
    *reinterpret_cast<To*>(dst) = cast<To>(*reinterpret_cast<const From*>(src));
    dst += dst_stride, src += src_stride;
    asm volatile("");
  }
}

struct alignas(16) Bytes16 {
  uint64_t a, b;
};

// Same dtype: only the width matters.
template <class T> void move(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) {
  if (dst_stride == sizeof(T) && src_stride == sizeof(T)) {
    std::memcpy(dst, src, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  if (src_stride == 0) return fill(dst, dst_stride, *reinterpret_cast<const T*>(src), n);
  for (int64_t i = 0; i < n; i++) {
    *reinterpret_cast<T*>(dst) = *reinterpret_cast<const T*>(src);
    dst += dst_stride, src += src_stride;
    asm volatile("");
  }
}

template <class To, class From> constexpr Convert loop() {
  if constexpr (left_to_baseline<To> || left_to_baseline<From>) return nullptr;
  else return convert<To, From>;
}

template <class From> Convert to(ScalarType t) {
#define CRESSET_TO(T, Name) loop<T, From>(),
  static constexpr Convert table[] = {CRESSET_FOR_EACH_DTYPE(CRESSET_TO)};
#undef CRESSET_TO
  const int i = static_cast<int>(t);
  return table[t > ScalarType::ComplexHalf ? i - 1 : i];
}

}  // namespace

Convert converter_for(ScalarType from, ScalarType to_type) {
  if (from == to_type) {
    switch (element_size(from)) {
      case 1: return move<uint8_t>;
      case 2: return move<uint16_t>;
      case 4: return move<uint32_t>;
      case 8: return move<uint64_t>;
      default: return move<Bytes16>;
    }
  }
  if (!kIsBaseline && (is_wide_unsigned_type(from) || is_wide_unsigned_type(to_type))) return isa_baseline::converter_for(from, to_type);
  switch (from) {
#define CRESSET_FROM(T, Name) \
  case ScalarType::Name: return to<T>(to_type);
    CRESSET_FOR_EACH_DTYPE(CRESSET_FROM)
#undef CRESSET_FROM
    default: return nullptr;
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
