#pragma once
// Running sums and products of equal input and output dtypes, accumulated in double (floating dtypes) or int64.

#include <cstdint>

#include "cresset/base/dtype.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {

// `length` steps of `columns` neighbouring elements: out[j][c] = in[0][c] + ... + in[j][c]. Steps are in_step and out_step elements apart.
struct ScanProblem {
  bool product;
  ScalarType dtype;
  const void* in;
  void* out;
  int64_t length, columns, in_step, out_step;
};

inline bool scan_takes(ScalarType t) {
  return t == ScalarType::Float || t == ScalarType::Double || t == ScalarType::Half || t == ScalarType::BFloat16 || t == ScalarType::Long;
}

}  // namespace cresset::kernels

CRESSET_DECLARE_KERNEL(void, scan, (const ScanProblem& p))
