#pragma once
// Reductions, variance, arg reductions and scans over any strides and any set of dimensions. Strides are in bytes.
// Results never depend on the number of threads.

#include <cstdint>

#include "cresset/base/array_ref.h"
#include "cresset/base/dtype.h"
#include "cresset/base/scalar.h"

namespace cresset::kernels {

// norm: |x| to the power `param` (0, 1, 2, inf, -inf or any p), summed, to the power 1/p. nansum and nanmean skip NaN.
enum class ReduceOp : uint8_t { sum, nansum, mean, nanmean, prod, max, min, all, any, norm, count_nonzero };

struct ReduceArgs {
  const char* in = nullptr;
  char* out = nullptr;
  ScalarType in_dtype = ScalarType::Undefined, out_dtype = ScalarType::Undefined;
  IntArrayRef shape{};  // of `in`
  IntArrayRef in_strides{};
  uint64_t reduce_mask = 0;   // bit d: dimension d is reduced
  IntArrayRef out_strides{};  // one per dimension of `in`; those of reduced dimensions are ignored
  Scalar param{};             // the p of `norm`
};

// sum, nansum, mean, prod: the input is converted to out_dtype's accumulation type (float for half and bfloat16, int64 for integers)
// before it is accumulated, so out_dtype is PyTorch's `dtype=`. max, min: out_dtype == in_dtype, NaN wins. all, any: any out_dtype
// (bool, or uint8 for uint8). norm: floating or complex in, real out. count_nonzero: int64 out.
// An empty reduction yields the identity (NaN for mean). Errors: max or min over nothing.
void reduce(ReduceOp op, const ReduceArgs& args);
// Each of `rows` dense rows of a floating dtype to a number of that dtype, with the bits that `reduce` gives it. False for other operations than sum, mean,
// prod, max and min, and where a row is no single run of the kernel.
CRESSET_API bool reduce_rows(ReduceOp op, ScalarType dtype, const char* in, int64_t rows, int64_t columns, char* out);

struct VarMeanArgs {
  const char* in = nullptr;
  char* var_out = nullptr;                   // may be null; real dtype of `dtype` (complex64 -> float32)
  char* mean_out = nullptr;                  // may be null; `dtype`
  ScalarType dtype = ScalarType::Undefined;  // floating or complex
  IntArrayRef shape{}, in_strides{};
  uint64_t reduce_mask = 0;
  IntArrayRef var_strides{}, mean_strides{};  // as ReduceArgs::out_strides
  double correction = 1;
  bool take_sqrt = false;  // the standard deviation instead of the variance
};
// Two exact passes over cache-sized pieces, joined by Chan's formula. Divisor max(0, n - correction).
void var_mean(const VarMeanArgs& args);

struct ArgReduceArgs {
  const char* in = nullptr;
  char* values = nullptr;                    // may be null; `dtype`
  char* indices = nullptr;                   // int64; may be null
  ScalarType dtype = ScalarType::Undefined;  // anything but complex
  IntArrayRef shape{}, in_strides{};
  int dim = -1;                                  // -1: over all elements, index in row-major order of `shape`; value_strides and index_strides are unused then
  IntArrayRef value_strides{}, index_strides{};  // one per dimension of `in`; that of `dim` is ignored
};
// The largest (smallest) element and its index: the first of several equal ones; NaN wins over everything, the first NaN is taken.
// Errors: nothing to choose from.
void arg_reduce(bool is_max, const ArgReduceArgs& args);

enum class CumOp : uint8_t { sum, prod, max, min, logsumexp };
struct CumulativeArgs {
  const char* in = nullptr;
  char* out = nullptr;
  char* indices = nullptr;  // int64, max and min only; may be null
  ScalarType in_dtype = ScalarType::Undefined, out_dtype = ScalarType::Undefined;
  IntArrayRef shape{}, in_strides{}, out_strides{}, index_strides{};
  int dim = 0;
};
// The inclusive scan along `dim`. sum, prod: any in_dtype to any out_dtype, as in `reduce`. max, min: equal dtypes, the last of equal
// elements gives the index, NaN sticks. logsumexp: equal floating or complex dtypes. `out` may be `in`.
void cumulative(CumOp op, const CumulativeArgs& args);

}  // namespace cresset::kernels
