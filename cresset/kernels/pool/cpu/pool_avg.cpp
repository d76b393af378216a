#include "cresset/base/error.h"
#include "cresset/kernels/pool/cpu/pool_kernels.h"
#include "cresset/kernels/pool/cpu/pool_rows.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

// How many elements each output averages over: a product of one count per dimension, or a given number.
struct Divisors {
  Divisors(const PoolShape& s, bool include_pad, int64_t divisor) : given(divisor) {
    for (int d = 0; d < 3; d++)
      for (int64_t i = 0; i < s.out[d]; i++) {
        const int64_t start = i * s.stride[d] - s.padding[d], end = std::min(start + s.kernel[d], s.in[d] + s.padding[d]);
        counts[d].push_back(include_pad ? end - start : std::max<int64_t>(0, std::min(end, s.in[d]) - std::max<int64_t>(start, 0)));
      }
  }
  int64_t rows(int64_t depth, int64_t row) const { return counts[0][static_cast<size_t>(depth)] * counts[1][static_cast<size_t>(row)]; }

  int64_t given;
  std::vector<int64_t> counts[3];
};

template <class A> class AvgRows {
 public:
  static constexpr int L = kLanes<A>;

  AvgRows(const PoolShape& s, const Divisors& divisors)
      : s_(s),
        taps_(s, L),
        divisors_(divisors),
        width_((s.out[2] + L - 1) / L * L),
        row_(static_cast<size_t>(s.in[2])),
        split_(static_cast<size_t>(taps_.size())),
        out_(static_cast<size_t>(width_)),
        by_(static_cast<size_t>(width_), A(1)) {}

  template <class T> void forward(const T* x, T* y, const RowBlock& block) {
    const Span depths(s_, 0, block.depth);
    const T* plane = x + block.plane * s_.in_size();
    for (int64_t h = block.begin; h < block.end; h++) {
      const Span heights(s_, 1, h);
      bool first = true;
      for (int64_t d = depths.begin; d < depths.end; d++)
        for (int64_t r = heights.begin; r < heights.end; r++, first = false) {
          const T* row = plane + (d * s_.in[1] + r) * s_.in[2];
          first ? load_row(row, s_.in[2], row_.data()) : add_row(row, s_.in[2], row_.data());
        }
      if (first) std::fill(row_.begin(), row_.end(), A(0));
      prepare(block.depth, h);
      if (splits_well(s_)) {
        split_row(row_.data(), taps_, A(0), split_.data());
        for (int64_t w = 0; w < width_; w += L) {
          Vec<A> sum{};
          for (const auto& tap : taps_.taps) sum = sum + load<A>(split_.data() + tap.at + w);
          store(out_.data() + w, sum / load<A>(by_.data() + w));
        }
      } else {
        for (int64_t w = 0; w < s_.out[2]; w++) {
          const Span span(s_, 2, w);
          out_[static_cast<size_t>(w)] = sum(row_.data() + span.begin, span.end - span.begin) / by_[static_cast<size_t>(w)];
        }
      }
      store_row(out_.data(), s_.out[2], y + ((block.plane * s_.out[0] + block.depth) * s_.out[1] + h) * s_.out[2]);
    }
  }

  // Adds one plane of dy, spread over its windows, to dx, which is zero before.
  template <class T> void backward(const T* dy, A* dx) {
    for (int64_t d = 0; d < s_.out[0]; d++)
      for (int64_t h = 0; h < s_.out[1]; h++) {
        load_row(dy + (d * s_.out[1] + h) * s_.out[2], s_.out[2], out_.data());
        prepare(d, h);
        for (int64_t w = s_.out[2]; w < width_; w++) out_[static_cast<size_t>(w)] = 0;
        for (int64_t w = 0; w < width_; w += L) store(out_.data() + w, load<A>(out_.data() + w) / load<A>(by_.data() + w));
        if (splits_well(s_)) {
          std::fill(split_.begin(), split_.end(), A(0));
          for (const auto& tap : taps_.taps) {
            A* to = split_.data() + tap.at;
            for (int64_t w = 0; w < width_; w += L) store(to + w, load<A>(to + w) + load<A>(out_.data() + w));
          }
          join_row(split_.data(), taps_, row_.data());
        } else {
          std::fill(row_.begin(), row_.end(), A(0));
          for (int64_t w = 0; w < s_.out[2]; w++) {
            const Span span(s_, 2, w);
            for (int64_t i = span.begin; i < span.end; i++) row_[static_cast<size_t>(i)] += out_[static_cast<size_t>(w)];
          }
        }
        const Span depths(s_, 0, d), heights(s_, 1, h);
        for (int64_t i = depths.begin; i < depths.end; i++)
          for (int64_t r = heights.begin; r < heights.end; r++) add_row(row_.data(), s_.in[2], dx + (i * s_.in[1] + r) * s_.in[2]);
      }
  }

 private:
  static A sum(const A* p, int64_t n) {
    Vec<A> v{};
    int64_t i = 0;
    for (; i + L <= n; i += L) v = v + load<A>(p + i);
    A total = sum_lanes(v);
    for (; i < n; i++) total += p[i];
    return total;
  }

  // The divisors of an output row. An empty window (count 0) has the sum 0 and yields 0.
  void prepare(int64_t depth, int64_t row) {
    const int64_t rows = divisors_.rows(depth, row);
    if (rows == prepared_) return;
    prepared_ = rows;
    for (int64_t w = 0; w < s_.out[2]; w++) {
      const int64_t n = divisors_.given ? divisors_.given : rows * divisors_.counts[2][static_cast<size_t>(w)];
      by_[static_cast<size_t>(w)] = static_cast<A>(n ? n : 1);
    }
  }

  const PoolShape& s_;
  Taps taps_;
  const Divisors& divisors_;
  int64_t width_, prepared_ = -1;
  std::vector<A> row_, split_, out_, by_;
};

// 2 x 2 windows with stride 2: one output row from two input rows, in registers, and the way back.
template <class T> void two_by_two_row(const T* top, int64_t width, int64_t n, Compute<T> share, T* y) {
  using A = Compute<T>;
  constexpr int L = kLanes<A>;
  constexpr auto lanes = std::make_integer_sequence<int, L>{};
  for (int64_t w = 0; w < n; w += L) {
    const int64_t left = 2 * (n - w);
    const auto at = [&](const T* p, int64_t m) { return m >= L ? load<A>(p) : m > 0 ? load_part<A>(p, m, A(0)) : Vec<A>{}; };
    const T* row = top + 2 * w;
    const Vec<A> a = at(row, left) + at(row + width, left), b = at(row + L, left - L) + at(row + width + L, left - L);
    const Vec<A> sum = (every_second<0>(a, b, lanes) + every_second<1>(a, b, lanes)) * splat(share);
    if (n - w >= L) store(y + w, sum);
    else store_part(y + w, n - w, sum);
  }
}

template <class T> void two_by_two_back(const T* dy, int64_t n, Compute<T> share, T* dx, int64_t width) {
  using A = Compute<T>;
  constexpr int L = kLanes<A>;
  constexpr auto lanes = std::make_integer_sequence<int, L>{};
  for (int64_t w = 0; w < n; w += L) {
    const int64_t left = 2 * (n - w);
    const Vec<A> g = (n - w >= L ? load<A>(dy + w) : load_part<A>(dy + w, n - w, A(0))) * splat(share);
    const Vec<A> halves[] = {interleave<0>(g, g, lanes), interleave<L / 2>(g, g, lanes)};
    for (int r = 0; r < 2; r++)
      for (int k = 0; k < 2; k++) {
        T* to = dx + r * width + 2 * w + k * L;
        const int64_t m = left - k * L;
        if (m >= L) store(to, halves[k]);
        else if (m > 0) store_part(to, m, halves[k]);
      }
  }
}

template <class T> bool two_by_two(const T* x, T* y, const PoolShape& s, int64_t divisor) {
  if (std::is_integral_v<T> || !is_two_by_two(s) || (divisor & (divisor - 1))) return false;
  if constexpr (!std::is_integral_v<T>) {
    // A power of two: multiplying by its inverse is exact.
    const Compute<T> share = Compute<T>(1) / static_cast<Compute<T>>(divisor ? divisor : 4);
    for_row_blocks(s, [&](int64_t n, auto block_at) {
      for (int64_t i = 0; i < n; i++) {
        const RowBlock b = block_at(i);
        for (int64_t h = b.begin; h < b.end; h++)
          two_by_two_row(x + b.plane * s.in_size() + (b.depth * s.in[1] + 2 * h) * s.in[2], s.in[2], s.out[2], share,
                         y + ((b.plane * s.out[0] + b.depth) * s.out[1] + h) * s.out[2]);
      }
    });
  }
  return true;
}

template <class T> bool two_by_two_backward(const T* dy, T* dx, const PoolShape& s, int64_t divisor) {
  if (std::is_integral_v<T> || !is_two_by_two(s) || (divisor & (divisor - 1)) || s.out[1] * 2 != s.in[1] || s.out[2] * 2 != s.in[2]) return false;
  if constexpr (!std::is_integral_v<T>) {
    const Compute<T> share = Compute<T>(1) / static_cast<Compute<T>>(divisor ? divisor : 4);
    for_row_blocks(s, [&](int64_t n, auto block_at) {
      for (int64_t i = 0; i < n; i++) {
        const RowBlock b = block_at(i);
        for (int64_t h = b.begin; h < b.end; h++)
          two_by_two_back(dy + ((b.plane * s.out[0] + b.depth) * s.out[1] + h) * s.out[2], s.out[2], share,
                          dx + b.plane * s.in_size() + (b.depth * s.in[1] + 2 * h) * s.in[2], s.in[2]);
      }
    });
  }
  return true;
}

template <class T> void forward(const char* px, char* py, const PoolShape& s, bool include_pad, int64_t divisor) {
  if (two_by_two(reinterpret_cast<const T*>(px), reinterpret_cast<T*>(py), s, divisor)) return;
  const Divisors divisors(s, include_pad, divisor);
  for_row_blocks(s, [&](int64_t n, auto block_at) {
    AvgRows<Compute<T>> rows(s, divisors);
    for (int64_t i = 0; i < n; i++) rows.forward(reinterpret_cast<const T*>(px), reinterpret_cast<T*>(py), block_at(i));
  });
}

// Runs body(plane, sums) with zeroed sums for each plane of dx and stores them.
template <class T, class Make, class F> void for_gradient_planes(char* pdx, const PoolShape& s, Make make, F body) {
  using A = Compute<T>;
  T* dx = reinterpret_cast<T*>(pdx);
  const int64_t in_size = s.in_size();
  parallel_for(0, s.planes, std::max<int64_t>(1, 32768 / std::max<int64_t>(in_size + s.out_size(), 1)), [&](int64_t first, int64_t last) {
    auto state = make();
    std::vector<A> sums(std::is_same_v<T, A> ? 0 : static_cast<size_t>(in_size));
    for (int64_t p = first; p < last; p++) {
      A* to;
      if constexpr (std::is_same_v<T, A>) to = dx + p * in_size;
      else to = sums.data();
      std::memset(static_cast<void*>(to), 0, static_cast<size_t>(in_size) * sizeof(A));
      body(state, p, to);
      if constexpr (!std::is_same_v<T, A>) store_row(to, in_size, dx + p * in_size);
    }
  });
}

template <class T> void backward(const char* pdy, char* pdx, const PoolShape& s, bool include_pad, int64_t divisor) {
  if (two_by_two_backward(reinterpret_cast<const T*>(pdy), reinterpret_cast<T*>(pdx), s, divisor)) return;
  using A = Compute<T>;
  const Divisors divisors(s, include_pad, divisor);
  for_gradient_planes<T>(
      pdx, s, [&] { return AvgRows<A>(s, divisors); },
      [&](AvgRows<A>& rows, int64_t p, A* to) {
        if (s.out_size()) rows.backward(reinterpret_cast<const T*>(pdy) + p * s.out_size(), to);
      });
}

struct AdaptiveSpan {
  int64_t begin, end;
  AdaptiveSpan(const PoolShape& s, int d, int64_t i) : begin(i * s.in[d] / s.out[d]), end(((i + 1) * s.in[d] + s.out[d] - 1) / s.out[d]) {}
};

template <class T> void adaptive_forward(const char* px, char* py, const PoolShape& s) {
  using A = Compute<T>;
  const T* x = reinterpret_cast<const T*>(px);
  T* y = reinterpret_cast<T*>(py);
  for_row_blocks(s, [&](int64_t n, auto block_at) {
    std::vector<A> row(static_cast<size_t>(s.in[2]));
    for (int64_t i = 0; i < n; i++) {
      const RowBlock b = block_at(i);
      const AdaptiveSpan depths(s, 0, b.depth);
      for (int64_t h = b.begin; h < b.end; h++) {
        const AdaptiveSpan heights(s, 1, h);
        std::fill(row.begin(), row.end(), A(0));
        for (int64_t d = depths.begin; d < depths.end; d++)
          for (int64_t r = heights.begin; r < heights.end; r++) add_row(x + b.plane * s.in_size() + (d * s.in[1] + r) * s.in[2], s.in[2], row.data());
        const int64_t rows = (depths.end - depths.begin) * (heights.end - heights.begin);
        T* out = y + ((b.plane * s.out[0] + b.depth) * s.out[1] + h) * s.out[2];
        for (int64_t w = 0; w < s.out[2]; w++) {
          const AdaptiveSpan span(s, 2, w);
          A sum = 0;
          for (int64_t j = span.begin; j < span.end; j++) sum += row[static_cast<size_t>(j)];
          out[w] = static_cast<T>(sum / static_cast<A>(rows * (span.end - span.begin)));
        }
      }
    }
  });
}

template <class T> void adaptive_backward(const char* pdy, char* pdx, const PoolShape& s) {
  using A = Compute<T>;
  for_gradient_planes<T>(
      pdx, s, [&] { return std::vector<A>(static_cast<size_t>(s.in[2])); },
      [&](std::vector<A>& row, int64_t p, A* to) {
        const T* dy = reinterpret_cast<const T*>(pdy) + p * s.out_size();
        for (int64_t d = 0; d < s.out[0]; d++)
          for (int64_t h = 0; h < s.out[1]; h++, dy += s.out[2]) {
            const AdaptiveSpan depths(s, 0, d), heights(s, 1, h);
            const int64_t rows = (depths.end - depths.begin) * (heights.end - heights.begin);
            std::fill(row.begin(), row.end(), A(0));
            for (int64_t w = 0; w < s.out[2]; w++) {
              const AdaptiveSpan span(s, 2, w);
              const A share = static_cast<A>(dy[w]) / static_cast<A>(rows * (span.end - span.begin));
              for (int64_t j = span.begin; j < span.end; j++) row[static_cast<size_t>(j)] += share;
            }
            for (int64_t i = depths.begin; i < depths.end; i++)
              for (int64_t r = heights.begin; r < heights.end; r++) add_row(row.data(), s.in[2], to + (i * s.in[1] + r) * s.in[2]);
          }
      });
}

}  // namespace

#define CRESSET_FLOAT_CASES(f, ...)                           \
  case ScalarType::Half: return f<Half>(__VA_ARGS__);         \
  case ScalarType::BFloat16: return f<BFloat16>(__VA_ARGS__); \
  case ScalarType::Float: return f<float>(__VA_ARGS__);       \
  case ScalarType::Double: return f<double>(__VA_ARGS__);

void avg_pool_planes(const char* x, char* y, ScalarType t, const PoolShape& s, bool include_pad, int64_t divisor) {
  switch (t) {
    CRESSET_FLOAT_CASES(forward, x, y, s, include_pad, divisor)
    case ScalarType::Long: return forward<int64_t>(x, y, s, include_pad, divisor);
    default: CRESSET_CHECK_NOT_IMPLEMENTED(false, "avg_pool: not implemented for ", t);
  }
}

void avg_pool_backward_planes(const char* dy, char* dx, ScalarType t, const PoolShape& s, bool include_pad, int64_t divisor) {
  switch (t) {
    CRESSET_FLOAT_CASES(backward, dy, dx, s, include_pad, divisor)
    case ScalarType::Long: return backward<int64_t>(dy, dx, s, include_pad, divisor);
    default: CRESSET_CHECK_NOT_IMPLEMENTED(false, "avg_pool backward: not implemented for ", t);
  }
}

void adaptive_avg_pool_planes(const char* x, char* y, ScalarType t, const PoolShape& s) {
  switch (t) {
    CRESSET_FLOAT_CASES(adaptive_forward, x, y, s)
    default: CRESSET_CHECK_NOT_IMPLEMENTED(false, "adaptive_avg_pool: not implemented for ", t);
  }
}

void adaptive_avg_pool_backward_planes(const char* dy, char* dx, ScalarType t, const PoolShape& s) {
  switch (t) {
    CRESSET_FLOAT_CASES(adaptive_backward, dy, dx, s)
    default: CRESSET_CHECK_NOT_IMPLEMENTED(false, "adaptive_avg_pool backward: not implemented for ", t);
  }
}
#undef CRESSET_FLOAT_CASES

}  // namespace cresset::kernels::CRESSET_ISA
