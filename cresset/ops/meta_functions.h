#pragma once
// Operators of tensors on any device whose result is on the meta device: shapes, dtypes and strides without values.

#include <utility>
#include <vector>

#include "cresset/tensor.h"

namespace cresset::meta {

namespace detail {
template <class T> decltype(auto) without_values(T&& argument) {
  using Plain = std::decay_t<T>;
  if constexpr (std::is_same<Plain, Tensor>::value) return argument.defined() ? argument.to(kMeta) : argument;
  else if constexpr (std::is_same<Plain, std::optional<Tensor>>::value) return argument ? std::optional<Tensor>(argument->to(kMeta)) : std::nullopt;
  else if constexpr (std::is_same<Plain, std::vector<Tensor>>::value || std::is_same<Plain, TensorList>::value) {
    std::vector<Tensor> out;
    for (const Tensor& t : argument) out.push_back(t.to(kMeta));
    return out;
  } else return std::forward<T>(argument);
}
}  // namespace detail

// clang-format off
#define CRESSET_FOR_EACH_META_FUNCTION(X) \
  X(_convert_indices_from_coo_to_csr) X(_convert_indices_from_csr_to_coo) X(_linalg_eigh) X(_linalg_svd) X(_log_softmax) X(_log_softmax_backward_data) \
  X(_softmax) X(_softmax_backward_data) X(_sparse_coo_tensor_with_dims) X(_sparse_coo_tensor_with_dims_and_tensors) X(_upsample_bicubic2d_aa) \
  X(_upsample_bilinear2d_aa) X(acos) X(acosh) X(adaptive_max_pool2d) X(adaptive_max_pool3d) X(add) X(addbmm) X(addcdiv) X(addcmul) X(addmm) X(addmv) \
  X(all) X(amax) X(amin) X(aminmax) X(any) X(arange) X(argmax) X(argmin) X(as_strided) X(asin) X(asinh) X(atan) X(atan2) X(atanh) X(avg_pool2d) \
  X(avg_pool3d) X(baddbmm) X(bernoulli) X(bitwise_and) X(bitwise_left_shift) X(bitwise_not) X(bitwise_or) X(bitwise_right_shift) X(bitwise_xor) X(bmm) \
  X(cat) X(ceil) X(clamp) X(clamp_max) X(clamp_min) X(copysign) X(cos) X(cosh) X(cumprod) X(cumsum) X(digamma) X(div) X(elu) X(elu_backward) X(empty) \
  X(empty_strided) X(eq) X(erf) X(erfc) X(erfinv) X(exp) X(exp2) X(expm1) X(eye) X(fill) X(floor) X(floor_divide) X(fmax) X(fmin) X(fmod) X(frac) \
  X(fractional_max_pool2d) X(fractional_max_pool3d) X(gather) X(gcd) X(ge) X(gelu) X(gelu_backward) X(glu) X(gt) X(hardshrink) X(hardshrink_backward) \
  X(hardsigmoid) X(hardsigmoid_backward) X(hardswish) X(hardtanh) X(hash_tensor) X(heaviside) X(hypot) X(i0) X(igamma) X(igammac) X(index) \
  X(index_add) X(index_copy) X(index_fill) X(index_reduce) X(isin) X(isneginf) X(isposinf) X(lcm) X(le) X(leaky_relu) X(leaky_relu_backward) X(lerp) \
  X(lgamma) X(linalg_cholesky_ex) X(linalg_cross) X(linalg_inv_ex) X(linalg_ldl_factor_ex) X(linalg_ldl_solve) X(linalg_lu) X(linalg_lu_factor_ex) \
  X(linalg_lu_solve) X(linalg_qr) X(linalg_vector_norm) X(linspace) X(log) X(log10) X(log1p) X(log2) X(logaddexp) X(logaddexp2) X(logit) X(logspace) \
  X(lt) X(lu_unpack) X(masked_fill) X(masked_scatter) X(max) X(max_pool2d_with_indices) X(max_pool2d_with_indices_backward) X(maximum) X(mean) X(min) \
  X(minimum) X(mish) X(mm) X(mse_loss) X(mul) X(ne) X(neg) X(nextafter) X(nll_loss_backward) X(nll_loss_forward) X(norm) X(normal) X(polygamma) X(pow) \
  X(prod) X(put) X(range) X(reciprocal) X(relu) X(remainder) X(renorm) X(round) X(rsqrt) X(scatter) X(scatter_add) X(scatter_reduce) X(sgn) X(sigmoid) \
  X(sigmoid_backward) X(sign) X(signbit) X(silu) X(silu_backward) X(sin) X(sinc) X(sinh) X(smooth_l1_loss) X(softplus) X(softplus_backward) \
  X(softshrink) X(softshrink_backward) X(sort) X(special_airy_ai) X(special_bessel_j0) X(special_bessel_j1) X(special_bessel_y0) X(special_bessel_y1) \
  X(special_chebyshev_polynomial_t) X(special_chebyshev_polynomial_u) X(special_chebyshev_polynomial_v) X(special_chebyshev_polynomial_w) \
  X(special_entr) X(special_erfcx) X(special_hermite_polynomial_h) X(special_hermite_polynomial_he) X(special_i0e) X(special_i1) X(special_i1e) \
  X(special_laguerre_polynomial_l) X(special_legendre_polynomial_p) X(special_log_ndtr) X(special_modified_bessel_i0) X(special_modified_bessel_i1) \
  X(special_modified_bessel_k0) X(special_modified_bessel_k1) X(special_ndtri) X(special_scaled_modified_bessel_k0) \
  X(special_scaled_modified_bessel_k1) X(special_shifted_chebyshev_polynomial_t) X(special_shifted_chebyshev_polynomial_u) \
  X(special_shifted_chebyshev_polynomial_v) X(special_shifted_chebyshev_polynomial_w) X(special_spherical_bessel_j0) X(special_xlog1py) \
  X(special_zeta) X(sqrt) X(sub) X(sum) X(tan) X(tanh) X(tanh_backward) X(threshold) X(threshold_backward) X(topk) X(triangular_solve) X(tril) X(triu) \
  X(trunc) X(upsample_bicubic2d) X(upsample_bilinear2d) X(upsample_linear1d) X(upsample_nearest1d) X(upsample_nearest2d) X(upsample_nearest3d) \
  X(upsample_trilinear3d) X(view_as_complex) X(view_as_real) X(xlogy)
// clang-format on

#define CRESSET_META_FUNCTION(name)                                                                          \
  template <class... Args> auto name(Args&&... args)->decltype(cresset::name(std::forward<Args>(args)...)) { \
    return cresset::name(detail::without_values(std::forward<Args>(args))...);                               \
  }
CRESSET_FOR_EACH_META_FUNCTION(CRESSET_META_FUNCTION)
#undef CRESSET_META_FUNCTION

}  // namespace cresset::meta
