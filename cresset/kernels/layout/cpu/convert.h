#pragma once
// 1-d element conversion between any two dtypes, with any byte strides.

#include "cresset/base/dtype.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {

using Convert = void (*)(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n);

}  // namespace cresset::kernels

CRESSET_DECLARE_KERNEL(Convert, converter_for, (ScalarType from, ScalarType to))

namespace cresset::kernels {

inline Convert converter(ScalarType from, ScalarType to) { return call(converter_for_stub)(from, to); }

}  // namespace cresset::kernels
