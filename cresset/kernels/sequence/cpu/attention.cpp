#include "cresset/kernels/sequence/cpu/attention.h"

#include <algorithm>

#include "cresset/kernels/common/element.h"
#include "cresset/kernels/cpu/rows.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class A> void add_mask(const AttentionTile& tile, A* row, int64_t i, int64_t n) {
  const char* mask = tile.mask + i * tile.mask_row;
  constexpr A kHidden = -std::numeric_limits<A>::infinity();
  if (tile.mask_dtype == ScalarType::Bool) {
    for (int64_t j = 0; j < n; j++) row[j] = mask[j * tile.mask_column] != 0 ? row[j] : kHidden;
  } else if (tile.mask_dtype == dtype_of<A> && tile.mask_column == static_cast<int64_t>(sizeof(A))) {
    const A* added = reinterpret_cast<const A*>(mask);
    for (int64_t j = 0; j < n; j++) row[j] += added[j];
  } else {
    const auto get = load_fn<A>(tile.mask_dtype);
    for (int64_t j = 0; j < n; j++) row[j] += get(mask + j * tile.mask_column);
  }
}

// Row i of the tile with everything that is hidden at -inf.
template <class A> A* masked_row(const AttentionTile& tile, int64_t i) {
  A* row = static_cast<A*>(tile.scores) + i * tile.stride;
  const int64_t seen = std::clamp<int64_t>(tile.causal_end + i + 1, 0, tile.columns);
  if (tile.mask) add_mask(tile, row, i, seen);
  for (int64_t j = seen; j < tile.columns; j++) row[j] = -std::numeric_limits<A>::infinity();
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

}  // namespace cresset::kernels::CRESSET_ISA
