#pragma once
// The walk shared by all kernels that use one index array: tables of dense elements and the places their indices name.

#include "cresset/kernels/common/strided.h"
#include "cresset/kernels/index/cpu/index_rows.h"

namespace cresset::kernels {

struct IndexedBase {
  const void* data;
  IntArrayRef strides;  // over the dense array's dimensions, in elements; 0 where the index decides
  int64_t step;         // elements from one index to the next
  int64_t wrap = 0;     // added to negative indices
};

// Calls kernel(table) for all of `dense`. index_strides go over dense's dimensions. Sources meet only along the dimensions from
// ordered_begin to ordered_end; their order is kept there.
template <class F> void for_each_table(const Strided& dense, const IndexedBase& base, const Strided& index, IntArrayRef index_strides, int64_t ordered_begin,
                                       int64_t ordered_end, F kernel) {
  const int64_t item = dense.item();
  StridedWalk walk(dense.sizes);
  walk.add(dense);
  walk.add(base.data, base.strides, item);
  walk.add(index.data, index_strides, index.item());
  for (int64_t d = ordered_begin; d < ordered_end; d++) walk.mark_ordered(d);
  walk.plan();
  walk.run_tables([&](char* const* p, const int64_t* s, int64_t n, const int64_t* row, int64_t rows) {
    kernel(IndexTable{p[0], p[1], p[2], s[0], s[1], s[2], row[0], row[1], row[2], base.step * item, base.wrap, n, rows});
  });
}

}  // namespace cresset::kernels
