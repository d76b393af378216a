#pragma once
// Normalisation with weights and statistics already in the compute dtype (A: float, or double for double).

#include <cstdint>

#include "cresset/base/dtype.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {

// rms: no mean is subtracted, and there is neither mean nor bias.
struct RowNorm {
  ScalarType t;
  const char *x, *weight, *bias;  // T, A, A
  char *y, *mean, *rstd;          // T, A, A; mean and rstd may be null
  int64_t rows, cols;
  double eps;
  bool rms;
};

struct RowNormBackward {
  ScalarType t;
  const char *dy, *x, *mean, *rstd, *weight;  // T, T, A, A, A; mean is null for rms
  char *dx, *dweight, *dbias;                 // T, A, A; each may be null
  int64_t rows, cols;
  bool rms;
};

struct GroupNorm {
  ScalarType t;
  const char *x, *weight, *bias;
  char *y, *mean, *rstd;
  int64_t n, channels, spatial, groups;
  double eps;
};

struct GroupNormBackward {
  ScalarType t;
  const char *dy, *x, *mean, *rstd, *weight;
  char *dx, *dweight, *dbias;
  int64_t n, channels, spatial, groups;
};

struct BatchNorm {
  ScalarType t;
  const char *x, *weight, *bias;
  char *y, *mean, *var, *rstd;  // y may be null
  int64_t n, channels, spatial;
  double eps;
  const char* residual;  // may be null; columns have none, and no relu
  bool relu;
};

struct BatchNormApply {
  ScalarType t;
  const char *x, *weight, *bias, *mean, *rstd;
  char* y;
  int64_t n, channels, spatial;
  const char* residual;  // may be null; columns have none
  bool relu;
};

struct BatchNormBackward {
  ScalarType t;
  const char *dy, *x, *mean, *rstd, *weight;
  char *dx, *dweight, *dbias;  // dx may be null
  int64_t n, channels, spatial;
  bool train;
  const char* y;  // may be null; columns have none
};

}  // namespace cresset::kernels

CRESSET_DECLARE_KERNEL(void, row_norm, (const RowNorm& a))
CRESSET_DECLARE_KERNEL(void, row_norm_backward, (const RowNormBackward& a))
CRESSET_DECLARE_KERNEL(void, group_norm_kernel, (const GroupNorm& a))
CRESSET_DECLARE_KERNEL(void, group_norm_backward_kernel, (const GroupNormBackward& a))
// Batch norm by planes of contiguous elements, and by columns where spatial is 1.
CRESSET_DECLARE_KERNEL(void, batch_norm_kernel, (const BatchNorm& a))
CRESSET_DECLARE_KERNEL(void, batch_norm_apply, (const BatchNormApply& a))
CRESSET_DECLARE_KERNEL(void, batch_norm_backward_kernel, (const BatchNormBackward& a))
CRESSET_DECLARE_KERNEL(void, batch_norm_columns, (const BatchNorm& a))
CRESSET_DECLARE_KERNEL(void, batch_norm_apply_columns, (const BatchNormApply& a))
CRESSET_DECLARE_KERNEL(void, batch_norm_backward_columns, (const BatchNormBackward& a))
