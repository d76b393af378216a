#pragma once
// One convolution's sizes with three spatial dimensions, absent ones being 1, and the sizes that loops need.

#include <cstdint>
#include <utility>

#include "cresset/kernels/conv/conv.h"

namespace cresset::kernels {

struct ConvShape {
  int64_t batch, groups, in_per_group, out_per_group;
  int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
  int64_t in_pixels = 1, out_pixels = 1;
  int64_t taps;  // products that make one output: rows of the unfolded matrix of one group

  explicit ConvShape(const ConvParams& p) : batch(p.batch), groups(p.groups), in_per_group(p.in_channels / p.groups), out_per_group(p.out_channels / p.groups) {
    taps = in_per_group;
    const int lead = 3 - p.dims;
    for (int d = 0; d < 3; d++) {
      const bool real = d >= lead;
      in[d] = real ? p.input[d - lead] : 1;
      out[d] = real ? p.output(d - lead) : 1;
      kernel[d] = real ? p.kernel[d - lead] : 1;
      stride[d] = real ? p.stride[d - lead] : 1;
      padding[d] = real ? p.padding[d - lead] : 0;
      dilation[d] = real ? p.dilation[d - lead] : 1;
      in_pixels *= in[d];
      out_pixels *= out[d];
      taps *= kernel[d];
    }
  }

  bool pointwise() const {
    for (int d = 0; d < 3; d++)
      if (kernel[d] != 1 || stride[d] != 1 || padding[d] != 0) return false;
    return true;
  }
  bool unit_stride() const { return stride[0] == 1 && stride[1] == 1 && stride[2] == 1; }
  // The forward convolution, by weights turned by half a turn, that is the gradient to the input of this one, whose strides are 1.
  ConvShape transposed() const {
    ConvShape t = *this;
    std::swap(t.in_per_group, t.out_per_group);
    std::swap(t.in_pixels, t.out_pixels);
    for (int d = 0; d < 3; d++) {
      std::swap(t.in[d], t.out[d]);
      t.padding[d] = dilation[d] * (kernel[d] - 1) - padding[d];
    }
    t.taps = t.in_per_group * kernel_size();
    return t;
  }
  int64_t kernel_size() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t input_count() const { return batch * groups * in_per_group * in_pixels; }
  int64_t output_count() const { return batch * groups * out_per_group * out_pixels; }
  int64_t weight_count() const { return groups * out_per_group * taps; }
};

}  // namespace cresset::kernels
