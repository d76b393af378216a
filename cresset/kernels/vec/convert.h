#pragma once
// Vectors as others: conversions of elements, and bits read as another type.

#include <algorithm>
#include <tuple>

#include "cresset/kernels/vec/vectorized_n.h"

namespace cresset::vec {
inline namespace CRESSET_VEC_NAMESPACE {

namespace detail {
template <class To, class From> To convert_element(const From& x) {
  if constexpr (is_complex<To>::value && !is_complex<From>::value) return To(static_cast<typename To::value_type>(widen(x)));
  else return static_cast<To>(static_cast<Compute<To>>(widen(x)));
}
}  // namespace detail

template <class From, class To> void convert(const From* source, To* target, int64_t n) {
  for (int64_t i = 0; i < n; i++) target[i] = detail::convert_element<To>(source[i]);
}
// The elements of L vectors in those of N: as many as fit, the lanes behind them are 0.
template <class To, int N, class From, int L> VectorizedN<To, N> convert(const VectorizedN<From, L>& source) {
  VectorizedN<To, N> out;
  constexpr int from_lanes = Vectorized<From>::size(), to_lanes = Vectorized<To>::size();
  for (int i = 0; i < std::min(source.size(), out.size()); i++)
    out[i / to_lanes][i % to_lanes] = detail::convert_element<To>(source[i / from_lanes][i % from_lanes]);
  return out;
}
template <class To, class From> Vectorized<To> convert(const Vectorized<From>& source) { return convert<To, 1, From, 1>(VectorizedN<From, 1>(source)); }
template <class To, int N, class From, int L, std::enable_if_t<L == 1 && N != 1, int> = 0> VectorizedN<To, N> convert(const Vectorized<From>& source) {
  return convert<To, N, From, 1>(VectorizedN<From, 1>(source));
}

// The same bits.
template <class To, class From> Vectorized<To> cast(const Vectorized<From>& source) {
  From lanes[Vectorized<From>::size()];
  source.store(lanes);
  return Vectorized<To>::loadu(lanes);
}
template <class T> Vectorized<int_same_size_t<T>> convert_to_int_of_same_size(const Vectorized<T>& source) { return convert<int_same_size_t<T>>(source); }
template <class T> auto convert_to_fp_of_same_size(const Vectorized<T>& source) {
  return convert<std::conditional_t<sizeof(T) == 4, float, std::conditional_t<sizeof(T) == 8, double, Half>>>(source);
}

// A vector of Half or BFloat16 as two of float, and back.
template <class T> std::tuple<Vectorized<float>, Vectorized<float>> convert_to_float(const Vectorized<T>& source) {
  static_assert(detail::is_reduced<T>);
  const auto both = convert<float, 2, T, 1>(VectorizedN<T, 1>(source));
  return {both[0], both[1]};
}
template <class T> Vectorized<T> convert_from_float(const Vectorized<float>& a, const Vectorized<float>& b) {
  static_assert(detail::is_reduced<T>);
  return convert<T, 1, float, 2>(VectorizedN<float, 2>(a, b));
}
inline auto convert_bfloat16_float(const Vectorized<BFloat16>& source) { return convert_to_float(source); }
inline auto convert_half_float(const Vectorized<Half>& source) { return convert_to_float(source); }
inline auto convert_float_bfloat16(const Vectorized<float>& a, const Vectorized<float>& b) { return convert_from_float<BFloat16>(a, b); }
inline auto convert_float_half(const Vectorized<float>& a, const Vectorized<float>& b) { return convert_from_float<Half>(a, b); }

// Elements of memory as float, for one vector of it or two.
template <class T> void load_to_float(const T* source, Vectorized<float>& out) {
  float lanes[Vectorized<float>::size()];
  convert(source, lanes, out.size());
  out = Vectorized<float>::loadu(lanes);
}
template <class T> void load_to_float(const T* source, Vectorized<float>& first, Vectorized<float>& second) {
  load_to_float(source, first);
  load_to_float(source + first.size(), second);
}
inline void load_fp32_from_bf16(const BFloat16* source, Vectorized<float>& out) { load_to_float(source, out); }
inline void load_fp32_from_bf16(const BFloat16* source, Vectorized<float>& first, Vectorized<float>& second) { load_to_float(source, first, second); }
inline void load_fp32_from_fp16(const Half* source, Vectorized<float>& out) { load_to_float(source, out); }
inline void load_fp32_from_fp16(const Half* source, Vectorized<float>& first, Vectorized<float>& second) { load_to_float(source, first, second); }

inline uint16_t float2half_scalar(float x) { return Half(x).x; }
inline float half2float_scalar(uint16_t bits) { return Half(bits, Half::from_bits()); }

}  // namespace CRESSET_VEC_NAMESPACE
}  // namespace cresset::vec
