#pragma once
// The packed product of bfloat16 by AVX-512's vdpbf16ps, which multiplies pairs along k and adds them to a float: twice the rate of
// floats. Operands are packed in pairs (p, p + 1) of 32 bits; an odd k ends with a zero.

#include "cresset/kernels/gemm/cpu/gemm_packed.h"

#if defined(__AVX512BF16__)

namespace cresset::kernels::CRESSET_ISA {
namespace {

// The first `count` (1 .. 32) elements as pairs, zeros after them.
CRESSET_ALWAYS_INLINE Vector<float> load_pairs(const BFloat16* p, int64_t count) {
  const __mmask32 mask = count >= 32 ? ~__mmask32{0} : (__mmask32{1} << count) - 1;
  return reinterpret_cast<Vector<float>>(_mm512_maskz_loadu_epi16(mask, p));
}

// out[pair][width]: column j from in[j * stride + 2 * pair ...], whose elements lie side by side. Each row is stored as a whole
// vector.
inline void pack_pairs_transposed(const BFloat16* in, int64_t stride, int count, int64_t k, float* out, int64_t width) {
  for (int64_t p = 0; p < k; p += 32) {
    Vector<float> x[16];
    unroll<16>([&](auto j) { x[j] = j < count ? load_pairs(in + j * stride + p, k - p) : Vector<float>{}; });
    transpose<float>(x);
    const int64_t pairs = std::min<int64_t>(16, (k - p + 1) / 2);
    unroll<16>([&](auto i) {
      if (i < pairs) store(out + (p / 2 + i) * width, x[i]);
    });
  }
}

// out[pair][width]: 16 columns side by side, each pair from two rows of `in`.
inline void pack_pairs_rows(const BFloat16* in, int64_t k_stride, int count, int64_t k, float* out, int64_t width) {
  const __mmask16 mask = static_cast<__mmask16>((1u << count) - 1);
  const auto row = [&](int64_t p) __attribute__((always_inline)) {
    const auto bits = reinterpret_cast<VectorOf<uint16_t, 32>::type>(_mm256_maskz_loadu_epi16(mask, in + p * k_stride));
    return __builtin_convertvector(bits, Vector<uint32_t>);
  };
  for (int64_t p = 0; p < k; p += 2) {
    Vector<uint32_t> pair = row(p);
    if (p + 1 < k) pair |= row(p + 1) << 16;
    store(out + p / 2 * width, reinterpret_cast<Vector<float>>(pair));
  }
}

// A panel of `rows` (at most kTileRows) rows: [pair][row]. May write up to one vector beyond.
inline void pack_pairs(const BFloat16* in, int64_t step, int64_t k_stride, int count, int64_t k, float* out, int64_t width) {
  if (k_stride == 1) pack_pairs_transposed(in, step, count, k, out, width);
  else pack_pairs_rows(in, k_stride, count, k, out, width);
}

template <int Rows, int Vectors>
void pairs_kernel(int64_t pairs, const float* CRESSET_RESTRICT a, const float* CRESSET_RESTRICT b, const TileOutput<float>& out, int columns) {
  Vector<float> acc[Rows][Vectors] = {};
  unroll<Rows>([&](auto i) { unroll<Vectors>([&](auto j) { __builtin_prefetch(out.c + i * out.ldc + j * 16, 1); }); });
  for (; pairs > 0; pairs--) {
    __m512bh row[Vectors];
    unroll<Vectors>([&](auto j) { row[j] = reinterpret_cast<__m512bh>(load(b + j * 16)); });
    unroll<Rows>([&](auto i) {
      const __m512bh x = reinterpret_cast<__m512bh>(_mm512_set1_ps(a[i]));
      unroll<Vectors>([&](auto j) { acc[i][j] = reinterpret_cast<Vector<float>>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(acc[i][j]), x, row[j])); });
    });
    a += Rows;
    b += Vectors * 16;
  }
  float* c = out.c;
  unroll<Rows>([&](auto i) {
    unroll<Vectors>([&](auto j) {
      const int left = std::min(16, columns - j * 16);
      store_some(c + j * 16, out.beta == 0 ? acc[i][j] : acc[i][j] + load_some(c + j * 16, left), left);
    });
    c += out.ldc;
  });
}

template <int... I> constexpr auto make_pairs_kernels(std::integer_sequence<int, I...>) {
  using Kernel = void (*)(int64_t, const float*, const float*, const TileOutput<float>&, int);
  struct Table {
    Kernel at[kTileRows][2];
  };
  return Table{{{pairs_kernel<I + 1, 1>, pairs_kernel<I + 1, 2>}...}};
}
constexpr auto pairs_kernels = make_pairs_kernels(std::make_integer_sequence<int, kTileRows>{});

// As gemm_packed, for sums alone: out.beta is 0 or 1, alpha 1, without bias and relu.
inline void gemm_packed_pairs(int64_t m, int64_t n, int64_t k, const BFloat16* a, int64_t a_row, int64_t a_k, const BFloat16* b, int64_t b_k, int64_t b_column,
                              TileOutput<float> out) {
  constexpr int kWidth = 32;
  const int64_t depth = even_block(k, 2 * kBlockDepth<float>, 8), columns = std::min<int64_t>(n, kBlockColumns), panels = ceil_div(m, kTileRows);
  const int64_t block_pairs = ceil_div(depth, 2), a_size = (kTileRows + 1) * block_pairs + 16;
  float* const packed_a = thread_scratch<float>(Scratch::gemm_pack, ceil_div(a_size, 16) * 16 + ceil_div(columns, kWidth) * kWidth * block_pairs);
  float* const packed_b = packed_a + ceil_div(a_size, 16) * 16;
  for (int64_t jc = 0; jc < n; jc += columns) {
    const int64_t nc = std::min(columns, n - jc);
    for (int64_t pc = 0; pc < k; pc += depth) {
      const int64_t kc = std::min(depth, k - pc), pairs = ceil_div(kc, 2);
      for (int64_t j = 0; j < nc; j += 16) {
        const int64_t tile = j / kWidth * kWidth, width = nc - tile > 16 ? kWidth : 16;
        pack_pairs(b + pc * b_k + (jc + j) * b_column, b_column, b_k, static_cast<int>(std::min<int64_t>(16, nc - j)), kc, packed_b + tile * pairs + (j - tile),
                   width);
      }
      for (int64_t q = 0, i0 = 0, i1; q < panels; q++, i0 = i1) {
        i1 = m * (q + 1) / panels;
        const int rows = static_cast<int>(i1 - i0);
        pack_pairs(a + i0 * a_row + pc * a_k, a_row, a_k, rows, kc, packed_a, rows);
        for (int64_t j = 0; j < nc; j += kWidth) {
          const int used = static_cast<int>(std::min<int64_t>(kWidth, nc - j));
          TileOutput<float> tile = out;
          tile.c += i0 * out.ldc + jc + j;
          tile.beta = pc > 0 ? 1.0f : out.beta;
          pairs_kernels.at[rows - 1][used > 16](pairs, packed_a, packed_b + j * pairs, tile, used);
        }
      }
    }
  }
}

}  // namespace
}  // namespace cresset::kernels::CRESSET_ISA

#endif
