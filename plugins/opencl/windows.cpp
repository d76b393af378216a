// Convolutions and pools, of one to three dimensions: an item for each result, which goes through its window.

#include <algorithm>

#include "call.h"

namespace opencl {

namespace {

// A convolution of three dimensions; missing ones have size 1. Planes of `in` and `out` belong to the side that is read and the one that is written.
struct Shape {
  int64_t n, in_planes, out_planes, groups;
  int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
};
const char* const kShape = R"cl(
typedef struct { long n, in_planes, out_planes, groups; long in[3], out[3], kernel_[3], stride[3], padding[3], dilation[3]; } Shape;
)cl";

// The sums over windows: `straight` reads where the window lies, otherwise from the places whose windows reach this one.
const char* const kConvolution = R"cl(
kernel void run(ulong count, Shape s, int has_bias, global const T* x, global const T* w, global const T* bias, global T* out) {
  const ulong item = get_global_id(0);
  if (item >= count) return;
  ulong rest = item;
  long at[3];
  for (int d = 2; d >= 0; d--) { at[d] = rest % s.out[d]; rest /= s.out[d]; }
  const long plane = rest % s.out_planes, n = rest / s.out_planes;
  const long reads = s.in_planes / s.groups, writes = s.out_planes / s.groups, group = plane / writes;
  const long area = s.in[0] * s.in[1] * s.in[2], taps = s.kernel_[0] * s.kernel_[1] * s.kernel_[2];
  float sum = 0;
  for (long a = 0; a < s.kernel_[0]; a++)
    for (long b = 0; b < s.kernel_[1]; b++)
      for (long c = 0; c < s.kernel_[2]; c++) {
        const long tap[3] = {a, b, c};
        long place[3];
        bool inside = true;
        for (int d = 0; d < 3; d++) {
#ifdef STRAIGHT
          place[d] = at[d] * s.stride[d] - s.padding[d] + tap[d] * s.dilation[d];
#else
          const long reached = at[d] + s.padding[d] - tap[d] * s.dilation[d];
          inside = inside && reached >= 0 && reached % s.stride[d] == 0;
          place[d] = reached / s.stride[d];
#endif
          inside = inside && place[d] >= 0 && place[d] < s.in[d];
        }
        if (!inside) continue;
        const long from = (place[0] * s.in[1] + place[1]) * s.in[2] + place[2], k = (a * s.kernel_[1] + b) * s.kernel_[2] + c;
        for (long p = 0; p < reads; p++) {
          const long source = group * reads + p;
#ifdef STRAIGHT
          const long weight = (plane * reads + p) * taps + k;
#else
          const long weight = (source * writes + plane % writes) * taps + k;
#endif
          sum = fma(LOAD(x, (n * s.in_planes + source) * area + from), LOAD(w, weight), sum);
        }
      }
  if (has_bias) sum += LOAD(bias, plane);
  STORE(out, item, sum);
}
)cl";
// The gradient of weights: for each of them the sum over all windows of what it was multiplied by. `x` lies under windows, `y` has an element for each.
const char* const kWeights = R"cl(
kernel __attribute__((reqd_work_group_size(64, 1, 1))) void run(Shape s, global const T* x, global const T* y, global T* out) {
  const long item = get_group_id(0);
  const int lane = get_local_id(0);
  const long taps = s.kernel_[0] * s.kernel_[1] * s.kernel_[2], reads = s.in_planes / s.groups, writes = s.out_planes / s.groups;
  long k = item % taps;
  const long p = item / taps % reads, plane = item / taps / reads, source = plane / writes * reads + p;
  const long tap[3] = {k / (s.kernel_[1] * s.kernel_[2]), k / s.kernel_[2] % s.kernel_[1], k % s.kernel_[2]};
  const long area = s.in[0] * s.in[1] * s.in[2], windows = s.out[0] * s.out[1] * s.out[2];
  local float sums[64];
  float sum = 0;
  for (long i = lane; i < s.n * windows; i += 64) {
    const long n = i / windows, w = i % windows;
    const long at[3] = {w / (s.out[1] * s.out[2]), w / s.out[2] % s.out[1], w % s.out[2]};
    long place[3];
    bool inside = true;
    for (int d = 0; d < 3; d++) {
      place[d] = at[d] * s.stride[d] - s.padding[d] + tap[d] * s.dilation[d];
      inside = inside && place[d] >= 0 && place[d] < s.in[d];
    }
    if (inside) sum = fma(LOAD(x, (n * s.in_planes + source) * area + (place[0] * s.in[1] + place[1]) * s.in[2] + place[2]), LOAD(y, (n * s.out_planes + plane) * windows + w), sum);
  }
  sums[lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int m = 32; m > 0; m /= 2) {
    if (lane < m) sums[lane] += sums[lane + m];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0) STORE(out, item, sums[0]);
}
)cl";

// As products, in float: the elements under each window in a row of a matrix, whose columns are (plane, tap) and rows (n, window), and back.
const char* const kWindowColumns = R"cl(
kernel void run(ulong count, Shape s, global const float* x, global float* out) {
  const ulong item = get_global_id(0);
  if (item >= count) return;
  const long windows = s.out[0] * s.out[1] * s.out[2], area = s.in[0] * s.in[1] * s.in[2], taps = s.kernel_[0] * s.kernel_[1] * s.kernel_[2];
#ifdef ACROSS
  const long n = item / (s.in_planes * taps), row = item % (s.in_planes * taps), p = row / taps, k = row % taps;
  const long a = k / (s.kernel_[1] * s.kernel_[2]), b = k / s.kernel_[2] % s.kernel_[1], c = k % s.kernel_[2];
  global const float* from = x + (n * s.in_planes + p) * area;
  global float* to = out + item * windows;
  for (long i = 0; i < s.out[0]; i++)
    for (long j = 0; j < s.out[1]; j++) {
      const long y = i * s.stride[0] - s.padding[0] + a * s.dilation[0], z = j * s.stride[1] - s.padding[1] + b * s.dilation[1];
      const bool inside = y >= 0 && y < s.in[0] && z >= 0 && z < s.in[1];
      const long base = (y * s.in[1] + z) * s.in[2], start = c * s.dilation[2] - s.padding[2];
      for (long w = 0; w < s.out[2]; w++) {
        const long place = w * s.stride[2] + start;
        to[(i * s.out[1] + j) * s.out[2] + w] = inside && place >= 0 && place < s.in[2] ? from[base + place] : 0;
      }
    }
#else
  const long n = item / windows, window = item % windows;
  const long i = window / (s.out[1] * s.out[2]), j = window / s.out[2] % s.out[1], w = window % s.out[2];
  global float* to = out + item * s.in_planes * taps;
  for (long p = 0; p < s.in_planes; p++) {
    global const float* from = x + (n * s.in_planes + p) * area;
    for (long a = 0; a < s.kernel_[0]; a++)
      for (long b = 0; b < s.kernel_[1]; b++)
        for (long c = 0; c < s.kernel_[2]; c++) {
          const long y = i * s.stride[0] - s.padding[0] + a * s.dilation[0], z = j * s.stride[1] - s.padding[1] + b * s.dilation[1];
          const long q = w * s.stride[2] - s.padding[2] + c * s.dilation[2];
          const bool inside = y >= 0 && y < s.in[0] && z >= 0 && z < s.in[1] && q >= 0 && q < s.in[2];
          *to++ = inside ? from[(y * s.in[1] + z) * s.in[2] + q] : 0;
        }
  }
#endif
}
)cl";
// The sum of what windows hold of each place: an item for a row of `in`. Columns are (plane, tap) by window here.
const char* const kFromColumns = R"cl(
kernel void run(ulong count, Shape s, int has_bias, global const float* columns, global const float* bias, global float* out) {
  const ulong item = get_global_id(0);
  if (item >= count) return;
  const long windows = s.out[0] * s.out[1] * s.out[2], taps = s.kernel_[0] * s.kernel_[1] * s.kernel_[2];
  const long z = item % s.in[1], y = item / s.in[1] % s.in[0], plane = item / (s.in[1] * s.in[0]);
  global float* to = out + item * s.in[2];
  const float start = has_bias ? bias[plane % s.in_planes] : 0;
  for (long q = 0; q < s.in[2]; q++) to[q] = start;
  for (long a = 0; a < s.kernel_[0]; a++) {
    const long i = y + s.padding[0] - a * s.dilation[0];
    if (i < 0 || i % s.stride[0] || i / s.stride[0] >= s.out[0]) continue;
    for (long b = 0; b < s.kernel_[1]; b++) {
      const long j = z + s.padding[1] - b * s.dilation[1];
      if (j < 0 || j % s.stride[1] || j / s.stride[1] >= s.out[1]) continue;
      for (long c = 0; c < s.kernel_[2]; c++) {
        const long k = (a * s.kernel_[1] + b) * s.kernel_[2] + c, first = c * s.dilation[2] - s.padding[2];
        global const float* from = columns + (plane * taps + k) * windows + (i / s.stride[0] * s.out[1] + j / s.stride[1]) * s.out[2];
        for (long w = 0; w < s.out[2]; w++) {
          const long q = w * s.stride[2] + first;
          if (q >= 0 && q < s.in[2]) to[q] += from[w];
        }
      }
    }
  }
}
)cl";

// Whether a convolution is made of products: in float.
bool by_products(const Tensor& t) { return t.scalar_type() == ScalarType::Float; }
int64_t count_of(const int64_t (&sizes)[3]) { return sizes[0] * sizes[1] * sizes[2]; }
// Samples that are computed at once, so that their columns take some megabytes.
int64_t samples_at_once(const Shape& s) {
  const int64_t each = s.in_planes * count_of(s.kernel) * count_of(s.out);
  return std::clamp<int64_t>((int64_t{4} << 20) / std::max<int64_t>(each, 1), 1, s.n);
}
Tensor columns_of(const Tensor& x, const Shape& whole, bool across) {
  Shape s = whole;
  s.n = x.size(0);
  const int64_t width = s.in_planes * count_of(s.kernel), windows = count_of(s.out);
  const Tensor out = cresset::empty(across ? std::vector<int64_t>{s.n, width, windows} : std::vector<int64_t>{1, s.n * windows, width}, x.options());
  const size_t items = static_cast<size_t>(across ? s.n * width : s.n * windows);
  Launch(x.device().index(), std::string(across ? "#define ACROSS\n" : "") + kShape + kWindowColumns)
      .value<uint64_t>(items)
      .value(s)
      .pointer(x.data_ptr())
      .pointer(out.data_ptr())
      .run(items);
  return out;
}
// The groups of a convolution are a dimension of the products: (samples, groups, rows, columns), where planes of a group are neighbours.
Tensor in_groups(const Tensor& t, const Shape& s) { return t.view({t.size(0), s.groups, t.size(1) / s.groups, t.size(2)}); }
Tensor weights_in_groups(const Tensor& w, const Shape& s) { return dense(w).view({1, s.groups, w.size(0) / s.groups, -1}); }

// Windows lie on x, each of which gives an element of each plane of out.
void products_of_windows(const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& out, const Shape& s) {
  const Tensor input = dense(x), weight = weights_in_groups(w, s);
  const int64_t step = samples_at_once(s), windows = count_of(s.out);
  for (int64_t first = 0; first < s.n; first += step) {
    const int64_t n = std::min(step, s.n - first);
    const Tensor columns = in_groups(columns_of(input.narrow(0, first, n), s, true), s);
    const Tensor part = in_groups(out.narrow(0, first, n).view({n, s.out_planes, windows}), s);
    const Tensor added = bias.defined() ? bias.view({1, s.groups, -1, 1}).expand(part.sizes()) : Tensor();
    multiply_blocks(weight.expand({n, -1, -1, -1}), columns, added, 1, 1, part);
  }
}
// The other way round: elements of x spread over the windows on out. `s` is the shape of the convolution whose windows these are.
void spread_over_windows(const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& out, const Shape& s) {
  const Tensor input = dense(x), weight = weights_in_groups(w, s).transpose(2, 3);
  const int64_t step = samples_at_once(s), windows = count_of(s.out);
  for (int64_t first = 0; first < s.n; first += step) {
    const int64_t n = std::min(step, s.n - first), rows = n * s.in_planes * s.in[0] * s.in[1];
    const Tensor columns = cresset::empty({n, s.groups, weight.size(2), windows}, x.options());
    multiply_blocks(weight.expand({n, -1, -1, -1}), in_groups(input.narrow(0, first, n).view({n, s.out_planes, windows}), s), Tensor(), 0, 1, columns);
    Launch(x.device().index(), std::string(kShape) + kFromColumns)
        .value<uint64_t>(static_cast<uint64_t>(rows))
        .value(s)
        .value<int32_t>(bias.defined())
        .pointer(columns.data_ptr())
        .pointer((bias.defined() ? bias : columns).data_ptr())
        .pointer(out.narrow(0, first, n).data_ptr())
        .run(static_cast<size_t>(rows));
  }
}
void gradient_of_windows(const Tensor& x, const Tensor& each, const Tensor& out, const Shape& s) {
  const Tensor result = in_groups(out.view({1, s.out_planes, -1}), s);
  const int64_t step = samples_at_once(s), windows = count_of(s.out);
  for (int64_t first = 0; first < s.n; first += step) {
    const int64_t n = std::min(step, s.n - first);
    const Tensor columns = columns_of(x.narrow(0, first, n), s, false).view({1, n * windows, s.groups, -1}).transpose(1, 2);
    const Tensor rows = in_groups(dense(each.narrow(0, first, n).view({n, s.out_planes, windows}).transpose(0, 1)).view({1, s.out_planes, n * windows}), s);
    multiply_blocks(rows, columns, first ? result : Tensor(), 1, 1, result);
  }
}

// The convolution whose windows lie on the other side.
Shape turned(Shape s) {
  std::swap(s.in_planes, s.out_planes);
  std::swap(s.in, s.out);
  return s;
}
// Values of the last `dims` dimensions, filled up in front.
void set_last(int64_t (&to)[3], const std::vector<int64_t>& values, int64_t dims, int64_t filler) {
  for (int64_t d = 0; d < 3; d++) {
    const int64_t at = d - (3 - dims);
    to[d] = at < 0 ? filler : values[values.size() == 1 ? 0 : static_cast<size_t>(at)];
  }
}
std::vector<int64_t> tail(IntArrayRef sizes, int64_t dims) { return {sizes.end() - dims, sizes.end()}; }

Shape shape_of(IntArrayRef in, IntArrayRef out, IntArrayRef weight, const Call& c, size_t lists, int64_t groups) {
  const int64_t dims = static_cast<int64_t>(weight.size()) - 2;
  Shape s{in[0], in[1], out[1], groups, {}, {}, {}, {}, {}, {}};
  set_last(s.in, tail(in, dims), dims, 1);
  set_last(s.out, tail(out, dims), dims, 1);
  set_last(s.kernel, tail(weight, dims), dims, 1);
  set_last(s.stride, c.integers(lists), dims, 1);
  set_last(s.padding, c.integers(lists + 1), dims, 0);
  set_last(s.dilation, c.integers(lists + 2), dims, 1);
  return s;
}
void convolve(const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& out, const Shape& s, bool straight) {
  if (by_products(out)) {
    const Tensor added = bias.defined() ? dense(bias) : bias;
    if (straight) products_of_windows(x, w, added, out, s);
    else spread_over_windows(x, w, added, out, turned(s));
    return;
  }
  const Tensor input = dense(x), weight = dense(w), added = bias.defined() ? dense(bias) : weight;
  const std::string source = prelude() + names_of(out.scalar_type()) + (straight ? "#define STRAIGHT\n" : "") + kShape + kConvolution;
  Launch(out.device().index(), source)
      .value<uint64_t>(static_cast<uint64_t>(out.numel()))
      .value(s)
      .value<int32_t>(bias.defined())
      .pointer(input.data_ptr())
      .pointer(weight.data_ptr())
      .pointer(added.data_ptr())
      .pointer(out.data_ptr())
      .run(static_cast<size_t>(out.numel()));
}
bool fits(const Tensor& a, const Tensor& b) {
  return is_floating(a) && a.scalar_type() == b.scalar_type() && on_device(a) && on_device(b) && a.dim() >= 3 && a.dim() <= 5;
}

bool convolution(Call& c) {
  const Tensor &x = c.tensor(0), &w = c.tensor(1), bias = c.has(2) ? c.tensor(2) : Tensor();
  if (!fits(x, w) || (bias.defined() && bias.scalar_type() != x.scalar_type())) return false;
  const std::vector<Tensor> outs = c.results(), writes = dense_for(outs);
  if (outs[0].numel() > 0) convolve(x, w, bias, writes[0], shape_of(x.sizes(), outs[0].sizes(), w.sizes(), c, 3, c.integer(8)), !c.flag(6));
  return deliver(c, outs, writes);
}
bool input_gradient(Call& c) {
  const Tensor &grad = c.tensor(0), &w = c.tensor(1);
  if (!fits(grad, w)) return false;
  const std::vector<Tensor> outs = c.results(), writes = dense_for(outs);
  if (outs[0].numel() > 0) convolve(grad, w, Tensor(), writes[0], shape_of(grad.sizes(), outs[0].sizes(), w.sizes(), c, 3, c.integer(8)), c.flag(6));
  return deliver(c, outs, writes);
}
bool weight_gradient(Call& c) {
  const Tensor &grad = c.tensor(0), &x = c.tensor(1);
  if (!fits(grad, x)) return false;
  const std::vector<Tensor> outs = c.results(), writes = dense_for(outs);
  if (outs[0].numel() == 0) return c.give_all(outs);
  // A transposed convolution's windows lie on its result, and each element of its input has one.
  const bool transposed = c.flag(6);
  const Tensor under = dense(transposed ? grad : x), each = dense(transposed ? x : grad);
  const Shape s = shape_of(under.sizes(), each.sizes(), outs[0].sizes(), c, 3, c.integer(8));
  if (by_products(grad)) {
    gradient_of_windows(under, each, writes[0], s);
    return deliver(c, outs, writes);
  }
  const int64_t items = outs[0].numel();
  Launch(c.device(), prelude() + names_of(grad.scalar_type()) + kShape + kWeights)
      .value(s)
      .pointer(under.data_ptr())
      .pointer(each.data_ptr())
      .pointer(writes[0].data_ptr())
      .run(static_cast<size_t>(items * 64), 64);
  return deliver(c, outs, writes);
}

// --- pools ---

// `BODY` computes `out` number `item` of plane `plane` at place `at`, or adds it up in the other direction.
const char* const kPoolHead = R"cl(
kernel void run(ulong count, Shape s, long divisor, int include_pad, global const T* x, global T* out, global long* places) {
  const ulong item = get_global_id(0);
  if (item >= count) return;
  ulong rest = item;
  long at[3];
  for (int d = 2; d >= 0; d--) { at[d] = rest % s.out[d]; rest /= s.out[d]; }
  const long plane = rest, area = s.in[0] * s.in[1] * s.in[2];
  global const T* p = x + plane * area;
)cl";
const char* const kMax = R"cl(
  float best = -INFINITY;
  long where = -1;
  for (long a = 0; a < s.kernel_[0]; a++)
    for (long b = 0; b < s.kernel_[1]; b++)
      for (long c = 0; c < s.kernel_[2]; c++) {
        const long i = at[0] * s.stride[0] - s.padding[0] + a * s.dilation[0], j = at[1] * s.stride[1] - s.padding[1] + b * s.dilation[1], k = at[2] * s.stride[2] - s.padding[2] + c * s.dilation[2];
        if (i < 0 || i >= s.in[0] || j < 0 || j >= s.in[1] || k < 0 || k >= s.in[2]) continue;
        const long n = (i * s.in[1] + j) * s.in[2] + k;
        const float v = LOAD(p, n);
        if (where < 0 || v > best || v != v) { best = v; where = n; }
      }
  STORE(out, item, best);
  places[item] = where;
}
)cl";
const char* const kAverage = R"cl(
  long first[3], last[3], padded = 1, inside = 1;
  for (int d = 0; d < 3; d++) {
    const long start = at[d] * s.stride[d] - s.padding[d], end = min(start + s.kernel_[d], s.in[d] + s.padding[d]);
    padded *= end - start;
    first[d] = max(start, 0L);
    last[d] = min(end, s.in[d]);
    inside *= max(last[d] - first[d], 0L);
  }
  float sum = 0;
  for (long i = first[0]; i < last[0]; i++)
    for (long j = first[1]; j < last[1]; j++)
      for (long k = first[2]; k < last[2]; k++) sum += LOAD(p, (i * s.in[1] + j) * s.in[2] + k);
  STORE(out, item, sum / (divisor ? divisor : include_pad ? padded : inside));
}
)cl";
// Here x is the gradient, of the windows' shape `in`, and out has the shape of what the windows lay on.
const char* const kAverageBackward = R"cl(
  float sum = 0;
  long first[3], last[3];
  for (int d = 0; d < 3; d++) {
    const long reach = at[d] + s.padding[d];
    first[d] = reach < s.kernel_[d] ? 0 : (reach - s.kernel_[d]) / s.stride[d] + 1;
    last[d] = min(reach / s.stride[d] + 1, s.in[d]);
  }
  for (long i = first[0]; i < last[0]; i++)
    for (long j = first[1]; j < last[1]; j++)
      for (long k = first[2]; k < last[2]; k++) {
        const long w[3] = {i, j, k};
        long padded = 1, inside = 1;
        for (int d = 0; d < 3; d++) {
          const long start = w[d] * s.stride[d] - s.padding[d], end = min(start + s.kernel_[d], s.out[d] + s.padding[d]);
          padded *= end - start;
          inside *= min(end, s.out[d]) - max(start, 0L);
        }
        sum += LOAD(p, (i * s.in[1] + j) * s.in[2] + k) / (divisor ? divisor : include_pad ? padded : inside);
      }
  STORE(out, item, sum);
}
)cl";
const char* const kAdaptive = R"cl(
  long first[3], last[3];
  for (int d = 0; d < 3; d++) {
    first[d] = at[d] * s.in[d] / s.out[d];
    last[d] = ((at[d] + 1) * s.in[d] + s.out[d] - 1) / s.out[d];
  }
#ifdef MAX
  float best = -INFINITY;
  long where = -1;
#endif
  float sum = 0;
  for (long i = first[0]; i < last[0]; i++)
    for (long j = first[1]; j < last[1]; j++)
      for (long k = first[2]; k < last[2]; k++) {
        const long n = (i * s.in[1] + j) * s.in[2] + k;
        const float v = LOAD(p, n);
#ifdef MAX
        if (where < 0 || v > best || v != v) { best = v; where = n; }
#endif
        sum += v;
      }
#ifdef MAX
  STORE(out, item, best);
  places[item] = where;
#else
  STORE(out, item, sum / ((last[0] - first[0]) * (last[1] - first[1]) * (last[2] - first[2])));
#endif
}
)cl";
const char* const kAdaptiveBackward = R"cl(
  float sum = 0;
  for (long i = at[0] * s.in[0] / s.out[0]; i < s.in[0] && i * s.out[0] / s.in[0] <= at[0]; i++)
    for (long j = at[1] * s.in[1] / s.out[1]; j < s.in[1] && j * s.out[1] / s.in[1] <= at[1]; j++)
      for (long k = at[2] * s.in[2] / s.out[2]; k < s.in[2] && k * s.out[2] / s.in[2] <= at[2]; k++) {
        const long w[3] = {i, j, k};
        long size = 1;
        for (int d = 0; d < 3; d++) {
          const long first = w[d] * s.out[d] / s.in[d], last = ((w[d] + 1) * s.out[d] + s.in[d] - 1) / s.in[d];
          size *= at[d] >= first && at[d] < last ? last - first : 0;
        }
        if (size) sum += LOAD(p, (i * s.in[1] + j) * s.in[2] + k) / size;
      }
  STORE(out, item, sum);
}
)cl";

struct Pool {
  std::vector<int64_t> kernel, stride, padding, dilation;
  int64_t divisor = 0;
  bool include_pad = true;
};
Shape pool_shape(IntArrayRef in, IntArrayRef out, int64_t dims, const Pool& p) {
  Shape s{1, 1, 1, 1, {}, {}, {}, {}, {}, {}};
  set_last(s.in, tail(in, dims), dims, 1);
  set_last(s.out, tail(out, dims), dims, 1);
  const std::vector<int64_t> ones{1}, zeros{0};
  set_last(s.kernel, p.kernel.empty() ? ones : p.kernel, dims, 1);
  set_last(s.stride, !p.stride.empty() ? p.stride : p.kernel.empty() ? ones : p.kernel, dims, 1);
  set_last(s.padding, p.padding.empty() ? zeros : p.padding, dims, 0);
  set_last(s.dilation, p.dilation.empty() ? ones : p.dilation, dims, 1);
  return s;
}
bool pool(Call& c, const Tensor& x, int64_t dims, const char* body, const Pool& p, const char* defines = "") {
  if (!is_floating(x) || x.dim() < dims) return false;
  const std::vector<Tensor> outs = c.results(), writes = dense_for(outs);
  if (outs[0].numel() == 0) return c.give_all(outs);
  const Tensor input = dense(x);
  Launch(c.device(), prelude() + names_of(x.scalar_type()) + defines + kShape + kPoolHead + body)
      .value<uint64_t>(static_cast<uint64_t>(outs[0].numel()))
      .value(pool_shape(x.sizes(), outs[0].sizes(), dims, p))
      .value(p.divisor)
      .value<int32_t>(p.include_pad)
      .pointer(input.data_ptr())
      .pointer(writes[0].data_ptr())
      .pointer(writes.size() > 1 ? writes[1].data_ptr() : writes[0].data_ptr())
      .run(static_cast<size_t>(outs[0].numel()));
  return deliver(c, outs, writes);
}
bool max_pool(Call& c, int64_t dims) { return pool(c, c.tensor(0), dims, kMax, {c.integers(1), c.integers(2), c.integers(3), c.integers(4), 0, true}); }
bool average_pool(Call& c) {
  const Pool p{c.integers(1), c.integers(2), c.integers(3), {}, c.has(6) ? c.integer(6) : 0, c.flag(5)};
  return pool(c, c.tensor(0), static_cast<int64_t>(p.kernel.size()), kAverage, p);
}
bool average_pool_backward(Call& c) {
  const Pool p{c.integers(2), c.integers(3), c.integers(4), {}, c.has(7) ? c.integer(7) : 0, c.flag(6)};
  return pool(c, c.tensor(0), c.integer(8), kAverageBackward, p);
}
bool pool_by_index_backward(Call& c) {
  const Tensor& grad = c.tensor(0);
  if (!is_floating(grad)) return false;
  const std::vector<Tensor> outs = c.results();
  const int64_t dims = c.integer(3);
  int64_t area = 1, windows = 1;
  for (const int64_t n : tail(outs[0].sizes(), dims)) area *= n;
  for (const int64_t n : tail(grad.sizes(), dims)) windows *= n;
  if (outs[0].numel() == 0) return c.give_all(outs);
  const int64_t planes = outs[0].numel() / area;
  const Tensor sums = cresset::zeros({planes, area}, grad.options());
  if (grad.numel() == 0) return c.give(sums.reshape(outs[0].sizes()));
  return c.give(sums.scatter_add(1, c.tensor(1).reshape({planes, windows}), grad.reshape({planes, windows})).reshape(outs[0].sizes()));
}

// --- windows as columns ---

const char* const kColumns = R"cl(
kernel void run(ulong count, Shape s, global const T* x, global T* out) {
  const ulong item = get_global_id(0);
  if (item >= count) return;
  // out: n, planes * taps, windows; s.in is the image, s.out the windows.
  const long windows = s.out[1] * s.out[2], taps = s.kernel_[1] * s.kernel_[2];
  const long w = item % windows, k = item / windows % taps, plane = item / windows / taps;
  const long i = w / s.out[2] * s.stride[1] - s.padding[1] + k / s.kernel_[2] * s.dilation[1], j = w % s.out[2] * s.stride[2] - s.padding[2] + k % s.kernel_[2] * s.dilation[2];
  STORE(out, item, i < 0 || i >= s.in[1] || j < 0 || j >= s.in[2] ? 0 : LOAD(x, (plane * s.in[1] + i) * s.in[2] + j));
}
)cl";
const char* const kImages = R"cl(
kernel void run(ulong count, Shape s, global const T* x, global T* out) {
  const ulong item = get_global_id(0);
  if (item >= count) return;
  const long windows = s.out[1] * s.out[2], taps = s.kernel_[1] * s.kernel_[2];
  const long j = item % s.in[2], i = item / s.in[2] % s.in[1], plane = item / s.in[2] / s.in[1];
  float sum = 0;
  for (long k = 0; k < taps; k++) {
    const long a = i + s.padding[1] - k / s.kernel_[2] * s.dilation[1], b = j + s.padding[2] - k % s.kernel_[2] * s.dilation[2];
    if (a < 0 || b < 0 || a % s.stride[1] || b % s.stride[2] || a / s.stride[1] >= s.out[1] || b / s.stride[2] >= s.out[2]) continue;
    sum += LOAD(x, (plane * taps + k) * windows + a / s.stride[1] * s.out[2] + b / s.stride[2]);
  }
  STORE(out, item, sum);
}
)cl";
int64_t both(const std::vector<int64_t>& list, size_t i) { return list[list.size() == 1 ? 0 : i]; }
bool columns(Call& c, bool back) {
  const Tensor& x = c.tensor(0);
  if (!is_floating(x)) return false;
  const std::vector<Tensor> outs = c.results(), writes = dense_for(outs);
  if (outs[0].numel() == 0) return c.give_all(outs);
  const size_t lists = back ? 2 : 1;
  const std::vector<int64_t> kernel = c.integers(lists), dilation = c.integers(lists + 1), padding = c.integers(lists + 2), stride = c.integers(lists + 3);
  const Tensor& image = back ? outs[0] : x;
  Shape s{1,
          1,
          1,
          1,
          {1, image.size(-2), image.size(-1)},
          {1, 1, 1},
          {1, both(kernel, 0), both(kernel, 1)},
          {1, both(stride, 0), both(stride, 1)},
          {0, both(padding, 0), both(padding, 1)},
          {1, both(dilation, 0), both(dilation, 1)}};
  for (int d = 1; d < 3; d++) s.out[d] = (s.in[d] + 2 * s.padding[d] - s.dilation[d] * (s.kernel[d] - 1) - 1) / s.stride[d] + 1;
  const Tensor input = dense(x);
  Launch(c.device(), prelude() + names_of(x.scalar_type()) + kShape + (back ? kImages : kColumns))
      .value<uint64_t>(static_cast<uint64_t>(outs[0].numel()))
      .value(s)
      .pointer(input.data_ptr())
      .pointer(writes[0].data_ptr())
      .run(static_cast<size_t>(outs[0].numel()));
  return deliver(c, outs, writes);
}

// --- resized images ---

// The steps of one axis, which the CPU tells by resizing unit vectors: for each tap the place that it reads and its weight.
struct Taps {
  std::vector<Tensor> places, weights;
};
Taps taps_of(const Tensor& like, int64_t dims, int64_t axis, int64_t in, int64_t out, const Call& c, size_t mode) {
  std::vector<int64_t> shape{in, 1}, size;
  std::vector<double> scales;
  const std::vector<double> given = c.has(mode + 3) ? c[mode + 3].to_double_list() : std::vector<double>();
  for (int64_t d = 0; d < dims; d++) {
    shape.push_back(d == axis ? in : 1);
    size.push_back(d == axis ? out : 1);
    scales.push_back(d == axis && !given.empty() ? given[static_cast<size_t>(d)] : 1);
  }
  std::optional<cresset::ArrayRef<double>> by;
  if (!given.empty()) by = scales;
  const Tensor units = cresset::eye(in, cresset::TensorOptions(cresset::kFloat)).reshape(shape);
  const Tensor table = cresset::_resize_images(units, size, c.integer(mode), c.flag(mode + 1), c.flag(mode + 2), by).reshape({in, out}).contiguous();
  const float* w = static_cast<const float*>(table.data_ptr());
  std::vector<std::vector<std::pair<int64_t, float>>> steps(static_cast<size_t>(out));
  size_t most = 1;
  for (int64_t o = 0; o < out; o++) {
    for (int64_t i = 0; i < in; i++)
      if (w[i * out + o] != 0) steps[static_cast<size_t>(o)].emplace_back(i, w[i * out + o]);
    if (steps[static_cast<size_t>(o)].empty()) steps[static_cast<size_t>(o)].emplace_back(0, 0.0f);
    most = std::max(most, steps[static_cast<size_t>(o)].size());
  }
  std::vector<int64_t> along(static_cast<size_t>(like.dim()), 1);
  along[static_cast<size_t>(axis + 2)] = out;
  Taps t;
  for (size_t k = 0; k < most; k++) {
    const Tensor place = cresset::empty({out}, cresset::TensorOptions(cresset::kLong)), weight = cresset::empty({out}, cresset::TensorOptions(cresset::kFloat));
    for (int64_t o = 0; o < out; o++) {
      const auto& own = steps[static_cast<size_t>(o)];
      static_cast<int64_t*>(place.data_ptr())[o] = own[k < own.size() ? k : 0].first;
      static_cast<float*>(weight.data_ptr())[o] = k < own.size() ? own[k].second : 0;
    }
    t.places.push_back(place.to(like.device()));
    t.weights.push_back(weight.reshape(along).to(like.device()).to(like.scalar_type()));
  }
  return t;
}
bool resize(Call& c) {
  Tensor x = c.tensor(0);
  if (!is_floating(x)) return false;
  const std::vector<Tensor> outs = c.results();
  const std::vector<int64_t> size = c.integers(1);
  for (int64_t d = 0; d < static_cast<int64_t>(size.size()); d++) {
    const Taps t = taps_of(x, static_cast<int64_t>(size.size()), d, x.size(d + 2), size[static_cast<size_t>(d)], c, 2);
    // Where one tap is all, elements are taken as they are.
    Tensor sum = x.index_select(d + 2, t.places[0]);
    if (t.places.size() > 1) sum = sum * t.weights[0];
    for (size_t k = 1; k < t.places.size(); k++)
      sum = sum + cresset::where(t.weights[k].ne(0), x.index_select(d + 2, t.places[k]) * t.weights[k], cresset::zeros({}, x.options()));
    x = sum;
  }
  if (outs[0].numel()) move_elements(outs[0], x);
  return c.give_all(outs);
}
bool resize_backward(Call& c) {
  Tensor g = c.tensor(0);
  if (!is_floating(g)) return false;
  const std::vector<Tensor> outs = c.results();
  const std::vector<int64_t> size = c.integers(1);
  for (int64_t d = 2; d < static_cast<int64_t>(size.size()); d++) {
    const Taps t = taps_of(g, static_cast<int64_t>(size.size()) - 2, d - 2, size[static_cast<size_t>(d)], g.size(d), c, 2);
    std::vector<int64_t> shape(g.sizes().begin(), g.sizes().end());
    shape[static_cast<size_t>(d)] = size[static_cast<size_t>(d)];
    Tensor sum = cresset::zeros(shape, g.options());
    for (size_t k = 0; k < t.places.size(); k++) sum = sum.index_add(d, t.places[k], g * t.weights[k]);
    g = sum;
  }
  if (outs[0].numel()) move_elements(outs[0], g);
  return c.give_all(outs);
}

}  // namespace

void add_windows(cresset::dispatch::Library& m) {
  native(m, "convolution", convolution);
  native(m, "convolution_grad_input", input_gradient);
  native(m, "convolution_grad_weight", weight_gradient);
  native(m, "max_pool2d_with_indices", [](Call& c) { return max_pool(c, 2); });
  native(m, "max_pool3d_with_indices", [](Call& c) { return max_pool(c, 3); });
  native(m, "_avg_pool", average_pool);
  native(m, "_avg_pool_backward", average_pool_backward);
  native(m, "_adaptive_avg_pool", [](Call& c) { return pool(c, c.tensor(0), static_cast<int64_t>(c.integers(1).size()), kAdaptive, {}); });
  native(m, "_adaptive_max_pool", [](Call& c) { return pool(c, c.tensor(0), static_cast<int64_t>(c.integers(1).size()), kAdaptive, {}, "#define MAX\n"); });
  native(m, "_adaptive_avg_pool_backward", [](Call& c) { return pool(c, c.tensor(0), c.integer(2), kAdaptiveBackward, {}); });
  native(m, "_pool_backward_by_index", pool_by_index_backward);
  native(m, "_resize_images", resize);
  native(m, "_resize_images_backward", resize_backward);
  native(m, "_im2col", [](Call& c) { return columns(c, false); });
  native(m, "_col2im", [](Call& c) { return columns(c, true); });
}

}  // namespace opencl
