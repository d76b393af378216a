#include "cresset/kernels/pointwise.h"

#include "cresset/base/error.h"
#include "cresset/kernels/expr/activation.h"
#include "cresset/kernels/expr/arithmetic.h"
#include "cresset/kernels/expr/bits.h"
#include "cresset/kernels/expr/compare.h"
#include "cresset/kernels/expr/loss.h"
#include "cresset/kernels/expr/minmax.h"
#include "cresset/kernels/expr/orthogonal.h"
#include "cresset/kernels/expr/simple.h"
#include "cresset/kernels/expr/special.h"
#include "cresset/kernels/expr/transcendental.h"

namespace cresset::kernels {

void expr::zero_division() { CRESSET_CHECK(false, "ZeroDivisionError: integer division or remainder by zero"); __builtin_unreachable(); }

#ifdef CRESSET_SINGLE_ISA
#define CRESSET_LOOP_ISAS(X) X(isa_baseline) X(isa_baseline) X(isa_baseline)
#else
#define CRESSET_LOOP_ISAS(X) X(isa_baseline) X(isa_avx2) X(isa_avx512)
#endif

// Defined by cpu/loops.h in the objects of each instruction set.
namespace isa_baseline { template <class E, class T> void pointwise_loop(char**, const int64_t*, int64_t, const Scalar*); }
namespace isa_avx2 { template <class E, class T> void pointwise_loop(char**, const int64_t*, int64_t, const Scalar*); }
namespace isa_avx512 { template <class E, class T> void pointwise_loop(char**, const int64_t*, int64_t, const Scalar*); }

namespace {

#define CRESSET_FILL(T, Name) row(static_cast<T*>(nullptr), ScalarType::Name);

template <class E>
constexpr PointwiseKernel make(const char* name) {
  PointwiseKernel k{name, E::inputs, E::params, E::out, {}};
  int isa = 0;
#define CRESSET_ONE_ISA(ns)                                     \
  {                                                             \
    auto row = [&]<class T>(T*, ScalarType t) {                 \
      if constexpr (!((E::dtypes >> static_cast<int>(dtype_of<T>)) & 1)) return; \
      else if constexpr (expr::is_baseline_loop<E, T>()) k.loops[isa][static_cast<int>(t)] = isa_baseline::pointwise_loop<E, T>; \
      else k.loops[isa][static_cast<int>(t)] = ns::pointwise_loop<E, expr::LoopType<E, T>>; \
    };                                                          \
    CRESSET_FOR_EACH_DTYPE(CRESSET_FILL)                        \
    isa++;                                                      \
  }
  CRESSET_LOOP_ISAS(CRESSET_ONE_ISA)
#undef CRESSET_ONE_ISA
  return k;
}

// Functions of long series, computed in double: vectors would make them larger, not faster. One build serves every instruction set.
template <class E>
constexpr PointwiseKernel make_baseline(const char* name) {
  PointwiseKernel k{name, E::inputs, E::params, E::out, {}};
  auto row = [&]<class T>(T*, ScalarType t) {
    if constexpr ((E::dtypes >> static_cast<int>(dtype_of<T>)) & 1)
      for (auto& loops : k.loops) loops[static_cast<int>(t)] = isa_baseline::pointwise_loop<E, expr::LoopType<E, T>>;
  };
  CRESSET_FOR_EACH_DTYPE(CRESSET_FILL)
  return k;
}

#undef CRESSET_FILL

}  // namespace

#define CRESSET_POINTWISE(name, Expr) constinit const PointwiseKernel name##_kernel = make<expr::Expr>(#name);
#define CRESSET_POINTWISE_BASELINE(name, Expr) constinit const PointwiseKernel name##_kernel = make_baseline<expr::Expr>(#name);

CRESSET_POINTWISE(add, Add)
CRESSET_POINTWISE(sub, Sub)
CRESSET_POINTWISE(mul, Mul)
CRESSET_POINTWISE(div, Div)
CRESSET_POINTWISE(neg, Neg)
CRESSET_POINTWISE(square, Square)
CRESSET_POINTWISE(reciprocal, Reciprocal)
CRESSET_POINTWISE(addcmul, Addcmul)
CRESSET_POINTWISE(addcdiv, Addcdiv)
CRESSET_POINTWISE(lerp, Lerp)
CRESSET_POINTWISE(lerp_scalar, LerpScalar)

CRESSET_POINTWISE(div_floor, DivFloor)
CRESSET_POINTWISE(div_trunc, DivTrunc)
CRESSET_POINTWISE(remainder, Remainder)
CRESSET_POINTWISE(fmod, Fmod)

CRESSET_POINTWISE(eq, Eq)
CRESSET_POINTWISE(ne, Ne)
CRESSET_POINTWISE(lt, Lt)
CRESSET_POINTWISE(le, Le)
CRESSET_POINTWISE(gt, Gt)
CRESSET_POINTWISE(ge, Ge)
CRESSET_POINTWISE(logical_and, LogicalAnd)
CRESSET_POINTWISE(logical_or, LogicalOr)
CRESSET_POINTWISE(logical_xor, LogicalXor)
CRESSET_POINTWISE(logical_not, LogicalNot)
CRESSET_POINTWISE(isnan, IsNan)
CRESSET_POINTWISE(isinf, IsInf)
CRESSET_POINTWISE(isfinite, IsFinite)
CRESSET_POINTWISE(isposinf, IsPosInf)
CRESSET_POINTWISE(isneginf, IsNegInf)
CRESSET_POINTWISE(signbit, Signbit)

CRESSET_POINTWISE(bitwise_and, BitwiseAnd)
CRESSET_POINTWISE(bitwise_or, BitwiseOr)
CRESSET_POINTWISE(bitwise_xor, BitwiseXor)
CRESSET_POINTWISE(bitwise_not, BitwiseNot)
CRESSET_POINTWISE(bitwise_left_shift, BitwiseLeftShift)
CRESSET_POINTWISE(bitwise_right_shift, BitwiseRightShift)
CRESSET_POINTWISE(gcd, Gcd)
CRESSET_POINTWISE(lcm, Lcm)

CRESSET_POINTWISE(maximum, Maximum)
CRESSET_POINTWISE(minimum, Minimum)
CRESSET_POINTWISE(fmax, Fmax)
CRESSET_POINTWISE(fmin, Fmin)
CRESSET_POINTWISE(clamp, Clamp)
CRESSET_POINTWISE(clamp_min, ClampMin)
CRESSET_POINTWISE(clamp_max, ClampMax)
CRESSET_POINTWISE(clamp_tensor, ClampTensor)

CRESSET_POINTWISE(abs, Abs)
CRESSET_POINTWISE(angle, Angle)
CRESSET_POINTWISE(sign, Sign)
CRESSET_POINTWISE(sgn, Sgn)
CRESSET_POINTWISE(conj, Conj)
CRESSET_POINTWISE(floor, Floor)
CRESSET_POINTWISE(ceil, Ceil)
CRESSET_POINTWISE(trunc, Trunc)
CRESSET_POINTWISE(round, Round)
CRESSET_POINTWISE(round_decimals, RoundDecimals)
CRESSET_POINTWISE(frac, Frac)
CRESSET_POINTWISE(sqrt, Sqrt)
CRESSET_POINTWISE(rsqrt, Rsqrt)
CRESSET_POINTWISE(hypot, Hypot)
CRESSET_POINTWISE(copysign, Copysign)
CRESSET_POINTWISE(heaviside, Heaviside)
CRESSET_POINTWISE(nextafter, Nextafter)

CRESSET_POINTWISE(where, Where)
CRESSET_POINTWISE(masked_fill, MaskedFill)
CRESSET_POINTWISE(fill, Fill)
CRESSET_POINTWISE(dropout_apply, DropoutApply)
CRESSET_POINTWISE(nan_to_num, NanToNum)

CRESSET_POINTWISE(exp, Exp)
CRESSET_POINTWISE(expm1, Expm1)
CRESSET_POINTWISE(exp2, Exp2)
CRESSET_POINTWISE(log, Log)
CRESSET_POINTWISE(log1p, Log1p)
CRESSET_POINTWISE(log2, Log2)
CRESSET_POINTWISE(log10, Log10)
CRESSET_POINTWISE(sigmoid, Sigmoid)

CRESSET_POINTWISE(sin, Sin)
CRESSET_POINTWISE(cos, Cos)
CRESSET_POINTWISE(tan, Tan)
CRESSET_POINTWISE(asin, Asin)
CRESSET_POINTWISE(acos, Acos)
CRESSET_POINTWISE(atan, Atan)

CRESSET_POINTWISE(sinh, Sinh)
CRESSET_POINTWISE(cosh, Cosh)
CRESSET_POINTWISE(tanh, Tanh)
CRESSET_POINTWISE(asinh, Asinh)
CRESSET_POINTWISE(acosh, Acosh)
CRESSET_POINTWISE(atanh, Atanh)

CRESSET_POINTWISE(pow, Pow)
CRESSET_POINTWISE(atan2, Atan2)
CRESSET_POINTWISE(xlogy, Xlogy)
CRESSET_POINTWISE(logaddexp, Logaddexp)
CRESSET_POINTWISE(logaddexp2, Logaddexp2)

CRESSET_POINTWISE(erf, Erf)
CRESSET_POINTWISE(erfc, Erfc)
CRESSET_POINTWISE(erfinv, Erfinv)
CRESSET_POINTWISE(lgamma, Lgamma)
CRESSET_POINTWISE(digamma, Digamma)
CRESSET_POINTWISE(polygamma, Polygamma)
CRESSET_POINTWISE(i0, I0)
CRESSET_POINTWISE(i1, I1)
CRESSET_POINTWISE(i0e, I0e)
CRESSET_POINTWISE(i1e, I1e)
CRESSET_POINTWISE(k0, K0)
CRESSET_POINTWISE(k1, K1)
CRESSET_POINTWISE(k0e, K0e)
CRESSET_POINTWISE(k1e, K1e)
CRESSET_POINTWISE(bessel_j0, BesselJ0)
CRESSET_POINTWISE(bessel_j1, BesselJ1)
CRESSET_POINTWISE(bessel_y0, BesselY0)
CRESSET_POINTWISE(bessel_y1, BesselY1)
CRESSET_POINTWISE(spherical_j0, SphericalJ0)
CRESSET_POINTWISE(airy_ai, AiryAi)
CRESSET_POINTWISE_BASELINE(erfcx, Erfcx)
CRESSET_POINTWISE(ndtr, Ndtr)
CRESSET_POINTWISE(log_ndtr, LogNdtr)
CRESSET_POINTWISE(ndtri, Ndtri)
CRESSET_POINTWISE(entr, Entr)
CRESSET_POINTWISE_BASELINE(igamma, Igamma)
CRESSET_POINTWISE_BASELINE(igammac, Igammac)
CRESSET_POINTWISE_BASELINE(zeta, Zeta)
CRESSET_POINTWISE(xlog1py, Xlog1py)
CRESSET_POINTWISE_BASELINE(chebyshev_t, ChebyshevT)
CRESSET_POINTWISE_BASELINE(chebyshev_u, ChebyshevU)
CRESSET_POINTWISE_BASELINE(chebyshev_v, ChebyshevV)
CRESSET_POINTWISE_BASELINE(chebyshev_w, ChebyshevW)
CRESSET_POINTWISE_BASELINE(shifted_chebyshev_t, ShiftedChebyshevT)
CRESSET_POINTWISE_BASELINE(shifted_chebyshev_u, ShiftedChebyshevU)
CRESSET_POINTWISE_BASELINE(shifted_chebyshev_v, ShiftedChebyshevV)
CRESSET_POINTWISE_BASELINE(shifted_chebyshev_w, ShiftedChebyshevW)
CRESSET_POINTWISE_BASELINE(hermite_h, HermiteH)
CRESSET_POINTWISE_BASELINE(hermite_he, HermiteHe)
CRESSET_POINTWISE_BASELINE(laguerre_l, LaguerreL)
CRESSET_POINTWISE_BASELINE(legendre_p, LegendreP)

CRESSET_POINTWISE(relu, Relu)
CRESSET_POINTWISE(leaky_relu, LeakyRelu)
CRESSET_POINTWISE(threshold, Threshold)
CRESSET_POINTWISE(elu, Elu)
CRESSET_POINTWISE(gelu, Gelu)
CRESSET_POINTWISE(gelu_tanh, GeluTanh)
CRESSET_POINTWISE(silu, Silu)
CRESSET_POINTWISE(mish, Mish)
CRESSET_POINTWISE(hardsigmoid, Hardsigmoid)
CRESSET_POINTWISE(hardswish, Hardswish)
CRESSET_POINTWISE(hardshrink, Hardshrink)
CRESSET_POINTWISE(softshrink, Softshrink)
CRESSET_POINTWISE(softplus, Softplus)
CRESSET_POINTWISE(log_sigmoid, LogSigmoid)

CRESSET_POINTWISE(tanh_backward, TanhBackward)
CRESSET_POINTWISE(sigmoid_backward, SigmoidBackward)
CRESSET_POINTWISE(threshold_backward, ThresholdBackward)
CRESSET_POINTWISE(leaky_relu_backward, LeakyReluBackward)
CRESSET_POINTWISE(elu_backward, EluBackward)
CRESSET_POINTWISE(elu_backward_from_result, EluBackwardFromResult)
CRESSET_POINTWISE(gelu_backward, GeluBackward)
CRESSET_POINTWISE(gelu_tanh_backward, GeluTanhBackward)
CRESSET_POINTWISE(silu_backward, SiluBackward)
CRESSET_POINTWISE(mish_backward, MishBackward)
CRESSET_POINTWISE(hardsigmoid_backward, HardsigmoidBackward)
CRESSET_POINTWISE(hardswish_backward, HardswishBackward)
CRESSET_POINTWISE(shrink_backward, ShrinkBackward)
CRESSET_POINTWISE(hardtanh_backward, HardtanhBackward)
CRESSET_POINTWISE(softplus_backward, SoftplusBackward)
CRESSET_POINTWISE(log_sigmoid_backward, LogSigmoidBackward)

CRESSET_POINTWISE(mse_loss, MseLoss)
CRESSET_POINTWISE(mse_loss_backward, MseLossBackward)
CRESSET_POINTWISE(smooth_l1_loss, SmoothL1Loss)
CRESSET_POINTWISE(smooth_l1_loss_backward, SmoothL1LossBackward)
CRESSET_POINTWISE(huber_loss, HuberLoss)
CRESSET_POINTWISE(huber_loss_backward, HuberLossBackward)
CRESSET_POINTWISE(bce_loss, BceLoss)
CRESSET_POINTWISE(bce_loss_backward, BceLossBackward)
CRESSET_POINTWISE(bce_with_logits_loss, BceWithLogitsLoss)
CRESSET_POINTWISE(bce_with_logits_loss_backward, BceWithLogitsLossBackward)

}  // namespace cresset::kernels
