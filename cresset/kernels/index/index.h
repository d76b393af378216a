#pragma once
// Reading and writing by index. Arrays are `Strided`: sizes and element strides as a tensor has them.
//
// Every index is checked before anything is written. Index arrays are int64 or int32; "wraps" says that -size..-1 count from
// the end. Results do not depend on the number of threads; where several sources meet in one place, they are applied in
// row-major order of the source. Unless said, self, out and values have one dtype, any of the fifteen. Outputs overlap no input.
// Errors: IndexError for an index out of range, except gather and scatter: Error (RuntimeError in Python), as in PyTorch.

#include "cresset/kernels/common/strided.h"

namespace cresset::kernels {

enum class ScatterReduce { sum, prod, mean, amax, amin };

// Shapes of these five: index.size(d) <= self.size(d) for d != dim, and <= src.size(d); 0-d arrays count as one element.
// out has index's shape: out[i][j][k] = self[index[i][j][k]][j][k] for dim = 0.
void gather(const Strided& out, const Strided& self, int64_t dim, const Strided& index);
// self[index[i][j][k]][j][k] = src[i][j][k] for dim = 0; the last source wins.
void scatter(const Strided& self, int64_t dim, const Strided& index, const Strided& src);
void scatter_value(const Strided& self, int64_t dim, const Strided& index, const Scalar& value);
void scatter_add(const Strided& self, int64_t dim, const Strided& index, const Strided& src);
// Means of integers round down; amax and amin keep NaN. `op` prefixes errors.
// Errors: NotImplementedError for mean of bool and for amax and amin of complex.
void scatter_reduce(const Strided& self, int64_t dim, const Strided& index, const Strided& src, ScatterReduce reduce, bool include_self,
                    const char* op = "scatter_reduce");

// Advanced indexing. indices[d] belongs to dimension d of self; an undefined Strided{} stands for `:`, as do missing trailing
// ones. The defined ones are broadcast (stride 0) to one common shape; they wrap. The result has the common shape in the place
// of the indexed dimensions if these are adjacent, else in front.
DimVector index_shape(IntArrayRef self_sizes, ArrayRef<Strided> indices);
// The strides of self over that shape, 0 along the common shape, which begins at `position`.
struct IndexStrides {
  DimVector strides;
  size_t position;
};
IndexStrides index_strides(IntArrayRef self_sizes, IntArrayRef self_strides, ArrayRef<Strided> indices);
void index(const Strided& out, const Strided& self, ArrayRef<Strided> indices);
// values is broadcast (stride 0) to index_shape. Accumulation is sequential; half and bfloat16 round at each addition, bool ors.
void index_put(const Strided& self, ArrayRef<Strided> indices, const Strided& values, bool accumulate);

// index is 1-d (or 0-d); out and source have self's shape but for index's length along dim.
void index_select(const Strided& out, const Strided& self, int64_t dim, const Strided& index);
void index_copy(const Strided& self, int64_t dim, const Strided& index, const Strided& source);
// self += alpha * source, where index says.
void index_add(const Strided& self, int64_t dim, const Strided& index, const Strided& source, const Scalar& alpha);
// Wraps.
void index_fill(const Strided& self, int64_t dim, const Strided& index, const Scalar& value);

// Rows of weight (V, D): out has index's shape and D behind.
void embedding(const Strided& out, const Strided& weight, const Strided& index);
// Overwrites grad_weight (V, D) with the sums of grad's rows by index; rows of padding_idx (if >= 0) are left out, and with
// scale_grad_by_freq each row is divided by the number of its occurrences. Half and bfloat16 are summed in float.
void embedding_backward(const Strided& grad_weight, const Strided& grad, const Strided& index, int64_t padding_idx, bool scale_grad_by_freq);

// A mask is bool or uint8 and, like the others here, broadcast (stride 0) to the common shape.
int64_t count_nonzero(const Strided& x);
// Coordinates of the elements that are not zero in row-major order: `out` is a contiguous (x.dim(), count) array.
void nonzero(int64_t* out, int64_t count, const Strided& x);
// `out` is contiguous and holds as many elements as the mask has true ones.
void masked_select(void* out, const Strided& self, const Strided& mask);
void masked_fill(const Strided& self, const Strided& mask, const Scalar& value);
// Takes consecutive elements of the contiguous `source`. Errors: fewer than the mask has true ones.
void masked_scatter(const Strided& self, const Strided& mask, const void* source, int64_t source_numel);

// Positions in the row-major order of self; they wrap. out, index and source have one shape.
void take(const Strided& out, const Strided& self, const Strided& index);
void put(const Strided& self, const Strided& index, const Strided& source, bool accumulate);

}  // namespace cresset::kernels
