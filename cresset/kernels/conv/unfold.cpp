// Sliding windows as columns, and their sums back.

#include <algorithm>
#include <cstring>

#include "cresset/base/parallel.h"
#include "cresset/kernels/common/dense.h"
#include "cresset/kernels/layout/layout.h"

namespace cresset::kernels {

namespace {

// Positions [begin, end) along a row of windows whose element `k` lies inside [0, size).
struct Inside {
  int64_t begin, end;
};

Inside inside(const Window2d& w, int d, int64_t k, int64_t size, int64_t positions) {
  const int64_t first = k * w.dilation[d] - w.padding[d];  // the place of window 0's element
  const int64_t begin = first >= 0 ? 0 : (-first + w.stride[d] - 1) / w.stride[d];
  const int64_t end = first >= size ? 0 : (size - 1 - first) / w.stride[d] + 1;
  return {std::min(begin, positions), std::clamp<int64_t>(end, std::min(begin, positions), positions)};
}

struct Geometry {
  int64_t channels, height, width, rows, columns, taps;
};

Geometry geometry_of(const char* op, const Strided& image, const Strided& columns, const Window2d& w) {
  CRESSET_CHECK(image.dim() == 4 && columns.dim() == 3, op, ": expected (N, C, H, W) and (N, C * kh * kw, L), got ", image.sizes, " and ", columns.sizes);
  Geometry g{image.sizes[1], image.sizes[2], image.sizes[3], 0, 0, w.kernel[0] * w.kernel[1]};
  g.rows = w.positions(g.height, 0);
  g.columns = w.positions(g.width, 1);
  CRESSET_CHECK(
      g.rows > 0 && g.columns > 0 && columns.sizes[0] == image.sizes[0] && columns.sizes[1] == g.channels * g.taps && columns.sizes[2] == g.rows * g.columns,
      op, ": shapes do not fit the window, got ", image.sizes, " and ", columns.sizes);
  return g;
}

}  // namespace

void im2col(const Strided& out, const Strided& self, const Window2d& w) {
  const Geometry g = geometry_of("im2col", self, out, w);
  if (out.numel() == 0) return;
  const DenseInput in(self);
  const DenseOutput to(out);
  visit_size(out.dtype, [&](auto tag) {
    using T = decltype(tag);
    const int64_t positions = g.rows * g.columns;
    parallel_for(0, out.sizes[0] * out.sizes[1], 1 + 32768 / positions, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; r++) {
        const int64_t tap = r % g.taps, ky = tap / w.kernel[1], kx = tap % w.kernel[1];
        const T* plane = in.as<T>() + r / g.taps * g.height * g.width;
        T* row = to.as<T>() + r * positions;
        const Inside ys = inside(w, 0, ky, g.height, g.rows), xs = inside(w, 1, kx, g.width, g.columns);
        const int64_t x0 = kx * w.dilation[1] - w.padding[1], y0 = ky * w.dilation[0] - w.padding[0];
        for (int64_t y = 0; y < g.rows; y++, row += g.columns) {
          if (y < ys.begin || y >= ys.end) {
            std::memset(static_cast<void*>(row), 0, static_cast<size_t>(g.columns) * sizeof(T));
            continue;
          }
          const T* from = plane + (y0 + y * w.stride[0]) * g.width + x0;
          std::fill_n(row, xs.begin, T{});
          for (int64_t x = xs.begin; x < xs.end; x++) row[x] = from[x * w.stride[1]];
          std::fill_n(row + xs.end, g.columns - xs.end, T{});
        }
      }
    });
  });
  to.finish();
}

void col2im(const Strided& out, const Strided& columns, const Window2d& w) {
  const Geometry g = geometry_of("col2im", out, columns, w);
  if (out.numel() == 0) return;
  const DenseInput in(columns);
  const DenseOutput to(out);
  visit_dtype(out.dtype, "col2im", [&](auto tag) {
    using T = decltype(tag);
    const int64_t positions = g.rows * g.columns, plane_size = g.height * g.width;
    parallel_for(0, out.sizes[0] * g.channels, 1 + 32768 / (positions * g.taps), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; p++) {
        T* plane = to.as<T>() + p * plane_size;
        std::fill_n(plane, plane_size, T{});
        for (int64_t tap = 0; tap < g.taps; tap++) {
          const int64_t ky = tap / w.kernel[1], kx = tap % w.kernel[1];
          const Inside ys = inside(w, 0, ky, g.height, g.rows), xs = inside(w, 1, kx, g.width, g.columns);
          const int64_t x0 = kx * w.dilation[1] - w.padding[1], y0 = ky * w.dilation[0] - w.padding[0];
          for (int64_t y = ys.begin; y < ys.end; y++) {
            const T* from = in.as<T>() + (p * g.taps + tap) * positions + y * g.columns;
            T* row = plane + (y0 + y * w.stride[0]) * g.width + x0;
            for (int64_t x = xs.begin; x < xs.end; x++) {
              T& a = row[x * w.stride[1]];
              if constexpr (std::is_same_v<T, bool>) a = a || from[x];
              else if constexpr (std::is_integral_v<T>) a = static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(from[x]));
              else a += from[x];
            }
          }
        }
      }
    });
  });
  to.finish();
}

}  // namespace cresset::kernels
