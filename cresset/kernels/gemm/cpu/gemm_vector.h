#pragma once
// Vectors of one instruction set in GCC's extension, with partial loads and stores, widening loads and transposition.

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cresset/base/dtype.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels::CRESSET_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class P, int Bytes = kVectorBytes> struct VectorOf { typedef P type __attribute__((vector_size(Bytes))); };
template <class P> using Vector = typename VectorOf<P>::type;
template <class P> constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(P));

// f(0), ..., f(N - 1) with compile-time arguments.
template <int N, class F> CRESSET_ALWAYS_INLINE void unroll(F&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) { (f(std::integral_constant<int, I>{}), ...); }
  (std::make_integer_sequence<int, N>{});
}

template <class P> CRESSET_ALWAYS_INLINE Vector<P> load(const P* p) {
  Vector<P> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class P> CRESSET_ALWAYS_INLINE void store(P* p, Vector<P> v) { std::memcpy(p, &v, sizeof v); }

// Storage elements as a vector of the compute type.
template <class P, class S> CRESSET_ALWAYS_INLINE Vector<P> load_as(const S* p) {
  if constexpr (std::is_same_v<S, P>) {
    return load(p);
  } else if constexpr (std::is_same_v<S, BFloat16>) {
    typename VectorOf<uint16_t, kVectorBytes / 2>::type bits;
    std::memcpy(&bits, p, sizeof bits);
    return reinterpret_cast<Vector<float>>(__builtin_convertvector(bits, Vector<uint32_t>) << 16);
  } else if constexpr (std::is_same_v<S, Half>) {
#if defined(__AVX512F__)
    return reinterpret_cast<Vector<float>>(_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
#elif defined(__AVX2__)
    return reinterpret_cast<Vector<float>>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#else
    Vector<P> v{};
    for (int i = 0; i < kLanes<P>; i++) v[i] = p[i];
    return v;
#endif
  } else {
    typename VectorOf<S, kVectorBytes / static_cast<int>(sizeof(P) / sizeof(S))>::type narrow;
    std::memcpy(&narrow, p, sizeof narrow);
    return __builtin_convertvector(narrow, Vector<P>);
  }
}

// The first `count` (1 .. lanes) elements, zeros after them; memory beyond is not touched.
template <class P> CRESSET_ALWAYS_INLINE Vector<P> load_some(const P* p, int count) {
#if defined(__AVX512F__)
  if constexpr (sizeof(P) == 4) return reinterpret_cast<Vector<P>>(_mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << count) - 1), p));
  if constexpr (sizeof(P) == 8) return reinterpret_cast<Vector<P>>(_mm512_maskz_loadu_epi64(static_cast<__mmask8>((1u << count) - 1), p));
  if constexpr (sizeof(P) == 2) return reinterpret_cast<Vector<P>>(_mm512_maskz_loadu_epi16(static_cast<__mmask32>((uint64_t{1} << count) - 1), p));
#elif defined(__AVX2__)
  if constexpr (sizeof(P) == 4) {
    const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return reinterpret_cast<Vector<P>>(_mm256_maskload_epi32(reinterpret_cast<const int*>(p), mask));
  }
  if constexpr (sizeof(P) == 8) {
    const __m256i mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
    return reinterpret_cast<Vector<P>>(_mm256_maskload_epi64(reinterpret_cast<const long long*>(p), mask));
  }
#endif
  if (count == kLanes<P>) return load(p);
  Vector<P> v = {};
  for (int i = 0; i < count; i++) v[i] = p[i];
  return v;
}

template <class P, class S> CRESSET_ALWAYS_INLINE Vector<P> load_some_as(const S* p, int count) {
  if constexpr (std::is_same_v<S, P>) {
    return load_some(p, count);
  } else {
    S padded[kLanes<P>] = {};
    for (int i = 0; i < count; i++) padded[i] = p[i];
    return load_as<P>(padded);
  }
}

template <class P> CRESSET_ALWAYS_INLINE void store_some(P* p, Vector<P> v, int count) {
#if defined(__AVX512F__)
  if constexpr (sizeof(P) == 4) return _mm512_mask_storeu_epi32(p, static_cast<__mmask16>((1u << count) - 1), reinterpret_cast<__m512i>(v));
  if constexpr (sizeof(P) == 8) return _mm512_mask_storeu_epi64(p, static_cast<__mmask8>((1u << count) - 1), reinterpret_cast<__m512i>(v));
  if constexpr (sizeof(P) == 2) return _mm512_mask_storeu_epi16(p, static_cast<__mmask32>((uint64_t{1} << count) - 1), reinterpret_cast<__m512i>(v));
#elif defined(__AVX2__)
  if constexpr (sizeof(P) == 4) {
    const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return _mm256_maskstore_epi32(reinterpret_cast<int*>(p), mask, reinterpret_cast<__m256i>(v));
  }
  if constexpr (sizeof(P) == 8) {
    const __m256i mask = _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
    return _mm256_maskstore_epi64(reinterpret_cast<long long*>(p), mask, reinterpret_cast<__m256i>(v));
  }
#endif
  if (count == kLanes<P>) return store(p, v);
  for (int i = 0; i < count; i++) p[i] = v[i];
}

template <class P, int Step, bool High, int... I> CRESSET_ALWAYS_INLINE Vector<P> exchange(Vector<P> a, Vector<P> b, std::integer_sequence<int, I...>) {
  // Lane i of the result comes from a where bit `Step` of i is clear, else from b.
  return __builtin_shufflevector(a, b, (((I & Step) ? kLanes<P> : 0) + ((I & ~Step) | (High ? Step : 0)))...);
}

template <class P, int Step> CRESSET_ALWAYS_INLINE void transpose_step(Vector<P> (&x)[kLanes<P>]) {
  constexpr auto lanes = std::make_integer_sequence<int, kLanes<P>>{};
  unroll<kLanes<P>>([&](auto i) {
    if constexpr ((i & Step) == 0) {
      const Vector<P> a = x[i], b = x[i + Step];
      x[i] = exchange<P, Step, false>(a, b, lanes);
      x[i + Step] = exchange<P, Step, true>(a, b, lanes);
    }
  });
  if constexpr (Step > 1) transpose_step<P, Step / 2>(x);
}

// x as a lanes x lanes matrix becomes its transpose.
template <class P> CRESSET_ALWAYS_INLINE void transpose(Vector<P> (&x)[kLanes<P>]) { transpose_step<P, kLanes<P> / 2>(x); }

template <class P, int Step> CRESSET_ALWAYS_INLINE void sum_step(Vector<P> (&x)[kLanes<P>]) {
  constexpr auto lanes = std::make_integer_sequence<int, kLanes<P>>{};
  unroll<Step>([&](auto i) { x[i] = exchange<P, Step, false>(x[i], x[i + Step], lanes) + exchange<P, Step, true>(x[i], x[i + Step], lanes); });
  if constexpr (Step > 1) sum_step<P, Step / 2>(x);
}

// Lane i of the result is the sum over x[i], the same tree for every i.
template <class P> CRESSET_ALWAYS_INLINE Vector<P> sum_each(Vector<P> (&x)[kLanes<P>]) {
  sum_step<P, kLanes<P> / 2>(x);
  return x[0];
}

// Without this GCC folds a vector's load into each of its uses and reads memory again and again.
template <class V> CRESSET_ALWAYS_INLINE void keep_in_register(V& v) {
#if defined(__AVX512F__)
  asm("" : "+v"(v));
#elif defined(__x86_64__)
  asm("" : "+x"(v));
#else
  (void)v;
#endif
}

}  // namespace
}  // namespace cresset::kernels::CRESSET_ISA
