// Padding: constant borders, and borders taken from the array itself.

#include <algorithm>
#include <cstring>
#include <vector>

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/dense.h"
#include "cresset/kernels/layout/layout.h"

namespace cresset::kernels {

namespace {

struct Pads {
  DimVector low, high;  // for each dimension of the array
};

Pads pads_of(const char* op, const Strided& out, const Strided& self, IntArrayRef pads) {
  const size_t dims = self.sizes.size(), padded = pads.size() / 2;
  CRESSET_CHECK(pads.size() % 2 == 0 && padded <= dims, op, ": padding length must be even and at most twice the input's dimensions, got ", pads, " for ",
                self.sizes);
  Pads p{DimVector(dims, 0), DimVector(dims, 0)};
  for (size_t i = 0; i < padded; i++) {
    p.low[dims - 1 - i] = pads[2 * i];
    p.high[dims - 1 - i] = pads[2 * i + 1];
  }
  for (size_t d = 0; d < dims; d++)
    CRESSET_CHECK(out.sizes[d] == self.sizes[d] + p.low[d] + p.high[d], op, ": output shape ", out.sizes, " does not fit input ", self.sizes, " and padding ",
                  pads);
  return p;
}

// The source of each position along one dimension. A part that is cut off takes no part in going round.
std::vector<int64_t> source_of(int64_t size, int64_t out_size, int64_t low, int64_t high, PadMode mode) {
  std::vector<int64_t> map(static_cast<size_t>(out_size));
  const int64_t cut = std::max<int64_t>(-low, 0), kept = size - cut - std::max<int64_t>(-high, 0);
  for (int64_t o = 0; o < out_size; o++) {
    int64_t i = o - low;
    if (mode == PadMode::replicate) i = std::clamp<int64_t>(i, 0, size - 1);
    else if (mode == PadMode::circular) i = cut + ((i - cut) % kept + kept) % kept;
    else i = i < 0 ? -i : i >= size ? 2 * (size - 1) - i : i;
    map[static_cast<size_t>(o)] = i;
  }
  return map;
}

// Source positions for the padded dimensions, which are the last ones; the leading ones form a batch of planes.
struct PadPlan {
  int64_t planes = 1, in_plane = 1, out_plane = 1;
  int64_t in_width, out_width;
  std::vector<int64_t> row_source;   // offset in the input plane of each output row
  std::vector<int64_t> column;       // and of each place in the row
  int64_t middle_begin, middle_end;  // where column[o] == o - middle_shift
  int64_t middle_shift;
};

PadPlan plan_of(const char* op, const Strided& out, const Strided& self, IntArrayRef pads, PadMode mode) {
  const Pads p = pads_of(op, out, self, pads);
  const size_t dims = self.sizes.size(), first = dims - pads.size() / 2;
  CRESSET_CHECK(!pads.empty(), op, ": expected at least one pair of pads");
  for (size_t d = first; d < dims; d++) {
    const int64_t n = self.sizes[d], most = std::max(p.low[d], p.high[d]);
    CRESSET_CHECK(n > 0 || out.numel() == 0, op, ": expected a non-empty input, got shape ", self.sizes);
    CRESSET_CHECK(mode != PadMode::reflect || most < n, op, ": reflect padding must be less than the input dimension, got ", most, " at dimension ", d,
                  " of input ", self.sizes);
    CRESSET_CHECK(mode != PadMode::circular || most <= n + std::min<int64_t>({p.low[d], p.high[d], 0}), op,
                  ": circular padding must not wrap around more than once, got ", most, " at dimension ", d, " of input ", self.sizes);
  }
  PadPlan plan;
  plan.in_width = self.sizes[dims - 1];
  plan.out_width = out.sizes[dims - 1];
  for (size_t d = 0; d < dims; d++) {
    if (d < first) plan.planes *= self.sizes[d];
    else plan.in_plane *= self.sizes[d], plan.out_plane *= out.sizes[d];
  }
  plan.column = source_of(plan.in_width, plan.out_width, p.low[dims - 1], p.high[dims - 1], mode);
  plan.middle_begin = std::clamp<int64_t>(p.low[dims - 1], 0, plan.out_width);
  plan.middle_end = std::clamp<int64_t>(p.low[dims - 1] + plan.in_width, plan.middle_begin, plan.out_width);
  plan.middle_shift = p.low[dims - 1];
  plan.row_source.push_back(0);
  int64_t step = plan.in_plane;
  for (size_t d = first; d + 1 < dims; d++) {
    step /= self.sizes[d];
    const std::vector<int64_t> map = source_of(self.sizes[d], out.sizes[d], p.low[d], p.high[d], mode);
    std::vector<int64_t> rows;
    rows.reserve(plan.row_source.size() * map.size());
    for (int64_t base : plan.row_source)
      for (int64_t i : map) rows.push_back(base + i * step);
    plan.row_source = std::move(rows);
  }
  return plan;
}

template <class T> void pad_rows(T* out, const T* in, const PadPlan& plan) {
  const int64_t rows = static_cast<int64_t>(plan.row_source.size());
  parallel_for(0, plan.planes * rows, 1 + 32768 / std::max<int64_t>(plan.out_width, 1), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r++) {
      const T* from = in + r / rows * plan.in_plane + plan.row_source[static_cast<size_t>(r % rows)];
      T* to = out + r * plan.out_width;
      const int64_t* column = plan.column.data();
      for (int64_t o = 0; o < plan.middle_begin; o++) to[o] = from[column[o]];
      if (plan.middle_end > plan.middle_begin)
        std::memcpy(static_cast<void*>(to + plan.middle_begin), from + plan.middle_begin - plan.middle_shift,
                    static_cast<size_t>(plan.middle_end - plan.middle_begin) * sizeof(T));
      for (int64_t o = plan.middle_end; o < plan.out_width; o++) to[o] = from[column[o]];
    }
  });
}

template <class T> void add_rows_back(T* grad_in, const T* grad, const PadPlan& plan) {
  const int64_t rows = static_cast<int64_t>(plan.row_source.size());
  const auto add = [](T& a, T b) {
    if constexpr (std::is_same_v<T, bool>) a = a || b;
    else if constexpr (std::is_integral_v<T>) a = static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else a += b;
  };
  parallel_for(0, plan.planes, 1 + 32768 / std::max<int64_t>(plan.out_plane, 1), [&](int64_t begin, int64_t end) {
    std::fill_n(grad_in + begin * plan.in_plane, (end - begin) * plan.in_plane, T{});
    for (int64_t r = begin * rows; r < end * rows; r++) {
      T* to = grad_in + r / rows * plan.in_plane + plan.row_source[static_cast<size_t>(r % rows)];
      const T* from = grad + r * plan.out_width;
      const int64_t* column = plan.column.data();
      for (int64_t o = 0; o < plan.middle_begin; o++) add(to[column[o]], from[o]);
      for (int64_t o = plan.middle_begin; o < plan.middle_end; o++) add(to[o - plan.middle_shift], from[o]);
      for (int64_t o = plan.middle_end; o < plan.out_width; o++) add(to[column[o]], from[o]);
    }
  });
}

}  // namespace

void pad_constant(const Strided& out, const Strided& self, IntArrayRef pads, const Scalar& value) {
  const Pads p = pads_of("constant_pad_nd", out, self, pads);
  const size_t dims = self.sizes.size();
  if (out.numel() == 0) return;
  if (self.numel() == 0) return fill_strided(out, value);
  // The rest of the output after the slabs before and behind have been filled, dimension by dimension.
  Strided rest = out, source = self;
  DimVector rest_sizes(out.sizes), source_sizes(self.sizes);
  for (size_t d = 0; d < dims; d++) {
    const int64_t low = std::max<int64_t>(p.low[d], 0), high = std::max<int64_t>(p.high[d], 0), size = rest_sizes[d];
    const int64_t cut = std::max<int64_t>(-p.low[d], 0), kept = size - low - high;
    DimVector slab;
    rest.sizes = rest_sizes;
    if (low > 0) fill_strided(narrow(rest, static_cast<int64_t>(d), 0, std::min(low, size), slab), value);
    if (high > 0) fill_strided(narrow(rest, static_cast<int64_t>(d), size - std::min(high, size), std::min(high, size), slab), value);
    if (kept <= 0) return;
    rest.data = narrow(rest, static_cast<int64_t>(d), low, kept, slab).data;
    source.data = static_cast<char*>(source.data) + cut * source.strides[d] * source.item();
    rest_sizes[d] = source_sizes[d] = kept;
  }
  copy_strided(Strided(rest.data, out.dtype, rest_sizes, out.strides), Strided(source.data, self.dtype, source_sizes, self.strides));
}

void pad(const Strided& out, const Strided& self, IntArrayRef pads, PadMode mode) {
  const PadPlan plan = plan_of("pad", out, self, pads, mode);
  if (out.numel() == 0) return;
  const DenseInput in(self);
  const DenseOutput to(out);
  visit_size(out.dtype, [&](auto tag) { pad_rows(to.as<decltype(tag)>(), in.as<decltype(tag)>(), plan); });
  to.finish();
}

void pad_backward(const Strided& grad_input, const Strided& grad, IntArrayRef pads, PadMode mode) {
  const PadPlan plan = plan_of("pad_backward", grad, grad_input, pads, mode);
  if (grad_input.numel() == 0) return;
  const DenseInput from(grad);
  const DenseOutput to(grad_input);
  visit_dtype(grad.dtype, "pad_backward", [&](auto tag) { add_rows_back(to.as<decltype(tag)>(), from.as<decltype(tag)>(), plan); });
  to.finish();
}

}  // namespace cresset::kernels
