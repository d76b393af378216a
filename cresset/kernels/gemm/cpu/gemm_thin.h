#pragma once
// Matrix products that do not pay for packing: included once per instruction set and compute type.
//
// dot:   one side of C is short and the long operand's rows are contiguous along k; that operand is read once, at stream speed.
// rows:  C has few rows and B's rows are contiguous; B is read once, a few rows at a time.
// small: everything fits in the first-level cache.
// In each of them a sum's order depends on k alone.

#include "cresset/kernels/common/scratch.h"
#include "cresset/kernels/gemm/cpu/gemm_packed.h"

namespace cresset::kernels::CRESSET_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kDotRows = 3, kDotColumns = 8, kSmallRows = 8, kSmallVectors = 3;
#else
constexpr int kDotRows = 2, kDotColumns = 4, kSmallRows = 6, kSmallVectors = 2;
#endif

// Where sums go: C of storage type S with any strides; the bias runs along C's columns (bias_column = 1) or rows (bias_row = 1).
template <class S, class P> struct ElementOutput {
  S* c;
  int64_t row, column;
  P alpha, beta;
  const S* bias;
  int64_t bias_row, bias_column;
  bool relu;

  void put(int64_t i, int64_t j, P sum) const {
    S& to = c[i * row + j * column];
    P value = sum * alpha;
    if (beta != P(0)) value += beta * static_cast<P>(to);
    if (bias) value += static_cast<P>(bias[i * bias_row + j * bias_column]);
    if (relu && value < P(0)) value = P(0);
    to = static_cast<S>(value);
  }
};

// sums[r][q] = x[r] . w[q] over k.
template <class S, class P, int R, int Q> void dot_tile(int64_t k, const P* x, int64_t ldx, const S* w, int64_t ldw, P* sums) {
  constexpr int L = kLanes<P>;
  Vector<P> acc[R][Q] = {};
  int64_t p = 0;
  for (; p + L <= k; p += L) {
    Vector<P> weights[Q];
    unroll<Q>([&](auto q) {
      weights[q] = load_as<P>(w + q * ldw + p);
      keep_in_register(weights[q]);
    });
    unroll<R>([&](auto r) {
      Vector<P> values = load(x + r * ldx + p);
      keep_in_register(values);
      unroll<Q>([&](auto q) { acc[r][q] += values * weights[q]; });
    });
  }
  if (p < k) {
    const int rest = static_cast<int>(k - p);
    unroll<Q>([&](auto q) {
      const Vector<P> weights = load_some_as<P>(w + q * ldw + p, rest);
      unroll<R>([&](auto r) { acc[r][q] += load_some(x + r * ldx + p, rest) * weights; });
    });
  }
  unroll<(R * Q + L - 1) / L>([&](auto group) {
    Vector<P> part[L];
    unroll<L>([&](auto i) {
      constexpr int at = group * L + i;
      if constexpr (at < R * Q) part[i] = acc[at / Q][at % Q];
      else part[i] = Vector<P>{};
    });
    store_some(sums + group * L, sum_each<P>(part), std::min(L, R * Q - group * L));
  });
}

// C[i][j] = x[i] . w[j] for i < rows <= kDotRows, j < columns.
template <class S, class P, int R>
void dot_panel(int64_t columns, int64_t k, const P* x, int64_t ldx, const S* w, int64_t ldw, int64_t i0, const ElementOutput<S, P>& out) {
  constexpr int Q = kDotColumns;
  P sums[R * Q];
  int64_t j = 0;
  for (; j + Q <= columns; j += Q) {
    dot_tile<S, P, R, Q>(k, x, ldx, w + j * ldw, ldw, sums);
    for (int r = 0; r < R; r++)
      for (int q = 0; q < Q; q++) out.put(i0 + r, j + q, sums[r * Q + q]);
  }
  for (; j < columns; j++) {
    dot_tile<S, P, R, 1>(k, x, ldx, w + j * ldw, ldw, sums);
    for (int r = 0; r < R; r++) out.put(i0 + r, j, sums[r]);
  }
}

// C = x * w^T: x is rows x k in the compute type, w columns x k in the storage type, both contiguous along k.
template <class S, class P>
void gemm_dot(int64_t rows, int64_t columns, int64_t k, const P* x, int64_t ldx, const S* w, int64_t ldw, const ElementOutput<S, P>& out) {
  using Panel = void (*)(int64_t, int64_t, const P*, int64_t, const S*, int64_t, int64_t, const ElementOutput<S, P>&);
  constexpr auto panel = []<int... I>(std::integer_sequence<int, I...>) {
    struct Table {
      Panel at[sizeof...(I)];
    };
    return Table{{dot_panel<S, P, I + 1>...}};
  }
  (std::make_integer_sequence<int, kDotRows>{});
  // The first panel reads a block of w from memory as kDotColumns streams, which few rows do at full speed; the others find it in cache.
  const int64_t panels = ceil_div(rows, kDotRows), block = panels == 1 ? columns : kDotColumns;
  for (int64_t j = 0; j < columns; j += block) {
    ElementOutput<S, P> shifted = out;
    shifted.c += j * out.column;
    if (shifted.bias) shifted.bias += j * out.bias_column;
    for (int64_t q = 0; q < panels; q++) {
      const int64_t i0 = rows * q / panels, i1 = rows * (q + 1) / panels;
      panel.at[i1 - i0 - 1](std::min(block, columns - j), k, x + i0 * ldx, ldx, w + j * ldw, ldw, i0, shifted);
    }
  }
}

// A single long dot product: more sums at once than a tile of one would have.
template <class S, class P> P dot_product(int64_t k, const S* a, const S* b) {
  constexpr int L = kLanes<P>;
  Vector<P> acc[4] = {};
  int64_t p = 0;
  for (; p + 4 * L <= k; p += 4 * L) unroll<4>([&](auto i) { acc[i] += load_as<P>(a + p + i * L) * load_as<P>(b + p + i * L); });
  for (; p < k; p += L) {
    const int count = static_cast<int>(std::min<int64_t>(L, k - p));
    acc[0] += load_some_as<P>(a + p, count) * load_some_as<P>(b + p, count);
  }
  Vector<P> part[L] = {(acc[0] + acc[1]) + (acc[2] + acc[3])};
  return sum_each<P>(part)[0];
}

// The short operand as `rows` rows of k contiguous values of the compute type.
template <class S, class P> const P* short_operand(const S* x, int64_t rows, int64_t row_stride, int64_t k, int64_t k_stride, int64_t* ldx) {
  if constexpr (std::is_same_v<S, P>) {
    if (k_stride == 1) {
      *ldx = row_stride;
      return x;
    }
  }
  P* copy = thread_scratch<P>(Scratch::gemm_pack, rows * k);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t p = 0; p < k; p++) copy[i * k + p] = static_cast<P>(x[i * row_stride + p * k_stride]);
  *ldx = k;
  return copy;
}

template <class S, class P> ElementOutput<S, P> element_output(const GemmProblem& p) {
  return {static_cast<S*>(p.c), p.ldc, 1, p.alpha.as<P>(), p.beta.is(0) ? P(0) : p.beta.as<P>(), static_cast<const S*>(p.bias), 0, 1, p.relu};
}

// B is stored n x k: it is the long operand.
template <class S, class P> void gemm_dot_rows(const GemmProblem& p) {
  const S *a = static_cast<const S*>(p.a), *b = static_cast<const S*>(p.b);
  const ElementOutput<S, P> out = element_output<S, P>(p);
  if (p.m == 1 && p.n == 1 && !p.trans_a) return out.put(0, 0, dot_product<S, P>(p.k, a, b));
  int64_t ldx;
  const P* x = short_operand<S, P>(a, p.m, p.trans_a ? 1 : p.lda, p.k, p.trans_a ? p.lda : 1, &ldx);
  gemm_dot(p.m, p.n, p.k, x, ldx, b, p.ldb, out);
}

// A is stored m x k: it is the long operand of the transposed product.
template <class S, class P> void gemm_dot_columns(const GemmProblem& p) {
  ElementOutput<S, P> out = element_output<S, P>(p);
  std::swap(out.row, out.column);
  std::swap(out.bias_row, out.bias_column);
  int64_t ldx;
  const P* x = short_operand<S, P>(static_cast<const S*>(p.b), p.n, p.trans_b ? p.ldb : 1, p.k, p.trans_b ? 1 : p.ldb, &ldx);
  gemm_dot(p.n, p.m, p.k, x, ldx, static_cast<const S*>(p.a), p.lda, out);
}

// y[j] += sum over p < Depth of x[p] * b[p][j].
template <class S, class P, int Depth> void add_rows(int64_t n, const P* x, const S* b, int64_t ldb, P* y) {
  constexpr int L = kLanes<P>;
  int64_t j = 0;
  for (; j + L <= n; j += L) {
    Vector<P> sum = load(y + j);
    unroll<Depth>([&](auto p) { sum += x[p] * load_as<P>(b + p * ldb + j); });
    store(y + j, sum);
  }
  if (j < n) {
    const int count = static_cast<int>(n - j);
    Vector<P> sum = load_some(y + j, count);
    unroll<Depth>([&](auto p) { sum += x[p] * load_some_as<P>(b + p * ldb + j, count); });
    store_some(y + j, sum, count);
  }
}

// Few rows of C, B stored k x n: sums of `m` rows in the compute type grow while B streams by, eight rows at a time.
template <class S, class P>
void gemm_rows(int64_t m, int64_t n, int64_t k, const S* a, int64_t a_row, int64_t a_k, const S* b, int64_t ldb, const ElementOutput<S, P>& out) {
  constexpr int kDepth = 8;
  constexpr int64_t kBlock = 4096;  // columns whose sums stay in the first-level cache
  P* const sums = thread_scratch<P>(Scratch::gemm_pack, m * std::min(n, kBlock));
  for (int64_t j = 0; j < n; j += kBlock) {
    const int64_t columns = std::min(kBlock, n - j);
    std::fill_n(sums, m * columns, P(0));
    for (int64_t p = 0; p < k; p += kDepth) {
      const int64_t depth = std::min<int64_t>(kDepth, k - p);
      for (int64_t i = 0; i < m; i++) {
        P x[kDepth];
        for (int64_t q = 0; q < depth; q++) x[q] = static_cast<P>(a[i * a_row + (p + q) * a_k]);
        if (depth == kDepth) {
          add_rows<S, P, kDepth>(columns, x, b + p * ldb + j, ldb, sums + i * columns);
          continue;
        }
        for (int64_t q = 0; q < depth; q++) add_rows<S, P, 1>(columns, x + q, b + (p + q) * ldb + j, ldb, sums + i * columns);
      }
    }
    for (int64_t i = 0; i < m; i++)
      for (int64_t q = 0; q < columns; q++) out.put(i, j + q, sums[i * columns + q]);
  }
}

template <class S, class P> void gemm_few_rows(const GemmProblem& p) {
  gemm_rows(p.m, p.n, p.k, static_cast<const S*>(p.a), p.trans_a ? 1 : p.lda, p.trans_a ? p.lda : 1, static_cast<const S*>(p.b), p.ldb,
            element_output<S, P>(p));
}

// A is stored k x m and C has few columns: the transposed product has few rows.
template <class S, class P> void gemm_few_columns(const GemmProblem& p) {
  ElementOutput<S, P> out = element_output<S, P>(p);
  std::swap(out.row, out.column);
  std::swap(out.bias_row, out.bias_column);
  gemm_rows(p.n, p.m, p.k, static_cast<const S*>(p.b), p.trans_b ? p.ldb : 1, p.trans_b ? 1 : p.ldb, static_cast<const S*>(p.a), p.lda, out);
}

// C tile from A and B where they lie; the last of the Vectors has `last` columns.
template <class P, int Rows, int Vectors>
void small_tile(int64_t k, const P* a, int64_t a_row, int64_t a_k, const P* b, int64_t ldb, int last, const TileOutput<P>& out) {
  constexpr int L = kLanes<P>;
  Vector<P> acc[Rows][Vectors] = {};
  for (; k > 0; k--) {
    Vector<P> row[Vectors];
    unroll<Vectors>([&](auto j) { row[j] = j == Vectors - 1 ? load_some(b + j * L, last) : load(b + j * L); });
    unroll<Rows>([&](auto i) {
      const P x = a[i * a_row];
      unroll<Vectors>([&](auto j) { acc[i][j] += x * row[j]; });
    });
    a += a_k;
    b += ldb;
  }
  if (out.beta != P(0) || out.bias || out.relu) {
    alignas(kVectorBytes) P sums[Rows * Vectors * L];
    unroll<Rows>([&](auto i) { unroll<Vectors>([&](auto j) { store(sums + (i * Vectors + j) * L, acc[i][j]); }); });
    return finish_tile(sums, Rows, Vectors * L, (Vectors - 1) * L + last, out);
  }
  P* c = out.c;
  const P alpha = out.alpha;
  unroll<Rows>([&](auto i) {
    unroll<Vectors>([&](auto j) {
      if constexpr (j == Vectors - 1) store_some(c + j * L, acc[i][j] * alpha, last);
      else store(c + j * L, acc[i][j] * alpha);
    });
    c += out.ldc;
  });
}

// Whole product from A and B (k x n) where they lie.
template <class P> void gemm_small(int64_t m, int64_t n, int64_t k, const P* a, int64_t a_row, int64_t a_k, const P* b, int64_t ldb, const TileOutput<P>& out) {
  using Tile = void (*)(int64_t, const P*, int64_t, int64_t, const P*, int64_t, int, const TileOutput<P>&);
  static constexpr auto tiles = []<int... I>(std::integer_sequence<int, I...>) {
    struct Table {
      Tile at[sizeof...(I)];
    };
    return Table{{small_tile<P, I / kSmallVectors + 1, I % kSmallVectors + 1>...}};
  }
  (std::make_integer_sequence<int, kSmallRows * kSmallVectors>{});
  constexpr int L = kLanes<P>;
  if (m <= kSmallRows && n <= L) return tiles.at[(m - 1) * kSmallVectors](k, a, a_row, a_k, b, ldb, static_cast<int>(n), out);
  const int64_t vectors = ceil_div(n, L), panels = ceil_div(m, kSmallRows), strips = ceil_div(vectors, kSmallVectors);
  for (int64_t s = 0, v0 = 0, v1; s < strips; s++, v0 = v1) {
    v1 = vectors * (s + 1) / strips;
    const int last = static_cast<int>(std::min<int64_t>(n - (v1 - 1) * L, L));
    for (int64_t q = 0, i0 = 0, i1; q < panels; q++, i0 = i1) {
      i1 = m * (q + 1) / panels;
      TileOutput<P> tile = out;
      tile.c += i0 * out.ldc + v0 * L;
      if (tile.bias) tile.bias += v0 * L;
      tiles.at[(i1 - i0 - 1) * kSmallVectors + v1 - v0 - 1](k, a + i0 * a_row, a_row, a_k, b + v0 * L, ldb, last, tile);
    }
  }
}

// A handful of numbers, which would be read as vectors before their stores have ended. The sums are those of small_tile.
template <class P> CRESSET_ALWAYS_INLINE void gemm_tiny(int64_t m, int64_t n, int64_t k, const P* a, int64_t a_row, int64_t a_k, const P* b, int64_t b_column,
                                                        const TileOutput<P>& out) {
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      P sum = 0;
      for (int64_t q = 0; q < k; q++) {
        sum += a[i * a_row + q * a_k] * b[j * b_column + q];
        asm volatile("");  // one addition after the other, fused where small_tile's are
      }
      out.c[i * out.ldc + j] = sum * out.alpha;
    }
}

template <class P> void gemm_small(const GemmProblem& p, const GemmBatch& batch) {
  const P *a = static_cast<const P*>(p.a), *b = static_cast<const P*>(p.b);
  const int64_t a_row = p.trans_a ? 1 : p.lda, a_k = p.trans_a ? p.lda : 1;
  TileOutput<P> out{static_cast<P*>(p.c), p.ldc, p.alpha.as<P>(), p.beta.is(0) ? P(0) : p.beta.as<P>(), static_cast<const P*>(p.bias), p.relu};
  constexpr int L = kLanes<P>;
  const bool tiny = p.trans_b && p.m * p.n * p.k <= 32 && out.beta == P(0) && !out.bias && !out.relu;
  const int64_t ldb = p.trans_b ? ceil_div(p.n, L) * L : p.ldb;
  P* const packed = p.trans_b && !tiny ? thread_scratch<P>(Scratch::gemm_pack, ldb * p.k) : nullptr;
  for (int64_t item = 0; item < batch.count; item++, a += batch.a, b += batch.b, out.c += batch.c) {
    if (tiny) {
      gemm_tiny(p.m, p.n, p.k, a, a_row, a_k, b, p.ldb, out);
    } else if (!packed) {
      gemm_small<P>(p.m, p.n, p.k, a, a_row, a_k, b, ldb, out);
    } else {
      if (p.n * p.k <= 64) {
        for (int64_t j = 0; j < p.n; j++)
          for (int64_t q = 0; q < p.k; q++) packed[q * ldb + j] = b[j * p.ldb + q];
      } else {
        for (int64_t j = 0; j < p.n; j += L) pack_transposed(b + j * p.ldb, p.ldb, static_cast<int>(std::min<int64_t>(L, p.n - j)), p.k, packed + j, ldb);
      }
      gemm_small<P>(p.m, p.n, p.k, a, a_row, a_k, packed, ldb, out);
    }
  }
}

// The product by the path chosen for it; `packed` is the general way for this storage type.
template <class S, class P> void gemm_by_path(const GemmProblem& p, void (*packed)(const GemmProblem&)) {
  switch (p.path) {
    case GemmPath::dot_rows: return gemm_dot_rows<S, P>(p);
    case GemmPath::dot_columns: return gemm_dot_columns<S, P>(p);
    case GemmPath::few_rows: return gemm_few_rows<S, P>(p);
    case GemmPath::few_columns: return gemm_few_columns<S, P>(p);
    case GemmPath::small:
      if constexpr (std::is_same_v<S, P>) return gemm_small<P>(p, GemmBatch{});
      [[fallthrough]];
    default: return packed(p);
  }
}

}  // namespace
}  // namespace cresset::kernels::CRESSET_ISA
