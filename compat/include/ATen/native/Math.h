#pragma once
// Special functions of single numbers, under LibTorch's names, which stand in no namespace.
#include "cresset/kernels/expr/bessel.h"
#include "cresset/kernels/expr/math.h"
#include "cresset/kernels/expr/special.h"
template <class T> T calc_erfinv(T x) { return static_cast<T>(cresset::kernels::expr::math::erfinv(x)); }
template <class T> T calc_i0(T x) { return cresset::kernels::expr::I0()(x); }
template <class T> T calc_i0e(T x) { return cresset::kernels::expr::I0e()(x); }
template <class T> T calc_i1(T x) { return cresset::kernels::expr::I1()(x); }
template <class T> T calc_i1e(T x) { return cresset::kernels::expr::I1e()(x); }
template <class T> T calc_igamma(T a, T x) { return cresset::kernels::expr::Igamma()(a, x); }
template <class T> T calc_igammac(T a, T x) { return cresset::kernels::expr::Igammac()(a, x); }
template <class T> T calc_polygamma(T x, int n) { return cresset::kernels::expr::math::polygamma(x, static_cast<T>(n)); }
inline double calc_digamma(double x) { return cresset::kernels::expr::math::digamma(x); }
inline float calc_digamma(float x) { return cresset::kernels::expr::math::digamma(x); }
inline double trigamma(double x) { return cresset::kernels::expr::Trigamma()(x); }
inline float trigamma(float x) { return cresset::kernels::expr::Trigamma()(x); }
template <class T, bool = false> T zeta(T x, T q) { return static_cast<T>(cresset::kernels::expr::math::hurwitz_zeta(x, q)); }
