#pragma once
// Running sums and products, accumulated in double (floating dtypes) or int64, and running extremes.

#include <cstdint>

#include "cresset/base/dtype.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {

// `length` steps of `columns` neighbouring elements: out[j][c] = in[0][c] + ... + in[j][c]. Steps are that many elements apart.
struct ScanProblem {
  bool product;
  ScalarType in_dtype, out_dtype;
  const void* in;
  void* out;
  int64_t length, columns, in_step, out_step;
};

// Equal dtypes, or any integer into int64.
inline bool scan_takes(ScalarType in, ScalarType out) {
  if (out == ScalarType::Long) return is_integral_type(in, true) && in != ScalarType::UInt64;
  return in == out && (out == ScalarType::Float || out == ScalarType::Double || out == ScalarType::Half || out == ScalarType::BFloat16);
}

// The same for the largest (smallest) element so far and where it is: the last of equal ones; a NaN sticks, with the place of the last one.
// `indices` may be null.
struct ScanOrderProblem {
  bool is_max;
  ScalarType dtype;
  const void* in;
  void* out;
  int64_t* indices;
  int64_t length, columns, in_step, out_step, index_step;
};

}  // namespace cresset::kernels

CRESSET_DECLARE_KERNEL(void, scan, (const ScanProblem& p))
CRESSET_DECLARE_AVX2_KERNEL(void, scan_order, (const ScanOrderProblem& p))
