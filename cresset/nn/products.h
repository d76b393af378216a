#pragma once
// Products of several matrices at once and of float8 matrices with scales, as Python has them in torch.nn.functional.
// Include it by name: <cresset/nn/products.h>.

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "cresset/tensor.h"

namespace cresset::nn::functional {

// What a scale of scaled_mm is for. On the CPU both are for the whole matrix or both for its rows (columns).
enum class ScalingType : uint8_t { TensorWise, RowWise, BlockWise1x16, BlockWise1x32, BlockWise1x128, BlockWise128x128 };
// How the scales of blocks lie in memory.
enum class SwizzleType : uint8_t { NO_SWIZZLE, SWIZZLE_32_4_4 };

namespace detail {
inline std::vector<std::pair<int64_t, int64_t>> groups_of(int64_t count, const Tensor& offs) {
  CRESSET_CHECK(offs.scalar_type() == kInt && offs.dim() == 1 && offs.numel() > 0, "grouped_mm: offs has to be 1-d, int32 and not empty, got ", offs);
  std::vector<std::pair<int64_t, int64_t>> groups;
  const Tensor ends = offs.cpu().contiguous();
  int64_t start = 0;
  for (int64_t i = 0; i < ends.numel(); i++) {
    const int64_t end = ends.data_ptr<int32_t>()[i];
    CRESSET_CHECK(start <= end && end <= count, "grouped_mm: offs must ascend up to at most ", count, ", got ", end, " after ", start);
    groups.emplace_back(start, end);
    start = end;
  }
  return groups;
}

// a @ b over the groups of two matrices or stacks of them.
inline Tensor grouped(const char* name, const Tensor& a, const Tensor& b, const std::optional<Tensor>& offs) {
  CRESSET_CHECK((a.dim() == 2 || a.dim() == 3) && (b.dim() == 2 || b.dim() == 3), name, ": both matrices have to be 2- or 3-d, got shapes ", a.sizes(), " and ",
                b.sizes());
  CRESSET_CHECK(offs.has_value() == (a.dim() == 2 || b.dim() == 2), name,
                ": expected offsets with a matrix of two dimensions, and none without");
  CRESSET_CHECK(a.size(-1) == b.size(-2), name, ": contraction dimension of mat_a and mat_b must match, got shapes ", a.sizes(), " and ", b.sizes());
  if (!offs) {
    CRESSET_CHECK(a.size(0) == b.size(0), name, ": batched dimension has to match, got shapes ", a.sizes(), " and ", b.sizes());
    return a.matmul(b);
  }
  const bool both = a.dim() == b.dim();
  const auto groups = groups_of(both ? a.size(1) : a.dim() == 2 ? a.size(0) : b.size(1), *offs);
  const int64_t matrices = both ? static_cast<int64_t>(groups.size()) : a.dim() == 3 ? a.size(0) : b.size(0);
  CRESSET_CHECK(matrices == static_cast<int64_t>(groups.size()), name, ": matrix batch sizes have to match, got ", matrices, " matrices and ", groups.size(), " offsets");
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < matrices; i++) {
    const auto [start, end] = groups[static_cast<size_t>(i)];
    const int64_t n = end - start;
    parts.push_back(both ? a.narrow(1, start, n).matmul(b.narrow(0, start, n))
                    : a.dim() == 2 ? a.narrow(0, start, n).matmul(b[i]) : a[i].matmul(b.narrow(1, start, n)));
  }
  if (both) return stack(parts);
  const int64_t rest = (a.dim() == 2 ? a.size(0) : b.size(1)) - groups.back().second;
  if (rest) parts.push_back(a.dim() == 2 ? zeros({rest, b.size(2)}, parts[0].options()) : zeros({a.size(1), rest}, parts[0].options()));
  return cat(parts, a.dim() == 2 ? 0 : 1);
}

inline void check_scaling(const char* name, ScalingType a, ScalingType b, SwizzleType swizzle_a, SwizzleType swizzle_b) {
  CRESSET_CHECK_VALUE(a == b && (a == ScalingType::TensorWise || a == ScalingType::RowWise), name,
                      ": Invalid scaling configuration. On the CPU both scales are TensorWise or both RowWise");
  CRESSET_CHECK_VALUE(swizzle_a == SwizzleType::NO_SWIZZLE && swizzle_b == SwizzleType::NO_SWIZZLE, name, ": only the scales of blocks are swizzled");
}
}  // namespace detail

// Products of several pairs of matrices: of stacks (G, M, K) and (G, K, N), or with one or both 2-d, whose groups end at `offs` (int32, ascending).
// What comes after the last group gives zeros. Errors: shapes, offsets and dtypes that do not fit.
inline Tensor grouped_mm(const Tensor& mat_a, const Tensor& mat_b, const std::optional<Tensor>& offs = std::nullopt) {
  const ScalarType t = mat_a.scalar_type();
  CRESSET_CHECK(t == kFloat || t == kBFloat16 || t == kHalf, "grouped_mm: expected a matrix of float32, bfloat16 or float16, got ", t);
  CRESSET_CHECK(mat_b.scalar_type() == t, "grouped_mm: expected matrices of one dtype, got ", t, " and ", mat_b.scalar_type());
  return detail::grouped("grouped_mm", mat_a, mat_b, offs);
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
  CRESSET_CHECK(mat_a.itemsize() == 1 && mat_b.itemsize() == 1, name, ": expected float8 matrices, got ", mat_a.scalar_type(), " and ", mat_b.scalar_type());
  const Tensor a = mat_a.to(kFloat), b = mat_b.to(kFloat);
  if (mat_a.dim() == 2 && mat_b.dim() == 2) {
    const int64_t groups = offs ? offs->numel() : 0;
    CRESSET_CHECK(scale_a.numel() == groups * a.size(0) && scale_b.numel() == groups * b.size(1), name, ": expected scales of ", groups * a.size(0), " and ",
                  groups * b.size(1), " elements, got ", scale_a.sizes(), " and ", scale_b.sizes());
    return (detail::grouped(name, a, b, offs) * scale_a.view({groups, -1, 1}) * scale_b.view({groups, 1, -1})).to(output_dtype);
  }
  CRESSET_CHECK(scale_a.dim() == a.dim() - 1 && scale_b.dim() == b.dim() - 1 && scale_a.size(-1) == a.size(-2) && scale_b.size(-1) == b.size(-1), name,
                ": expected a scale for each row and column, got ", scale_a.sizes(), " and ", scale_b.sizes());
  return detail::grouped(name, a * scale_a.unsqueeze(-1), b * scale_b.unsqueeze(-2), offs).to(output_dtype);
}

}  // namespace cresset::nn::functional
