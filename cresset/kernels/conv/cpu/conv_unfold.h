#pragma once
// Images laid out so that every tap of a convolution reads contiguous pixels, and the unfolded matrix made from them on the fly.

#include <vector>

#include "cresset/kernels/common/conv_shape.h"
#include "cresset/kernels/gemm/cpu/gemm_packed.h"

namespace cresset::kernels::CRESSET_ISA {
namespace {

// The planes of one image and group: [channel][depth][row][phase][column] with padding and, for a column stride s, columns split by
// their remainder modulo s ("phase"), of which only those that some tap reads are kept. Output pixel (d, h, w) and tap (c, kd, kh,
// kw) meet at element pixel_offset + tap_offset. An image that needs neither padding nor splitting can serve as it is.
struct PlaneLayout {
  int64_t depth, rows, width, phases, pitch, channel, count;
  std::vector<int64_t> tap_offset;   // in the order of the weights: channel, kd, kh, kw
  std::vector<int> phase_of;         // kernel column -> kept phase
  std::vector<int64_t> phase_start;  // kept phase -> its first column in the padded image
  bool in_place;

  explicit PlaneLayout(const ConvShape& s) {
    in_place = s.stride[2] == 1 && s.padding[0] == 0 && s.padding[1] == 0 && s.padding[2] == 0;
    for (int64_t kw = 0; kw < s.kernel[2]; kw++) {
      const int64_t start = kw * s.dilation[2] % s.stride[2];
      size_t phase = 0;
      while (phase < phase_start.size() && phase_start[phase] != start) phase++;
      if (phase == phase_start.size()) phase_start.push_back(start);
      phase_of.push_back(static_cast<int>(phase));
    }
    phases = static_cast<int64_t>(phase_start.size());
    if (in_place) {
      depth = s.in[0];
      rows = s.in[1];
      width = s.in[2];
    } else {
      depth = (s.out[0] - 1) * s.stride[0] + (s.kernel[0] - 1) * s.dilation[0] + 1;
      rows = (s.out[1] - 1) * s.stride[1] + (s.kernel[1] - 1) * s.dilation[1] + 1;
      width = s.out[2] + (s.kernel[2] - 1) * s.dilation[2] / s.stride[2];
    }
    pitch = phases * width;
    channel = depth * rows * pitch;
    count = channel * s.in_per_group;
    tap_offset.reserve(s.taps);
    for (int64_t c = 0; c < s.in_per_group; c++)
      for (int64_t kd = 0; kd < s.kernel[0]; kd++)
        for (int64_t kh = 0; kh < s.kernel[1]; kh++)
          for (int64_t kw = 0; kw < s.kernel[2]; kw++)
            tap_offset.push_back(c * channel + (kd * s.dilation[0] * rows + kh * s.dilation[1]) * pitch + phase_of[kw] * width +
                                 kw * s.dilation[2] / s.stride[2]);
  }

  int64_t pixel_offset(const ConvShape& s, int64_t d, int64_t h) const { return (d * s.stride[0] * rows + h * s.stride[1]) * pitch; }

  // f(plane row, image row or -1) for every row of one channel.
  template <class F> void each_row(const ConvShape& s, F&& f) const {
    for (int64_t d = 0; d < depth; d++)
      for (int64_t h = 0; h < rows; h++) {
        const int64_t id = d - s.padding[0], ih = h - s.padding[1];
        f((d * rows + h) * pitch, id < 0 || id >= s.in[0] || ih < 0 || ih >= s.in[1] ? -1 : (id * s.in[1] + ih) * s.in[2]);
      }
  }
  // Columns [first, last) of a phase lie inside the image; column i there is image column i * stride + shift.
  void columns_of(const ConvShape& s, int64_t phase, int64_t* first, int64_t* last, int64_t* shift) const {
    *shift = phase_start[phase] - s.padding[2];
    *first = *shift >= 0 ? 0 : std::min(width, ceil_div(-*shift, s.stride[2]));
    *last = s.in[2] <= *shift ? *first : std::max(*first, std::min(width, ceil_div(s.in[2] - *shift, s.stride[2])));
  }

  // Channels of one image into planes.
  template <class S, class P> void fill(const ConvShape& s, const S* image, P* planes) const {
    for (int64_t c = 0; c < s.in_per_group; c++) {
      const S* from = image + c * s.in_pixels;
      P* to = planes + c * channel;
      each_row(s, [&](int64_t row, int64_t source) {
        if (source < 0) {
          std::fill_n(to + row, pitch, P(0));
          return;
        }
        for (int64_t phase = 0; phase < phases; phase++) {
          int64_t first, last, shift;
          columns_of(s, phase, &first, &last, &shift);
          P* line = to + row + phase * width;
          const S* pixels = from + source + shift;
          for (int64_t i = 0; i < first; i++) line[i] = P(0);
          if (s.stride[2] == 1) {
            for (int64_t i = first; i < last; i++) line[i] = static_cast<P>(pixels[i]);
          } else if (s.stride[2] == 2) {
            for (int64_t i = first; i < last; i++) line[i] = static_cast<P>(pixels[2 * i]);
          } else {
            for (int64_t i = first; i < last; i++) line[i] = static_cast<P>(pixels[i * s.stride[2]]);
          }
          for (int64_t i = last; i < width; i++) line[i] = P(0);
        }
      });
    }
  }

  // Sums gathered in planes back into an image; pixels that no tap reads become `bias`.
  template <class S, class P> void drain(const ConvShape& s, const P* planes, const S* bias, S* image) const {
    for (int64_t c = 0; c < s.in_per_group; c++) {
      const P* from = planes + c * channel;
      S* to = image + c * s.in_pixels;
      const P offset = bias ? static_cast<P>(bias[c]) : P(0);
      std::fill_n(to, s.in_pixels, static_cast<S>(offset));
      each_row(s, [&](int64_t row, int64_t target) {
        if (target < 0) return;
        for (int64_t phase = 0; phase < phases; phase++) {
          int64_t first, last, shift;
          columns_of(s, phase, &first, &last, &shift);
          const P* line = from + row + phase * width;
          S* pixels = to + target + shift;
          for (int64_t i = first; i < last; i++) pixels[i * s.stride[2]] = static_cast<S>(line[i] + offset);
        }
      });
    }
  }
};

// A run of consecutive output pixels of one row: columns [to, to + length) of a tile are the pixels from `from` on.
struct Segment {
  int64_t to, from, length;
};

// The runs that make output pixels [p0, p1), counted over the images of a unit, whose planes lie `image` elements apart.
inline void make_segments(const ConvShape& s, const PlaneLayout& planes, int64_t image, int64_t p0, int64_t p1, std::vector<Segment>& out) {
  out.clear();
  for (int64_t p = p0; p < p1;) {
    const int64_t item = p / s.out_pixels, q = p % s.out_pixels, w = q % s.out[2], row = q / s.out[2];
    const int64_t length = std::min(s.out[2] - w, p1 - p);
    const int64_t from = item * image + planes.pixel_offset(s, row / s.out[1], row % s.out[1]) + w;
    if (!out.empty() && out.back().from + out.back().length == from) out.back().length += length;
    else out.push_back({p - p0, from, length});
    p += length;
  }
}

// Rows taps[0 .. count) of the unfolded matrix for one tile: out[t * width + column]. Whole vectors are stored in ascending order,
// so that each overwrites the excess of the one before; up to one vector beyond the last is overwritten too. Exact never reads
// beyond a run, else up to one vector more is read.
template <bool Exact, class P>
void unfold_tile(const P* planes, const int64_t* taps, int64_t count, const std::vector<Segment>& segments, int64_t width, P* out) {
  constexpr int L = kLanes<P>;
  for (int64_t t = 0; t < count; t++) {
    const P* from = planes + taps[t];
    P* to = out + t * width;
    for (const Segment& run : segments) {
      const P* in = from + run.from;
      for (int64_t i = 0; i < run.length; i += L)
        store(to + run.to + i, Exact ? load_some(in + i, static_cast<int>(std::min<int64_t>(L, run.length - i))) : load(in + i));
    }
  }
}

}  // namespace
}  // namespace cresset::kernels::CRESSET_ISA
