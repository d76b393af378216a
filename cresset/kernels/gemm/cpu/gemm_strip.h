#pragma once
// Products with strips: matrices of as many columns as the micro-kernel has, so that what one product writes is what the next one reads,
// with nothing packed in between. A strip of n rows is n * width elements; columns that a problem lacks hold zeros.

#include "cresset/kernels/gemm/cpu/gemm_packed.h"

namespace cresset::kernels::CRESSET_ISA {
namespace {

template <class P> struct Strips {
  static constexpr int kWidth = kTileVectors * kLanes<P>;

  // Rows of A in panels of heights that differ by one at most: panel q begins at row m * q / panels.
  static int64_t panels(int64_t m) { return ceil_div(m, kTileRows); }

  // op(A), m x k; writes up to one vector beyond m * k elements.
  static void pack_rows(bool trans, int64_t m, int64_t k, const P* a, int64_t lda, P* packed) {
    const int64_t count = panels(m), row_step = trans ? 1 : lda, k_step = trans ? lda : 1;
    for (int64_t q = 0, i0 = 0, i1; q < count; q++, i0 = i1) {
      i1 = m * (q + 1) / count;
      pack_a(a + i0 * row_step, row_step, k_step, static_cast<int>(i1 - i0), k, packed + i0 * k);
    }
  }

  // The strip whose columns are `columns` rows of k elements.
  static void pack(int64_t columns, int64_t k, const P* rows, int64_t ld, P* strip) { pack_b(rows, 1, ld, static_cast<int>(columns), kWidth, k, strip); }

  // The first `columns` columns of a strip of n rows as rows, ld >= n rounded up to whole vectors elements apart.
  static void unpack(int64_t columns, int64_t n, const P* strip, P* rows, int64_t ld) {
    constexpr int L = kLanes<P>;
    for (int64_t j = 0; j < n; j += L) pack_transposed(strip + j * kWidth, kWidth, static_cast<int>(std::min<int64_t>(L, n - j)), columns, rows + j, ld);
  }

  // C = alpha * A * strip + beta * C for the panels that hold the first `rows` rows of A, packed as m x depth, and its first k columns.
  static void multiply(const StripProduct& p, const P* packed, const P* strip, P* c) {
    const int64_t count = panels(p.m);
    const bool wide = p.columns > kLanes<P>;
    const int used = wide ? kWidth : kLanes<P>;
    for (int64_t q = 0, i0 = 0, i1; i0 < p.rows; q++, i0 = i1) {
      i1 = p.m * (q + 1) / count;
      micro_kernels<P>.at[i1 - i0 - 1][wide](p.k, packed + i0 * p.depth, strip, kWidth,
                                             {c + i0 * kWidth, kWidth, static_cast<P>(p.alpha), static_cast<P>(p.beta), nullptr, false}, used);
    }
  }

  // C += strip * B for m rows of the strip and the first k of its columns; rows of B are readable up to whole vectors.
  static void multiply_by(int64_t m, int64_t n, int64_t k, const P* strip, const P* b, int64_t ldb, P* c, int64_t ldc) {
    const int64_t count = panels(m);
    for (int64_t j = 0; j < n; j += kWidth) {
      const int used = static_cast<int>(std::min<int64_t>(kWidth, n - j));
      for (int64_t q = 0, i0 = 0, i1; q < count; q++, i0 = i1) {
        i1 = m * (q + 1) / count;
        micro_kernels<P, kWidth>.at[i1 - i0 - 1][used > kLanes<P>](k, strip + i0 * kWidth, b + j, ldb, {c + i0 * ldc + j, ldc, P(1), P(1), nullptr, false},
                                                                   used);
      }
    }
  }
};

}  // namespace
}  // namespace cresset::kernels::CRESSET_ISA
