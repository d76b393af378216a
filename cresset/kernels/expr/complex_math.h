#pragma once
// Functions of complex numbers: those of the C++ standard library (C99 Annex G special values).

#include <complex>

#include "cresset/kernels/expr/common.h"

namespace cresset::kernels::expr {

template <class V> CRESSET_EXPR std::complex<V> std_complex(complex<V> z) { return {z.real(), z.imag()}; }
template <class V> CRESSET_EXPR complex<V> own_complex(std::complex<V> z) { return {z.real(), z.imag()}; }

#define CRESSET_COMPLEX_FUNCTION(name) \
  template <class V> CRESSET_EXPR complex<V> c##name(complex<V> z) { return own_complex(std::name(std_complex(z))); }
CRESSET_COMPLEX_FUNCTION(exp)
CRESSET_COMPLEX_FUNCTION(log)
CRESSET_COMPLEX_FUNCTION(log10)
CRESSET_COMPLEX_FUNCTION(sqrt)
CRESSET_COMPLEX_FUNCTION(sin)
CRESSET_COMPLEX_FUNCTION(cos)
CRESSET_COMPLEX_FUNCTION(tan)
CRESSET_COMPLEX_FUNCTION(asin)
CRESSET_COMPLEX_FUNCTION(acos)
CRESSET_COMPLEX_FUNCTION(atan)
CRESSET_COMPLEX_FUNCTION(sinh)
CRESSET_COMPLEX_FUNCTION(cosh)
CRESSET_COMPLEX_FUNCTION(tanh)
CRESSET_COMPLEX_FUNCTION(asinh)
CRESSET_COMPLEX_FUNCTION(acosh)
CRESSET_COMPLEX_FUNCTION(atanh)
#undef CRESSET_COMPLEX_FUNCTION

template <class V> CRESSET_EXPR V cabs(complex<V> z) { return std::abs(std_complex(z)); }
template <class V> CRESSET_EXPR V carg(complex<V> z) { return std::arg(std_complex(z)); }

}  // namespace cresset::kernels::expr
