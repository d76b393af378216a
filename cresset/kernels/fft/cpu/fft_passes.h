#pragma once
// Transforms of vectors: element j of a transform is a row of kLanes real parts and kLanes imaginary parts, one for each array.
// Stockham's passes sort by themselves; the first reads and the last writes where the caller wants it. Inverse transforms exchange
// real and imaginary parts at both ends. Include it only from kernels/fft/cpu/fft_*.cpp.

#include <algorithm>

#include "cresset/kernels/cpu/simd.h"
#include "cresset/kernels/fft/cpu/fft.h"

namespace cresset::kernels::CRESSET_ISA {

template <class T> struct Pair { Vec<T> re, im; };

template <class T> constexpr int kRow = 2 * kLanes<T>;

// Lanes 0, 2, ... (or 1, 3, ...) of a and then b; and the reverse.
template <int from, class V, int... i> CRESSET_ALWAYS_INLINE V every_other(V a, V b, std::integer_sequence<int, i...>) {
  return shuffle<(2 * i + from)...>(a, b);
}
template <int half, class V, int... i> CRESSET_ALWAYS_INLINE V interleaved(V a, V b, std::integer_sequence<int, i...>) {
  constexpr int n = sizeof...(i);
  return shuffle<(half * n / 2 + i / 2 + i % 2 * n)...>(a, b);
}
template <class T> using LaneIndices = std::make_integer_sequence<int, kLanes<T>>;

template <class T> CRESSET_ALWAYS_INLINE Pair<T> load_pairs(const T* p) {
  const Vec<T> a = load_raw<Vec<T>>(p), b = load_raw<Vec<T>>(p + kLanes<T>);
  return {every_other<0>(a, b, LaneIndices<T>{}), every_other<1>(a, b, LaneIndices<T>{})};
}
template <class T> CRESSET_ALWAYS_INLINE void store_pairs(T* p, Vec<T> re, Vec<T> im) {
  store_raw(p, interleaved<0>(re, im, LaneIndices<T>{}));
  store_raw(p + kLanes<T>, interleaved<1>(re, im, LaneIndices<T>{}));
}

template <class T> struct FromScratch {
  const T* p;
  CRESSET_ALWAYS_INLINE Pair<T> operator()(int64_t row) const { return {load_raw<Vec<T>>(p + row * kRow<T>), load_raw<Vec<T>>(p + row * kRow<T> + kLanes<T>)}; }
};
// Interleaved numbers; step counts T.
template <class T, bool swap> struct FromMemory {
  const T* p;
  int64_t step;
  CRESSET_ALWAYS_INLINE Pair<T> operator()(int64_t row) const {
    const Pair<T> z = load_pairs(p + row * step);
    if constexpr (swap) return {z.im, z.re};
    else return z;
  }
};

template <class T> struct ToScratch {
  T* p;
  CRESSET_ALWAYS_INLINE void operator()(int64_t row, Pair<T> z) const {
    store_raw(p + row * kRow<T>, z.re);
    store_raw(p + row * kRow<T> + kLanes<T>, z.im);
  }
};
template <class T, bool swap> struct ToMemory {
  T* p;
  int64_t step;
  Vec<T> scale;
  CRESSET_ALWAYS_INLINE void operator()(int64_t row, Pair<T> z) const {
    if constexpr (swap) store_pairs(p + row * step, z.im * scale, z.re * scale);
    else store_pairs(p + row * step, z.re * scale, z.im * scale);
  }
};

template <class T> CRESSET_ALWAYS_INLINE Pair<T> times(Pair<T> z, Vec<T> re, Vec<T> im) { return {fma(z.re, re, -(z.im * im)), fma(z.re, im, z.im * re)}; }
// With a factor for each lane on the way.
template <class T> struct ToTwiddled {
  T* p;
  const T* factors;
  CRESSET_ALWAYS_INLINE void operator()(int64_t row, Pair<T> z) const {
    const T* w = factors + row * kRow<T>;
    ToScratch<T>{p}(row, times<T>(z, load_raw<Vec<T>>(w), load_raw<Vec<T>>(w + kLanes<T>)));
  }
};

template <class T> CRESSET_ALWAYS_INLINE Pair<T> operator+(Pair<T> a, Pair<T> b) { return {a.re + b.re, a.im + b.im}; }
template <class T> CRESSET_ALWAYS_INLINE Pair<T> operator-(Pair<T> a, Pair<T> b) { return {a.re - b.re, a.im - b.im}; }
template <class T> CRESSET_ALWAYS_INLINE Pair<T> minus_i(Pair<T> z) { return {z.im, -z.re}; }

template <class T> CRESSET_ALWAYS_INLINE void butterfly4(Pair<T>& a, Pair<T>& b, Pair<T>& c, Pair<T>& d) {
  const Pair<T> p = a + c, q = a - c, r = b + d, s = minus_i<T>(b - d);
  a = p + r;
  b = q + s;
  c = p - r;
  d = q - s;
}

// cos and sin of 2 pi k / radix.
template <int radix> struct OddRoots;
template <> struct OddRoots<3> { static constexpr double cos[] = {1, -0.5, -0.5}, sin[] = {0, 0.86602540378443864676, -0.86602540378443864676}; };
template <> struct OddRoots<5> {
  static constexpr double cos[] = {1, 0.30901699437494742410, -0.80901699437494742410, -0.80901699437494742410, 0.30901699437494742410};
  static constexpr double sin[] = {0, 0.95105651629515357212, 0.58778525229247312917, -0.58778525229247312917, -0.95105651629515357212};
};
template <> struct OddRoots<7> {
  static constexpr double cos[] = {
      1, 0.62348980185873353053, -0.22252093395631440429, -0.90096886790241912624, -0.90096886790241912624, -0.22252093395631440429, 0.62348980185873353053};
  static constexpr double sin[] = {
      0, 0.78183148246802980871, 0.97492791218182360702, 0.43388373911755812048, -0.43388373911755812048, -0.97492791218182360702, -0.78183148246802980871};
};

template <int radix, class T> CRESSET_ALWAYS_INLINE void butterfly_odd(Pair<T>* a) {
  constexpr int half = radix / 2;
  Pair<T> sum[half], difference[half], out[radix];
  out[0] = a[0];
#pragma GCC unroll 8
  for (int j = 0; j < half; j++) {
    sum[j] = a[j + 1] + a[radix - 1 - j];
    difference[j] = a[j + 1] - a[radix - 1 - j];
    out[0] = out[0] + sum[j];
  }
#pragma GCC unroll 8
  for (int k = 1; k <= half; k++) {
    Pair<T> even = a[0], odd = {};
#pragma GCC unroll 8
    for (int j = 1; j <= half; j++) {
      const Vec<T> c = splat(static_cast<T>(OddRoots<radix>::cos[j * k % radix])), s = splat(static_cast<T>(OddRoots<radix>::sin[j * k % radix]));
      even = {fma(sum[j - 1].re, c, even.re), fma(sum[j - 1].im, c, even.im)};
      odd = j == 1 ? Pair<T>{difference[0].im * s, difference[0].re * s} : Pair<T>{fma(difference[j - 1].im, s, odd.re), fma(difference[j - 1].re, s, odd.im)};
    }
    out[k] = {even.re + odd.re, even.im - odd.im};
    out[radix - k] = {even.re - odd.re, even.im + odd.im};
  }
#pragma GCC unroll 8
  for (int k = 0; k < radix; k++) a[k] = out[k];
}

template <int radix, class T> CRESSET_ALWAYS_INLINE void butterfly(Pair<T>* a) {
  if constexpr (radix == 2) {
    const Pair<T> b = a[1];
    a[1] = a[0] - b;
    a[0] = a[0] + b;
  } else if constexpr (radix == 4) {
    butterfly4<T>(a[0], a[1], a[2], a[3]);
  } else if constexpr (radix == 8) {
    butterfly4<T>(a[0], a[2], a[4], a[6]);
    butterfly4<T>(a[1], a[3], a[5], a[7]);
    const Vec<T> h = splat(static_cast<T>(0.70710678118654752440));
    const Pair<T> e1 = a[2], e2 = a[4], e3 = a[6], o0 = a[1];
    const Pair<T> o1 = {(a[3].re + a[3].im) * h, (a[3].im - a[3].re) * h};
    const Pair<T> o2 = minus_i<T>(a[5]);
    const Pair<T> o3 = {(a[7].im - a[7].re) * h, -((a[7].re + a[7].im) * h)};
    const Pair<T> e0 = a[0];
    a[0] = e0 + o0, a[4] = e0 - o0;
    a[1] = e1 + o1, a[5] = e1 - o1;
    a[2] = e2 + o2, a[6] = e2 - o2;
    a[3] = e3 + o3, a[7] = e3 - o3;
  } else {
    butterfly_odd<radix, T>(a);
  }
}

template <int radix, bool last, class T, class In, class Out> void run_pass(const FftPass& pass, const T* table, In in, Out out) {
  const int64_t count = last ? 1 : pass.count, inner = pass.inner;
  const T* w = table + pass.twiddles;
  for (int64_t p = 0; p < count; p++) {
    Vec<T> re[radix], im[radix];
    if constexpr (!last) {
#pragma GCC unroll 8
      for (int k = 1; k < radix; k++, w += 2) re[k] = splat(w[0]), im[k] = splat(w[1]);
    }
    for (int64_t q = 0; q < inner; q++) {
      Pair<T> a[radix];
#pragma GCC unroll 8
      for (int k = 0; k < radix; k++) a[k] = in(q + inner * (p + count * k));
      butterfly<radix, T>(a);
      if constexpr (!last) {
#pragma GCC unroll 8
        for (int k = 1; k < radix; k++) a[k] = times<T>(a[k], re[k], im[k]);
      }
#pragma GCC unroll 8
      for (int k = 0; k < radix; k++) out(q + inner * (radix * p + k), a[k]);
    }
  }
}

// Any odd radix.
template <class T, class In, class Out> CRESSET_NOINLINE void run_pass_prime(const FftPass& pass, const T* table, In in, Out out) {
  const int64_t count = pass.count, inner = pass.inner;
  const int radix = pass.radix, half = radix / 2;
  const T *w = table + pass.twiddles, *roots = table + pass.roots;
  Pair<T> sum[kFftMaxRadix / 2], difference[kFftMaxRadix / 2];
  for (int64_t p = 0; p < count; p++, w += 2 * (radix - 1)) {
    auto put = [&](int64_t row, int k, Pair<T> z) { out(row, count == 1 || k == 0 ? z : times<T>(z, splat(w[2 * k - 2]), splat(w[2 * k - 1]))); };
    for (int64_t q = 0; q < inner; q++) {
      const Pair<T> first = in(q + inner * p);
      Pair<T> total = first;
      for (int j = 1; j <= half; j++) {
        const Pair<T> a = in(q + inner * (p + count * j)), b = in(q + inner * (p + count * (radix - j)));
        sum[j - 1] = a + b;
        difference[j - 1] = a - b;
        total = total + sum[j - 1];
      }
      const int64_t row = q + inner * radix * p;
      put(row, 0, total);
      for (int k = 1; k <= half; k++) {
        Pair<T> even = first, odd = {};
        for (int j = 1, at = k; j <= half; j++, at = at + k < radix ? at + k : at + k - radix) {
          const Vec<T> c = splat(roots[2 * at]), s = splat(-roots[2 * at + 1]);
          even = {fma(sum[j - 1].re, c, even.re), fma(sum[j - 1].im, c, even.im)};
          odd = {fma(difference[j - 1].im, s, odd.re), fma(difference[j - 1].re, s, odd.im)};
        }
        put(row + inner * k, k, {even.re + odd.re, even.im - odd.im});
        put(row + inner * (radix - k), radix - k, {even.re - odd.re, even.im + odd.im});
      }
    }
  }
}

template <bool last, class T, class In, class Out> CRESSET_ALWAYS_INLINE void any_pass(const FftPass& pass, const T* table, In in, Out out) {
  switch (pass.radix) {
    case 2: return run_pass<2, last, T>(pass, table, in, out);
    case 3: return run_pass<3, last, T>(pass, table, in, out);
    case 4: return run_pass<4, last, T>(pass, table, in, out);
    case 5: return run_pass<5, last, T>(pass, table, in, out);
    case 7: return run_pass<7, last, T>(pass, table, in, out);
    case 8: return run_pass<8, last, T>(pass, table, in, out);
    default: return run_pass_prime<T>(pass, table, in, out);
  }
}

// Transforms of plan.n rows. The scratches are apart from each other; `in` may be the second.
template <class T, class In, class Out> void run_passes(const FftLanePlan<T>& plan, In in, Out out, T* scratch0, T* scratch1) {
  const FftPass* passes = plan.passes.data();
  const size_t count = plan.passes.size();
  const T* table = plan.table.data();
  if (count == 0) return out(0, in(0));
  if (count == 1) return any_pass<true, T>(passes[0], table, in, out);
  any_pass<false, T>(passes[0], table, in, ToScratch<T>{scratch0});
  for (size_t i = 1; i + 1 < count; i++) {
    any_pass<false, T>(passes[i], table, FromScratch<T>{scratch0}, ToScratch<T>{scratch1});
    std::swap(scratch0, scratch1);
  }
  any_pass<true, T>(passes[count - 1], table, FromScratch<T>{scratch0}, out);
}

// Of every stretch of 2 * half lanes: a's lower half and b's lower half, or their upper halves.
template <int half, bool upper, class V, int... i> CRESSET_ALWAYS_INLINE V swap_halves(V a, V b, std::integer_sequence<int, i...>) {
  constexpr int n = sizeof...(i);
  return shuffle<((i & half ? n + i - half : i) + (upper ? half : 0))...>(a, b);
}

// v[0 .. lanes) transposed.
template <int half, class V> CRESSET_ALWAYS_INLINE void transpose_step(V* v) {
  constexpr int n = sizeof(V) / sizeof(Lane<V>);
  constexpr auto indices = std::make_integer_sequence<int, n>{};
  if constexpr (half > 0) {
#pragma GCC unroll 16
    for (int i = 0; i < n; i++) {
      if (i & half) continue;
      const V a = v[i], b = v[i + half];
      v[i] = swap_halves<half, false>(a, b, indices);
      v[i + half] = swap_halves<half, true>(a, b, indices);
    }
    transpose_step<half / 2>(v);
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
