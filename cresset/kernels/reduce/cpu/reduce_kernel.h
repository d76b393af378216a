#pragma once
// The interface of an op to the reduction driver (kernels/reduce/reduce.cpp): to reduce a tile of rows or of columns into fresh accumulators, and to
// join accumulators. An accumulator is a plain number, or one of the structs below.

#include <cstdint>

#include "cresset/base/dtype.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {

enum class ReduceFn : uint8_t {
  sum,
  nansum,
  prod,
  max,
  min,
  all,
  any,
  count_nonzero,
  count_valid,
  sum_abs,
  sum_squares,
  max_abs,
  min_abs,
  sum_cubes,
  sum_powers,
  moments,
  arg_max,
  arg_min,
};

// Count, mean and sum of squared deviations.
struct Moments {
  double n, mean, m2;
};

// The best value so far, bit-copied into 8 bytes, and its index; -1: none yet.
struct Best {
  char value[8];
  int64_t index;
};

struct ReduceKernel {
  ScalarType acc_dtype;  // Undefined for Moments and Best
  int acc_size;
  // acc[r] = the reduction of the n elements at in + r * row_stride, `stride` bytes apart; n is at most kMaxRun.
  void (*inner)(const char* in, int64_t rows, int64_t row_stride, int64_t n, int64_t stride, int64_t base, double param, char* acc);
  // acc[c] = the reduction of the `rows` elements at in + c * col_stride, `row_stride` bytes apart; cols is at most kMaxCols.
  void (*outer)(const char* in, int64_t rows, int64_t row_stride, int64_t cols, int64_t col_stride, int64_t base, double param, char* acc);
  // acc[i] = acc[i] joined with other[i], which stands for later elements.
  void (*join)(char* acc, const char* other, int64_t n);
  // Reductions of up to so many elements are joined one after the other, longer ones as a tree.
  int64_t longest_in_order = 0;
};

constexpr int64_t kMaxRun = 65536, kMaxCols = 2048, kMaxRows = 256;

// The kernel for elements of a dtype, which fixes the accumulator: float for half types, int64 for integers in sums and products,
// the dtype itself for max and min, bool for all and any. nullptr if there is none.
using ReduceKernelPtr = const ReduceKernel*;

}  // namespace cresset::kernels

CRESSET_DECLARE_KERNEL(ReduceKernelPtr, sum_kernel_for, (ReduceFn fn, ScalarType t))
CRESSET_DECLARE_KERNEL(ReduceKernelPtr, order_kernel_for, (ReduceFn fn, ScalarType t))
CRESSET_DECLARE_KERNEL(ReduceKernelPtr, logic_kernel_for, (ReduceFn fn, ScalarType t))
CRESSET_DECLARE_KERNEL(ReduceKernelPtr, norm_kernel_for, (ReduceFn fn, ScalarType t))
CRESSET_DECLARE_KERNEL(ReduceKernelPtr, moments_kernel_for, (ReduceFn fn, ScalarType t))
CRESSET_DECLARE_KERNEL(ReduceKernelPtr, arg_kernel_for, (ReduceFn fn, ScalarType t))
