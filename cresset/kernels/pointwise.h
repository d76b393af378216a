#pragma once
// The pointwise kernels: per op, one inner loop for each instruction set and compute dtype. Run them with run_nd.

#include "cresset/kernels/expr/common.h"
#include "cresset/kernels/isa.h"
#include "cresset/kernels/iter/nd_iter.h"

namespace cresset::kernels {

// All inputs have the compute dtype, except masks (where_kernel's first input, masked_fill's second), which are bool.
struct PointwiseKernel {
  const char* name;
  uint8_t num_inputs;
  uint8_t num_params;
  Out out;
  Loop loops[3][kNumKernelDTypes];  // [isa][compute dtype]; nullptr: not supported for this dtype

  Loop loop(ScalarType t) const { return static_cast<int>(t) < kNumKernelDTypes ? loops[active_isa()][static_cast<int>(t)] : nullptr; }
};

// Arithmetic. Integers wrap around; bool adds as `or`, multiplies as `and`, subtracts as `xor`.
extern const PointwiseKernel add_kernel;  // a + params[0] * b
extern const PointwiseKernel sub_kernel;  // a - params[0] * b
extern const PointwiseKernel mul_kernel;
extern const PointwiseKernel div_kernel;  // true division: floats and complex
extern const PointwiseKernel neg_kernel;
extern const PointwiseKernel square_kernel;
extern const PointwiseKernel reciprocal_kernel;
extern const PointwiseKernel addcmul_kernel;  // a + params[0] * b * c
extern const PointwiseKernel addcdiv_kernel;  // a + params[0] * b / c
extern const PointwiseKernel lerp_kernel;  // (start, end, weight)
extern const PointwiseKernel lerp_scalar_kernel;  // (start, end), params: weight

// Division. Integers raise ZeroDivisionError.
extern const PointwiseKernel div_floor_kernel;
extern const PointwiseKernel div_trunc_kernel;
extern const PointwiseKernel remainder_kernel;  // sign of the divisor
extern const PointwiseKernel fmod_kernel;  // sign of the dividend

// Comparisons and logic: bool results.
extern const PointwiseKernel eq_kernel;
extern const PointwiseKernel ne_kernel;
extern const PointwiseKernel lt_kernel;
extern const PointwiseKernel le_kernel;
extern const PointwiseKernel gt_kernel;
extern const PointwiseKernel ge_kernel;
extern const PointwiseKernel logical_and_kernel;
extern const PointwiseKernel logical_or_kernel;
extern const PointwiseKernel logical_xor_kernel;
extern const PointwiseKernel logical_not_kernel;
extern const PointwiseKernel isnan_kernel;
extern const PointwiseKernel isinf_kernel;
extern const PointwiseKernel isfinite_kernel;
extern const PointwiseKernel isposinf_kernel;
extern const PointwiseKernel isneginf_kernel;
extern const PointwiseKernel signbit_kernel;

// Bits and integers. Shifts by a negative count, or by the width and more, push every bit out.
extern const PointwiseKernel bitwise_and_kernel;
extern const PointwiseKernel bitwise_or_kernel;
extern const PointwiseKernel bitwise_xor_kernel;
extern const PointwiseKernel bitwise_not_kernel;
extern const PointwiseKernel bitwise_left_shift_kernel;
extern const PointwiseKernel bitwise_right_shift_kernel;
extern const PointwiseKernel gcd_kernel;
extern const PointwiseKernel lcm_kernel;

// Extremes. NaN wins, except in fmax and fmin. A clamp whose bounds cross gives the upper one.
extern const PointwiseKernel maximum_kernel;
extern const PointwiseKernel minimum_kernel;
extern const PointwiseKernel fmax_kernel;
extern const PointwiseKernel fmin_kernel;
extern const PointwiseKernel clamp_kernel;  // params: min, max
extern const PointwiseKernel clamp_min_kernel;  // params: min
extern const PointwiseKernel clamp_max_kernel;  // params: max
extern const PointwiseKernel clamp_tensor_kernel;  // (x, min, max); one bound: maximum, minimum

// Signs, rounding, roots.
extern const PointwiseKernel abs_kernel;
extern const PointwiseKernel angle_kernel;
extern const PointwiseKernel sign_kernel;
extern const PointwiseKernel sgn_kernel;
extern const PointwiseKernel conj_kernel;
extern const PointwiseKernel floor_kernel;
extern const PointwiseKernel ceil_kernel;
extern const PointwiseKernel trunc_kernel;
extern const PointwiseKernel round_kernel;  // half to even
extern const PointwiseKernel round_decimals_kernel;  // params: 10^|decimals|, 1 if decimals < 0
extern const PointwiseKernel frac_kernel;
extern const PointwiseKernel sqrt_kernel;
extern const PointwiseKernel rsqrt_kernel;
extern const PointwiseKernel hypot_kernel;
extern const PointwiseKernel copysign_kernel;
extern const PointwiseKernel heaviside_kernel;  // (x, value at zero)
extern const PointwiseKernel nextafter_kernel;

// Selection and filling.
extern const PointwiseKernel where_kernel;  // (cond, a, b); cond is bool or uint8
extern const PointwiseKernel masked_fill_kernel;  // (x, mask), params: value
extern const PointwiseKernel fill_kernel;  // no input, params: value
extern const PointwiseKernel dropout_apply_kernel;  // (x, mask), params: scale
extern const PointwiseKernel nan_to_num_kernel;  // params: nan, posinf, neginf

// Exponentials and logarithms.
extern const PointwiseKernel exp_kernel;
extern const PointwiseKernel expm1_kernel;
extern const PointwiseKernel exp2_kernel;
extern const PointwiseKernel log_kernel;
extern const PointwiseKernel log1p_kernel;
extern const PointwiseKernel log2_kernel;
extern const PointwiseKernel log10_kernel;
extern const PointwiseKernel sigmoid_kernel;

// Trigonometric functions.
extern const PointwiseKernel sin_kernel;
extern const PointwiseKernel cos_kernel;
extern const PointwiseKernel tan_kernel;
extern const PointwiseKernel asin_kernel;
extern const PointwiseKernel acos_kernel;
extern const PointwiseKernel atan_kernel;

// Hyperbolic functions.
extern const PointwiseKernel sinh_kernel;
extern const PointwiseKernel cosh_kernel;
extern const PointwiseKernel tanh_kernel;
extern const PointwiseKernel asinh_kernel;
extern const PointwiseKernel acosh_kernel;
extern const PointwiseKernel atanh_kernel;

// Powers and other functions of two variables.
extern const PointwiseKernel pow_kernel;
extern const PointwiseKernel atan2_kernel;
extern const PointwiseKernel xlogy_kernel;
extern const PointwiseKernel logaddexp_kernel;
extern const PointwiseKernel logaddexp2_kernel;

// The error function's family and the gamma function's.
extern const PointwiseKernel erf_kernel;
extern const PointwiseKernel erfc_kernel;
extern const PointwiseKernel erfinv_kernel;
extern const PointwiseKernel lgamma_kernel;
extern const PointwiseKernel digamma_kernel;
extern const PointwiseKernel polygamma_kernel;  // params: n
extern const PointwiseKernel i0_kernel;
extern const PointwiseKernel i1_kernel;
extern const PointwiseKernel i0e_kernel;
extern const PointwiseKernel i1e_kernel;
extern const PointwiseKernel k0_kernel;
extern const PointwiseKernel k1_kernel;
extern const PointwiseKernel k0e_kernel;
extern const PointwiseKernel k1e_kernel;
extern const PointwiseKernel bessel_j0_kernel;
extern const PointwiseKernel bessel_j1_kernel;
extern const PointwiseKernel bessel_y0_kernel;
extern const PointwiseKernel bessel_y1_kernel;
extern const PointwiseKernel spherical_j0_kernel;
extern const PointwiseKernel airy_ai_kernel;
extern const PointwiseKernel erfcx_kernel;
extern const PointwiseKernel ndtr_kernel;
extern const PointwiseKernel log_ndtr_kernel;
extern const PointwiseKernel ndtri_kernel;
extern const PointwiseKernel entr_kernel;
extern const PointwiseKernel igamma_kernel;
extern const PointwiseKernel igammac_kernel;
extern const PointwiseKernel zeta_kernel;
extern const PointwiseKernel xlog1py_kernel;

// Orthogonal polynomials of a first input, of the degree that the second gives.
extern const PointwiseKernel chebyshev_t_kernel;
extern const PointwiseKernel chebyshev_u_kernel;
extern const PointwiseKernel chebyshev_v_kernel;
extern const PointwiseKernel chebyshev_w_kernel;
extern const PointwiseKernel shifted_chebyshev_t_kernel;
extern const PointwiseKernel shifted_chebyshev_u_kernel;
extern const PointwiseKernel shifted_chebyshev_v_kernel;
extern const PointwiseKernel shifted_chebyshev_w_kernel;
extern const PointwiseKernel hermite_h_kernel;
extern const PointwiseKernel hermite_he_kernel;
extern const PointwiseKernel laguerre_l_kernel;
extern const PointwiseKernel legendre_p_kernel;

// Activations.
extern const PointwiseKernel relu_kernel;
extern const PointwiseKernel leaky_relu_kernel;  // params: slope
extern const PointwiseKernel threshold_kernel;  // params: threshold, value
extern const PointwiseKernel elu_kernel;  // params: alpha, scale, input_scale
extern const PointwiseKernel gelu_kernel;
extern const PointwiseKernel gelu_tanh_kernel;
extern const PointwiseKernel silu_kernel;
extern const PointwiseKernel mish_kernel;
extern const PointwiseKernel hardsigmoid_kernel;
extern const PointwiseKernel hardswish_kernel;
extern const PointwiseKernel hardshrink_kernel;  // params: lambda
extern const PointwiseKernel softshrink_kernel;  // params: lambda
extern const PointwiseKernel softplus_kernel;  // params: beta, threshold
extern const PointwiseKernel log_sigmoid_kernel;

// Gradients of activations: (grad, result) for tanh, sigmoid and *_from_result, (grad, input) for the others.
extern const PointwiseKernel tanh_backward_kernel;
extern const PointwiseKernel sigmoid_backward_kernel;
extern const PointwiseKernel threshold_backward_kernel;  // params: threshold; relu is threshold 0
extern const PointwiseKernel leaky_relu_backward_kernel;  // params: slope
extern const PointwiseKernel elu_backward_kernel;  // params: alpha, scale, input_scale
extern const PointwiseKernel elu_backward_from_result_kernel;  // params: alpha, scale, input_scale
extern const PointwiseKernel gelu_backward_kernel;
extern const PointwiseKernel gelu_tanh_backward_kernel;
extern const PointwiseKernel silu_backward_kernel;
extern const PointwiseKernel mish_backward_kernel;
extern const PointwiseKernel hardsigmoid_backward_kernel;
extern const PointwiseKernel hardswish_backward_kernel;
extern const PointwiseKernel shrink_backward_kernel;  // hardshrink and softshrink, params: lambda
extern const PointwiseKernel hardtanh_backward_kernel;  // params: min, max
extern const PointwiseKernel softplus_backward_kernel;  // params: beta, threshold
extern const PointwiseKernel log_sigmoid_backward_kernel;

// Losses: (input, target), and their gradients: (grad, input, target). norm is 1 / count for a mean, else 1.
extern const PointwiseKernel mse_loss_kernel;
extern const PointwiseKernel mse_loss_backward_kernel;  // params: norm
extern const PointwiseKernel smooth_l1_loss_kernel;  // params: beta
extern const PointwiseKernel smooth_l1_loss_backward_kernel;  // params: beta, norm
extern const PointwiseKernel huber_loss_kernel;  // params: delta
extern const PointwiseKernel huber_loss_backward_kernel;  // params: delta, norm
extern const PointwiseKernel bce_loss_kernel;
extern const PointwiseKernel bce_loss_backward_kernel;
extern const PointwiseKernel bce_with_logits_loss_kernel;
extern const PointwiseKernel bce_with_logits_loss_backward_kernel;

}  // namespace cresset::kernels
