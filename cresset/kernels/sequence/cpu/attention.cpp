#include "cresset/kernels/sequence/cpu/attention.h"

#include <algorithm>

#include "cresset/kernels/common/element.h"
#include "cresset/kernels/cpu/rows.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class A> constexpr A kHidden = -std::numeric_limits<A>::infinity();

template <class A> void add_mask(const AttentionMask& m, A* row, int64_t i, int64_t n) {
  const char* mask = m.data + i * m.query;
  if (m.dtype == ScalarType::Bool) {
    for (int64_t j = 0; j < n; j++) row[j] = mask[j * m.key] != 0 ? row[j] : kHidden<A>;
  } else if (m.dtype == dtype_of<A> && m.key == static_cast<int64_t>(sizeof(A))) {
    const A* added = reinterpret_cast<const A*>(mask);
    for (int64_t j = 0; j < n; j++) row[j] += added[j];
  } else {
    const auto get = load_fn<A>(m.dtype);
    for (int64_t j = 0; j < n; j++) row[j] += get(mask + j * m.key);
  }
}

// Row i of the tile with everything that is hidden at -inf.
template <class A> A* masked_row(const AttentionTile& tile, int64_t i) {
  A* row = static_cast<A*>(tile.scores) + i * tile.stride;
  const int64_t seen = std::clamp<int64_t>(tile.causal_end + i + 1, 0, tile.columns);
  if (tile.mask.data) add_mask(tile.mask, row, i, seen);
  for (int64_t j = seen; j < tile.columns; j++) row[j] = kHidden<A>;
  return row;
}

template <class A> void softmax(const AttentionTile& tile, const AttentionState& state) {
  using R = Row<A>;
  A *max = static_cast<A*>(state.max), *sum = static_cast<A*>(state.sum);
  for (int64_t i = 0; i < tile.rows; i++) {
    A* row = masked_row<A>(tile, i);
    const A here = R::max(row, tile.columns), top = here > max[i] ? here : max[i];
    if (top == R::kLowest) {
      // Nothing seen yet. A NaN among the scores is no maximum but must reach the result.
      A total = 0;
      for (int64_t j = 0; j < tile.columns; j++) {
        row[j] = row[j] != row[j] ? row[j] : A(0);
        total += row[j];
      }
      sum[i] += total;
      continue;
    }
    const auto shift = splat(top);
    const A total = R::sum(tile.columns, [&](int64_t j, int64_t count) {
      const auto weights = exp(R::get(row + j, count, R::kLowest) - shift);
      R::put(row + j, count, weights);
      return weights;
    });
    if (top != max[i]) {
      const A factor = max[i] == R::kLowest ? A(1) : std::exp(max[i] - top);
      sum[i] *= factor;
      A* values = static_cast<A*>(state.values) + i * state.width;
      R::write(values, state.width, false, [&](int64_t d, int64_t count) { return R::get(values + d, count, A(0)) * splat(factor); });
      max[i] = top;
    }
    sum[i] += total;
  }
}

template <class A> void weights(const AttentionTile& tile, const A* lse) {
  using R = Row<A>;
  for (int64_t i = 0; i < tile.rows; i++) {
    A* row = masked_row<A>(tile, i);
    // A query that sees no key has no weights.
    const auto shift = splat(lse[i] == R::kLowest ? std::numeric_limits<A>::infinity() : lse[i]);
    R::write(row, tile.columns, false, [&](int64_t j, int64_t count) { return exp(R::get(row + j, count, R::kLowest) - shift); });
  }
}

template <class A> void score_gradients(const AttentionTile& tile, const A* gradients, const A* delta, A scale) {
  using R = Row<A>;
  for (int64_t i = 0; i < tile.rows; i++) {
    A* row = static_cast<A*>(tile.scores) + i * tile.stride;
    const A* g = gradients + i * tile.stride;
    const auto less = splat(delta[i]), times = splat(scale), none = splat(A(0));
    R::write(row, tile.columns, false, [&](int64_t j, int64_t count) {
      const auto p = R::get(row + j, count, A(0));
      return p == none ? none : p * (R::get(g + j, count, A(0)) - less) * times;
    });
  }
}

// f(key, chain) for every key, in four chains.
template <class F> CRESSET_ALWAYS_INLINE void each_key(int64_t keys, F f) {
  int64_t j = 0;
  for (; j + 4 <= keys; j += 4)
#pragma GCC unroll 4
    for (int u = 0; u < 4; u++) f(j + u, u);
  for (; j < keys; j++) f(j, 0);
}

template <class A> void mask_strip(const AttentionStrip& s) {
  using V = Vec<A>;
  constexpr int64_t L = kLanes<A>;
  A* const scores = static_cast<A*>(s.scores);
  const V hidden = splat(kHidden<A>);
  if (s.added) {
    const A* added = static_cast<const A*>(s.added);
    for (int64_t j = 0; j < s.keys; j++)
      for (int64_t i = 0; i < s.lanes; i += L) {
        A* at = scores + j * s.width + i;
        const V x = load<A>(at), y = load<A>(added + j * s.width + i);
        store(at, s.added_hides ? (y == hidden ? hidden : x) : x + y);
      }
  } else if (s.key_mask.data) {
    const AttentionMask& m = s.key_mask;
    const auto get = m.dtype == ScalarType::Bool ? nullptr : load_fn<A>(m.dtype);
    for (int64_t j = 0; j < s.keys; j++) {
      const char* mask = m.data + j * m.key;
      const bool shown = get || *mask != 0;
      const V added = splat(get ? get(mask) : A(0));
      if (!get && shown) continue;
      for (int64_t i = 0; i < s.lanes; i += L) store(scores + j * s.width + i, shown ? load<A>(scores + j * s.width + i) + added : hidden);
    }
  }
  // From the first key that some query does not see.
  for (int64_t j = std::max<int64_t>(s.causal_end + 1, 0); j < s.keys; j++)
    for (int64_t i = 0, unseen = std::min(j - s.causal_end, s.lanes); i < unseen; i++) scores[j * s.width + i] = kHidden<A>;
}

template <class A> void strip_softmax(const AttentionStrip& s, const AttentionState& state, bool first) {
  using V = Vec<A>;
  constexpr int64_t L = kLanes<A>;
  mask_strip<A>(s);
  const V lowest = splat(kHidden<A>), none = splat(A(0)), one = splat(A(1));
  for (int64_t i = 0; i < s.lanes; i += L) {
    A* const scores = static_cast<A*>(s.scores) + i;
    A *const max = static_cast<A*>(state.max) + i, *const sum = static_cast<A*>(state.sum) + i;
    const V before = load<A>(max);
    V top[4] = {before, lowest, lowest, lowest}, total[4] = {};
    each_key(s.keys, [&](int64_t j, int u) { top[u] = max_second(load<A>(scores + j * s.width), top[u]); });
    const V here = max_second(max_second(top[0], top[1]), max_second(top[2], top[3]));
    // Where nothing is seen weights are 0, but a NaN among the scores, which is no maximum, reaches the result.
    const V shift = here == lowest ? none : here;
    each_key(s.keys, [&](int64_t j, int u) {
      const V weight = exp(load<A>(scores + j * s.width) - shift);
      store(scores + j * s.width, weight);
      total[u] = total[u] + weight;
    });
    V sums = load<A>(sum);
    if (!first && any_lane(before != here)) {
      const V factor = before == lowest ? one : exp(before - here);
      sums = sums * factor;
      A* const values = static_cast<A*>(state.values) + i;
      for (int64_t d = 0; d < state.width; d++) store(values + d * s.width, load<A>(values + d * s.width) * factor);
    }
    store(max, here);
    store(sum, sums + ((total[0] + total[1]) + (total[2] + total[3])));
  }
}

template <class A> void strip_finish(const AttentionStrip& s, int64_t queries, const AttentionState& state, A* lse) {
  using V = Vec<A>;
  const A *max = static_cast<const A*>(state.max), *sum = static_cast<const A*>(state.sum);
  for (int64_t i = 0; i < s.lanes; i += kLanes<A>) {
    const V total = load<A>(sum + i), none = splat(A(0)), factor = total == none ? none : splat(A(1)) / total;
    A* const values = static_cast<A*>(state.values) + i;
    for (int64_t d = 0; d < state.width; d++) store(values + d * s.width, load<A>(values + d * s.width) * factor);
  }
  if (!lse) return;
  for (int64_t i = 0; i < queries; i++) lse[i] = sum[i] == 0 ? kHidden<A> : max[i] + std::log(sum[i]);
}

template <class A> void strip_gradients(const AttentionStrip& s, A* gradients, const A* lse, const A* delta, A scale) {
  using V = Vec<A>;
  mask_strip<A>(s);
  const V none = splat(A(0)), times = splat(scale);
  for (int64_t i = 0; i < s.lanes; i += kLanes<A>) {
    const V less = load<A>(delta + i), logarithm = load<A>(lse + i);
    // A query that sees no key has no weights.
    const V shift = logarithm == splat(kHidden<A>) ? splat(-kHidden<A>) : logarithm;
    A *const scores = static_cast<A*>(s.scores) + i, *const g = gradients + i;
    each_key(s.keys, [&](int64_t j, int) {
      const V p = exp(load<A>(scores + j * s.width) - shift), gradient = p * (load<A>(g + j * s.width) - less) * times;
      store(scores + j * s.width, p);
      store(g + j * s.width, p == none ? none : gradient);
    });
  }
}

template <class A> void mask_rows(const AttentionMask& mask, int64_t rows, int64_t columns, A* CRESSET_RESTRICT added, int64_t stride) {
  for (int64_t i = 0; i < rows; i++, added += stride) {
    if (mask.dtype == ScalarType::Bool && mask.key == 1) {
      const auto* CRESSET_RESTRICT shown = reinterpret_cast<const int8_t*>(mask.data + i * mask.query);
      for (int64_t j = 0; j < columns; j++) added[j] = shown[j] ? A(0) : kHidden<A>;
    } else {
      std::fill_n(added, columns, A(0));
      add_mask(mask, added, i, columns);
    }
  }
}

template <class A> void delta_of(const A* a, int64_t a_stride, const A* b, int64_t b_stride, int64_t rows, int64_t width, A* delta) {
  using R = Row<A>;
  for (int64_t i = 0; i < rows; i++, a += a_stride, b += b_stride)
    delta[i] = R::sum(width, [&](int64_t d, int64_t count) { return R::get(a + d, count, A(0)) * R::get(b + d, count, A(0)); });
}

template <class A> void finish(int64_t rows, const AttentionState& state, A* lse) {
  using R = Row<A>;
  const A *max = static_cast<const A*>(state.max), *sum = static_cast<const A*>(state.sum);
  for (int64_t i = 0; i < rows; i++) {
    A* values = static_cast<A*>(state.values) + i * state.width;
    const auto factor = splat(sum[i] == 0 ? A(0) : 1 / sum[i]);
    R::write(values, state.width, false, [&](int64_t d, int64_t count) { return R::get(values + d, count, A(0)) * factor; });
    if (lse) lse[i] = sum[i] == 0 ? R::kLowest : max[i] + std::log(sum[i]);
  }
}

}  // namespace

void attention_softmax(const AttentionTile& tile, const AttentionState& state) {
  if (tile.dtype == ScalarType::Double) softmax<double>(tile, state);
  else softmax<float>(tile, state);
}

void attention_weights(const AttentionTile& tile, const void* lse) {
  if (tile.dtype == ScalarType::Double) weights(tile, static_cast<const double*>(lse));
  else weights(tile, static_cast<const float*>(lse));
}

void attention_score_gradients(const AttentionTile& tile, const void* gradients, const void* delta, double scale) {
  if (tile.dtype == ScalarType::Double) score_gradients(tile, static_cast<const double*>(gradients), static_cast<const double*>(delta), scale);
  else score_gradients(tile, static_cast<const float*>(gradients), static_cast<const float*>(delta), static_cast<float>(scale));
}

void attention_delta(ScalarType dtype, const void* a, int64_t a_stride, const void* b, int64_t b_stride, int64_t rows, int64_t width, void* delta) {
  if (dtype == ScalarType::Double)
    delta_of(static_cast<const double*>(a), a_stride, static_cast<const double*>(b), b_stride, rows, width, static_cast<double*>(delta));
  else delta_of(static_cast<const float*>(a), a_stride, static_cast<const float*>(b), b_stride, rows, width, static_cast<float*>(delta));
}

void attention_finish(ScalarType dtype, int64_t rows, const AttentionState& state, void* lse) {
  if (dtype == ScalarType::Double) finish(rows, state, static_cast<double*>(lse));
  else finish(rows, state, static_cast<float*>(lse));
}

void attention_strip_softmax(const AttentionStrip& strip, const AttentionState& state, bool first) {
  if (strip.dtype == ScalarType::Double) strip_softmax<double>(strip, state, first);
  else strip_softmax<float>(strip, state, first);
}

void attention_strip_finish(const AttentionStrip& strip, int64_t queries, const AttentionState& state, void* lse) {
  if (strip.dtype == ScalarType::Double) strip_finish(strip, queries, state, static_cast<double*>(lse));
  else strip_finish(strip, queries, state, static_cast<float*>(lse));
}

void attention_strip_gradients(const AttentionStrip& strip, void* gradients, const void* lse, const void* delta, double scale) {
  if (strip.dtype == ScalarType::Double)
    strip_gradients(strip, static_cast<double*>(gradients), static_cast<const double*>(lse), static_cast<const double*>(delta), scale);
  else strip_gradients(strip, static_cast<float*>(gradients), static_cast<const float*>(lse), static_cast<const float*>(delta), static_cast<float>(scale));
}

void attention_mask_rows(ScalarType dtype, const AttentionMask& mask, int64_t rows, int64_t columns, void* added, int64_t stride) {
  if (dtype == ScalarType::Double) mask_rows(mask, rows, columns, static_cast<double*>(added), stride);
  else mask_rows(mask, rows, columns, static_cast<float*>(added), stride);
}

}  // namespace cresset::kernels::CRESSET_ISA
