#include "cresset/kernels/conv/conv.h"

#include <algorithm>
#include <cstring>

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/aligned_buffer.h"
#include "cresset/kernels/common/conv_shape.h"
#include "cresset/kernels/common/scratch.h"
#include "cresset/kernels/conv/conv_onednn.h"
#include "cresset/kernels/conv/cpu/conv.h"
#include "cresset/kernels/conv/cpu/conv_few_pixels.h"
#include "cresset/kernels/conv/cpu/conv_volumes.h"
#include "cresset/kernels/conv/cpu/conv_winograd.h"
#include "cresset/kernels/gemm/gemm.h"
#include "cresset/kernels/providers/onednn.h"

namespace cresset::kernels {

namespace {

void check(const char* op, const ConvParams& p) {
  CRESSET_CHECK(p.dims >= 1 && p.dims <= 3, op, ": expected 1 to 3 spatial dimensions, got ", p.dims);
  CRESSET_CHECK(p.groups > 0 && p.in_channels % p.groups == 0 && p.out_channels % p.groups == 0, op, ": channels ", p.in_channels, " and ", p.out_channels,
                " are not divisible by groups ", p.groups);
  for (int d = 0; d < p.dims; d++) {
    CRESSET_CHECK(p.kernel[d] > 0 && p.stride[d] > 0 && p.dilation[d] > 0 && p.padding[d] >= 0, op,
                  ": kernel, stride and dilation must be positive and padding not negative, got ", p.kernel[d], ", ", p.stride[d], ", ", p.dilation[d], ", ",
                  p.padding[d]);
    CRESSET_CHECK(p.input[d] + 2 * p.padding[d] >= p.dilation[d] * (p.kernel[d] - 1) + 1, op, ": the kernel (size ", p.kernel[d], ", dilation ", p.dilation[d],
                  ") is larger than the padded input (", p.input[d] + 2 * p.padding[d], ")");
  }
}

// Calls f(tap, input offset, first, count, step) for every run of unfolded elements [p0, p1) x taps that lies inside the image, and
// zero(tap, first, count) for every run in the padding. Input offsets are relative to the group's first channel.
template <class Run, class Zero> void walk_unfolded(const ConvShape& s, int64_t p0, int64_t p1, Run&& run, Zero&& zero) {
  int64_t tap = 0;
  for (int64_t channel = 0; channel < s.in_per_group; channel++)
    for (int64_t kd = 0; kd < s.kernel[0]; kd++)
      for (int64_t kh = 0; kh < s.kernel[1]; kh++)
        for (int64_t kw = 0; kw < s.kernel[2]; kw++, tap++) {
          const int64_t shift = kw * s.dilation[2] - s.padding[2];
          // Output columns [low, high) read inside the image row.
          const int64_t low = shift >= 0 ? 0 : std::min(s.out[2], (-shift + s.stride[2] - 1) / s.stride[2]);
          const int64_t high = s.in[2] <= shift ? low : std::max(low, std::min(s.out[2], (s.in[2] - shift - 1) / s.stride[2] + 1));
          for (int64_t p = p0; p < p1;) {
            const int64_t w0 = p % s.out[2], row = p / s.out[2];
            const int64_t w1 = std::min(s.out[2], w0 + p1 - p);
            const int64_t d = row / s.out[1] * s.stride[0] - s.padding[0] + kd * s.dilation[0];
            const int64_t h = row % s.out[1] * s.stride[1] - s.padding[1] + kh * s.dilation[1];
            const int64_t at = p - p0 - w0;
            p += w1 - w0;
            if (d < 0 || d >= s.in[0] || h < 0 || h >= s.in[1]) {
              zero(tap, at + w0, w1 - w0);
              continue;
            }
            const int64_t a = std::clamp(low, w0, w1), b = std::clamp(high, a, w1);
            if (a > w0) zero(tap, at + w0, a - w0);
            if (b > a) run(tap, ((channel * s.in[0] + d) * s.in[1] + h) * s.in[2] + a * s.stride[2] + shift, at + a, b - a, s.stride[2]);
            if (w1 > b) zero(tap, at + b, w1 - b);
          }
        }
}

template <class T> void unfold(const ConvShape& s, int64_t p0, int64_t p1, const T* input, T* columns) {
  const int64_t width = p1 - p0;
  walk_unfolded(
      s, p0, p1,
      [&](int64_t tap, int64_t from, int64_t first, int64_t count, int64_t step) {
        T* to = columns + tap * width + first;
        if (step == 1) {
          std::memcpy(to, input + from, count * sizeof(T));
          return;
        }
        for (int64_t i = 0; i < count; i++) to[i] = input[from + i * step];
      },
      [&](int64_t tap, int64_t first, int64_t count) { std::fill_n(columns + tap * width + first, count, T{}); });
}

template <class T> void fold_add(const ConvShape& s, int64_t p0, int64_t p1, const T* columns, T* grad_input) {
  const int64_t width = p1 - p0;
  walk_unfolded(
      s, p0, p1,
      [&](int64_t tap, int64_t to, int64_t first, int64_t count, int64_t step) {
        const T* from = columns + tap * width + first;
        for (int64_t i = 0; i < count; i++) grad_input[to + i * step] += from[i];
      },
      [](int64_t, int64_t, int64_t) {});
}

// Output pixels unfolded at a time, so that the unfolded block stays in the second-level cache.
int64_t block_pixels(const ConvShape& s, size_t size) {
  const int64_t fit = (512 << 10) / static_cast<int64_t>(size) / std::max<int64_t>(s.taps, 1) / 64 * 64;
  return std::min(s.out_pixels, std::max<int64_t>(fit, 64));
}

template <class T> void add_bias(T* x, int64_t channels, int64_t pixels, const T* bias) {
  for (int64_t c = 0; c < channels; c++)
    for (int64_t i = 0; i < pixels; i++) x[c * pixels + i] += bias[c];
}

template <class T> void forward(ScalarType dtype, const ConvShape& s, const T* input, const T* weight, const T* bias, T* output) {
  const int64_t block = block_pixels(s, sizeof(T));
  parallel_for(0, s.batch * s.groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const int64_t group = i % s.groups;
      const T* in = input + i * s.in_per_group * s.in_pixels;
      const T* w = weight + group * s.out_per_group * s.taps;
      T* out = output + i * s.out_per_group * s.out_pixels;
      if (s.pointwise()) {
        gemm(dtype, false, false, s.out_per_group, s.out_pixels, s.taps, 1, w, s.taps, in, s.in_pixels, 0, out, s.out_pixels);
      } else {
        T* columns = thread_scratch<T>(Scratch::conv, s.taps * block);
        for (int64_t p0 = 0; p0 < s.out_pixels; p0 += block) {
          const int64_t p1 = std::min(p0 + block, s.out_pixels);
          unfold(s, p0, p1, in, columns);
          gemm(dtype, false, false, s.out_per_group, p1 - p0, s.taps, 1, w, s.taps, columns, p1 - p0, 0, out + p0, s.out_pixels);
        }
      }
      if (bias) add_bias(out, s.out_per_group, s.out_pixels, bias + group * s.out_per_group);
    }
  });
}

template <class T> void backward_input(ScalarType dtype, const ConvShape& s, const T* grad_output, const T* weight, const T* bias, T* grad_input) {
  const int64_t block = block_pixels(s, sizeof(T));
  parallel_for(0, s.batch * s.groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const int64_t group = i % s.groups;
      const T* grad = grad_output + i * s.out_per_group * s.out_pixels;
      const T* w = weight + group * s.out_per_group * s.taps;
      T* out = grad_input + i * s.in_per_group * s.in_pixels;
      if (s.pointwise()) {
        gemm(dtype, true, false, s.taps, s.out_pixels, s.out_per_group, 1, w, s.taps, grad, s.out_pixels, 0, out, s.in_pixels);
      } else {
        std::fill_n(out, s.in_per_group * s.in_pixels, T{});
        T* columns = thread_scratch<T>(Scratch::conv, s.taps * block);
        for (int64_t p0 = 0; p0 < s.out_pixels; p0 += block) {
          const int64_t p1 = std::min(p0 + block, s.out_pixels);
          gemm(dtype, true, false, s.taps, p1 - p0, s.out_per_group, 1, w, s.taps, grad + p0, s.out_pixels, 0, columns, p1 - p0);
          fold_add(s, p0, p1, columns, out);
        }
      }
      if (bias) add_bias(out, s.in_per_group, s.in_pixels, bias + group * s.in_per_group);
    }
  });
}

template <class T> void backward_weight(ScalarType dtype, const ConvShape& s, const T* input, const T* grad_output, T* grad_weight, T* grad_bias) {
  const int64_t block = block_pixels(s, sizeof(T));
  parallel_for(0, s.groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; group++) {
      T* out = grad_weight + group * s.out_per_group * s.taps;
      int beta = 0;
      for (int64_t item = 0; item < s.batch; item++) {
        const T* in = input + (item * s.groups + group) * s.in_per_group * s.in_pixels;
        const T* grad = grad_output + (item * s.groups + group) * s.out_per_group * s.out_pixels;
        for (int64_t p0 = 0; p0 < s.out_pixels; p0 += block, beta = 1) {
          const int64_t p1 = std::min(p0 + block, s.out_pixels);
          const T* columns = in;
          if (!s.pointwise()) {
            T* unfolded = thread_scratch<T>(Scratch::conv, s.taps * block);
            unfold(s, p0, p1, in, unfolded);
            columns = unfolded - p0;
          }
          const int64_t row = s.pointwise() ? s.in_pixels : p1 - p0;
          gemm(dtype, false, true, s.out_per_group, s.taps, p1 - p0, 1, grad + p0, s.out_pixels, columns + p0, row, beta, out, s.taps);
        }
      }
      if (!grad_bias) continue;
      for (int64_t c = 0; c < s.out_per_group; c++) {
        T total{};
        for (int64_t item = 0; item < s.batch; item++) {
          const T* grad = grad_output + ((item * s.groups + group) * s.out_per_group + c) * s.out_pixels;
          T sum{};
          for (int64_t i = 0; i < s.out_pixels; i++) sum += grad[i];
          total += sum;
        }
        grad_bias[group * s.out_per_group + c] = total;
      }
    }
  });
}

// The vectorised kernels of the floating dtypes; null for the others, which go through the unfolded matrix in memory.
template <class T> struct FloatingKernels { static constexpr bool available = false; };
#define CRESSET_CONV_KERNELS(T, name)                                                  \
  template <> struct FloatingKernels<T> {                                              \
    static constexpr bool available = true;                                            \
    static auto forward() { return call(conv_forward_##name##_stub); }                 \
    static auto backward_input() { return call(conv_backward_input_##name##_stub); }   \
    static auto backward_weight() { return call(conv_backward_weight_##name##_stub); } \
    static auto backward_bias() { return call(conv_backward_bias_##name##_stub); }     \
  };
CRESSET_CONV_KERNELS(float, float)
CRESSET_CONV_KERNELS(double, double)
CRESSET_CONV_KERNELS(Half, half)
CRESSET_CONV_KERNELS(BFloat16, bfloat16)
#undef CRESSET_CONV_KERNELS

// Choice of the path of a convolution. Measured on one thread of Zen 5 (limit 260 GFLOP/s in float32, 483 in bfloat16), in GFLOP/s of the direct sum:
// our direct kernels, oneDNN 2.6 with its reorders, and our Winograd kernels, bench/kernels/conv_bench.cpp:
//                                      forward            to the input       to the weights
//   3x3 64->64   56^2 b1              206 | 232 | 375    203 | 232 | 373    177 | 225 | 341
//   3x3 32->64   26^2 b64             184 | 199 | 345    125 | 199 | 264    150 | 193 | 307
//   3x3 128->128 16^2 b32             204 | 220 | 425    209 | 227 | 413    143 | 205 | 369
//   3x3 256->256 14^2 b1              197 | 199 | 241    161 | 206 | 243    168 | 159 | 351
//   3x3 512->512 7^2 b1               108 | 126 |  62     21 | 116 |  59    136 | 134 | 134   few_pixels: 217 forward
//   1x1 512->2048 7^2 b1                    few_pixels: 226 forward
//   3x3 16->16   32^2 b32               - | 134 | 290      - | 160 | 292      - | 182 | 158
//   3x3 3->64    32^2 b32             145 | 116           27 |  37          100 | 139
//   3x3 1->32    28^2 b64             122 |  80           10 |  12           52 |  77
//   7x7/2 3->64  224^2 b1             178 | 218          152 |  42          164 | 184
//   1x1 64->256  56^2 b1              179 | 199          144 | 197          167 | 159
//   1x1 32->64   32^2 b32             179 |  86          120 | 104          131 |  88
//   depthwise 128 16^2 b32              9 |  52           10 |  46            5 |  56
//   3x3 128->128 28^2 b8, 32 groups    42 |  39           42 |  41           29 |  12
//   depthwise 3x3x3 8 40^3 b1           - |   4            - |   4            - |   2   volumes: 46 forward
//   3x3 64->64   56^2 b1, bfloat16    198 | 400          195 | 401          169 | 329
enum class Path { own, winograd, few_pixels, volumes, onednn };

bool winograd_fits(ConvKind kind, const ConvShape& s) {
  const bool three_by_three = s.kernel[0] == 1 && s.kernel[1] == 3 && s.kernel[2] == 3 && s.in[0] == 1 && s.padding[0] == 0;
  if (!three_by_three || s.groups > 1 || !s.unit_stride() || s.dilation[1] != 1 || s.dilation[2] != 1) return false;
  if (s.padding[1] > 2 || s.padding[2] > 2 || s.in_per_group < 16 || s.out_per_group < 16) return false;
  // The transform of the weights needs images to pay for it.
  return kind == ConvKind::backward_weight ? s.in_per_group * s.out_per_group >= 512 : s.batch * s.out_pixels >= 128;
}

// The weights are read once, where they lie, if the pixels are few.
bool few_pixels_fit(ConvKind kind, const ConvShape& s) {
  return kind == ConvKind::forward && s.groups == 1 && s.out_per_group % kFewPixelsRows == 0 && s.taps >= 64 && s.out_per_group >= 64 &&
         s.batch * s.out_pixels < 128;
}

Path choose_path(ConvKind kind, ScalarType dtype, const ConvShape& s) {
  if (dtype == ScalarType::BFloat16) return Path::onednn;
  if (dtype != ScalarType::Float) return Path::own;
  if (winograd_fits(kind, s)) return Path::winograd;
  if (few_pixels_fit(kind, s)) return Path::few_pixels;
  const auto onednn_if = [](bool better) { return better ? Path::onednn : Path::own; };
  const bool depthwise = s.in_per_group == 1 && s.groups > 1;
  if (s.groups > 1 && s.in[0] > 1 && s.unit_stride() && s.in_per_group <= kVolumeChannels && s.out_per_group <= kVolumeChannels) return Path::volumes;
  if (depthwise) return onednn_if(s.in[0] == 1);
  if (s.groups > 1) return onednn_if(s.in_per_group >= 16 && s.out_per_group >= 16);
  switch (kind) {
    case ConvKind::forward: return onednn_if(s.pointwise() ? s.in_per_group >= 64 : s.taps >= 32);
    case ConvKind::backward_input: return onednn_if(s.pointwise() ? s.in_per_group >= 64 : s.in_per_group >= 16 || s.unit_stride());
    case ConvKind::backward_weight: return onednn_if(!s.pointwise() && s.weight_count() <= 4 * (s.input_count() + s.output_count()));
  }
  return Path::own;
}

// out[item][channel][pixel] = bias[channel], or 0: what is left of a convolution without products.
template <class T> void fill_channels(T* out, int64_t batch, int64_t channels, int64_t pixels, const T* bias) {
  for (int64_t i = 0; i < batch * channels; i++) std::fill_n(out + i * pixels, pixels, bias ? bias[i % channels] : T{});
}

// Calls f with a null pointer of the element type: signed and unsigned integers share one, modulo 2^w.
template <class F> void with_element_type(const char* op, ScalarType dtype, F&& f) {
  switch (dtype) {
    case ScalarType::Byte:
    case ScalarType::Char: return f(static_cast<uint8_t*>(nullptr));
    case ScalarType::Short:
    case ScalarType::UInt16: return f(static_cast<uint16_t*>(nullptr));
    case ScalarType::Int:
    case ScalarType::UInt32: return f(static_cast<uint32_t*>(nullptr));
    case ScalarType::Long:
    case ScalarType::UInt64: return f(static_cast<uint64_t*>(nullptr));
    case ScalarType::Half: return f(static_cast<Half*>(nullptr));
    case ScalarType::BFloat16: return f(static_cast<BFloat16*>(nullptr));
    case ScalarType::Float: return f(static_cast<float*>(nullptr));
    case ScalarType::Double: return f(static_cast<double*>(nullptr));
    case ScalarType::ComplexFloat: return f(static_cast<complex<float>*>(nullptr));
    case ScalarType::ComplexDouble: return f(static_cast<complex<double>*>(nullptr));
    default: CRESSET_CHECK_NOT_IMPLEMENTED(false, op, ": no convolution for dtype ", dtype);
  }
}

}  // namespace

void conv_forward(ScalarType dtype, const ConvParams& params, const void* input, const void* weight, const void* bias, void* output) {
  check("conv_forward", params);
  const ConvShape s(params);
  with_element_type("conv_forward", dtype, [&]<class T>(T*) {
    const T *x = static_cast<const T*>(input), *w = static_cast<const T*>(weight), *b = static_cast<const T*>(bias);
    T* y = static_cast<T*>(output);
    if (s.output_count() == 0) return;
    if (s.taps == 0) return fill_channels(y, s.batch, params.out_channels, s.out_pixels, b);
    const Path path = choose_path(ConvKind::forward, dtype, s);
    if constexpr (std::is_same_v<T, float>) {
      if (path == Path::winograd) return call(conv_winograd_forward_stub)(s, x, w, false, b, y);
      if (path == Path::few_pixels) return call(conv_forward_few_pixels_stub)(s, x, w, b, y);
      if (path == Path::volumes) return call(conv_volumes_forward_stub)(s, x, w, false, b, y);
    }
    if (path == Path::onednn && onednn_conv_forward(dtype, params, x, w, b, y)) return;
    if constexpr (FloatingKernels<T>::available) FloatingKernels<T>::forward()(s, x, w, b, y);
    else forward(dtype, s, x, w, b, y);
  });
}

ConvPacking conv_packing(ScalarType dtype, const ConvParams& params, bool bias) {
  const ConvShape s(params);
  if (s.output_count() == 0 || s.taps == 0) return {};
  constexpr int64_t kSize = sizeof(float);
  switch (choose_path(ConvKind::forward, dtype, s)) {
    case Path::winograd: return {winograd_weights_count(s), true};
    case Path::onednn: return {(onednn_conv_packed_bytes(dtype, params, bias) + kSize - 1) / kSize, false};
    default: return {};
  }
}
void conv_pack(const ConvParams& params, bool bias, const float* weight, float* packed) {
  const ConvShape s(params);
  if (choose_path(ConvKind::forward, ScalarType::Float, s) == Path::winograd) call(conv_winograd_weights_stub)(s, weight, false, packed);
  else onednn_conv_pack(ScalarType::Float, params, bias, weight, packed);
}
void conv_forward_packed(const ConvParams& params, const float* input, const float* packed, const float* bias, float* output) {
  check("conv_forward_packed", params);
  const ConvShape s(params);
  if (choose_path(ConvKind::forward, ScalarType::Float, s) == Path::winograd) call(conv_winograd_forward_packed_stub)(s, input, packed, bias, output);
  else onednn_conv_forward_packed(ScalarType::Float, params, input, packed, bias, output);
}

void conv_backward_input(ScalarType dtype, const ConvParams& params, const void* grad_output, const void* weight, const void* bias, void* grad_input) {
  check("conv_backward_input", params);
  const ConvShape s(params);
  with_element_type("conv_backward_input", dtype, [&]<class T>(T*) {
    const T *g = static_cast<const T*>(grad_output), *w = static_cast<const T*>(weight), *b = static_cast<const T*>(bias);
    T* x = static_cast<T*>(grad_input);
    if (s.input_count() == 0) return;
    if (s.out_per_group == 0) return fill_channels(x, s.batch, params.in_channels, s.in_pixels, b);
    const Path path = choose_path(ConvKind::backward_input, dtype, s);
    if constexpr (std::is_same_v<T, float>) {
      if (path == Path::winograd) return call(conv_winograd_forward_stub)(s.transposed(), g, w, true, b, x);
      if (path == Path::volumes) return call(conv_volumes_forward_stub)(s.transposed(), g, w, true, b, x);
    }
    if (!b && path == Path::onednn && onednn_conv_backward_input(dtype, params, g, w, x)) return;
    if constexpr (FloatingKernels<T>::available) FloatingKernels<T>::backward_input()(s, g, w, b, x);
    else backward_input(dtype, s, g, w, b, x);
  });
}

void conv_backward_weight(ScalarType dtype, const ConvParams& params, const void* input, const void* grad_output, void* grad_weight, void* grad_bias) {
  check("conv_backward_weight", params);
  const ConvShape s(params);
  with_element_type("conv_backward_weight", dtype, [&]<class T>(T*) {
    const T *x = static_cast<const T*>(input), *g = static_cast<const T*>(grad_output);
    T *w = static_cast<T*>(grad_weight), *b = static_cast<T*>(grad_bias);
    if (s.batch == 0) {
      std::fill_n(w, s.weight_count(), T{});
      if (b) std::fill_n(b, params.out_channels, T{});
      return;
    }
    const Path path = choose_path(ConvKind::backward_weight, dtype, s);
    if (s.weight_count() > 0 && path == Path::onednn && onednn_conv_backward_weight(dtype, params, x, g, w, b)) return;
    if constexpr (std::is_same_v<T, float>)
      if (path == Path::winograd || path == Path::volumes) {
        if (path == Path::winograd) call(conv_winograd_backward_weight_stub)(s, x, g, w);
        else call(conv_volumes_backward_weight_stub)(s, x, g, w);
        if (b) call(conv_backward_bias_float_stub)(s, g, b);
        return;
      }
    if constexpr (FloatingKernels<T>::available) {
      if (s.weight_count() > 0) FloatingKernels<T>::backward_weight()(s, x, g, w);
      if (b) FloatingKernels<T>::backward_bias()(s, g, b);
    } else {
      backward_weight(dtype, s, x, g, w, b);
    }
  });
}

}  // namespace cresset::kernels
