#pragma once
// Comparisons and logic: bool results.

#include "cresset/kernels/expr/common.h"

namespace cresset::kernels::expr {

struct Eq : Signature<2, 0, kAll, Out::boolean> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR bool operator()(T a, T b) const { return a == b; }
};
struct Ne : Signature<2, 0, kAll, Out::boolean> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR bool operator()(T a, T b) const { return a != b; }
};
struct Lt : Signature<2, 0, kReals | kBools, Out::boolean> {
  template <class T> CRESSET_EXPR bool operator()(T a, T b) const { return a < b; }
};
struct Le : Signature<2, 0, kReals | kBools, Out::boolean> {
  template <class T> CRESSET_EXPR bool operator()(T a, T b) const { return a <= b; }
};
struct Gt : Signature<2, 0, kReals | kBools, Out::boolean> {
  template <class T> CRESSET_EXPR bool operator()(T a, T b) const { return a > b; }
};
struct Ge : Signature<2, 0, kReals | kBools, Out::boolean> {
  template <class T> CRESSET_EXPR bool operator()(T a, T b) const { return a >= b; }
};

struct LogicalAnd : Signature<2, 0, kAll, Out::boolean> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR bool operator()(T a, T b) const { return (a != T(0)) & (b != T(0)); }
};
struct LogicalOr : Signature<2, 0, kAll, Out::boolean> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR bool operator()(T a, T b) const { return (a != T(0)) | (b != T(0)); }
};
struct LogicalXor : Signature<2, 0, kAll, Out::boolean> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR bool operator()(T a, T b) const { return (a != T(0)) != (b != T(0)); }
};
struct LogicalNot : Signature<1, 0, kAll, Out::boolean> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR bool operator()(T a) const { return a == T(0); }
};

template <class T> CRESSET_EXPR bool is_nan(T a) {
  if constexpr (is_float<T>) return a != a;
  else if constexpr (is_cplx<T>) return a.real() != a.real() || a.imag() != a.imag();
  else return false;
}
template <class T> CRESSET_EXPR bool is_inf(T a) {
  if constexpr (is_float<T>) return (a < 0 ? -a : a) == std::numeric_limits<T>::infinity();
  else if constexpr (is_cplx<T>) return is_inf(a.real()) || is_inf(a.imag());
  else return false;
}

struct IsNan : Signature<1, 0, kAll, Out::boolean> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR bool operator()(T a) const { return is_nan(a); }
};
struct IsInf : Signature<1, 0, kAll, Out::boolean> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR bool operator()(T a) const { return is_inf(a); }
};
struct IsFinite : Signature<1, 0, kAll, Out::boolean> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR bool operator()(T a) const { return !is_nan(a) & !is_inf(a); }
};
struct IsPosInf : Signature<1, 0, kReals | kBools, Out::boolean> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR bool operator()(T a) const {
    if constexpr (is_float<T>) return a == std::numeric_limits<T>::infinity();
    else return false;
  }
};
struct IsNegInf : Signature<1, 0, kReals | kBools, Out::boolean> {
  static constexpr Share share = Share::wrapping;
  template <class T> CRESSET_EXPR bool operator()(T a) const {
    if constexpr (is_float<T>) return a == -std::numeric_limits<T>::infinity();
    else return false;
  }
};
struct Signbit : Signature<1, 0, kReals | kBools, Out::boolean> {
  template <class T> CRESSET_EXPR bool operator()(T a) const {
    if constexpr (is_float<T>) return __builtin_signbit(a) != 0;
    else if constexpr (std::is_signed_v<T>) return a < 0;
    else return false;
  }
};

}  // namespace cresset::kernels::expr

// The kernels of these expressions, X(name, expression), by the unit that is compiled for each instruction set.

// Results are bool.
// clang-format off
#define CRESSET_COMPARE_KERNELS(X)                                                                                \
  X(eq, Eq) X(ne, Ne) X(lt, Lt) X(le, Le) X(gt, Gt) X(ge, Ge) X(logical_and, LogicalAnd) X(logical_or, LogicalOr) \
  X(logical_xor, LogicalXor) X(logical_not, LogicalNot) X(isnan, IsNan) X(isinf, IsInf) X(isfinite, IsFinite)     \
  X(isposinf, IsPosInf) X(isneginf, IsNegInf) X(signbit, Signbit)
// clang-format on
