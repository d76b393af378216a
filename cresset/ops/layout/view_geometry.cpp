#include "cresset/ops/layout/view_geometry.h"

#include "cresset/base/error.h"
#include "cresset/core/layout.h"

namespace cresset::ops {

int64_t wrap_dim(int64_t dim, int64_t n, bool wrap_scalar) {
  if (n == 0) {
    CRESSET_CHECK_INDEX(wrap_scalar, "dimension ", dim, " specified for a tensor that has no dimensions");
    n = 1;
  }
  CRESSET_CHECK_INDEX(dim >= -n && dim < n, "dimension out of range, got ", dim, ", expected a value in [", -n, ", ", n - 1, "]");
  return dim < 0 ? dim + n : dim;
}

uint64_t dim_mask(IntArrayRef dims, int64_t n) {
  CRESSET_CHECK(n <= 64, "only tensors with up to 64 dimensions are supported, got ", n);
  uint64_t mask = 0;
  for (const int64_t d : dims) {
    const uint64_t bit = uint64_t{1} << wrap_dim(d, n);
    CRESSET_CHECK(!(mask & bit), "dim ", d, " is named more than once in dims ", dims);
    mask |= bit;
  }
  return mask;
}

std::optional<DimVector> view_strides(IntArrayRef old_sizes, IntArrayRef old_strides, IntArrayRef sizes) {
  int64_t numel = 1;
  for (const int64_t s : old_sizes) numel *= s;
  if (numel == 0) return old_sizes == sizes ? DimVector(old_strides) : contiguous_strides(sizes);
  DimVector strides(sizes.size());
  // From the last dimension on: collect a run of old dimensions that lie densely in one another, and fill it with new ones.
  int64_t at = static_cast<int64_t>(sizes.size()) - 1;
  int64_t step = old_strides.empty() ? 1 : old_strides.back();
  int64_t run = 1, filled = 1;
  for (int64_t d = static_cast<int64_t>(old_sizes.size()) - 1; d >= 0; d--) {
    run *= old_sizes[d];
    if (d != 0 && (old_sizes[d - 1] == 1 || old_strides[d - 1] == run * step)) continue;
    while (at >= 0 && (filled < run || sizes[at] == 1)) {
      strides[at] = filled * step;
      filled *= sizes[at];
      at--;
    }
    if (filled != run) return std::nullopt;
    if (d > 0) {
      step = old_strides[d - 1];
      run = filled = 1;
    }
  }
  // A 0-d source: every new size is 1.
  for (; at >= 0; at--) {
    if (sizes[at] != 1) return std::nullopt;
    strides[at] = 1;
  }
  return strides;
}

DimVector infer_size(IntArrayRef sizes, int64_t numel) {
  DimVector result(sizes);
  int64_t known = 1, unknown = -1;
  for (size_t d = 0; d < sizes.size(); d++) {
    if (sizes[d] == -1) {
      CRESSET_CHECK(unknown < 0, "only one dimension can be inferred, got shape ", sizes);
      unknown = static_cast<int64_t>(d);
      continue;
    }
    CRESSET_CHECK(sizes[d] >= 0, "invalid shape dimension ", sizes[d], " in ", sizes);
    CRESSET_CHECK(!__builtin_mul_overflow(known, sizes[d], &known), "the number of elements of shape ", sizes, " does not fit in 64 bits");
  }
  if (unknown >= 0 && known > 0 && numel % known == 0) {
    result[unknown] = numel / known;
    return result;
  }
  CRESSET_CHECK(unknown < 0 || known != 0, "cannot reshape a tensor of 0 elements into shape ", sizes,
                ": the unspecified dimension -1 can be any value and is ambiguous");
  CRESSET_CHECK(unknown < 0 && known == numel, "shape ", sizes, " is invalid for input of size ", numel);
  return result;
}

DimVector broadcast_shapes(IntArrayRef a, IntArrayRef b) {
  const size_t n = std::max(a.size(), b.size());
  DimVector result(n);
  for (size_t i = 0; i < n; i++) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    CRESSET_CHECK(x == y || x == 1 || y == 1, "shapes ", a, " and ", b, " cannot be broadcast: sizes ", x, " and ", y, " differ at dimension ", n - 1 - i,
                  " and neither is 1");
    result[n - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

}  // namespace cresset::ops
