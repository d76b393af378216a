#pragma once
// Activations. NaN comes through each of them.

#include "cresset/kernels/expr/minmax.h"
#include "cresset/kernels/expr/transcendental.h"

namespace cresset::kernels::expr {

template <class T> CRESSET_EXPR T absolute(T x) {
  using math::abs;
  return abs(x);
}

struct Relu : Signature<1, 0, kReals> {
  template <class T> CRESSET_EXPR T operator()(T x) const { return x < T(0) ? T(0) : x; }
};
struct LeakyRelu : Signature<1, 1, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T x, T slope) const { return x > 0 ? x : x * slope; }
};
struct Threshold : Signature<1, 2, kReals> {
  template <class T> CRESSET_EXPR T operator()(T x, T threshold, T value) const { return x <= threshold ? value : x; }
};
struct Elu : Signature<1, 3, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = true;
  template <class T> CRESSET_EXPR T operator()(T x, T alpha, T scale, T input_scale) const {
    const T negative = math::expm1(x * input_scale) * (alpha * scale);
    return select(x < T(0), negative, x * scale);
  }
};
struct Gelu : Signature<1, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = std::is_same_v<T, float>;
  template <class T> CRESSET_EXPR T operator()(T x) const { return math::gelu(x); }
};
struct GeluTanh : Signature<1, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = true;
  template <class T> CRESSET_EXPR T operator()(T x) const { return math::gelu_tanh(x); }
};
struct Silu : Signature<1, 0, kFloats | kComplexes> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = is_float<T>;
  template <class T> CRESSET_EXPR T operator()(T x) const {
    if constexpr (is_cplx<T>) return x / (T(1) + std::exp(-x));
    else return x / (T(1) + math::exp(-x));
  }
};
struct Mish : Signature<1, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = true;
  template <class T> CRESSET_EXPR T operator()(T x) const { return x * math::tanh_softplus(x); }
};
// x clamped to [0, 6]: with bounds that are numbers, two comparisons that a NaN fails do, and no masks are made.
template <class T> CRESSET_EXPR T between_0_and_6(T x) {
  const T low = x < T(0) ? T(0) : x;
  return low > T(6) ? T(6) : low;
}
struct Hardsigmoid : Signature<1, 0, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T x) const { return between_0_and_6(x + T(3)) / T(6); }
};
struct Hardswish : Signature<1, 0, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T x) const { return x * between_0_and_6(x + T(3)) / T(6); }
};
struct Hardshrink : Signature<1, 1, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T x, T lambda) const { return x >= -lambda && x <= lambda ? T(0) : x; }
};
struct Softshrink : Signature<1, 1, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T x, T lambda) const { return x > lambda ? x - lambda : x < -lambda ? x + lambda : x * T(0); }
};
struct Softplus : Signature<1, 2, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = true;
  template <class T> CRESSET_EXPR T operator()(T x, T beta, T threshold) const {
    const T scaled = x * beta, positive = select(scaled > T(0), scaled, T(0));
    return select(scaled > threshold, x, (positive + math::log1p_exp(-absolute(scaled))) / beta);
  }
};
struct LogSigmoid : Signature<1, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = true;
  template <class T> CRESSET_EXPR T operator()(T x) const { return select(x < T(0), x, T(0)) - math::log1p_exp(-absolute(x)); }
};

// Gradients: (grad, saved...), `saved` being the op's result for tanh and sigmoid and its input for the others.
struct TanhBackward : Signature<2, 0, kFloats | kComplexes> {
  template <class T> CRESSET_EXPR T operator()(T grad, T y) const {
    if constexpr (is_cplx<T>) return grad * Conjugate{}(T(1) - y * y);
    else return grad * (T(1) - y * y);
  }
  struct Conjugate {
    template <class T> CRESSET_EXPR T operator()(T z) const { return T(z.real(), -z.imag()); }
  };
};
struct SigmoidBackward : Signature<2, 0, kFloats | kComplexes> {
  template <class T> CRESSET_EXPR T operator()(T grad, T y) const {
    if constexpr (is_cplx<T>) return grad * TanhBackward::Conjugate{}((T(1) - y) * y);
    else return grad * (T(1) - y) * y;
  }
};
struct ThresholdBackward : Signature<2, 1, kReals> {
  template <class T> CRESSET_EXPR T operator()(T grad, T x, T threshold) const { return x <= threshold ? T(0) : grad; }
};
struct LeakyReluBackward : Signature<2, 1, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T grad, T x, T slope) const { return x > 0 ? grad : grad * slope; }
};
// params: alpha, scale, input_scale.
struct EluBackward : Signature<2, 3, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = true;
  template <class T> CRESSET_EXPR T operator()(T grad, T x, T alpha, T scale, T input_scale) const {
    const T negative = grad * (input_scale * alpha * scale) * math::exp(x * input_scale);
    return select(x <= T(0), negative, grad * scale);
  }
};
struct EluBackwardFromResult : Signature<2, 3, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T grad, T y, T alpha, T scale, T input_scale) const {
    return y <= 0 ? grad * input_scale * (y + alpha * scale) : grad * scale;
  }
};
struct GeluBackward : Signature<2, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = std::is_same_v<T, float>;
  template <class T> CRESSET_EXPR T operator()(T grad, T x) const {
    const T density = math::exp(T(-0.5) * x * x) * T(0.39894228040143267794);
    return grad * (math::normal_cdf(x) + x * density);
  }
};
struct GeluTanhBackward : Signature<2, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = true;
  template <class T> CRESSET_EXPR T operator()(T grad, T x) const {
    // s = sigmoid(2u) with u = sqrt(2/pi) (x + 0.044715 x^3): d(x s)/dx = s + x s (1 - s) 2u'.
    const T square = x * x;
    const T s = math::sigmoid(x * (T(1.5957691216057308) + T(0.071354816272600247) * square));
    return grad * (s + x * s * (T(1) - s) * (T(1.5957691216057308) + T(0.21406444881780074) * square));
  }
};
struct SiluBackward : Signature<2, 0, kFloats | kComplexes> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = is_float<T>;
  template <class T> CRESSET_EXPR T operator()(T grad, T x) const {
    if constexpr (is_cplx<T>) {
      const T s = csigmoid(x);
      return grad * TanhBackward::Conjugate{}(s * (T(1) + x * (T(1) - s)));
    } else {
      const T s = math::sigmoid(x);
      return grad * s * (T(1) + x * (T(1) - s));
    }
  }
};
struct MishBackward : Signature<2, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = true;
  template <class T> CRESSET_EXPR T operator()(T grad, T x) const {
    const T t = math::tanh_softplus(x);
    return grad * (t + x * math::sigmoid(x) * (T(1) - t * t));
  }
};
struct HardsigmoidBackward : Signature<2, 0, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T grad, T x) const { return x > T(-3) && x < T(3) ? grad / T(6) : T(0); }
};
struct HardswishBackward : Signature<2, 0, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T grad, T x) const { return x <= T(-3) ? T(0) : x < T(3) ? grad * (x / T(3) + T(0.5)) : grad; }
};
// Of hardshrink and softshrink alike.
struct ShrinkBackward : Signature<2, 1, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T grad, T x, T lambda) const { return x > lambda || x < -lambda ? grad : T(0); }
};
struct HardtanhBackward : Signature<2, 2, kFloats> {
  template <class T> CRESSET_EXPR T operator()(T grad, T x, T low, T high) const { return x > low && x < high ? grad : T(0); }
};
struct SoftplusBackward : Signature<2, 2, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = true;
  template <class T> CRESSET_EXPR T operator()(T grad, T x, T beta, T threshold) const {
    const T scaled = x * beta;
    return select(scaled > threshold, grad, grad * math::sigmoid(scaled));
  }
};
// d log(sigmoid(x)) / dx = sigmoid(-x).
struct LogSigmoidBackward : Signature<2, 0, kFloats> {
  static constexpr bool heavy = true;
  template <class T> static constexpr bool simd = true;
  template <class T> CRESSET_EXPR T operator()(T grad, T x) const { return grad * math::sigmoid(-x); }
};

}  // namespace cresset::kernels::expr

// The kernels of these expressions, X(name, expression), by the unit that is compiled for each instruction set.

// Inputs and parameters: leaky_relu: params: slope; threshold: params: threshold, value; elu: params: alpha, scale, input_scale;
// hardshrink: params: lambda; softshrink: params: lambda; softplus: params: beta, threshold.
// clang-format off
#define CRESSET_ACTIVATION_KERNELS(X)                                                                                           \
  X(relu, Relu) X(leaky_relu, LeakyRelu) X(threshold, Threshold) X(elu, Elu) X(gelu, Gelu) X(gelu_tanh, GeluTanh) X(silu, Silu) \
  X(mish, Mish) X(hardsigmoid, Hardsigmoid) X(hardswish, Hardswish) X(hardshrink, Hardshrink) X(softshrink, Softshrink)         \
  X(softplus, Softplus) X(log_sigmoid, LogSigmoid)
// clang-format on

// Inputs are (grad, result) for tanh, sigmoid and *_from_result, (grad, input) for the others. Inputs and parameters:
// threshold_backward: params: threshold; relu is threshold 0; leaky_relu_backward: params: slope; elu_backward: params: alpha,
// scale, input_scale; elu_backward_from_result: params: alpha, scale, input_scale; shrink_backward: hardshrink and softshrink,
// params: lambda; hardtanh_backward: params: min, max; softplus_backward: params: beta, threshold.
// clang-format off
#define CRESSET_ACTIVATION_BACKWARD_KERNELS(X)                                                                              \
  X(tanh_backward, TanhBackward) X(sigmoid_backward, SigmoidBackward) X(threshold_backward, ThresholdBackward)              \
  X(leaky_relu_backward, LeakyReluBackward) X(elu_backward, EluBackward) X(elu_backward_from_result, EluBackwardFromResult) \
  X(gelu_backward, GeluBackward) X(gelu_tanh_backward, GeluTanhBackward) X(silu_backward, SiluBackward)                     \
  X(mish_backward, MishBackward) X(hardsigmoid_backward, HardsigmoidBackward) X(hardswish_backward, HardswishBackward)      \
  X(shrink_backward, ShrinkBackward) X(hardtanh_backward, HardtanhBackward) X(softplus_backward, SoftplusBackward)          \
  X(log_sigmoid_backward, LogSigmoidBackward)
// clang-format on
