#pragma once
// Layer, group, batch and RMS normalisation of contiguous arrays: half, bfloat16 (computed in float), float, double.
// Weights and saved statistics have dtypes of their own: that of x, or float for a half or bfloat16 x.

#include <cstdint>

#include "cresset/base/dtype.h"

namespace cresset::kernels {

struct NormDtypes {
  ScalarType x = ScalarType::Float;      // of x, y, dy, dx
  ScalarType param = ScalarType::Float;  // of weight, bias and their gradients
  ScalarType stat = ScalarType::Float;   // of mean, rstd and running statistics
};

// x is (rows, cols): y = (x - mean) * rstd * weight + bias with one mean and rstd = 1/sqrt(var + eps) a row.
struct LayerNormArgs {
  const char *x = nullptr, *weight = nullptr, *bias = nullptr;  // weight (cols) and bias (cols) may be null
  char *y = nullptr, *mean = nullptr, *rstd = nullptr;          // mean (rows) and rstd (rows) may be null
  NormDtypes dtypes{};
  int64_t rows = 0, cols = 0;
  double eps = 1e-5;
};
void layer_norm(const LayerNormArgs& args);

struct LayerNormBackwardArgs {
  const char *dy = nullptr, *x = nullptr, *mean = nullptr, *rstd = nullptr, *weight = nullptr;  // weight may be null
  char *dx = nullptr, *dweight = nullptr, *dbias = nullptr;                                     // each may be null
  NormDtypes dtypes{};
  int64_t rows = 0, cols = 0;
};
void layer_norm_backward(const LayerNormBackwardArgs& args);

// y = x * rstd * weight, rstd = 1/sqrt(mean(x^2) + eps) a row.
struct RmsNormArgs {
  const char *x = nullptr, *weight = nullptr;  // weight (cols) may be null
  char *y = nullptr, *rstd = nullptr;          // rstd (rows) may be null
  NormDtypes dtypes{};
  int64_t rows = 0, cols = 0;
  double eps = 1e-6;
};
void rms_norm(const RmsNormArgs& args);

struct RmsNormBackwardArgs {
  const char *dy = nullptr, *x = nullptr, *rstd = nullptr, *weight = nullptr;  // weight may be null
  char *dx = nullptr, *dweight = nullptr;                                      // each may be null
  NormDtypes dtypes{};
  int64_t rows = 0, cols = 0;
};
void rms_norm_backward(const RmsNormBackwardArgs& args);

// x is (n, channels, spatial); mean and rstd are (n, groups), weight and bias (channels). instance_norm is groups == channels.
struct GroupNormArgs {
  const char *x = nullptr, *weight = nullptr, *bias = nullptr;  // weight and bias may be null
  char *y = nullptr, *mean = nullptr, *rstd = nullptr;          // mean and rstd may be null
  NormDtypes dtypes{};
  int64_t n = 0, channels = 0, spatial = 0, groups = 1;
  double eps = 1e-5;
};
void group_norm(const GroupNormArgs& args);

struct GroupNormBackwardArgs {
  const char *dy = nullptr, *x = nullptr, *mean = nullptr, *rstd = nullptr, *weight = nullptr;  // weight may be null
  char *dx = nullptr, *dweight = nullptr, *dbias = nullptr;                                     // each may be null
  NormDtypes dtypes{};
  int64_t n = 0, channels = 0, spatial = 0, groups = 1;
};
void group_norm_backward(const GroupNormBackwardArgs& args);

// x is (n, channels, spatial); statistics, weight and bias are (channels).
struct BatchNormArgs {
  const char *x = nullptr, *weight = nullptr, *bias = nullptr;  // weight and bias may be null
  char *y = nullptr, *mean = nullptr, *rstd = nullptr;          // batch statistics, written; each may be null
  char *running_mean = nullptr, *running_var = nullptr;         // updated in place; each may be null
  NormDtypes dtypes{};
  int64_t n = 0, channels = 0, spatial = 0;
  double momentum = 0.1, eps = 1e-5;
  // y = max(y + residual, 0), where there is a residual, like x, and `relu` is set; not for a spatial of 1.
  const char* residual = nullptr;
  bool relu = false;
};
// Normalises with the batch's own statistics; running += momentum * (batch - running), with the unbiased variance.
// y may be null: only the statistics are computed then.
CRESSET_API void batch_norm_train(const BatchNormArgs& args);

// y = (x - mean) / sqrt(var + eps) * weight + bias, then + residual, then max(y, 0). y may be x.
struct BatchNormEvalArgs {
  const char *x = nullptr, *weight = nullptr, *bias = nullptr, *mean = nullptr, *var = nullptr;  // weight and bias may be null
  char* y = nullptr;
  NormDtypes dtypes{};
  int64_t n = 0, channels = 0, spatial = 0;
  double eps = 1e-5;
  const char* residual = nullptr;  // like x
  bool relu = false;
  const char* rstd = nullptr;  // in the place of var and eps: the reciprocal deviation, as training gives it with the same y
};
CRESSET_API void batch_norm_eval(const BatchNormEvalArgs& args);

struct BatchNormBackwardArgs {
  const char *dy = nullptr, *x = nullptr, *weight = nullptr;  // weight may be null
  const char *mean = nullptr, *rstd = nullptr;                // the batch's (train) or derived from the running ones (eval)
  char *dx = nullptr, *dweight = nullptr, *dbias = nullptr;   // each may be null
  NormDtypes dtypes{};
  int64_t n = 0, channels = 0, spatial = 0;
  bool train = true;  // the statistics depend on x
  // The result of relu behind the norm: dy counts where it is above 0. With a dx, which may be dy; not for a spatial of 1.
  const char* y = nullptr;
};
CRESSET_API void batch_norm_backward(const BatchNormBackwardArgs& args);

}  // namespace cresset::kernels
