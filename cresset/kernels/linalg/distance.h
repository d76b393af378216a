#pragma once
// p-norms of the differences of rows. Everything is contiguous but for the strides given, which count elements. float and double.

#include <cstdint>

#include "cresset/base/dtype.h"

namespace cresset::kernels {

// `batches` pairs of matrices x1 (rows1 x columns) and x2 (rows2 x columns), `batch1` and `batch2` elements apart.
struct DistanceArgs {
  ScalarType dtype = ScalarType::Undefined;
  const void *x1 = nullptr, *x2 = nullptr;
  int64_t batches = 1, rows1 = 0, rows2 = 0, columns = 0, batch1 = 0, batch2 = 0;
  double p = 2;
};

// out[b][i][j] = |x1[b][i] - x2[b][j]|_p.
void distances(const DistanceArgs& args, void* out);

// The gradient with respect to x1 from that of the distances and these, all contiguous. As in PyTorch a distance of 0 has the gradient 0, and
// all largest differences count in full for p = infinity.
struct DistanceGradArgs {
  DistanceArgs of;
  const void *grad = nullptr, *distance = nullptr;
};
void distances_backward(const DistanceGradArgs& args, void* out);

// The same for the pairs i < j of the rows of x (rows x columns), in order.
void pair_distances(ScalarType dtype, const void* x, int64_t rows, int64_t columns, double p, void* out);
void pair_distances_backward(ScalarType dtype, const void* x, const void* grad, const void* distance, int64_t rows, int64_t columns, double p, void* out);

}  // namespace cresset::kernels
