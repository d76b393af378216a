#pragma once
// Packed, register-blocked matrix product: included once per instruction set and compute type.
//
// op(A) and op(B) are copied ("packed") block by block into the order in which the micro-kernel reads them, converting the storage
// type S to the compute type P on the way. A complex product is a real one: with A as m x 2k reals (re, im) and each row of B packed
// as the two rows (re, im) and (-im, re), C is the m x 2n reals of the complex result.

#include "cresset/kernels/common/scratch.h"
#include "cresset/kernels/gemm/cpu/gemm.h"
#include "cresset/kernels/gemm/cpu/gemm_vector.h"

namespace cresset::kernels::CRESSET_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kTileRows = 14;
#else
constexpr int kTileRows = 6;
#endif
constexpr int kTileVectors = 2;

// How a finished tile of sums goes into C.
template <class P> struct TileOutput {
  P* c;
  int64_t ldc;
  P alpha, beta;
  const P* bias;  // at the tile's first column, or null
  bool relu;
};

// A tile of sums, `width` apart, a multiple of vectors, into the rows x columns of C that exist: the general case, outside of the micro-kernels.
template <class P> CRESSET_NOINLINE void finish_tile(const P* sums, int rows, int width, int columns, const TileOutput<P>& output) {
  constexpr int L = kLanes<P>;
  const TileOutput<P> out = output;
  const bool overwrite = out.beta == P(0);
  for (int j = 0; j < columns; j += L) {
    const int count = std::min(L, columns - j);
    const Vector<P> bias = out.bias ? load_some(out.bias + j, count) : Vector<P>{};
    P* c = out.c + j;
    for (int i = 0; i < rows; i++, c += out.ldc) {
      const Vector<P> sum = load(sums + i * width + j);
      Vector<P> v = overwrite ? sum * out.alpha : sum * out.alpha + load_some(c, count) * out.beta;
      if (out.bias) v += bias;
      if (out.relu) v = v < P(0) ? Vector<P>{} : v;
      store_some(c, v, count);
    }
  }
}

// C tile (Rows x Vectors) from A and rows of B, b_step apart; only the first `columns` columns exist in C. Element (i, p) of A is
// a[p * Rows + i], a packed panel, or a[i * AStep + p] where AStep is not 0.
template <class P, int Rows, int Vectors, int AStep>
void micro_kernel(int64_t k, const P* CRESSET_RESTRICT a, const P* CRESSET_RESTRICT b, int64_t b_step, const TileOutput<P>& out, int columns) {
  constexpr int L = kLanes<P>;
  Vector<P> acc[Rows][Vectors] = {};
  unroll<Rows>([&](auto i) { unroll<Vectors>([&](auto j) { __builtin_prefetch(out.c + i * out.ldc + j * L, 1); }); });
  for (; k > 0; k--) {
    Vector<P> row[Vectors];
    unroll<Vectors>([&](auto j) { row[j] = load(b + j * L); });
    unroll<Rows>([&](auto i) {
      const P x = a[AStep ? i * AStep : i];
      unroll<Vectors>([&](auto j) { acc[i][j] += x * row[j]; });
    });
    a += AStep ? 1 : Rows;
    b += b_step;
  }
  // Calls while the sums are live would make the compiler keep some of them in memory throughout: they are stored first.
  if (columns < Vectors * L || out.relu || (out.bias && out.beta != P(0))) {
    alignas(kVectorBytes) P sums[Rows * Vectors * L];
    unroll<Rows>([&](auto i) { unroll<Vectors>([&](auto j) { store(sums + (i * Vectors + j) * L, acc[i][j]); }); });
    return finish_tile(sums, Rows, Vectors * L, columns, out);
  }
  P* c = out.c;
  const P alpha = out.alpha, beta = out.beta;
  if (out.bias) {
    Vector<P> bias[Vectors];
    unroll<Vectors>([&](auto j) { bias[j] = load(out.bias + j * L); });
    unroll<Rows>([&](auto i) {
      unroll<Vectors>([&](auto j) { store(c + j * L, acc[i][j] * alpha + bias[j]); });
      c += out.ldc;
    });
    return;
  }
  if (beta == P(0)) {
    unroll<Rows>([&](auto i) {
      unroll<Vectors>([&](auto j) { store(c + j * L, acc[i][j] * alpha); });
      c += out.ldc;
    });
    return;
  }
  unroll<Rows>([&](auto i) {
    unroll<Vectors>([&](auto j) { store(c + j * L, acc[i][j] * alpha + load(c + j * L) * beta); });
    c += out.ldc;
  });
}

template <class P> using MicroKernel = void (*)(int64_t, const P*, const P*, int64_t, const TileOutput<P>&, int);

// micro_kernels<P>[rows - 1][vectors - 1]
template <class P, int AStep, int... I> constexpr auto make_micro_kernels(std::integer_sequence<int, I...>) {
  struct Table {
    MicroKernel<P> at[kTileRows][kTileVectors];
  };
  return Table{{{micro_kernel<P, I + 1, 1, AStep>, micro_kernel<P, I + 1, 2, AStep>}...}};
}
template <class P, int AStep = 0> constexpr auto micro_kernels = make_micro_kernels<P, AStep>(std::make_integer_sequence<int, kTileRows>{});

// out[p * width + j] = in[j * stride + p] for p < k and j < count, in blocks of vectors. Each row is stored as a whole vector: what
// lies beyond its `count` elements is zero, or is overwritten by the next row when width < lanes.
template <class S, class P> void pack_transposed(const S* in, int64_t stride, int count, int64_t k, P* out, int64_t width) {
  constexpr int L = kLanes<P>;
  for (int64_t p = 0; p < k; p += L) {
    const int depth = static_cast<int>(std::min<int64_t>(L, k - p));
    Vector<P> x[L];
    if (depth == L) unroll<L>([&](auto j) { x[j] = j < count ? load_as<P>(in + j * stride + p) : Vector<P>{}; });
    else unroll<L>([&](auto j) { x[j] = j < count ? load_some_as<P>(in + j * stride + p, depth) : Vector<P>{}; });
    transpose<P>(x);
    unroll<L>([&](auto i) {
      if (i < depth) store(out + (p + i) * width, x[i]);
    });
  }
}

// Element (row, p) of op(A) is a[row * row_stride + p * k_stride]; out[p][rows]. May write up to one vector beyond.
template <class S, class P> void pack_a(const S* a, int64_t row_stride, int64_t k_stride, int rows, int64_t k, P* out) {
  if constexpr (is_complex<S>::value) {
    if (k_stride == 1) return pack_a(reinterpret_cast<const P*>(a), 2 * row_stride, 1, rows, 2 * k, out);
    for (int64_t p = 0; p < k; p++)
      for (int i = 0; i < rows; i++) {
        const S x = a[i * row_stride + p * k_stride];
        out[2 * p * rows + i] = x.real();
        out[(2 * p + 1) * rows + i] = x.imag();
      }
  } else if (k_stride == 1) {
    // A panel taller than a vector is packed in slices; ascending order lets each slice overwrite the excess of the one before.
    constexpr int L = kLanes<P>;
    if (rows <= L) return pack_transposed(a, row_stride, rows, k, out, rows);
    for (int64_t p = 0; p < k; p += L) {
      const int depth = static_cast<int>(std::min<int64_t>(L, k - p));
      P block[L * L];
      for (int i = 0; i < rows; i += L) {
        const int count = std::min(L, rows - i);
        pack_transposed(a + i * row_stride + p, row_stride, count, depth, block, L);
        for (int q = 0; q < depth; q++)
          for (int r = 0; r < count; r++) out[(p + q) * rows + i + r] = block[q * L + r];
      }
    }
  } else {
    constexpr int L = kLanes<P>;
    for (int64_t p = 0; p < k; p++)
      for (int i = 0; i < rows; i += L) store(out + p * rows + i, load_some_as<P>(a + p * k_stride + i, std::min(L, rows - i)));
  }
}

// Element (p, column) of op(B) is b[p * k_stride + column * column_stride]; out[p][width], zero beyond `columns`.
template <class S, class P> void pack_b(const S* b, int64_t k_stride, int64_t column_stride, int columns, int width, int64_t k, P* out) {
  constexpr int L = kLanes<P>;
  if constexpr (is_complex<S>::value) {
    for (int64_t p = 0; p < k; p++) {
      P* first = out + 2 * p * width;
      P* second = first + width;
      for (int j = 0; j < columns; j++) {
        const S x = b[p * k_stride + j * column_stride];
        first[2 * j] = x.real();
        first[2 * j + 1] = x.imag();
        second[2 * j] = -x.imag();
        second[2 * j + 1] = x.real();
      }
      for (int j = 2 * columns; j < width; j++) first[j] = second[j] = 0;
    }
  } else if (column_stride == 1) {
    for (int64_t p = 0; p < k; p++)
      for (int j = 0; j < width; j += L) {
        const int count = std::min(L, columns - j);
        const S* from = b + p * k_stride + j;
        store(out + p * width + j, count == L ? load_as<P>(from) : load_some_as<P>(from, count));
      }
  } else {
    for (int j = 0; j < width; j += L) pack_transposed(b + j * column_stride, column_stride, std::min(L, columns - j), k, out + j, width);
  }
}

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
// The size of equal blocks, each a multiple of `unit` and at most about `limit`, that cover `length`.
constexpr int64_t even_block(int64_t length, int64_t limit, int64_t unit) {
  const int64_t blocks = ceil_div(length, limit);
  return ceil_div(ceil_div(length, blocks), unit) * unit;
}

// Block sizes. A panel of kTileRows x depth stays in the first-level cache while it meets every panel of a packed block of B
// (depth x columns), which streams from the second and third level. Depth trades that against passes over C: of 256, 384, 512 and
// 768 floats, 384 gave the best rates for products of 512 to 2048. It depends on k alone, so that no other size changes a sum's order.
template <class P> constexpr int64_t kBlockDepth = 1536 / static_cast<int64_t>(sizeof(P));
constexpr int64_t kBlockColumns = 2048;

// The product in compute type P with storage type S of A and B. `c` holds P: C itself, or a tile buffer of the caller.
// Sizes are in elements of S; C has n * (2 for complex) columns of P.
template <class S, class P>
void gemm_packed(int64_t m, int64_t n, int64_t k, const S* a, int64_t a_row, int64_t a_k, const S* b, int64_t b_k, int64_t b_column, TileOutput<P> out) {
  constexpr int kParts = is_complex<S>::value ? 2 : 1;
  constexpr int kWidth = kTileVectors * kLanes<P>;
  static_assert(kWidth % kParts == 0);
  const int64_t depth = even_block(k, kBlockDepth<P> / kParts, 4), columns = std::min<int64_t>(n, kBlockColumns / kParts);
  const int64_t padded_columns = ceil_div(columns * kParts, kWidth) * kWidth, panels = ceil_div(m, kTileRows);
  const int64_t a_size = (ceil_div(kTileRows * depth * kParts, kLanes<P>) + 1) * kLanes<P>;
  P* const packed_a = thread_scratch<P>(Scratch::gemm_pack, a_size + padded_columns * depth * kParts);
  P* const packed_b = packed_a + a_size;
  for (int64_t jc = 0; jc < n; jc += columns) {
    const int64_t nc = std::min(columns, n - jc) * kParts;
    for (int64_t pc = 0; pc < k; pc += depth) {
      const int64_t kc = std::min(depth, k - pc), kp = kc * kParts;
      TileOutput<P> step = out;
      if (pc > 0) step.beta = P(1);
      if (pc + kc < k) {
        step.bias = nullptr;
        step.relu = false;
      }
      for (int64_t j = 0; j < nc; j += kWidth) {
        const int used = static_cast<int>(std::min<int64_t>(kWidth, nc - j));
        const int width = static_cast<int>(ceil_div(used, kLanes<P>)) * kLanes<P>;
        pack_b(b + pc * b_k + (jc + j / kParts) * b_column, b_k, b_column, used / kParts, width, kc, packed_b + j * kp);
      }
      // Panel q covers rows [m * q / panels, m * (q + 1) / panels): heights differ by one at most.
      for (int64_t q = 0, i0 = 0, i1; q < panels; q++, i0 = i1) {
        i1 = m * (q + 1) / panels;
        pack_a(a + i0 * a_row + pc * a_k, a_row, a_k, static_cast<int>(i1 - i0), kc, packed_a);
        for (int64_t j = 0; j < nc; j += kWidth) {
          const int used = static_cast<int>(std::min<int64_t>(kWidth, nc - j));
          const int64_t column = jc * kParts + j;
          TileOutput<P> tile = step;
          tile.c += i0 * out.ldc + column;
          if (tile.bias) tile.bias += column;
          const bool wide = used > kLanes<P>;
          micro_kernels<P>.at[i1 - i0 - 1][wide](kp, packed_a, packed_b + j * kp, wide ? kWidth : kLanes<P>, tile, used);
        }
      }
    }
  }
}

// op(B), k x n, packed for all products with it, in blocks of `depth` rows: [block][panel of columns][row in block][column in panel].
// Each panel meets several packed panels of A before the next is read: B is read once for kPanels * kTileRows rows of A.
template <class P> struct PackedColumns {
  static constexpr int kWidth = kTileVectors * kLanes<P>;
  static constexpr int64_t kPanels = 8;
  int64_t n, k, padded, depth;

  PackedColumns(int64_t n_, int64_t k_) : n(n_), k(k_), padded(ceil_div(n_, kLanes<P>) * kLanes<P>), depth(even_block(k_, kBlockDepth<P>, 4)) {}
  int64_t size() const { return padded * k; }

  void pack(bool trans_b, const P* b, int64_t ldb, P* out) const {
    const int64_t b_k = trans_b ? 1 : ldb, b_column = trans_b ? ldb : 1;
    for (int64_t pc = 0; pc < k; pc += depth) {
      const int64_t kc = std::min(depth, k - pc);
      for (int64_t j = 0; j < n; j += kWidth) {
        const int used = static_cast<int>(std::min<int64_t>(kWidth, n - j)), width = static_cast<int>(std::min<int64_t>(kWidth, padded - j));
        pack_b(b + pc * b_k + j * b_column, b_k, b_column, used, width, kc, out + pc * padded + j * kc);
      }
    }
  }

  // C = A * op(B), as `out` says.
  void multiply(int64_t m, const P* a, int64_t lda, const P* packed, const TileOutput<P>& out) const {
    const int64_t panels = ceil_div(m, kTileRows), panel_size = ceil_div(kTileRows * depth, kLanes<P>) * kLanes<P>;
    P* const packed_a = thread_scratch<P>(Scratch::gemm_pack, std::min(panels, kPanels) * panel_size + kLanes<P>);
    const auto first_row = [&](int64_t q) { return m * q / panels; };  // heights differ by one at most
    for (int64_t pc = 0; pc < k; pc += depth) {
      const int64_t kc = std::min(depth, k - pc);
      const bool last = pc + kc == k;
      for (int64_t q0 = 0; q0 < panels; q0 += kPanels) {
        const int64_t q1 = std::min(panels, q0 + kPanels);
        for (int64_t q = q0; q < q1; q++)
          pack_a(a + first_row(q) * lda + pc, lda, 1, static_cast<int>(first_row(q + 1) - first_row(q)), kc, packed_a + (q - q0) * panel_size);
        for (int64_t j = 0; j < n; j += kWidth) {
          const int used = static_cast<int>(std::min<int64_t>(kWidth, n - j));
          const bool wide = used > kLanes<P>;
          for (int64_t q = q0; q < q1; q++) {
            const TileOutput<P> tile{out.c + first_row(q) * out.ldc + j,        out.ldc,         out.alpha, pc > 0 ? P(1) : out.beta,
                                     last && out.bias ? out.bias + j : nullptr, last && out.relu};
            micro_kernels<P>.at[first_row(q + 1) - first_row(q) - 1][wide](kc, packed_a + (q - q0) * panel_size, packed + pc * padded + j * kc,
                                                                           wide ? kWidth : kLanes<P>, tile, used);
          }
        }
      }
    }
  }
};

template <class T> T multiply(T a, T b) {
  if constexpr (std::is_integral<T>::value) return static_cast<T>(1u * a * b);  // uint16 would promote to int and overflow
  else return a * b;
}

// For storage types that C cannot accumulate in (T != P) and complex factors: products go to a P buffer of bounded size,
// which is then combined with C. T: what one element of the result is (P or complex<P>). `product` makes the sums.
template <class S, class P> using PackedProduct = void (*)(int64_t m, int64_t n, int64_t k, const S* a, int64_t a_row, int64_t a_k, const S* b, int64_t b_k,
                                                           int64_t b_column, TileOutput<P> out);
template <class S, class P, class T, PackedProduct<S, P> product = gemm_packed<S, P>> void gemm_through_buffer(const GemmProblem& p) {
  constexpr int kParts = is_complex<S>::value ? 2 : 1;
  const T alpha = p.alpha.as<T>(), beta = p.beta.as<T>();
  const bool overwrite = p.beta.is(0);
  const int64_t a_row = p.trans_a ? 1 : p.lda, a_k = p.trans_a ? p.lda : 1;
  const int64_t b_k = p.trans_b ? 1 : p.ldb, b_column = p.trans_b ? p.ldb : 1;
  const S* a = static_cast<const S*>(p.a);
  const S* b = static_cast<const S*>(p.b);
  S* c = static_cast<S*>(p.c);
  const S* bias = static_cast<const S*>(p.bias);
  const int64_t rows = std::min<int64_t>(p.m, 512), columns = std::min<int64_t>(p.n, 1024);
  P* const buffer = thread_scratch<P>(Scratch::gemm_tile, rows * columns * kParts);
  for (int64_t j = 0; j < p.n; j += columns) {
    const int64_t nc = std::min(columns, p.n - j);
    for (int64_t i = 0; i < p.m; i += rows) {
      const int64_t mc = std::min(rows, p.m - i);
      product(mc, nc, p.k, a + i * a_row, a_row, a_k, b + j * b_column, b_k, b_column, {buffer, nc * kParts, P(1), P(0), nullptr, false});
      for (int64_t r = 0; r < mc; r++) {
        const P* from = buffer + r * nc * kParts;
        S* to = c + (i + r) * p.ldc + j;
        for (int64_t s = 0; s < nc; s++) {
          T value;
          if constexpr (kParts == 2) value = alpha * T(from[2 * s], from[2 * s + 1]);
          else value = multiply<T>(alpha, from[s]);
          if (!overwrite) value += multiply<T>(beta, static_cast<T>(to[s]));
          if (bias) value += static_cast<T>(bias[j + s]);
          if constexpr (kParts == 1)
            if (p.relu && value < T(0)) value = T(0);
          to[s] = static_cast<S>(value);
        }
      }
    }
  }
}

// C accumulates in place: S is P, or complex<P> with real factors.
template <class S, class P> void gemm_in_place(const GemmProblem& p) {
  const int64_t a_row = p.trans_a ? 1 : p.lda, a_k = p.trans_a ? p.lda : 1;
  const int64_t b_k = p.trans_b ? 1 : p.ldb, b_column = p.trans_b ? p.ldb : 1;
  constexpr int kParts = is_complex<S>::value ? 2 : 1;
  gemm_packed<S, P>(p.m, p.n, p.k, static_cast<const S*>(p.a), a_row, a_k, static_cast<const S*>(p.b), b_k, b_column,
                    {static_cast<P*>(p.c), p.ldc * kParts, p.alpha.as<P>(), p.beta.as<P>(), static_cast<const P*>(p.bias), p.relu});
}

}  // namespace
}  // namespace cresset::kernels::CRESSET_ISA
