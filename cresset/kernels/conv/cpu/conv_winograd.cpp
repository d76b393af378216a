#include "cresset/kernels/conv/cpu/conv_winograd.h"

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/aligned_buffer.h"
#include "cresset/kernels/gemm/cpu/gemm_packed.h"

namespace cresset::kernels::CRESSET_ISA {
namespace {

using V = Vector<float>;
constexpr int L = kLanes<float>;
constexpr int64_t kPoints = 16;

int64_t padded(int64_t n) { return ceil_div(n, L) * L; }

// Tiles of 2x2 outputs, counted row by row over all images; up to `block` rows of tiles are worked on together.
struct Tiling {
  int64_t rows, columns, total_rows, block, blocks, full_blocks, width;

  Tiling(const ConvShape& s, int64_t channels) : rows(ceil_div(s.out[1], 2)), columns(ceil_div(s.out[2], 2)), total_rows(s.batch * rows) {
    // A block's transformed tiles stay in the second-level cache; of the sizes around, the one that fills whole micro-kernels best.
    const int64_t most = std::clamp<int64_t>(160000 / kPoints / channels, 64, 256) / columns;
    block = 1;
    double best = 0;
    for (int64_t b = std::max<int64_t>(1, most / 2); b <= std::max<int64_t>(most, 1); b++) {
      const double filled = static_cast<double>(b * columns) / static_cast<double>(ceil_div(b * columns, kTileVectors * L) * kTileVectors * L);
      if (filled < best) continue;
      best = filled;
      block = b;
    }
    block = std::min(block, total_rows);
    blocks = ceil_div(total_rows, block);
    block = ceil_div(total_rows, blocks);
    full_blocks = total_rows - blocks * (block - 1);
    width = padded(block * columns);
  }
  // Blocks of a row less come last, so that threads which take one after the other end together.
  int64_t first_row_of(int64_t b) const { return b * block - std::max<int64_t>(0, b - full_blocks); }

  // f(image, first tile row, last tile row, first column in the block) for the images that block b meets.
  template <class F> void each_image(int64_t b, F&& f) const {
    const int64_t begin = first_row_of(b), end = first_row_of(b + 1);
    for (int64_t r = begin; r < end;) {
      const int64_t image = r / rows, i0 = r % rows, i1 = std::min(rows, i0 + end - r);
      f(image, i0, i1, (r - begin) * columns);
      r += i1 - i0;
    }
  }
  int64_t tiles_of(int64_t b) const { return (first_row_of(b + 1) - first_row_of(b)) * columns; }
};

// The L elements of a line from `start` on; those outside of [0, width) are zero and not touched.
class Window {
 public:
  Window(int64_t start, int64_t width)
      : start_(start), low_(static_cast<int>(std::clamp<int64_t>(-start, 0, L))), high_(static_cast<int>(std::clamp<int64_t>(width - start, 0, L))) {}
  CRESSET_ALWAYS_INLINE V of(const float* line) const {
#if defined(__AVX512F__)
    return reinterpret_cast<V>(_mm512_maskz_loadu_ps(static_cast<__mmask16>(((1u << high_) - 1) & ~((1u << low_) - 1)), line + start_));
#else
    if (low_ == 0 && high_ == L) return load(line + start_);
    float window[L] = {};
    for (int i = low_; i < high_; i++) window[i] = line[start_ + i];
    return load(window);
#endif
  }

 private:
  int64_t start_;
  int low_, high_;
};

constexpr auto kAllLanes = std::make_integer_sequence<int, L>{};
template <int Part, int... I> CRESSET_ALWAYS_INLINE V every_second(V a, V b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (2 * I + Part)...);
}

// A stretch of memory for soon: its lines are too few for the hardware to see the pattern.
void prefetch(const float* p, int64_t count) {
  for (int64_t i = 0; i < count; i += 64 / static_cast<int64_t>(sizeof(float))) __builtin_prefetch(p + i);
}

// B^T: the transform of four inputs.
CRESSET_ALWAYS_INLINE void combine_input(const V& d0, const V& d1, const V& d2, const V& d3, V (&v)[4]) {
  v[0] = d0 - d2;
  v[1] = d1 + d2;
  v[2] = d2 - d1;
  v[3] = d1 - d3;
}
// A: the transform of two gradients.
CRESSET_ALWAYS_INLINE void combine_gradient(const V& d0, const V& d1, V (&v)[4]) {
  v[0] = d0;
  v[1] = d0 + d1;
  v[2] = d0 - d1;
  v[3] = -d1;
}

// Transformed input tiles of block b: v[point][channel][tile], `point_step` between points. Lanes are tiles.
void transform_input(const ConvShape& s, const Tiling& t, const float* input, int64_t b, float* v, int64_t point_step) {
  for (int64_t c = 0; c < s.in_per_group; c++)
    t.each_image(b, [&](int64_t image, int64_t i0, int64_t i1, int64_t column) {
      const float* plane = input + (image * s.in_per_group + c) * s.in_pixels;
      const int64_t top = std::max<int64_t>(0, 2 * i0 - s.padding[1]), end = std::min(s.in[1], 2 * i1 + 2 - s.padding[1]);
      if (c + 1 < s.in_per_group) prefetch(plane + s.in_pixels + top * s.in[2], (end - top) * s.in[2]);
      for (int64_t x = 0; x < t.columns; x += L) {
        // The first stretch of a row may spill into the next row's, which comes later; others must not.
        const bool partial = x > 0 && x + L > t.columns;
        const int64_t start = 2 * x - s.padding[2];
        const Window windows[4] = {{start, s.in[2]}, {start + L, s.in[2]}, {start + 2, s.in[2]}, {start + 2 + L, s.in[2]}};
        const auto line = [&](int64_t r, V(&to)[4]) __attribute__((always_inline)) {
          const int64_t h = r - s.padding[1];
          if (h < 0 || h >= s.in[1]) {
            to[0] = to[1] = to[2] = to[3] = V{};
            return;
          }
          const float* from = plane + h * s.in[2];
          const V a0 = windows[0].of(from), a1 = windows[1].of(from), b0 = windows[2].of(from), b1 = windows[3].of(from);
          combine_input(every_second<0>(a0, a1, kAllLanes), every_second<1>(a0, a1, kAllLanes), every_second<0>(b0, b1, kAllLanes),
                        every_second<1>(b0, b1, kAllLanes), to);
        };
        V part[4][4];
        line(2 * i0, part[2]);
        line(2 * i0 + 1, part[3]);
        for (int64_t i = i0; i < i1; i++) {
          unroll<4>([&](auto q) {
            part[0][q] = part[2][q];
            part[1][q] = part[3][q];
          });
          line(2 * i + 2, part[2]);
          line(2 * i + 3, part[3]);
          float* to = v + c * t.width + column + (i - i0) * t.columns + x;
          unroll<4>([&](auto q) {
            V out[4];
            combine_input(part[0][q], part[1][q], part[2][q], part[3][q], out);
            unroll<4>([&](auto p) {
              if (partial) store_some(to + (4 * p + q) * point_step, out[p], static_cast<int>(t.columns - x));
              else store(to + (4 * p + q) * point_step, out[p]);
            });
          });
        }
      }
    });
}

// Lines [first, last) of `count` planes, from column -pad on, as [line][column][L]: zeros outside of the plane and beyond `count`.
void gather_channels(const float* planes, int64_t plane_size, int count, int64_t height, int64_t width, int64_t first, int64_t last, int64_t pad,
                     int64_t columns, float* out) {
  for (int64_t h = first; h < last; h++)
    for (int64_t x = 0; x < columns; x += L) {
      V lanes[L] = {};
      if (h >= 0 && h < height) {
        const Window window(x - pad, width);
        const float* line = planes + h * width;
        unroll<L>([&](auto j) {
          if (j < count) lanes[j] = window.of(line + j * plane_size);
          __builtin_prefetch(line + (j + count) * plane_size + x, 0, 2);  // the next channels, which come next
        });
        transpose<float>(lanes);
      }
      float* to = out + ((h - first) * columns + x) * L;
      unroll<L>([&](auto j) { store(to + j * L, lanes[j]); });
    }
}

// Transformed input tiles of `count` channels from c on: v[point][tile][channel], `tile_step` between tiles. Lanes are channels.
void transform_input_channels(const ConvShape& s, const Tiling& t, const float* input, int64_t b, int64_t c, int count, float* v, int64_t tile_step,
                              int64_t point_step) {
  const int64_t columns = padded(2 * t.columns + 2);
  float* const pixels = thread_scratch<float>(Scratch::conv_inner, (2 * t.block + 2) * columns * L);
  t.each_image(b, [&](int64_t image, int64_t i0, int64_t i1, int64_t column) {
    gather_channels(input + (image * s.in_per_group + c) * s.in_pixels, s.in_pixels, count, s.in[1], s.in[2], 2 * i0 - s.padding[1], 2 * i1 + 2 - s.padding[1],
                    s.padding[2], columns, pixels);
    for (int64_t i = 0; i < i1 - i0; i++) {
      const float* top = pixels + 2 * i * columns * L;
      const auto down = [&](int64_t x, V(&to)[4]) __attribute__((always_inline)) {
        const float* from = top + x * L;
        combine_input(load(from), load(from + columns * L), load(from + 2 * columns * L), load(from + 3 * columns * L), to);
      };
      V part[4][4];
      down(0, part[2]);
      down(1, part[3]);
      for (int64_t x = 0; x < t.columns; x++) {
        unroll<4>([&](auto p) {
          part[0][p] = part[2][p];
          part[1][p] = part[3][p];
        });
        down(2 * x + 2, part[2]);
        down(2 * x + 3, part[3]);
        float* to = v + (column + i * t.columns + x) * tile_step;
        unroll<4>([&](auto p) {
          V out[4];
          combine_input(part[0][p], part[1][p], part[2][p], part[3][p], out);
          unroll<4>([&](auto q) { store(to + (4 * p + q) * point_step, out[q]); });
        });
      }
    }
  });
}

// The same of the output's gradient. Whole vectors are stored in ascending order where tiles lie closer than that: what lies up to
// a vector beyond the last tile is overwritten too.
void transform_gradient_channels(const ConvShape& s, const Tiling& t, const float* grad, int64_t b, int64_t first, int64_t c, int count, float* v,
                                 int64_t tile_step, int64_t point_step) {
  const int64_t columns = padded(2 * t.columns);
  float* const pixels = thread_scratch<float>(Scratch::conv_inner, 2 * t.block * columns * L);
  t.each_image(b, [&](int64_t image, int64_t i0, int64_t i1, int64_t column) {
    gather_channels(grad + (image * s.out_per_group + c) * s.out_pixels, s.out_pixels, count, s.out[1], s.out[2], 2 * i0, 2 * i1, 0, columns, pixels);
    for (int64_t i = 0; i < i1 - i0; i++)
      for (int64_t x = 0; x < t.columns; x++) {
        const float* from = pixels + (2 * i * columns + 2 * x) * L;
        V left[4], right[4];
        combine_gradient(load(from), load(from + columns * L), left);
        combine_gradient(load(from + L), load(from + (columns + 1) * L), right);
        float* to = v + (column + i * t.columns + x) * tile_step;
        unroll<4>([&](auto p) {
          V out[4];
          combine_gradient(left[p], right[p], out);
          unroll<4>([&](auto q) {
            // A second slice of a tall panel must not reach into the first one of the next tile.
            if (c > first && count < L) store_some(to + (4 * p + q) * point_step, out[q], count);
            else store(to + (4 * p + q) * point_step, out[q]);
          });
        });
      }
  });
}

// left[i], right[i] alternating.
template <bool High, int... I> V interleave(V left, V right, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(left, right, ((High ? L / 2 : 0) + I / 2 + (I % 2 ? L : 0))...);
}
void store_pair(V left, V right, float* to, int64_t count) {
  const V low = interleave<false>(left, right, kAllLanes), high = interleave<true>(left, right, kAllLanes);
  if (count >= 2 * L) {
    store(to, low);
    store(to + L, high);
    return;
  }
  store_some(to, low, static_cast<int>(std::min<int64_t>(count, L)));
  if (count > L) store_some(to + L, high, static_cast<int>(count - L));
}

// Products m[point][channel][tile] of block b back into outputs.
// The result's channels [c0, c1), of which `m` holds the points.
void transform_output(const ConvShape& s, const Tiling& t, const float* m, int64_t point_step, const float* bias, int64_t b, int64_t c0, int64_t c1,
                      float* output) {
  for (int64_t c = c0; c < c1; c++) {
    const V offset = V{} + (bias ? bias[c] : 0.0f);
    t.each_image(b, [&](int64_t image, int64_t i0, int64_t i1, int64_t column) {
      float* plane = output + (image * s.out_per_group + c) * s.out_pixels;
      for (int64_t i = i0; i < i1; i++)
        for (int64_t x = 0; x < t.columns; x += L) {
          const float* from = m + (c - c0) * t.width + column + (i - i0) * t.columns + x;
          V sum[2][4];
          unroll<4>([&](auto q) {
            V d[4];
            unroll<4>([&](auto p) { d[p] = load(from + (4 * p + q) * point_step); });
            sum[0][q] = d[0] + d[1] + d[2];
            sum[1][q] = d[1] - d[2] - d[3];
          });
          unroll<2>([&](auto r) {
            if (2 * i + r < s.out[1])
              store_pair(sum[r][0] + sum[r][1] + sum[r][2] + offset, sum[r][1] - sum[r][2] - sum[r][3] + offset, plane + (2 * i + r) * s.out[2] + 2 * x,
                         s.out[2] - 2 * x);
          });
        }
    });
  }
}

int64_t first_row(int64_t rows, int64_t panel) { return rows * panel / ceil_div(rows, kTileRows); }

template <int... I> CRESSET_ALWAYS_INLINE V every_ninth(const float* p, std::integer_sequence<int, I...>) { return V{p[9 * I]...}; }

// The 16 points of kernels of 3x3 taps. Lanes are kernels.
CRESSET_ALWAYS_INLINE void kernel_points(const V (&taps)[9], V (&points)[kPoints]) {
  V half[4][3];
  unroll<3>([&](auto j) {
    const V ends = taps[j] + taps[6 + j];
    half[0][j] = taps[j];
    half[1][j] = 0.5f * (ends + taps[3 + j]);
    half[2][j] = 0.5f * (ends - taps[3 + j]);
    half[3][j] = taps[6 + j];
  });
  unroll<4>([&](auto p) {
    const V ends = half[p][0] + half[p][2];
    points[4 * p] = half[p][0];
    points[4 * p + 1] = 0.5f * (ends + half[p][1]);
    points[4 * p + 2] = 0.5f * (ends - half[p][1]);
    points[4 * p + 3] = half[p][2];
  });
}

// A vector of which `count` elements count. With `spills` the rest may be written too, as what belongs there comes later: masks are slow.
CRESSET_ALWAYS_INLINE void store_row(float* to, V v, int count, bool spills) {
  if (spills) store(to, v);
  else store_some(to, v, count);
}

// A panel of weights that lie [out][in]. Lanes are rows, of which a transposition gathers L taps at a time.
void transform_panel(const float* weight, int64_t depth, int count, float* out, int64_t point_step) {
  float taps_of_rows[9 * L][L];
  for (int64_t k = 0; k < depth; k += L)
    for (int from = 0; from < count; from += L) {
      const int kernels = static_cast<int>(std::min<int64_t>(L, depth - k)), lanes = std::min(L, count - from);
      for (int v = 0; v < 9 * kernels; v += L) {
        const float* const first = weight + (from * depth + k) * 9 + v;
        V rows[L];
        unroll<L>([&](auto i) { rows[i] = i < lanes ? load_some(first + i * depth * 9, std::min(L, 9 * kernels - v)) : V{}; });
        transpose<float>(rows);
        unroll<L>([&](auto i) { store(taps_of_rows[v + i], rows[i]); });
      }
      for (int j = 0; j < kernels; j++) {
        V taps[9], points[kPoints];
        unroll<9>([&](auto t) { taps[t] = load(taps_of_rows[9 * j + t]); });
        kernel_points(taps, points);
        float* const to = out + (k + j) * count + from;
        unroll<kPoints>([&](auto p) { store_row(to + p * point_step, points[p], lanes, count <= L && k + j + 1 < depth); });
      }
    }
}
// The same of weights that lie [in][out], turned by half a turn.
void transform_flipped_panel(const float* weight, int64_t rows, int64_t depth, int count, float* out, int64_t point_step) {
  for (int64_t k = 0; k < depth; k++)
    for (int from = 0; from < count; from += L) {
      const int lanes = std::min(L, count - from);
      const float* w = weight + (k * rows + from) * 9;
      float few[9 * L] = {};
      if (lanes < L) {
        std::copy_n(w, 9 * lanes, few);
        w = few;
      }
      V taps[9], points[kPoints];
      unroll<9>([&](auto t) { taps[8 - t] = every_ninth(w + t, kAllLanes); });
      kernel_points(taps, points);
      float* const to = out + k * count + from;
      unroll<kPoints>([&](auto p) { store_row(to + p * point_step, points[p], lanes, count <= L && k + 1 < depth); });
    }
}

// Gradients of the weights at the 16 points, [point][out channel][in channel padded], back into 3x3.
void transform_weight_gradients(const ConvShape& s, const float* sums, float* grad_weight) {
  const int64_t rows = s.out_per_group, depth = s.in_per_group, width = padded(depth);
  parallel_for(0, rows, std::max<int64_t>(1, 4096 / depth), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++)
      for (int64_t k = 0; k < depth; k += L) {
        V part[3][4];
        unroll<4>([&](auto q) {
          V w[4];
          unroll<4>([&](auto p) { w[p] = load(sums + ((4 * p + q) * rows + i) * width + k); });
          const V middle = 0.5f * (w[1] + w[2]);
          part[0][q] = w[0] + middle;
          part[1][q] = 0.5f * (w[1] - w[2]);
          part[2][q] = middle + w[3];
        });
        float taps[9][L];
        unroll<3>([&](auto r) {
          const V middle = 0.5f * (part[r][1] + part[r][2]);
          store(taps[3 * r], part[r][0] + middle);
          store(taps[3 * r + 1], 0.5f * (part[r][1] - part[r][2]));
          store(taps[3 * r + 2], middle + part[r][3]);
        });
        float* to = grad_weight + (i * depth + k) * 9;
        const int64_t count = std::min<int64_t>(L, depth - k);
        for (int64_t j = 0; j < count; j++)
          for (int tap = 0; tap < 9; tap++) to[j * 9 + tap] = taps[tap][j];
      }
  });
}

// c[rows][columns, a multiple of L] = or += panel * b.
void multiply(int64_t k, const float* panel, int64_t rows, const float* b, int64_t b_step, int64_t columns, float* c, int64_t ldc, bool add) {
  for (int64_t j = 0; j < columns; j += kTileVectors * L) {
    const int used = static_cast<int>(std::min<int64_t>(kTileVectors * L, columns - j));
    micro_kernels<float>.at[rows - 1][used > L](k, panel, b + j, b_step, {c + j, ldc, 1.0f, add ? 1.0f : 0.0f, nullptr, false}, used);
  }
}

// One panel, of the result's channels [i0, i1).
void transform_rows(const ConvShape& s, const float* weight, bool flipped, int64_t i0, int64_t i1, float* out, int64_t point_step) {
  const int64_t rows = s.out_per_group, depth = s.in_per_group;
  const int count = static_cast<int>(i1 - i0);
  if (flipped) transform_flipped_panel(weight + i0 * 9, rows, depth, count, out, point_step);
  else transform_panel(weight + i0 * depth * 9, depth, count, out, point_step);
}

}  // namespace

// Weights at the 16 points, in panels for the micro-kernels: [point][panel][in channel][row in panel].
void conv_winograd_weights(const ConvShape& s, const float* weight, bool flipped, float* transformed) {
  const int64_t rows = s.out_per_group, depth = s.in_per_group;
  parallel_for(0, ceil_div(rows, kTileRows), std::max<int64_t>(1, 512 / depth), [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; q++) {
      const int64_t i0 = first_row(rows, q);
      transform_rows(s, weight, flipped, i0, first_row(rows, q + 1), transformed + i0 * depth, rows * depth);
    }
  });
}

void conv_winograd_forward_packed(const ConvShape& s, const float* input, const float* weights, const float* bias, float* output) {
  const int64_t rows = s.out_per_group, depth = s.in_per_group, panels = ceil_div(rows, kTileRows);
  const Tiling t(s, rows + depth);
  const int64_t v_step = depth * t.width + L, m_step = rows * t.width + L;
  // Fewer blocks than threads: each is cut by panels of channels too, which all transform its input. No result depends on it.
  const int64_t cuts = std::clamp<int64_t>(get_num_threads() / t.blocks, 1, std::max<int64_t>(1, panels / 2));
  const int64_t grain = std::max<int64_t>(1, 1000000 * cuts / (rows * depth * t.width * kPoints));
  parallel_for(0, t.blocks * cuts, grain, [&](int64_t begin, int64_t end) {
    float* const v = thread_scratch<float>(Scratch::conv, kPoints * v_step);
    float* const m = thread_scratch<float>(Scratch::gemm_tile, kPoints * m_step);
    for (int64_t u = begin; u < end; u++) {
      const int64_t b = u / cuts, q0 = panels * (u % cuts) / cuts, q1 = panels * (u % cuts + 1) / cuts;
      if (u == begin || q0 == 0) transform_input(s, t, input, b, v, v_step);
      const int64_t columns = padded(t.tiles_of(b));
      for (int64_t p = 0; p < kPoints; p++)
        for (int64_t q = q0; q < q1; q++) {
          const int64_t i0 = first_row(rows, q);
          multiply(depth, weights + (p * rows + i0) * depth, first_row(rows, q + 1) - i0, v + p * v_step, t.width, columns, m + p * m_step + i0 * t.width,
                   t.width, false);
        }
      const int64_t c0 = first_row(rows, q0);
      transform_output(s, t, m + c0 * t.width, m_step, bias, b, c0, first_row(rows, q1), output);
    }
  });
}

void conv_winograd_forward(const ConvShape& s, const float* input, const float* weight, bool flipped, const float* bias, float* output) {
  const int64_t rows = s.out_per_group, depth = s.in_per_group, panels = ceil_div(rows, kTileRows);
  const Tiling t(s, rows + depth);
  if (t.blocks > 1) {
    const AlignedBuffer<float> transformed(winograd_weights_count(s));
    conv_winograd_weights(s, weight, flipped, transformed.data);
    return conv_winograd_forward_packed(s, input, transformed.data, bias, output);
  }
  // Transformed weights are used once: panel by panel they stay in the second-level cache.
  const int64_t v_step = depth * t.width + L, m_step = kTileRows * t.width + L, columns = padded(t.tiles_of(0)), w_count = kTileRows * depth * kPoints;
  const int64_t cuts = std::clamp<int64_t>(get_num_threads(), 1, panels);
  parallel_for(0, cuts, 1, [&](int64_t begin, int64_t end) {
    float* const v = thread_scratch<float>(Scratch::conv, kPoints * v_step);
    float* const m = thread_scratch<float>(Scratch::gemm_tile, kPoints * m_step + w_count);
    float* const w = m + kPoints * m_step;
    transform_input(s, t, input, 0, v, v_step);
    for (int64_t q = panels * begin / cuts; q < panels * end / cuts; q++) {
      const int64_t i0 = first_row(rows, q), i1 = first_row(rows, q + 1), step = (i1 - i0) * depth;
      transform_rows(s, weight, flipped, i0, i1, w, step);
      for (int64_t p = 0; p < kPoints; p++) multiply(depth, w + p * step, i1 - i0, v + p * v_step, t.width, columns, m + p * m_step, t.width, false);
      transform_output(s, t, m, m_step, bias, 0, i0, i1, output);
    }
  });
}

void conv_winograd_backward_weight(const ConvShape& s, const float* input, const float* grad_output, float* grad_weight) {
  const int64_t rows = s.out_per_group, depth = s.in_per_group, panels = ceil_div(rows, kTileRows), width = padded(depth);
  const Tiling t(s, rows + depth);
  // Fixed pieces of the batch with sums of their own, added in order; one where the weights are large.
  const int64_t size = kPoints * rows * width;
  const int64_t pieces = std::min<int64_t>(t.blocks, size > (int64_t{1} << 20) ? 1 : 4);
  const AlignedBuffer<float> sums(pieces * size);
  parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
    const int64_t v_step = t.width * width, g_step = rows * t.width + L;
    float* const v = thread_scratch<float>(Scratch::conv, kPoints * v_step);
    float* const g = thread_scratch<float>(Scratch::gemm_pack, kPoints * g_step);
    for (int64_t piece = begin; piece < end; piece++) {
      float* const to = sums.data + piece * size;
      const int64_t first = t.blocks * piece / pieces, last = t.blocks * (piece + 1) / pieces;
      for (int64_t b = first; b < last; b++) {
        const int64_t tiles = t.tiles_of(b);
        for (int64_t c = 0; c < depth; c += L)
          transform_input_channels(s, t, input, b, c, static_cast<int>(std::min<int64_t>(L, depth - c)), v + c, width, v_step);
        for (int64_t q = 0; q < panels; q++) {
          const int64_t i0 = first_row(rows, q), count = first_row(rows, q + 1) - i0;
          for (int64_t c = 0; c < count; c += L)
            transform_gradient_channels(s, t, grad_output, b, i0, i0 + c, static_cast<int>(std::min<int64_t>(L, count - c)), g + i0 * t.width + c, count,
                                        g_step);
        }
        for (int64_t p = 0; p < kPoints; p++)
          for (int64_t q = 0; q < panels; q++) {
            const int64_t i0 = first_row(rows, q);
            multiply(tiles, g + p * g_step + i0 * t.width, first_row(rows, q + 1) - i0, v + p * v_step, width, width, to + (p * rows + i0) * width, width,
                     b > first);
          }
      }
    }
  });
  for (int64_t piece = 1; piece < pieces; piece++)
    for (int64_t i = 0; i < size; i++) sums.data[i] += sums.data[piece * size + i];
  transform_weight_gradients(s, sums.data, grad_weight);
}

}  // namespace cresset::kernels::CRESSET_ISA
