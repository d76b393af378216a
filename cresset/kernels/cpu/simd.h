#pragma once
// Vectors as wide as the instruction set's registers, on the compilers' vector extension; the few operations that it lacks are
// intrinsics with a portable twin. Include it only from kernels/*/cpu/*.cpp.

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <utility>

#include "cresset/base/macros.h"
#include "cresset/base/numbers/complex.h"
#include "cresset/base/numbers/half.h"
#include "cresset/kernels/isa.h"

#if defined(__AVX2__)
// g++ 12 warns about the deliberately undefined operands inside its own intrinsics (bug 105593).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

namespace cresset::kernels::CRESSET_ISA {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T, int n> struct VecOf { typedef T type __attribute__((vector_size(n * sizeof(T)))); };
template <class T, int n = kVectorBytes / static_cast<int>(sizeof(T))> using Vec = typename VecOf<T, n>::type;
template <class T> constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));
template <class V> using Lane = std::remove_cvref_t<decltype(std::declval<V&>()[0])>;

using VecF = Vec<float>;
using VecD = Vec<double>;

template <class V, class T> CRESSET_ALWAYS_INLINE V load_raw(const T* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class T> CRESSET_ALWAYS_INLINE void store_raw(T* p, V v) { std::memcpy(static_cast<void*>(p), &v, sizeof v); }

template <class T> CRESSET_ALWAYS_INLINE Vec<T> splat(T x) { return x - Vec<T>{}; }

// The type that arithmetic on T happens in.
template <class T> struct ComputeType { using type = T; };
template <> struct ComputeType<Half> { using type = float; };
template <> struct ComputeType<BFloat16> { using type = float; };
template <class T> using Compute = typename ComputeType<T>::type;

// kLanes<A> consecutive elements of T as A.
template <class A, class T> CRESSET_ALWAYS_INLINE Vec<A> load(const T* p) {
  constexpr int n = kLanes<A>;
  if constexpr (std::is_same_v<T, A>) {
    return load_raw<Vec<A>>(p);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    static_assert(std::is_same_v<A, float>);
    const auto wide = __builtin_convertvector((load_raw<Vec<uint16_t, n>>(p)), Vec<uint32_t>) << 16;
    return reinterpret_cast<VecF>(wide);
  } else if constexpr (std::is_same_v<T, Half>) {
    static_assert(std::is_same_v<A, float>);
#if defined(__AVX512F__)
    return reinterpret_cast<VecF>(_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
#elif defined(__F16C__)
    return reinterpret_cast<VecF>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#else
    VecF v = {};
    for (int i = 0; i < n; i++) v[i] = ::cresset::detail::half_bits_to_float(p[i].x);
    return v;
#endif
  } else if constexpr (std::is_same_v<T, bool>) {
    return __builtin_convertvector((load_raw<Vec<uint8_t, n>>(p)), Vec<A>);
  } else {
    return __builtin_convertvector((load_raw<Vec<T, n>>(p)), Vec<A>);
  }
}

template <class T> CRESSET_ALWAYS_INLINE void store(T* p, Vec<Compute<T>> v) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    const auto bits = reinterpret_cast<Vec<uint32_t>>(v);
    const auto rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const auto nan = reinterpret_cast<Vec<uint32_t>>(v != v);
    store_raw(p, __builtin_convertvector((rounded & ~nan) | (nan & 0x7fc0u), Vec<uint16_t, kLanes<float>>));
  } else if constexpr (std::is_same_v<T, Half>) {
#if defined(__AVX512F__)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(reinterpret_cast<__m512>(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(__F16C__)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(reinterpret_cast<__m256>(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
    for (int i = 0; i < kLanes<float>; i++) p[i].x = ::cresset::detail::float_to_half_bits(v[i]);
#endif
  } else {
    store_raw(p, v);
  }
}

// The first n < kLanes elements; the other lanes are `fill`.
template <class A, class T> CRESSET_ALWAYS_INLINE Vec<A> load_part(const T* p, int64_t n, A fill) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, A> && sizeof(T) == 4) {
    const auto m = static_cast<__mmask16>((1u << n) - 1);
    return reinterpret_cast<Vec<A>>(_mm512_mask_loadu_epi32(reinterpret_cast<__m512i>(splat(fill)), m, p));
  }
  if constexpr (std::is_same_v<T, A> && sizeof(T) == 8) {
    const auto m = static_cast<__mmask8>((1u << n) - 1);
    return reinterpret_cast<Vec<A>>(_mm512_mask_loadu_epi64(reinterpret_cast<__m512i>(splat(fill)), m, p));
  }
#endif
  T buffer[kLanes<A>] = {};
  for (int64_t i = 0; i < n; i++) buffer[i] = p[i];
  const Vec<A> v = load<A>(buffer);
  A lanes[kLanes<A>];
  store_raw(lanes, v);
  for (int64_t i = n; i < kLanes<A>; i++) lanes[i] = fill;
  return load_raw<Vec<A>>(lanes);
}

template <class T> CRESSET_ALWAYS_INLINE void store_part(T* p, int64_t n, Vec<Compute<T>> v) {
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {
    const __mmask16 m = static_cast<__mmask16>((1u << n) - 1);
    return _mm512_mask_storeu_epi32(p, m, reinterpret_cast<__m512i>(v));
  }
#endif
  T buffer[kLanes<Compute<T>>];
  store(buffer, v);
  for (int64_t i = 0; i < n; i++) p[i] = buffer[i];
}

// a * b + c, rounded once where the hardware can.
CRESSET_ALWAYS_INLINE VecF fma(VecF a, VecF b, VecF c) {
#if defined(__AVX512F__)
  return reinterpret_cast<VecF>(_mm512_fmadd_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), reinterpret_cast<__m512>(c)));
#elif defined(__FMA__)
  return reinterpret_cast<VecF>(_mm256_fmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
#else
  return a * b + c;
#endif
}
CRESSET_ALWAYS_INLINE VecD fma(VecD a, VecD b, VecD c) {
#if defined(__AVX512F__)
  return reinterpret_cast<VecD>(_mm512_fmadd_pd(reinterpret_cast<__m512d>(a), reinterpret_cast<__m512d>(b), reinterpret_cast<__m512d>(c)));
#elif defined(__FMA__)
  return reinterpret_cast<VecD>(_mm256_fmadd_pd(reinterpret_cast<__m256d>(a), reinterpret_cast<__m256d>(b), reinterpret_cast<__m256d>(c)));
#else
  return a * b + c;
#endif
}
CRESSET_ALWAYS_INLINE float fma(float a, float b, float c) {
#if defined(__FMA__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
CRESSET_ALWAYS_INLINE double fma(double a, double b, double c) {
#if defined(__FMA__)
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

// b where a is NaN.
template <class V> CRESSET_ALWAYS_INLINE V max_second(V a, V b) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<V, VecF>) return reinterpret_cast<V>(_mm512_max_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
#elif defined(__AVX2__)
  if constexpr (std::is_same_v<V, VecF>) return reinterpret_cast<V>(_mm256_max_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
#endif
  return a > b ? a : b;
}
template <class V> CRESSET_ALWAYS_INLINE V min_second(V a, V b) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<V, VecF>) return reinterpret_cast<V>(_mm512_min_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
#elif defined(__AVX2__)
  if constexpr (std::is_same_v<V, VecF>) return reinterpret_cast<V>(_mm256_min_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
#endif
  return a < b ? a : b;
}

// Whether any lane of a comparison's result is set.
template <class M> CRESSET_ALWAYS_INLINE bool any_lane(M mask) {
#if defined(__AVX512F__)
  if constexpr (sizeof(M) == 64) {
    const __m512i m = reinterpret_cast<__m512i>(mask);
    return _mm512_test_epi64_mask(m, m) != 0;
  }
#elif defined(__AVX2__)
  if constexpr (sizeof(M) == 32) {
    const __m256i m = reinterpret_cast<__m256i>(mask);
    return !_mm256_testz_si256(m, m);
  }
#endif
  uint64_t words[sizeof(M) / 8], any = 0;
  store_raw(words, mask);
  for (uint64_t w : words) any |= w;
  return any != 0;
}

// shuffle<i0, i1, ...>(a, b): lanes picked from a followed by b.
template <int... i, class V> CRESSET_ALWAYS_INLINE V shuffle(V a, V b) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, i...);
#else
  using Index = Vec<
      std::conditional_t<sizeof(a[0]) == 8, int64_t, std::conditional_t<sizeof(a[0]) == 4, int32_t, std::conditional_t<sizeof(a[0]) == 2, int16_t, int8_t>>>>;
  return __builtin_shuffle(a, b, Index{i...});
#endif
}

// Of every stretch of 2 * half lanes, the lower halves of a's and then of b's, or the upper ones: folding both gives a vector whose
// stretches of `half` lanes stand for a's and then b's.
template <int half, bool upper, class V, int... i> CRESSET_ALWAYS_INLINE V pick_halves(V a, V b, std::integer_sequence<int, i...>) {
  return shuffle<(i / half * 2 * half + i % half + (upper ? half : 0))...>(a, b);
}

// v[0 .. width) with their lanes folded: lane i of the result is the fold of v[i]. width is the number of lanes.
template <int width, int half, class V, class F> CRESSET_ALWAYS_INLINE V fold_many(V* v, F f) {
  if constexpr (half == 0) {
    return v[0];
  } else {
    constexpr auto lanes = std::make_integer_sequence<int, width>{};
#pragma GCC unroll 16
    for (int i = 0; i < half; i++) v[i] = f(pick_halves<half, false>(v[2 * i], v[2 * i + 1], lanes), pick_halves<half, true>(v[2 * i], v[2 * i + 1], lanes));
    return fold_many<width, half / 2>(v, f);
  }
}

template <int half, class V, class F, int... i> CRESSET_ALWAYS_INLINE V fold_step(V v, F f, std::integer_sequence<int, i...> lanes) {
  if constexpr (half == 0) return v;
  else return fold_step<half / 2>(f(v, shuffle<((i + half) % static_cast<int>(sizeof...(i)))...>(v, v)), f, lanes);
}

// Lanes folded in halves: a tree of log2 levels that depends on nothing but the vector's width.
template <class V, class F> CRESSET_ALWAYS_INLINE Lane<V> fold_lanes(V v, F f) {
  constexpr int n = sizeof(V) / sizeof(Lane<V>);
  return fold_step<n / 2>(v, f, std::make_integer_sequence<int, n>{})[0];
}
template <class V> CRESSET_ALWAYS_INLINE Lane<V> sum_lanes(V v) {
  return fold_lanes(v, [](auto a, auto b) { return a + b; });
}

// The nearest integer to x, for |x| < 2^22.
CRESSET_ALWAYS_INLINE VecF round_even(VecF x) {
#if defined(__AVX512F__)
  return reinterpret_cast<VecF>(_mm512_roundscale_ps(reinterpret_cast<__m512>(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
  const VecF magic = splat(12582912.0f);  // 1.5 * 2^23
  return (x + magic) - magic;
#endif
}

// p * 2^n for an integer n in [-150, 130] and p near 1.
CRESSET_ALWAYS_INLINE VecF scale_by_power(VecF p, VecF n) {
#if defined(__AVX512F__)
  return reinterpret_cast<VecF>(_mm512_scalef_ps(reinterpret_cast<__m512>(p), reinterpret_cast<__m512>(n)));
#else
  // In two factors, so that each is normal.
  const Vec<int32_t> i = __builtin_convertvector(n, Vec<int32_t>), half = i >> 1;
  return p * reinterpret_cast<VecF>((half + 127) << 23) * reinterpret_cast<VecF>((i - half + 127) << 23);
#endif
}

// e^x to 1 ulp for any x, NaN included: e^(n ln2 + r) = 2^n p(r), |r| <= ln2 / 2, p of degree 6 (minimax, relative error 3e-9).
CRESSET_ALWAYS_INLINE VecF exp(VecF x) {
  // Beyond these bounds the result is 0 or infinity; the order keeps NaN.
  x = min_second(splat(90.0f), max_second(splat(-104.0f), x));
  const VecF n = round_even(x * splat(1.44269504f));
  const VecF r = fma(n, splat(-0x1.7f7d1cp-20f), fma(n, splat(-0x1.62e4p-1f), x));
  VecF p = splat(0x1.6a2352p-10f);
  p = fma(p, r, splat(0x1.123a6cp-7f));
  p = fma(p, r, splat(0x1.5558f4p-5f));
  p = fma(p, r, splat(0x1.555490p-3f));
  p = fma(p, r, splat(0x1.fffffcp-2f));
  p = fma(p, r, splat(1.0f));
  p = fma(p, r, splat(1.0f));
  return scale_by_power(p, n);
}

// e^x for x <= 0 or NaN, for sums of exponentials: to 2 ulp from -16 on, a relative error below 4e-7 everywhere. Degree 5 (1e-7).
CRESSET_ALWAYS_INLINE VecF exp_nonpositive(VecF x) {
#if !defined(__FMA__)
  return exp(x);  // the reduction below needs products that are not rounded
#else
  x = max_second(splat(-104.0f), x);
  const VecF n = round_even(x * splat(1.44269504f)), r = fma(n, splat(-0x1.62e43p-1f), x);
  VecF p = splat(0x1.10621cp-7f);
  p = fma(p, r, splat(0x1.572adap-5f));
  p = fma(p, r, splat(0x1.5557b0p-3f));
  p = fma(p, r, splat(0x1.fffdfap-2f));
  p = fma(p, r, splat(1.0f));
  p = fma(p, r, splat(1.0f));
  return scale_by_power(p, n);
#endif
}

// The same for double with a polynomial of degree 11 (relative error 3e-19).
CRESSET_ALWAYS_INLINE VecD exp(VecD x) {
  const VecD magic = splat(6755399441055744.0);  // 1.5 * 2^52
  x = min_second(splat(710.0), max_second(splat(-746.0), x));
  const VecD shifted = fma(x, splat(0x1.71547652b82fep+0), magic);
  const VecD n = shifted - magic;
  VecD r = fma(n, splat(-0x1.62e42fefa38p-1), x);
  r = fma(n, splat(-0x1.ef35793c7673p-45), r);
  VecD p = splat(0x1.c3a578a22c8ddp-26);
  for (const double c : {0x1.283d41b20cffcp-22, 0x1.71d49e958001ap-19, 0x1.a01a050e25cb6p-16, 0x1.a01a0450b2882p-13, 0x1.6c16c1640cd7ep-10,
                         0x1.11111110d260ep-7, 0x1.55555555574b0p-5, 0x1.55555555555a1p-3, 0x1.ffffffffffffbp-2, 1.0, 1.0})
    p = fma(p, r, splat(c));
  const Vec<int64_t> i = reinterpret_cast<Vec<int64_t>>(shifted) - reinterpret_cast<Vec<int64_t>>(magic), half = i >> 1;
  const VecD a = reinterpret_cast<VecD>((half + 1023) << 52), b = reinterpret_cast<VecD>((i - half + 1023) << 52);
  return p * a * b;
}

CRESSET_ALWAYS_INLINE VecD exp_nonpositive(VecD x) { return exp(x); }

// The natural logarithm of normal positive numbers to 1 ulp; infinity and NaN stay: ln(2^e m) = e ln2 + 2 atanh((m - 1) / (m + 1)).
CRESSET_ALWAYS_INLINE VecF log(VecF x) {
  using I = Vec<int32_t>;
  // m in [sqrt(1/2), sqrt(2)).
  const I bits = reinterpret_cast<I>(x), e = (bits - 0x3f3504f3) >> 23;
  const VecF m = reinterpret_cast<VecF>(bits - (e << 23)), n = __builtin_convertvector(e, VecF);
  const VecF f = m - splat(1.0f), s = f / (m + splat(1.0f)), z = s * s;
  VecF p = splat(2.0f / 9);
  p = fma(p, z, splat(2.0f / 7));
  p = fma(p, z, splat(2.0f / 5));
  p = fma(p, z, splat(2.0f / 3));
  // 2 s = f - s f, so that the leading term is exact.
  VecF r = fma(s, p * z - f, n * splat(0x1.7f7d1cp-20f)) + f;
  r = fma(n, splat(0x1.62e4p-1f), r);
  const auto finite = x < splat(std::numeric_limits<float>::infinity());
  return finite ? r : x;
}
CRESSET_ALWAYS_INLINE VecD log(VecD x) {
  for (int i = 0; i < kLanes<double>; i++) x[i] = __builtin_log(x[i]);
  return x;
}

// Stores past the caches, for output that will not be read soon. p is aligned to the vector.
template <class T, class V> CRESSET_ALWAYS_INLINE void stream(T* p, V v) {
#if defined(__AVX512F__)
  _mm512_stream_si512(reinterpret_cast<__m512i*>(p), reinterpret_cast<__m512i>(v));
#elif defined(__AVX2__)
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), reinterpret_cast<__m256i>(v));
#else
  store_raw(p, v);
#endif
}
// Orders streamed stores before what follows.
CRESSET_ALWAYS_INLINE void stream_fence() {
#if defined(__AVX2__)
  _mm_sfence();
#endif
}
// Outputs from this size on are streamed: they would only push other data out of the caches.
constexpr int64_t kStreamBytes = int64_t{24} << 20;

}  // namespace cresset::kernels::CRESSET_ISA
