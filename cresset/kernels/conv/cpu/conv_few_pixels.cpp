// output[channel][pixel] = weights[channel][tap] * unfolded[tap][pixel] with the weights read once, where they lie: packing them
// would cost as much as the product. The pixels are cut into up to three vectors; one to three that would fill a vector badly
// become dot products along the taps. No sum's order depends on how the work is cut.

#include "cresset/kernels/conv/cpu/conv_few_pixels.h"

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/aligned_buffer.h"
#include "cresset/kernels/conv/cpu/conv_unfold.h"

namespace cresset::kernels::CRESSET_ISA {
namespace {

using V = Vector<float>;
constexpr int L = kLanes<float>;
#if defined(__AVX512F__)
constexpr int kRows = 8;
#else
constexpr int kRows = 4;  // half of a panel: sixteen registers
#endif
constexpr int kMostVectors = 3;
constexpr int64_t kMostDots = 3;
// Taps taken together: their unfolded pixels stay in the second-level cache while all weights pass.
constexpr int64_t kDepth = 1024;

// c[row][column] += a[row][tap] * b[tap][column]; the rows of `next` are wanted soon.
template <int Vectors>
void multiply(int64_t k, const float* CRESSET_RESTRICT a, int64_t lda, const float* CRESSET_RESTRICT b, float* c, int64_t ldc, int columns, const float* next) {
  V acc[kRows][Vectors] = {};
  for (int64_t p = 0; p < k; p++, a++, b += Vectors * L) {
    if (p % L == 0) unroll<kRows>([&](auto i) { __builtin_prefetch(next + i * lda + p, 0, 2); });
    V row[Vectors];
    unroll<Vectors>([&](auto j) { row[j] = load(b + j * L); });
    unroll<kRows>([&](auto i) {
      const float x = a[i * lda];
      unroll<Vectors>([&](auto j) { acc[i][j] += x * row[j]; });
    });
  }
  unroll<kRows>([&](auto i) {
    unroll<Vectors>([&](auto j) {
      float* to = c + i * ldc + j * L;
      const int count = std::min(L, columns - j * L);
      if (count == L) store(to, load(to) + acc[i][j]);
      else store_some(to, load_some(to, count) + acc[i][j], count);
    });
  });
}
constexpr decltype(&multiply<1>) kMultiply[] = {multiply<1>, multiply<2>, multiply<3>};

// c[row] += the product of row `row` of a with b.
void dots(int64_t k, const float* a, int64_t lda, const float* b, float* c, int64_t ldc) {
  V acc[kRows] = {};
  int64_t p = 0;
  for (; p + L <= k; p += L) {
    const V x = load(b + p);
    unroll<kRows>([&](auto i) { acc[i] += load(a + i * lda + p) * x; });
  }
  if (p < k) {
    const int rest = static_cast<int>(k - p);
    const V x = load_some(b + p, rest);
    unroll<kRows>([&](auto i) { acc[i] += load_some(a + i * lda + p, rest) * x; });
  }
  unroll<kRows>([&](auto i) {
    float sum = 0;
    for (int l = 0; l < L; l++) sum += acc[i][l];
    c[i * ldc] += sum;
  });
}

// Pixels [first, first + columns) as `vectors` vectors.
struct Group {
  int64_t first;
  int columns, vectors;
};

}  // namespace

void conv_forward_few_pixels(const ConvShape& s, const float* input, const float* weight, const float* bias, float* output) {
  const int64_t pixels = s.batch * s.out_pixels, k = s.taps, rows = s.out_per_group;
  const int64_t dot_count = pixels % L <= kMostDots && pixels > L ? pixels % L : 0, in_vectors = pixels - dot_count;
  std::vector<Group> groups;
  int64_t width = 0;
  for (int64_t at = 0, left = ceil_div(in_vectors, L); left > 0;) {
    // Four vectors are better cut into two and two than into three and one.
    const int vectors = static_cast<int>(left == 4 ? 2 : std::min<int64_t>(left, kMostVectors));
    groups.push_back({at, static_cast<int>(std::min<int64_t>(vectors * L, in_vectors - at)), vectors});
    at += vectors * L;
    width += vectors * L;
    left -= vectors;
  }

  const PlaneLayout layout(s);
  const AlignedBuffer<float> padded(layout.in_place ? 0 : s.batch * layout.count + L);
  const int64_t image = layout.in_place ? s.in_per_group * s.in_pixels : layout.count;
  for (int64_t i = 0; i < s.batch && !layout.in_place; i++) layout.fill(s, input + i * s.in_per_group * s.in_pixels, padded.data + i * image);
  const float* planes = layout.in_place ? input : padded.data;

  const AlignedBuffer<float> unfolded(k * width + L), columns(dot_count * k);
  std::vector<Segment> segments;
  for (int64_t pc = 0; pc < k; pc += kDepth) {
    const int64_t kc = std::min(kDepth, k - pc);
    float* to = unfolded.data + pc * width;
    for (const Group& g : groups) {
      make_segments(s, layout, image, g.first, g.first + g.columns, segments);
      const auto unfold = layout.in_place ? unfold_tile<true, float> : unfold_tile<false, float>;
      unfold(planes, layout.tap_offset.data() + pc, kc, segments, g.vectors * L, to);
      to += kc * g.vectors * L;
    }
  }
  for (int64_t d = 0; d < dot_count; d++) {
    make_segments(s, layout, image, in_vectors + d, in_vectors + d + 1, segments);
    for (int64_t t = 0; t < k; t++) columns.data[d * k + t] = planes[layout.tap_offset[t] + segments[0].from];
  }

  const bool direct = s.batch == 1;
  const AlignedBuffer<float> sums(direct ? 0 : rows * pixels);
  float* const c = direct ? output : sums.data;
  const int64_t grain = std::max<int64_t>(1, 1000000 / (k * pixels * kFewPixelsRows));
  parallel_for(0, rows / kFewPixelsRows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin * kFewPixelsRows; r < end * kFewPixelsRows; r++) std::fill_n(c + r * pixels, pixels, bias ? bias[r] : 0.0f);
    for (int64_t pc = 0; pc < k; pc += kDepth) {
      const int64_t kc = std::min(kDepth, k - pc);
      for (int64_t r = begin * kFewPixelsRows; r < end * kFewPixelsRows; r += kRows) {
        const float *a = weight + r * k + pc, *b = unfolded.data + pc * width;
        const float* next = r + 2 * kRows <= end * kFewPixelsRows ? a + kRows * k : a;
        for (const Group& g : groups) {
          kMultiply[g.vectors - 1](kc, a, k, b, c + r * pixels + g.first, pixels, g.columns, next);
          b += kc * g.vectors * L;
        }
        for (int64_t d = 0; d < dot_count; d++) dots(kc, a, k, columns.data + d * k + pc, c + r * pixels + in_vectors + d, pixels);
      }
    }
  });
  if (direct) return;
  for (int64_t i = 0; i < s.batch; i++)
    for (int64_t r = 0; r < rows; r++) std::copy_n(sums.data + r * pixels + i * s.out_pixels, s.out_pixels, output + (i * rows + r) * s.out_pixels);
}

}  // namespace cresset::kernels::CRESSET_ISA
