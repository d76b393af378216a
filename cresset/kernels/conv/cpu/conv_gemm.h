#pragma once
// Convolutions by the micro-kernels of gemm_packed.h: included once per instruction set and compute type.
//
// forward:         output[channel][pixel]  = weights[channel][tap] * unfolded[tap][pixel], the unfolded matrix made tile by tile in
// cache backward input:  with unit stride the forward product of grad_output with the flipped weights; else
//                  unfolded[tap][pixel] = weights^T * grad_output, added up in planes
// backward weight: grad_weight[channel][tap] = grad_output[channel][pixel] * unfolded^T[pixel][tap]
// No sum's order depends on how the work is cut.

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/aligned_buffer.h"
#include "cresset/kernels/conv/cpu/conv.h"
#include "cresset/kernels/conv/cpu/conv_unfold.h"

namespace cresset::kernels::CRESSET_ISA {
namespace {

template <class P> constexpr int kTileWidth = kTileVectors* kLanes<P>;
template <class P> constexpr int64_t kConvDepth = 1536 / static_cast<int64_t>(sizeof(P));
constexpr int64_t kConvColumns = 320;

// A rows x k matrix in panels of kTileRows for each block of `depth`: [block][panel][k in block][row in panel].
template <class P> struct PackedRows {
  int64_t rows, k, depth, panels;

  PackedRows(int64_t rows_, int64_t k_) : rows(rows_), k(k_), depth(even_block(k_, kConvDepth<P>, 4)), panels(ceil_div(rows_, kTileRows)) {}
  int64_t size() const { return rows * k + kLanes<P>; }
  int64_t first_row(int64_t panel) const { return rows * panel / panels; }
  const P* at(const P* data, int64_t pc, int64_t kc, int64_t panel) const { return data + rows * pc + first_row(panel) * kc; }

  // Element (i, p) is a[i * row_stride + p] for p < k - 1, or k; with a bias the last column is the bias.
  template <class S> void pack(const S* a, int64_t row_stride, const S* bias, P* out) const {
    const int64_t real = bias ? k - 1 : k;
    for (int64_t pc = 0; pc < k; pc += depth) {
      const int64_t kc = std::min(depth, k - pc), from_a = std::min(kc, real - pc);
      for (int64_t q = 0; q < panels; q++) {
        const int64_t i0 = first_row(q), count = first_row(q + 1) - i0;
        P* panel = out + rows * pc + i0 * kc;
        if (from_a > 0) pack_a(a + i0 * row_stride + pc, row_stride, 1, static_cast<int>(count), from_a, panel);
        if (from_a < kc)
          for (int64_t i = 0; i < count; i++) panel[(kc - 1) * count + i] = static_cast<P>(bias[i0 + i]);
      }
    }
  }
};

// Products of all panels of `a` in block [pc, pc + kc) with a tile of B, rows `width` apart, into columns of C.
template <class P> void multiply_panels(const PackedRows<P>& a, const P* packed, int64_t pc, int64_t kc, const P* tiles, int64_t columns, P* c, int64_t ldc) {
  for (int64_t q = 0; q < a.panels; q++) {
    const int64_t i0 = a.first_row(q), rows = a.first_row(q + 1) - i0;
    for (int64_t j = 0; j < columns; j += kTileWidth<P>) {
      const int used = static_cast<int>(std::min<int64_t>(kTileWidth<P>, columns - j));
      const bool wide = used > kLanes<P>;
      micro_kernels<P>.at[rows - 1][wide](kc, a.at(packed, pc, kc, q), tiles + j * kc, wide ? kTileWidth<P> : kLanes<P>,
                                          {c + i0 * ldc + j, ldc, P(1), pc > 0 ? P(1) : P(0), nullptr, false}, used);
    }
  }
}

// Images whose pixels are taken together, so that small ones fill whole vectors.
inline int64_t images_per_unit(const ConvShape& s) {
  return std::min(s.batch, std::max<int64_t>(1, s.out_pixels >= 256 ? 1 : 256 / std::max<int64_t>(s.out_pixels, 1)));
}

// Planes of the images [first, first + count) of one group: the images as they lie, or a padded copy in this thread's scratch.
template <class S, class P> struct ImagePlanes {
  const P* data;
  int64_t image;  // distance between images
  bool exact;     // nothing may be read beyond the last run

  ImagePlanes(const ConvShape& s, const PlaneLayout& layout, const S* input, int64_t first, int64_t count, int64_t group) {
    const int64_t in_image = s.groups * s.in_per_group * s.in_pixels;
    const S* from = input + first * in_image + group * s.in_per_group * s.in_pixels;
    if constexpr (std::is_same_v<S, P>) {
      if (layout.in_place) {
        data = from;
        image = in_image;
        const int64_t channels_left = (s.batch - first - count + 1) * s.groups - group - 1;
        exact = channels_left * s.in_per_group * s.in_pixels < kLanes<P>;
        return;
      }
    }
    image = layout.count;
    exact = false;
    P* copy = thread_scratch<P>(Scratch::conv, count * image + kLanes<P>);
    for (int64_t i = 0; i < count; i++) layout.fill(s, from + i * in_image, copy + i * image);
    data = copy;
  }
};

// Forward for the images [first, first + count) of one group: piece `piece` of `pieces` of their pixels.
template <class S, class P> void forward_unit(const ConvShape& s, const PlaneLayout& layout, const PackedRows<P>& a, const P* weights, bool bias,
                                              const S* input, S* output, int64_t first, int64_t count, int64_t group, int64_t piece, int64_t pieces) {
  constexpr int W = kTileWidth<P>;
  const ImagePlanes<S, P> planes(s, layout, input, first, count, group);
  const int64_t pixels = count * s.out_pixels, block = even_block(pixels, kConvColumns, W);
  const int64_t out_image = s.groups * s.out_per_group * s.out_pixels;
  S* const out = output + first * out_image + group * s.out_per_group * s.out_pixels;
  const bool direct = std::is_same_v<S, P> && count == 1;
  P* const tiles = thread_scratch<P>(Scratch::gemm_pack, block * a.depth + kLanes<P>);
  P* const sums = direct ? nullptr : thread_scratch<P>(Scratch::gemm_tile, s.out_per_group * block);
  const int64_t tile_count = block / W;
  thread_local std::vector<std::vector<Segment>> segments;
  if (static_cast<int64_t>(segments.size()) < tile_count) segments.resize(tile_count);
  const int64_t blocks = ceil_div(pixels, block), last = blocks * (piece + 1) / pieces;
  for (int64_t b = blocks * piece / pieces; b < last; b++) {
    const int64_t p0 = b * block, columns = std::min(block, pixels - p0);
    for (int64_t j = 0; j < columns; j += W) make_segments(s, layout, planes.image, p0 + j, p0 + std::min<int64_t>(j + W, columns), segments[j / W]);
    P* const c = direct ? reinterpret_cast<P*>(out) + p0 : sums;
    const int64_t ldc = direct ? s.out_pixels : columns;
    for (int64_t pc = 0; pc < a.k; pc += a.depth) {
      const int64_t kc = std::min(a.depth, a.k - pc), taps = std::min(kc, s.taps - pc);
      for (int64_t j = 0; j < columns; j += W) {
        const int64_t width = ceil_div(std::min<int64_t>(W, columns - j), kLanes<P>) * kLanes<P>;
        P* tile = tiles + j * kc;
        if (planes.exact) unfold_tile<true>(planes.data, layout.tap_offset.data() + pc, taps, segments[j / W], width, tile);
        else unfold_tile<false>(planes.data, layout.tap_offset.data() + pc, taps, segments[j / W], width, tile);
        if (bias && taps < kc) std::fill_n(tile + taps * width, width, P(1));
      }
      multiply_panels(a, weights + group * a.size(), pc, kc, tiles, columns, c, ldc);
    }
    if (direct) continue;
    for (int64_t oc = 0; oc < s.out_per_group; oc++)
      for (int64_t p = p0; p < p0 + columns;) {
        const int64_t item = p / s.out_pixels, q = p % s.out_pixels, length = std::min(s.out_pixels - q, p0 + columns - p);
        S* to = out + item * out_image + oc * s.out_pixels + q;
        const P* from = sums + oc * columns + p - p0;
        for (int64_t i = 0; i < length; i++) to[i] = static_cast<S>(from[i]);
        p += length;
      }
  }
}

template <class S, class P> void forward(const ConvShape& s, const S* input, const S* weight, const S* bias, S* output) {
  const PlaneLayout layout(s);
  const PackedRows<P> a(s.out_per_group, s.taps + (bias ? 1 : 0));
  const AlignedBuffer<P> packed(s.groups * a.size());
  parallel_for(0, s.groups, std::max<int64_t>(1, 65536 / a.size()), [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; g++)
      a.pack(weight + g * s.out_per_group * s.taps, s.taps, bias ? bias + g * s.out_per_group : nullptr, packed.data + g * a.size());
  });
  const int64_t images = images_per_unit(s), chunks = ceil_div(s.batch, images);
  const int64_t units = chunks * s.groups, pieces = std::max<int64_t>(1, get_num_threads() / units);
  const int64_t grain = std::max<int64_t>(1, 1000000 * pieces / std::max<int64_t>(1, s.out_per_group * s.taps * s.out_pixels * images));
  parallel_for(0, units * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const int64_t u = i / pieces, first = u / s.groups * images;
      forward_unit<S, P>(s, layout, a, packed.data, bias != nullptr, input, output, first, std::min(images, s.batch - first), u % s.groups, i % pieces, pieces);
    }
  });
}

template <class S, class P> void backward_input_unit_stride(const ConvShape& s, const S* grad_output, const S* weight, const S* bias, S* grad_input) {
  const int64_t size = s.kernel_size();
  const AlignedBuffer<S> flipped(s.weight_count());
  for (int64_t g = 0; g < s.groups; g++)
    for (int64_t ic = 0; ic < s.in_per_group; ic++)
      for (int64_t oc = 0; oc < s.out_per_group; oc++) {
        const S* from = weight + ((g * s.out_per_group + oc) * s.in_per_group + ic) * size;
        S* to = flipped.data + ((g * s.in_per_group + ic) * s.out_per_group + oc) * size;
        for (int64_t i = 0; i < size; i++) to[i] = from[size - 1 - i];
      }
  forward<S, P>(s.transposed(), grad_output, flipped.data, bias, grad_input);
}

template <class S, class P> void backward_input_unit(const ConvShape& s, const PlaneLayout& layout, const PackedRows<P>& a, const P* weights,
                                                     const S* grad_output, const S* bias, S* grad_input, int64_t item, int64_t group) {
  constexpr int W = kTileWidth<P>;
  const S* grad = grad_output + (item * s.groups + group) * s.out_per_group * s.out_pixels;
  P* const planes = thread_scratch<P>(Scratch::conv, layout.count);
  std::fill_n(planes, layout.count, P(0));
  const int64_t block = even_block(s.out_pixels, std::clamp<int64_t>(131072 / s.taps, W, kConvColumns), W);
  P* const tiles = thread_scratch<P>(Scratch::gemm_pack, block * a.depth + kLanes<P>);
  P* const sums = thread_scratch<P>(Scratch::gemm_tile, s.taps * block);
  std::vector<Segment> segments;
  for (int64_t p0 = 0; p0 < s.out_pixels; p0 += block) {
    const int64_t columns = std::min(block, s.out_pixels - p0);
    for (int64_t pc = 0; pc < a.k; pc += a.depth) {
      const int64_t kc = std::min(a.depth, a.k - pc);
      for (int64_t j = 0; j < columns; j += W) {
        const int used = static_cast<int>(std::min<int64_t>(W, columns - j));
        const int width = static_cast<int>(ceil_div(used, kLanes<P>)) * kLanes<P>;
        pack_b(grad + pc * s.out_pixels + p0 + j, s.out_pixels, 1, used, width, kc, tiles + j * kc);
      }
      multiply_panels(a, weights + group * a.size(), pc, kc, tiles, columns, sums, columns);
    }
    make_segments(s, layout, 0, p0, p0 + columns, segments);
    for (int64_t t = 0; t < s.taps; t++)
      for (const Segment& run : segments) {
        P* to = planes + layout.tap_offset[t] + run.from;
        const P* from = sums + t * columns + run.to;
        for (int64_t i = 0; i < run.length; i++) to[i] += from[i];
      }
  }
  layout.drain(s, planes, bias ? bias + group * s.in_per_group : nullptr, grad_input + (item * s.groups + group) * s.in_per_group * s.in_pixels);
}

template <class S, class P> void backward_input(const ConvShape& s, const S* grad_output, const S* weight, const S* bias, S* grad_input) {
  if (s.unit_stride()) return backward_input_unit_stride<S, P>(s, grad_output, weight, bias, grad_input);
  PlaneLayout layout(s);
  const PackedRows<P> a(s.taps, s.out_per_group);
  const AlignedBuffer<P> packed(s.groups * a.size());
  const AlignedBuffer<S> transposed(s.weight_count());
  for (int64_t g = 0; g < s.groups; g++) {
    S* to = transposed.data + g * s.out_per_group * s.taps;
    const S* from = weight + g * s.out_per_group * s.taps;
    for (int64_t t = 0; t < s.taps; t++)
      for (int64_t oc = 0; oc < s.out_per_group; oc++) to[t * s.out_per_group + oc] = from[oc * s.taps + t];
    a.pack(to, s.out_per_group, static_cast<const S*>(nullptr), packed.data + g * a.size());
  }
  const int64_t grain = std::max<int64_t>(1, 1000000 / std::max<int64_t>(1, s.out_per_group * s.taps * s.out_pixels));
  parallel_for(0, s.batch * s.groups, grain, [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; u++) backward_input_unit<S, P>(s, layout, a, packed.data, grad_output, bias, grad_input, u / s.groups, u % s.groups);
  });
}

// grad_weight of one group for the taps [t0, t1), over all images: blocks of pixels of several images are one product's depth.
template <class S, class P> void backward_weight_unit(const ConvShape& s, const PlaneLayout& layout, const S* input, const S* grad_output, S* grad_weight,
                                                      int64_t group, int64_t t0, int64_t t1) {
  constexpr int W = kTileWidth<P>, L = kLanes<P>;
  const int64_t images = images_per_unit(s), columns = t1 - t0;
  const int64_t depth = even_block(images * s.out_pixels, kConvDepth<P>, L);
  const int64_t panels = ceil_div(s.out_per_group, kTileRows);
  const int64_t out_image = s.groups * s.out_per_group * s.out_pixels;
  P* const a = thread_scratch<P>(Scratch::gemm_pack, kTileRows * depth + L + ceil_div(columns, W) * W * depth);
  P* const tiles = a + kTileRows * depth + L;
  P* const unfolded = thread_scratch<P>(Scratch::conv_inner, (W + s.out_per_group) * depth + L);
  P* const grads = unfolded + W * depth + L;
  constexpr bool kDirect = std::is_same_v<S, P>;
  S* const result = grad_weight + group * s.out_per_group * s.taps + t0;
  P* const sums = kDirect ? reinterpret_cast<P*>(result) : thread_scratch<P>(Scratch::gemm_tile, s.out_per_group * columns);
  const int64_t ldc = kDirect ? s.taps : columns;
  std::vector<Segment> segments;
  bool first_block = true;
  for (int64_t item = 0; item < s.batch; item += images) {
    const int64_t count = std::min(images, s.batch - item), pixels = count * s.out_pixels;
    const ImagePlanes<S, P> planes(s, layout, input, item, count, group);
    const S* grad = grad_output + item * out_image + group * s.out_per_group * s.out_pixels;
    for (int64_t p0 = 0; p0 < pixels; p0 += depth, first_block = false) {
      const int64_t kc = std::min(depth, pixels - p0);
      make_segments(s, layout, planes.image, p0, p0 + kc, segments);
      for (int64_t j = 0; j < columns; j += W) {
        const int64_t used = std::min<int64_t>(W, columns - j), width = ceil_div(used, L) * L;
        if (planes.exact) unfold_tile<true>(planes.data, layout.tap_offset.data() + t0 + j, used, segments, kc, unfolded);
        else unfold_tile<false>(planes.data, layout.tap_offset.data() + t0 + j, used, segments, kc, unfolded);
        for (int64_t i = 0; i < width; i += L)
          pack_transposed(unfolded + i * kc, kc, static_cast<int>(std::min<int64_t>(L, used - i)), kc, tiles + j * kc + i, width);
      }
      // Rows of grad_output over this block's pixels, contiguous also where the block spans images.
      const S* rows = grad + p0;
      int64_t row_stride = s.out_pixels;
      S* const gathered = reinterpret_cast<S*>(grads);
      if (count > 1) {
        for (int64_t oc = 0; oc < s.out_per_group; oc++)
          for (int64_t p = p0; p < p0 + kc;) {
            const int64_t i = p / s.out_pixels, q = p % s.out_pixels, length = std::min(s.out_pixels - q, p0 + kc - p);
            std::memcpy(gathered + oc * kc + p - p0, grad + i * out_image + oc * s.out_pixels + q, length * sizeof(S));
            p += length;
          }
        rows = gathered;
        row_stride = kc;
      }
      for (int64_t q = 0; q < panels; q++) {
        const int64_t i0 = s.out_per_group * q / panels, i1 = s.out_per_group * (q + 1) / panels;
        pack_a(rows + i0 * row_stride, row_stride, 1, static_cast<int>(i1 - i0), kc, a);
        for (int64_t j = 0; j < columns; j += W) {
          const int used = static_cast<int>(std::min<int64_t>(W, columns - j));
          micro_kernels<P>.at[i1 - i0 - 1][used > L](kc, a, tiles + j * kc, used > L ? W : L,
                                                     {sums + i0 * ldc + j, ldc, P(1), first_block ? P(0) : P(1), nullptr, false}, used);
        }
      }
    }
  }
  if constexpr (!kDirect)
    for (int64_t oc = 0; oc < s.out_per_group; oc++)
      for (int64_t t = 0; t < columns; t++) result[oc * s.taps + t] = static_cast<S>(sums[oc * columns + t]);
}

template <class S, class P> void backward_weight(const ConvShape& s, const S* input, const S* grad_output, S* grad_weight) {
  const PlaneLayout layout(s);
  // Taps are cut so that a block of the unfolded matrix stays in cache, and for threads: every unit goes through all images.
  const int64_t block = even_block(s.taps, 256, kTileWidth<P>), blocks = ceil_div(s.taps, block);
  parallel_for(0, s.groups * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; u++) {
      const int64_t t0 = u % blocks * block;
      backward_weight_unit<S, P>(s, layout, input, grad_output, grad_weight, u / blocks, t0, std::min(t0 + block, s.taps));
    }
  });
}

// Sums over images and pixels, in the compute type.
template <class S, class P> void backward_bias(const ConvShape& s, const S* grad_output, S* grad_bias) {
  constexpr int L = kLanes<P>;
  const int64_t channels = s.groups * s.out_per_group;
  const int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, s.batch * s.out_pixels));
  parallel_for(0, channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; c++) {
      Vector<P> total = {};
      for (int64_t item = 0; item < s.batch; item++) {
        const S* grad = grad_output + (item * channels + c) * s.out_pixels;
        Vector<P> sum[4] = {};
        int64_t i = 0;
        for (; i + 4 * L <= s.out_pixels; i += 4 * L) unroll<4>([&](auto j) { sum[j] += load_as<P>(grad + i + j * L); });
        for (; i < s.out_pixels; i += L) sum[0] += load_some_as<P>(grad + i, static_cast<int>(std::min<int64_t>(L, s.out_pixels - i)));
        total += (sum[0] + sum[1]) + (sum[2] + sum[3]);
      }
      Vector<P> part[L] = {total};
      grad_bias[c] = static_cast<S>(sum_each<P>(part)[0]);
    }
  });
}

}  // namespace
}  // namespace cresset::kernels::CRESSET_ISA
