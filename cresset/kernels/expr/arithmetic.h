#pragma once

#include "cresset/kernels/expr/common.h"

namespace cresset::kernels::expr {

struct Add : Signature<2, 1, kAll> {
  template <class T> CRESSET_EXPR T operator()(T a, T b, T alpha) const {
    if constexpr (is_bool<T>) return a || (alpha && b);
    else if constexpr (is_float<T>) return fma(alpha, b, a);
    else if constexpr (is_cplx<T>) return a + alpha * b;
    else return static_cast<T>(static_cast<Wrap<T>>(a) + static_cast<Wrap<T>>(alpha) * static_cast<Wrap<T>>(b));
  }
};

struct Sub : Signature<2, 1, kAll> {
  template <class T> CRESSET_EXPR T operator()(T a, T b, T alpha) const {
    if constexpr (is_bool<T>) return a != (alpha && b);
    else if constexpr (is_float<T>) return fma(-alpha, b, a);
    else if constexpr (is_cplx<T>) return a - alpha * b;
    else return static_cast<T>(static_cast<Wrap<T>>(a) - static_cast<Wrap<T>>(alpha) * static_cast<Wrap<T>>(b));
  }
};

struct Mul : Signature<2, 0, kAll> {
  template <class T> CRESSET_EXPR T operator()(T a, T b) const {
    if constexpr (is_bool<T>) return a && b;
    else if constexpr (is_int<T>) return static_cast<T>(static_cast<Wrap<T>>(a) * static_cast<Wrap<T>>(b));
    else return a * b;
  }
};

}  // namespace cresset::kernels::expr
