#include "cresset/base/error.h"
#include "cresset/kernels/pool/cpu/pool_kernels.h"
#include "cresset/kernels/pool/cpu/pool_rows.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

template <class A> constexpr A lowest() {
  if constexpr (std::numeric_limits<A>::has_infinity) return -std::numeric_limits<A>::infinity();
  else return std::numeric_limits<A>::lowest();
}

template <class A> using IndexOf = std::conditional_t<sizeof(A) == 8, int64_t, int32_t>;

template <class V> CRESSET_ALWAYS_INLINE V iota() {
  V v;
  for (int i = 0; i < static_cast<int>(sizeof(V) / sizeof(v[0])); i++) v[i] = static_cast<Lane<V>>(i);
  return v;
}

// Output rows from split input rows: a ring of them holds the rows of the current windows. A: what T compares as.
template <class T, class A> class MaxRows {
 public:
  using I = IndexOf<A>;
  static constexpr int L = kLanes<A>;

  MaxRows(const PoolShape& s, const T* x, T* y, int64_t* indices)
      : s_(s),
        taps_(s, L),
        x_(x),
        y_(y),
        indices_(indices),
        slots_((s.kernel[1] - 1) * s.dilation[1] + 1),
        ring_(new A[static_cast<size_t>(slots_ * s.kernel[0] * taps_.size())]),
        held_(static_cast<size_t>(slots_ * s.kernel[0]), -1),
        width_((s.out[2] + L - 1) / L * L),
        best_(new A[static_cast<size_t>(width_)]),
        first_(new I[static_cast<size_t>(width_)]),
        found_(new I[static_cast<size_t>(width_)]) {
    for (int64_t w = 0; w < width_; w++) {
      const Span span(s, 2, std::min(w, s.out[2] - 1));
      first_[w] = static_cast<I>(span.begin);
    }
  }

  void run(const RowBlock& block) {
    std::fill(held_.begin(), held_.end(), -1);
    const Span depths(s_, 0, block.depth);
    const T* plane = x_ + block.plane * s_.in_size();
    std::vector<const A*> rows;
    std::vector<I> starts;
    for (int64_t h = block.begin; h < block.end; h++) {
      const Span heights(s_, 1, h);
      rows.clear();
      starts.clear();
      int64_t k = 0;
      for (int64_t d = depths.begin; d < depths.end; d += s_.dilation[0], k++)
        for (int64_t r = heights.begin; r < heights.end; r += s_.dilation[1]) {
          const int64_t start = (d * s_.in[1] + r) * s_.in[2], slot = k * slots_ + r % slots_;
          A* row = ring_.get() + slot * taps_.size();
          if (held_[static_cast<size_t>(slot)] != start) split_row(plane + start, taps_, lowest<A>(), row);
          held_[static_cast<size_t>(slot)] = start;
          rows.push_back(row);
          starts.push_back(static_cast<I>(start));
        }
      const int64_t at = ((block.plane * s_.out[0] + block.depth) * s_.out[1] + h) * s_.out[2];
      if (indices_) {
        pick<true>(rows, starts);
        for (int64_t w = 0; w < s_.out[2]; w++) indices_[at + w] = found_[w];
      } else {
        pick<false>(rows, starts);
      }
      store_row(best_.get(), s_.out[2], y_ + at);
    }
  }

 private:
  template <bool with_index> void pick(const std::vector<const A*>& rows, const std::vector<I>& starts) {
    const auto* taps = taps_.taps.data();
    const size_t num_taps = taps_.taps.size(), num_rows = rows.size();
    const I stride = static_cast<I>(s_.stride[2]);
    const Vec<I> lanes = iota<Vec<I>>() * stride;
    for (int64_t w = 0; w < width_; w += L) {
      Vec<A> best = splat(lowest<A>());
      const Vec<I> position = lanes + splat(static_cast<I>(w) * stride);
      Vec<I> where = load<I>(first_.get() + w) + splat(starts[0]);
      for (size_t r = 0; r < num_rows; r++) {
        const A* row = rows[r] + w;
        for (size_t t = 0; t < num_taps; t++) {
          const Vec<A> v = load<A>(row + taps[t].at);
          auto take = v > best;
          if constexpr (std::is_floating_point_v<A>) take = take | (v != v);
          best = take ? v : best;
          if constexpr (with_index) where = take ? position + splat(static_cast<I>(starts[r] + static_cast<I>(taps[t].offset))) : where;
        }
      }
      store(best_.get() + w, best);
      if constexpr (with_index) store(found_.get() + w, where);
    }
  }

  const PoolShape& s_;
  Taps taps_;
  const T* x_;
  T* y_;
  int64_t* indices_;
  int64_t slots_;
  std::unique_ptr<A[]> ring_;
  std::vector<int64_t> held_;
  int64_t width_;
  std::unique_ptr<A[]> best_;
  std::unique_ptr<I[]> first_, found_;
};

// Windows of any size and place: the rows of a window row are first reduced to one, column by column, and each window then picks among
// its columns. Equal elements: the one that comes first in the plane. NaN: the one that comes last.
template <class T, class A> class MaxColumns {
 public:
  using I = IndexOf<A>;
  explicit MaxColumns(int64_t width) : width_(width), best_(static_cast<size_t>(width)), where_(static_cast<size_t>(width)) {}

  void clear() { empty_ = true; }
  void add(const T* row, int64_t start) {
    A* best = best_.data();
    I* where = where_.data();
    const I at = static_cast<I>(start);
    if (empty_) {
      for (int64_t w = 0; w < width_; w++) best[w] = read_as<A>(row[w]);
      for (int64_t w = 0; w < width_; w++) where[w] = at + static_cast<I>(w);
      empty_ = false;
      return;
    }
    for (int64_t w = 0; w < width_; w++) {
      const A v = read_as<A>(row[w]), b = best[w];
      bool take = v > b;
      if constexpr (std::is_floating_point_v<A>) take = take | (v != v);
      best[w] = take ? v : b;
      where[w] = take ? at + static_cast<I>(w) : where[w];
    }
  }
  void pick(int64_t begin, int64_t end, int64_t step, T* y, int64_t* index) const {
    const A* best = best_.data();
    const I* where = where_.data();
    if constexpr (std::is_floating_point_v<A>)
      if (step == 1 && end - begin >= 2 * L && pick_vectors(begin, end, y, index)) return;
    A value = best[begin];
    I at = where[begin];
    for (int64_t w = begin + step; w < end; w += step) {
      const A v = best[w];
      bool take = v > value || (v == value && where[w] < at);
      if constexpr (std::is_floating_point_v<A>) take = take || (v != v && (value == value || where[w] > at));
      if (!take) continue;
      value = v;
      at = where[w];
    }
    *y = static_cast<T>(value);
    if (index) *index = static_cast<int64_t>(at);
  }

 private:
  static constexpr int L = kLanes<A>;

  // False, and nothing done, where there is a NaN, or zeros that may differ in sign.
  bool pick_vectors(int64_t begin, int64_t end, T* y, int64_t* index) const {
    const auto at = [&](int64_t w) { return std::min(w, end - L); };  // the last vector overlaps the one before it
    Vec<A> most = load<A>(best_.data() + begin);
    auto unordered = most != most;
    for (int64_t w = begin + L; w < end; w += L) {
      const Vec<A> v = load<A>(best_.data() + at(w));
      unordered |= v != v;
      most = v > most ? v : most;
    }
    const A value = fold_lanes(most, [](auto a, auto b) { return a > b ? a : b; });
    if (any_lane(unordered) || value == 0) return false;
    Vec<I> first = splat(std::numeric_limits<I>::max());
    for (int64_t w = begin; w < end; w += L) {
      const Vec<I> place = load<I>(where_.data() + at(w));
      first = (load<A>(best_.data() + at(w)) == splat(value)) & (place < first) ? place : first;
    }
    *y = static_cast<T>(value);
    if (index) *index = static_cast<int64_t>(fold_lanes(first, [](auto a, auto b) { return a < b ? a : b; }));
    return true;
  }

  int64_t width_;
  bool empty_ = true;
  std::vector<A> best_;
  std::vector<I> where_;
};

// span(d, i): the begin, end and step of window i in dimension d.
template <class T, class A, class S> void max_windows(const T* x, T* y, int64_t* indices, const PoolShape& s, S span) {
  for_row_blocks(s, [&](int64_t n, auto block_at) {
    MaxColumns<T, A> columns(s.in[2]);
    for (int64_t i = 0; i < n; i++) {
      const RowBlock b = block_at(i);
      const auto depths = span(0, b.depth);
      int64_t at = ((b.plane * s.out[0] + b.depth) * s.out[1] + b.begin) * s.out[2];
      for (int64_t oh = b.begin; oh < b.end; oh++) {
        const auto heights = span(1, oh);
        columns.clear();
        for (int64_t d = depths.begin; d < depths.end; d += depths.step)
          for (int64_t h = heights.begin; h < heights.end; h += heights.step) {
            const int64_t start = (d * s.in[1] + h) * s.in[2];
            columns.add(x + b.plane * s.in_size() + start, start);
          }
        for (int64_t ow = 0; ow < s.out[2]; ow++, at++) {
          const auto widths = span(2, ow);
          columns.pick(widths.begin, widths.end, widths.step, y + at, indices ? indices + at : nullptr);
        }
      }
    }
  });
}

struct Stretch {
  int64_t begin, end, step;
};

template <class T, class A> void plain_windows(const T* x, T* y, int64_t* indices, const PoolShape& s) {
  max_windows<T, A>(x, y, indices, s, [&](int d, int64_t i) {
    const Span span(s, d, i);
    return Stretch{span.begin, span.end, s.dilation[d]};
  });
}

// 2 x 2 windows with stride 2: one output row from two input rows, in registers.
template <class T, class A, bool with_index> void two_by_two_row(const T* top, int64_t width, int64_t start, int64_t n, T* y, int64_t* index) {
  using I = IndexOf<A>;
  constexpr int L = kLanes<A>;
  constexpr auto lanes = std::make_integer_sequence<int, L>{};
  const T* bottom = top + width;
  const Vec<I> steps = iota<Vec<I>>() * I(2) + splat(static_cast<I>(start));
  for (int64_t w = 0; w < n; w += L) {
    const int64_t left = 2 * (n - w);
    Vec<A> v[4];
    for (int r = 0; r < 2; r++) {
      const T* row = (r ? bottom : top) + 2 * w;
      const Vec<A> a = left >= L ? load<A>(row) : load_part<A>(row, left, A(0));
      const Vec<A> b = left >= 2 * L ? load<A>(row + L) : left > L ? load_part<A>(row + L, left - L, A(0)) : a;
      v[2 * r] = every_second<0>(a, b, lanes);
      v[2 * r + 1] = every_second<1>(a, b, lanes);
    }
    Vec<A> best = v[0];
    Vec<I> where = steps + splat(static_cast<I>(2 * w)), from = where;
    for (int k = 1; k < 4; k++) {
      auto take = v[k] > best;
      if constexpr (std::is_floating_point_v<A>) take = take | (v[k] != v[k]);
      best = take ? v[k] : best;
      if constexpr (with_index) where = take ? from + splat(static_cast<I>(k / 2 * width + k % 2)) : where;
    }
    const int64_t m = n - w < L ? n - w : L;
    if (m == L) store(y + w, best);
    else store_part(y + w, m, best);
    if constexpr (with_index) {
      alignas(64) I found[L];
      store(found, where);
      if (m == L) {
        for (int i = 0; i < L; i++) index[w + i] = found[i];
      } else {
        for (int64_t i = 0; i < m; i++) index[w + i] = found[i];
      }
    }
  }
}

template <class T, class A> void two_by_two(const T* x, T* y, int64_t* indices, const PoolShape& s) {
  for_row_blocks(s, [&](int64_t n, auto block_at) {
    for (int64_t i = 0; i < n; i++) {
      const RowBlock b = block_at(i);
      for (int64_t h = b.begin; h < b.end; h++) {
        const int64_t at = ((b.plane * s.out[0] + b.depth) * s.out[1] + h) * s.out[2], start = (b.depth * s.in[1] + 2 * h) * s.in[2];
        const T* top = x + b.plane * s.in_size() + start;
        if (indices) two_by_two_row<T, A, true>(top, s.in[2], start, s.out[2], y + at, indices + at);
        else two_by_two_row<T, A, false>(top, s.in[2], start, s.out[2], y + at, nullptr);
      }
    }
  });
}

template <class T, class A> void max_planes(const char* px, char* py, int64_t* indices, const PoolShape& s) {
  const T* x = reinterpret_cast<const T*>(px);
  T* y = reinterpret_cast<T*>(py);
  if (!splits_well(s)) return plain_windows<T, A>(x, y, indices, s);
  if (is_two_by_two(s)) return two_by_two<T, A>(x, y, indices, s);
  for_row_blocks(s, [&](int64_t n, auto block_at) {
    MaxRows<T, A> rows(s, x, y, indices);
    for (int64_t i = 0; i < n; i++) rows.run(block_at(i));
  });
}

template <class T> void adaptive_max(const char* x, char* y, int64_t* indices, const PoolShape& s) {
  max_windows<T, Compute<T>>(reinterpret_cast<const T*>(x), reinterpret_cast<T*>(y), indices, s, [&](int d, int64_t i) {
    return Stretch{i * s.in[d] / s.out[d], ((i + 1) * s.in[d] + s.out[d] - 1) / s.out[d], 1};
  });
}

template <class T> void max_backward(const char* pdy, const int64_t* indices, char* pdx, int64_t planes, int64_t in_size, int64_t out_size) {
  using A = Compute<T>;
  const T* dy = reinterpret_cast<const T*>(pdy);
  T* dx = reinterpret_cast<T*>(pdx);
  parallel_for(0, planes, std::max<int64_t>(1, 32768 / std::max<int64_t>(in_size + out_size, 1)), [&](int64_t first, int64_t last) {
    std::vector<A> sums(std::is_same_v<T, A> ? 0 : static_cast<size_t>(in_size));
    for (int64_t p = first; p < last; p++) {
      A* to;
      if constexpr (std::is_same_v<T, A>) to = dx + p * in_size;
      else to = sums.data();
      std::memset(static_cast<void*>(to), 0, static_cast<size_t>(in_size) * sizeof(A));
      const int64_t* index = indices + p * out_size;
      for (int64_t i = 0; i < out_size; i++) {
        CRESSET_CHECK_INDEX(static_cast<uint64_t>(index[i]) < static_cast<uint64_t>(in_size), "max_pool backward: index out of range, got ", index[i],
                            ", expected 0 <= index < ", in_size);
        to[index[i]] += static_cast<A>(dy[p * out_size + i]);
      }
      if constexpr (!std::is_same_v<T, A>) store_row(to, in_size, dx + p * in_size);
    }
  });
}

}  // namespace

void max_pool_planes(const char* x, char* y, int64_t* indices, ScalarType t, const PoolShape& s) {
  switch (t) {
    case ScalarType::Half: return max_planes<Half, float>(x, y, indices, s);
    case ScalarType::BFloat16: return max_planes<BFloat16, float>(x, y, indices, s);
    case ScalarType::Float: return max_planes<float, float>(x, y, indices, s);
    case ScalarType::Double: return max_planes<double, double>(x, y, indices, s);
    case ScalarType::Long: return max_planes<int64_t, int64_t>(x, y, indices, s);
    case ScalarType::UInt64: return plain_windows<uint64_t, uint64_t>(reinterpret_cast<const uint64_t*>(x), reinterpret_cast<uint64_t*>(y), indices, s);
    default: CRESSET_INTERNAL_ASSERT(false);
  }
}

void adaptive_max_pool_planes(const char* x, char* y, int64_t* indices, ScalarType t, const PoolShape& s) {
  switch (t) {
    case ScalarType::Half: return adaptive_max<Half>(x, y, indices, s);
    case ScalarType::BFloat16: return adaptive_max<BFloat16>(x, y, indices, s);
    case ScalarType::Float: return adaptive_max<float>(x, y, indices, s);
    case ScalarType::Double: return adaptive_max<double>(x, y, indices, s);
    case ScalarType::Long: return adaptive_max<int64_t>(x, y, indices, s);
    case ScalarType::UInt64: return adaptive_max<uint64_t>(x, y, indices, s);
    default: CRESSET_INTERNAL_ASSERT(false);
  }
}

void max_pool_backward_planes(const char* dy, const int64_t* indices, char* dx, ScalarType t, int64_t planes, int64_t in_size, int64_t out_size) {
  switch (t) {
    case ScalarType::Half: return max_backward<Half>(dy, indices, dx, planes, in_size, out_size);
    case ScalarType::BFloat16: return max_backward<BFloat16>(dy, indices, dx, planes, in_size, out_size);
    case ScalarType::Float: return max_backward<float>(dy, indices, dx, planes, in_size, out_size);
    case ScalarType::Double: return max_backward<double>(dy, indices, dx, planes, in_size, out_size);
    default: CRESSET_CHECK_NOT_IMPLEMENTED(false, "max_pool backward: not implemented for ", t);
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
