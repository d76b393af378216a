#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "cresset/base/error.h"
#include "cresset/kernels/layout/cpu/convert.h"
#include "cresset/kernels/random/cpu/random.h"
#include "cresset/kernels/random/random.h"

namespace cresset::kernels {

namespace {

struct Weights {
  const char* data;
  ScalarType dtype;
  int64_t rows, categories, row_stride, category_stride;

  // Dense, with the rows innermost.
  bool is_transposed() const { return rows > 1 && categories > 1 && row_stride == 1 && category_stride == rows; }
};

// A row as A: double for Double, float for the others.
template <class A> void load_row(const Weights& w, int64_t row, A* out) {
  const int64_t item = static_cast<int64_t>(element_size(w.dtype));
  converter(w.dtype, dtype_of<A>)(reinterpret_cast<char*>(out), sizeof(A), w.data + row * w.row_stride * item, w.category_stride * item, w.categories);
}

template <class A> void check_row(const A* p, int64_t n) {
  A sum = 0;
  for (int64_t i = 0; i < n; i++) {
    CRESSET_CHECK(p[i] >= 0 || std::isnan(p[i]), "multinomial: invalid distribution (encountering probability entry < 0), got ", p[i]);
    CRESSET_CHECK(std::isfinite(p[i]), "multinomial: invalid distribution (encountering probability entry = infinity or NaN), got ", p[i]);
    sum += p[i];
  }
  CRESSET_CHECK(sum > 0, "multinomial: invalid distribution (sum of probabilities <= 0)");
}

template <class A> void with_replacement(RandomState& state, int64_t* out, const Weights& w, int64_t samples) {
  std::vector<A> cumulative(static_cast<size_t>(w.categories));
  std::vector<double> fractions(static_cast<size_t>(samples));
  for (int64_t row = 0; row < w.rows; row++) {
    load_row(w, row, cumulative.data());
    A sum = 0;
    for (A& c : cumulative) c = sum += c;
    for (A& c : cumulative) c /= sum;
    call(random_words_stub)(state.engine, reinterpret_cast<uint32_t*>(fractions.data()), 2 * samples);
    call(words_to_u53_stub)(fractions.data(), samples);
    for (int64_t i = 0; i < samples; i++) {
      const double u = fractions[static_cast<size_t>(i)];
      const auto found = std::lower_bound(cumulative.begin(), cumulative.end(), u, [](A c, double x) { return static_cast<double>(c) < x; });
      out[row * samples + i] = std::min<int64_t>(found - cumulative.begin(), w.categories - 1);
    }
  }
}

template <class A> A quotient(A a, A b, ScalarType dtype) {
  const A q = a / b;
  if (dtype == ScalarType::Half) return static_cast<A>(static_cast<float>(Half(static_cast<float>(q))));
  if (dtype == ScalarType::BFloat16) return static_cast<A>(static_cast<float>(BFloat16(static_cast<float>(q))));
  return q;
}

template <class A> void race(RandomState& state, int64_t* out, const Weights& w, int64_t samples) {
  const int64_t n = w.categories, item = static_cast<int64_t>(element_size(w.dtype));
  std::vector<char> exponentials(static_cast<size_t>(w.rows * n * item));
  exponential(state, exponentials.data(), w.dtype, w.rows * n, 1.0);
  Weights q{exponentials.data(), w.dtype, w.rows, n, n, 1};
  if (w.is_transposed()) q.row_stride = 1, q.category_stride = w.rows;

  std::vector<A> p(static_cast<size_t>(n)), e(static_cast<size_t>(n));
  std::vector<std::pair<A, int64_t>> entries(static_cast<size_t>(n));
  const auto before = [](const std::pair<A, int64_t>& a, const std::pair<A, int64_t>& b) {
    return (std::isnan(a.first) && !std::isnan(b.first)) || a.first > b.first;
  };
  for (int64_t row = 0; row < w.rows; row++) {
    load_row(w, row, p.data());
    load_row(q, row, e.data());
    for (size_t i = 0; i < static_cast<size_t>(n); i++) entries[i] = {quotient(p[i], e[i], w.dtype), static_cast<int64_t>(i)};
    if (samples == 1) {
      out[row] = std::min_element(entries.begin(), entries.end(), before)->second;
      continue;
    }
    // Ties are broken as the sorting algorithms happen to leave them: the choice between the two is part of the result.
    if (samples * 64 <= n) {
      std::partial_sort(entries.begin(), entries.begin() + samples, entries.end(), before);
    } else {
      std::nth_element(entries.begin(), entries.begin() + samples - 1, entries.end(), before);
      std::sort(entries.begin(), entries.begin() + samples - 1, before);
    }
    for (int64_t i = 0; i < samples; i++) out[row * samples + i] = entries[static_cast<size_t>(i)].second;
  }
}

template <class A> void sample(RandomState& state, int64_t* out, const Weights& w, int64_t samples, bool replacement) {
  std::vector<A> row(static_cast<size_t>(w.categories));
  for (int64_t r = 0; r < w.rows; r++) {
    load_row(w, r, row.data());
    check_row(row.data(), w.categories);
  }
  if (replacement && samples > 1) with_replacement<A>(state, out, w, samples);
  else race<A>(state, out, w, samples);
}

}  // namespace

void multinomial(RandomState& state, int64_t* out, const void* weights, ScalarType dtype, int64_t rows, int64_t categories, int64_t row_stride,
                 int64_t category_stride, int64_t samples, bool replacement) {
  CRESSET_CHECK_NOT_IMPLEMENTED(is_floating_type(dtype), "multinomial: not implemented for ", dtype, ", expected a floating dtype");
  CRESSET_CHECK(samples > 0, "multinomial: cannot sample n_sample <= 0 samples, got ", samples);
  CRESSET_CHECK(replacement || samples <= categories, "multinomial: cannot sample n_sample > ", categories, " samples without replacement, got ", samples);
  const Weights w{static_cast<const char*>(weights), dtype, rows, categories, row_stride, category_stride};
  if (dtype == ScalarType::Double) sample<double>(state, out, w, samples, replacement);
  else sample<float>(state, out, w, samples, replacement);
}

}  // namespace cresset::kernels
