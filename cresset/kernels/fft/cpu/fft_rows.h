#pragma once
// The kernels of fft.h for a type. Include it only from kernels/fft/cpu/fft_*.cpp.

#include "cresset/kernels/fft/cpu/fft_passes.h"

namespace cresset::kernels::CRESSET_ISA {

// Where run_passes may write to a scratch: not what its last pass reads.
template <class T> T* free_scratch(const FftLanePlan<T>& plan, T* scratch0, T* scratch1) {
  const size_t count = plan.passes.size();
  return count >= 2 && count % 2 == 0 ? scratch1 : scratch0;
}

template <class T, bool inverse> void columns_of(const FftRowPlan<T>& plan, const T* in, T* middle, int64_t begin, int64_t end, T* scratch) {
  constexpr int64_t lanes = kLanes<T>, row = kRow<T>;
  const int64_t n1 = plan.n1, n2 = plan.n2, padded = (n1 + lanes - 1) / lanes * lanes;
  T *scratch0 = scratch, *scratch1 = scratch + (std::max(n1, n2) + lanes) * row;
  T* to = free_scratch(*plan.columns, scratch0, scratch1);
  for (int64_t g = begin; g < end; g++) {
    const int64_t first = g * lanes, width = std::min(lanes, n2 - first);
    const ToTwiddled<T> out{to, plan.twiddles.data() + g * n1 * row};
    if (width == lanes) {
      run_passes<T>(*plan.columns, FromMemory<T, inverse>{in + 2 * first, 2 * n2}, out, scratch0, scratch1);
    } else {
      for (int64_t k = 0; k < n1; k++)
        for (int64_t i = 0; i < lanes; i++) {
          const T* z = in + 2 * (k * n2 + first + i);
          scratch1[k * row + i] = i < width ? z[inverse] : T(0);
          scratch1[k * row + lanes + i] = i < width ? z[!inverse] : T(0);
        }
      run_passes<T>(*plan.columns, FromScratch<T>{scratch1}, out, scratch0, scratch1);
    }
    std::fill(to + n1 * row, to + padded * row, T(0));
    for (int64_t k = 0; k < padded; k += lanes) {
      T* target = middle + (k * n2 + first * lanes) * 2;
      for (const int64_t part : {int64_t{0}, lanes}) {
        Vec<T> v[lanes];
#pragma GCC unroll 16
        for (int64_t i = 0; i < lanes; i++) v[i] = load_raw<Vec<T>>(to + (k + i) * row + part);
        transpose_step<lanes / 2>(v);
        if (width == lanes) {
#pragma GCC unroll 16
          for (int64_t i = 0; i < lanes; i++) store_raw(target + i * row + part, v[i]);
        } else {
          for (int64_t i = 0; i < width; i++) store_raw(target + i * row + part, v[i]);
        }
      }
    }
  }
}

template <class T, bool inverse> void rows_of(const FftRowPlan<T>& plan, const T* middle, T* out, T scale, int64_t begin, int64_t end, T* scratch) {
  constexpr int64_t lanes = kLanes<T>, row = kRow<T>;
  const int64_t n1 = plan.n1, n2 = plan.n2;
  T *scratch0 = scratch, *scratch1 = scratch + (std::max(n1, n2) + lanes) * row;
  for (int64_t g = begin; g < end; g++) {
    const int64_t first = g * lanes, width = std::min(lanes, n1 - first);
    const FromScratch<T> in{middle + g * n2 * row};
    if (width == lanes) {
      run_passes<T>(*plan.rows, in, ToMemory<T, inverse>{out + 2 * first, 2 * n1, splat(scale)}, scratch0, scratch1);
    } else {
      T* to = free_scratch(*plan.rows, scratch0, scratch1);
      run_passes<T>(*plan.rows, in, ToScratch<T>{to}, scratch0, scratch1);
      for (int64_t k = 0; k < n2; k++)
        for (int64_t i = 0; i < width; i++) {
          T* z = out + 2 * (k * n1 + first + i);
          z[inverse] = to[k * row + i] * scale;
          z[!inverse] = to[k * row + lanes + i] * scale;
        }
    }
  }
}

template <class T> void columns_any(const FftRowPlan<T>& plan, const T* in, T* middle, bool inverse, int64_t begin, int64_t end, T* scratch) {
  if (inverse) columns_of<T, true>(plan, in, middle, begin, end, scratch);
  else columns_of<T, false>(plan, in, middle, begin, end, scratch);
}
template <class T> void rows_any(const FftRowPlan<T>& plan, const T* middle, T* out, T scale, bool inverse, int64_t begin, int64_t end, T* scratch) {
  if (inverse) rows_of<T, true>(plan, middle, out, scale, begin, end, scratch);
  else rows_of<T, false>(plan, middle, out, scale, begin, end, scratch);
}

// to[k] = a[k] * b[k] * scale; swap exchanges the parts of a, or of the product.
template <class T, bool swap_a, bool swap_out> void multiply_pairs(const T* a, const T* b, T* to, int64_t n, T scale) {
  int64_t k = 0;
  for (; k + kLanes<T> <= n; k += kLanes<T>) {
    const Pair<T> x = load_pairs(a + 2 * k), w = load_pairs(b + 2 * k);
    const Pair<T> z = times<T>(swap_a ? Pair<T>{x.im, x.re} : x, w.re, w.im);
    if (swap_out) store_pairs<T>(to + 2 * k, z.im * splat(scale), z.re * splat(scale));
    else store_pairs<T>(to + 2 * k, z.re * splat(scale), z.im * splat(scale));
  }
  for (; k < n; k++) {
    const T re = a[2 * k + swap_a], im = a[2 * k + !swap_a], c = b[2 * k], s = b[2 * k + 1];
    to[2 * k + swap_out] = (re * c - im * s) * scale;
    to[2 * k + !swap_out] = (re * s + im * c) * scale;
  }
}

template <class T> void one_row(const FftRowPlan<T>& plan, const T* in, T* out, T scale, bool inverse, T* work) {
  if (!plan.convolution) {
    T* scratch = work + plan.middle_size();
    columns_any<T>(plan, in, work, inverse, 0, plan.column_groups(), scratch);
    return rows_any<T>(plan, work, out, scale, inverse, 0, plan.row_groups(), scratch);
  }
  const FftRowPlan<T>& inner = *plan.convolution;
  T *a = work, *b = work + 2 * inner.n, *rest = b + 2 * inner.n;
  if (inverse) multiply_pairs<T, true, false>(in, plan.chirp.data(), a, plan.n, T(1));
  else multiply_pairs<T, false, false>(in, plan.chirp.data(), a, plan.n, T(1));
  std::fill(a + 2 * plan.n, a + 2 * inner.n, T(0));
  one_row<T>(inner, a, b, T(1), false, rest);
  multiply_pairs<T, false, false>(b, plan.chirp_transform.data(), b, inner.n, T(1));
  one_row<T>(inner, b, a, T(1), true, rest);
  if (inverse) multiply_pairs<T, false, true>(a, plan.chirp.data(), out, plan.n, scale);
  else multiply_pairs<T, false, false>(a, plan.chirp.data(), out, plan.n, scale);
}

// Of Z = E + i O, the transform of even plus i odd elements: X[k] = E + w O, X[h - k] = conj(E - w O).
template <class V> CRESSET_ALWAYS_INLINE void untangle_pair(V& ar, V& ai, V& br, V& bi, V wr, V wi, V half) {
  const V er = (ar + br) * half, ei = (ai - bi) * half, o_r = (ai + bi) * half, oi = (br - ar) * half;
  const V pr = o_r * wr - oi * wi, pi = o_r * wi + oi * wr;
  ar = er + pr, ai = ei + pi;
  br = er - pr, bi = pi - ei;
}
// Twice Z from X.
template <class V> CRESSET_ALWAYS_INLINE void tangle_pair(V& ar, V& ai, V& br, V& bi, V wr, V wi, V scale) {
  const V er = (ar + br) * scale, ei = (ai - bi) * scale, dr = (ar - br) * scale, di = (ai + bi) * scale;
  const V o_r = dr * wr + di * wi, oi = di * wr - dr * wi;
  ar = er - oi, ai = ei + o_r;
  br = er + oi, bi = o_r - ei;
}

template <class V, int... i> CRESSET_ALWAYS_INLINE V reversed(V v, std::integer_sequence<int, i...>) {
  return shuffle<(static_cast<int>(sizeof...(i)) - 1 - i)...>(v, v);
}

// f on z[k] and z[h - k] for 0 < k <= h / 2, which gives x[k] and x[h - k].
template <class T, class F, class G> void for_mirrored(const T* z, T* x, int64_t h, const T* roots, F vectors, G numbers) {
  constexpr int64_t lanes = kLanes<T>;
  constexpr LaneIndices<T> indices{};
  int64_t k = 1;
  for (; 2 * k + 2 * lanes - 2 < h; k += lanes) {
    Pair<T> a = load_pairs(z + 2 * k);
    const Pair<T> mirrored = load_pairs(z + 2 * (h - k - lanes + 1)), w = load_pairs(roots + 2 * k);
    Pair<T> b{reversed(mirrored.re, indices), reversed(mirrored.im, indices)};
    vectors(a.re, a.im, b.re, b.im, w.re, w.im);
    store_pairs<T>(x + 2 * k, a.re, a.im);
    store_pairs<T>(x + 2 * (h - k - lanes + 1), reversed(b.re, indices), reversed(b.im, indices));
  }
  for (; 2 * k <= h; k++) {
    T ar = z[2 * k], ai = z[2 * k + 1], br = z[2 * (h - k)], bi = z[2 * (h - k) + 1];
    numbers(ar, ai, br, bi, roots[2 * k], roots[2 * k + 1]);
    x[2 * k] = ar, x[2 * k + 1] = ai;
    x[2 * (h - k)] = br, x[2 * (h - k) + 1] = bi;
  }
}

template <class T> void untangle_row(const T* z, T* x, int64_t h, const T* roots, T scale) {
  const T first = z[0], second = z[1], half = scale / 2;
  for_mirrored<T>(
      z, x, h, roots, [&](Vec<T>& ar, Vec<T>& ai, Vec<T>& br, Vec<T>& bi, Vec<T> wr, Vec<T> wi) { untangle_pair<Vec<T>>(ar, ai, br, bi, wr, wi, splat(half)); },
      [&](T& ar, T& ai, T& br, T& bi, T wr, T wi) { untangle_pair<T>(ar, ai, br, bi, wr, wi, half); });
  x[0] = (first + second) * scale, x[1] = T(0);
  x[2 * h] = (first - second) * scale, x[2 * h + 1] = T(0);
}
template <class T> void tangle_row(const T* x, T* z, int64_t h, const T* roots, T scale) {
  const T first = x[0], last = x[2 * h];
  for_mirrored<T>(
      x, z, h, roots, [&](Vec<T>& ar, Vec<T>& ai, Vec<T>& br, Vec<T>& bi, Vec<T> wr, Vec<T> wi) { tangle_pair<Vec<T>>(ar, ai, br, bi, wr, wi, splat(scale)); },
      [&](T& ar, T& ai, T& br, T& bi, T wr, T wi) { tangle_pair<T>(ar, ai, br, bi, wr, wi, scale); });
  z[0] = (first + last) * scale, z[1] = (first - last) * scale;
}

// The first `count` < kLanes pairs.
template <class T> CRESSET_ALWAYS_INLINE Pair<T> load_some_pairs(const T* p, int64_t count) {
  const int64_t first = std::min<int64_t>(kLanes<T>, 2 * count);
  const Vec<T> a = load_part<T>(p, first, T(0)), b = load_part<T>(p + first, 2 * count - first, T(0));
  return {every_other<0>(a, b, LaneIndices<T>{}), every_other<1>(a, b, LaneIndices<T>{})};
}
template <class T> CRESSET_ALWAYS_INLINE void store_some_pairs(T* p, Vec<T> re, Vec<T> im, int64_t count) {
  const int64_t first = std::min<int64_t>(kLanes<T>, 2 * count);
  store_part(p, first, interleaved<0>(re, im, LaneIndices<T>{}));
  store_part(p + first, 2 * count - first, interleaved<1>(re, im, LaneIndices<T>{}));
}

constexpr int64_t kAbsent = INT64_MIN;  // instead of a distance: 0 is one, in arrays that repeat one element

// n rows of vectors from up to kLanes arrays: parts of number j of array i are at in[offsets[i] * unit + j * step] and `apart` on,
// or zero if `apart` is absent.
template <class T> void load_lanes(const T* in, const int64_t* offsets, int64_t unit, int64_t step, int64_t apart, int count, int64_t n, T* to) {
  constexpr int lanes = kLanes<T>;
  bool adjacent = count == lanes;
  for (int i = 1; i < count; i++) adjacent = adjacent && offsets[i] == offsets[i - 1] + 1;
  int64_t j = 0;
  if (adjacent) {
    const T* p = in + offsets[0] * unit;
    for (; j < n; j++, p += step) {
      if (unit == 2) {
        ToScratch<T>{to}(j, load_pairs(p));
      } else {
        ToScratch<T>{to}(j, {load_raw<Vec<T>>(p), apart != kAbsent ? load_raw<Vec<T>>(p + apart) : Vec<T>{}});
      }
    }
    return;
  }
  if (step == 2 && apart == 1) {
    for (; j < n; j += lanes) {
      const int64_t width = std::min<int64_t>(lanes, n - j);
      Vec<T> re[lanes] = {}, im[lanes] = {};
      for (int i = 0; i < count; i++) {
        const T* p = in + offsets[i] * unit + 2 * j;
        const Pair<T> z = width == lanes ? load_pairs(p) : load_some_pairs(p, width);
        re[i] = z.re, im[i] = z.im;
      }
      transpose_step<lanes / 2>(re);
      transpose_step<lanes / 2>(im);
#pragma GCC unroll 16
      for (int i = 0; i < lanes; i++)
        if (i < width) ToScratch<T>{to}(j + i, {re[i], im[i]});
    }
    return;
  }
  for (; j < n; j++)
    for (int i = 0; i < lanes; i++) {
      const T* p = in + (i < count ? offsets[i] * unit + j * step : 0);
      to[j * kRow<T> + i] = i < count ? *p : T(0);
      to[j * kRow<T> + lanes + i] = i < count && apart != kAbsent ? p[apart] : T(0);
    }
}

template <class T> void store_lanes(const T* from, int64_t n, T scale, T* out, const int64_t* offsets, int64_t unit, int64_t step, int64_t apart, int count) {
  constexpr int lanes = kLanes<T>;
  const Vec<T> factor = splat(scale);
  bool adjacent = count == lanes;
  for (int i = 1; i < count; i++) adjacent = adjacent && offsets[i] == offsets[i - 1] + 1;
  int64_t j = 0;
  if (adjacent) {
    T* p = out + offsets[0] * unit;
    for (; j < n; j++, p += step) {
      const Pair<T> z = FromScratch<T>{from}(j);
      if (unit == 2) {
        store_pairs<T>(p, z.re * factor, z.im * factor);
      } else {
        store_raw(p, z.re * factor);
        if (apart != kAbsent) store_raw(p + apart, z.im * factor);
      }
    }
    return;
  }
  if (step == 2 && apart == 1) {
    for (; j < n; j += lanes) {
      const int64_t width = std::min<int64_t>(lanes, n - j);
      Vec<T> re[lanes] = {}, im[lanes] = {};
#pragma GCC unroll 16
      for (int i = 0; i < lanes; i++) {
        if (i >= width) continue;
        const Pair<T> z = FromScratch<T>{from}(j + i);
        re[i] = z.re * factor, im[i] = z.im * factor;
      }
      transpose_step<lanes / 2>(re);
      transpose_step<lanes / 2>(im);
      for (int i = 0; i < count; i++) {
        T* p = out + offsets[i] * unit + 2 * j;
        if (width == lanes) store_pairs<T>(p, re[i], im[i]);
        else store_some_pairs<T>(p, re[i], im[i], width);
      }
    }
    return;
  }
  for (; j < n; j++)
    for (int i = 0; i < count; i++) {
      T* p = out + offsets[i] * unit + j * step;
      *p = from[j * kRow<T> + i] * scale;
      if (apart != kAbsent) p[apart] = from[j * kRow<T> + lanes + i] * scale;
    }
}

template <class T> void swap_parts(T* rows, int64_t n) {
  for (int64_t j = 0; j < n; j++) {
    const Pair<T> z = FromScratch<T>{rows}(j);
    ToScratch<T>{rows}(j, {z.im, z.re});
  }
}

template <class T> void lane_rows(const FftLanes<T>& r, T* scratch) {
  constexpr int64_t row = kRow<T>;
  const int64_t n = r.n, h = n / 2;
  const bool even = n % 2 == 0;
  T *scratch0 = scratch, *scratch1 = scratch + (n + 2) * row;
  T* const to = free_scratch(*r.plan, scratch0, scratch1);
  T* const other = to == scratch0 ? scratch1 : scratch0;
  const auto transform = [&] { run_passes<T>(*r.plan, FromScratch<T>{scratch1}, ToScratch<T>{to}, scratch0, scratch1); };
  const FromScratch<T> result{to};
  if (r.kind == FftKind::c2c) {
    load_lanes<T>(r.in, r.in_offsets, 2, 2 * r.in_step, 1, r.count, n, scratch1);
    if (r.inverse) swap_parts<T>(scratch1, n);
    transform();
    if (r.inverse) swap_parts<T>(to, n);
    store_lanes<T>(to, n, r.scale, r.out, r.out_offsets, 2, 2 * r.out_step, 1, r.count);
  } else if (r.kind == FftKind::r2c) {
    const T* spectrum = to;
    if (even) {
      load_lanes<T>(r.in, r.in_offsets, 1, 2 * r.in_step, r.in_step, r.count, h, scratch1);
      transform();
      for (int64_t k = 0; 2 * k <= h; k++) {
        Pair<T> a = result(k), b = result(k ? h - k : 0);
        untangle_pair<Vec<T>>(a.re, a.im, b.re, b.im, splat(r.roots[2 * k]), splat(r.roots[2 * k + 1]), splat(T(0.5)));
        ToScratch<T>{other}(k, a);
        ToScratch<T>{other}(h - k, b);
      }
      spectrum = other;
    } else {
      load_lanes<T>(r.in, r.in_offsets, 1, r.in_step, kAbsent, r.count, n, scratch1);
      transform();
    }
    store_lanes<T>(spectrum, h + 1, r.scale, r.out, r.out_offsets, 2, 2 * r.out_step, 1, r.count);
  } else {
    load_lanes<T>(r.in, r.in_offsets, 2, 2 * r.in_step, 1, r.count, h + 1, scratch1);
    const FromScratch<T> in{scratch1};
    const ToScratch<T> swapped{scratch1};
    if (even) {
      const Vec<T> zero = {};
      for (int64_t k = 0; 2 * k <= h; k++) {
        Pair<T> a = in(k), b = in(h - k);
        if (k == 0) a.im = b.im = zero;
        tangle_pair<Vec<T>>(a.re, a.im, b.re, b.im, splat(r.roots[2 * k]), splat(r.roots[2 * k + 1]), splat(T(1)));
        if (k) swapped(h - k, {b.im, b.re});
        swapped(k, {a.im, a.re});
      }
      transform();
      swap_parts<T>(to, h);
      store_lanes<T>(to, h, r.scale, r.out, r.out_offsets, 1, 2 * r.out_step, r.out_step, r.count);
    } else {
      for (int64_t k = h; k >= 1; k--) {
        const Pair<T> a = in(k);
        swapped(n - k, {-a.im, a.re});
        swapped(k, {a.im, a.re});
      }
      const Pair<T> a = in(0);
      swapped(0, {a.im, a.re});
      transform();
      swap_parts<T>(to, n);
      store_lanes<T>(to, n, r.scale, r.out, r.out_offsets, 1, r.out_step, kAbsent, r.count);
    }
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
