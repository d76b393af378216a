// Resizing of 1-d, 2-d and 3-d planes by nearest neighbour, and by linear, cubic and Lanczos interpolation.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/dense.h"
#include "cresset/kernels/layout/layout.h"
#include "cresset/kernels/pool/cpu/resize_rows.h"

namespace cresset::kernels {

namespace {

constexpr double kCubic = -0.75, kCubicAntialias = -0.5;

// Keys' cubic convolution kernel (IEEE ASSP 29(6), 1981).
template <class A> A cubic(A x, A a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

// Lanczos' window of three lobes (Duchon, Journal of Applied Meteorology 18, 1979).
template <class A> A lanczos(A x) {
  if (x == 0) return 1;
  if (std::fabs(x) >= 3) return 0;
  const A angle = static_cast<A>(3.14159265358979323846) * x;
  return 3 * std::sin(angle) * std::sin(angle / 3) / (angle * angle);
}

// Input places per output place.
template <class A> A scale_of(int64_t in, int64_t out, bool align_corners, double given) {
  if (align_corners) return out > 1 ? static_cast<A>(in - 1) / static_cast<A>(out - 1) : A(0);
  return given > 0 ? static_cast<A>(1.0 / given) : static_cast<A>(in) / static_cast<A>(out);
}

template <class A> struct Axis {
  std::vector<int64_t> index;
  std::vector<A> weight;
  int64_t in = 1, out = 1, taps = 1;
  ResizeAxis<A> view() const { return {in, out, taps, index.data(), weight.data()}; }
  void put(int64_t o, int64_t k, int64_t i, A w) {
    index[static_cast<size_t>(o * taps + k)] = i;
    weight[static_cast<size_t>(o * taps + k)] = w;
  }
};

template <class A> Axis<A> make_axis(int64_t in, int64_t out, int64_t taps) {
  Axis<A> axis;
  axis.in = in;
  axis.out = out;
  axis.taps = taps;
  axis.index.assign(static_cast<size_t>(out * taps), 0);
  axis.weight.assign(static_cast<size_t>(out * taps), A(0));
  return axis;
}

template <class A> Axis<A> linear_axis(int64_t in, int64_t out, A scale, bool align_corners) {
  Axis<A> axis = make_axis<A>(in, out, 2);
  for (int64_t o = 0; o < out; o++) {
    const A half_pixel = std::max(scale * (static_cast<A>(o) + A(0.5)) - A(0.5), A(0));
    // An axis that keeps its size is copied, whatever scale was given.
    const A at = in == out ? static_cast<A>(o) : align_corners ? scale * static_cast<A>(o) : half_pixel;
    const int64_t low = std::min(static_cast<int64_t>(at), in - 1);
    const A fraction = std::clamp(at - static_cast<A>(low), A(0), A(1));
    axis.put(o, 0, low, 1 - fraction);
    axis.put(o, 1, std::min(low + 1, in - 1), fraction);
  }
  return axis;
}

template <class A> Axis<A> cubic_axis(int64_t in, int64_t out, A scale, bool align_corners) {
  Axis<A> axis = make_axis<A>(in, out, 4);
  for (int64_t o = 0; o < out; o++) {
    const A at = align_corners ? scale * static_cast<A>(o) : scale * (static_cast<A>(o) + A(0.5)) - A(0.5);
    const A floor = std::floor(at), t = at - floor;
    for (int64_t k = 0; k < 4; k++)
      axis.put(o, k, std::clamp<int64_t>(static_cast<int64_t>(floor) - 1 + k, 0, in - 1), cubic(t + 1 - static_cast<A>(k), static_cast<A>(kCubic)));
  }
  return axis;
}

// The kernel is stretched over the input places that fall into one output place, and its weights are normalised.
template <class A> Axis<A> antialias_axis(int64_t in, int64_t out, A scale, ResizeMode mode) {
  if (in == out) scale = 1;  // copied, whatever scale was given
  const A stretch = std::max(scale, A(1)), radius = mode == ResizeMode::lanczos ? 3 : mode == ResizeMode::cubic ? 2 : 1, support = radius * stretch;
  Axis<A> axis = make_axis<A>(in, out, std::min<int64_t>(static_cast<int64_t>(std::ceil(support)) * 2 + 1, in));
  for (int64_t o = 0; o < out; o++) {
    // The half-pixel rule, with aligned corners too.
    const A centre = scale * (static_cast<A>(o) + A(0.5));
    const int64_t begin = std::max<int64_t>(static_cast<int64_t>(centre - support + A(0.5)), 0);
    const int64_t count = std::min<int64_t>(std::min<int64_t>(static_cast<int64_t>(centre + support + A(0.5)), in) - begin, axis.taps);
    A total = 0;
    const auto weight_of = [&](int64_t k) {
      const A x = (static_cast<A>(begin + k) - centre + A(0.5)) / stretch;
      if (mode == ResizeMode::lanczos) return lanczos(x);
      return mode == ResizeMode::cubic ? cubic(x, static_cast<A>(kCubicAntialias)) : std::max(A(1) - std::fabs(x), A(0));
    };
    for (int64_t k = 0; k < count; k++) total += weight_of(k);
    for (int64_t k = 0; k < axis.taps; k++) axis.put(o, k, std::min(begin + k, in - 1), k < count && total != 0 ? weight_of(k) / total : A(0));
  }
  return axis;
}

template <class A> Axis<A> axis_of(int64_t in, int64_t out, const ResizeOptions& options, int d) {
  const A scale = scale_of<A>(in, out, options.align_corners, options.scales[d]);
  if (options.antialias || options.mode == ResizeMode::lanczos) return antialias_axis<A>(in, out, scale, options.mode);
  return options.mode == ResizeMode::cubic ? cubic_axis<A>(in, out, scale, options.align_corners) : linear_axis<A>(in, out, scale, options.align_corners);
}

std::vector<int64_t> nearest_index(int64_t in, int64_t out, const ResizeOptions& options, int d, bool is_image) {
  const float scale = scale_of<float>(in, out, false, options.scales[d]);
  const float shift = options.mode == ResizeMode::nearest_exact ? 0.5f : 0.0f;
  std::vector<int64_t> index(static_cast<size_t>(out));
  // For images, plain nearest mode ignores the given scale where a size stays or doubles.
  const bool plain = options.mode == ResizeMode::nearest && is_image;
  for (int64_t o = 0; o < out; o++) {
    const int64_t scaled = std::min(static_cast<int64_t>(std::floor((static_cast<float>(o) + shift) * scale)), in - 1);
    index[static_cast<size_t>(o)] = plain && out == in ? o : plain && out == 2 * in ? o / 2 : scaled;
  }
  return index;
}

// Sizes of the three spatial axes, missing ones being 1 and in front.
struct Shape3 {
  int64_t planes, in[3], out[3];
  int first;  // axis of the first spatial dimension
  int64_t in_plane() const { return in[0] * in[1] * in[2]; }
  int64_t out_plane() const { return out[0] * out[1] * out[2]; }
};

Shape3 shape_of(const char* op, const Strided& in, const Strided& out) {
  CRESSET_CHECK(in.dim() >= 3 && in.dim() <= 5 && out.dim() == in.dim() && in.sizes[0] == out.sizes[0] && in.sizes[1] == out.sizes[1], op,
                ": expected (N, C) and 1 to 3 spatial dimensions, got input ", in.sizes, " and output ", out.sizes);
  Shape3 s{in.sizes[0] * in.sizes[1], {1, 1, 1}, {1, 1, 1}, static_cast<int>(5 - in.dim())};
  for (int d = s.first; d < 3; d++) {
    s.in[d] = in.sizes[static_cast<size_t>(d - s.first + 2)];
    s.out[d] = out.sizes[static_cast<size_t>(d - s.first + 2)];
    CRESSET_CHECK(s.in[d] > 0 && s.out[d] > 0, op, ": input and output sizes should be greater than 0, got ", in.sizes, " and ", out.sizes);
  }
  return s;
}

template <class F> void for_planes(const Shape3& s, F f) {
  const int64_t work = std::max(s.in_plane(), s.out_plane());
  parallel_for(0, s.planes, 1 + 32768 / work, f);
}

struct NearestAxes {
  std::vector<int64_t> z, y, x;
  NearestAxes(const Shape3& s, const ResizeOptions& options) {
    std::vector<int64_t>* axes[3] = {&z, &y, &x};
    for (int d = 0; d < 3; d++) *axes[d] = d < s.first ? std::vector<int64_t>{0} : nearest_index(s.in[d], s.out[d], options, d - s.first, s.first == 1);
  }
};

template <class T> void nearest_forward(T* out, const T* in, const Shape3& s, const NearestAxes& at) {
  for_planes(s, [&](int64_t begin, int64_t end) {
    T* to = out + begin * s.out_plane();
    for (int64_t p = begin; p < end; p++)
      for (int64_t z : at.z) {
        const T* previous = nullptr;
        for (int64_t y : at.y) {
          const T* from = in + p * s.in_plane() + (z * s.in[1] + y) * s.in[2];
          if (from == previous) std::memcpy(static_cast<void*>(to), to - s.out[2], static_cast<size_t>(s.out[2]) * sizeof(T));
          else
            for (int64_t o = 0; o < s.out[2]; o++) to[o] = from[at.x[static_cast<size_t>(o)]];
          previous = from;
          to += s.out[2];
        }
      }
  });
}

template <class A, class T> void nearest_backward(A* grad_in, const T* grad, const Shape3& s, const NearestAxes& at) {
  for_planes(s, [&](int64_t begin, int64_t end) {
    std::fill_n(grad_in + begin * s.in_plane(), (end - begin) * s.in_plane(), A(0));
    const T* from = grad + begin * s.out_plane();
    for (int64_t p = begin; p < end; p++)
      for (int64_t z : at.z)
        for (int64_t y : at.y) {
          A* to = grad_in + p * s.in_plane() + (z * s.in[1] + y) * s.in[2];
          for (int64_t o = 0; o < s.out[2]; o++) to[at.x[static_cast<size_t>(o)]] += static_cast<A>(from[o]);
          from += s.out[2];
        }
  });
}

template <class A> struct WeightedAxes {
  Axis<A> axes[3];
  ResizeAxis<A> views[3];
  WeightedAxes(const Shape3& s, const ResizeOptions& options) {
    for (int d = 0; d < 3; d++) {
      if (d < s.first) {
        axes[d] = make_axis<A>(1, 1, 1);
        axes[d].put(0, 0, 0, A(1));
      } else {
        axes[d] = axis_of<A>(s.in[d], s.out[d], options, d - s.first);
      }
      views[d] = axes[d].view();
    }
  }
};

// Weights of a uint8 image in fixed point, of as many bits as fit into 16 with the sign.
struct ByteAxis {
  Axis<int32_t> axis;
  int shift = 0;
  ByteAxis(int64_t in, int64_t out, const ResizeOptions& options, int d) {
    axis.in = in;
    axis.out = out;
    axis.taps = 0;
    if (in == out) return;
    Axis<double> exact = axis_of<double>(in, out, options, d);
    const int64_t taps = exact.taps;
    // Places beyond the edge add to the edge's weight before it is rounded.
    if (options.mode == ResizeMode::cubic && !options.antialias)
      for (int64_t at = 0; at < out * taps; at++)
        for (int64_t first = at / taps * taps; first < at; first++)
          if (exact.index[static_cast<size_t>(first)] == exact.index[static_cast<size_t>(at)]) {
            exact.weight[static_cast<size_t>(first)] += std::exchange(exact.weight[static_cast<size_t>(at)], 0.0);
            break;
          }
    const double most = *std::max_element(exact.weight.begin(), exact.weight.end());
    while (shift < 22 && static_cast<int64_t>(0.5 + most * static_cast<double>(int64_t{1} << (shift + 1))) < (1 << 15)) shift++;
    axis = make_axis<int32_t>(in, out, taps);
    axis.index = exact.index;
    for (size_t i = 0; i < exact.weight.size(); i++) {
      const double w = exact.weight[i] * static_cast<double>(int64_t{1} << shift);
      axis.weight[i] = static_cast<int32_t>(w < 0 ? w - 0.5 : w + 0.5);
    }
  }
};

void resize_bytes(uint8_t* out, const uint8_t* in, const Shape3& s, int channels, const ResizeOptions& options) {
  const ByteAxis y(s.in[1], s.out[1], options, 0), x(s.in[2], s.out[2], options, 1);
  const ResizeAxis<int32_t> axes[] = {y.axis.view(), x.axis.view()};
  const int shifts[] = {y.shift, x.shift};
  const int64_t work = std::max(s.in_plane(), s.out_plane()) * channels;
  parallel_for(0, s.planes / channels, 1 + 32768 / work, [&](int64_t begin, int64_t end) {
    call(resize_planes_bytes_stub)(out + begin * s.out_plane() * channels, in + begin * s.in_plane() * channels, end - begin, channels, axes, shifts);
  });
}

// Images (N, C, H, W) whose pixels lie together.
bool is_channels_last(const Strided& a) {
  const int64_t c = a.sizes[1], expected[] = {a.sizes[2] * a.sizes[3] * c, 1, a.sizes[3] * c, c};
  for (size_t d = 0; d < 4; d++)
    if (a.sizes[d] != 1 && a.strides[d] != expected[d]) return false;
  return true;
}

bool is_nearest(const ResizeOptions& options) { return options.mode == ResizeMode::nearest || options.mode == ResizeMode::nearest_exact; }

}  // namespace

void resize(const Strided& out, const Strided& self, const ResizeOptions& options) {
  const Shape3 s = shape_of("interpolate", self, out);
  if (s.planes == 0) return;
  const bool is_bytes = self.dtype == ScalarType::Byte && s.first == 1 && !is_nearest(options);
  if (is_bytes && (self.sizes[1] == 3 || self.sizes[1] == 4) && is_channels_last(self) && is_channels_last(out))
    return resize_bytes(static_cast<uint8_t*>(out.data), static_cast<const uint8_t*>(self.data), s, static_cast<int>(self.sizes[1]), options);
  const DenseInput in(self);
  const DenseOutput to(out);
  const int64_t in_bytes = s.in_plane() * self.item(), out_bytes = s.out_plane() * self.item();
  const auto run = [&](auto kernel, const auto* axes) {
    for_planes(s,
               [&](int64_t begin, int64_t end) { kernel(self.dtype, to.as<char>() + begin * out_bytes, in.as<char>() + begin * in_bytes, end - begin, axes); });
  };
  if (is_nearest(options)) {
    const NearestAxes axes(s, options);
    visit_size(self.dtype, [&](auto tag) { nearest_forward(to.as<decltype(tag)>(), in.as<decltype(tag)>(), s, axes); });
  } else if (is_bytes) {
    resize_bytes(to.as<uint8_t>(), in.as<uint8_t>(), s, 1, options);
  } else {
    CRESSET_CHECK_NOT_IMPLEMENTED(is_floating_type(self.dtype) || self.dtype == ScalarType::Byte, "interpolate: not implemented for ", self.dtype);
    if (self.dtype == ScalarType::Double) run(call(resize_planes_double_stub), WeightedAxes<double>(s, options).views);
    else run(call(resize_planes_float_stub), WeightedAxes<float>(s, options).views);
  }
  to.finish();
}

void resize_backward(const Strided& grad_input, const Strided& grad, const ResizeOptions& options) {
  const Shape3 s = shape_of("interpolate_backward", grad_input, grad);
  CRESSET_CHECK_NOT_IMPLEMENTED(is_floating_type(grad.dtype), "interpolate_backward: not implemented for ", grad.dtype);
  if (s.planes == 0) return;
  const DenseInput from(grad);
  const DenseOutput to(grad_input);
  const bool is_low = element_size(grad.dtype) == 2;
  std::vector<float> wide(is_low ? static_cast<size_t>(grad_input.numel()) : 0);
  char* sums = is_low ? reinterpret_cast<char*>(wide.data()) : to.as<char>();
  const int64_t in_bytes = s.in_plane() * (is_low ? 4 : grad.item()), out_bytes = s.out_plane() * grad.item();
  const auto run = [&](auto kernel, const auto* axes) {
    for_planes(s, [&](int64_t begin, int64_t end) { kernel(grad.dtype, sums + begin * in_bytes, from.as<char>() + begin * out_bytes, end - begin, axes); });
  };
  const auto narrow_sums = [&](auto tag) {
    using T = decltype(tag);
    for (size_t i = 0; i < wide.size(); i++) to.as<T>()[i] = T(wide[i]);
  };
  if (is_nearest(options)) {
    const NearestAxes axes(s, options);
    if (grad.dtype == ScalarType::Double) nearest_backward(to.as<double>(), from.as<double>(), s, axes);
    else if (grad.dtype == ScalarType::Float) nearest_backward(to.as<float>(), from.as<float>(), s, axes);
    else if (grad.dtype == ScalarType::Half) nearest_backward(wide.data(), from.as<Half>(), s, axes);
    else nearest_backward(wide.data(), from.as<BFloat16>(), s, axes);
  } else if (grad.dtype == ScalarType::Double) {
    run(call(resize_planes_backward_double_stub), WeightedAxes<double>(s, options).views);
  } else {
    run(call(resize_planes_backward_float_stub), WeightedAxes<float>(s, options).views);
  }
  if (grad.dtype == ScalarType::Half) narrow_sums(Half{});
  else if (grad.dtype == ScalarType::BFloat16) narrow_sums(BFloat16{});
  to.finish();
}

}  // namespace cresset::kernels
