#pragma once
// Tags that a definition may set on its op beside the schema.

#include <cstdint>

namespace cresset::dispatch {

enum class Tag : uint8_t {
  core,
  cudagraph_unsafe,
  data_dependent_output,
  dynamic_output_shape,
  flexible_layout,
  generated,
  inplace,
  inplace_view,
  maybe_aliasing_or_mutating,
  needs_contiguous_strides,
  needs_exact_strides,
  needs_fixed_stride_order,
  nondeterministic_bitwise,
  nondeterministic_seeded,
  out,
  out_variant,
  pointwise,
  pt2_compliant_tag,
  reduction,
  view_copy
};

// How a graph may take the op's reads and writes: as its schema says, as none, or as anything.
enum class AliasAnalysis : uint8_t {
  InternalSpecialCase,
  Conservative,
  FromSchema,
  PureFunction,
  INTERNAL_SPECIAL_CASE = InternalSpecialCase,
  CONSERVATIVE = Conservative,
  FROM_SCHEMA = FromSchema,
  PURE_FUNCTION = PureFunction,
};

}  // namespace cresset::dispatch
