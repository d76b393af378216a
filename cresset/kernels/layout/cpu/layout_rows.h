#pragma once
// Tables of rows to copy or fill, and sequences.

#include <cstdint>

#include "cresset/base/dtype.h"
#include "cresset/kernels/isa.h"

namespace cresset::kernels {

// Steps in bytes: along a row, and from row to row.
struct CopyTable {
  char* to;
  const char* from;
  int64_t to_step, from_step, to_row, from_row;
  int64_t n, rows;
};

}  // namespace cresset::kernels

CRESSET_DECLARE_KERNEL(void, copy_table, (int64_t item, const CopyTable& table))
// Writes the element at `from` everywhere; its steps are not used.
CRESSET_DECLARE_KERNEL(void, fill_table, (int64_t item, const CopyTable& table))
// Contiguous floating sequences with PyTorch's roundings; see cresset/kernels/layout/sequence.cpp.
CRESSET_DECLARE_KERNEL(void, arange_floating, (ScalarType t, void* out, int64_t n, double start, double step))
CRESSET_DECLARE_KERNEL(void, arange_integral, (ScalarType t, void* out, int64_t n, uint64_t start, uint64_t step))
CRESSET_DECLARE_KERNEL(void, linspace_floating, (ScalarType t, void* out, int64_t n, double start, double end))
