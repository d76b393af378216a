#pragma once
// Sparse kernels of ops of other families, as the table lists them. None records gradients: they run below autograd.

#include "cresset/dispatch/op.h"
#include "cresset/ops/sparse/sparse.h"

namespace cresset::ops::sparse {

Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha);
Tensor& add_(Tensor& self, const Tensor& other, const Scalar& alpha);
Tensor sub(const Tensor& self, const Tensor& other, const Scalar& alpha);
Tensor& sub_(Tensor& self, const Tensor& other, const Scalar& alpha);
Tensor add_number(const Tensor& self, const Scalar& other, const Scalar& alpha);
Tensor mul(const Tensor& self, const Tensor& other);
Tensor mul_number(const Tensor& self, const Scalar& other);
Tensor div(const Tensor& self, const Tensor& other);
Tensor div_number(const Tensor& self, const Scalar& other);
Tensor div_number_mode(const Tensor& self, const Scalar& other, std::optional<std::string_view> rounding_mode);
Tensor floor_divide(const Tensor& self, const Tensor& other);
Tensor floor_divide_number(const Tensor& self, const Scalar& other);
Tensor div_mode(const Tensor& self, const Tensor& other, std::optional<std::string_view> rounding_mode);
Tensor pow(const Tensor& self, const Scalar& exponent);

Tensor sum(const Tensor& self, std::optional<ScalarType> dtype);
Tensor sum_dims(const Tensor& self, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype);
Tensor any(const Tensor& self);
Tensor norm(const Tensor& self, const Scalar& ord, OptionalIntArrayRef dim, bool keepdim, std::optional<ScalarType> dtype);

Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1);
Tensor t(const Tensor& self);
Tensor permute(const Tensor& self, IntArrayRef dims);
Tensor unsqueeze(const Tensor& self, int64_t dim);
Tensor select(const Tensor& self, int64_t dim, int64_t index);
Tensor squeeze(const Tensor& self, int64_t dim);
std::vector<Tensor> unbind(const Tensor& self, int64_t dim);
Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index);
Tensor narrow_copy(const Tensor& self, int64_t dim, int64_t start, int64_t length);
Tensor cat(TensorList tensors, int64_t dim);

Tensor mm(const Tensor& self, const Tensor& mat2);
Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha);
Tensor mv(const Tensor& self, const Tensor& vec);
Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha);
Tensor bmm(const Tensor& self, const Tensor& mat2);

Tensor clone(const Tensor& self, std::optional<MemoryFormat> memory_format);
Tensor to_copy(const Tensor& self, const TensorOptions& options, bool non_blocking, std::optional<MemoryFormat> memory_format);
Tensor& copy_(Tensor& self, const Tensor& src, bool non_blocking);
Tensor& zero_(Tensor& self);
Tensor& resize_(Tensor& self, IntArrayRef size, std::optional<MemoryFormat> memory_format);
Tensor empty(IntArrayRef size, const TensorOptions& options, std::optional<MemoryFormat> memory_format);

Tensor threshold_backward(const Tensor& grad, const Tensor& self, const Scalar& threshold);

// Any op of one tensor that keeps zeros, on the values alone.
void on_values(const dispatch::OpEntry& op, dispatch::Stack& stack);
void draw_values_(const dispatch::OpEntry& op, dispatch::Stack& stack);

}  // namespace cresset::ops::sparse
