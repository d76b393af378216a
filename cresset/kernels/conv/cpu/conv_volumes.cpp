#include "cresset/kernels/conv/cpu/conv_volumes.h"

#include <algorithm>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/scratch.h"
#include "cresset/kernels/cpu/simd.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

constexpr int64_t L = kLanes<float>, kBlock = 4 * L;

// A group's input within its padding, rows end to end: the output's rows are as long here, so that a plane of it is one run, in which
// what lies between its rows is computed and left.
struct Padded {
  int64_t size[3], row, plane, volume, run;
  std::vector<int64_t> offset;  // of each tap

  explicit Padded(const ConvShape& s) {
    for (int d = 0; d < 3; d++) size[d] = s.in[d] + 2 * s.padding[d];
    row = size[2];
    plane = row * size[1];
    volume = plane * size[0];
    run = (s.out[1] - 1) * row + s.out[2];
    for (int64_t channel = 0; channel < s.in_per_group; channel++)
      for (int64_t kd = 0; kd < s.kernel[0]; kd++)
        for (int64_t kh = 0; kh < s.kernel[1]; kh++)
          for (int64_t kw = 0; kw < s.kernel[2]; kw++)
            offset.push_back(channel * volume + kd * s.dilation[0] * plane + kh * s.dilation[1] * row + kw * s.dilation[2]);
  }
  int64_t room(const ConvShape& s) const { return s.in_per_group * volume + kBlock; }

  // Padding below 0 leaves out what lies at the edges.
  void fill(const ConvShape& s, const float* in, float* to) const {
    const int64_t low = std::max<int64_t>(0, s.padding[2]), high = std::min(row, s.in[2] + s.padding[2]);
    std::fill_n(to + s.in_per_group * volume, kBlock, 0.0f);
    for (int64_t r = 0; r < s.in_per_group * size[0] * size[1]; r++, to += row) {
      const int64_t h = r % size[1] - s.padding[1], plane_of = r / size[1], d = plane_of % size[0] - s.padding[0], channel = plane_of / size[0];
      if (d < 0 || d >= s.in[0] || h < 0 || h >= s.in[1]) {
        std::fill_n(to, row, 0.0f);
        continue;
      }
      const float* from = in + ((channel * s.in[0] + d) * s.in[1] + h) * s.in[2] - s.padding[2];
      std::fill(to, to + low, 0.0f);
      std::copy(from + low, from + high, to + low);
      std::fill(to + high, to + row, 0.0f);
    }
  }
};

}  // namespace

void conv_volumes_forward(const ConvShape& s, const float* input, const float* weight, bool turned, const float* bias, float* output) {
  const Padded p(s);
  const int64_t k = s.kernel_size();
  parallel_for(0, s.batch * s.groups, 1, [&](int64_t begin, int64_t end) {
    float* const padded = thread_scratch<float>(Scratch::conv, static_cast<size_t>(p.room(s) + p.run + kBlock + s.taps));
    float *const line = padded + p.room(s), *const factors = line + p.run + kBlock;
    for (int64_t u = begin; u < end; u++) {
      const int64_t group = u % s.groups;
      p.fill(s, input + u * s.in_per_group * s.in_pixels, padded);
      for (int64_t o = 0; o < s.out_per_group; o++) {
        for (int64_t t = 0; t < s.taps; t++) {
          const int64_t i = t / k, at = t % k;
          factors[t] = turned ? weight[((group * s.in_per_group + i) * s.out_per_group + o) * k + k - 1 - at]
                              : weight[((group * s.out_per_group + o) * s.in_per_group + i) * k + at];
        }
        const VecF start = splat(bias ? bias[group * s.out_per_group + o] : 0.0f);
        float* out = output + (u * s.out_per_group + o) * s.out_pixels;
        for (int64_t d = 0; d < s.out[0]; d++) {
          for (int64_t i = 0; i < p.run; i += kBlock) {
            const float* from = padded + d * p.plane + i;
            VecF a = start, b = start, c = start, e = start;
            for (int64_t t = 0; t < s.taps; t++) {
              const float* x = from + p.offset[static_cast<size_t>(t)];
              const VecF w = splat(factors[t]);
              a += w * load<float>(x);
              b += w * load<float>(x + L);
              c += w * load<float>(x + 2 * L);
              e += w * load<float>(x + 3 * L);
            }
            store(line + i, a);
            store(line + i + L, b);
            store(line + i + 2 * L, c);
            store(line + i + 3 * L, e);
          }
          for (int64_t h = 0; h < s.out[1]; h++, out += s.out[2]) std::copy_n(line + h * p.row, s.out[2], out);
        }
      }
    }
  });
}

void conv_volumes_backward_weight(const ConvShape& s, const float* input, const float* grad_output, float* grad_weight) {
  const Padded p(s);
  constexpr int64_t kTaps = 8;
  const int64_t whole = (p.run + L - 1) / L * L;
  parallel_for(0, s.groups, 1, [&](int64_t begin, int64_t end) {
    // Gradients lie as the padded input does, with zeros between their rows.
    float* const padded = thread_scratch<float>(Scratch::conv, static_cast<size_t>(p.room(s) + s.out[0] * whole));
    float* const grads = padded + p.room(s);
    for (int64_t group = begin; group < end; group++) {
      float* const to = grad_weight + group * s.out_per_group * s.taps;
      std::fill_n(to, s.out_per_group * s.taps, 0.0f);
      for (int64_t item = 0; item < s.batch; item++) {
        const int64_t u = item * s.groups + group;
        p.fill(s, input + u * s.in_per_group * s.in_pixels, padded);
        for (int64_t o = 0; o < s.out_per_group; o++) {
          const float* from = grad_output + (u * s.out_per_group + o) * s.out_pixels;
          std::fill_n(grads, s.out[0] * whole, 0.0f);
          for (int64_t r = 0; r < s.out[0] * s.out[1]; r++) std::copy_n(from + r * s.out[2], s.out[2], grads + r / s.out[1] * whole + r % s.out[1] * p.row);
          for (int64_t first = 0; first < s.taps; first += kTaps) {
            const int64_t taps = std::min(kTaps, s.taps - first);
            int64_t at[kTaps];
            for (int64_t t = 0; t < kTaps; t++) at[t] = p.offset[static_cast<size_t>(first + std::min(t, taps - 1))];
            VecF total[kTaps] = {};
            for (int64_t d = 0; d < s.out[0]; d++) {
              VecF sum[kTaps] = {};
              const float *x = padded + d * p.plane, *g = grads + d * whole;
              for (int64_t i = 0; i < whole; i += L) {
                const VecF by = load<float>(g + i);
                for (int64_t t = 0; t < kTaps; t++) sum[t] += by * load<float>(x + i + at[t]);
              }
              for (int64_t t = 0; t < kTaps; t++) total[t] += sum[t];
            }
            for (int64_t t = 0; t < taps; t++) {
              float sum = 0;
              for (int64_t lane = 0; lane < L; lane++) sum += total[t][lane];
              to[o * s.taps + first + t] += sum;
            }
          }
        }
      }
    }
  });
}

}  // namespace cresset::kernels::CRESSET_ISA
