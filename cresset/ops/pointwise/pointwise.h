#pragma once
// One path for every pointwise op: promotion, broadcasting, output strides, checks, and the run of a kernel.

#include "cresset/core/tensor.h"
#include "cresset/kernels/pointwise/pointwise.h"
#include "cresset/ops/support.h"

namespace cresset::ops {

// How the compute dtype follows from the arguments' common dtype.
enum class Promote : uint8_t {
  common,    // the common dtype
  floating,  // integers and bool become the default dtype
  first,     // the dtype of the first input, whatever the others are
};

// An op over a kernel. `mask` is the input that keeps its bool dtype, or -1; exact_out: `out` must have the result's dtype.
struct PointwiseOp {
  const char* name;
  const kernels::PointwiseKernel& kernel;
  Promote promote = Promote::common;
  int mask = -1;
  bool exact_out = false;
};

// An input: a tensor, or a number that is broadcast without becoming a tensor.
struct Arg {
  Arg(const Tensor& t) : tensor(&t) {}
  Arg(const Scalar& s) : scalar(&s) {}
  const Tensor* tensor = nullptr;
  const Scalar* scalar = nullptr;
};

// The dtype that the arguments promote to, by PyTorch's categories (dimensioned tensors, 0-d tensors, numbers).
ScalarType result_type(ArrayRef<Arg> args);

// Strides of a fresh dense result: its dimensions in the memory order of the inputs, whose strides over `shape` are given; the first
// input that tells two dimensions apart decides.
DimVector dense_strides(IntArrayRef shape, ArrayRef<DimVector> inputs);

// A new tensor. Errors: shapes that do not broadcast, devices that differ, dtypes without a kernel.
Tensor pointwise(const PointwiseOp& op, ArrayRef<Arg> args, const Scalar* params = nullptr);
// Into `out`, which is resized if its shape differs. Errors also: a result dtype that cannot be cast to out's, overlapping memory.
void pointwise_out(const PointwiseOp& op, ArrayRef<Arg> args, const Scalar* params, const Tensor& out);
// Into `self`, usually the first argument, whose shape must be the result's.
void pointwise_inplace(const PointwiseOp& op, ArrayRef<Arg> args, const Scalar* params, const Tensor& self);
// Errors unless what `self` and the others promote and broadcast to fits into `self`: asked before it is known whether there is a kernel.
void check_inplace_promotion(const char* op, const Tensor& self, const Inputs& others);

}  // namespace cresset::ops
