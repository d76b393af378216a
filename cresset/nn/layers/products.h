#pragma once
// Products of several matrices at once and of float8 matrices with scales, as Python has them in torch.nn.functional.
// Include it by name: <cresset/nn/layers/products.h>.

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "cresset/tensor.h"

namespace cresset::nn::functional {

// The part of a matrix that a scale of scaled_mm is for. On the CPU both are for the whole matrix or both for its rows (columns).
enum class ScalingType : uint8_t { TensorWise, RowWise, BlockWise1x16, BlockWise1x32, BlockWise1x128, BlockWise128x128 };
// How the scales of blocks lie in memory.
enum class SwizzleType : uint8_t { NO_SWIZZLE, SWIZZLE_32_4_4 };

namespace detail {
inline void check_scaling(const char* name, ScalingType a, ScalingType b, SwizzleType swizzle_a, SwizzleType swizzle_b) {
  CRESSET_CHECK_VALUE(a == b && (a == ScalingType::TensorWise || a == ScalingType::RowWise), name,
                      ": Invalid scaling configuration. On the CPU both scales are TensorWise or both RowWise");
  CRESSET_CHECK_VALUE(swizzle_a == SwizzleType::NO_SWIZZLE && swizzle_b == SwizzleType::NO_SWIZZLE, name, ": only the scales of blocks are swizzled");
}
}  // namespace detail

// Products of several pairs of matrices: of stacks (G, M, K) and (G, K, N), or with one or both 2-d, whose groups end at `offs` (int32, ascending).
// Rows after the last group give zeros. Errors: shapes, offsets and dtypes that do not fit.
inline Tensor grouped_mm(const Tensor& mat_a, const Tensor& mat_b, const std::optional<Tensor>& offs = std::nullopt) {
  return cresset::_grouped_mm(mat_a, mat_b, offs);
}

// (mat_a * scale_a) @ (mat_b * scale_b) + bias of float8 matrices (M, K) and (K, N): one float32 scale each, or (M, 1) and (1, N).
inline Tensor scaled_mm(const Tensor& mat_a, const Tensor& mat_b, const Tensor& scale_a, ScalingType scale_recipe_a, const Tensor& scale_b,
                        ScalingType scale_recipe_b, SwizzleType swizzle_a = SwizzleType::NO_SWIZZLE, SwizzleType swizzle_b = SwizzleType::NO_SWIZZLE,
                        const std::optional<Tensor>& bias = std::nullopt, ScalarType output_dtype = kBFloat16, bool use_fast_accum = false) {
  detail::check_scaling("scaled_mm", scale_recipe_a, scale_recipe_b, swizzle_a, swizzle_b);
  return cresset::_scaled_mm(mat_a, mat_b, scale_a, scale_b, bias, std::nullopt, output_dtype, use_fast_accum);
}

// grouped_mm of float8 matrices with RowWise scales: (G, M) and (G, N) for 3-d matrices, (M) and (N) for a 2-d one whose rows or columns are in
// groups, (G*M) and (G*N) where both are 2-d.
inline Tensor scaled_grouped_mm(const Tensor& mat_a, const Tensor& mat_b, const Tensor& scale_a, ScalingType scale_recipe_a, const Tensor& scale_b,
                                ScalingType scale_recipe_b, SwizzleType swizzle_a = SwizzleType::NO_SWIZZLE, SwizzleType swizzle_b = SwizzleType::NO_SWIZZLE,
                                const std::optional<Tensor>& offs = std::nullopt, ScalarType output_dtype = kBFloat16) {
  const char* name = "scaled_grouped_mm";
  detail::check_scaling(name, scale_recipe_a, scale_recipe_b, swizzle_a, swizzle_b);
  CRESSET_CHECK_VALUE(scale_recipe_a == ScalingType::RowWise, name, ": scales are RowWise");
  return cresset::_scaled_grouped_mm(mat_a, mat_b, scale_a, scale_b, offs, std::nullopt, std::nullopt, output_dtype);
}

}  // namespace cresset::nn::functional
