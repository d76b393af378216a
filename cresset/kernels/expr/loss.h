#pragma once
// Pointwise parts of the losses: (input, target) forward, (grad, input, target) backward with respect to input.
// `norm` is the factor of the reduction: 1 / count for mean, else 1.

#include "cresset/kernels/expr/math.h"

namespace cresset::kernels::expr {

struct MseLoss : Signature<2, 0, kFloats | kComplexes> {
  template <class T> CRESSET_EXPR T operator()(T x, T y) const { return (x - y) * (x - y); }
};
struct MseLossBackward : Signature<3, 1, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T grad, T x, T y, T norm) const { return T(2) * norm * (x - y) * grad; }
};
struct SmoothL1Loss : Signature<2, 1, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T x, T y, T beta) const {
    const T z = std::fabs(x - y);
    return z < beta ? T(0.5) * z * z / beta : z - T(0.5) * beta;
  }
};
struct SmoothL1LossBackward : Signature<3, 2, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T grad, T x, T y, T beta, T norm) const {
    const T d = x - y;
    return d <= -beta ? -norm * grad : d >= beta ? norm * grad : norm * d * grad / beta;
  }
};
struct HuberLoss : Signature<2, 1, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T x, T y, T delta) const {
    const T z = std::fabs(x - y);
    return z <= delta ? T(0.5) * z * z : delta * (z - T(0.5) * delta);
  }
};
struct HuberLossBackward : Signature<3, 2, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T grad, T x, T y, T delta, T norm) const {
    const T d = x - y;
    return d <= -delta ? -norm * grad * delta : d >= delta ? norm * grad * delta : norm * d * grad;
  }
};
// Logarithms bounded below by -100, as they weigh the loss of a certain but wrong answer.
struct BceLoss : Signature<2, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = true;
  template <class T> CRESSET_EXPR T operator()(T x, T y) const {
    const T low = T(-100), a = math::log(x), b = math::log1p(-x);
    return (y - T(1)) * select(b < low, low, b) - y * select(a < low, low, a);
  }
};
struct BceLossBackward : Signature<3, 0, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T grad, T x, T y) const {
    const T variance = (T(1) - x) * x;
    return grad * (x - y) / (variance > T(1e-12) ? variance : T(1e-12));
  }
};
struct BceWithLogitsLoss : Signature<2, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = true;
  template <class T> CRESSET_EXPR T operator()(T x, T y) const {
    return (T(1) - y) * x + select(x < T(0), -x, T(0)) + math::log1p_exp(select(x < T(0), x, -x));
  }
};
struct BceWithLogitsLossBackward : Signature<3, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = true;
  template <class T> CRESSET_EXPR T operator()(T grad, T x, T y) const { return grad * (math::sigmoid(x) - y); }
};

}  // namespace cresset::kernels::expr

// The kernels of these expressions, X(name, expression), by the unit that is compiled for each instruction set.

// Inputs are (input, target), of gradients (grad, input, target); norm is 1 / count for a mean, else 1. Inputs and parameters:
// mse_loss_backward: params: norm; smooth_l1_loss: params: beta; smooth_l1_loss_backward: params: beta, norm; huber_loss: params:
// delta; huber_loss_backward: params: delta, norm.
// clang-format off
#define CRESSET_LOSS_KERNELS(X)                                                                                       \
  X(mse_loss, MseLoss) X(mse_loss_backward, MseLossBackward) X(smooth_l1_loss, SmoothL1Loss)                          \
  X(smooth_l1_loss_backward, SmoothL1LossBackward) X(huber_loss, HuberLoss) X(huber_loss_backward, HuberLossBackward) \
  X(bce_loss, BceLoss) X(bce_loss_backward, BceLossBackward) X(bce_with_logits_loss, BceWithLogitsLoss)               \
  X(bce_with_logits_loss_backward, BceWithLogitsLossBackward)
// clang-format on
