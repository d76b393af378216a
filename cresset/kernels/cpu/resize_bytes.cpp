#include <algorithm>
#include <vector>

#include "cresset/kernels/cpu/resize_rows.h"

namespace cresset::kernels::CRESSET_ISA {

namespace {

uint8_t narrow(int32_t sum, int shift) { return static_cast<uint8_t>(std::clamp(sum >> shift, 0, 255)); }

}  // namespace

void resize_planes_bytes(uint8_t* out, const uint8_t* in, int64_t planes, const ResizeAxis<int32_t>* axes, const int* shifts) {
  const ResizeAxis<int32_t>&y = axes[0], &x = axes[1];
  const bool wide = x.taps > 0, tall = y.taps > 0;
  const int64_t row = wide ? x.out : x.in, rows = tall ? y.out : y.in;
  std::vector<uint8_t> lines(static_cast<size_t>(wide && tall ? y.in * row : 0));
  std::vector<int32_t> sums(static_cast<size_t>(row));
  for (int64_t p = 0; p < planes; p++, in += y.in * x.in, out += rows * row) {
    const uint8_t* from = in;
    if (wide) {
      uint8_t* to = tall ? lines.data() : out;
      for (int64_t l = 0; l < y.in; l++)
        for (int64_t o = 0; o < row; o++) {
          int32_t sum = 1 << (shifts[1] - 1);
          for (int64_t k = o * x.taps; k < (o + 1) * x.taps; k++) sum += x.weight[k] * in[l * x.in + x.index[k]];
          to[l * row + o] = narrow(sum, shifts[1]);
        }
      from = to;
    }
    if (!tall) {
      if (!wide) std::copy_n(in, rows * row, out);
      continue;
    }
    for (int64_t o = 0; o < rows; o++) {
      std::fill(sums.begin(), sums.end(), 1 << (shifts[0] - 1));
      for (int64_t k = o * y.taps; k < (o + 1) * y.taps; k++) {
        const int32_t weight = y.weight[k];
        if (weight == 0) continue;
        const uint8_t* line = from + y.index[k] * row;
        for (int64_t i = 0; i < row; i++) sums[static_cast<size_t>(i)] += weight * line[i];
      }
      for (int64_t i = 0; i < row; i++) out[o * row + i] = narrow(sums[static_cast<size_t>(i)], shifts[0]);
    }
  }
}

}  // namespace cresset::kernels::CRESSET_ISA
