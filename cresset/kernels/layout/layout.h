#pragma once
// Kernels that place elements: joining, turning, repeating, sequences, triangles. Arrays are `Strided` (element strides); all
// arrays of a call have one dtype, any of the fifteen unless said. Outputs overlap no input unless said.

#include "cresset/kernels/common/strided.h"

namespace cresset::kernels {

// The inputs one behind the other along dim; each has out's shape but for its own length along dim. Inputs of shape [0] are skipped.
void cat(const Strided& out, ArrayRef<Strided> inputs, int64_t dim);
void flip(const Strided& out, const Strided& self, IntArrayRef dims);
// Elements move by shifts[i] along dims[i]; those pushed out come back in at the other end. A dim may occur more than once.
void roll(const Strided& out, const Strided& self, IntArrayRef shifts, IntArrayRef dims);
// out.size(d) = repeats[d] * self.size(d - (repeats.size() - self.dim())), missing leading sizes being 1.
void repeat(const Strided& out, const Strided& self, IntArrayRef repeats);
// repeats is a contiguous int64 array with one count for each index along dim. Errors: negative counts.
void repeat_interleave(const Strided& out, const Strided& self, const int64_t* repeats, int64_t dim);

// The last two dimensions are matrices. Elements above (tril) or below (triu) diagonal k become zero; out may be self.
void tril(const Strided& out, const Strided& self, int64_t k);
void triu(const Strided& out, const Strided& self, int64_t k);
// Ones at index: out has index's shape and the number of classes behind; int64 index.
// Errors: Error if an index is negative or not below the number of classes.
void one_hot(const Strided& out, const Strided& index);

// 1-d sequences, bit for bit those of PyTorch on one thread. Not for bool, and arange not for complex.
void arange(const Strided& out, const Scalar& start, const Scalar& step);
// The same for floating dtypes with every element computed on its own, in double (float for low precision).
void range(const Strided& out, double start, double step);
void linspace(const Strided& out, const Scalar& start, const Scalar& end);
void logspace(const Strided& out, const Scalar& start, const Scalar& end, double base);

enum class PadMode { reflect, replicate, circular };

// pads is PyTorch's list: (before, after) of the last dimension first; negative ones cut off.
void pad_constant(const Strided& out, const Strided& self, IntArrayRef pads, const Scalar& value);
// Errors: Error if a pad is too large for the mode (reflect: size - 1, circular: size) or the input has no element.
void pad(const Strided& out, const Strided& self, IntArrayRef pads, PadMode mode);
// Overwrites grad_input with the sums of grad over the places each element was copied to.
void pad_backward(const Strided& grad_input, const Strided& grad, IntArrayRef pads, PadMode mode);

enum class ResizeMode { nearest, nearest_exact, linear, cubic, lanczos };

struct ResizeOptions {
  ResizeMode mode = ResizeMode::nearest;
  bool align_corners = false;
  bool antialias = false;  // linear and cubic; lanczos always
  // Output size over input size as the user gave it, for each spatial dimension; 0: from the sizes.
  double scales[3] = {0, 0, 0};
};

// (N, C, 1 to 3 spatial dimensions). Nearest modes take any dtype, the others float, double, half, bfloat16 and uint8, the last
// rounded to nearest.
void resize(const Strided& out, const Strided& self, const ResizeOptions& options);
// Overwrites grad_input; floating dtypes.
void resize_backward(const Strided& grad_input, const Strided& grad, const ResizeOptions& options);

struct Window2d {
  int64_t kernel[2], dilation[2], padding[2], stride[2];
  int64_t positions(int64_t size, int d) const { return (size + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1; }
};

// self (N, C, H, W) to out (N, C * kh * kw, positions), and the sum back: out (N, C, H, W) from columns.
void im2col(const Strided& out, const Strided& self, const Window2d& window);
void col2im(const Strided& out, const Strided& columns, const Window2d& window);

}  // namespace cresset::kernels
