#pragma once
// Gradient rules that are longer than a line, by family. Each is written with differentiable ops, so that it differentiates again.

#include "cresset/ops/functions.h"

namespace cresset::autograd::rules {

// The gradient, by a formula whose node saves tensors that it does not read, as PyTorch's does: a second backward, or one after they were
// changed in place, is refused as there.
template <class... Saved> Tensor also_saving(Tensor gradient, const Saved&...) { return gradient; }

// Pointwise functions (rules/pointwise.cpp). Complex gradients follow PyTorch's convention: the conjugate Wirtinger derivative.
Scalar one_minus(const Scalar& weight);
Tensor div_other_backward(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor pow_backward(const Tensor& grad, const Tensor& self, const Scalar& exponent);
Tensor pow_self_backward(const Tensor& grad, const Tensor& self, const Tensor& exponent);
Tensor pow_exponent_backward(const Tensor& grad, const Tensor& self, const Tensor& exponent, const Tensor& result);
Tensor angle_backward(const Tensor& grad, const Tensor& self);
Tensor sgn_backward(const Tensor& grad, const Tensor& self, const Tensor& sgn);
Tensor copysign_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor xlogy_self_backward(const Tensor& grad, const Tensor& self, const Tensor& other);
// Of maximum and minimum, but for where the other one won: half where they are equal.
Tensor extreme_backward(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor clamp_backward(const Tensor& grad, const Tensor& self, const std::optional<Scalar>& min, const std::optional<Scalar>& max);
Tensor clamp_backward(const Tensor& grad, const Tensor& self, const std::optional<Tensor>& min, const std::optional<Tensor>& max);
Tensor clamp_min_backward(const Tensor& grad, const Tensor& self, const std::optional<Tensor>& min, const std::optional<Tensor>& max);
Tensor clamp_max_backward(const Tensor& grad, const Tensor& self, const std::optional<Tensor>& min, const std::optional<Tensor>& max);
// Second derivatives of activations: the gradient of their backward op by its input.
Tensor elu_double_backward(const Tensor& grad, const Tensor& grad_output, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale, bool is_result,
                           const Tensor& self_or_result);
Tensor gelu_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self, std::string_view approximate);
Tensor silu_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self);
Tensor mish_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self);
Tensor softplus_double_backward(const Tensor& grad, const Tensor& self, const Scalar& beta, const Scalar& threshold);

// Matrix products (rules/matmul.cpp).
// x * factor, without a pass for a factor of one.
Tensor scaled(const Tensor& x, const Scalar& factor);
// Of left.mm(right): column by column if `strides`, of the factor itself, are a transposed matrix's: the gradient of weight.t() then lies as weight does.
Tensor mm_left_backward(const Tensor& grad, const Tensor& right, IntArrayRef strides);
Tensor mm_right_backward(const Tensor& grad, const Tensor& left, IntArrayRef strides);

// Samples (rules/random.cpp): `distribution` as in ops/random.toml.
Tensor sample_distribution_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t distribution);
Tensor sample_slope_backward();  // refuses, as PyTorch does

// Views (rules/view.cpp): the gradient put back into a tensor of the input's shape, zeros elsewhere.
Tensor permute_backward(const Tensor& grad, IntArrayRef dims);
Tensor select_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, int64_t index);
Tensor slice_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step);
Tensor narrow_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, int64_t start, int64_t length);
Tensor diagonal_backward(const Tensor& grad, IntArrayRef sizes, int64_t offset, int64_t dim1, int64_t dim2);
Tensor unfold_backward(const Tensor& grad, IntArrayRef sizes, int64_t dimension, int64_t size, int64_t step);
// Of several views: missing gradients are zeros.
Tensor split_backward(const std::vector<Tensor>& grads, IntArrayRef sizes, const TensorOptions& options, int64_t split_size, int64_t dim);
Tensor split_with_sizes_backward(const std::vector<Tensor>& grads, IntArrayRef sizes, const TensorOptions& options, IntArrayRef split_sizes, int64_t dim);
Tensor unbind_backward(const std::vector<Tensor>& grads, IntArrayRef sizes, const TensorOptions& options, int64_t dim);
Tensor as_strided_backward(const Tensor& grad, IntArrayRef self_sizes, IntArrayRef self_strides, int64_t self_offset, IntArrayRef size, IntArrayRef stride,
                           std::optional<int64_t> storage_offset);

// Reductions (rules/reduce.cpp).
Tensor sum_backward(const Tensor& grad, IntArrayRef sizes, OptionalIntArrayRef dim, bool keepdim);
Tensor nansum_backward(const Tensor& grad, const Tensor& self, OptionalIntArrayRef dim, bool keepdim);
Tensor mean_backward(const Tensor& grad, IntArrayRef sizes, OptionalIntArrayRef dim, bool keepdim);
Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor prod_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim, bool keepdim);
// With respect to x1.
Tensor cdist_backward(const Tensor& grad, const Tensor& x1, const Tensor& x2, double p, const Tensor& result);
Tensor pdist_backward(const Tensor& grad, const Tensor& self, double p, const Tensor& result);
// Also of amin: ties share the gradient evenly.
Tensor amax_backward(const Tensor& grad, const Tensor& self, const Tensor& result, IntArrayRef dim, bool keepdim);
// Of an element of the whole tensor: all that equal it share the gradient evenly, every NaN where it is one.
Tensor equals_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor select_value_backward(const Tensor& grad, int64_t dim, const Tensor& indices, IntArrayRef sizes, bool keepdim);
Tensor var_backward(const Tensor& grad, const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction, bool keepdim);
Tensor std_backward(const Tensor& result, const Tensor& grad, const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction,
                    bool keepdim);
Tensor var_mean_backward(const Tensor& grad_var, const Tensor& grad_mean, const Tensor& self, OptionalIntArrayRef dim, const std::optional<Scalar>& correction,
                         bool keepdim);
Tensor vector_norm_backward(const Tensor& grad, const Tensor& self, const Scalar& ord, OptionalIntArrayRef dim, bool keepdim, const Tensor& result);
Tensor cumsum_backward(const Tensor& grad, int64_t dim);
Tensor cumprod_backward(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& result);
Tensor logcumsumexp_backward(const Tensor& grad, const Tensor& self, const Tensor& result, int64_t dim);
Tensor cummaxmin_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& indices, int64_t dim);

// Fourier transforms (rules/fft.cpp).
Tensor fft_c2c_backward(const Tensor& grad, IntArrayRef dim, int64_t normalization, bool forward);
Tensor fft_r2c_backward(const Tensor& grad, IntArrayRef sizes, IntArrayRef dim, int64_t normalization, bool onesided);
Tensor fft_c2r_backward(const Tensor& grad, IntArrayRef dim, int64_t normalization);

// Indexing (rules/index.cpp).
Tensor gather_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index, bool sparse_grad);
Tensor scatter_source_backward(const Tensor& grad, int64_t dim, const Tensor& index, IntArrayRef source_sizes);
Tensor index_select_backward(const Tensor& grad, IntArrayRef sizes, int64_t dim, const Tensor& index);
Tensor index_add_source_backward(const Tensor& grad, int64_t dim, const Tensor& index, IntArrayRef source_sizes);
Tensor index_backward(const Tensor& grad, IntArrayRef sizes, ArrayRef<std::optional<Tensor>> indices);
Tensor index_put_self_backward(const Tensor& grad, ArrayRef<std::optional<Tensor>> indices, IntArrayRef values_sizes);
std::vector<Tensor> cat_backward(const Tensor& grad, const std::vector<DimVector>& sizes, int64_t dim);
Tensor roll_backward(const Tensor& grad, IntArrayRef shifts, IntArrayRef dims);
Tensor repeat_backward(const Tensor& grad, IntArrayRef sizes, IntArrayRef repeats);
Tensor embedding_double_backward(const Tensor& grad, const Tensor& indices, int64_t padding_idx, bool scale_grad_by_freq);
Tensor masked_select_backward(const Tensor& grad, IntArrayRef sizes, const Tensor& mask);

// Networks (rules/nn.cpp).
Tensor softmax_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& output, int64_t dim);
// Sums a gradient of shape (N, C, ...) over everything but the channels.
Tensor sum_to_channels(const Tensor& grad);
// The gradient of a convolution's result, in the memory format of that result.
Tensor in_result_format(const Tensor& grad, IntArrayRef input_sizes, IntArrayRef input_strides, IntArrayRef weight_sizes, IntArrayRef weight_strides);
// Gradients of (grad_output, self) of the backward of cross entropy against class indices.
std::tuple<Tensor, Tensor> cross_entropy_double_backward(const Tensor& grad, const Tensor& grad_output, const Tensor& self, const Tensor& target,
                                                         const std::optional<Tensor>& weight, const Tensor& total_weight, int64_t reduction,
                                                         int64_t ignore_index, double label_smoothing);
Tensor constant_pad_backward(const Tensor& grad, IntArrayRef pad);
Tensor avg_pool_double_backward(const Tensor& grad, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                                std::optional<int64_t> divisor_override, int64_t dims);
Tensor adaptive_avg_pool_double_backward(const Tensor& grad, IntArrayRef pooled, int64_t dims);
// Gradients of (grad_out, query, key, value), by way of the plain steps.
std::tuple<Tensor, Tensor, Tensor, Tensor> attention_double_backward(const Tensor& gq, const Tensor& gk, const Tensor& gv, const Tensor& grad_out,
                                                                     const Tensor& query, const Tensor& key, const Tensor& value,
                                                                     const std::optional<Tensor>& mask, bool causal, double scale);
using RnnGradients = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;
// Gradients of (grad_output, grad_hn, grad_cn, gates, weight_hh, bias_hh, hx, cx), by way of the plain steps.
RnnGradients rnn_layer_double_backward(const std::vector<Tensor>& grads, const std::optional<Tensor>& grad_output, const std::optional<Tensor>& grad_hn,
                                       const std::optional<Tensor>& grad_cn, const Tensor& gates, const Tensor& weight_hh, const std::optional<Tensor>& bias_hh,
                                       const Tensor& hx, const std::optional<Tensor>& cx, IntArrayRef batch_sizes, int64_t kind, bool reverse);
Tensor i1_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor i1e_backward(const Tensor& grad, const Tensor& self, const Tensor& result);
Tensor xlog1py_self_backward(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor xlog1py_other_backward(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor zeta_other_backward(const Tensor& grad, const Tensor& self, const Tensor& other);

using Pair = std::tuple<Tensor, Tensor>;
Tensor masked_scatter_source_backward(const Tensor& grad, const Tensor& mask, IntArrayRef sizes);
Pair scatter_reduce_backward(const Tensor& grad, const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                             bool include_self, const Tensor& result);

using Three = std::tuple<Tensor, Tensor, Tensor>;
// Gradients of the backward of a norm: (grad_out, input, weight) from those of (dx, dweight, dbias), each of which may be undefined.
Three layer_norm_double_backward(const Tensor& gdx, const Tensor& gdw, const Tensor& gdb, const Tensor& grad_out, const Tensor& input,
                                 IntArrayRef normalized_shape, const Tensor& mean, const Tensor& rstd, const std::optional<Tensor>& weight);
// The gradient of the normalised output, and of the saved mean and rstd where they were used too.
Three group_norm_backward(const Tensor& grad, const Tensor& grad_mean, const Tensor& grad_rstd, const Tensor& input, const Tensor& mean, const Tensor& rstd,
                          const std::optional<Tensor>& weight, int64_t groups, double eps);
Three group_norm_double_backward(const Tensor& gdx, const Tensor& gdw, const Tensor& gdb, const Tensor& grad_out, const Tensor& input, const Tensor& mean,
                                 const Tensor& rstd, const std::optional<Tensor>& weight, int64_t groups);
Three batch_norm_double_backward(const Tensor& gdx, const Tensor& gdw, const Tensor& gdb, const Tensor& grad_out, const Tensor& input,
                                 const std::optional<Tensor>& weight, const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var,
                                 const Tensor& save_mean, const Tensor& save_rstd, bool training, double eps);

// Factorisations (rules/linalg.cpp). Gradients of several outputs may be undefined.
Tensor cholesky_backward(const Tensor& grad, const Tensor& factor, bool upper);
Tensor lu_factor_backward(const Tensor& grad, const Tensor& lu, const Tensor& pivots);
Pair solve_triangular_backward(const Tensor& grad, const Tensor& a, const Tensor& x, bool upper, bool left, bool unitriangular);
Tensor qr_backward(const Tensor& grad_q, const Tensor& grad_r, const Tensor& a, const Tensor& q, const Tensor& r, std::string_view mode);
Tensor eigh_backward(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values, const Tensor& vectors);
Tensor matrix_exp_backward(const Tensor& grad, const Tensor& self);
Tensor eig_backward(const Tensor& grad_values, const Tensor& grad_vectors, const Tensor& values, const Tensor& vectors);
Tensor svd_backward(const Tensor& grad_u, const Tensor& grad_s, const Tensor& grad_vh, const Tensor& full_u, const Tensor& s, const Tensor& full_vh);

// Sparse layouts: sparse.cpp.
// The values of `grad`, dense or COO, at the positions of a COO tensor: of shape (nnz, dense sizes...).
Tensor values_at(const Tensor& grad, const Tensor& indices);
// The values of `grad` at the positions of the compressed tensor `like`.
Tensor compressed_values(const Tensor& grad, const Tensor& like);
// The positions of `self` with other values.
Tensor with_values(const Tensor& self, const Tensor& values);
// `grad` in the layout of `options`.
Tensor to_layout_of(const Tensor& grad, const TensorOptions& options);
Tensor sparse_mask_backward(const Tensor& grad, const Tensor& mask, const TensorOptions& options);
Tensor sparse_product_grad1(const Tensor& grad, const Tensor& mat1, const Tensor& mat2, const Scalar& alpha);
Tensor sparse_product_grad2(const Tensor& grad, const Tensor& mat1, const Tensor& mat2, const Scalar& alpha);
Tensor sparse_matmul_grad1(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor sparse_matmul_grad2(const Tensor& grad, const Tensor& self, const Tensor& other);
Tensor sampled_grad1(const Tensor& grad, const Tensor& self, const Tensor& mat2, const Scalar& alpha);
Tensor sampled_grad2(const Tensor& grad, const Tensor& self, const Tensor& mat1, const Scalar& alpha);
Tensor sparse_sum_grad(const Tensor& grad, const Tensor& self, IntArrayRef dim);
Tensor sparse_softmax_grad(const Tensor& grad, const Tensor& result, int64_t dim);
Tensor sparse_log_softmax_grad(const Tensor& grad, const Tensor& result, int64_t dim);

}  // namespace cresset::autograd::rules
