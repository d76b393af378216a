#pragma once
// Shared by all scalar expressions. An expression is a stateless struct whose operator() takes the inputs and then the op's
// scalars, all in the compute type (half types never reach it: they compute in float), and works on host and device.

#include <limits>
#include <type_traits>

#include "cresset/base/dtype.h"
#include "cresset/base/macros.h"
#include "cresset/base/numbers/complex.h"
#include "cresset/kernels/pointwise/wide_unsigned.h"

#ifdef __CUDACC__
#define CRESSET_EXPR __host__ __device__ __forceinline__
#else
#define CRESSET_EXPR CRESSET_ALWAYS_INLINE
#endif

namespace cresset::kernels {

// The dtype that a loop writes: the compute dtype, bool, or the real dtype that belongs to a complex compute dtype.
enum class Out : uint8_t { same, boolean, real };

}  // namespace cresset::kernels

namespace cresset::kernels::expr {

using S = ScalarType;
constexpr uint32_t bit(ScalarType t) { return 1u << static_cast<int>(t); }
constexpr uint32_t kBools = bit(S::Bool);
constexpr uint32_t kInts = bit(S::Byte) | bit(S::Char) | bit(S::Short) | bit(S::Int) | bit(S::Long) | bit(S::UInt16) | bit(S::UInt32) | bit(S::UInt64);
constexpr uint32_t kFloats = bit(S::Half) | bit(S::BFloat16) | bit(S::Float) | bit(S::Double);
constexpr uint32_t kComplexes = bit(S::ComplexFloat) | bit(S::ComplexDouble);
constexpr uint32_t kWideUnsigned = bit(S::UInt16) | bit(S::UInt32) | bit(S::UInt64);
constexpr uint32_t kReals = kInts | kFloats;
constexpr uint32_t kAll = kBools | kInts | kFloats | kComplexes;

// Dtypes that share one loop: none; signed integers use the unsigned loop of their width; everything of one width uses one loop.
enum class Share { none, wrapping, width };

// The facts about an expression that loops and tables need: base class of each.
template <int num_inputs, int num_params, uint32_t dtype_set, Out out_kind = Out::same, int mask_input = -1> struct Signature {
  static constexpr int inputs = num_inputs, params = num_params, mask = mask_input;
  static constexpr uint32_t dtypes = dtype_set;
  static constexpr Out out = out_kind;
  static constexpr Share share = Share::none;
  static constexpr bool heavy = false;                    // worth packing strided data for its vectorised contiguous loop
  template <class T> static constexpr bool simd = false;  // also takes registers of T (kernels/gemm/cpu/pack.h)
  static constexpr bool has_far = false;                  // far(x) tells where operator() does not apply and at_far(x) does
  static constexpr bool native_low = false;               // takes Half and BFloat16 themselves instead of float
};

struct alignas(16) Bytes16 {
  uint64_t low, high;
};

template <Share share, class T> constexpr auto shared_type() {
  if constexpr (share == Share::width) {
    if constexpr (sizeof(T) == 1) return uint8_t{};
    else if constexpr (sizeof(T) == 2) return uint16_t{};
    else if constexpr (sizeof(T) == 4) return uint32_t{};
    else if constexpr (sizeof(T) == 8) return uint64_t{};
    else return Bytes16{};
  } else if constexpr (share == Share::wrapping && std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return std::make_unsigned_t<T>{};
  } else {
    return T{};
  }
}
// The type whose loop serves T.
template <class E, class T> using LoopType = decltype(shared_type<E::share, T>());
// A loop that no signed type shares and that the baseline emits for every instruction set.
template <class E, class T> constexpr bool is_baseline_loop() {
  if constexpr (is_wide_unsigned<T>) return !std::is_same_v<LoopType<E, std::make_signed_t<T>>, T>;
  else return false;
}

template <class T> constexpr bool is_low = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T> constexpr bool is_bool = std::is_same_v<T, bool>;
template <class T> constexpr bool is_float = std::is_floating_point_v<T>;
template <class T> constexpr bool is_int = std::is_integral_v<T> && !is_bool<T>;
template <class T> constexpr bool is_cplx = is_complex<T>::value;

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__CUDACC__)
constexpr bool has_fma = true;
#else
constexpr bool has_fma = false;
#endif

// a * b + c: rounded once where the hardware can.
CRESSET_EXPR float fma(float a, float b, float c) {
  if constexpr (has_fma) return __builtin_fmaf(a, b, c);
  else return a * b + c;
}
CRESSET_EXPR double fma(double a, double b, double c) {
  if constexpr (has_fma) return __builtin_fma(a, b, c);
  else return a * b + c;
}

template <class T> CRESSET_EXPR T select(bool cond, T a, T b) { return cond ? a : b; }

// Raises the error of an integer division by zero.
[[noreturn]] void zero_division();

// Unsigned arithmetic that wraps: also keeps narrow types from overflowing int after promotion.
template <class T> using Wrap = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<std::conditional_t<is_bool<T>, uint8_t, T>>>;

}  // namespace cresset::kernels::expr
