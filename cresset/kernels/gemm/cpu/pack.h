#pragma once
// A register of floats or doubles, with the operations that kernels/expr/math.h is written in. Only for instruction sets where
// naming the instruction beats what the compiler makes of plain loops (it has no way to ask for max, scalef or masked tails).

#include "cresset/kernels/expr/math.h"

#if defined(__x86_64__) && defined(__AVX2__) && defined(__FMA__)
#define CRESSET_HAS_PACK 1
// GCC 12 warns of its own intrinsics' undefined operands.
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

#include "cresset/kernels/isa.h"

namespace cresset::kernels::CRESSET_ISA {

template <class T> struct Pack;
template <class T> struct PackMask;

#define CRESSET_V CRESSET_ALWAYS_INLINE friend

// The members that all four types share. `pre` is the intrinsics' prefix, `s` their suffix.
#define CRESSET_PACK_COMMON(T, R, pre, s, lanes)                                        \
  using Real = T;                                                                       \
  static constexpr int64_t kSize = lanes;                                               \
  R v;                                                                                  \
  Pack() = default;                                                                     \
  CRESSET_ALWAYS_INLINE Pack(R r) : v(r) {}                                             \
  CRESSET_ALWAYS_INLINE Pack(T x) : v(pre##_set1_##s(x)) {}                             \
  CRESSET_ALWAYS_INLINE static Pack load(const T* p) { return pre##_loadu_##s(p); }     \
  CRESSET_ALWAYS_INLINE void store(T* p) const { pre##_storeu_##s(p, v); }              \
  CRESSET_V Pack operator+(Pack a, Pack b) { return pre##_add_##s(a.v, b.v); }          \
  CRESSET_V Pack operator-(Pack a, Pack b) { return pre##_sub_##s(a.v, b.v); }          \
  CRESSET_V Pack operator*(Pack a, Pack b) { return pre##_mul_##s(a.v, b.v); }          \
  CRESSET_V Pack operator/(Pack a, Pack b) { return pre##_div_##s(a.v, b.v); }          \
  CRESSET_V Pack operator-(Pack a) { return pre##_xor_##s(a.v, Pack(T(-0.0)).v); }      \
  CRESSET_V Pack fma(Pack a, Pack b, Pack c) { return pre##_fmadd_##s(a.v, b.v, c.v); } \
  CRESSET_V Pack sqrt(Pack a) { return pre##_sqrt_##s(a.v); }                           \
  CRESSET_V Pack abs(Pack a) { return pre##_andnot_##s(Pack(T(-0.0)).v, a.v); }         \
  /* The second operand is what the instruction returns for a NaN. */                   \
  CRESSET_V Pack at_least(Pack x, T low) { return pre##_max_##s(Pack(low).v, x.v); }    \
  CRESSET_V Pack at_most(Pack x, T high) { return pre##_min_##s(Pack(high).v, x.v); }

#define CRESSET_PACK_COMPARISONS(compare)                                                       \
  CRESSET_V PackMask<Real> operator<(Pack a, Pack b) { return compare(a.v, b.v, _CMP_LT_OQ); }  \
  CRESSET_V PackMask<Real> operator<=(Pack a, Pack b) { return compare(a.v, b.v, _CMP_LE_OQ); } \
  CRESSET_V PackMask<Real> operator>(Pack a, Pack b) { return compare(a.v, b.v, _CMP_GT_OQ); }  \
  CRESSET_V PackMask<Real> operator>=(Pack a, Pack b) { return compare(a.v, b.v, _CMP_GE_OQ); } \
  CRESSET_V PackMask<Real> operator==(Pack a, Pack b) { return compare(a.v, b.v, _CMP_EQ_OQ); } \
  CRESSET_V PackMask<Real> operator!=(Pack a, Pack b) { return compare(a.v, b.v, _CMP_NEQ_UQ); }

#if defined(__AVX512F__)

template <> struct PackMask<float> {
  __mmask16 m;
  PackMask(__mmask16 bits) : m(bits) {}
};
template <> struct PackMask<double> {
  __mmask8 m;
  PackMask(__mmask8 bits) : m(bits) {}
};

template <> struct Pack<float> {
  CRESSET_PACK_COMMON(float, __m512, _mm512, ps, 16)
  CRESSET_PACK_COMPARISONS(_mm512_cmp_ps_mask)
  CRESSET_ALWAYS_INLINE static Pack load(const float* p, int64_t n) { return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p); }
  CRESSET_ALWAYS_INLINE void store(float* p, int64_t n) const { _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), v); }
  CRESSET_V Pack select(PackMask<float> m, Pack a, Pack b) { return _mm512_mask_blend_ps(m.m, b.v, a.v); }
  CRESSET_V Pack round_nearest(Pack a) { return _mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  CRESSET_V Pack scale(Pack a, Pack n) { return _mm512_scalef_ps(a.v, n.v); }
  CRESSET_V Pack scale_normal(Pack a, Pack n) { return _mm512_scalef_ps(a.v, n.v); }
  CRESSET_V Pack pow2(Pack n) { return _mm512_scalef_ps(Pack(1.0f).v, n.v); }
  CRESSET_V Pack exponent_field(Pack a) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(a.v), 23)); }
  CRESSET_V Pack exponent_of(Pack a) { return _mm512_getexp_ps(a.v); }
  // Bit by bit: the sign where the mask is set, a elsewhere.
  CRESSET_V Pack copysign(Pack a, Pack sign) {
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(_mm512_set1_epi32(INT32_MIN), _mm512_castps_si512(a.v), _mm512_castps_si512(sign.v), 0xac));
  }
};
template <> struct Pack<double> {
  CRESSET_PACK_COMMON(double, __m512d, _mm512, pd, 8)
  CRESSET_PACK_COMPARISONS(_mm512_cmp_pd_mask)
  CRESSET_ALWAYS_INLINE static Pack load(const double* p, int64_t n) { return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1), p); }
  CRESSET_ALWAYS_INLINE void store(double* p, int64_t n) const { _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1), v); }
  CRESSET_V Pack select(PackMask<double> m, Pack a, Pack b) { return _mm512_mask_blend_pd(m.m, b.v, a.v); }
  CRESSET_V Pack round_nearest(Pack a) { return _mm512_roundscale_pd(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  CRESSET_V Pack scale(Pack a, Pack n) { return _mm512_scalef_pd(a.v, n.v); }
  CRESSET_V Pack scale_normal(Pack a, Pack n) { return _mm512_scalef_pd(a.v, n.v); }
  CRESSET_V Pack pow2(Pack n) { return _mm512_scalef_pd(Pack(1.0).v, n.v); }
  CRESSET_V Pack exponent_field(Pack a) { return _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_castpd_si512(a.v), 52)); }
  CRESSET_V Pack exponent_of(Pack a) { return _mm512_getexp_pd(a.v); }
  CRESSET_V Pack copysign(Pack a, Pack sign) {
    return _mm512_castsi512_pd(_mm512_ternarylogic_epi64(_mm512_set1_epi64(INT64_MIN), _mm512_castpd_si512(a.v), _mm512_castpd_si512(sign.v), 0xac));
  }
};

#else  // AVX2

template <> struct PackMask<float> {
  __m256 m;
  PackMask(__m256 bits) : m(bits) {}
};
template <> struct PackMask<double> {
  __m256d m;
  PackMask(__m256d bits) : m(bits) {}
};

// All ones in the first n lanes, at an offset into this table.
alignas(32) static constexpr int32_t kLaneMask[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

template <> struct Pack<float> {
  CRESSET_PACK_COMMON(float, __m256, _mm256, ps, 8)
  CRESSET_PACK_COMPARISONS(_mm256_cmp_ps)
  CRESSET_ALWAYS_INLINE static __m256i lanes(int64_t n) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kLaneMask + 8 - n)); }
  CRESSET_ALWAYS_INLINE static Pack load(const float* p, int64_t n) { return _mm256_maskload_ps(p, lanes(n)); }
  CRESSET_ALWAYS_INLINE void store(float* p, int64_t n) const { _mm256_maskstore_ps(p, lanes(n), v); }
  CRESSET_V Pack select(PackMask<float> m, Pack a, Pack b) { return _mm256_blendv_ps(b.v, a.v, m.m); }
  CRESSET_V Pack copysign(Pack a, Pack sign) {
    const __m256 bit = Pack(-0.0f).v;
    return _mm256_or_ps(_mm256_andnot_ps(bit, a.v), _mm256_and_ps(bit, sign.v));
  }
  CRESSET_V Pack round_nearest(Pack a) { return _mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  CRESSET_V Pack exponent_field(Pack a) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(a.v), 23)); }
  CRESSET_V Pack pow2(Pack n) { return exponent_field(n + Pack(12582912.0f + 127)); }
  CRESSET_V Pack scale_normal(Pack a, Pack n) { return a * pow2(n); }
  CRESSET_V Pack scale(Pack a, Pack n) {
    const __m256i sum = _mm256_castps_si256((n + Pack(12582912.0f + 254)).v), half = _mm256_srli_epi32(sum, 1);
    const __m256 first = _mm256_castsi256_ps(_mm256_slli_epi32(half, 23));
    return _mm256_mul_ps(_mm256_mul_ps(a.v, first), _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_sub_epi32(sum, half), 23)));
  }
  CRESSET_V Pack exponent_of(Pack a) { return _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_srli_epi32(_mm256_castps_si256(a.v), 23), _mm256_set1_epi32(127))); }
};
template <> struct Pack<double> {
  CRESSET_PACK_COMMON(double, __m256d, _mm256, pd, 4)
  CRESSET_PACK_COMPARISONS(_mm256_cmp_pd)
  CRESSET_ALWAYS_INLINE static __m256i lanes(int64_t n) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kLaneMask + 8 - 2 * n)); }
  CRESSET_ALWAYS_INLINE static Pack load(const double* p, int64_t n) { return _mm256_maskload_pd(p, lanes(n)); }
  CRESSET_ALWAYS_INLINE void store(double* p, int64_t n) const { _mm256_maskstore_pd(p, lanes(n), v); }
  CRESSET_V Pack select(PackMask<double> m, Pack a, Pack b) { return _mm256_blendv_pd(b.v, a.v, m.m); }
  CRESSET_V Pack copysign(Pack a, Pack sign) {
    const __m256d bit = Pack(-0.0).v;
    return _mm256_or_pd(_mm256_andnot_pd(bit, a.v), _mm256_and_pd(bit, sign.v));
  }
  CRESSET_V Pack round_nearest(Pack a) { return _mm256_round_pd(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  CRESSET_V Pack exponent_field(Pack a) { return _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_castpd_si256(a.v), 52)); }
  CRESSET_V Pack pow2(Pack n) { return exponent_field(n + Pack(6755399441055744.0 + 1023)); }
  CRESSET_V Pack scale_normal(Pack a, Pack n) { return a * pow2(n); }
  CRESSET_V Pack scale(Pack a, Pack n) {
    const __m256i sum = _mm256_castpd_si256((n + Pack(6755399441055744.0 + 2046)).v), half = _mm256_srli_epi64(sum, 1);
    const __m256d first = _mm256_castsi256_pd(_mm256_slli_epi64(half, 52));
    return _mm256_mul_pd(_mm256_mul_pd(a.v, first), _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_sub_epi64(sum, half), 52)));
  }
  CRESSET_V Pack exponent_of(Pack a) {
    // The exponent field as a number: below 2^52 the bits of a sum with 2^52 are the integer itself.
    const __m256i field = _mm256_or_si256(_mm256_srli_epi64(_mm256_castpd_si256(a.v), 52), _mm256_castpd_si256(Pack(4503599627370496.0).v));
    return Pack(_mm256_castsi256_pd(field)) - Pack(4503599627370496.0 + 1023);
  }
};

#endif

constexpr bool kPackSubnormals =
#if defined(__AVX512F__)
    true;
#else
    false;
#endif

#undef CRESSET_PACK_COMMON
#undef CRESSET_PACK_COMPARISONS
#undef CRESSET_V

}  // namespace cresset::kernels::CRESSET_ISA

namespace cresset::kernels::expr::math {
template <class T> constexpr bool exponent_of_subnormals<CRESSET_ISA::Pack<T>> = CRESSET_ISA::kPackSubnormals;
}

#endif
