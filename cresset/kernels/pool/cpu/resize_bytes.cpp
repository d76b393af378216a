#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "cresset/kernels/cpu/simd.h"
#include "cresset/kernels/pool/cpu/resize_rows.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

// Taps are taken four at a time. A group's weights, for vectors: those of the first two by turns in one half, of the last two in the other.
constexpr int64_t kGroup = 4;
#if defined(__AVX2__)
constexpr int64_t kGroupWeights = 16;
#else
constexpr int64_t kGroupWeights = kGroup;
#endif
// Bytes that may be read beyond the last tap.
constexpr int64_t kSlack = 16;

// The weights along a row of pixels, each of which reads the pixels from `begin` on. Rows are repeated at their ends by before and after.
struct Across {
  std::vector<int64_t> begin;
  std::vector<int16_t> weights;  // [out][groups][kGroupWeights]
  int64_t groups = 1, before = 0, after = 0;
  int shift;

  Across(const ResizeAxis<int32_t>& x, int bits) : begin(static_cast<size_t>(x.out)), shift(bits) {
    // Taps without weight at both ends are left out.
    std::vector<int64_t> skipped(static_cast<size_t>(x.out), 0);
    int64_t most = 1;
    for (int64_t o = 0; o < x.out; o++) {
      const int32_t* w = x.weight + o * x.taps;
      int64_t &low = skipped[static_cast<size_t>(o)], high = x.taps - 1;
      while (low < high && w[low] == 0) low++;
      while (high > low && w[high] == 0) high--;
      most = std::max(most, high - low + 1);
    }
    groups = (most + kGroup - 1) / kGroup;
    after = groups * kGroup;
    weights.assign(static_cast<size_t>(x.out * groups * kGroupWeights), 0);
    for (int64_t o = 0; o < x.out; o++) {
      const int64_t low = skipped[static_cast<size_t>(o)];
      begin[static_cast<size_t>(o)] = place_of(x, o) + low;
      before = std::max(before, -begin[static_cast<size_t>(o)]);
      for (int64_t k = low; k < std::min(x.taps, low + groups * kGroup); k++) put(o, k - low, static_cast<int16_t>(x.weight[o * x.taps + k]));
    }
  }

 private:
  // Where the first tap lies: places before the first pixel stand as the first pixel.
  static int64_t place_of(const ResizeAxis<int32_t>& x, int64_t o) {
    const int64_t* index = x.index + o * x.taps;
    int64_t first = index[0];
    if (first == 0)
      for (int64_t k = 1; k < x.taps && x.in > 1 && index[k] == 0; k++) first--;
    return first;
  }
  void put(int64_t o, int64_t k, int16_t w) {
    int16_t* group = weights.data() + (o * groups + k / kGroup) * kGroupWeights;
    if constexpr (kGroupWeights == kGroup) group[k % kGroup] = w;
    else
      for (int64_t c = 0; c < 4; c++) group[(k % kGroup) / 2 * 8 + c * 2 + k % 2] = w;
  }
};

// One row of pixels of C bytes. `line` is its first pixel, with others on both sides.
template <int C> void row_across(const uint8_t* line, uint8_t* to, const Across& a) {
  const int64_t out = static_cast<int64_t>(a.begin.size());
  const int16_t* weights = a.weights.data();
  const int32_t half = 1 << (a.shift - 1);
#if defined(__AVX2__)
  constexpr char z = -128;
  const __m256i pairs = C == 3 ? _mm256_setr_epi8(0, z, 3, z, 1, z, 4, z, 2, z, 5, z, z, z, z, z, 6, z, 9, z, 7, z, 10, z, 8, z, 11, z, z, z, z, z)
                               : _mm256_setr_epi8(0, z, 4, z, 1, z, 5, z, 2, z, 6, z, 3, z, 7, z, 8, z, 12, z, 9, z, 13, z, 10, z, 14, z, 11, z, 15, z);
  const __m128i bits = _mm_cvtsi32_si128(a.shift), rounding = _mm_set1_epi32(half);
#endif
  for (int64_t o = 0; o < out; o++) {
    const uint8_t* from = line + a.begin[static_cast<size_t>(o)] * C;
    // The byte beyond a pixel of three is the next pixel's.
    const size_t stored = C == 3 && o + 1 < out ? 4 : C;
#if defined(__AVX2__)
    __m256i sum = _mm256_setzero_si256();
    for (int64_t g = 0; g < a.groups; g++, weights += kGroupWeights, from += kGroup * C) {
      const __m256i bytes = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
      const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_shuffle_epi8(bytes, pairs), w));
    }
    const __m128i total = _mm_add_epi32(_mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1)), rounding);
    const __m128i words = _mm_sra_epi32(total, bits), shorts = _mm_packs_epi32(words, words);
    const int packed = _mm_cvtsi128_si32(_mm_packus_epi16(shorts, shorts));
    if (C == 4 || stored == 4) std::memcpy(to, &packed, 4);
    else std::memcpy(to, &packed, C);
#else
    uint8_t pixel[4] = {};
    int32_t sum[C];
    for (int32_t& s : sum) s = half;
    for (int64_t k = 0; k < a.groups * kGroup; k++, from += C)
      for (int c = 0; c < C; c++) sum[c] += weights[k] * from[c];
    weights += a.groups * kGroup;
    for (int c = 0; c < C; c++) pixel[c] = static_cast<uint8_t>(std::clamp(sum[c] >> a.shift, 0, 255));
    std::memcpy(to, pixel, stored);
#endif
    to += C;
  }
}

// Repeats the first pixel `before` times in front of the n pixels at `line`, and the last one behind.
template <int C> void repeat_ends(uint8_t* line, int64_t n, const Across& a) {
  for (int64_t i = 1; i <= a.before; i++) std::memcpy(line - i * C, line, C);
  for (int64_t i = 0; i < a.after; i++) std::memcpy(line + (n + i) * C, line + (n - 1) * C, C);
}

// Rows of pixels of C bytes, `in` wide, become `out` wide.
template <int C> void rows_across(uint8_t* to, const uint8_t* from, int64_t rows, int64_t in, int64_t out, const Across& a) {
  std::vector<uint8_t> copy(static_cast<size_t>((a.before + in + a.after) * C + kSlack));
  uint8_t* line = copy.data() + a.before * C;
  for (int64_t r = 0; r < rows; r++, from += in * C, to += out * C) {
    std::memcpy(line, from, static_cast<size_t>(in * C));
    repeat_ends<C>(line, in, a);
    row_across<C>(line, to, a);
  }
}

// Rows of single bytes: four of them are as one row of pixels of four.
template <> void rows_across<1>(uint8_t* to, const uint8_t* from, int64_t rows, int64_t in, int64_t out, const Across& a) {
  std::vector<uint8_t> copy(static_cast<size_t>((a.before + in + a.after) * 4 + kSlack)), made(static_cast<size_t>(out * 4));
  uint8_t* line = copy.data() + a.before * 4;
  for (int64_t r = 0; r < rows; r += 4) {
    const int64_t last = std::min<int64_t>(rows - r, 4) - 1;
    const uint8_t* row[4];
    for (int64_t j = 0; j < 4; j++) row[j] = from + (r + std::min(j, last)) * in;
    for (int64_t i = 0; i < in; i++) {
      const uint32_t four = row[0][i] | uint32_t{row[1][i]} << 8 | uint32_t{row[2][i]} << 16 | uint32_t{row[3][i]} << 24;
      std::memcpy(line + i * 4, &four, 4);
    }
    repeat_ends<4>(line, in, a);
    row_across<4>(line, made.data(), a);
    for (int64_t j = 0; j <= last; j++)
      for (int64_t i = 0; i < out; i++) to[(r + j) * out + i] = made[static_cast<size_t>(i * 4 + j)];
  }
}

// A weighted sum of rows of bytes: those of one output row.
struct Down {
  std::vector<const uint8_t*> rows;
  std::vector<int32_t> weights;
  int shift;
  int32_t half() const { return 1 << (shift - 1); }
};

#if defined(__AVX2__)
// Outputs i to i + 31: two rows at a time, their bytes by turns.
void sum_down(uint8_t* to, int64_t i, const Down& d) {
  __m256i sum[4];
  for (__m256i& s : sum) s = _mm256_set1_epi32(d.half());
  for (size_t k = 0; k < d.rows.size(); k += 2) {
    const bool paired = k + 1 < d.rows.size();
    const __m256i w = _mm256_set1_epi32((d.weights[k] & 0xFFFF) | (paired ? d.weights[k + 1] << 16 : 0));
    const uint8_t *first = d.rows[k] + i, *second = d.rows[k + paired] + i;
    for (int j = 0; j < 2; j++) {
      const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first) + j), b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(second) + j);
      sum[2 * j] = _mm256_add_epi32(sum[2 * j], _mm256_madd_epi16(_mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b)), w));
      sum[2 * j + 1] = _mm256_add_epi32(sum[2 * j + 1], _mm256_madd_epi16(_mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b)), w));
    }
  }
  const __m128i bits = _mm_cvtsi32_si128(d.shift);
  for (__m256i& s : sum) s = _mm256_sra_epi32(s, bits);
  constexpr int kInOrder = 0xD8;
  const __m256i low = _mm256_permute4x64_epi64(_mm256_packs_epi32(sum[0], sum[1]), kInOrder);
  const __m256i high = _mm256_permute4x64_epi64(_mm256_packs_epi32(sum[2], sum[3]), kInOrder);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm256_permute4x64_epi64(_mm256_packus_epi16(low, high), kInOrder));
}
#endif

void rows_down(uint8_t* to, const uint8_t* from, int64_t row, const ResizeAxis<int32_t>& y, int shift) {
  Down d{{}, {}, shift};
  for (int64_t o = 0; o < y.out; o++, to += row) {
    d.rows.clear();
    d.weights.clear();
    for (int64_t k = o * y.taps; k < (o + 1) * y.taps; k++) {
      if (y.weight[k] == 0) continue;
      d.rows.push_back(from + y.index[k] * row);
      d.weights.push_back(y.weight[k]);
    }
    int64_t i = 0;
#if defined(__AVX2__)
    for (; i + 32 <= row; i += 32) sum_down(to, i, d);
#endif
    for (; i < row; i++) {
      int32_t sum = d.half();
      for (size_t k = 0; k < d.rows.size(); k++) sum += d.weights[k] * d.rows[k][i];
      to[i] = static_cast<uint8_t>(std::clamp(sum >> shift, 0, 255));
    }
  }
}

}  // namespace

void resize_planes_bytes(uint8_t* out, const uint8_t* in, int64_t planes, int channels, const ResizeAxis<int32_t>* axes, const int* shifts) {
  const ResizeAxis<int32_t>&y = axes[0], &x = axes[1];
  const bool wide = x.taps > 0, tall = y.taps > 0;
  const int64_t width = wide ? x.out : x.in, row = width * channels, rows = tall ? y.out : y.in;
  const std::optional<Across> across = wide ? std::optional<Across>(std::in_place, x, shifts[1]) : std::nullopt;
  std::vector<uint8_t> lines(static_cast<size_t>(wide && tall ? y.in * row : 0));
  for (int64_t p = 0; p < planes; p++, in += y.in * x.in * channels, out += rows * row) {
    const uint8_t* from = in;
    if (wide) {
      uint8_t* to = tall ? lines.data() : out;
      (channels == 1 ? rows_across<1> : channels == 3 ? rows_across<3> : rows_across<4>)(to, in, y.in, x.in, x.out, *across);
      from = to;
    }
    if (tall) rows_down(out, from, row, y, shifts[0]);
    else if (!wide) std::copy_n(in, rows * row, out);
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
