#pragma once
#include <cmath>
#include <complex>
#include <sstream>
#include <tuple>

#include "torch/detail/tensor.h"
namespace c10 {
using cresset::is_complex;
using cresset::polar;
namespace complex_literals = cresset::complex_literals;
}  // namespace c10
// LibTorch puts these into the global namespace, too.
using std::acos;
using std::acosh;
using std::asin;
using std::asinh;
using std::atan;
using std::atanh;
using std::cos;
using std::cosh;
using std::exp;
using std::expm1;
using std::log;
using std::log10;
using std::log1p;
using std::log2;
using std::pow;
using std::sin;
using std::sinh;
using std::sqrt;
using std::tan;
using std::tanh;
